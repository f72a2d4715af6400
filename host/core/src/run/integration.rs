//! What sub-phases made comes together: merged in the order of their letters, each conflict resolved by a session, verified
//! as a whole, and only then brought to where the phase began (D3). Where they shared one folder, a session brings their
//! results together (C11). What a person leaves apart stays on its branch.

use crate::action::Action;
use crate::ids::PhaseId;
use crate::input::ActionOutcome;
use crate::progress::ProgressEvent;
use crate::view::PhaseOrigin;
use crate::workflow::{Objective, PhaseSpec};
use crate::worktree::WorktreeName;

use super::Run;
use super::claim_status::ClaimStatus;
use super::handoff::LEAD_ROLE;
use super::phase::{MergeConflict, ObjectiveState, Phase};
use super::phase_list::PhaseIndex;
use super::step::{PauseReason, PhaseStep};
use super::successor_reason::SuccessorReason;
use super::text_format::failure_text;

/// The place where a phase began may change while its parts are brought there. What changes as often as this is worked on by
/// others, and a person should know.
const UPDATES: u32 = 5;
/// Files with conflicts that are named to people and agents.
const FILES_NAMED: usize = 100;

impl Run {
    /// The parts are over, and so is the session that brought them together so far: the next step on the way back. A merge that a
    /// person left is given up first.
    pub(super) fn continue_integration(&mut self, p: PhaseIndex) {
        let Some(split) = &self.phases[p].split.active else {
            return self.skip(p);
        };
        let given_up = match &split.conflict {
            Some(MergeConflict { with: Some(part), .. }) => split.left_unmerged.contains(part),
            _ => false,
        };
        if given_up {
            let (phase, tree) = (self.phases[p].spec.id.clone(), self.phases[p].tree.clone());
            let action = self.emit(Action::AbortMerge { phase, tree });
            self.phases[p].step = PhaseStep::AbortingMerge { action };
            return;
        }
        let open = |id: &&PhaseId| !split.merged.contains(id) && !split.left_unmerged.contains(id);
        let done =
            |id: &&PhaseId| self.phase_index(id).is_some_and(|q| self.phases[q].step == PhaseStep::Done);
        match split.parts.iter().filter(open).find(done).cloned() {
            Some(part) if split.base.is_some() => self.request_merge(p, part),
            Some(part) => {
                self.mark_part_merged(p, &part);
                self.continue_integration(p);
            }
            None => self.on_all_parts_merged(p),
        }
    }

    fn request_merge(&mut self, p: PhaseIndex, part: PhaseId) {
        let Some(q) = self.phase_index(&part) else { return };
        let (tree, into) = (self.phases[q].tree.clone(), self.phases[p].tree.clone());
        let commit = self.phases[q].verification.commit.clone();
        let message = format!("{part}: {}", self.phases[q].spec.title);
        let action = self.emit(Action::Merge { phase: part.clone(), tree, into, message, commit });
        self.phases[p].step = PhaseStep::Merging { action, part };
    }

    pub(super) fn on_merged(&mut self, p: PhaseIndex, part: &PhaseId, outcome: &ActionOutcome) {
        match outcome {
            ActionOutcome::Merged { files, .. } => {
                self.phases[p].split.clear_conflict();
                // What is there now is committed before it is verified.
                self.phases[p].verification.discard_commit();
                self.mark_part_merged(p, part);
                let into = self.phases[p].spec.id.clone();
                self.notify(ProgressEvent::Merged { phase: part.clone(), into, files: *files });
                self.continue_integration(p);
            }
            ActionOutcome::Conflicted { files } => self.on_conflict(p, Some(part.clone()), files),
            other => {
                let text = format!("What {part} made cannot be merged: {}", failure_text(other));
                self.pause(p, PauseReason::Blocked, text);
            }
        }
    }

