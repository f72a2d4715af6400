//! Merges the content of one tree into another. A conflict stays open there, for a session to resolve; whether it is resolved
//! is read from the files, since many agents edit them without using git.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use baton_core::WorktreeName;

use super::git::{path, records};
use super::worktree::Worktree;
use super::{MAX_CONFLICTS, RunWorktrees, WorktreeError};
use crate::regular_file::read_plain;

/// A file with conflict markers is looked through up to this size; git marks no larger one.
const MAX_MARKED_BYTES: u64 = 64 << 20;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeResult {
    /// It is in.
    Merged {
        /// The commit that holds it now.
        commit: String,
        /// Files that it brought or changed.
        files: u32,
    },
    /// It is open, with conflicts.
    Conflicted {
        /// In these files, workspace-relative, at most [`MAX_CONFLICTS`].
        files: Vec<String>,
    },
}

impl RunWorktrees {
    /// Merges a commit of a part's tree, or else the content of the tree, which is committed first. An open merge of it is
    /// concluded if its conflicts are resolved; one of another part is aborted first.
    /// are resolved; one of another part is given up first.
    ///
    /// # Errors
    /// [`WorktreeError::Gone`] and [`WorktreeError::Unresolved`] of the trees, [`WorktreeError::Nested`], and those of git.
    pub async fn merge(
        &self,
        tree: &WorktreeName,
        into: &WorktreeName,
        message: &str,
        commit: Option<&str>,
    ) -> Result<MergeResult, WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        if into.is_workspace() {
            // The work tree of the user is changed by landing only, as a whole.
            return Err(WorktreeError::Gone { tree: into.clone(), path: self.0.workspace.root().to_owned() });
        }
        let target = self.worktree(into).await?;
        let (name, tip) = self.tip(&target, tree, commit).await?;
        let fork = target.commit(&self.reference("fork", tree.as_str())).await?;
        let fork = fork.or(target.commit(&target.fork).await?);
        if let Some(fork) = fork {
            self.expect_kept(&target, &format!("the branch {name}"), &fork, &tip).await?;
        }
        if let Some(open) = target.open_merge().await? {
            if target.holds(&open, &tip).await? {
                if let Some(files) = target.conclude(&open, &name, message).await? {
                    return Ok(MergeResult::Conflicted { files });
                }
            } else {
                target.give_up().await?;
            }
        }
        target.settle(&format!("Work in the tree of {into}\n")).await?;
        let head = target.git.call(&["rev-parse", "HEAD"]).text().await?;
        if target.holds(&tip, &head).await? {
            return Ok(MergeResult::Merged { files: target.brought(&tip, &head).await?, commit: head });
        }
        match target.git_merge(&name, message).await? {
            Some(files) => Ok(MergeResult::Conflicted { files }),
            None => {
                let commit = target.git.call(&["rev-parse", "HEAD"]).text().await?;
                Ok(MergeResult::Merged { files: target.brought(&tip, &commit).await?, commit })
            }
        }
    }

    /// Aborts the open merge of a tree, if there is one.
    ///
    /// # Errors
    /// [`WorktreeError::Gone`], and those of git.
    pub async fn unmerge(&self, tree: &WorktreeName) -> Result<(), WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        let worktree = self.worktree(tree).await?;
        match worktree.open_merge().await? {
            // The user's own merge is left alone.
            Some(_) if !tree.is_workspace() => worktree.give_up().await,
            _ => Ok(()),
        }
    }

    /// The commit of a part to be merged, with the name of its branch. For a missing tree, the tip of its branch.
    async fn tip(
        &self,
        at: &Worktree,
        tree: &WorktreeName,
        commit: Option<&str>,
    ) -> Result<(String, String), WorktreeError> {
        let branch = self.branch_of(self.repo().await?, tree);
        match self.worktree(tree).await {
            Ok(worktree) => Ok((branch, self.hold(&worktree, commit, &format!("Work of {tree}\n")).await?)),
            Err(gone @ WorktreeError::Gone { .. }) => match at.commit(&format!("refs/heads/{branch}")).await?
            {
                Some(tip) => Ok((branch, tip)),
                None => Err(gone),
            },
            Err(error) => Err(error),
        }
    }
}

impl Worktree {
    /// Merges; returns files with conflicts, if there are any. The merge is then open.
    pub(super) async fn git_merge(
        &self,
        name: &str,
        message: &str,
    ) -> Result<Option<Vec<String>>, WorktreeError> {
        let merge = ["merge", "--no-ff", "--no-edit", "--no-verify", "--no-stat", "-q", "-m", message];
        let merge = self.git.call(&merge).and(name);
        let ended = merge.ended().await?;
        match (ended.code, self.open_merge().await?) {
            (Some(0), _) => {
                self.delivered_head().await?;
                Ok(None)
            }
            (Some(1), Some(_)) => {
                self.git.deliver_index().await?;
                Ok(Some(self.name(&self.unmerged().await?)))
            }
            _ => Err(merge.failed(ended)),
        }
    }

