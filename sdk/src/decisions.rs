//! The five decisions as traits, and their records under the names of the contract. Each is documented in `wit/`.

use crate::host::Host;

/// The words that observations and decisions share (`wit/types.wit`).
pub mod types {
    pub use crate::bindings::shared::baton::policy::types::*;

    impl Occupancy {
        /// How full the window is, in percent; nothing where either number is unknown or the window is empty.
        pub fn percent(&self) -> Option<f64> {
            match (self.used_tokens, self.window_tokens) {
                (Some(used), Some(window)) if window > 0 => Some(used as f64 * 100.0 / window as f64),
                _ => None,
            }
        }
    }
}

/// How is this session, or why did it stop?
pub mod exhaustion {
    pub use crate::bindings::exhaustion::exports::baton::policy::exhaustion::{
        Assessment, Observation, Occasion, Quota, QuotaCause, Recovery, Verdict,
    };
}

/// Is it time to make room, and how?
pub mod compaction {
    pub use crate::bindings::compaction::exports::baton::policy::compaction::{
        Action, Decision, Item, ItemKind, Observation,
    };

    impl Decision {
        /// This action, for this reason: one sentence for a person.
        pub fn new(action: Action, reason: impl Into<String>) -> Self {
            Self { action, reason: reason.into() }
        }
    }
}

/// Is this scope too large, and where are its seams?
pub mod splitting {
    pub use crate::bindings::splitting::exports::baton::policy::splitting::{
        Action, Decision, Group, Observation, Occasion, Order, Request, SubPhase, TurnBudget,
    };

    impl Decision {
        /// This action, for this reason: one sentence for a person.
        pub fn new(action: Action, reason: impl Into<String>) -> Self {
            Self { action, reason: reason.into() }
        }
    }
}

/// What does the next session get?
pub mod handoff {
    pub use crate::bindings::handoff::exports::baton::policy::handoff::{
        Artifact, Attempt, Briefing, Commit, Composition, Continuer, Finding, Kind, Observation, Remark,
        ReportedHandoff, ReviewObservation, ReviewResult, Staleness, Verification,
    };
}

/// What can be set?
pub mod settings {
    pub use crate::bindings::settings::exports::baton::policy::settings::{Problem, Setting};
}

/// Answers `exhaustion`: how a session is, or why it stopped, and what to do with one that hangs or failed.
pub trait Exhaustion {
    /// Judges one session. The verdict may be `Healthy` only while the session lives.
    fn assess(host: &impl Host, observation: exhaustion::Observation) -> exhaustion::Assessment;
}

/// Answers `compaction`: whether to make room between two prompts, and how.
pub trait Compaction {
    /// Keep, compact, offload or hand off.
    fn decide(host: &impl Host, observation: compaction::Observation) -> compaction::Decision;
}

/// Answers `splitting`: whether a scope is too large, and how many turns it may take.
pub trait Splitting {
    /// Keep, split into sub-phases, or ask a person.
    fn evaluate(host: &impl Host, observation: splitting::Observation) -> splitting::Decision;

    /// Turns for this scope. `base_turns` is the table's value for its role and mode.
    fn budget(
        host: &impl Host,
        observation: splitting::Observation,
        base_turns: u32,
    ) -> splitting::TurnBudget;
}

/// Answers `handoff`: what the next prompt says, and what a session leaves to its successor.
pub trait Handoff {
    /// The prompt of the next message to an agent, at most 32 KiB.
    fn brief(host: &impl Host, observation: handoff::Observation) -> handoff::Briefing;

    /// The document and index that a session leaves, and who continues.
    fn compose(host: &impl Host, observation: handoff::Observation) -> handoff::Composition;

    /// Whether a handoff document is fit to start a successor.
    fn review(host: &impl Host, observation: handoff::ReviewObservation) -> handoff::ReviewResult;
}

/// Answers `settings`: what can be set. Asked once before a run starts; it reads no host.
pub trait Settings {
    /// Every setting, with its default and bounds.
    fn schema() -> Vec<settings::Setting>;

    /// The canonical values, or what is wrong by key. The default holds the given values against [`Settings::schema`].
    fn validate(
        given: Vec<(String, types::SettingValue)>,
    ) -> Result<Vec<(String, types::SettingValue)>, Vec<settings::Problem>> {
        crate::schema::validate(&Self::schema(), given)
    }
}
