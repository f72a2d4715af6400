//! The commands that a phase and its objectives are held to (D3): one after the other, on the work as it is committed.

use crate::action::Action;
use crate::check_files::files_run_by;
use crate::facts::AgentEvent;
use crate::input::ActionOutcome;
use crate::observation::{EvidenceKind, ObjectiveView, PhaseView};
use crate::progress::ProgressEvent;
use crate::view::{ModifiedCheck, PhaseOrigin};
use crate::workflow::Acceptance;

use super::Run;
use super::phase::{FINDINGS_BYTES, FailedCheck, ObjectiveIndex, Phase};
use super::phase_list::PhaseIndex;
use super::step::{OnRestore, PauseReason, PhaseStep};
use super::text_format::{cut, failure_text, tail_line};

/// The exit code of a shell that does not find a program (POSIX, 2.8.2).
const NOT_FOUND: i32 = 127;

impl Run {
    /// Whether its commands run before any work: what they say then tells what they show afterwards.
    pub(super) fn has_first_checks(&self, p: PhaseIndex) -> bool {
        let phase = &self.phases[p];
        let is_own = phase.lineage.origin == PhaseOrigin::Workflow && self.workflow.imported.is_none();
        self.workflow.verify_first
            && is_own
            && phase.sessions.is_empty()
            && !self.phases[p].checks().is_empty()
    }

    /// Its commands, before the state that it starts from is measured: what they write themselves is not the work of an agent.
    pub(super) fn run_first_checks(&mut self, p: PhaseIndex) {
        self.phases[p].verification.first_check_results.clear();
        self.run_first_check(p, 0);
    }

    fn run_first_check(&mut self, p: PhaseIndex, n: usize) {
        let Some((_, command)) = self.phases[p].checks().into_iter().nth(n) else {
            return self.measure_baseline(p);
        };
        let phase = &self.phases[p];
        let (id, tree) = (phase.spec.id.clone(), phase.tree.clone());
        self.notify(ProgressEvent::CheckingFirst { phase: id.clone(), command: command.clone() });
        let action = self.emit(Action::Verify { phase: id, command, attempt: 0, tree });
        self.phases[p].step = PhaseStep::CheckingFirst { action, check: n };
    }

    pub(super) fn on_first_check_result(&mut self, p: PhaseIndex, check: usize, outcome: &ActionOutcome) {
        let (passed, code, findings) = match outcome {
            ActionOutcome::Verified { passed, code, findings, .. } => (*passed, *code, findings.as_str()),
            _ => (false, None, ""),
        };
        let command = self.phases[p].checks().into_iter().nth(check).map(|(_, command)| command);
        let command = command.unwrap_or_default();
        let phase = &mut self.phases[p];
        phase.verification.first_check_results.push(passed);
        let phase = phase.spec.id.clone();
        let missing = missing_program(&command, code, findings).map(|program| {
            format!(
                "Phase {phase} has not begun: `{program}` was not found, so `{command}` can show nothing. `retry` looks again, \
                 once it is installed; another command is for a new run."
            )
        });
        self.notify(ProgressEvent::CheckedFirst { phase, command, passed, code });
        match missing {
            Some(text) => self.pause(p, PauseReason::Blocked, text),
            None => self.run_first_check(p, check + 1),
        }
    }

    /// The phase, and what its command said before the work where it did not run since.
    pub(super) fn checked_phase_view(&self, p: PhaseIndex) -> PhaseView {
        let view = self.phase_view(p);
        let phase = &self.phases[p];
        let mut before = phase.checks().into_iter().zip(&phase.verification.first_check_results);
        let before = || before.find(|((of, _), _)| of.is_none()).map(|(_, passed)| *passed);
        PhaseView { check_passed: view.check_passed.or_else(before), ..view }
    }

