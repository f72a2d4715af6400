//! What becomes a reference beyond what resilience offloads.

use baton_sdk::offloading::{Decision, ItemKind};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is decided of an input of so many tokens, in a half empty window.
fn decide(tokens: u64, settings: &[(&str, SettingValue)]) -> Option<Decision> {
    let mut observation = sample::offloading_observation();
    observation.items[0].kind = ItemKind::ToolInput;
    observation.items[0].tokens = tokens;
    <Policy as Offloading>::decide(&MockHost::with_settings_of::<Policy>(settings), observation)
}

#[test]
fn an_item_over_the_bound_becomes_a_reference() {
    assert_decision!(decide(10_000, &[]), items if items.is_empty());
    assert_decision!(decide(10_001, &[]), items if *items == ["result-1"], because "over 10000 tokens");
}

#[test]
fn the_bound_is_a_setting() {
    let settings = [("house-offload-tokens", SettingValue::Integer(20_000))];
    assert_decision!(decide(10_001, &settings), items if items.is_empty());
}

proptest! {
    #[test]
    fn no_rule_of_offloading_is_broken(case in strategy::offloading()) {
        rules::check::<Policy>(&case);
    }
}
