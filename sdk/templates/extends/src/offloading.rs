//! What resilience offloads, and whatever else is larger than a bound of this team.

use baton_policy_resilience::Resilience;
use baton_sdk::offloading::{Decision, Observation};
use baton_sdk::prelude::*;

use crate::{{Type}};

/// What a team can set, beside the settings of resilience.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::integer(
        "house-offload-tokens",
        10_000,
        1..=10_000_000,
        "An item of more tokens than this becomes a reference, whatever it is and however empty the window.",
    )]
}

impl Offloading for {{Type}} {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let items = o.items.clone();
        let mut decision = <Resilience as Offloading>::decide(host, o)?;
        let most = host.integer("house-offload-tokens").unsigned_abs();
        let more: Vec<String> = items
            .into_iter()
            .filter(|item| item.tokens > most && !decision.items.contains(&item.id))
            .map(|item| item.id)
            .collect();
        if !more.is_empty() {
            decision.reason = format!("{} more items have over {most} tokens", more.len());
            decision.items.extend(more);
            decision.items.truncate(caps::ITEMS);
        }
        Some(decision)
    }
}
