//! The commands that a phase and its objectives are held to (D3): one after the other, on the work as it is committed.

use crate::action::Action;
use crate::input::Outcome;
use crate::notice::Notice;
use crate::observation::Basis;

use super::Run;
use super::phase::{FINDINGS_BYTES, FailedCheck};
use super::session::cut;
use super::step::{AfterRestore, Step};
use super::walk::why_failed;

/// Characters of what a reviewer or a verification found that a person is told at once.
const TOLD_CHARS: usize = 200;

impl Run {
    /// Every objective is done, as far as anybody has said: now it is held to its commands, those of its objectives first.
    pub(super) fn verify(&mut self, p: usize) {
        self.phases[p].verifications += u32::from(!self.checks_of(p).is_empty());
        self.phases[p].checked_again = false;
        self.commit(p);
    }

    /// Its commands, on the work as it is committed now.
    pub(super) fn verify_committed(&mut self, p: usize) {
        self.phases[p].failed_checks.clear();
        self.verify_from(p, 0);
    }

    /// One command after the other, from the n-th on: every objective is held to its own, whatever was found of another. The command of
    /// the phase is left where one of theirs has failed.
    fn verify_from(&mut self, p: usize, n: usize) {
        let Some((of, command)) = self.check_from(p, n) else {
            return match (n, self.phases[p].failed_checks.is_empty()) {
                (0, _) => self.checks_passed(p),
                (_, true) => self.restore(p, AfterRestore::Checks),
                (_, false) => self.restore(p, AfterRestore::FailedChecks),
            };
        };
        let phase = &self.phases[p];
        let (id, attempt, tree) = (phase.spec.id.clone(), phase.verifications, phase.tree.clone());
        let action = self.emit(Action::Verify { phase: id, command, attempt, tree });
        self.phases[p].step = Step::Verifying { action, check: n, of };
    }

    /// The n-th of its commands, if it is to run.
    fn check_from(&self, p: usize, n: usize) -> Option<(Option<usize>, String)> {
        let failed = !self.phases[p].failed_checks.is_empty();
        self.checks_of(p).into_iter().nth(n).filter(|(of, _)| !failed || of.is_some())
    }

    /// Its commands, and which objective each is about.
    pub(super) fn checks_of(&self, p: usize) -> Vec<(Option<usize>, String)> {
        let phase = &self.phases[p];
        let of_objectives = phase.goals.iter().enumerate();
        let of_objectives = of_objectives.filter_map(|(g, goal)| Some((Some(g), goal.spec.verify.clone()?)));
        of_objectives.chain(phase.spec.verify.clone().map(|command| (None, command))).collect()
    }

