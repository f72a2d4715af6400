//! What the commands found that a phase is held to, and the commit that they ran on.

use crate::input::ArtifactRef;
use crate::time::UnixMs;

use super::super::text_format::cut;
use super::FINDINGS_BYTES;
use super::ObjectiveIndex;

/// What the verification of a phase, or its review, has found so far.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run) struct VerificationState {
    /// Whether the newest one passed; none before the first.
    pub(in crate::run) passed: Option<bool>,
    /// When that was.
    pub(in crate::run) at: UnixMs,
    /// The artifact with what the command printed.
    pub(in crate::run) log: String,
    /// How often it was verified.
    pub(in crate::run) rounds: u32,
    /// The commit that is verified, reviewed and merged; absent if it has no tree of its own.
    pub(in crate::run) commit: Option<String>,
    /// What git ignores in its tree, as far as people were told.
    pub(in crate::run) reported_ignored_files: Vec<String>,
    /// Its commands run once more, on what they changed themselves.
    pub(in crate::run) checks_repeated: bool,
    /// What was found wrong.
    pub(in crate::run) findings: String,
    /// The commands that failed when they last ran.
    pub(in crate::run) failed_checks: Vec<FailedCheck>,
    /// What each of its commands said before any work, if the workflow has them run first.
    pub(in crate::run) first_check_results: Vec<bool>,
}

/// A command that said that something is not done.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run) struct FailedCheck {
    /// Which of the commands of the phase.
    pub(in crate::run) check: usize,
    /// The objective that it is about; none if it is that of the phase.
    pub(in crate::run) of: Option<ObjectiveIndex>,
    /// Its exit code, if it ran to its end.
    pub(in crate::run) code: Option<i32>,
    pub(in crate::run) findings: String,
}

impl Default for VerificationState {
    fn default() -> Self {
        Self {
            passed: None,
            at: UnixMs(0),
            log: String::new(),
            rounds: 0,
            commit: None,
            reported_ignored_files: Vec::new(),
            checks_repeated: false,
            findings: String::new(),
            failed_checks: Vec::new(),
            first_check_results: Vec::new(),
        }
    }
}

impl VerificationState {
    /// A round begins, of a phase that may have no commands.
    pub(in crate::run) fn begin_round(&mut self, has_checks: bool) {
        self.rounds += u32::from(has_checks);
        self.checks_repeated = false;
    }

    /// Keeps where the output of a command is: of those of a round, the last that failed, or else the last.
    pub(in crate::run) fn keep_log(&mut self, passed: bool, artifact: Option<&ArtifactRef>) {
        if !passed || self.failed_checks.is_empty() {
            self.log = artifact.map(|kept| kept.name.clone()).unwrap_or_default();
        }
    }

    /// Keeps what was found, cut to what goes back to the phase.
    pub(in crate::run) fn set_findings(&mut self, passed: bool, findings: String, at: UnixMs) {
        (self.passed, self.at, self.findings) = (Some(passed), at, findings);
        cut(&mut self.findings, FINDINGS_BYTES);
    }

    /// The work is to change: what is there then is committed before it is verified.
    pub(in crate::run) fn discard_commit(&mut self) {
        self.commit = None;
    }

    /// Whether the newest one sent the work back.
    pub(in crate::run) fn has_failed(&self) -> bool {
        self.passed == Some(false)
    }

    /// Whether this command passed before any work.
    pub(in crate::run) fn passed_first(&self, check: usize) -> Option<bool> {
        self.first_check_results.get(check).copied()
    }

    /// Gives those of these paths, which git ignores, that no notice has named yet, and keeps them.
    pub(in crate::run) fn newly_ignored(&mut self, unseen: &[String]) -> Vec<String> {
        let is_new = |path: &&String| !self.reported_ignored_files.contains(path);
        let files: Vec<String> = unseen.iter().filter(is_new).cloned().collect();
        self.reported_ignored_files.extend(files.iter().cloned());
        files
    }

    /// A new walk of the loop of its phase, which mends what the `last` phase of the loop has found.
    pub(in crate::run) fn reset_for_iteration(&mut self, last: &VerificationState) {
        (self.passed, self.commit, self.rounds) = (None, None, 0);
        self.findings.clone_from(&last.findings);
        self.log.clone_from(&last.log);
        self.at = last.at;
    }
}
