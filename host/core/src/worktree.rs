//! The workplace of a phase: the workspace itself, or a work tree of its own outside it. Names only; the host makes their
//! folders and branches.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::PhaseId;

/// A place to work in. The default is the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct WorktreeName(String);

impl WorktreeName {
    /// The workspace itself.
    pub fn workspace() -> Self {
        Self::default()
    }

    /// The work tree of a sub-phase (D3).
    pub fn for_phase(phase: &PhaseId) -> Self {
        Self(phase.to_string())
    }

    /// The tree where the parts of a phase are merged before they land in the place where it began. A phase of a loop may be
    /// split more than once; each split, counted from 1, has a tree of its own.
    pub fn integration(phase: &PhaseId, split: u32) -> Self {
        match split {
            0 | 1 => Self(format!("{phase}.merge")),
            more => Self(format!("{phase}.merge-{more}")),
        }
    }

    /// Whether it is the workspace itself.
    pub fn is_workspace(&self) -> bool {
        self.0.is_empty()
    }

    /// The name; empty for the workspace.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorktreeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if self.is_workspace() { "the workspace" } else { &self.0 })
    }
}
