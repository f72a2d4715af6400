//! Splits only what is stuck or very large, into as few parts as there can be. Decides `splitting` alone.
//!
//! A split is not free: each part is a session of its own that begins with an empty context, reads the same files again, and
//! its work has to be merged and verified once more. Where windows are large, tokens are paid for and the parts of a phase
//! lean on each other, that costs more than a long session with a compaction or a continuation. So:
//!
//! - A phase is split before it begins only where it has more than `objectives-at-most` open objectives.
//! - Between two objectives nothing is split: what has begun in one context goes on in it.
//! - An agent that asks for a split is believed, but its groups are put together until there are `parts` of them. They are
//!   put together in their order, since what was named side by side mostly belongs side by side.
//! - A phase without a continuation left is split in `parts`; one that cannot be split is a person's to decide.
//! - Nothing that is a part already is split again, and what the workflow leaves whole (`split = "never"`) only if an agent asks.
//! - No scope gets more turns than the table says.
//!
//! Take it for work whose objectives share their files (a refactoring, a migration). `eager-splitter` is the opposite.
#![forbid(unsafe_code)]

use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Decision, Observation, Occasion, Order, SubPhase, Time};

/// Bytes of a part's title.
const TITLE_BYTES: usize = 80;

/// The policy.
#[derive(Clone, Copy, Debug)]
pub struct ConservativeSplitter;

impl Splitting for ConservativeSplitter {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let keep = |reason: String| Decision::new(Action::Keep, reason);
        let open: Vec<&Objective> =
            o.objectives.iter().filter(|objective| objective.status != ObjectiveStatus::Done).collect();
        let most = host.integer("objectives-at-most").max(1) as usize;
        let why = match &o.occasion {
            Occasion::PhaseStart if open.len() > most => {
                format!("{} open objectives are more than {most}", open.len())
            }
            Occasion::PhaseStart => {
                return Some(keep(format!("{} open objectives fit in one session", open.len())));
            }
            Occasion::Boundary => return Some(keep("what has begun in one context goes on in it".into())),
            Occasion::Requested => "the agent asks for it".to_owned(),
            Occasion::OutOfContinuations => "no continuation is left".to_owned(),
            Occasion::Other(_) => return None,
        };
        let whole = if open.len() < 2 {
            Some("there is nothing to divide")
        } else if o.phase.depth > 0 || o.limits.depth == 0 {
            Some("it is a part already, and parts stay whole")
        } else if is_left_whole(&o) {
            Some("the workflow leaves it whole")
        } else {
            None
        };
        Some(match (whole, &o.occasion) {
            (Some(whole), Occasion::OutOfContinuations) => {
                let question = format!("Phase {}: {why}, and {whole}. Continue it, or leave it?", o.phase.id);
                Decision::new(Action::AskPerson(question), format!("{why}, but {whole}"))
            }
            (Some(whole), _) => keep(format!("{why}, but {whole}")),
            (None, _) => {
                let most = (host.integer("parts").max(2) as usize).min(o.limits.parts as usize);
                let parts = parts(in_order(&o, &open), most);
                let reason = format!("{why}; {} parts are as few as help", parts.len());
                Decision::new(Action::Split(parts), reason)
            }
        })
    }
}

impl Settings for ConservativeSplitter {
    fn schema() -> Vec<settings::Setting> {
        vec![
            schema::integer(
                "objectives-at-most",
                12,
                1..=200,
                "A phase with more open objectives than this is split before it begins.",
            ),
            schema::integer(
                "parts",
                2,
                2..=26,
                "Parts of a split, where the workflow allows so many and there are objectives for them.",
            ),
        ]
    }
}

export_policy!(ConservativeSplitter: splitting, settings);

/// Whether the workflow says `split = "never"`; what an agent asks for is judged all the same (D2).
fn is_left_whole(o: &Observation) -> bool {
    o.wish == Time::Never && o.occasion != Occasion::Requested
}

/// The open objectives, those side by side that the agent put into one group.
fn in_order<'o>(o: &'o Observation, open: &[&'o Objective]) -> Vec<&'o Objective> {
    let groups = o.requested.as_ref().map_or(&[][..], |request| &request.groups);
    let named = groups.iter().flat_map(|group| &group.objectives);
    // Agents forget some and name some twice.
    let mut left: Vec<Option<&Objective>> = open.iter().map(|objective| Some(*objective)).collect();
    let mut ordered = Vec::new();
    for id in named {
        let place = left.iter().position(|objective| objective.is_some_and(|objective| objective.id == *id));
        ordered.extend(place.and_then(|place| left[place].take()));
    }
    ordered.extend(left.into_iter().flatten());
    ordered
}

/// At most so many parts of about equal size.
fn parts(objectives: Vec<&Objective>, count: usize) -> Vec<SubPhase> {
    let count = count.clamp(2, objectives.len());
    let mut rest = objectives.as_slice();
    let mut parts = Vec::new();
    for left in (1..=count).rev() {
        let (part, others) = rest.split_at(rest.len().div_ceil(left));
        rest = others;
        let first = part[0].description.lines().next().unwrap_or_default();
        let title = match part.len() {
            1 => first[..first.floor_char_boundary(TITLE_BYTES)].to_owned(),
            many => {
                format!("{} and {} more", &first[..first.floor_char_boundary(TITLE_BYTES)], many - 1)
            }
        };
        parts.push(SubPhase {
            title,
            objectives: part.iter().map(|objective| objective.id.clone()).collect(),
            order: Order::MiniPlan,
            max_turns: None,
        });
    }
    parts
}
