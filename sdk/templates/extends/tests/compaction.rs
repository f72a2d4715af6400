//! When room is made beyond the percentages of resilience.

use baton_sdk::compaction::{Action, Decision};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is decided of a window of a million tokens with so many in it.
fn decide(
    used_tokens: u64,
    compactions: u32,
    settings: &[(&str, SettingValue)],
) -> Option<Decision> {
    let mut observation = sample::compaction_observation();
    observation.session.occupancy = sample::occupancy(used_tokens, 1_000_000);
    observation.session.compactions = compactions;
    observation.session.turns_since_compaction = (compactions > 0).then_some(1);
    <Policy as Compaction>::decide(&MockHost::with_settings_of::<Policy>(settings), observation)
}

#[test]
fn a_large_window_is_kept_below_the_bound_in_tokens() {
    assert_decision!(decide(149_999, 0, &[]), Action::Keep);
    assert_decision!(decide(150_000, 0, &[]), Action::Compact(_), because "150000 are allowed");
}

#[test]
fn the_bound_is_a_setting_beside_those_of_resilience() {
    let more = [("compact-tokens", SettingValue::Integer(500_000))];
    assert_decision!(decide(400_000, 0, &more), Action::Keep);
    let less = [
        ("compact-tokens", SettingValue::Integer(500_000)),
        ("compact-percent", SettingValue::Number(30.0)),
    ];
    assert_decision!(decide(400_000, 0, &less), Action::Compact(_), because "40% full");
}

#[test]
fn one_compaction_does_not_follow_another_at_once() {
    assert_decision!(decide(150_000, 1, &[]), Action::Keep);
}

proptest! {
    #[test]
    fn no_rule_of_compaction_is_broken(case in strategy::compaction()) {
        rules::check::<Policy>(&case);
    }
}
