//! The files that the host writes for agents, as far as they exist: where a prompt sends an agent to find its way (C24).

use crate::action::sibling_name;
use crate::observation::{EntryPointKind, EntryPointView};

use super::Run;
use super::phase::Phase;
use super::phase_list::PhaseIndex;

/// The index beside a handoff document.
const INDEX: &str = "index.md";

impl Run {
    pub(super) fn entry_points(&self, p: PhaseIndex) -> Vec<EntryPointView> {
        let phase = &self.phases[p];
        let below = |path: &str| format!("{}/{path}", self.task_folder);
        let newest = phase.handoffs.newest().filter(|handoff| handoff.index.is_some());
        // The index of the run leads to what every phase left.
        let is_any_left = self.phases.iter().any(|phase| !phase.handoffs.closing.is_empty());
        let of_run = || is_any_left.then(|| below(&self.workflow.paths.index(self.names())));
        let summary = || below(&self.workflow.paths.summary(self.names(), phase.spec.id.as_str()));
        // A host writes the files of the run with every commit, before it asks for a prompt.
        [
            (EntryPointKind::Index, newest.map(|handoff| sibling_name(&handoff.path, INDEX)).or_else(of_run)),
            (EntryPointKind::Progress, Some(below("progress.json"))),
            (EntryPointKind::WorkItems, Some(below("work-items.json"))),
            (EntryPointKind::InitScript, Some(below("init.sh"))),
            (EntryPointKind::Summary, phase.has_summary().then(summary)),
        ]
        .into_iter()
        .filter_map(|(kind, path)| Some(EntryPointView { kind, path: path? }))
        .collect()
    }
}

impl Phase {
    /// Whether a summary of it was written: from then on its file in the workspace says what is true now (B2).
    pub(super) fn has_summary(&self) -> bool {
        let name = format!("summaries/phase-{}.md", self.spec.id);
        self.artifacts.kept.iter().any(|artifact| artifact.name == name)
    }
}
