//! Performs what is about work trees: checkpoints, branches, merges, landings. What they come to is git's to say, and what
//! follows from it is core's.

use std::collections::BTreeMap;
use std::sync::PoisonError;

use baton_core::visible::visible;
use baton_core::{Action, ActionOutcome, PhaseId, Run, UnixMs, WorktreeName};
use baton_store::secrets::mask;
use baton_workspace::{
    BranchCommitRequest, BranchCommitResult, CommitDifferences, CommitResult, LandResult, MergeResult,
    VerifiedCommit, WorktreeBase,
};

use crate::error::BoxedError;

use super::EffectContext;

/// Where the phases of a run work, as far as it has come.
pub(super) fn places(run: &Run) -> BTreeMap<PhaseId, WorktreeName> {
    let view = run.view(UnixMs(0));
    view.into_iter().flat_map(|view| view.phases).map(|phase| (phase.id, phase.tree)).collect()
}

impl EffectContext {
    /// Remembers where a phase works: some effects name only the phase.
    pub(super) fn note_place(&self, action: &Action) {
        let (phase, tree) = match action {
            Action::Spawn(spec) => (&spec.phase, &spec.tree),
            Action::MeasureWorkspace { phase, tree, .. }
            | Action::ValidateHandoff { phase, tree, .. }
            | Action::Verify { phase, tree, .. }
            | Action::CommitWorktree { phase, tree, .. } => (phase, tree),
            _ => return,
        };
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.insert(phase.clone(), tree.clone());
    }

    /// Where a phase works.
    pub(super) fn place_of(&self, phase: &PhaseId) -> WorktreeName {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.get(phase).cloned().unwrap_or_default()
    }

    pub(super) async fn run_worktree_action(&self, action: Action) -> Result<ActionOutcome, BoxedError> {
        let outcome = self.perform_on_trees(action).await;
        for tree in self.parts.trees.take_mended() {
            tracing::warn!(
                "`.git` in the work tree of {tree} was changed and is written again; what stood there is kept beside \
                 the work trees"
            );
        }
        outcome
    }

    async fn perform_on_trees(&self, action: Action) -> Result<ActionOutcome, BoxedError> {
        Ok(match action {
            Action::Checkpoint { phase, tree, integration } => {
                match self.parts.trees.checkpoint(&phase, &tree, &integration).await? {
                    WorktreeBase::Commit(base) => ActionOutcome::Checkpointed { base: Some(base) },
                    WorktreeBase::Shared { why } => {
                        tracing::warn!("the parts of phase {phase} share one folder: {why}");
                        ActionOutcome::Checkpointed { base: None }
                    }
                }
            }
            Action::CreateWorktree { tree, base, setup, .. } => {
                self.parts.trees.branch(&tree, &base).await?;
                if !setup.is_empty() {
                    let mut within =
                        self.parts.boundaries.for_command(self.parts.trees.open(&tree).await?)?;
                    let made = self.parts.trees.set_up(&within.workspace, &setup).await;
                    let refused = within.refused();
                    if !refused.is_empty() {
                        tracing::warn!("setting up {tree}: {refused}");
                    }
                    made?;
                }
                ActionOutcome::Branched
            }
            Action::CommitWorktree { phase, tree, files, anew } => {
                match self.parts.trees.commit(&phase, &tree, &files, anew).await? {
                    CommitResult::Committed { commit, missing, ignored, unseen } => {
                        ActionOutcome::Committed { commit, missing, ignored, unseen }
                    }
                    CommitResult::Conflicted { files } => ActionOutcome::Conflicted { files },
                }
            }
            Action::CommitToBranch { phase, ordinal, message, branch, only } => {
                // Words of agents are in it.
                let message = visible(&mask(&message)).into_owned();
                let wanted = BranchCommitRequest {
                    phase: &phase,
                    ordinal,
                    message: &message,
                    branch: branch.as_deref(),
                    only: only.as_deref(),
                    but: self.plan.as_deref(),
                };
                let BranchCommitResult { commit, left, by_checks } =
                    self.parts.trees.commit_to_branch(wanted).await?;
                ActionOutcome::CommittedToBranch { commit, left, by_checks }
            }
            Action::RestoreWorktree { tree, commit, whole, .. } => {
                let CommitDifferences { changed, gone, added } =
                    self.parts.trees.restore(&tree, &commit, whole).await?;
                ActionOutcome::Restored { changed, gone, added }
            }
            Action::Merge { tree, into, message, commit, .. } => {
                match self.parts.trees.merge(&tree, &into, &message, commit.as_deref()).await? {
                    MergeResult::Merged { commit, files } => ActionOutcome::Merged { commit, files },
                    MergeResult::Conflicted { files } => ActionOutcome::Conflicted { files },
                }
            }
            Action::AbortMerge { tree, .. } => {
                self.parts.trees.unmerge(&tree).await?;
                ActionOutcome::Unmerged
            }
            Action::Land { phase, tree, into, base, merged, round, commit } => {
                let verified = VerifiedCommit { round, commit: commit.as_deref() };
                match self.parts.trees.land(&phase, &tree, &into, &base, &merged, verified).await? {
                    LandResult::Landed { commit, committed, files } => {
                        ActionOutcome::Landed { commit, committed, files }
                    }
                    LandResult::Updated => ActionOutcome::Updated,
                    LandResult::Conflicted { files } => ActionOutcome::Conflicted { files },
                }
            }
            other => ActionOutcome::Failed { error: format!("{} is not about work trees", other.name()) },
        })
    }
}
