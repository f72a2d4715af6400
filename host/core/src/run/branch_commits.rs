//! What a phase changed in the workspace is committed there, where the workflow wants it: between two prompts where objectives were done,
//! and when the phase is over. A run does not stop for a commit that cannot be made: the host reports it, the files stay as they are, and the end
//! of the run says so again.

use crate::action::Action;
use crate::ids::PhaseId;
use crate::input::ActionOutcome;
use crate::progress::ProgressEvent;
use crate::view::PhaseOrigin;
use crate::workflow::CommitTime;

use super::Run;
use super::phase::{ObjectiveIndex, ObjectiveState};
use super::phase_list::PhaseIndex;
use super::step::{OnCommit, PhaseStep};
use super::text_format::{failure_text, named};

/// Characters of the first line of a message.
const SUBJECT_CHARS: usize = 72;
/// Characters of a line that tells of an objective.
const LINE_CHARS: usize = 200;

impl Run {
    fn commit_time(&self, p: PhaseIndex) -> CommitTime {
        let phase = &self.phases[p];
        let is_ours = phase.lineage.origin == PhaseOrigin::Workflow && phase.tree.is_workspace();
        if is_ours && self.workflow.imported.is_none() {
            self.workflow.commit_time(&phase.spec)
        } else {
            CommitTime::Off
        }
    }

    /// Whether objectives were done since the last commit, and the phase is not over with them.
    pub(super) fn commits_at_boundary(&self, p: PhaseIndex) -> bool {
        let phase = &self.phases[p];
        self.commit_time(p) == CommitTime::Objective
            && !phase.is_finished()
            && !self.uncommitted_objectives(p).is_empty()
    }

    pub(super) fn commits_at_end(&self, p: PhaseIndex) -> bool {
        self.commit_time(p) != CommitTime::Off
    }

    /// The review whose own files an action must not take for work: at its own measurement, and at the commit of what it looked at. Where
    /// others worked in the same folder, it is unknown which of them made a file, and only the files that objectives name are committed.
    pub fn review_to_exclude(&self, action: &Action) -> Option<&PhaseId> {
        let phase = |id: &PhaseId| self.phase_index(id).map(|p| &self.phases[p]);
        let review = match action {
            Action::MeasureWorkspace { phase: id, baseline: false, .. } => phase(id)?,
            Action::CommitToBranch { phase: id, only: None, .. } => {
                phase(phase(id)?.committed_work.review.as_ref()?)?
            }
            _ => return None,
        };
        let is_meant = review.lineage.origin == PhaseOrigin::Review && review.tree.is_workspace();
        (is_meant && !review.committed_work.folder_was_shared).then_some(&review.spec.id)
    }

    fn uncommitted_objectives(&self, p: PhaseIndex) -> Vec<ObjectiveIndex> {
        let phase = &self.phases[p];
        let done = phase.objectives.indexed().filter(|(_, objective)| objective.is_done());
        done.map(|(g, _)| g).filter(|g| !phase.committed_work.objectives.contains(g)).collect()
    }

    pub(super) fn request_commit_to_branch(&mut self, p: PhaseIndex, then: OnCommit) {
        let done = self.uncommitted_objectives(p);
        let message = self.commit_message(p, &done);
        let phase = &self.phases[p];
        let named = || phase.objectives.iter().flat_map(|objective| objective.spec.files.clone()).collect();
        let action = Action::CommitToBranch {
            phase: phase.spec.id.clone(),
            ordinal: phase.committed_work.asked + 1,
            message,
            branch: self.workflow.commits.branch_of(self.id()),
            only: phase.committed_work.folder_was_shared.then(named),
        };
        self.phases[p].committed_work.asked += 1;
        self.phases[p].committed_work.objectives.extend(done);
        let action = self.emit(action);
        self.phases[p].step = PhaseStep::CommittingToBranch { action, then };
    }

