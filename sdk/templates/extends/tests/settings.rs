//! What can be set: everything that resilience has, and what is added.

use std::collections::BTreeSet;

use baton_policy_resilience::Resilience;
use baton_sdk::prelude::*;

use {{crate}}::{{Type}} as Policy;

#[test]
fn the_settings_of_resilience_are_passed_through_and_no_key_stands_twice() {
    let keys = |schema: Vec<settings::Setting>| -> Vec<String> {
        schema.into_iter().map(|setting| setting.key).collect()
    };
    let (own, of_resilience) = (
        keys(<Policy as Settings>::schema()),
        keys(<Resilience as Settings>::schema()),
    );
    assert!(own.starts_with(&of_resilience));
    let different: BTreeSet<&String> = own.iter().collect();
    assert_eq!(different.len(), own.len(), "{own:?}");
}