    /// The same of an objective, and of the command that it is held to alone.
    pub(super) fn checked_objective_view(&self, p: PhaseIndex, g: ObjectiveIndex) -> ObjectiveView {
        let view = self.objective_view(p, g);
        let phase = &self.phases[p];
        let mut before = phase.checks().into_iter().zip(&phase.verification.first_check_results);
        let before = || before.find(|((of, _), _)| *of == Some(g)).map(|(_, passed)| *passed);
        ObjectiveView { check_passed: view.check_passed.or_else(before), ..view }
    }

    /// What a command shows that runs files which the work itself changed is the work's word.
    pub(super) fn notify_modified_checks(&mut self, p: PhaseIndex) {
        let phase = self.phases[p].spec.id.clone();
        for ModifiedCheck { command, files } in self.phases[p].modified_checks() {
            self.notify(ProgressEvent::CheckChanged { phase: phase.clone(), command, files });
        }
    }

    /// Whether a command says something of the work: it did not pass before that, as far as is known.
    fn tells(&self, p: PhaseIndex, check: usize) -> bool {
        self.phases[p].verification.passed_first(check) != Some(true)
            || self.workflow.accept == Some(Acceptance::Checked)
    }

    /// Whether an agent runs a command that it is held to: what that writes is not work.
    pub(super) fn is_own_check(&self, p: PhaseIndex, event: &AgentEvent) -> bool {
        let AgentEvent::ToolCall { command: Some(run), writes: None, .. } = event else { return false };
        self.phases[p].checks().iter().any(|(_, check)| check.trim() == run.trim())
    }

    /// Every objective is done, as far as was reported: now it is held to its commands, those of its objectives first.
    pub(super) fn start_verification(&mut self, p: PhaseIndex) {
        let has_checks = !self.phases[p].checks().is_empty();
        self.phases[p].verification.begin_round(has_checks);
        self.request_commit(p);
    }

    /// Its commands, on the work as it is committed now.
    pub(super) fn verify_committed(&mut self, p: PhaseIndex) {
        self.phases[p].verification.failed_checks.clear();
        self.verify_from(p, 0);
    }

    /// One command after the other, from the n-th on: every objective is held to its own, whatever was found of another. The command of
    /// the phase is left where one of theirs has failed.
    fn verify_from(&mut self, p: PhaseIndex, n: usize) {
        let Some((of, command)) = self.check_from(p, n) else {
            return match (n, self.phases[p].verification.failed_checks.is_empty()) {
                (0, _) => self.checks_passed(p),
                (_, true) => self.request_restore(p, OnRestore::Checks),
                (_, false) => self.request_restore(p, OnRestore::FailedChecks),
            };
        };
        let phase = &self.phases[p];
        let (id, attempt, tree) = (phase.spec.id.clone(), phase.verification.rounds, phase.tree.clone());
        let action = self.emit(Action::Verify { phase: id, command, attempt, tree });
        self.phases[p].step = PhaseStep::Verifying { action, check: n, of };
    }

    /// The n-th of its commands, if it is to run.
    fn check_from(&self, p: PhaseIndex, n: usize) -> Option<(Option<ObjectiveIndex>, String)> {
        let failed = !self.phases[p].verification.failed_checks.is_empty();
        self.phases[p].checks().into_iter().nth(n).filter(|(of, _)| !failed || of.is_some())
    }

