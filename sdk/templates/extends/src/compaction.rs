//! When resilience makes room, and a bound in tokens: of a very large window, a percentage is much.

use baton_policy_resilience::Resilience;
use baton_sdk::compaction::{Action, Decision, Observation};
use baton_sdk::prelude::*;

use crate::{{Type}};

/// What a team can set, beside the settings of resilience.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::integer(
        "compact-tokens",
        150_000,
        1_000..=100_000_000,
        "From so many tokens in its context, the agent compacts before the next prompt, however large its window is.",
    )]
}

impl Compaction for {{Type}} {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let session = o.session.clone();
        let decision = <Resilience as Compaction>::decide(host, o)?;
        let used = session.occupancy.used_tokens.unwrap_or(0);
        let most = host.integer("compact-tokens").unsigned_abs();
        // One compaction right after another makes no more room.
        let least = host.integer("refill-turns");
        let turns = session.turns_since_compaction;
        let is_recent = turns.is_some_and(|turns| i64::from(turns) <= least);
        let can_compact = session.capabilities.contains(Capabilities::COMPACTS);
        if decision.action != Action::Keep || used < most || is_recent || !can_compact {
            return Some(decision);
        }
        let instructions = host.text("compact-instructions");
        let reason = format!("{used} tokens are in the context, and {most} are allowed");
        Some(Decision::new(Action::Compact(Some(instructions)), reason))
    }
}
