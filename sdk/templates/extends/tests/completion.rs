//! What is not done although resilience finds it done.

use baton_sdk::completion::Decision;
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is decided where the objective is reported as done with this note.
fn decide(note: &str) -> Option<Decision> {
    let mut host = MockHost::with_settings_of::<Policy>(&[]);
    let mut observation = sample::completion_observation(host.add_text(""));
    let parser = &mut observation.session.objectives[0];
    parser.status = ObjectiveStatus::Done;
    parser.reported = Some(StatusReport {
        status: ObjectiveStatus::Done,
        note: note.into(),
        by_session: true,
        changed_since: None,
    });
    <Policy as Completion>::decide(&host, observation)
}

#[test]
fn a_report_that_leaves_something_open_is_not_enough() {
    assert_decision!(decide("written, tested By hand"), done if done.is_empty(), because "by hand");
}

#[test]
fn any_other_is_judged_as_resilience_judges_it() {
    assert_decision!(decide("written and tested"), done if *done == ["parser"]);
}

proptest! {
    #[test]
    fn no_rule_of_completion_is_broken(case in strategy::completion()) {
        rules::check::<Policy>(&case);
    }
}
