//! What handoffs say.

use baton_sdk::handoff::Kind;
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

#[test]
fn a_document_names_what_is_done_and_what_is_open() {
    let host = MockHost::with_settings_of::<Policy>(&[]);
    let observation = sample::handoff_observation(Kind::Continuing, None, None);
    let composition = <Policy as Handoff>::compose(&host, observation).expect("it answers");
    let document = composition.document_text();
    let next = document
        .find("## Immediate next action")
        .expect("it has one");
    let done = document.find("## Done").expect("it says what is done");
    assert!(document[next..done].contains("- parser: "));
    assert_decision!(composition, _, because "objectives and files");
}

proptest! {
    #[test]
    fn no_rule_of_handoff_is_broken(case in strategy::handoff()) {
        rules::check::<Policy>(&case);
    }
}
