//! What is known of a split from its checkpoint until what its parts made is merged.

use crate::{PhaseId, WorktreeName};

/// A split from its checkpoint until what the parts made is where the phase began.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ActiveSplit {
    /// The commit that the parts start from; absent where they share a folder.
    pub(super) base: Option<String>,
    /// Where the phase worked when it was split.
    pub(super) home: WorktreeName,
    /// In the order of their letters.
    pub(super) parts: Vec<PhaseId>,
    /// Those whose work is in, in order.
    pub(super) merged: Vec<PhaseId>,
    /// Those whose work stays where it is.
    pub(super) left_unmerged: Vec<PhaseId>,
    pub(super) conflict: Option<MergeConflict>,
    /// A session has brought the results together.
    pub(super) results_combined: bool,
    /// Times that the place where it began had changed.
    pub(super) updates: u32,
    /// What is merged is where the phase began.
    pub(super) landed: bool,
    /// The tree in which they come together has what `setup` makes.
    pub(super) ready: bool,
    /// Something did not fit, so that a session brought it together.
    pub(super) had_conflict: bool,
    /// Sessions that had worked in the tree in which they come together when that was made, or checked out anew.
    pub(super) sessions_at_checkout: usize,
}

/// A merge that stands open.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MergeConflict {
    /// Whose work it is; absent for what happened where the phase began.
    pub(super) with: Option<PhaseId>,
    pub(super) files: Vec<String>,
    /// Sessions that have tried to resolve it.
    pub(super) tries: u32,
}

impl ActiveSplit {
    pub(super) fn new(base: Option<String>, home: WorktreeName, parts: Vec<PhaseId>) -> Self {
        Self {
            base,
            home,
            parts,
            merged: Vec::new(),
            left_unmerged: Vec::new(),
            conflict: None,
            results_combined: false,
            updates: 0,
            landed: false,
            ready: false,
            had_conflict: false,
            sessions_at_checkout: 0,
        }
    }

    /// A person wants it tried again, as if for the first time.
    pub(super) fn try_again(&mut self) {
        self.updates = 0;
        if let Some(conflict) = &mut self.conflict {
            conflict.tries = 0;
        }
    }

    /// Files with conflicts, and whose work they are in.
    pub(super) fn conflict(&self) -> Option<(Option<&PhaseId>, &[String])> {
        self.conflict.as_ref().map(|conflict| (conflict.with.as_ref(), conflict.files.as_slice()))
    }

    /// The tree in which they come together has what `setup` makes.
    pub(super) fn is_ready(&self) -> bool {
        self.ready
    }

    /// The parts share the folder of the phase.
    pub(super) fn shares_folder(&self) -> bool {
        self.base.is_none()
    }

    /// Those whose work is in, in order.
    pub(super) fn merged(&self) -> &[PhaseId] {
        &self.merged
    }
}
