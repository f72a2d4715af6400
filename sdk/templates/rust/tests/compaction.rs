//! When room is made.

use baton_sdk::compaction::{Action, Decision};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, sample};
use {{crate}}::{{Type}};

/// What is decided at this occupancy.
fn decide(used_tokens: u64) -> Decision {
    let mut observation = sample::compaction_observation();
    observation.session.occupancy = sample::occupancy(used_tokens, 200_000);
    {{Type}}::decide(&MockHost::with_settings_of::<{{Type}}>(&[]), observation)
}

#[test]
fn a_half_empty_window_is_kept() {
    assert_eq!(decide(100_000).action, Action::Keep);
}

#[test]
fn a_full_one_is_compacted() {
    insta::assert_debug_snapshot!("compacted", decide(150_000));
}

#[test]
fn the_threshold_is_a_setting() {
    let host =
        MockHost::with_settings_of::<{{Type}}>(&[("compact-percent", SettingValue::Number(40.0))]);
    let decision = {{Type}}::decide(&host, sample::compaction_observation());
    assert_eq!(decision.action, Action::Compact(String::new()));
}
