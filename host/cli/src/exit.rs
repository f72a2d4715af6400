//! What the exit code of `baton` says. Nothing else decides about exit codes.

use std::process::ExitCode;

use baton_registry::{LockError, RegistryError, ResolveError};
use baton_runtime::RuntimeError;
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::view::{RunStatus, RunView};
use baton_runtime::core::workflow::SandboxError;
use baton_runtime::core::workflow::file::WorkflowError;

use crate::task::AllTicked;

/// A mistake on the command line that clap cannot see.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Every objective is done; or the command did what it was asked to.
    Done,
    /// The run is over and some objectives are open, or a commit that the workflow wants failed; or the host itself failed.
    Unfinished,
    /// The command line, the workflow file or the place is wrong. Nothing was started.
    Usage,
    /// A policy, or what is set for it, was refused. Nothing was started.
    PolicyRefused,
    /// An experiment raised an alarm.
    ExperimentAlarm,
    /// The run waits for a person: `baton answer`.
    Paused,
    /// Interrupted; everything is kept: `baton resume`.
    Interrupted,
}

impl Exit {
    /// All of them, in the order of their codes.
    pub(crate) const ALL: [Exit; 7] = [
        Exit::Done,
        Exit::Unfinished,
        Exit::Usage,
        Exit::PolicyRefused,
        Exit::ExperimentAlarm,
        Exit::Paused,
        Exit::Interrupted,
    ];

    /// The code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Unfinished => 1,
            Exit::Usage => 2,
            Exit::PolicyRefused => 3,
            Exit::ExperimentAlarm => 4,
            Exit::Paused => 5,
            // 128 + SIGINT, as shells have it.
            Exit::Interrupted => 130,
        }
    }

    /// What another `baton` ended with. One that nobody foresaw counts as work left undone.
    pub(crate) fn of_code(code: i32) -> Exit {
        Exit::ALL.into_iter().find(|exit| i32::from(exit.code()) == code).unwrap_or(Exit::Unfinished)
    }

    /// What it means, for `--help`.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::Unfinished => "objectives unfinished, a commit not made, or the host failed",
            Exit::Usage => "wrong usage or workflow file; nothing was started",
            Exit::PolicyRefused => "a policy was refused; nothing was started",
            Exit::ExperimentAlarm => "an experiment raised an alarm",
            Exit::Paused => "paused, waits for a person",
            Exit::Interrupted => "interrupted; `baton resume` goes on",
        }
    }

    /// How a run stands when its host leaves.
    pub(crate) fn of_view(view: &RunView) -> Exit {
        match view.status {
            RunStatus::Ended(RunOutcome::Done) if view.not_committed().next().is_some() => Exit::Unfinished,
            RunStatus::Ended(RunOutcome::Done) => Exit::Done,
            RunStatus::Ended(RunOutcome::Unfinished) => Exit::Unfinished,
            RunStatus::Paused => Exit::Paused,
            // A host that leaves a running run was asked to.
            RunStatus::Ended(RunOutcome::Interrupted) | RunStatus::Running => Exit::Interrupted,
        }
    }

    /// What an error means. One that nobody foresaw counts as work left undone.
    pub(crate) fn of_error(error: &anyhow::Error) -> Exit {
        if error.is::<AllTicked>() {
            return Exit::Done;
        }
        if error.is::<Usage>() || error.is::<WorkflowError>() || error.is::<SandboxError>() {
            return Exit::Usage;
        }
        if let Some(error) = error.downcast_ref::<ResolveError>() {
            return if matches!(error, ResolveError::Pinned { .. }) {
                Exit::PolicyRefused
            } else {
                Exit::Usage
            };
        }
        if let Some(error) = error.downcast_ref::<LockError>() {
            return if matches!(error, LockError::Changed { .. }) {
                Exit::PolicyRefused
            } else {
                Exit::Usage
            };
        }
        if let Some(error) = error.downcast_ref::<RegistryError>() {
            return match error {
                error if error.is_refusal() => Exit::PolicyRefused,
                error if error.is_usage() => Exit::Usage,
                _ => Exit::Unfinished,
            };
        }
        match error.downcast_ref::<RuntimeError>() {
            Some(RuntimeError::PolicyRefused { .. }) => Exit::PolicyRefused,
            Some(
                RuntimeError::Busy { .. }
                | RuntimeError::NoSuchRun { .. }
                | RuntimeError::NoRuns { .. }
                | RuntimeError::NoSuchArtifact { .. }
                | RuntimeError::AlreadyEnded { .. }
                | RuntimeError::Recorded { .. }
                | RuntimeError::NoHost { .. }
                | RuntimeError::NoSuchQuestion { .. }
                | RuntimeError::NoSuchChoice { .. }
                | RuntimeError::Workspace { .. }
                | RuntimeError::Session { .. }
                | RuntimeError::NoSandbox { .. }
                | RuntimeError::Refused(_),
            ) => Exit::Usage,
            _ => Exit::Unfinished,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::samples;

    #[test]
    fn every_code_is_the_documented_one() {
        let codes: Vec<u8> = Exit::ALL.into_iter().map(Exit::code).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 130]);
        assert!(Exit::ALL.into_iter().all(|exit| Exit::of_code(i32::from(exit.code())) == exit));
        assert_eq!(Exit::of_code(101), Exit::Unfinished, "a panic is no success");
    }

    #[test]
    fn a_run_ends_with_the_code_of_its_status() {
        let code = |status| Exit::of_view(&RunView { status, ..samples::finished() }).code();
        assert_eq!(code(RunStatus::Ended(RunOutcome::Done)), 0);
        assert_eq!(code(RunStatus::Ended(RunOutcome::Unfinished)), 1);
        assert_eq!(code(RunStatus::Paused), 5);
        assert_eq!(code(RunStatus::Ended(RunOutcome::Interrupted)), 130);
        assert_eq!(code(RunStatus::Running), 130);
        let mut uncommitted = samples::finished();
        uncommitted.phases[0].commit_failed = Some("a rebase is under way in the workspace".into());
        assert_eq!(Exit::of_view(&uncommitted).code(), 1, "not everything that was wanted is there");
    }

    #[test]
    fn an_error_ends_with_the_code_of_its_kind() {
        let code = |error: anyhow::Error| Exit::of_error(&error).code();
        let refused =
            RuntimeError::PolicyRefused { policy: "mine.wasm".into(), why: "it imports WASI".into() };
        assert_eq!(code(refused.into()), 3);
        assert_eq!(code(RuntimeError::NoRuns { workspace: "/w".into() }.into()), 2);
        assert_eq!(code(RuntimeError::DryRunEndless { inputs: 3 }.into()), 1);
        assert_eq!(code(Usage("no home".into()).into()), 2);
        let broken = baton_runtime::core::workflow::file::parse("", "w.toml", "/").unwrap_err();
        assert_eq!(code(anyhow::Error::from(broken).context("while checking")), 2);
        assert_eq!(code(std::io::Error::other("disk").into()), 1);
    }
}