    pub(super) fn on_verified(
        &mut self,
        p: PhaseIndex,
        check: usize,
        of: Option<ObjectiveIndex>,
        outcome: &ActionOutcome,
    ) {
        let (passed, code, findings) = match outcome {
            ActionOutcome::Verified { passed, code, findings, artifact } => {
                let phase = &mut self.phases[p];
                phase.verification.keep_log(*passed, artifact.as_ref());
                if let Some(artifact) = artifact {
                    phase.artifacts.keep(artifact);
                }
                (*passed, *code, findings.clone())
            }
            other => (false, None, failure_text(other).to_owned()),
        };
        let attempt = self.phases[p].verification.rounds;
        self.record_check(p, check, of, passed);
        if passed {
            if self.phases[p].verification.failed_checks.is_empty() {
                self.record_findings(p, true, findings);
            }
        } else {
            self.phases[p].verification.failed_checks.push(FailedCheck { check, of, code, findings });
            let findings = self.combined_findings(p);
            self.record_findings(p, false, findings);
        }
        if self.check_from(p, check + 1).is_none() {
            let phase = &self.phases[p];
            let failed = phase.verification.failed_checks.first();
            let code = failed.map_or(code, |failed| failed.code);
            self.notify(ProgressEvent::Verified {
                phase: phase.spec.id.clone(),
                passed: failed.is_none(),
                code,
                attempt,
            });
        }
        self.verify_from(p, check + 1);
    }

    /// What the commands that failed have found: of several, each below the objective and the command that it is about, and of each as
    /// much as of the others.
    fn combined_findings(&self, p: PhaseIndex) -> String {
        let (phase, checks) = (&self.phases[p], self.phases[p].checks());
        let failed = &phase.verification.failed_checks;
        if let [only] = failed.as_slice() {
            return only.findings.clone();
        }
        let each = FINDINGS_BYTES / failed.len().max(1);
        let sections = failed.iter().map(|failed| {
            let whose = failed.of.map_or("the phase", |g| phase.objectives[g].spec.id.as_str());
            let command = checks.get(failed.check).map_or("", |(_, command)| command);
            let mut section =
                format!("The verification of {whose} (`{command}`) failed:\n{}", failed.findings.trim_end());
            cut(&mut section, each.saturating_sub(2));
            section
        });
        sections.collect::<Vec<_>>().join("\n\n")
    }

    /// What the commands found goes back.
    pub(super) fn checks_failed(&mut self, p: PhaseIndex) {
        let attempt = self.phases[p].verification.rounds;
        let (phase, checks) = (&self.phases[p], self.phases[p].checks());
        let of: Vec<ObjectiveIndex> =
            phase.verification.failed_checks.iter().filter_map(|failed| failed.of).collect();
        let ids: Vec<&str> = of.iter().map(|g| phase.objectives[*g].spec.id.as_str()).collect();
        let whose = if ids.is_empty() { String::new() } else { format!(" of {}", ids.join(", ")) };
        let told = |failed: &FailedCheck| {
            let command = checks.get(failed.check).map_or("", |(_, command)| command);
            (command, tail_line(&failed.findings))
        };
        let mut told = phase.verification.failed_checks.iter().map(told);
        let (id, first) = (&phase.spec.id, told.next());
        let (command, line) = first.unwrap_or(("", String::new()));
        let mut text =
            format!("The verification{whose} of phase {id} (`{command}`) failed {attempt} times: {line}");
        for (command, line) in told {
            text.push_str(&format!("; `{command}`: {line}"));
        }
        let was_so = |failed: &FailedCheck| phase.verification.passed_first(failed.check) == Some(false);
        if phase.verification.failed_checks.iter().any(was_so) {
            text.push_str(" (it failed before the work began, too)");
        }
        let because = format!("the verification{whose} failed");
        self.send_back(p, &of, attempt, &because, text);
    }

    /// What a check found is kept with the objectives that it is about: its own, or all of the phase.
    fn record_check(&mut self, p: PhaseIndex, check: usize, of: Option<ObjectiveIndex>, passed: bool) {
        let tells = self.tells(p, check);
        let phase = &mut self.phases[p];
        match of {
            Some(g) => {
                let objective = &mut phase.objectives[g];
                objective.check_passed = Some(passed);
                // It is done by its own check, whatever another one says of the others.
                if passed && objective.is_done() && tells {
                    objective.done_by = Some(EvidenceKind::Checked);
                }
            }
            None => phase.objectives.iter_mut().for_each(|objective| objective.check_passed = Some(passed)),
        }
    }

