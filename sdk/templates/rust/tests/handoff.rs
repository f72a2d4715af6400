//! What prompts and handoffs say.

use baton_sdk::handoff::{Kind, Observation};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// A host with the policy's settings, and an observation whose texts are empty.
fn first() -> (MockHost, Observation) {
    let mut host = MockHost::with_settings_of::<Policy>(&[]);
    let (last_output, findings) = (host.add_text(""), host.add_text(""));
    let observation = sample::handoff_observation(Kind::First, last_output, findings);
    (host, observation)
}

#[test]
fn a_first_prompt_names_what_is_in_focus_and_nothing_else() {
    let (host, observation) = first();
    let briefing = Policy::brief(&host, observation);
    assert_decision!(
        briefing,
        prompt if prompt.contains("- parser: Write src/parser.rs") && !prompt.contains("lexer")
    );
}

#[test]
fn a_document_is_accepted_by_its_own_review() {
    let (mut host, observation) = first();
    let document = Policy::compose(&host, observation).document;
    let mut review = sample::review_observation(host.add_text(document));
    review.open_objectives = vec!["parser".into()];
    assert_decision!(Policy::review(&host, review), true, because "100 of 100");
}

#[test]
fn a_secret_is_never_accepted() {
    let (mut host, _) = first();
    let mut review = sample::review_observation(host.add_text("# Handoff"));
    review.secrets = vec!["an API key".into()];
    assert_decision!(Policy::review(&host, review), false);
}

proptest! {
    #[test]
    fn no_rule_of_handoff_is_broken(case in strategy::handoff()) {
        rules::check::<Policy>(&case);
    }
}
