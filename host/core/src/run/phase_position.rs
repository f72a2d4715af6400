//! Where a phase stands among the others, as a policy learns it: its round of a loop, its part in a split, and those who work in the
//! same folder. Decides nothing.

use crate::ids::SessionId;
use crate::observation::{ConflictView, IterationView};
use crate::view::PhaseOrigin;

use super::Run;
use super::phase::ActiveSplit;
use super::phase_list::PhaseIndex;

impl Run {
    /// The round of the loop that a phase is walked in (B10).
    pub(super) fn iteration(&self, p: PhaseIndex) -> Option<IterationView> {
        let phase = &self.phases[p];
        let last = self.index.loop_end(&phase.spec.id)?;
        let repeat = self.workflow.phases[last].repeat.as_ref()?;
        let at_most = repeat.at_most + phase.loop_position.iterations_before_reset;
        Some(IterationView { ordinal: phase.loop_position.iteration, at_most })
    }

    /// Where several may share a folder, only they themselves can say whose a report in it is.
    pub(super) fn reports_as(&self, p: PhaseIndex) -> Option<SessionId> {
        let phase = &self.phases[p];
        let shares = phase.lineage.parent.is_some() || !self.live_phases_in_same_folder(p).is_empty();
        phase.session.clone().filter(|_| shares)
    }

    /// Where a part that shares its folder writes down what it made (C11).
    pub(super) fn own_result_file(&self, p: PhaseIndex) -> Option<String> {
        let split = self.split_by_origin(p, PhaseOrigin::Split)?;
        split.shares_folder().then(|| self.result_file(&self.phases[p].spec.id))
    }

    /// What a merge without a conflict has to read.
    pub(super) fn result_files(&self, p: PhaseIndex) -> Vec<String> {
        match self.split_by_origin(p, PhaseOrigin::Merge) {
            Some(split) if split.conflict().is_none() => self.results_to_read(&self.phases[p], split),
            _ => Vec::new(),
        }
    }

    /// What a merge has to resolve.
    pub(super) fn conflict(&self, p: PhaseIndex) -> Option<ConflictView> {
        let (with, files) = self.split_by_origin(p, PhaseOrigin::Merge)?.conflict()?;
        Some(ConflictView { with_phase: with.cloned(), files: files.to_vec() })
    }

    /// The split that a phase of this origin belongs to.
    fn split_by_origin(&self, p: PhaseIndex, origin: PhaseOrigin) -> Option<&ActiveSplit> {
        let phase = &self.phases[p];
        self.parent_split(phase).filter(|_| phase.lineage.origin == origin)
    }
}
