//! Reverts the landings of a run in the workspace. All of it is computed before the first file is written; with conflicts, they
//! are named and nothing is changed.

use baton_core::WorktreeName;

use super::git::{path, records};
use super::land::LANDED;
use super::pending_change::{ApplyResult, BranchMove, WorkspaceChange};
use super::snapshot::commit_tree;
use super::worktree::{Worktree, pairs};
use super::{MAX_CONFLICTS, RunWorktrees, WorktreeError};

/// The kind of refs that record undos.
const UNDO: &str = "undo";

/// The result of undoing a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoOutcome {
    /// The run landed nothing, or it was taken back before.
    Nothing,
    /// Later changes conflict; nothing was changed.
    Conflicted {
        /// These files, workspace-relative, at most [`MAX_CONFLICTS`](super::MAX_CONFLICTS).
        files: Vec<String>,
    },
    /// It is taken back, or would be.
    Undone(UndoSummary),
}

/// The reverted changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoSummary {
    /// The phases that had landed, the newest first.
    pub phases: Vec<String>,
    /// Every file that changes.
    pub files: Vec<UndoFileChange>,
    /// The branch that moves back; absent if the landed changes are reverted as uncommitted changes.
    pub branch: Option<BranchMoveBack>,
    /// The ref that keeps the state before; empty if there was nothing to change.
    pub kept: String,
}

/// A branch that moves back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchMoveBack {
    /// Its name.
    pub name: String,
    /// The commit that it was at.
    pub from: String,
    /// The commit that it is at.
    pub to: String,
}

/// A file that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoFileChange {
    /// Workspace-relative.
    pub path: String,
    /// How.
    pub kind: UndoChangeKind,
}

/// How a file changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoChangeKind {
    /// It is there again.
    Restored,
    /// It is as it was before.
    Reverted,
    /// It goes.
    Removed,
}

/// The state of the workspace after the undo.
struct UndoTarget {
    tree: String,
    branch: Option<BranchMove>,
    phases: Vec<String>,
    takes_back: Vec<u32>,
}

impl RunWorktrees {
    /// Reverts everything that the run landed in the workspace, the newest first. If HEAD is exactly the commit of a landing,
    /// and the tree is clean, the branch moves back; otherwise the change is reverted as uncommitted changes. With `only_look`
    /// nothing is changed.
    ///
    /// # Errors
    /// [`WorktreeError`] if git fails, and [`WorktreeError::InTheWay`].
    pub async fn undo(&self, only_look: bool) -> Result<UndoOutcome, WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        let worktree = match self.worktree(&WorktreeName::workspace()).await {
            Ok(worktree) => worktree,
            // Nothing ever landed there.
            Err(WorktreeError::NoRepository { .. }) => return Ok(UndoOutcome::Nothing),
            Err(error) => return Err(error),
        };
        if !only_look {
            self.clear_landings(&self.0.workspace);
            self.finish_undo(&worktree).await?;
        }
        let mut landed = self.records(&worktree, LANDED).await?;
        landed.retain(|record| record.change.worktree.is_empty() && !record.is_undone);
        if landed.is_empty() {
            return Ok(UndoOutcome::Nothing);
        }
        let mut facing = Vec::new();
        for record in &landed {
            facing.extend([worktree.tree_of(&record.change.before).await?, record.change.after.clone()]);
        }
        let facing: Vec<&str> = facing.iter().map(String::as_str).collect();
        let now = self.snapshot(&worktree, &facing).await?;
        let changes: Vec<(u32, WorkspaceChange)> =
            landed.into_iter().rev().map(|record| (record.ordinal, record.change)).collect();
        let goal = match goal(&worktree, &now.tree, &changes).await? {
            Ok(goal) => goal,
            Err(files) => return Ok(UndoOutcome::Conflicted { files }),
        };
        let mut undone = UndoSummary {
            phases: goal.phases.clone(),
            files: files(&worktree, &now.tree, &goal.tree).await?,
            branch: goal.branch.clone().map(|branch_move| BranchMoveBack {
                name: branch_move.name.trim_start_matches("refs/heads/").to_owned(),
                from: branch_move.from,
                to: branch_move.to,
            }),
            kept: String::new(),
        };
        if undone.files.is_empty() && undone.branch.is_none() {
            // Its changes are not here now; they may return, for example out of a stash.
            return Ok(UndoOutcome::Nothing);
        }
        if only_look {
            return Ok(UndoOutcome::Undone(undone));
        }
        let parents = worktree.head().await?;
        let parents: Vec<&str> = parents.as_deref().into_iter().collect();
        let before = now
            .commit(&parents, &format!("The workspace before run {} was taken back\n", self.0.run))
            .await?;
        drop(now);
        let change = WorkspaceChange {
            schema: 1,
            phase: String::new(),
            worktree: String::new(),
            base: String::new(),
            joined: String::new(),
            before: before.clone(),
            after: goal.tree,
            branch: goal.branch,
            files: u32::try_from(undone.files.len()).unwrap_or(u32::MAX),
            takes_back: goal.takes_back,
        };
        let record =
            self.record_change(&worktree, UNDO, &format!("Run {} is taken back", self.0.run), change).await?;
        undone.kept = format!("{}{}/before", self.references(UNDO), record.ordinal);
        worktree.set_ref(&undone.kept, &before).await?;
        match self.finish_undo(&worktree).await? {
            ApplyResult::Out => Ok(UndoOutcome::Undone(undone)),
            ApplyResult::Changed(paths) => {
                let files = paths.iter().take(MAX_CONFLICTS).map(|path| worktree.shown(path)).collect();
                Ok(UndoOutcome::Conflicted { files })
            }
        }
    }

    /// Performs the recorded undo, either now or after a crash.
    async fn finish_undo(&self, worktree: &Worktree) -> Result<ApplyResult, WorktreeError> {
        let begun = self.records(worktree, UNDO).await?;
        let Some(record) = begun.into_iter().rev().find(|record| !record.is_done) else {
            return Ok(ApplyResult::Out);
        };
        let carried = self
            .apply_change(worktree, &record.change, &format!("baton: run {} taken back", self.0.run))
            .await?;
        if carried != ApplyResult::Out {
            self.discard_change(worktree, UNDO, &record).await?;
            return Ok(carried);
        }
        let landed = self.records(worktree, LANDED).await?;
        for landing in landed.iter().filter(|landing| record.change.takes_back.contains(&landing.ordinal)) {
            self.mark(worktree, LANDED, landing, "undone").await?;
        }
        self.mark(worktree, UNDO, &record, "done").await?;
        Ok(ApplyResult::Out)
    }
}

