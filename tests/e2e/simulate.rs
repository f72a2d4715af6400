//! `baton simulate` as somebody uses it: the same seeds give the same document, a kept run is a journal like any other, a model is
//! fitted from such journals, and what is wrong in a model or an arm is told with its place.

use crate::support::Stage;
use serde_json::Value;

const TWO: [&str; 2] = ["--arms", "early=builtin:resilience,late=builtin:resilience"];

fn simulated(stage: &Stage, arguments: &[&str]) -> String {
    stage.baton(&[&["simulate", "quickstart.toml"], arguments].concat()).expect(0).stdout
}

// M5
#[test]
fn the_same_seeds_give_the_same_document() {
    let stage = Stage::quickstart();
    let arms = [TWO.as_slice(), &["--set", "early.compact-percent=50", "--runs", "30"]].concat();
    let document =
        |seed: &str| simulated(&stage, &[&arms[..], &["--format", "json", "--seed", seed]].concat());
    let (first, again, other) = (document("1"), document("1"), document("31"));
    assert_eq!(first, again);
    assert_ne!(first, other);
    let read: Value = serde_json::from_str(&first).unwrap();
    assert!(read["schema"].is_number(), "{first}");

    let lines = simulated(&stage, &[&arms[..], &["--format", "jsonl"]].concat());
    let records: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(records.iter().all(|record| record["schema"] == read["schema"]), "{lines}");
    let runs = records.iter().filter(|record| record["record"] == "simulated-run").count();
    assert_eq!(runs, 60, "{lines}");
}

// M5
#[test]
fn a_kept_run_is_a_journal_and_a_model_is_fitted_from_it() {
    let stage = Stage::quickstart();
    let kept = |seed: usize| simulated(&stage, &["--keep", &seed.to_string(), "--journal", "kept"]);
    let told: Vec<String> = (1..=8).map(kept).collect();
    assert!(told.iter().all(|line| line.contains("baton report sim-")), "{told:?}");
    let twice = stage.baton(&["simulate", "quickstart.toml", "--keep", "3", "--journal", "kept"]);
    twice.expect(2).says(&["has a run sim-3 already", "--journal"]);

    let place = ["--workspace", "kept/workflow", "--state-dir", "kept/state"];
    let verified = stage.baton(&[&["replay", "--verify", "--all"], &place[..]].concat()).expect(0).stdout;
    for seed in 1..=8 {
        assert!(verified.contains(&format!("run sim-{seed} replays exactly")), "{verified}");
    }

    let runs: Vec<String> = (1..=8).map(|seed| format!("sim-{seed}")).collect();
    let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let to = ["--out", "mine.toml"];
    stage.baton(&[&["simulate", "fit"], &runs[..], &place[..], &to].concat()).expect(0);
    let fitted = std::fs::read_to_string(stage.path("mine.toml")).unwrap();
    let number = |text: &str, key: &str| {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        lines.next().unwrap_or_else(|| panic!("no {key} in:\n{text}")).parse::<f64>().unwrap()
    };
    // These are some hundred turns of the world whose numbers are found again: more than a fifth off would be another world.
    let truth = stage.baton(&["simulate", "model"]).expect(0).stdout;
    for key in ["turn_tokens", "turn_spread", "tool_tokens", "tool_spread", "turn_seconds"] {
        let (found, true_one) = (number(&fitted, key), number(&truth, key));
        assert!((0.8..1.25).contains(&(found / true_one)), "{key}: {found} of {true_one}");
        assert_ne!(found, true_one, "{key} is the default, not what was found");
    }
    assert_ne!(
        simulated(&stage, &["--runs", "20", "--model", "mine.toml"]),
        simulated(&stage, &["--runs", "20"])
    );
}

#[test]
fn the_printed_model_is_the_one_that_holds_without_a_file() {
    let stage = Stage::quickstart();
    let model = stage.baton(&["simulate", "model"]).expect(0).stdout;
    stage.write("all.toml", model);
    assert_eq!(
        simulated(&stage, &["--runs", "20", "--model", "all.toml"]),
        simulated(&stage, &["--runs", "20"])
    );
}

#[test]
fn a_mistake_is_told_with_its_place() {
    let stage = Stage::quickstart();
    let wrong = |code: i32, arguments: &[&str], parts: &[&str]| {
        let all = [&["simulate", "quickstart.toml", "--runs", "5"], arguments].concat();
        let ended = stage.baton(&all).expect(code).says(parts);
        assert_eq!(ended.stdout, "");
    };
    let bad = |arguments: &[&str], parts: &[&str]| wrong(2, arguments, parts);
    stage.write("key.toml", "[context]\nturn_tokens = 900\nturn_token = 900\n");
    bad(&["--model", "key.toml"], &["key.toml:3", "turn_token", "turn_tokens"]);
    stage.write("section.toml", "\n[agent]\nwindow = 3\n");
    bad(&["--model", "section.toml"], &["section.toml:2", "no section `agent`", "context"]);
    stage.write("bound.toml", "[context]\nturn_tokens = -4\n");
    bad(&["--model", "bound.toml"], &["bound.toml:2", "turn_tokens", "-4"]);
    stage.write("share.toml", "[context]\nsays = 1.5\n");
    bad(&["--model", "share.toml"], &["share.toml:2", "says", "1.5"]);
    bad(&["--model", "nowhere.toml"], &["nowhere.toml"]);
    bad(&[TWO[0], TWO[1], "--set", "nobody.compact-percent=50"], &["there is no arm nobody", "early, late"]);
    wrong(3, &[TWO[0], TWO[1], "--set", "early.compact-percnt=50"], &["did you mean `compact-percent`"]);
    bad(&["--arms", "a=builtin:resilience,a=builtin:resilience"], &["two arms are called a"]);
    bad(&["--arms", "nothing.wasm"], &["nothing.wasm"]);
    bad(&["--format", "html"], &["compares arms", "--arms"]);
}
