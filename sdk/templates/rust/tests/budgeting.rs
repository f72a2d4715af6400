//! How many turns a scope gets.

use baton_sdk::budgeting::TurnBudget;
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// The turns where the table says 25.
fn decide(settings: &[(&str, SettingValue)]) -> Option<TurnBudget> {
    let host = MockHost::with_settings_of::<Policy>(settings);
    <Policy as Budgeting>::decide(&host, sample::budgeting_observation())
}

#[test]
fn more_turns_are_a_setting() {
    assert_decision!(decide(&[]), Some(25), because "100 %");
    assert_decision!(
        decide(&[("extra-turns-percent", SettingValue::Integer(20))]),
        Some(30)
    );
}

proptest! {
    #[test]
    fn no_rule_of_budgeting_is_broken(case in strategy::budgeting()) {
        rules::check::<Policy>(&case);
    }
}
