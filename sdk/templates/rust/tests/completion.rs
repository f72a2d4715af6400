//! What is done.

use baton_sdk::completion::Decision;
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is decided of a prompt that was answered, with this report of its objective.
fn decide(status: Option<ObjectiveStatus>, settings: &[(&str, SettingValue)]) -> Option<Decision> {
    let mut host = MockHost::with_settings_of::<Policy>(settings);
    let mut observation = sample::completion_observation(host.add_text(""));
    observation.session.objectives[0].reported = status.map(|status| StatusReport {
        status,
        note: String::new(),
        by_session: true,
        changed_since: None,
    });
    <Policy as Completion>::decide(&host, observation)
}

#[test]
fn what_was_answered_is_done() {
    assert_decision!(decide(None, &[]), done if *done == ["parser"], because "1 of 1");
}

#[test]
fn what_is_reported_as_failed_is_not() {
    assert_decision!(decide(Some(ObjectiveStatus::Failed), &[]), done if done.is_empty());
}

#[test]
fn a_report_may_be_needed() {
    let settings = [("report-needed", SettingValue::Flag(true))];
    assert_decision!(decide(None, &settings), done if done.is_empty());
    assert_decision!(decide(Some(ObjectiveStatus::Done), &settings), done if *done == ["parser"]);
}

proptest! {
    #[test]
    fn no_rule_of_completion_is_broken(case in strategy::completion()) {
        rules::check::<Policy>(&case);
    }
}
