//! What of a phase is committed in the workspace.

use crate::ids::PhaseId;
use crate::view::CommitSummary;

use super::ObjectiveIndex;

/// What of a phase is committed in the workspace.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct CommittedWork {
    /// Oldest first.
    pub(in crate::run) commits: Vec<CommitSummary>,
    /// Objectives that were done at one of them, by their place.
    pub(in crate::run) objectives: Vec<ObjectiveIndex>,
    /// Commits that were asked for.
    pub(in crate::run) asked: u32,
    /// Why the last commit failed. A later one of the phase holds what that one was to hold.
    pub(in crate::run) failed: Option<String>,
    /// Another phase worked in the same folder.
    pub(in crate::run) folder_was_shared: bool,
    /// Its last review, until a session works on it again.
    pub(in crate::run) review: Option<PhaseId>,
}
