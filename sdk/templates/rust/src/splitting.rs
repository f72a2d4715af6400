//! Whether a scope is too large, and where its seams are.

use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Decision, Observation, Order, SubPhase};

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
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let open: Vec<String> = o
            .objectives
            .iter()
            .filter(|objective| objective.status != ObjectiveStatus::Done)
            .map(|objective| objective.id.clone())
            .collect();
        let most = host.integer("objectives-at-most").max(1) as usize;
        if open.len() <= most {
            let reason = format!("{} open objectives are few enough", open.len());
            return Some(Decision::new(Action::Keep, reason));
        }
        // What is a part already stays whole; how deep splits may go is the workflow's to say.
        let depth = allowed(&o, "split-depth").unwrap_or(1).min(1);
        let fan_out = allowed(&o, "split-fan-out").unwrap_or(8);
        if o.phase.depth as usize >= depth || fan_out < 2 {
            let reason = "it is large, and the workflow allows no split of it";
            return Some(Decision::new(Action::Keep, reason));
        }
        let parts = parts(&open, most, fan_out);
        let reason = format!(
            "{} open objectives are more than {most}: {} parts",
            open.len(),
            parts.len()
        );
        Some(Decision::new(Action::Split(parts), reason))
    }
}

/// What the workflow allows, as the host tells it.
fn allowed(o: &Observation, what: &str) -> Option<usize> {
    let (_, value) = o.attributes.iter().find(|(key, _)| key == what)?;
    value.parse().ok()
}

/// Parts of equal size, in the order of the file; every open objective is in exactly one.
fn parts(open: &[String], most: usize, fan_out: usize) -> Vec<SubPhase> {
    let size = open.len().div_ceil(fan_out).max(most);
    let part = |objectives: &[String]| SubPhase {
        title: caps::cut(&objectives.join(", "), 200).into(),
        objectives: objectives.to_vec(),
        order: Order::Direct,
        max_turns: 0,
    };
    open.chunks(size).map(part).collect()
}
