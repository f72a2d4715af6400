//! What is split, and into what.

use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Decision, Time};
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is decided on a phase with so many open objectives, where the workflow wishes nothing.
fn decide(objectives: usize) -> Option<Decision> {
    decide_as(objectives, Time::During)
}

fn decide_as(objectives: usize, wish: Time) -> Option<Decision> {
    let mut observation = sample::splitting_observation();
    observation.wish = wish;
    observation.objectives = (1..=objectives)
        .map(|n| sample::objective(&format!("o{n}"), "Write a file"))
        .collect();
    <Policy as Splitting>::decide(&MockHost::with_settings_of::<Policy>(&[]), observation)
}

#[test]
fn a_small_phase_is_kept() {
    assert_decision!(decide(4), Action::Keep, because "few enough");
}

#[test]
fn a_large_one_is_split() {
    assert_decision!(decide(6), Action::Split(parts) if parts.iter().all(|part| part.objectives.len() == 3));
}

#[test]
fn what_the_workflow_leaves_whole_is_kept() {
    assert_decision!(decide_as(6, Time::Never), Action::Keep, because "leaves it whole");
}

proptest! {
    #[test]
    fn no_rule_of_splitting_is_broken(case in strategy::splitting()) {
        rules::check::<Policy>(&case);
    }
}
