//! The default policy: all decisions, with the thresholds and texts of the sources as settings.
//!
//! | file | decides |
//! |---|---|
//! | `assess.rs`, `assess/` | how a session is, or why it stopped, by a ladder of evidence; what is done, and how to go on |
//! | `compact.rs` | when to make room, and when a new session is better |
//! | `offload.rs` | what need not lie in a context |
//! | `split.rs`, `seams.rs` | whether a scope is too large, and where its seams are |
//! | `brief.rs`, `together.rs`, `reporting.rs` | the prompts: the work, others who work beside, and how to report |
//! | `held.rs`, `bearings.rs` | what the work is held to, and where an agent finds its way |
//! | `compose.rs`, `review.rs` | the handoff document, and whether one is fit |
//! | `settings.rs` | every threshold, phrase and text that a team may want to change |
//!
//! It has no memory and no clock, and imports nothing but its settings and the texts it is asked about.
//!
//! It is a library as well: without the feature `export`, a crate that depends on it exports nothing of it, and asks
//! [`Resilience`] as it likes (`baton policy new --extends resilience`).
#![forbid(unsafe_code)]

mod assess;
mod bearings;
mod brief;
mod compact;
mod compose;
mod held;
mod offload;
mod page;
mod reporting;
mod review;
mod seams;
mod settings;
mod split;
mod together;

use baton_sdk::prelude::*;

/// The default policy.
#[derive(Clone, Copy, Debug)]
pub struct Resilience;

impl Exhaustion for Resilience {
    fn assess(host: &impl Host, observation: exhaustion::Observation) -> Option<exhaustion::Assessment> {
        Some(assess::assess(host, &observation))
    }
}

impl Completion for Resilience {
    fn decide(host: &impl Host, observation: completion::Observation) -> Option<completion::Decision> {
        Some(assess::complete(host, &observation))
    }
}

impl Recovery for Resilience {
    fn decide(host: &impl Host, observation: recovery::Observation) -> Option<recovery::Decision> {
        Some(assess::recover(host, &observation))
    }
}

impl Offloading for Resilience {
    fn decide(host: &impl Host, observation: offloading::Observation) -> Option<offloading::Decision> {
        Some(offload::decide(host, &observation))
    }
}

impl Compaction for Resilience {
    fn decide(host: &impl Host, observation: compaction::Observation) -> Option<compaction::Decision> {
        Some(compact::decide(host, &observation))
    }
}

impl Splitting for Resilience {
    fn decide(host: &impl Host, observation: splitting::Observation) -> Option<splitting::Decision> {
        Some(split::evaluate(host, &observation))
    }
}

impl Budgeting for Resilience {
    fn decide(host: &impl Host, observation: budgeting::Observation) -> Option<budgeting::TurnBudget> {
        Some(split::budget(host, &observation))
    }
}

impl Prompting for Resilience {
    fn compose(host: &impl Host, observation: prompting::Observation) -> Option<prompting::Prompt> {
        Some(brief::brief(host, &observation))
    }
}

impl Handoff for Resilience {
    fn compose(host: &impl Host, observation: handoff::Observation) -> Option<handoff::Composition> {
        Some(compose::compose(host, &observation))
    }
}

impl Review for Resilience {
    fn assess(
        host: &impl Host,
        observation: baton_sdk::review::Observation,
    ) -> Option<baton_sdk::review::Review> {
        Some(review::review(host, &observation))
    }
}

impl Settings for Resilience {
    fn schema() -> Vec<baton_sdk::settings::Setting> {
        settings::schema()
    }
}

#[cfg(feature = "export")]
export_policy!(
    Resilience: exhaustion, completion, recovery, compaction, offloading, splitting, budgeting, prompting, handoff, review,
    settings
);

/// Whether an agent is started anew for each prompt, remembers nothing of those before, and has no events but its answer.
pub(crate) fn is_program(session: &baton_sdk::types::Session) -> bool {
    session.agent == "process"
}