    /// The objectives of a part are done for the phase itself, once its work is in.
    fn mark_part_merged(&mut self, p: PhaseIndex, part: &PhaseId) {
        let Some(q) = self.phase_index(part) else { return };
        let done: Vec<ObjectiveState> =
            self.phases[q].objectives.iter().filter(|objective| objective.is_done()).cloned().collect();
        let phase = &mut self.phases[p];
        for objective in &mut phase.objectives {
            if let Some(done) = done.iter().find(|done| done.spec.id == objective.spec.id) {
                objective.clone_from(done);
                // The command of the phase is about the whole, which is still to be looked at.
                objective.check_passed = done.check_passed.filter(|_| phase.spec.verify.is_none());
                objective.claim = ClaimStatus::default();
            }
        }
        phase.split.add_merged(part);
    }

    /// A session resolves it; where one has tried and it is still there, a person is asked.
    pub(super) fn on_conflict(&mut self, p: PhaseIndex, with: Option<PhaseId>, files: &[String]) {
        let id = self.phases[p].spec.id.clone();
        let named: Vec<String> = files.iter().take(FILES_NAMED).cloned().collect();
        let Some(split) = &mut self.phases[p].split.active else { return };
        let before = split.conflict.take().filter(|before| before.with == with);
        let tries = before.map_or(0, |before| before.tries);
        split.conflict = Some(MergeConflict { with: with.clone(), files: named.clone(), tries: tries + 1 });
        split.had_conflict = true;
        let whose = with.clone().unwrap_or_else(|| id.clone());
        self.notify(ProgressEvent::Conflict { phase: whose.clone(), into: id.clone(), files: named.clone() });
        let what = match &with {
            Some(part) => format!("what {part} made"),
            None => "what has changed meanwhile where the phase began".to_owned(),
        };
        if tries > 0 {
            let text = format!(
                "Phase {id} cannot bring together {what}: the conflict in {} is still there.",
                named.join(", ")
            );
            return self.pause(p, PauseReason::Conflict, text);
        }
        let stem = with.map_or_else(|| "changes".to_owned(), |part| part.to_string());
        let description = format!(
            "Resolve the merge conflict between {what} and what is there already, in {}",
            named.join(", ")
        );
        self.add_merge_phase(p, &stem, description);
    }

    /// A phase that the host makes: its session works where the parts come together.
    fn add_merge_phase(&mut self, p: PhaseIndex, stem: &str, description: String) {
        let parent = self.phases[p].spec.id.clone();
        let id = self.free_phase_id(&format!("{parent}-merge-{stem}"));
        let objective = Objective {
            id: self.free_objective_id(&format!("merge-{parent}-{stem}")),
            description,
            files: Vec::new(),
            verify: None,
        };
        let lead = crate::ids::RoleName::new(LEAD_ROLE);
        let own = self.host_phase_spec(p, id, objective);
        let spec = PhaseSpec {
            title: format!("bringing {stem} together"),
            role: if self.workflow.roles.contains_key(&lead) { lead } else { own.role.clone() },
            ..own
        };
        let mut own = Phase::new(spec);
        self.inherit_records(p, &mut own);
        self.add_host_phase(p, PhaseOrigin::Merge, own);
        self.phases[p].step = PhaseStep::Split;
    }

    /// What the phase and its parts tried, decided and stumbled over: the session that brings their work together keeps to it.
    fn inherit_records(&self, p: PhaseIndex, to: &mut Phase) {
        let parts = self.phases[p].split.active.iter().flat_map(|split| &split.parts);
        let parts = parts.filter_map(|part| self.phase_index(part));
        for from in std::iter::once(p).chain(parts).map(|q| &self.phases[q]) {
            to.records.add_all(&from.records);
        }
        // What it inherits is in no handoff of its own yet.
        to.handoffs.has_unrecorded_progress = to.records.has_any();
    }

    /// A person leaves what does not fit where it is, and the rest continues.
    pub(super) fn skip_conflicting_part(&mut self, p: PhaseIndex) {
        let conflict = self.phases[p].split.active.as_ref().and_then(|split| split.conflict.as_ref());
        let Some(part) = conflict.and_then(|conflict| conflict.with.clone()) else {
            // Nothing of it can be brought back.
            return self.skip(p);
        };
        if let Some(split) = &mut self.phases[p].split.active {
            split.left_unmerged.push(part);
        }
        self.continue_at_next_tick(p);
    }

