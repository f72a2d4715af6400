//! Whether a scope is too large, and how many turns it may take.

use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Decision, Observation, Order, SubPhase, TurnBudget};

use crate::{{Type}};

/// What a team can set.
pub(crate) fn settings() -> Vec<settings::Setting> {
    vec![schema::integer(
        "objectives-at-most",
        4,
        1..=100,
        "Split a phase that has more open objectives than this.",
    )]
}

impl Splitting for {{Type}} {
    fn evaluate(host: &impl Host, o: Observation) -> Decision {
        let open: Vec<String> = o
            .objectives
            .iter()
            .filter(|objective| objective.status != ObjectiveStatus::Done)
            .map(|objective| objective.id.clone())
            .collect();
        let most = host.integer("objectives-at-most").max(1) as usize;
        // What is a part already stays whole: the host bounds how deep splits go, and so does this policy.
        if open.len() <= most || o.phase.depth > 0 {
            return Decision::new(
                Action::Keep,
                format!("{} open objectives are few enough", open.len()),
            );
        }
        let parts = parts(&open, most, fan_out(&o));
        let reason = format!(
            "{} open objectives are more than {most}: {} parts",
            open.len(),
            parts.len()
        );
        Decision::new(Action::Split(parts), reason)
    }

    fn budget(_host: &impl Host, _observation: Observation, base_turns: u32) -> TurnBudget {
        TurnBudget {
            max_turns: base_turns,
            reason: "the table's value".into(),
        }
    }
}

/// How many parts the host allows.
fn fan_out(o: &Observation) -> usize {
    let told = o.attributes.iter().find(|(key, _)| key == "split-fan-out");
    told.and_then(|(_, value)| value.parse().ok()).unwrap_or(8)
}

/// Parts of equal size, in the order of the file; every open objective is in exactly one.
fn parts(open: &[String], most: usize, fan_out: usize) -> Vec<SubPhase> {
    let size = open.len().div_ceil(fan_out.max(2)).max(most);
    let part = |objectives: &[String]| SubPhase {
        title: objectives.join(", "),
        objectives: objectives.to_vec(),
        order: Order::Direct,
        max_turns: 0,
    };
    open.chunks(size).map(part).collect()
}