/// The state of the workspace after undoing these changes, the newest first; or the files with conflicts.
async fn goal(
    worktree: &Worktree,
    now: &str,
    changes: &[(u32, WorkspaceChange)],
) -> Result<Result<UndoTarget, Vec<String>>, WorktreeError> {
    let (start, name) = (worktree.head().await?, worktree.checked_out().await?);
    let mut head = start.clone();
    let mut tree = now.to_owned();
    let mut follows = match &head {
        Some(head) => {
            worktree.tree_of(head).await? == tree
                && worktree.git.call(&["diff-index", "--cached", "--quiet", "HEAD", "--"]).holds().await?
        }
        None => false,
    };
    let (mut phases, mut takes_back) = (Vec::new(), Vec::new());
    for (ordinal, change) in changes {
        let before = worktree.tree_of(&change.before).await?;
        let exact = change.branch.as_ref().filter(|branch_move| {
            follows
                && head.as_ref() == Some(&branch_move.to)
                && name.as_ref() == Some(&branch_move.name)
                && tree == change.after
        });
        match exact {
            Some(branch_move) => {
                head = Some(branch_move.from.clone());
                tree = before;
            }
            None => {
                follows = false;
                match revert(worktree, &tree, &change.after, &before).await? {
                    Ok(reverted) => tree = reverted,
                    Err(files) => return Ok(Err(files)),
                }
            }
        }
        phases.push(change.phase.clone());
        takes_back.push(*ordinal);
    }
    let branch = match (name, start, head) {
        (Some(name), Some(from), Some(to)) if from != to => Some(BranchMove { name, from, to }),
        _ => None,
    };
    Ok(Ok(UndoTarget { tree, branch, phases, takes_back }))
}

/// A reverse three-way merge: changes after the landing stay.
async fn revert(
    worktree: &Worktree,
    now: &str,
    after: &str,
    before: &str,
) -> Result<Result<String, Vec<String>>, WorktreeError> {
    let git = &worktree.git;
    let start = commit_tree(git, after, &[], "Landed\n").await?;
    let ours = commit_tree(git, now, &[&start], "Now\n").await?;
    let theirs = commit_tree(git, before, &[&start], "Before\n").await?;
    let merge =
        git.call(&["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", &ours, &theirs]);
    let ended = merge.ended().await?;
    let found: Vec<&[u8]> = records(&ended.answer).collect();
    match (ended.code, found.as_slice()) {
        (Some(0), [tree, ..]) => Ok(Ok(String::from_utf8_lossy(tree).into_owned())),
        (Some(1), [_, names @ ..]) => {
            Ok(Err(names.iter().take(MAX_CONFLICTS).map(|name| worktree.shown(&path(name))).collect()))
        }
        _ => Err(merge.failed(ended)),
    }
}

async fn files(worktree: &Worktree, from: &str, to: &str) -> Result<Vec<UndoFileChange>, WorktreeError> {
    let status = ["diff-tree", "-r", "-z", "--name-status", "--no-renames", from, to];
    let listed = worktree.git.call(&status).bytes().await?;
    let file = |(status, name): (&[u8], &[u8])| {
        let kind = match status {
            b"A" => UndoChangeKind::Restored,
            b"D" => UndoChangeKind::Removed,
            _ => UndoChangeKind::Reverted,
        };
        UndoFileChange { path: worktree.shown(&path(name)), kind }
    };
    Ok(pairs(&listed).map(file).collect())
}
