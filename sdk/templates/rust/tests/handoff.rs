//! What prompts and handoffs say.

use baton_sdk::handoff::Kind;
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, sample};
use {{crate}}::{{Type}};

/// A host with the policy's settings, and an observation whose texts are empty.
fn first() -> (MockHost, baton_sdk::handoff::Observation) {
    let mut host = MockHost::with_settings_of::<{{Type}}>(&[]);
    let (last_output, findings) = (host.add_text(""), host.add_text(""));
    let observation = sample::handoff_observation(Kind::First, last_output, findings);
    (host, observation)
}

#[test]
fn a_first_prompt_names_what_is_in_focus() {
    let (host, observation) = first();
    insta::assert_snapshot!("first_prompt", {{Type}}::brief(&host, observation).prompt);
}

#[test]
fn a_document_is_accepted_by_its_own_review() {
    let (mut host, observation) = first();
    let document = {{Type}}::compose(&host, observation).document;
    insta::assert_snapshot!("document", document);
    let mut review = sample::review_observation(host.add_text(document));
    review.open_objectives = vec!["parser".into()];
    assert_eq!({{Type}}::review(&host, review).score, 100);
}

#[test]
fn a_secret_is_never_accepted() {
    let (mut host, _) = first();
    let mut review = sample::review_observation(host.add_text("# Handoff"));
    review.secrets = vec!["an API key".into()];
    assert!(!{{Type}}::review(&host, review).accepted);
}
