//! What is done about a session that is not well.

use baton_sdk::exhaustion::Verdict;
use baton_sdk::prelude::*;
use baton_sdk::recovery::{Action, Decision};
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is decided on this verdict, after so many nudges.
fn decide(verdict: Verdict, nudges: u32) -> Option<Decision> {
    let mut host = MockHost::with_settings_of::<Policy>(&[]);
    let mut observation = sample::recovery_observation(host.add_text(""));
    observation.session.nudges = nudges;
    if verdict != Verdict::Answered {
        observation.completion = None;
    }
    observation.assessment.verdict = verdict;
    <Policy as Recovery>::decide(&host, observation)
}

#[test]
fn a_session_is_asked_once_for_what_is_missing() {
    assert_decision!(decide(Verdict::Answered, 0), Action::Nudge, because "missing");
    assert_decision!(decide(Verdict::Answered, 1), Action::Retry);
}

#[test]
fn a_silent_one_is_interrupted() {
    assert_decision!(decide(Verdict::Stalled, 0), Action::Interrupt);
}

#[test]
fn a_new_session_continues_one_that_is_used_up_and_replaces_one_that_failed() {
    assert_decision!(decide(Verdict::Exhausted, 0), Action::HandOff);
    assert_decision!(decide(Verdict::Failed, 0), Action::Retry);
}

proptest! {
    #[test]
    fn no_rule_of_recovery_is_broken(case in strategy::recovery()) {
        rules::check::<Policy>(&case);
    }
}
