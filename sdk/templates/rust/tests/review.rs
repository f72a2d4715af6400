//! Which handoffs are accepted.

use baton_sdk::prelude::*;
use baton_sdk::review;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is said of a document, of a phase in which the parser is open.
fn assess(document: &str, secrets: &[&str]) -> review::Review {
    let mut host = MockHost::with_settings_of::<Policy>(&[]);
    let mut observation = sample::review_observation(host.add_text(document));
    observation.open_objectives = vec!["parser".into()];
    observation.secrets = secrets.iter().map(|&kind| kind.into()).collect();
    <Policy as Review>::assess(&host, observation).expect("it answers")
}

#[test]
fn a_document_that_names_what_is_open_is_accepted() {
    assert_decision!(assess("- parser: half of it", &[]), true, because "100 of 100");
    assert_eq!(assess("# Handoff", &[]).score, 80);
}

#[test]
fn a_secret_is_never_accepted() {
    assert_decision!(assess("- parser", &["an API key"]), false);
}

proptest! {
    #[test]
    fn no_rule_of_review_is_broken(case in strategy::review()) {
        rules::check::<Policy>(&case);
    }
}
