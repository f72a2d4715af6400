//! How many objectives a phase may have, which phases stay whole, and how many turns a phase gets. What is asked here names no
//! role: rules for one role stand in the table of policies of that role.

use baton_sdk::budgeting::TurnBudget;
use baton_sdk::prelude::*;
use baton_sdk::splitting::{Action, Decision, Observation, Occasion, Order, SubPhase, Time};

use crate::entries::{matches, number_of, numbered};

pub(crate) const OBJECTIVES_AT_MOST: &str = "objectives-at-most";
pub(crate) const NEVER_SPLIT: &str = "never-split";
pub(crate) const TURNS_BY_PHASE: &str = "turns-by-phase";
pub(crate) const TURNS_BY_MODE: &str = "turns-by-mode";

/// Bytes of a part's title.
const TITLE_BYTES: usize = 80;

pub(crate) fn split(host: &impl Host, o: &Observation) -> Option<Decision> {
    let names = names(&o.phase);
    if let Some(pattern) = host.texts(NEVER_SPLIT).iter().find(|pattern| is_named(pattern, &names)) {
        let reason = format!("by the rule {NEVER_SPLIT}: {pattern}");
        return Some(Decision::new(Action::Keep, caps::cut(&reason, caps::REASON_BYTES)));
    }
    let most = usize::try_from(host.integer(OBJECTIVES_AT_MOST)).ok().filter(|most| *most > 0)?;
    let open: Vec<&Objective> =
        o.objectives.iter().filter(|objective| objective.status != ObjectiveStatus::Done).collect();
    let fan_out = (o.limits.parts as usize).min(caps::ITEMS);
    let is_whole = o.wish == Time::Never || o.phase.depth >= o.limits.depth || fan_out < 2;
    // An agent that asks for a split has groups in mind, and a rule has none.
    if open.len() <= most || is_whole || o.occasion == Occasion::Requested {
        return None;
    }
    let parts = parts(&open, open.len().div_ceil(most).min(fan_out));
    let reason = format!("{} open objectives are more than {most}: {} parts", open.len(), parts.len());
    Some(Decision::new(Action::Split(parts), reason))
}

pub(crate) fn budget(host: &impl Host, o: &budgeting::Observation) -> Option<TurnBudget> {
    let (by_phase, names) = (host.texts(TURNS_BY_PHASE), names(&o.phase));
    let mut named = by_phase.iter().filter_map(|entry| numbered(entry));
    let (rule, max_turns) = match named.find(|(pattern, _)| is_named(pattern, &names)) {
        Some((_, turns)) => (TURNS_BY_PHASE, turns),
        None => (TURNS_BY_MODE, number_of(&host.texts(TURNS_BY_MODE), &o.phase.mode)?),
    };
    Some(TurnBudget { max_turns: Some(max_turns), reason: format!("{max_turns} turns by the rule {rule}") })
}

/// The id and title of a phase, as patterns are held to them: without capitals, and no longer than a title may be.
fn names(phase: &Phase) -> [String; 2] {
    [&phase.id, &phase.title].map(|name| caps::cut(name, caps::REASON_BYTES).to_ascii_lowercase())
}

/// Whether the pattern is about the phase of these names.
fn is_named(pattern: &str, names: &[String; 2]) -> bool {
    names.iter().any(|name| matches(pattern, name))
}

/// So many parts of about equal size, in the order of the objectives.
fn parts(objectives: &[&Objective], count: usize) -> Vec<SubPhase> {
    let mut rest = objectives;
    let mut parts = Vec::new();
    for left in (1..=count).rev() {
        let (part, others) = rest.split_at(rest.len().div_ceil(left));
        rest = others;
        let Some(first) = part.first() else { continue };
        let first = caps::cut(first.description.lines().next().unwrap_or_default(), TITLE_BYTES);
        let (title, order) = match part.len() {
            1 => (first.to_owned(), Order::Direct),
            many => (format!("{first} and {} more", many - 1), Order::MiniPlan),
        };
        let objectives = part.iter().map(|objective| objective.id.clone()).collect();
        parts.push(SubPhase { title, objectives, order, max_turns: None });
    }
    parts
}
