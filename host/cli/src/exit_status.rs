//! The exit codes of `baton`. All of them are defined here.

use std::process::ExitCode;

use baton_registry::{LockError, RegistryError, ResolveError};
use baton_runtime::RuntimeError;
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::view::{RunStatus, RunView};
use baton_runtime::core::workflow::SandboxError;
use baton_runtime::core::workflow::file::WorkflowError;

use crate::task::PlanCompleted;

/// A mistake on the command line that clap cannot see.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CliExit {
    /// Every objective is done; or the command succeeded.
    Done,
    /// The run is over and some objectives are open, or a commit that the workflow wants failed; or the host itself failed.
    Unfinished,
    /// The command line, the workflow file or the place is wrong. Nothing was started.
    Usage,
    /// A policy, or a setting of it, was refused. Nothing was started.
    PolicyRefused,
    /// An experiment raised an alarm.
    ExperimentAlarm,
    /// The run waits for the user: `baton answer`.
    Paused,
    /// Interrupted; everything is kept: `baton resume`.
    Interrupted,
}

impl CliExit {
    /// All of them, in the order of their codes.
    pub(crate) const ALL: [CliExit; 7] = [
        CliExit::Done,
        CliExit::Unfinished,
        CliExit::Usage,
        CliExit::PolicyRefused,
        CliExit::ExperimentAlarm,
        CliExit::Paused,
        CliExit::Interrupted,
    ];

    /// The code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            CliExit::Done => 0,
            CliExit::Unfinished => 1,
            CliExit::Usage => 2,
            CliExit::PolicyRefused => 3,
            CliExit::ExperimentAlarm => 4,
            CliExit::Paused => 5,
            // 128 + SIGINT, as shells have it.
            CliExit::Interrupted => 130,
        }
    }

    /// What another `baton` ended with. An unknown one counts as work left undone.
    pub(crate) fn of_code(code: i32) -> CliExit {
        CliExit::ALL.into_iter().find(|exit| i32::from(exit.code()) == code).unwrap_or(CliExit::Unfinished)
    }

    /// Its meaning, for `--help`.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            CliExit::Done => "done",
            CliExit::Unfinished => "objectives unfinished, a commit not made, or the host failed",
            CliExit::Usage => "wrong usage or workflow file; nothing was started",
            CliExit::PolicyRefused => "a policy was refused; nothing was started",
            CliExit::ExperimentAlarm => "an experiment raised an alarm",
            CliExit::Paused => "paused, waits for a person",
            CliExit::Interrupted => "interrupted; `baton resume` continues",
        }
    }

    /// The exit status for the state of a run when its host ends.
    pub(crate) fn of_view(view: &RunView) -> CliExit {
        match view.status {
            RunStatus::Ended(RunOutcome::Done) if view.not_committed().next().is_some() => {
                CliExit::Unfinished
            }
            RunStatus::Ended(RunOutcome::Done) => CliExit::Done,
            RunStatus::Ended(RunOutcome::Unfinished) => CliExit::Unfinished,
            RunStatus::Paused => CliExit::Paused,
            // A host that leaves a running run was asked to.
            RunStatus::Ended(RunOutcome::Interrupted) | RunStatus::Running => CliExit::Interrupted,
        }
    }

    /// What an error means. An unknown one counts as work left undone.
    pub(crate) fn of_error(error: &anyhow::Error) -> CliExit {
        if error.is::<PlanCompleted>() {
            return CliExit::Done;
        }
        if error.is::<UsageError>() || error.is::<WorkflowError>() || error.is::<SandboxError>() {
            return CliExit::Usage;
        }
        if let Some(error) = error.downcast_ref::<ResolveError>() {
            return if matches!(error, ResolveError::Pinned { .. }) {
                CliExit::PolicyRefused
            } else {
                CliExit::Usage
            };
        }
        if let Some(error) = error.downcast_ref::<LockError>() {
            return if matches!(error, LockError::Changed { .. }) {
                CliExit::PolicyRefused
            } else {
                CliExit::Usage
            };
        }
        if let Some(error) = error.downcast_ref::<RegistryError>() {
            return match error {
                error if error.is_refusal() => CliExit::PolicyRefused,
                error if error.is_usage() => CliExit::Usage,
                _ => CliExit::Unfinished,
            };
        }
        match error.downcast_ref::<RuntimeError>() {
            Some(RuntimeError::PolicyRefused { .. }) => CliExit::PolicyRefused,
            Some(
                RuntimeError::Busy { .. }
                | RuntimeError::NoSuchRun { .. }
                | RuntimeError::NoRuns { .. }
                | RuntimeError::NoSuchArtifact { .. }
                | RuntimeError::AlreadyEnded { .. }
                | RuntimeError::ImportedRun { .. }
                | RuntimeError::NoHost { .. }
                | RuntimeError::NoSuchQuestion { .. }
                | RuntimeError::NoSuchChoice { .. }
                | RuntimeError::Workspace { .. }
                | RuntimeError::Session { .. }
                | RuntimeError::NoSandbox { .. }
                | RuntimeError::Refused(_),
            ) => CliExit::Usage,
            _ => CliExit::Unfinished,
        }
    }
}

impl From<CliExit> for ExitCode {
    fn from(exit: CliExit) -> Self {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::test_samples;

    #[test]
    fn every_code_is_the_documented_one() {
        let codes: Vec<u8> = CliExit::ALL.into_iter().map(CliExit::code).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 130]);
        assert!(CliExit::ALL.into_iter().all(|exit| CliExit::of_code(i32::from(exit.code())) == exit));
        assert_eq!(CliExit::of_code(101), CliExit::Unfinished, "a panic is no success");
    }

    #[test]
    fn a_run_ends_with_the_code_of_its_status() {
        let code = |status| CliExit::of_view(&RunView { status, ..test_samples::finished() }).code();
        assert_eq!(code(RunStatus::Ended(RunOutcome::Done)), 0);
        assert_eq!(code(RunStatus::Ended(RunOutcome::Unfinished)), 1);
        assert_eq!(code(RunStatus::Paused), 5);
        assert_eq!(code(RunStatus::Ended(RunOutcome::Interrupted)), 130);
        assert_eq!(code(RunStatus::Running), 130);
        let mut uncommitted = test_samples::finished();
        uncommitted.phases[0].commit_failed = Some("a rebase is under way in the workspace".into());
        assert_eq!(CliExit::of_view(&uncommitted).code(), 1, "not everything that was wanted is there");
    }

    #[test]
    fn an_error_ends_with_the_code_of_its_kind() {
        let code = |error: anyhow::Error| CliExit::of_error(&error).code();
        let refused =
            RuntimeError::PolicyRefused { policy: "mine.wasm".into(), why: "it imports WASI".into() };
        assert_eq!(code(refused.into()), 3);
        assert_eq!(code(RuntimeError::NoRuns { workspace: "/w".into() }.into()), 2);
        assert_eq!(code(RuntimeError::DryRunDidNotEnd { inputs: 3 }.into()), 1);
        assert_eq!(code(UsageError("no home".into()).into()), 2);
        let broken = baton_runtime::core::workflow::file::parse("", "w.toml", "/").unwrap_err();
        assert_eq!(code(anyhow::Error::from(broken).context("while checking")), 2);
        assert_eq!(code(std::io::Error::other("disk").into()), 1);
    }
}
