//! What agents said to be done since their phase was last measured, when their host ended (A11): the folder may have been restored since
//! then, and no measurement could tell. It counts once the next measurement finds a change that the one before did not.

use crate::facts::{ChangedFile, WorkspaceFacts};
use crate::observation::ObjectiveStatus;

use super::Run;
use super::phase::{ObjectiveIndex, ObjectiveState, Phase};
use super::phase_list::PhaseIndex;
use super::step::PhaseStep;

/// What is said to agents and people of an objective whose work is not there.
pub(super) const NOT_IN_FOLDER: &str =
    "the host ended since it was called done, and no change for it is in the folder";

/// Whether a measurement has looked at the folder since an agent called an objective done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum ClaimStatus {
    /// It has, or nothing was said.
    #[default]
    Measured,
    /// It was reported as done, and its phase was not measured since.
    Reported,
    /// The host ended before that. The next measurement tells whether its work is there.
    Unconfirmed,
    /// That found no change for it.
    Unshown,
}

impl Run {
    /// Whether agents called something done that no measurement has seen, and may have called it so when their host ended.
    pub fn has_unmeasured_claims(&self) -> bool {
        self.ending.is_none() && self.phases.indices().any(|p| !self.unmeasured_claims(p).is_empty())
    }

    /// A host takes the run up: what agents said since the last measurement is not shown yet. In a folder that is another one by now, it
    /// is not done.
    pub(super) fn on_claims_unmeasured(&mut self, is_folder_replaced: bool) {
        if self.ending.is_some() {
            return;
        }
        for p in self.phases.indices() {
            let is_gone = is_folder_replaced && self.phases[p].tree.is_workspace();
            for g in self.unmeasured_claims(p) {
                let phase = &mut self.phases[p];
                match is_gone {
                    true => phase.refute_claim(g),
                    false => phase.objectives[g].claim = ClaimStatus::Unconfirmed,
                }
            }
            self.reopen_unshown(p);
        }
    }

    /// Objectives that are done by a report since the last measurement, and those that the answer to a prompt may be about which is
    /// still to be measured. Work that changes no files cannot be lost.
    fn unmeasured_claims(&self, p: PhaseIndex) -> Vec<ObjectiveIndex> {
        let phase = &self.phases[p];
        // What the host has merged in a tree of its own is nothing that people restore, and is looked at by its state.
        let is_merge_apart = phase.lineage.is_made_by_host() && !phase.tree.is_workspace();
        if phase.is_over() || is_merge_apart || !self.expects_files(p) {
            return Vec::new();
        }
        let answered: &[ObjectiveIndex] = match &phase.step {
            PhaseStep::MeasuringWorkspace { focus, .. } => focus,
            _ => &[],
        };
        let is_claimed = |g: ObjectiveIndex, objective: &ObjectiveState| match objective.claim {
            ClaimStatus::Reported | ClaimStatus::Unconfirmed => objective.is_done() || answered.contains(&g),
            ClaimStatus::Measured => !objective.is_done() && answered.contains(&g),
            ClaimStatus::Unshown => false,
        };
        let objectives = phase.objectives.indexed();
        objectives
            .filter(|(g, objective)| !objective.is_accepted() && is_claimed(*g, objective))
            .map(|(g, _)| g)
            .collect()
    }

    /// What a measurement does not show is not done.
    pub(super) fn reopen_unshown(&mut self, p: PhaseIndex) {
        for g in self.phases[p].objectives.indices() {
            let objective = &self.phases[p].objectives[g];
            if objective.claim == ClaimStatus::Unshown && !objective.is_accepted() {
                self.reopen(p, g, ObjectiveStatus::InProgress, NOT_IN_FOLDER);
            }
        }
    }

    /// Measures beside the step of a phase what its agents said before their host ended, where the step does not.
    pub(super) fn measure_unconfirmed(&mut self, p: PhaseIndex) {
        let phase = &self.phases[p];
        let is_measured = matches!(
            phase.step,
            PhaseStep::Baseline { .. }
                | PhaseStep::MeasuringWorkspace { .. }
                | PhaseStep::MeasuringAfterExit { .. }
                | PhaseStep::MeasuringBeforeChecks { .. }
        );
        if phase.has_unconfirmed_claims() && !is_measured {
            let action = self.request_measurement(p, false);
            self.phases[p].measurements.after_stop = Some(action);
        }
    }
}

impl Phase {
    pub(super) fn has_unconfirmed_claims(&self) -> bool {
        self.objectives.iter().any(|objective| objective.claim == ClaimStatus::Unconfirmed)
    }

    /// A measurement was taken: what was reported by then is measured, and what was said before the host ended is shown by it or not.
    pub(super) fn settle_claims(&mut self, before: &WorkspaceFacts) {
        for g in self.objectives.indices() {
            match self.objectives[g].claim {
                ClaimStatus::Measured | ClaimStatus::Unshown => {}
                ClaimStatus::Unconfirmed if !self.has_new_change(g, before) => self.refute_claim(g),
                ClaimStatus::Reported | ClaimStatus::Unconfirmed => {
                    self.objectives[g].claim = ClaimStatus::Measured
                }
            }
        }
    }

    /// The work that was called done is not there: the report counts no more, and no session is to blame.
    fn refute_claim(&mut self, g: ObjectiveIndex) {
        let objective = &mut self.objectives[g];
        objective.claim = ClaimStatus::Unshown;
        objective.reported.take_if(|said| said.status == ObjectiveStatus::Done);
        self.assessment.prompt_cut_off = true;
    }

    /// Whether a file differs for an objective that did not before: one that it names, or any if it names none. Where another commit is
    /// checked out by now, or nothing differs from the commit, git may have put the files there or taken them away.
    fn has_new_change(&self, g: ObjectiveIndex, before: &WorkspaceFacts) -> bool {
        let now = &self.measurements.facts;
        let is_restored = now.git.present && (now.git.head != before.git.head || now.git.dirty_files == 0);
        let names = &self.objectives[g].spec.files;
        let is_new = |file: &ChangedFile| !before.changed.contains(file);
        let is_changed = match names.is_empty() {
            true => now.changed_since(before) > 0,
            false => now.changed.iter().any(|file| names.contains(&file.path) && is_new(file)),
        };
        is_changed && !is_restored
    }
}
