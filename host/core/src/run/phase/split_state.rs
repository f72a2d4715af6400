//! The splits of a phase: the one that was asked for, those that were made, and the one that is not yet brought together.

use std::collections::BTreeSet;

use crate::decision::SubPhase;
use crate::observation::SplitRequestView;
use crate::{PhaseId, WorktreeName};

/// The splits of a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct SplitState {
    /// What an agent asked for.
    pub(in crate::run) request: Option<SplitRequestView>,
    /// Sub-phases that it was split into so far.
    pub(in crate::run) part_count: u32,
    /// Times that it was split.
    pub(in crate::run) count: u32,
    /// What it is being split into, until what its session knew is handed off and the state that they start from is kept.
    pub(in crate::run) planned_parts: Vec<SubPhase>,
    /// Its parts, in any walk of its loop, whose objectives became its own: it took what they had done.
    pub(in crate::run) merged_parts: BTreeSet<PhaseId>,
    /// The split that is not yet brought together.
    pub(in crate::run) active: Option<ActiveSplit>,
}

impl SplitState {
    /// The phase has not taken over what parts of it did, and no split of it is under way.
    pub(in crate::run) fn is_untouched(&self) -> bool {
        self.active.is_none() && self.merged_parts.is_empty()
    }

    /// The state that its parts start from is about to be kept. Gives which split of the phase this is.
    pub(in crate::run) fn begin_checkpoint(&mut self, parts: &[SubPhase]) -> u32 {
        parts.clone_into(&mut self.planned_parts);
        self.count += 1;
        self.count
    }

    /// That failed. If it is asked for once more, it is the same split.
    pub(in crate::run) fn forget_checkpoint(&mut self) {
        self.count -= 1;
    }

    /// Its parts were made.
    pub(in crate::run) fn begin(&mut self, split: ActiveSplit) {
        self.part_count += split.parts.len() as u32;
        self.active = Some(split);
    }

    /// What did not fit is resolved, or was left.
    pub(in crate::run) fn clear_conflict(&mut self) {
        if let Some(split) = &mut self.active {
            split.conflict = None;
        }
    }

    /// The work of a part is in.
    pub(in crate::run) fn add_merged(&mut self, part: &PhaseId) {
        self.merged_parts.insert(part.clone());
        if let Some(split) = &mut self.active {
            split.merged.push(part.clone());
        }
    }
}

/// A split from its checkpoint until what the parts made is where the phase began.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run) struct ActiveSplit {
    /// The commit that the parts start from; absent where they share a folder.
    pub(in crate::run) base: Option<String>,
    /// Where the phase worked when it was split.
    pub(in crate::run) home: WorktreeName,
    /// In the order of their letters.
    pub(in crate::run) parts: Vec<PhaseId>,
    /// Those whose work is in, in order.
    pub(in crate::run) merged: Vec<PhaseId>,
    /// Those whose work stays where it is.
    pub(in crate::run) left_unmerged: Vec<PhaseId>,
    pub(in crate::run) conflict: Option<MergeConflict>,
    /// A session has brought the results together.
    pub(in crate::run) results_combined: bool,
    /// Times that the place where it began had changed.
    pub(in crate::run) updates: u32,
    /// What is merged is where the phase began.
    pub(in crate::run) landed: bool,
    /// The tree in which they come together has what `setup` makes.
    pub(in crate::run) ready: bool,
    /// Something did not fit, so that a session brought it together.
    pub(in crate::run) had_conflict: bool,
    /// Sessions that had worked in the tree in which they come together when that was made, or checked out again.
    pub(in crate::run) sessions_at_checkout: usize,
}

/// A merge that stands open.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run) struct MergeConflict {
    /// Whose work it is; absent for what happened where the phase began.
    pub(in crate::run) with: Option<PhaseId>,
    pub(in crate::run) files: Vec<String>,
    /// Sessions that have tried to resolve it.
    pub(in crate::run) tries: u32,
}

impl ActiveSplit {
    pub(in crate::run) fn new(base: Option<String>, home: WorktreeName, parts: Vec<PhaseId>) -> Self {
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
    pub(in crate::run) fn try_again(&mut self) {
        self.updates = 0;
        if let Some(conflict) = &mut self.conflict {
            conflict.tries = 0;
        }
    }

    /// Files with conflicts, and whose work they are in.
    pub(in crate::run) fn conflict(&self) -> Option<(Option<&PhaseId>, &[String])> {
        self.conflict.as_ref().map(|conflict| (conflict.with.as_ref(), conflict.files.as_slice()))
    }

    /// The tree in which they come together has what `setup` makes.
    pub(in crate::run) fn is_ready(&self) -> bool {
        self.ready
    }

    /// The parts share the folder of the phase.
    pub(in crate::run) fn shares_folder(&self) -> bool {
        self.base.is_none()
    }

    /// Those whose work is in, in order.
    pub(in crate::run) fn merged(&self) -> &[PhaseId] {
        &self.merged
    }
}
