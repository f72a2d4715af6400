//! What handoffs say beyond those of resilience.

use baton_policy_resilience::Resilience;
use baton_sdk::handoff::{Composition, Kind};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// The handoff of a policy, with these notes.
fn compose<P: Handoff>(notes: &[&str]) -> Composition {
    let notes = notes.iter().map(|&note| note.into()).collect();
    let host = MockHost::with_settings_of::<Policy>(&[("house-notes", SettingValue::Texts(notes))]);
    let observation = sample::handoff_observation(Kind::Continuing, None, None);
    P::compose(&host, observation).expect("it answers")
}

#[test]
fn house_notes_follow_the_index_of_resilience() {
    let (own, of_resilience) = (
        compose::<Policy>(&["Test first."]),
        compose::<Resilience>(&[]),
    );
    let (index, of_resilience_alone) = (own.index_text(), of_resilience.index_text());
    let added = index.strip_prefix(&of_resilience_alone);
    assert_eq!(added, Some("\n## House notes\n- team: Test first.\n"));
    assert_eq!(own.document, of_resilience.document);
}

#[test]
fn without_notes_it_is_the_index_of_resilience() {
    assert_eq!(
        compose::<Policy>(&[]).index_text(),
        compose::<Resilience>(&[]).index_text()
    );
}

proptest! {
    #[test]
    fn no_rule_of_handoff_is_broken(case in strategy::handoff()) {
        rules::check::<Policy>(&case);
    }
}