    /// Whatever is done is in.
    fn on_all_parts_merged(&mut self, p: PhaseIndex) {
        let Some(split) = &self.phases[p].split.active else { return };
        if split.merged.is_empty() {
            return self.skip(p);
        }
        if split.base.is_none() && !split.results_combined && split.merged.len() > 1 {
            let parts: Vec<&str> = split.merged.iter().map(PhaseId::as_str).collect();
            let description = format!("Bring the results of {} together", parts.join(", "));
            if let Some(split) = &mut self.phases[p].split.active {
                split.results_combined = true;
            }
            return self.add_merge_phase(p, "results", description);
        }
        if self.phases[p].is_finished() {
            self.verify_integration(p);
        } else if self.is_reopened(p) {
            self.start_successor(p, SuccessorReason::Uncounted);
        } else {
            // Some of it stays open: what is done must not be kept from where it belongs.
            self.request_landing(p);
        }
    }

    /// An objective that no part left open is open again: what a check found is mended where the parts are together (D12).
    fn is_reopened(&self, p: PhaseIndex) -> bool {
        let Some(split) = &self.phases[p].split.active else { return false };
        let left = split.parts.iter().filter(|part| !split.merged.contains(part));
        let left: Vec<PhaseIndex> = left.filter_map(|part| self.phase_index(part)).collect();
        let is_left = |objective: &ObjectiveState| {
            left.iter()
                .flat_map(|q| &self.phases[*q].objectives)
                .any(|other| other.spec.id == objective.spec.id)
        };
        self.phases[p].open_objectives().any(|(_, objective)| !is_left(objective))
    }

    /// What came together is verified where it is, which needs what the `setup` of the workflow makes.
    fn verify_integration(&mut self, p: PhaseIndex) {
        let setup = self.setup_commands(p);
        let phase = &self.phases[p];
        let base =
            phase.split.active.as_ref().filter(|split| !split.ready).and_then(|split| split.base.clone());
        match base {
            Some(base) if !setup.is_empty() => {
                let (phase, tree) = (phase.spec.id.clone(), phase.tree.clone());
                let action = self.emit(Action::CreateWorktree { phase, tree, base, setup });
                self.phases[p].step = PhaseStep::Branching { action };
            }
            _ => {
                self.add_default_review(p);
                let action = self.request_measurement(p, false);
                self.phases[p].step = PhaseStep::MeasuringBeforeChecks { action };
            }
        }
    }

    /// What a session brought together in a conflict is reviewed by another session, if nothing that the workflow names would (D12).
    fn add_default_review(&mut self, p: PhaseIndex) {
        let phase = &self.phases[p];
        let had_conflict = phase.split.active.as_ref().is_some_and(|split| split.had_conflict);
        let is_looked_at = phase.spec.review.is_some() || phase.spec.verify.is_some();
        if had_conflict && !is_looked_at && self.workflow.review_parts != Some(false) {
            let review = self.default_review(&phase.spec);
            let phase = &mut self.phases[p];
            (phase.spec.review, phase.review.is_default) = (Some(review), true);
        }
    }

    /// It was checked out again: what `setup` makes is made again, then its commands run.
    pub(super) fn prepare_integration_tree(&mut self, p: PhaseIndex) {
        let setup = self.setup_commands(p);
        let phase = &self.phases[p];
        let Some(base) = phase.verification.commit.clone().filter(|_| !setup.is_empty()) else {
            return self.verify_committed(p);
        };
        let (phase, tree) = (phase.spec.id.clone(), phase.tree.clone());
        let action = self.emit(Action::CreateWorktree { phase, tree, base, setup });
        self.phases[p].step = PhaseStep::Branching { action };
    }

