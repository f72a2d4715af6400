//! How many turns a scope may take.

use baton_sdk::budgeting::{Observation, TurnBudget};
use baton_sdk::prelude::*;

use crate::{{Type}};

/// What a team can set.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::integer(
        "extra-turns-percent",
        0,
        0..=900,
        "Turns beyond those of the table, in percent of them.",
    )]
}

impl Budgeting for {{Type}} {
    fn decide(host: &impl Host, o: Observation) -> Option<TurnBudget> {
        let percent = 100 + host.integer("extra-turns-percent").clamp(0, 900) as u64;
        let more = |turns: u32| {
            u32::try_from((u64::from(turns) * percent).div_ceil(100)).unwrap_or(u32::MAX)
        };
        Some(TurnBudget {
            // A table without a cap leaves it without one.
            max_turns: o.base_turns.map(more),
            reason: format!("{percent} % of the table's value"),
        })
    }
}
