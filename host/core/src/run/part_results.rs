//! What the parts of a phase wrote down if they share a folder (C11): where a part writes it, which of these files exist,
//! and what the session that brings the parts together has to read.

use crate::ids::PhaseId;
use crate::input::ActionOutcome;
use crate::view::PhaseOrigin;

use super::Run;
use super::phase::{ActiveSplit, Phase};
use super::phase_list::PhaseIndex;

impl Run {
    /// Where a part that shares its folder with others writes what it has to say; workspace-relative.
    pub(super) fn result_file(&self, part: &PhaseId) -> String {
        let name: String =
            part.as_str().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        format!("{}/results/phase-{name}.md", self.task_folder)
    }

    /// The result files that a phase is to bring together, whether they exist or not. Empty for every other phase.
    pub(super) fn expected_results(&self, p: PhaseIndex) -> Vec<String> {
        let phase = &self.phases[p];
        match self.parent_split(phase) {
            Some(split) if phase.lineage.origin == PhaseOrigin::Merge && split.conflict().is_none() => {
                split.merged().iter().map(|part| self.result_file(part)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The first measurement says which of them no part wrote.
    pub(super) fn find_results(&mut self, p: PhaseIndex, outcome: &ActionOutcome) {
        let ActionOutcome::WorkspaceMeasured { facts } = outcome else { return };
        let expected = self.expected_results(p);
        let phase = &mut self.phases[p];
        // The session is not held to them.
        phase.measurements.facts.missing.retain(|file| !expected.contains(file));
        phase.artifacts.results = expected.into_iter().filter(|file| !facts.missing.contains(file)).collect();
    }

    /// What is to be read: the files that the parts wrote, then the host's own page of each part, which always exists.
    pub(super) fn results_to_read(&self, phase: &Phase, split: &ActiveSplit) -> Vec<String> {
        let page = |part: &PhaseId| {
            let below = self.workflow.paths.results(self.names(), part.as_str());
            format!("{}/{below}", self.task_folder)
        };
        phase.artifacts.results.iter().cloned().chain(split.merged().iter().map(page)).collect()
    }

    /// The split that a phase is a part or a merge of.
    pub(super) fn parent_split(&self, phase: &Phase) -> Option<&ActiveSplit> {
        let parent = self.phase_index(phase.lineage.parent.as_ref()?)?;
        self.phases[parent].split.active.as_ref()
    }
}
