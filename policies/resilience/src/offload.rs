//! What need not lie in a context (C3, C4).

use baton_sdk::Host;
use baton_sdk::offloading::{Decision, Item, ItemKind, Observation};

use crate::assess::fill;

/// Tool results that are too large become references at any time, tool inputs once it gets tight (C3, C4).
pub(crate) fn decide(host: &impl Host, o: &Observation) -> Decision {
    let percent = o.session.occupancy.percent().unwrap_or(0.0);
    let result_limit = host.integer("offload-tokens") as u64;
    let input_limit = host.integer("offload-input-tokens") as u64;
    let is_tight = percent >= host.number("offload-percent");
    let is_large = |item: &&Item| match &item.kind {
        ItemKind::ToolResult => item.tokens > result_limit,
        ItemKind::ToolInput => is_tight && item.tokens > input_limit,
        ItemKind::Other(_) => false,
    };
    let large: Vec<&Item> = o.items.iter().filter(is_large).collect();
    if large.is_empty() {
        return Decision::new(Vec::new(), "nothing that goes into the context is too large for it");
    }
    let tokens: u64 = large.iter().map(|item| item.tokens).fold(0, u64::saturating_add);
    let fill =
        if is_tight { format!(", and the context is {}", fill(&o.session, percent)) } else { String::new() };
    let reason = format!("{} items of {tokens} tokens are large{fill}", large.len());
    Decision::new(large.into_iter().map(|item| item.id.clone()).collect(), reason)
}
