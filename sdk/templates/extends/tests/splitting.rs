//! What stays whole that resilience would split.

use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Decision, Occasion};
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is decided of a phase of this title with twelve open objectives.
fn decide(title: &str, occasion: Occasion) -> Option<Decision> {
    let mut observation = sample::splitting_observation();
    observation.occasion = occasion;
    observation.phase.title = title.into();
    observation.objectives = (1..=12)
        .map(|n| sample::objective(&format!("f{n}x"), &format!("Write src/f{n}.rs")))
        .collect();
    <Policy as Splitting>::decide(&MockHost::with_settings_of::<Policy>(&[]), observation)
}

#[test]
fn a_phase_with_the_word_in_its_title_stays_whole() {
    let title = "The Migration of the users";
    assert_decision!(decide(title, Occasion::Boundary), Action::Keep, because "migration");
}

#[test]
fn another_one_is_split_as_resilience_splits() {
    assert_decision!(decide("Build the parser", Occasion::Boundary), Action::Split(parts) if parts.len() > 1);
}

#[test]
fn what_cannot_go_on_otherwise_is_split() {
    let title = "The Migration of the users";
    assert_decision!(
        decide(title, Occasion::OutOfContinuations),
        Action::Split(_)
    );
}

proptest! {
    #[test]
    fn no_rule_of_splitting_is_broken(case in strategy::splitting()) {
        rules::check::<Policy>(&case);
    }
}
