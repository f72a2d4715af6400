//! Room in the context before the limit at which an earlier session was exhausted.

use baton_sdk::compaction::{Action, Decision, Observation};
use baton_sdk::prelude::*;

use crate::Team;

/// As many as the host tells of.
const PAST_SESSIONS: u32 = 16;

pub(crate) fn setting() -> settings::Setting {
    schema::number(
        "learned-percent",
        80.0,
        1.0..=100.0,
        "Make room from this percentage of the tokens that exhausted an earlier session of the agent.",
    )
}

impl Compaction for Team {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let used = o.session.occupancy.used_tokens?;
        let past = host.past_sessions(PAST_SESSIONS).into_iter();
        let limit = past
            .filter(|past| past.agent == o.session.agent && past.ended_by.as_deref() == Some("exhausted"))
            .filter_map(|past| past.peak_tokens)
            .filter(|peak| *peak > 0)
            .min()?;
        if used as f64 * 100.0 < limit as f64 * host.number("learned-percent") {
            return None;
        }
        let action = match o.session.capabilities.contains(Capabilities::COMPACTS) {
            true => Action::Compact(None),
            false => Action::HandOff,
        };
        let reason = format!("{used} tokens are used, and an earlier session was exhausted at {limit}");
        Some(Decision::new(action, reason))
    }
}
