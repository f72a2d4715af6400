//! Objectives that were taken for done, and are open again: by what their files say, by findings of checks, or because work on them is
//! gone.

use crate::observation::ObjectiveStatus;
use crate::progress::ProgressEvent;

use super::Run;
use super::phase::Phase;

impl Run {
    /// What was taken for done is not.
    pub(super) fn reopen(&mut self, p: usize, g: usize, status: ObjectiveStatus, because: &str) {
        let now = self.now;
        let goal = &mut self.phases[p].goals[g];
        if !goal.is_done() {
            return;
        }
        goal.set_status(status, now);
        goal.done_by = None;
        goal.is_unassessed = false;
        // It is done again: what was lost of it so far is not asked about any more.
        let disputes = &mut self.phases[p].disputes;
        let before = disputes.len();
        disputes.retain(|dispute| dispute.goal != g || !dispute.is_of_lost_work());
        let is_lost = disputes.len() < before;
        let goal = &mut self.phases[p].goals[g];
        goal.has_lost_work |= is_lost;
        let (objective, by) = (goal.spec.id.clone(), goal.by.take());
        if let Some(session) = by.and_then(|id| self.sessions.get_mut(&id)) {
            session.done = session.done.saturating_sub(1);
        }
        let phase = self.phases[p].spec.id.clone();
        self.notify(ProgressEvent::Reopened { phase, objective, because: because.to_owned() });
    }

    /// Objectives that were reported as done and whose expected files did not come are open again. Returns what they lack.
    pub(super) fn reopen_contradicted(&mut self, p: usize) -> Vec<String> {
        self.reopen_where(p, Phase::contrary)
    }

    /// Objectives that are taken for done, and of which this says what they lack, are open again; those that a person accepted are not.
    /// Returns what they lack.
    pub(super) fn reopen_where(
        &mut self,
        p: usize,
        lacks: impl Fn(&Phase, usize) -> Option<String>,
    ) -> Vec<String> {
        let mut lacking = Vec::new();
        for g in 0..self.phases[p].goals.len() {
            let phase = &self.phases[p];
            let goal = &phase.goals[g];
            if !goal.is_done() || goal.is_accepted() {
                continue;
            }
            if let Some(contrary) = lacks(phase, g) {
                lacking.push(phase.objective_message(g, &contrary));
                self.reopen(p, g, ObjectiveStatus::InProgress, &contrary);
            }
        }
        lacking
    }

    /// Objectives of this phase that are taken for done, although a file that they name is again as it was when the phase began, are open
    /// again. Asked once for each time that a file is restored: an agent may say that it is right so.
    pub(super) fn reopen_restored(&mut self, p: usize) {
        if self.phases[p].step.measured_focus().is_none() {
            return;
        }
        for path in std::mem::take(&mut self.phases[p].past_looks.restored) {
            let goals = &self.phases[p].goals;
            let concerned = (0..goals.len()).filter(|g| {
                goals[*g].is_done() && !goals[*g].is_accepted() && goals[*g].spec.files.contains(&path)
            });
            for g in concerned.collect::<Vec<_>>() {
                let because = format!("{path} had been changed for it, and is as it was before by now");
                self.reopen(p, g, ObjectiveStatus::InProgress, &because);
                self.phases[p].goals[g].has_lost_work = true;
            }
        }
    }

    /// The objectives that the findings of checks are about: those of the checks, or those that the findings name by id or by a file, or else all.
    pub(super) fn reopen_affected(&mut self, p: usize, of: &[usize], because: &str) {
        let phase = &self.phases[p];
        let named: Vec<usize> = match of {
            [] => (0..phase.goals.len()).filter(|g| phase.goals[*g].is_named_in(&phase.findings)).collect(),
            of => of.to_vec(),
        };
        let concerned = if named.is_empty() { (0..phase.goals.len()).collect() } else { named };
        for g in concerned {
            self.reopen(p, g, ObjectiveStatus::InProgress, because);
        }
    }
}
