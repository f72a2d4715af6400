//! What of a phase is committed in the workspace.

use crate::ids::PhaseId;
use crate::view::CommitSummary;

/// What of a phase is committed in the workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CommittedWork {
    /// Oldest first.
    pub(super) commits: Vec<CommitSummary>,
    /// Objectives that were done at one of them, by their place.
    pub(super) objectives: Vec<usize>,
    /// Commits that were asked for.
    pub(super) asked: u32,
    /// Why the last commit failed. A later one of the phase holds what that one was to hold.
    pub(super) failed: Option<String>,
    /// Somebody else worked in the same folder.
    pub(super) folder_was_shared: bool,
    /// Its last review, until a session works on it again.
    pub(super) review: Option<PhaseId>,
}