    pub(super) fn verified(&mut self, p: usize, check: usize, of: Option<usize>, outcome: &Outcome) {
        let (passed, code, findings) = match outcome {
            Outcome::Verified { passed, code, findings, artifact } => {
                let phase = &mut self.phases[p];
                if !*passed || phase.failed_checks.is_empty() {
                    phase.verification = artifact.as_ref().map(|kept| kept.name.clone()).unwrap_or_default();
                }
                if let Some(artifact) = artifact {
                    phase.keep(artifact);
                }
                (*passed, *code, findings.clone())
            }
            other => (false, None, why_failed(other).to_owned()),
        };
        let attempt = self.phases[p].verifications;
        self.note_check(p, of, passed);
        if passed {
            if self.phases[p].failed_checks.is_empty() {
                self.take_findings(p, true, findings);
            }
        } else {
            self.phases[p].failed_checks.push(FailedCheck { check, of, code, findings });
            let findings = self.findings_of_checks(p);
            self.take_findings(p, false, findings);
        }
        if self.check_from(p, check + 1).is_none() {
            let phase = &self.phases[p];
            let failed = phase.failed_checks.first();
            let code = failed.map_or(code, |failed| failed.code);
            self.notify(Notice::Verified {
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
    fn findings_of_checks(&self, p: usize) -> String {
        let (phase, checks) = (&self.phases[p], self.checks_of(p));
        let failed = &phase.failed_checks;
        if let [only] = failed.as_slice() {
            return only.findings.clone();
        }
        let each = FINDINGS_BYTES / failed.len().max(1);
        let sections = failed.iter().map(|failed| {
            let whose = failed.of.map_or("the phase", |g| phase.goals[g].spec.id.as_str());
            let command = checks.get(failed.check).map_or("", |(_, command)| command);
            let mut section =
                format!("The verification of {whose} (`{command}`) failed:\n{}", failed.findings.trim_end());
            cut(&mut section, each.saturating_sub(2));
            section
        });
        sections.collect::<Vec<_>>().join("\n\n")
    }

    /// What the commands found goes back.
    pub(super) fn checks_failed(&mut self, p: usize) {
        let attempt = self.phases[p].verifications;
        let (phase, checks) = (&self.phases[p], self.checks_of(p));
        let of: Vec<usize> = phase.failed_checks.iter().filter_map(|failed| failed.of).collect();
        let ids: Vec<&str> = of.iter().map(|g| phase.goals[*g].spec.id.as_str()).collect();
        let whose = if ids.is_empty() { String::new() } else { format!(" of {}", ids.join(", ")) };
        let told = |failed: &FailedCheck| {
            let command = checks.get(failed.check).map_or("", |(_, command)| command);
            (command, tail_line(&failed.findings))
        };
        let mut told = phase.failed_checks.iter().map(told);
        let (id, first) = (&phase.spec.id, told.next());
        let (command, line) = first.unwrap_or(("", String::new()));
        let mut text =
            format!("The verification{whose} of phase {id} (`{command}`) failed {attempt} times: {line}");
        for (command, line) in told {
            text.push_str(&format!("; `{command}`: {line}"));
        }
        let because = format!("the verification{whose} failed");
        self.not_content(p, &of, attempt, &because, text);
    }

    /// What a check found is kept with the objectives that it is about: its own, or all of the phase.
    fn note_check(&mut self, p: usize, of: Option<usize>, passed: bool) {
        let phase = &mut self.phases[p];
        match of {
            Some(g) => {
                let goal = &mut phase.goals[g];
                goal.check_passed = Some(passed);
                // It is done by its own check, whatever another one says of the others.
                if passed && goal.is_done() {
                    goal.done_by = Some(Basis::Checked);
                }
            }
            None => phase.goals.iter_mut().for_each(|goal| goal.check_passed = Some(passed)),
        }
    }

    /// Every check passed. An objective that a check is about is done by it; one that was reported open meanwhile is not done.
    pub(super) fn checks_passed(&mut self, p: usize) {
        let mut checked = Vec::new();
        for goal in &mut self.phases[p].goals {
            if goal.is_done() && goal.check_passed == Some(true) {
                goal.done_by = Some(Basis::Checked);
                checked.push(goal.spec.id.clone());
            }
        }
        // A part stands after its phase, and holds its objectives too: both say the same of them.
        let of_parts = self.phases[p + 1..].iter_mut().flat_map(|part| &mut part.goals);
        for goal in of_parts.filter(|goal| goal.is_done() && checked.contains(&goal.spec.id)) {
            goal.done_by = Some(Basis::Checked);
        }
        if self.phases[p].is_finished() {
            self.review_or_complete(p);
        } else {
            self.boundary(p);
        }
    }

    pub(super) fn take_findings(&mut self, p: usize, passed: bool, findings: String) {
        let now = self.now;
        let phase = &mut self.phases[p];
        phase.verified = Some(passed);
        phase.verified_at = now;
        phase.news = true;
        phase.findings = findings;
        cut(&mut phase.findings, FINDINGS_BYTES);
    }
}

/// The last line that says something, cut for a person.
pub(super) fn tail_line(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    line.trim().chars().take(TOLD_CHARS).collect()
}
