//! What becomes a reference.

use baton_sdk::offloading::Decision;
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is decided of one item of so many tokens.
fn decide(tokens: u64, settings: &[(&str, SettingValue)]) -> Option<Decision> {
    let mut observation = sample::offloading_observation();
    observation.items[0].tokens = tokens;
    <Policy as Offloading>::decide(&MockHost::with_settings_of::<Policy>(settings), observation)
}

#[test]
fn what_is_large_becomes_a_reference() {
    assert_decision!(decide(20_000, &[]), items if items.is_empty(), because "0 of 1");
    assert_decision!(decide(20_001, &[]), items if *items == ["result-1"]);
}

#[test]
fn what_is_large_is_a_setting() {
    let settings = [("offload-tokens", SettingValue::Integer(5_000))];
    assert_decision!(decide(9_000, &settings), items if *items == ["result-1"]);
}

proptest! {
    #[test]
    fn no_rule_of_offloading_is_broken(case in strategy::offloading()) {
        rules::check::<Policy>(&case);
    }
}
