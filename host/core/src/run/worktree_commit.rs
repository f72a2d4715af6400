//! What is verified, reviewed and merged is one commit (D3, D12). A phase that works in a tree of its own commits its work before its
//! commands run. What they, a reviewer or others do to the tree after that is put back, and reported if it matters.

use crate::action::Action;
use crate::input::ActionOutcome;
use crate::progress::ProgressEvent;

use super::Run;
use super::phase_list::PhaseIndex;
use super::step::{OnRestore, PauseReason, PhaseStep};
use super::text_format::{failure_text, named};

impl Run {
    /// Commits the work of a phase that has a tree of its own. Where it works in the workspace, there is nothing of ours to commit.
    pub(super) fn request_commit(&mut self, p: PhaseIndex) {
        let phase = &self.phases[p];
        if phase.tree.is_workspace() || phase.lineage.is_made_by_host() {
            return self.verify_committed(p);
        }
        let done =
            phase.objectives.iter().filter(|objective| objective.is_done() && !objective.is_accepted());
        let files = done.flat_map(|objective| objective.spec.files.clone()).collect();
        let (id, tree) = (phase.spec.id.clone(), phase.tree.clone());
        let anew = self.needs_clean_checkout(p);
        let action = self.emit(Action::CommitWorktree { phase: id, tree, files, anew });
        self.phases[p].step = PhaseStep::Committing { action };
    }

    /// Whether a session worked where the parts came together since that was made or last checked out again. What it left there beside the
    /// commit would be verified, and would not land.
    fn needs_clean_checkout(&self, p: PhaseIndex) -> bool {
        self.phases[p]
            .split
            .active
            .as_ref()
            .is_some_and(|split| split.sessions_at_checkout < self.sessions_in(p))
    }

    /// Sessions that worked where the parts of a phase came together.
    fn sessions_in(&self, p: PhaseIndex) -> usize {
        let phase = &self.phases[p];
        let here = self.phases.iter().filter(|other| other.tree == phase.tree);
        here.map(|other| other.sessions.len()).sum()
    }

    /// A file that an objective names has to be in what will be merged. One that git ignores is a person's to decide about.
    pub(super) fn on_committed(&mut self, p: PhaseIndex, outcome: &ActionOutcome) {
        let id = self.phases[p].spec.id.clone();
        let (missing, ignored) = match outcome {
            ActionOutcome::Committed { commit, missing, ignored, unseen } => {
                self.phases[p].verification.commit = Some(commit.clone());
                self.notify_ignored_files(p, unseen);
                (missing, ignored)
            }
            ActionOutcome::Conflicted { files } => return self.on_conflict(p, None, files),
            other => {
                let text = format!("What {id} made cannot be committed: {}", failure_text(other));
                return self.pause(p, PauseReason::Blocked, text);
            }
        };
        if !ignored.is_empty() {
            let text = format!(
                "Objectives of {id} name {}, which git ignores or was told not to look at: it would not be merged as it is. \
                 Take it out of .gitignore, or of the objective, and try again?",
                named(ignored)
            );
            return self.pause(p, PauseReason::Blocked, text);
        }
        let lacking = self.reopen_where(p, |phase, g| {
            let path = phase.objectives[g].spec.files.iter().find(|path| missing.contains(path));
            path.map(|path| format!("{path} is missing"))
        });
        if !lacking.is_empty() {
            return self.request_missing_work(p, &lacking);
        }
        if self.needs_clean_checkout(p) { self.verify_after_checkout(p) } else { self.verify_committed(p) }
    }

    /// The tree is checked out again: it is made ready again before its commands run.
    fn verify_after_checkout(&mut self, p: PhaseIndex) {
        let sessions = self.sessions_in(p);
        if let Some(split) = &mut self.phases[p].split.active {
            split.sessions_at_checkout = sessions;
        }
        self.prepare_integration_tree(p);
    }

    /// Each path is reported once.
    fn notify_ignored_files(&mut self, p: PhaseIndex, unseen: &[String]) {
        let phase = &mut self.phases[p];
        let files = phase.verification.newly_ignored(unseen);
        if !files.is_empty() {
            let phase = phase.spec.id.clone();
            self.notify(ProgressEvent::Unseen { phase, files });
        }
    }

