//! Passes the torch: a session that runs low hands off to a fresh one. Decides `prompting`, `handoff`, `review` and
//! `compaction` and `offloading`, by the rules of the third source (requirements C; *Artifact-based handoff patterns for graceful context exhaustion*).
//!
//! That source takes exhaustion for granted ("plan for exhaustion, not against it") and asks what the next one needs:
//!
//! | rule of the source | here |
//! |---|---|
//! | Near capacity, at about 80 %, hand off (C12, C20) | `compaction` hands off from `hand-off-percent`; it never compacts |
//! | Minimum work before a handoff (C21) | not before the session has finished `min-objectives` |
//! | Tool results of more than 20k tokens, and large inputs from 85 %, become references (C3, C4) | it offloads them |
//! | Three steps to be oriented (C2) | every prompt of a new session begins with them |
//! | Read the index, not the history (C16) | a continuing prompt has the path of the handoff, no digest of it |
//! | The template: one next action, state, decisions, what not to try, at most five facts, references (C15) | `compose` writes it |
//! | A successor for what is complex, the lead for small rests (C18) | the lead finishes up to `lead-finishes-objectives` |
//! | No placeholder, sections filled, no secret, files exist, score ≥ 70 (C8); FRESH … VERY_STALE (C9) | `review` |
//!
//! | file | part |
//! |---|---|
//! | `prompts.rs` | what the next prompt says |
//! | `documents.rs` | the handoff document, its index, and whether one is fit |
//! | `words.rs` | lists with an end, and words of others as quotes |
//!
//! Where the sources differ: `auto-loop` keeps one session alive by compaction, this one ends it while it still knows what it
//! did. Take it for agents that compact badly or not at all, and for work whose state fits on a page.
#![forbid(unsafe_code)]

mod documents;
mod prompts;
mod words;

use baton_sdk::compaction::{Action, Decision, Observation};
use baton_sdk::handoff;
use baton_sdk::offloading::ItemKind;
use baton_sdk::prelude::*;

/// The policy.
#[derive(Clone, Copy, Debug)]
pub struct Torch;

impl Offloading for Torch {
    fn decide(host: &impl Host, o: offloading::Observation) -> Option<offloading::Decision> {
        let used = o.session.occupancy.percent();
        let is_tight = used.is_some_and(|percent| percent >= host.number("offload-percent"));
        let tokens = |key: &str| u64::try_from(host.integer(key)).unwrap_or(0);
        let is_large = |kind: &ItemKind, size: u64| match kind {
            ItemKind::ToolResult => size > tokens("offload-tokens"),
            ItemKind::ToolInput => is_tight && size > tokens("offload-input-tokens"),
            ItemKind::Other(_) => false,
        };
        let large = o.items.into_iter().filter(|item| is_large(&item.kind, item.tokens));
        let items: Vec<String> = large.map(|item| item.id).collect();
        let reason = format!("{} large items become references", items.len());
        Some(offloading::Decision::new(items, reason))
    }
}

impl Compaction for Torch {
    fn decide(host: &impl Host, o: Observation) -> Option<Decision> {
        let used = o.session.occupancy.percent();
        let from = |key: &str| used.is_some_and(|percent| percent >= host.number(key));
        let done = i64::from(o.phase.progress.done_by_session);
        Some(if !from("hand-off-percent") {
            Decision::new(Action::Keep, "it is not near capacity")
        } else if done < host.integer("min-objectives") {
            Decision::new(
                Action::Keep,
                format!("it is near capacity, but has finished {done} of its objectives: no thrashing"),
            )
        } else {
            Decision::new(Action::HandOff, "it is near capacity and has something to hand on")
        })
    }
}

impl Prompting for Torch {
    fn compose(host: &impl Host, o: prompting::Observation) -> Option<prompting::Prompt> {
        Some(prompts::prompt(host, &o))
    }
}

impl Handoff for Torch {
    fn compose(host: &impl Host, o: handoff::Observation) -> Option<handoff::Composition> {
        Some(documents::compose(host, &o))
    }
}

impl Review for Torch {
    fn assess(host: &impl Host, o: review::Observation) -> Option<review::Review> {
        Some(documents::review(host, &o))
    }
}

impl Settings for Torch {
    fn schema() -> Vec<settings::Setting> {
        vec![
            schema::number("hand-off-percent", 80.0, 1.0..=99.0, "Hand off from this occupancy, in percent."),
            schema::integer(
                "min-objectives",
                1,
                0..=100,
                "Objectives that a session finishes before it hands off.",
            ),
            schema::integer(
                "offload-tokens",
                20_000,
                1_000..=1_000_000,
                "A tool result of more tokens than this becomes a reference.",
            ),
            schema::number(
                "offload-percent",
                85.0,
                1.0..=99.0,
                "From this occupancy, in percent, large inputs become references too.",
            ),
            schema::integer(
                "offload-input-tokens",
                1_000,
                100..=1_000_000,
                "An input of more tokens than this is large.",
            ),
            schema::integer(
                "lead-finishes-objectives",
                1,
                0..=10,
                "The lead finishes a phase with at most so many open objectives, a successor does otherwise.",
            ),
            schema::texts(
                "context-rules",
                &[
                    "Offload large tool outputs to files, and keep references.",
                    "Prefer targeted reads (line ranges) to whole files.",
                    "At about 80 % of your context, by your own estimate, write a handoff (`handoff_write`) and stop.",
                    "So do before an operation that might push you over the limit, after an objective where little room is \
                     left, and when you find yourself reading the same again.",
                ],
                "What the first prompt of every session says of context.",
            ),
            schema::integer("accept-score", 70, 0..=100, "Points that a handoff document needs."),
            schema::texts(
                "placeholders",
                &["[TODO", "TODO:", "TBD", "FIXME", "<fill in", "{placeholder"],
                "What shows that a document was not filled in.",
            ),
        ]
    }
}

export_policy!(Torch: prompting, handoff, review, compaction, offloading, settings);
