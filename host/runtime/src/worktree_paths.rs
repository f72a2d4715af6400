//! Where the work trees and baselines of a run lie.

use std::path::PathBuf;

use baton_core::{Digest, PhaseId, RunId};
use baton_store::StateDir;
use baton_workspace::{RunWorktrees, Workspace};

/// The work trees of a run lie in the state directory, where no agent of another phase looks.
pub(crate) fn trees_of(state: &StateDir, workspace: &Workspace, run: &RunId) -> RunWorktrees {
    let hidden = [state.path().to_owned(), state.aot_cache()];
    let hidden: Vec<_> = hidden.iter().map(PathBuf::as_path).collect();
    let workspace = &of_run(workspace, state, run);
    RunWorktrees::new(workspace, &state.path().join("trees").join(run.as_str()), &hidden, run)
}

/// The workspace as a run works in it: what its commands leave behind is known.
pub(crate) fn of_run(workspace: &Workspace, state: &StateDir, run: &RunId) -> Workspace {
    let mark = baton_agents::mark_of_command(&state.sessions().join(run.as_str()));
    workspace.clone().with_command_mark(mark)
}

/// The file that has how the workspace was when a phase began.
pub(crate) fn baseline_name(phase: &PhaseId) -> String {
    format!("baseline-{}.json", Digest::of(phase.as_str()).short())
}
