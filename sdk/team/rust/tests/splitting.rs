//! What is split, and into what.

use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Limits, Observation, Occasion, Time};
use baton_sdk::{MockHost, rules, sample, strategy};
use proptest::prelude::*;

use team::Team as Policy;

const FIVE: [&str; 5] = [
    "Write src/lexer.rs.",
    "Describe `docs/lexer.md`.",
    "Write src/parser.rs.",
    "Name it and/or not.",
    "Write docs/a.md",
];

fn scope(descriptions: &[&str]) -> Observation {
    let mut observation = sample::splitting_observation();
    let objectives = (1..).zip(descriptions).map(|(n, words)| sample::objective(&format!("o{n}"), words));
    observation.objectives = objectives.collect();
    observation.occasion = Occasion::PhaseStart;
    (observation.phase.depth, observation.limits) = (0, Limits { parts: 26, depth: 2 });
    observation
}

/// The parts as "src o1 o3".
fn parts(observation: Observation) -> Option<Vec<String>> {
    let host = MockHost::with_settings_of::<Policy>(&[]);
    match <Policy as Splitting>::decide(&host, observation)?.action {
        Action::Split(parts) => {
            let words = parts.into_iter().map(|part| format!("{} {}", part.title, part.objectives.join(" ")));
            Some(words.collect())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_part_per_folder() {
    let found = parts(scope(&FIVE)).unwrap();
    assert_eq!(found, ["src o1 o3", "docs o2 o5", "other files o4"]);
}

#[test]
fn it_abstains_from_what_is_small_in_one_folder_or_not_allowed() {
    let five = || scope(&FIVE);
    assert_eq!(parts(scope(&FIVE[..4])), None);
    assert_eq!(parts(scope(&["Write src/a.rs"; 9])), None);
    assert_eq!(parts(Observation { limits: Limits { parts: 2, depth: 2 }, ..five() }), None);
    assert_eq!(parts(Observation { limits: Limits { parts: 26, depth: 0 }, ..five() }), None);
    assert_eq!(parts(Observation { wish: Time::Never, ..five() }), None);
    assert_eq!(parts(Observation { occasion: Occasion::Boundary, ..five() }), None);
}

proptest! {
    #[test]
    fn no_rule_of_splitting_is_broken(case in strategy::splitting()) {
        rules::check::<Policy>(&case);
    }
}
