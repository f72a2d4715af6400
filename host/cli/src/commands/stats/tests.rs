//! The output of the calculator, for people and for programs. The lab tests the values.

use clap::Parser as _;

use super::*;
use crate::command_line::{Cli, CliCommand};

fn answer(line: &str) -> StatsAnswerResult {
    let cli = Cli::try_parse_from(["baton", "stats"].into_iter().chain(line.split(' ')));
    let CliCommand::Stats(command) = cli.map_err(|error| UsageError(error.to_string()))?.command else {
        unreachable!("it begins with `baton stats`");
    };
    match command {
        StatsCommand::Mean(args) => args.answer(),
        StatsCommand::Bernoulli(args) => args.answer(),
        StatsCommand::Betting(args) => args.answer(),
        StatsCommand::Srm(args) => args.answer(),
        StatsCommand::Mcnemar(args) => args.answer(),
        StatsCommand::Holm(args) => args.answer(),
        StatsCommand::Cuped(args) => args.answer(),
        StatsCommand::OffPolicy(args) => args.answer(),
        StatsCommand::Power(args) => args.answer(),
        StatsCommand::Bucket(args) => args.answer(),
    }
}

/// Eight decisions whose values are known.
const LOGGED: &str = "[
  {\"action\": 0, \"reward\": 1, \"behaviour\": 0.8, \"target\": [0.1, 0.9], \"predicted\": [0.4, 0.7]},
  {\"action\": 0, \"reward\": 0, \"behaviour\": 0.8, \"target\": [0.1, 0.9], \"predicted\": [0.4, 0.7]},
  {\"action\": 1, \"reward\": 1, \"behaviour\": 0.2, \"target\": [0.1, 0.9], \"predicted\": [0.4, 0.7]},
  {\"action\": 1, \"reward\": 1, \"behaviour\": 0.2, \"target\": [0.1, 0.9], \"predicted\": [0.4, 0.7]},
  {\"action\": 0, \"reward\": 0, \"behaviour\": 0.5, \"target\": [0.5, 0.5], \"predicted\": [0.4, 0.7]},
  {\"action\": 1, \"reward\": 0, \"behaviour\": 0.5, \"target\": [0.5, 0.5], \"predicted\": [0.4, 0.7]},
  {\"action\": 0, \"reward\": 1, \"behaviour\": 0.8, \"target\": [0.1, 0.9], \"predicted\": [0.4, 0.7]},
  {\"action\": 1, \"reward\": 1, \"behaviour\": 0.2, \"target\": [0.1, 0.9], \"predicted\": [0.4, 0.7]}
]";

#[test]
fn answers_are_a_sentence_and_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("logged.json");
    std::fs::write(&file, LOGGED).unwrap();
    let off_policy = format!("off-policy {}", file.display());
    let lines = [
        "mean --control 86,86,200 --candidate 126,126,200",
        "mean --a 1396.87,52377.9767,3000 --b 2422.7,134698.29,3461 --relative --n-star 1000",
        "mean --a 1396.87,52377.9767,3407 --b 2422.7,134698.29,3461 --relative --fixed",
        "mean --control 126,126,200 --candidate 86,86,200 --relative",
        "bernoulli 700/1000",
        "betting 1,0,1,1,.5,1,1,0,1,1,1,.5,1,1,1,0,1,1,1,1",
        "srm 5000,5300",
        "srm 600,400,3 --weights 1,1,0",
        "mcnemar 59,113",
        "holm .01,.04,.03,.005",
        "cuped --control 39,271,11,23,78,6 --candidate 39,327,10,26,89,5",
        "cuped --control 390,2710,110,230,780,60 --candidate 390,3270,100,260,890,50",
        &off_policy,
        "power --d .5",
        "power --shares .4,.5",
        "power --paired-d .3",
        "power --mde .3 --variance 100 --power .85",
        "power --mde .3 --variance 1 --sequential",
        "bucket a --seed seed",
        "bucket run-7f --seed split-v2 --weights .2,.3,.5 --coverage .2",
    ];
    let mut text = String::new();
    for line in lines {
        let shown = line.split(' ').map(|word| if word.ends_with(".json") { "logged.json" } else { word });
        let shown = shown.collect::<Vec<_>>().join(" ");
        text.push_str(&format!("$ baton stats {shown}\n{}\n", answer(line).unwrap().text()));
    }
    insta::assert_snapshot!("answers", text);
}

#[test]
fn programs_get_every_digit() {
    let found = answer("mcnemar 59,113").unwrap().json();
    assert_eq!(found["schema"], 1);
    assert_eq!(found["record"], "stats-mcnemar");
    assert!((found["p"].as_f64().unwrap() - 4.65489376895322e-5).abs() < 1e-17);
    let found = answer("bucket a --seed seed").unwrap().json();
    assert_eq!((found["bucket"].as_f64(), found["arm"].as_u64()), (Some(0.0505), Some(0)));
    // An unknown value is left out, and is not null.
    let nobody = answer("bucket a --seed seed --coverage 0").unwrap().json();
    assert!(nobody.get("arm").is_none());
}

#[test]
fn numbers_that_give_no_answer_are_named() {
    let mut text = String::new();
    for line in [
        "mean --control 8,8,19 --candidate 126,126,200",
        "mean --control 0,0,200 --candidate 126,126,200",
        "mean --control 86,86,200 --candidate 126,126,200 --alpha 1.5",
        "bernoulli 4/3",
        "cuped --control 39,271,11,23,99,6 --candidate 39,327,10,26,89,5",
        "betting 1,2",
        "betting 1,x",
        "srm 5000,5300 --weights 0,0",
        "srm 5000,5300 --weights 1",
        "srm 5000.5,5300",
        "holm .5,nan",
        "power --d 0",
        "power --d 1e-9",
        "bucket a --seed seed --hash-version 3",
        "off-policy nowhere.json",
    ] {
        let why =
            answer(line).err().map(|UsageError(why)| why).unwrap_or_else(|| panic!("{line} has an answer"));
        text.push_str(&format!("$ baton stats {line}\n{why}\n"));
    }
    insta::assert_snapshot!("refused", text);
    for line in [
        "mean --control 1,2 --candidate 1,2,3",
        "bernoulli 4",
        "power",
        "mean --control 10,2,1 --candidate 1,1,3",
    ] {
        assert!(answer(line).is_err(), "{line}");
    }
}
