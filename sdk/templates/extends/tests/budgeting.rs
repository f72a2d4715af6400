//! How many turns a scope gets at least.

use baton_sdk::budgeting::TurnBudget;
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// The turns where the table says so many.
fn decide(base_turns: u32, settings: &[(&str, SettingValue)]) -> Option<TurnBudget> {
    let host = MockHost::with_settings_of::<Policy>(settings);
    let mut observation = sample::budgeting_observation();
    observation.base_turns = Some(base_turns);
    <Policy as Budgeting>::decide(&host, observation)
}

#[test]
fn a_scope_gets_the_least_number_of_turns() {
    assert_decision!(decide(5, &[]), Some(12), because "the least");
    assert_decision!(
        decide(5, &[("least-turns", SettingValue::Integer(1))]),
        Some(5)
    );
}

#[test]
fn what_resilience_gives_beyond_it_stands() {
    assert_decision!(decide(25, &[]), Some(25), because "the table's value");
}

proptest! {
    #[test]
    fn no_rule_of_budgeting_is_broken(case in strategy::budgeting()) {
        rules::check::<Policy>(&case);
    }
}
