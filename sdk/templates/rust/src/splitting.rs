//! Whether a scope is too large, and where its seams are.

use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Decision, Observation, Occasion, Order, SubPhase, Time};

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
        // The workflow's word holds, unless the agent itself asks for a split: the host refuses another answer.
        if o.wish == Time::Never && o.occasion != Occasion::Requested {
            return Some(Decision::new(Action::Keep, "the workflow leaves it whole"));
        }
        // What is a part already stays whole; how deep splits may go is the workflow's to say.
        let allowed = o.limits.parts as usize;
        if o.phase.depth >= o.limits.depth.min(1) || allowed < 2 {
            let reason = "it is large, and the workflow allows no split of it";
            return Some(Decision::new(Action::Keep, reason));
        }
        let parts = parts(&open, most, allowed);
        let reason = format!(
            "{} open objectives are more than {most}: {} parts",
            open.len(),
            parts.len()
        );
        Some(Decision::new(Action::Split(parts), reason))
    }
}

/// Parts of equal size, in the order of the file; every open objective is in exactly one.
fn parts(open: &[String], most: usize, allowed: usize) -> Vec<SubPhase> {
    let half = open.len().div_ceil(2);
    let size = open.len().div_ceil(allowed).max(most.min(half));
    let part = |objectives: &[String]| SubPhase {
        title: caps::cut(&objectives.join(", "), 200).into(),
        objectives: objectives.to_vec(),
        order: Order::Direct,
        max_turns: None,
    };
    open.chunks(size).map(part).collect()
}
