//! The turns that resilience gives, and a least number of them.

use baton_policy_resilience::Resilience;
use baton_sdk::budgeting::{Observation, TurnBudget};
use baton_sdk::prelude::*;

use crate::{{Type}};

/// What a team can set, beside the settings of resilience.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::integer(
        "least-turns",
        12,
        1..=1_000,
        "Turns that every scope gets at least.",
    )]
}

impl Budgeting for {{Type}} {
    fn decide(host: &impl Host, o: Observation) -> Option<TurnBudget> {
        let budget = <Resilience as Budgeting>::decide(host, o)?;
        let least = u32::try_from(host.integer("least-turns")).unwrap_or(0);
        // Without a cap there is nothing to raise.
        let Some(turns) = budget.max_turns.filter(|turns| *turns < least) else {
            return Some(budget);
        };
        let reason = format!("{least} turns are the least; resilience gives {turns}");
        Some(TurnBudget {
            max_turns: Some(least),
            reason,
        })
    }
}
