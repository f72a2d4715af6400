//! When room is made.

use baton_sdk::compaction::{Action, Decision};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use {{crate}}::{{Type}} as Policy;

/// What is decided at this occupancy.
fn decide(used_tokens: u64, settings: &[(&str, SettingValue)]) -> Option<Decision> {
    let mut observation = sample::compaction_observation();
    observation.session.occupancy = sample::occupancy(used_tokens, 200_000);
    <Policy as Compaction>::decide(&MockHost::with_settings_of::<Policy>(settings), observation)
}

#[test]
fn a_half_empty_window_is_kept() {
    assert_decision!(decide(100_000, &[]), Action::Keep);
}

#[test]
fn a_full_one_is_compacted() {
    assert_decision!(decide(150_000, &[]), Action::Compact(_), because "75 %");
}

#[test]
fn the_threshold_is_a_setting() {
    let settings = [("compact-percent", SettingValue::Number(40.0))];
    assert_decision!(decide(100_000, &settings), Action::Compact(_));
}

proptest! {
    #[test]
    fn no_rule_of_compaction_is_broken(case in strategy::compaction()) {
        rules::check::<Policy>(&case);
    }
}
