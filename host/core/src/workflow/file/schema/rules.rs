//! A file of rules: the settings of the policy `rules`, key by key. The form of entries is checked in `workflow/rules.rs`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{LocatedValue, TEXT_CHARS_MAX};

/// Entries of one list: more than these belong into a policy of their own.
const ENTRIES_MAX: usize = 100;
/// Objectives of a phase above which no rule is needed: a phase has no more.
const OBJECTIVES_MAX: u32 = 200;

/// Rules of a team. What no rule speaks about is decided by the next policy.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "Baton rules", rename = "Rules")]
pub(crate) struct RulesSchema {
    /// The context window is used up, at the end of a prompt: ["agent-text: my context is full"]
    #[schemars(length(min = 1, max = ENTRIES_MAX))]
    exhausted_phrases: Vec<LocatedValue<String>>,
    /// An allowance of the provider is used up: ["terminal: all seats are taken"]
    #[schemars(length(min = 1, max = ENTRIES_MAX))]
    quota_phrases: Vec<LocatedValue<String>>,
    /// The prompt failed, at its end: ["provider-error: gateway is closed"]
    #[schemars(length(min = 1, max = ENTRIES_MAX))]
    failed_phrases: Vec<LocatedValue<String>>,
    /// What follows a failure by `failed-phrases`. Default: "new-session".
    #[schemars(extend("enum" = ["new-session", "nudge", "split", "ask"]))]
    pub(crate) after_failed: Option<String>,
    /// The agent waits in silence for something that does not come: ["terminal: proceed? [y/N]"]
    #[schemars(length(min = 1, max = ENTRIES_MAX))]
    stalled_phrases: Vec<LocatedValue<String>>,
    /// From which occupancy a kind of agent compacts: ["claude = 75", "* = 60"]
    #[schemars(length(min = 1, max = ENTRIES_MAX))]
    compact_percent: Vec<LocatedValue<String>>,
    /// What a compaction by `compact-percent` keeps.
    #[schemars(length(min = 1, max = TEXT_CHARS_MAX))]
    pub(crate) compact_instructions: Option<String>,
    /// From which occupancy a kind of agent hands off: ["process = 80"]
    #[schemars(length(min = 1, max = ENTRIES_MAX))]
    hand_off_percent: Vec<LocatedValue<String>>,
    /// A phase with more open objectives is split.
    #[schemars(range(min = 1, max = OBJECTIVES_MAX))]
    pub(crate) objectives_at_most: Option<u32>,
    /// Phases that are never split, by id or title: ["deploy-*"]
    #[schemars(length(min = 1, max = ENTRIES_MAX))]
    never_split: Vec<LocatedValue<String>>,
    /// Turns of phases, by id or title; the first that matches counts: ["docs-* = 8"]
    #[schemars(length(min = 1, max = ENTRIES_MAX))]
    turns_by_phase: Vec<LocatedValue<String>>,
    /// Turns of every other phase, by mode: ["swarm = 40"]
    #[schemars(length(min = 1, max = ENTRIES_MAX))]
    turns_by_mode: Vec<LocatedValue<String>>,
}

impl RulesSchema {
    /// Every list, by its key.
    pub(crate) fn lists(&self) -> [(&'static str, &[LocatedValue<String>]); 9] {
        [
            ("exhausted-phrases", &self.exhausted_phrases),
            ("quota-phrases", &self.quota_phrases),
            ("failed-phrases", &self.failed_phrases),
            ("stalled-phrases", &self.stalled_phrases),
            ("compact-percent", &self.compact_percent),
            ("hand-off-percent", &self.hand_off_percent),
            ("never-split", &self.never_split),
            ("turns-by-phase", &self.turns_by_phase),
            ("turns-by-mode", &self.turns_by_mode),
        ]
    }
}
