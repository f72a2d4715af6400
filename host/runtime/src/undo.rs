//! Takes back what a run landed in its workspace. Holds the workspace while it does, so that no host works there; what is
//! taken back, and how, is git's to say.

use baton_core::RunId;
use baton_core::action::RunOutcome;
use baton_core::view::RunStatus;
use baton_store::StoreError;
use baton_workspace::{UndoOutcome, Workspace};

use crate::config::HostConfig;
use crate::control::requester;
use crate::error::RuntimeError;
use crate::query::{cannot_read, find_state, open_read_only, resolve_run};
use crate::recovery;
use crate::worktree_paths::trees_of;

/// What taking a run back came to, or would.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoResult {
    /// Which run.
    pub run: RunId,
    /// It may still be resumed, as if everything were there.
    pub is_unfinished: bool,
    /// What became of the workspace.
    pub what: UndoOutcome,
}

/// Takes back everything that a run landed, the newest run where none is named; with `dry_run` only says what would change.
///
/// # Errors
/// [`RuntimeError::Busy`] while a host works there, [`RuntimeError::NoRuns`], [`RuntimeError::NoSuchRun`],
/// [`RuntimeError::UndoRefused`] where git refuses, and those of reading the journal.
pub async fn undo(
    config: &HostConfig,
    run: Option<&RunId>,
    dry_run: bool,
) -> Result<UndoResult, RuntimeError> {
    let state = find_state(config)?;
    let _lock = state.lock().map_err(|source| match source {
        StoreError::Locked { pid, .. } => RuntimeError::Busy { pid, workspace: config.workspace.clone() },
        source => cannot_read(&state)(source),
    })?;
    let journal = open_read_only(&state)?;
    let run = resolve_run(config, &journal, run)?;
    if !dry_run {
        requester::expect_no_agent(&state, &run)?;
    }
    let folded = recovery::fold_run(&journal, &run).map_err(|error| error.in_dir(state.path()))?.run;
    let workspace = Workspace::open(&config.workspace).map_err(|error| RuntimeError::Workspace {
        workspace: config.workspace.clone(),
        source: error.into(),
    })?;
    let trees = trees_of(&state, &workspace.with_own_folder(folded.task_folder()), &run);
    let what = trees
        .undo(dry_run)
        .await
        .map_err(|error| RuntimeError::UndoRefused { run: run.clone(), source: error.into() })?;
    let is_unfinished =
        !matches!(folded.status(), RunStatus::Ended(RunOutcome::Done | RunOutcome::Unfinished));
    Ok(UndoResult { run, is_unfinished, what })
}
