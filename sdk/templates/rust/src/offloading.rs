//! Which large items need not lie in the context.

use baton_sdk::offloading::{Decision, Observation};
use baton_sdk::prelude::*;

use crate::{{Type}};

/// What a team can set.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::integer(
        "offload-tokens",
        20_000,
        1..=10_000_000,
        "An item of more tokens than this becomes a reference.",
    )]
}

impl Offloading for {{Type}} {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let most = host.integer("offload-tokens").unsigned_abs();
        let all = o.items.len();
        let items: Vec<String> = o
            .items
            .into_iter()
            .filter(|item| item.tokens > most)
            .map(|item| item.id)
            .collect();
        let reason = format!(
            "{} of {all} items have more than {most} tokens",
            items.len()
        );
        Some(Decision::new(items, reason))
    }
}