    /// Every check passed. An objective that a check is about is done by it, unless that passed before the work as well; one that was
    /// reported open meanwhile is not done.
    pub(super) fn checks_passed(&mut self, p: PhaseIndex) {
        let is_enough = self.workflow.accept == Some(Acceptance::Checked);
        let phase = &self.phases[p];
        let told: Vec<bool> =
            phase.objectives.indices().map(|g| is_enough || !phase.passed_before(g)).collect();
        let mut checked = Vec::new();
        for (objective, tells) in self.phases[p].objectives.iter_mut().zip(told) {
            if objective.is_done() && objective.check_passed == Some(true) && tells {
                objective.done_by = Some(EvidenceKind::Checked);
                checked.push(objective.spec.id.clone());
            }
        }
        // A part stands after its phase, and holds its objectives too: both say the same of them.
        let of_parts = self.phases.after_mut(p).flat_map(|part| &mut part.objectives);
        for objective in
            of_parts.filter(|objective| objective.is_done() && checked.contains(&objective.spec.id))
        {
            objective.done_by = Some(EvidenceKind::Checked);
        }
        if self.phases[p].is_finished() {
            self.review_or_complete(p);
        } else {
            self.boundary(p);
        }
    }

    pub(super) fn record_findings(&mut self, p: PhaseIndex, passed: bool, findings: String) {
        let now = self.now;
        let phase = &mut self.phases[p];
        phase.verification.set_findings(passed, findings, now);
        phase.handoffs.has_unrecorded_progress = true;
    }
}

impl Phase {
    /// Its commands, those of its objectives first, and which objective each is about.
    pub(super) fn checks(&self) -> Vec<(Option<ObjectiveIndex>, String)> {
        let of_objectives = self.objectives.indexed();
        let of_objectives =
            of_objectives.filter_map(|(g, objective)| Some((Some(g), objective.spec.verify.clone()?)));
        of_objectives.chain(self.spec.verify.clone().map(|command| (None, command))).collect()
    }

    /// Its commands that run files which the work changed, as far as the commands say so.
    pub(super) fn modified_checks(&self) -> Vec<ModifiedCheck> {
        let checks = self.checks();
        // Views ask for this often, and most phases have none.
        if checks.is_empty() {
            return Vec::new();
        }
        let mut changed: Vec<&str> = self.changed_files().map(|file| file.path.as_str()).collect();
        for file in &self.measurements.facts.next_run_files {
            if !changed.contains(&file.as_str()) {
                changed.push(file);
            }
        }
        let of_command = |(_, command): (Option<ObjectiveIndex>, String)| {
            let files = files_run_by(&command, changed.iter().copied());
            let files: Vec<String> = files.into_iter().map(str::to_owned).collect();
            (!files.is_empty()).then_some(ModifiedCheck { command, files })
        };
        checks.into_iter().filter_map(of_command).collect()
    }

    /// Whether every command that an objective is held to passed before any work as well, and so shows nothing of it.
    pub(super) fn passed_before(&self, g: ObjectiveIndex) -> bool {
        let checks = self.checks();
        let about = checks
            .iter()
            .zip(&self.verification.first_check_results)
            .filter(|((of, _), _)| of.is_none_or(|of| of == g));
        let mut said = about.map(|(_, passed)| *passed).peekable();
        said.peek().is_some() && said.all(|passed| passed)
    }
}

/// The program of a command that the shell did not find. One that is named by its path can be a part of the work.
fn missing_program<'c>(command: &'c str, code: Option<i32>, findings: &str) -> Option<&'c str> {
    let program = command.split_whitespace().next().filter(|program| !program.contains('/'))?;
    let says = [format!("{program}: not found"), format!("{program}: command not found")];
    (code == Some(NOT_FOUND) && says.iter().any(|says| findings.contains(says))).then_some(program)
}
