//! A change of a work tree as a whole: written down before its first file, finished after a crash, and never begun if a file is
//! in neither the old nor the new state.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::snapshot::{IndexEntries, commit_tree, difference};
use super::worktree::Worktree;
use super::{RunWorktrees, WorktreeError};

/// Between the subject of a record and its data.
const BODY: &str = "\n\n";

/// The intended state of a work tree. Stored as a commit of that state, so that git keeps everything it names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WorkspaceChange {
    /// Version of this record: 1.
    pub(super) schema: u32,
    /// Of which phase; empty for an undo.
    pub(super) phase: String,
    /// Which tree it changes; empty for the workspace.
    #[serde(rename = "place")]
    pub(super) worktree: String,
    /// The checkpoint that the phase started from; empty for an undo.
    pub(super) base: String,
    /// The commit in which everything came together.
    pub(super) joined: String,
    /// Commit of the state before.
    pub(super) before: String,
    /// Tree of the state after.
    pub(super) after: String,
    /// The branch that moves, in full; absent if only files change.
    pub(super) branch: Option<BranchMove>,
    /// Files that it changes.
    pub(super) files: u32,
    /// Landings that it takes back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) takes_back: Vec<u32>,
}

/// A branch that moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BranchMove {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) to: String,
}

/// A change that was written down.
#[derive(Clone, Debug)]
pub(super) struct ChangeRecord {
    /// Among those of its kind.
    pub(super) ordinal: u32,
    pub(super) change: WorkspaceChange,
    /// The commit that it is written in.
    pub(super) commit: String,
    pub(super) is_done: bool,
    pub(super) is_undone: bool,
}

/// How carrying out a change ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ApplyResult {
    /// The work tree is as it should be.
    Out,
    /// Nothing was touched: these are neither as they were nor as they are to be.
    Changed(Vec<PathBuf>),
}

impl RunWorktrees {
    /// The changes of a kind, the oldest first.
    pub(super) async fn records(
        &self,
        worktree: &Worktree,
        kind: &str,
    ) -> Result<Vec<ChangeRecord>, WorktreeError> {
        let below = self.references(kind);
        let names = worktree.refs_below(&below).await?;
        let mut records = Vec::new();
        for (name, commit) in &names {
            let Some((ordinal, "intent")) = name.strip_prefix(&below).and_then(|name| name.split_once('/'))
            else {
                continue;
            };
            let wrong = |why: String| WorktreeError::Record { reference: name.clone(), why };
            let message = worktree.git.call(&["show", "-s", "--format=%B", commit]).text().await?;
            let data = message.split_once(BODY).map_or("", |(_, data)| data);
            let change = serde_json::from_str(data).map_err(|error| wrong(error.to_string()))?;
            let has = |mark: &str| names.contains_key(&format!("{below}{ordinal}/{mark}"));
            let (is_done, is_undone) = (has("done"), has("undone"));
            let ordinal = ordinal.parse().map_err(|_| wrong("its number is none".to_owned()))?;
            records.push(ChangeRecord { ordinal, change, commit: commit.clone(), is_done, is_undone });
        }
        records.sort_by_key(|record| record.ordinal);
        Ok(records)
    }

    /// Writes a change down, before anything of it is done.
    pub(super) async fn record_change(
        &self,
        worktree: &Worktree,
        kind: &str,
        subject: &str,
        change: WorkspaceChange,
    ) -> Result<ChangeRecord, WorktreeError> {
        let data = serde_json::to_string(&change)
            .map_err(|error| WorktreeError::Record { reference: kind.to_owned(), why: error.to_string() })?;
        let mut parents = vec![change.before.as_str()];
        if change.joined != change.before && !change.joined.is_empty() {
            parents.push(&change.joined);
        }
        let commit =
            commit_tree(&worktree.git, &change.after, &parents, &format!("{subject}{BODY}{data}\n")).await?;
        let ordinal = self.next(worktree, kind).await?;
        let record = ChangeRecord { ordinal, change, commit, is_done: false, is_undone: false };
        self.mark(worktree, kind, &record, "intent").await?;
        Ok(record)
    }

    pub(super) async fn mark(
        &self,
        worktree: &Worktree,
        kind: &str,
        record: &ChangeRecord,
        mark: &str,
    ) -> Result<(), WorktreeError> {
        let reference = format!("{}{}/{mark}", self.references(kind), record.ordinal);
        worktree.set_ref(&reference, &record.commit).await
    }

    /// The change will not be made as it was written down.
    pub(super) async fn discard_change(
        &self,
        worktree: &Worktree,
        kind: &str,
        record: &ChangeRecord,
    ) -> Result<(), WorktreeError> {
        worktree.remove_ref(&format!("{}{}/intent", self.references(kind), record.ordinal)).await
    }

    /// Applies a change to a work tree: first the files, then the index, then the branch. Each file may be in the old or the
    /// new state, so that an interrupted change is finished.
    pub(super) async fn apply_change(
        &self,
        worktree: &Worktree,
        change: &WorkspaceChange,
        why: &str,
    ) -> Result<ApplyResult, WorktreeError> {
        if let Some(branch_move) = &change.branch {
            let head = worktree.head().await?;
            let is_there =
                head.as_deref() == Some(&branch_move.from) || head.as_deref() == Some(&branch_move.to);
            if !is_there || worktree.checked_out().await?.as_deref() != Some(&branch_move.name) {
                return Ok(ApplyResult::Changed(Vec::new()));
            }
        }
        let before = worktree.tree_of(&change.before).await?;
        let now = self.snapshot(worktree, &[&before, &change.after]).await?;
        let mut concerned = difference(&now.git, &before, &change.after).await?;
        concerned.retain(|path, _| !worktree.is_own(path));
        let from_before = difference(&now.git, &now.tree, &before).await?;
        let to_after = difference(&now.git, &now.tree, &change.after).await?;
        let is_neither = |path: &&PathBuf| from_before.contains_key(*path) && to_after.contains_key(*path);
        let changed: Vec<PathBuf> = concerned.keys().filter(is_neither).cloned().collect();
        if !changed.is_empty() {
            return Ok(ApplyResult::Changed(changed));
        }
        let missing: IndexEntries =
            concerned.into_iter().filter(|(path, _)| to_after.contains_key(path)).collect();
        if !missing.is_empty() {
            let target = now.with(&missing).await?;
            self.overwrite(worktree, &now, &target).await?;
        }
        if let Some(branch_move) = &change.branch {
            worktree.git.call(&["read-tree", "-i", "-m", &branch_move.from, &branch_move.to]).done().await?;
            // It only reports differences, if there are any.
            worktree.git.call(&["update-index", "-q", "--refresh"]).ended().await?;
            let is_moved = worktree.head().await?.as_deref() == Some(&branch_move.to);
            if !is_moved {
                worktree.git.deliver(&branch_move.to).await?;
                let update = ["update-ref", "-m", why, &branch_move.name, &branch_move.to, &branch_move.from];
                worktree.git.call(&update).done().await?;
            }
        }
        Ok(ApplyResult::Out)
    }
}
