//! The questions by their names.

use serde::{Deserialize, Serialize};

/// The questions of the contract, one an interface; a component is configured for each (and `settings` goes with the component).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// How is this session, or why did it stop?
    Exhaustion,
    /// Are the objectives of a prompt done?
    Completion,
    /// What to do about a session that is not well, or whose objectives are not done?
    Recovery,
    /// Is it time to make room, and how?
    Compaction,
    /// Which large items need not lie in the context?
    Offloading,
    /// Is this scope too large, and where are its seams?
    Splitting,
    /// How many turns may this scope take?
    Budgeting,
    /// What is the next message to an agent?
    Prompting,
    /// What does a session leave to the one after it?
    Handoff,
    /// Is a handoff document fit to start a successor?
    Review,
}

impl Capability {
    /// All of them, in the order in which core lets them speak about one event.
    pub const ALL: [Capability; 10] = [
        Capability::Exhaustion,
        Capability::Completion,
        Capability::Recovery,
        Capability::Splitting,
        Capability::Budgeting,
        Capability::Compaction,
        Capability::Offloading,
        Capability::Prompting,
        Capability::Handoff,
        Capability::Review,
    ];

    /// The name of the WIT interface.
    pub const fn name(self) -> &'static str {
        match self {
            Capability::Exhaustion => "exhaustion",
            Capability::Completion => "completion",
            Capability::Recovery => "recovery",
            Capability::Compaction => "compaction",
            Capability::Offloading => "offloading",
            Capability::Splitting => "splitting",
            Capability::Budgeting => "budgeting",
            Capability::Prompting => "prompting",
            Capability::Handoff => "handoff",
            Capability::Review => "review",
        }
    }

    /// The capability of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|capability| capability.name() == name)
    }

    /// `interface.function`, as in the contract.
    pub const fn function(self) -> &'static str {
        match self {
            Capability::Exhaustion => "exhaustion.assess",
            Capability::Completion => "completion.decide",
            Capability::Recovery => "recovery.decide",
            Capability::Compaction => "compaction.decide",
            Capability::Offloading => "offloading.decide",
            Capability::Splitting => "splitting.decide",
            Capability::Budgeting => "budgeting.decide",
            Capability::Prompting => "prompting.compose",
            Capability::Handoff => "handoff.compose",
            Capability::Review => "review.assess",
        }
    }
}

impl std::fmt::Display for Capability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
