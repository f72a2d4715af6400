//! When a person is asked before a new session tries again.

use baton_sdk::exhaustion::Verdict;
use baton_sdk::prelude::*;
use baton_sdk::recovery::{Action, Decision};
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is decided of a session of a phase with this title.
fn decide(title: &str, verdict: Verdict) -> Option<Decision> {
    let mut host = MockHost::with_settings_of::<Policy>(&[]);
    let mut observation = sample::recovery_observation(host.add_text(""));
    observation.session.phase.title = title.into();
    observation.assessment.verdict = verdict;
    observation.assessment.reason = "it broke".into();
    observation.completion = None;
    <Policy as Recovery>::decide(&host, observation)
}

#[test]
fn a_person_is_asked_before_a_phase_with_the_word_is_tried_again() {
    let title = "The Migration of the users";
    assert_decision!(
        decide(title, Verdict::Failed),
        Action::AskPerson(question) if question.contains("Try it again?")
    );
}

#[test]
fn another_phase_is_tried_again_as_resilience_does() {
    assert_decision!(decide("Build the parser", Verdict::Failed), Action::Retry);
}

#[test]
fn what_is_continued_needs_no_question() {
    let title = "The Migration of the users";
    assert_decision!(decide(title, Verdict::Exhausted), Action::HandOff);
}

proptest! {
    #[test]
    fn no_rule_of_recovery_is_broken(case in strategy::recovery()) {
        rules::check::<Policy>(&case);
    }
}