    /// Holds the tree to what was committed. In a folder that it shares, a phase is looked at once more instead.
    pub(super) fn request_restore(&mut self, p: PhaseIndex, then: OnRestore) {
        let phase = &self.phases[p];
        let (id, tree) = (phase.spec.id.clone(), phase.tree.clone());
        let names_files = phase.objectives.iter().any(|objective| !objective.spec.files.is_empty());
        let action = match (&phase.verification.commit, &then) {
            (Some(commit), _) => {
                let (commit, whole) = (commit.clone(), matches!(then, OnRestore::Review(_)));
                self.emit(Action::RestoreWorktree { phase: id, tree, commit, whole })
            }
            (None, OnRestore::Checks) if names_files => self.request_measurement(p, false),
            (None, _) => return self.continue_after_restore(p, &then, &[]),
        };
        self.phases[p].step = PhaseStep::Restoring { action, then };
    }

    pub(super) fn on_restored(&mut self, p: PhaseIndex, then: &OnRestore, outcome: &ActionOutcome) {
        match outcome {
            ActionOutcome::Restored { changed, gone, added } => {
                if !matches!(then, OnRestore::Review(_)) && !added.is_empty() {
                    let phase = self.phases[p].spec.id.clone();
                    self.notify(ProgressEvent::LeftOut { phase, files: added.clone() });
                }
                let is_again = self.phases[p].verification.checks_repeated;
                match then {
                    // What a command changes may be what it passed on, such as files that it formats: the same once more.
                    OnRestore::Checks if !changed.is_empty() && !is_again => {
                        self.phases[p].verification.checks_repeated = true;
                        self.request_commit(p);
                    }
                    OnRestore::Checks if !changed.is_empty() => self.fail_unstable_checks(p, changed),
                    OnRestore::Review(_) => {
                        let changed = changed.iter().map(|path| format!("{path} is changed"));
                        let gone = gone.iter().map(|path| format!("{path} is gone"));
                        let altered: Vec<String> = changed.chain(gone).collect();
                        self.continue_after_restore(p, then, &altered);
                    }
                    _ => self.continue_after_restore(p, then, &[]),
                }
            }
            ActionOutcome::WorkspaceMeasured { .. } => {
                let mut lacking = self.reopen_contradicted(p);
                lacking.extend(self.reopen_restored(p));
                if lacking.is_empty() {
                    return self.continue_after_restore(p, then, &[]);
                }
                let because = format!("its commands passed, and after them {}", lacking.join("; "));
                self.fail_checks_on_changed_work(p, &because);
            }
            other => {
                let id = &self.phases[p].spec.id;
                let text =
                    format!("The tree of {id} cannot be held to what was committed: {}", failure_text(other));
                self.pause(p, PauseReason::Blocked, text);
            }
        }
    }

    fn continue_after_restore(&mut self, p: PhaseIndex, then: &OnRestore, altered: &[String]) {
        match then {
            OnRestore::Checks => self.checks_passed(p),
            OnRestore::FailedChecks => self.checks_failed(p),
            OnRestore::Review(review) => self.apply_review(p, review, altered),
        }
    }

    /// No state of the work is the one that its commands passed on.
    fn fail_unstable_checks(&mut self, p: PhaseIndex, changed: &[String]) {
        let because = format!("its verification changes what it verifies: {}", named(changed));
        self.fail_checks_on_changed_work(p, &because);
    }

    /// The commands passed, and the work is not there as it was: it goes back, within the bound of verifications.
    fn fail_checks_on_changed_work(&mut self, p: PhaseIndex, because: &str) {
        let attempt = self.phases[p].verification.rounds;
        self.record_findings(p, false, format!("{because}. Look at what the commands do to the files."));
        let text = format!("Phase {} was verified {attempt} times; {because}.", self.phases[p].spec.id);
        self.send_back(p, &[], attempt, because, text);
    }
}
