//! What is split, and into what.

use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Decision};
use baton_sdk::{MockHost, sample};
use {{crate}}::{{Type}};

/// What is decided on a phase with so many open objectives.
fn decide(objectives: usize) -> Decision {
    let mut observation = sample::splitting_observation();
    observation.objectives = (1..=objectives)
        .map(|n| sample::objective(&format!("o{n}"), "Write a file"))
        .collect();
    {{Type}}::evaluate(&MockHost::with_settings_of::<{{Type}}>(&[]), observation)
}

#[test]
fn a_small_phase_is_kept() {
    assert_eq!(decide(4).action, Action::Keep);
}

#[test]
fn a_large_one_is_split() {
    insta::assert_debug_snapshot!("split", decide(6));
}

#[test]
fn every_objective_is_in_one_part() {
    for objectives in 5..60 {
        let Action::Split(parts) = decide(objectives).action else {
            panic!("{objectives} are kept")
        };
        let given: Vec<String> = parts.into_iter().flat_map(|part| part.objectives).collect();
        let all: Vec<String> = (1..=objectives).map(|n| format!("o{n}")).collect();
        assert_eq!(given, all);
    }
}
