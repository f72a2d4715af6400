//! The default policy: all decisions, with the thresholds and texts of the sources as settings.
//!
//! | file | decides |
//! |---|---|
//! | `assess.rs`, `assess/` | how a session is, or why it stopped, by a ladder of evidence |
//! | `compact.rs` | when to make room, and when a new session is better |
//! | `split.rs`, `seams.rs` | whether a scope is too large, and where its seams are |
//! | `brief.rs`, `together.rs`, `reporting.rs` | the prompts: the work, others who work beside, and how to report |
//! | `held.rs`, `bearings.rs` | what the work is held to, and where an agent finds its way |
//! | `compose.rs`, `review.rs` | the handoff document, and whether one is fit |
//! | `settings.rs` | every threshold, phrase and text that a team may want to change |
//!
//! It has no memory and no clock, and imports nothing but its settings and the texts it is asked about.
#![forbid(unsafe_code)]

mod assess;
mod bearings;
mod brief;
mod compact;
mod compose;
mod held;
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
    fn assess(host: &impl Host, observation: exhaustion::Observation) -> exhaustion::Assessment {
        assess::assess(host, &observation)
    }
}

impl Compaction for Resilience {
    fn decide(host: &impl Host, observation: compaction::Observation) -> compaction::Decision {
        compact::decide(host, &observation)
    }
}

impl Splitting for Resilience {
    fn evaluate(host: &impl Host, observation: splitting::Observation) -> splitting::Decision {
        split::evaluate(host, &observation)
    }

    fn budget(
        host: &impl Host,
        observation: splitting::Observation,
        base_turns: u32,
    ) -> splitting::TurnBudget {
        split::budget(host, &observation, base_turns)
    }
}

impl Handoff for Resilience {
    fn brief(host: &impl Host, observation: handoff::Observation) -> handoff::Briefing {
        brief::brief(host, &observation)
    }

    fn compose(host: &impl Host, observation: handoff::Observation) -> handoff::Composition {
        compose::compose(host, &observation)
    }

    fn review(host: &impl Host, observation: handoff::ReviewObservation) -> handoff::ReviewResult {
        review::review(host, &observation)
    }
}

impl Settings for Resilience {
    fn schema() -> Vec<baton_sdk::settings::Setting> {
        settings::schema()
    }
}

export_policy!(Resilience: exhaustion, compaction, splitting, handoff, settings);
