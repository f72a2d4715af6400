//! Where the work trees and baselines of a run lie.

use std::path::PathBuf;

use baton_core::facts::ChangedFile;
use baton_core::{Digest, PhaseId, RunId};
use baton_store::StateDir;
use baton_workspace::{Baseline, RunWorktrees, Workspace};

use crate::python_cache;

/// The work trees of a run lie in the state directory, where no agent of another phase looks.
pub(crate) fn trees_of(state: &StateDir, workspace: &Workspace, run: &RunId) -> RunWorktrees {
    let hidden = [state.path().to_owned(), state.aot_cache()];
    let hidden: Vec<_> = hidden.iter().map(PathBuf::as_path).collect();
    let workspace = &of_run(workspace, state, run);
    RunWorktrees::new(workspace, &state.path().join("trees").join(run.as_str()), &hidden, run)
}

/// The workspace as a run works in it: what its commands leave behind is known, and Python runs nothing there that agents have compiled.
pub(crate) fn of_run(workspace: &Workspace, state: &StateDir, run: &RunId) -> Workspace {
    let mark = baton_agents::mark_of_command(&state.sessions().join(run.as_str()));
    workspace.clone().with_command_mark(mark).with_python_cache(python_cache::of_commands(state, run))
}

/// The file that has how the workspace was when a phase began. Phase ids are the user's words; a digest is a file name everywhere.
pub(crate) fn baseline_path(state: &StateDir, run: &RunId, phase: &PhaseId) -> PathBuf {
    file_of_phase(state, run, phase, "baseline")
}

/// The file that has every change of a phase if its newest measurement found more than facts name.
pub(crate) fn changes_path(state: &StateDir, run: &RunId, phase: &PhaseId) -> PathBuf {
    file_of_phase(state, run, phase, "changes")
}

fn file_of_phase(state: &StateDir, run: &RunId, phase: &PhaseId, kind: &str) -> PathBuf {
    let name = format!("{kind}-{}.json", Digest::of(phase.as_str()).short());
    state.sessions().join(run.as_str()).join(name)
}

/// What it has; nothing where there is none, or none that can be read.
pub(crate) async fn read_changes(path: PathBuf) -> Option<Vec<ChangedFile>> {
    let bytes = tokio::fs::read(path).await.ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// What it has; nothing where there is none.
pub(crate) async fn read_baseline(path: PathBuf) -> Option<Baseline> {
    let bytes = tokio::fs::read(path).await.ok()?;
    serde_json::from_slice(&bytes).ok()
}