    pub(super) fn on_integration_tree_ready(&mut self, p: PhaseIndex) {
        if let Some(split) = &mut self.phases[p].split.active {
            split.ready = true;
        }
        self.continue_integration(p);
    }

    pub(super) fn on_merge_aborted(&mut self, p: PhaseIndex, outcome: &ActionOutcome) {
        match outcome {
            ActionOutcome::Unmerged => {
                self.phases[p].split.clear_conflict();
                self.continue_integration(p);
            }
            other => {
                let id = &self.phases[p].spec.id;
                let text = format!("Phase {id} cannot give up a merge: {}", failure_text(other));
                self.pause(p, PauseReason::Blocked, text);
            }
        }
    }

    /// Brings everything to where the phase began.
    pub(super) fn request_landing(&mut self, p: PhaseIndex) {
        let phase = &self.phases[p];
        let Some(split) = &phase.split.active else { return };
        let Some(base) = split.base.clone() else {
            return self.finish_split(p);
        };
        let (id, tree, into) = (phase.spec.id.clone(), phase.tree.clone(), split.home.clone());
        let commit = phase.verification.commit.clone();
        let (merged, round) = (split.merged.iter().map(WorktreeName::for_phase).collect(), split.updates);
        let action = self.emit(Action::Land { phase: id, tree, into, base, merged, round, commit });
        self.phases[p].step = PhaseStep::Landing { action };
    }

    pub(super) fn on_landed(&mut self, p: PhaseIndex, outcome: &ActionOutcome) {
        let id = self.phases[p].spec.id.clone();
        match outcome {
            ActionOutcome::Landed { commit, committed, files } => {
                let (commit, committed, files) = (commit.clone(), *committed, *files);
                self.notify(ProgressEvent::Landed { phase: id, commit, committed, files });
                // Where it landed in another tree as files, that tree is committed when it is merged.
                self.phases[p].verification.discard_commit();
                if let Some(split) = &mut self.phases[p].split.active {
                    split.landed = true;
                }
                self.finish_split(p);
            }
            ActionOutcome::Updated => {
                let Some(split) = &mut self.phases[p].split.active else { return };
                split.conflict = None;
                split.updates += 1;
                let updates = split.updates;
                self.phases[p].verification.discard_commit();
                if updates > UPDATES {
                    let text = format!(
                        "Phase {id} cannot bring its result back: the place where it began has changed {UPDATES} \
                         times meanwhile."
                    );
                    return self.pause(p, PauseReason::Blocked, text);
                }
                self.continue_integration(p);
            }
            ActionOutcome::Conflicted { files } => self.on_conflict(p, None, files),
            other => {
                let text = format!("Phase {id} cannot bring its result back: {}", failure_text(other));
                self.pause(p, PauseReason::Blocked, text);
            }
        }
    }

    /// The phase is again where it was when it was split, with everything that was made.
    fn finish_split(&mut self, p: PhaseIndex) {
        if self.phases[p].is_finished() {
            if let Some(split) = self.phases[p].split.active.take() {
                self.phases[p].tree = split.home;
            }
            if self.phases[p].verification.has_failed() && self.phases[p].spec.repeat.is_some() {
                return self.iterate(p);
            }
            self.complete(p);
        } else {
            self.skip(p);
        }
    }

    /// What stays open is not merged: a notice says where it is kept.
    pub(super) fn notify_unmerged_parts(&mut self, p: PhaseIndex) {
        let Some(split) = self.phases[p].split.active.take() else { return };
        if split.base.is_none() {
            return;
        }
        if split.landed || split.merged.is_empty() {
            self.phases[p].tree = split.home;
        } else {
            // What is merged stays where it came together.
            let (phase, tree) = (self.phases[p].spec.id.clone(), self.phases[p].tree.clone());
            self.notify(ProgressEvent::KeptApart { phase, tree });
        }
        for phase in split.parts.into_iter().filter(|part| !split.merged.contains(part)) {
            let tree = WorktreeName::for_phase(&phase);
            self.notify(ProgressEvent::KeptApart { phase, tree });
        }
    }
}