    fn name(&self, paths: &[PathBuf]) -> Vec<String> {
        paths.iter().take(MAX_CONFLICTS).map(|path| self.shown(path)).collect()
    }

    /// Commits an open merge, if nothing in it is left to decide; otherwise returns the undecided files.
    pub(super) async fn conclude(
        &self,
        open: &str,
        name: &str,
        message: &str,
    ) -> Result<Option<Vec<String>>, WorktreeError> {
        let undecided = self.undecided(open, name).await?;
        if !undecided.is_empty() {
            return Ok(Some(self.name(&undecided)));
        }
        self.commit_all(message).await?;
        Ok(None)
    }

    /// Aborts an open merge.
    pub(super) async fn give_up(&self) -> Result<(), WorktreeError> {
        if self.git.call(&["merge", "--abort"]).ended().await?.code != Some(0) {
            self.git.call(&["reset", "-q", "--hard", "HEAD"]).done().await?;
        }
        Ok(())
    }

    /// The files of an open merge that still have markers; and those that cannot have any (deleted here and changed there,
    /// binary, links), as long as they are what git left and are not marked as resolved.
    async fn undecided(&self, open: &str, name: &str) -> Result<Vec<PathBuf>, WorktreeError> {
        // Repeating the merge gives git's state again.
        let is_named = self.commit(name).await?.as_deref() == Some(open);
        let theirs = if is_named { name } else { open };
        let again = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "HEAD", theirs];
        let call = self.git.call(&again);
        let again = call.ended().await?;
        if !matches!(again.code, Some(0 | 1)) {
            return Err(call.failed(again));
        }
        let mut found = records(&again.answer);
        let left = String::from_utf8_lossy(found.next().unwrap_or_default()).into_owned();
        let unmerged = self.unmerged().await?;
        let all: BTreeSet<PathBuf> = found.map(path).chain(unmerged.iter().cloned()).collect();
        let mut undecided = Vec::new();
        for path in all {
            let is_open = match self.has_markers(&path, name) {
                true => true,
                false => unmerged.contains(&path) && self.is_as_left(&left, &path).await?,
            };
            if is_open {
                undecided.push(path);
            }
        }
        Ok(undecided)
    }

    /// One of git's own lines: ours are always merged under these names.
    fn has_markers(&self, path: &Path, name: &str) -> bool {
        let file = self.top().join(path);
        let is_text =
            fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_MARKED_BYTES);
        let Some(bytes) = is_text.then(|| read_plain(&file, MAX_MARKED_BYTES).ok()).flatten() else {
            return false;
        };
        let is = |line: &[u8], mark: u8, label: &[u8]| {
            let rest = line.trim_ascii_end();
            let marks = rest.iter().take_while(|byte| **byte == mark).count();
            // git writes seven, and more if merges are nested or .gitattributes requires it.
            marks >= 7 && rest[marks..].strip_prefix(b" ") == Some(label)
        };
        bytes
            .split(|byte| *byte == b'\n')
            .any(|line| is(line, b'<', b"HEAD") || is(line, b'>', name.as_bytes()))
    }

    /// Whether a file is as git left it. If git put markers into it, and it has none, it is not.
    pub(super) async fn is_as_left(&self, left: &str, path: &Path) -> Result<bool, WorktreeError> {
        let mut named = std::ffi::OsString::from(format!("{left}:"));
        named.push(path);
        let then = self.git.call(&["rev-parse", "-q", "--verify"]).and(named).answer().await?;
        let file = self.top().join(path);
        let now = match fs::symlink_metadata(&file) {
            Ok(meta) if meta.is_symlink() => {
                let target = fs::read_link(&file).unwrap_or_default();
                let hash = self.git.call(&["hash-object", "--no-filters", "--stdin"]);
                Some(hash.input(target.as_os_str().as_bytes()).text().await?)
            }
            Ok(meta) if meta.is_file() => Some(self.git.call(&["hash-object", "--"]).and(path).text().await?),
            _ => None,
        };
        Ok(then == now)
    }

    /// Files that a merge brought: by the merge commit, if there is one, or else by all changes of the branch.
    async fn brought(&self, tip: &str, head: &str) -> Result<u32, WorktreeError> {
        let listed = self
            .git
            .call(&["rev-list", "--first-parent", "--parents", head])
            .and(format!("^{tip}"))
            .text()
            .await?;
        let merge = listed
            .lines()
            .map(|line| line.split(' ').collect::<Vec<_>>())
            .find(|commit| commit.iter().skip(2).any(|parent| *parent == tip));
        let (from, to) = match merge.as_deref() {
            Some([merge, first, ..]) => ((*first).to_owned(), (*merge).to_owned()),
            _ => match self.commit(&self.fork).await? {
                Some(fork) => (fork, tip.to_owned()),
                None => return Ok(0),
            },
        };
        let names =
            self.git.call(&["diff-tree", "-r", "-z", "--name-only", "--no-renames"]).and(from).and(to);
        Ok(u32::try_from(records(&names.bytes().await?).count()).unwrap_or(u32::MAX))
    }
}
