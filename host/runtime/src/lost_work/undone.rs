//! Phases of which nothing is left: every file that they changed is as it was when they began. Somebody may have restored it at any moment,
//! also while agents were at work, and nobody can tell that from what an agent did; nothing shows any more that such a phase is done (A11).

use baton_core::run::PhaseChanges;
use baton_core::{Input, Run};
use baton_workspace::WorkspaceError;

use super::{LostWorkFinder, work_lost};
use crate::worktree_paths::{baseline_path, read_baseline};

impl LostWorkFinder {
    /// What core is told of it before the run ends. Nothing where it cannot be seen.
    pub(crate) async fn find_undone(&self, run: &Run) -> Vec<Input> {
        let mut undone = Vec::new();
        for changes in run.changes_of_finished_phases() {
            match self.is_undone(run, &changes).await {
                Ok(true) => {
                    let files = changes.files.iter().map(|file| file.path.as_str()).collect();
                    undone.push(work_lost(&changes, files, false));
                }
                Ok(false) => {}
                Err(error) => tracing::warn!("cannot see whether finished work is still there: {error}"),
            }
        }
        undone
    }

    async fn is_undone(&self, run: &Run, changes: &PhaseChanges<'_>) -> Result<bool, WorkspaceError> {
        let left = changes.files.iter().map(|file| (*file).clone()).collect();
        let now = self.workspace.differing(left).await?;
        if now.len() < changes.files.len() || !now.iter().all(|file| file.differs) {
            return Ok(false);
        }
        let Some(start) = read_baseline(baseline_path(&self.state, run.id(), changes.phase)).await else {
            return Ok(false);
        };
        let committed = self.workspace.as_committed(start.head(), &now).await?;
        Ok(now.iter().all(|file| start.has(file) || committed.contains(&file.path)))
    }
}
