//! When room is made.

use baton_sdk::compaction::{Action, Decision};
use baton_sdk::prelude::*;
use baton_sdk::{MockHost, assert_decision, rules, sample, strategy};
use proptest::prelude::*;

use team::Team as Policy;

fn ended(by: Option<&str>, peak_tokens: Option<u64>, agent: &str) -> PastSession {
    let past = sample::past_session("s1");
    PastSession { ended_by: by.map(Into::into), peak_tokens, agent: agent.into(), ..past }
}

/// What is decided at this occupancy after these sessions.
fn decide(used_tokens: u64, past: &[PastSession], settings: &[(&str, SettingValue)]) -> Option<Decision> {
    let mut host = MockHost::with_settings_of::<Policy>(settings);
    past.iter().for_each(|session| host.add_past_session(session.clone()));
    let mut observation = sample::compaction_observation();
    observation.session.occupancy = sample::occupancy(used_tokens, 200_000);
    <Policy as Compaction>::decide(&host, observation)
}

#[test]
fn room_is_made_below_the_smallest_limit_that_was_learned() {
    let past = [(Some("exhausted"), 150_000), (Some("failed"), 40_000), (Some("exhausted"), 120_000)]
        .map(|(by, peak)| ended(by, Some(peak), "rehearsal"));
    assert_eq!(decide(95_999, &past, &[]), None);
    assert_decision!(decide(96_000, &past, &[]), Action::Compact(None), because "exhausted at 120000");
    let half = [("learned-percent", SettingValue::Number(50.0))];
    assert_decision!(decide(60_000, &past, &half), Action::Compact(None));
}

#[test]
fn without_such_a_session_it_abstains() {
    for past in [
        ended(Some("exhausted"), None, "rehearsal"),
        ended(Some("exhausted"), Some(100_000), "codex"),
        ended(None, Some(9), "rehearsal"),
    ] {
        assert_eq!(decide(190_000, &[past], &[]), None);
    }
}

proptest! {
    #[test]
    fn no_rule_of_compaction_is_broken(case in strategy::compaction()) {
        rules::check::<Policy>(&case);
    }
}
