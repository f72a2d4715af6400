//! Objectives that were taken for done, and are open again: by what their files say, by findings of checks, or because work on them is
//! gone.

use std::collections::BTreeSet;

use crate::observation::ObjectiveStatus;
use crate::progress::ProgressEvent;

use super::Run;
use super::phase::{ObjectiveIndex, Phase};
use super::phase_list::PhaseIndex;

impl Run {
    /// What was taken for done is not.
    pub(super) fn reopen(
        &mut self,
        p: PhaseIndex,
        g: ObjectiveIndex,
        status: ObjectiveStatus,
        because: &str,
    ) {
        let now = self.now;
        let objective = &mut self.phases[p].objectives[g];
        if !objective.is_done() {
            return;
        }
        objective.set_status(status, now);
        objective.done_by = None;
        objective.is_unassessed = false;
        // It is done again: what was lost of it so far is not asked about any more.
        let disputes = &mut self.phases[p].disputes;
        let before = disputes.len();
        disputes.retain(|dispute| dispute.objective != g || !dispute.is_of_lost_work());
        let is_lost = disputes.len() < before;
        let objective = &mut self.phases[p].objectives[g];
        objective.has_lost_work |= is_lost;
        let (objective, by) = (objective.spec.id.clone(), objective.by.take());
        if let Some(session) = by.and_then(|id| self.sessions.get_mut(&id)) {
            session.done = session.done.saturating_sub(1);
        }
        let phase = self.phases[p].spec.id.clone();
        self.notify(ProgressEvent::Reopened { phase, objective, because: because.to_owned() });
    }

    /// Objectives that were reported as done and whose expected files did not come are open again. Returns what they lack.
    pub(super) fn reopen_contradicted(&mut self, p: PhaseIndex) -> Vec<String> {
        self.reopen_where(p, Phase::contrary)
    }

    /// Objectives that are taken for done, and of which this says what they lack, are open again; those that a person accepted are not.
    /// Returns what they lack.
    pub(super) fn reopen_where(
        &mut self,
        p: PhaseIndex,
        lacks: impl Fn(&Phase, ObjectiveIndex) -> Option<String>,
    ) -> Vec<String> {
        let mut lacking = Vec::new();
        for g in self.phases[p].objectives.indices() {
            let phase = &self.phases[p];
            let objective = &phase.objectives[g];
            if !objective.is_done() || objective.is_accepted() {
                continue;
            }
            if let Some(contrary) = lacks(phase, g) {
                lacking.push(phase.objective_message(g, &contrary));
                self.reopen(p, g, ObjectiveStatus::InProgress, &contrary);
            }
        }
        lacking
    }

    /// Objectives of this phase that are taken for done are open again, if a file that they name is as it was when the phase began, or, where
    /// they name none, all that changed during their prompts is. Asked once for each time that files are restored: an agent may say that
    /// it is right so. Returns what was said of them.
    pub(super) fn reopen_restored(&mut self, p: PhaseIndex) -> Vec<String> {
        let mut said = Vec::new();
        let restored = std::mem::take(&mut self.phases[p].measurements.past.restored);
        for g in self.phases[p].objectives.indices() {
            let Some(undone) = self.phases[p].undone_files(g, &restored) else { continue };
            let objective = &mut self.phases[p].objectives[g];
            objective.changed_files.clear();
            if !objective.is_done() || objective.is_accepted() {
                continue;
            }
            said.push(self.phases[p].objective_message(g, &undone));
            self.reopen(p, g, ObjectiveStatus::InProgress, &undone);
            self.phases[p].objectives[g].has_lost_work = true;
        }
        said
    }

    /// The objectives that the findings of checks are about: those of the checks, or those that the findings name by id or by a file, or else all.
    pub(super) fn reopen_affected(&mut self, p: PhaseIndex, of: &[ObjectiveIndex], because: &str) {
        let phase = &self.phases[p];
        let named: Vec<ObjectiveIndex> = match of {
            [] => phase
                .objectives
                .indices()
                .filter(|g| phase.objectives[*g].is_named_in(&phase.verification.findings))
                .collect(),
            of => of.to_vec(),
        };
        let concerned = if named.is_empty() { phase.objectives.indices().collect() } else { named };
        for g in concerned {
            self.reopen(p, g, ObjectiveStatus::InProgress, because);
        }
    }
}

impl Phase {
    /// What is said of an objective of which the last measurement found nothing any more; none where something of it is left.
    fn undone_files(&self, g: ObjectiveIndex, restored: &BTreeSet<String>) -> Option<String> {
        let objective = &self.objectives[g];
        let named = objective.spec.files.iter().find(|path| restored.contains(*path));
        if let Some(path) = named {
            return Some(format!("{path} had been changed for it, and is as it was before by now"));
        }
        let files = &objective.changed_files;
        // These were asked for, so they are listed if they differ. Another work tree is measured while parts come together.
        let is_left = |path: &String| self.measurements.facts.changed.iter().any(|file| file.path == *path);
        let is_seen = self.split.is_untouched() && objective.is_done();
        let first = files.first().filter(|_| is_seen && !files.iter().any(is_left))?;
        Some(match files.len() - 1 {
            0 => format!("{first} had been changed for it, and is as it was before by now"),
            1 => {
                format!("{first} and 1 more file had been changed for it, and are as they were before by now")
            }
            more => {
                format!(
                    "{first} and {more} more files had been changed for it, and are as they were before by now"
                )
            }
        })
    }
}