    pub(super) fn on_committed_to_branch(&mut self, p: PhaseIndex, then: OnCommit, outcome: &ActionOutcome) {
        let phase = self.phases[p].spec.id.clone();
        self.phases[p].committed_work.failed = None;
        match outcome {
            ActionOutcome::CommittedToBranch { commit: Some(commit), left, by_checks } => {
                let (commit, left, by_checks) = (commit.clone(), left.clone(), by_checks.clone());
                self.phases[p].committed_work.commits.push(commit.clone());
                self.notify(ProgressEvent::CommittedToBranch { phase, commit, left, by_checks });
            }
            ActionOutcome::CommittedToBranch { commit: None, left, .. } if !left.is_empty() => {
                let why = format!("{} changed before the run began", named(left));
                self.notify(ProgressEvent::NotCommitted { phase, why });
            }
            ActionOutcome::CommittedToBranch { .. } if self.phases[p].committed_work.folder_was_shared => {
                let why =
                    "other phases worked in the same folder, and no file changed that its objectives name";
                self.notify(ProgressEvent::NotCommitted { phase, why: why.to_owned() });
            }
            // The agent committed everything itself, or nothing changed.
            ActionOutcome::CommittedToBranch { .. } => {}
            other => {
                let why = failure_text(other).to_owned();
                self.phases[p].committed_work.failed = Some(why.clone());
                self.notify(ProgressEvent::NotCommitted { phase, why });
            }
        }
        match then {
            OnCommit::Boundary if !self.has_live_session(p) => self.resume_or_replace_session(p),
            OnCommit::Boundary => self.continue_from_boundary(p),
            // A report that came meanwhile has opened something again.
            OnCommit::Over { all_done: true } if !self.phases[p].is_finished() => self.boundary(p),
            OnCommit::Over { .. } => self.close(p),
        }
    }

    /// Everything of the phase is done and written down. What was reported open meanwhile is not done.
    pub(super) fn finish_phase(&mut self, p: PhaseIndex) {
        if self.phases[p].is_closing() && !self.phases[p].is_finished() {
            return self.boundary(p);
        }
        if self.commits_at_end(p) {
            let all_done = self.phases[p].is_finished();
            return self.request_commit_to_branch(p, OnCommit::Over { all_done });
        }
        self.close(p);
    }

    /// Nothing is to be done of it any more.
    pub(super) fn close(&mut self, p: PhaseIndex) {
        self.phases[p].step = PhaseStep::Done;
        for id in &self.phases[p].sessions {
            if let Some(session) = self.sessions.get_mut(id) {
                session.forget();
            }
        }
        self.notify_modified_checks(p);
        let phase = self.phases[p].spec.id.clone();
        self.notify(ProgressEvent::PhaseDone { phase });
    }

    /// What was done, how that was shown, and where in the run it was.
    fn commit_message(&self, p: PhaseIndex, done: &[ObjectiveIndex]) -> String {
        let phase = &self.phases[p];
        let objectives: Vec<&ObjectiveState> = done.iter().map(|g| &phase.objectives[*g]).collect();
        let of_objectives = self.commit_time(p) == CommitTime::Objective;
        let title = match objectives.as_slice() {
            [only] if of_objectives => first_line(&only.spec.description),
            _ => phase.spec.title.as_str(),
        };
        let subject = cut_line(title, SUBJECT_CHARS);
        let mut text = format!("{subject}\n");
        if subject != title {
            text.push_str(&format!("\n{title}\n"));
        }
        for (n, objective) in objectives.iter().enumerate() {
            let what = cut_line(first_line(&objective.spec.description), LINE_CHARS);
            let basis = objective.done_by.map(|basis| format!(" ({})", basis.words())).unwrap_or_default();
            let before = if n == 0 { "\n" } else { "" };
            text.push_str(&format!("{before}- {what}{basis}\n"));
            if !objective.remark.trim().is_empty() {
                let by = objective.by.as_ref().map(|by| format!("{by}: ")).unwrap_or_default();
                text.push_str(&format!("  {by}{}\n", cut_line(first_line(&objective.remark), LINE_CHARS)));
            }
        }
        let checks = objectives
            .iter()
            .filter_map(|objective| objective.spec.verify.as_ref())
            .chain(&phase.spec.verify);
        let checks: Vec<String> = checks.map(|check| cut_line(first_line(check), LINE_CHARS)).collect();
        if !checks.is_empty() {
            let how = match phase.verification.passed {
                Some(true) if phase.is_finished() => "Passed",
                _ => "Not run yet",
            };
            text.push_str(&format!("\n{how}: {}\n", checks.join("; ")));
        }
        if let Some(score) = phase.review.score {
            text.push_str(&format!("\nReviewed: {score} of 100\n"));
        }
        text.push_str(&format!("\nBaton-Run: {}\nBaton-Phase: {}\n", self.id(), phase.spec.id));
        text
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

fn cut_line(line: &str, chars: usize) -> String {
    match line.char_indices().nth(chars) {
        Some(_) => line.chars().take(chars - 1).chain(['…']).collect(),
        None => line.to_owned(),
    }
}
