//! The commit that is verified, reviewed and merged, and the tree held to it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use baton_core::{PhaseId, WorktreeName};

use super::git::{path, records};
use super::index_additions::add_files;
use super::snapshot::{IndexEntries, commit_tree, difference};
use super::worktree::{Worktree, pairs};
use super::{MAX_CONFLICTS, RunWorktrees, WorktreeError};

/// Ignored files that are kept on a ref, and their bytes.
const MAX_KEPT_FILES: usize = 200;
const MAX_KEPT_BYTES: u64 = 4 << 20;
/// The kind of refs that keep files of a tree outside its commit.
const LEFT: &str = "left";

/// The result of committing a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitResult {
    /// It is committed.
    Committed {
        /// The commit with everything of the work.
        commit: String,
        /// Files that were asked about and are nowhere.
        missing: Vec<String>,
        /// Requested files that exist, and that git ignores or was told to skip.
        ignored: Vec<String>,
        /// Other files that git ignores there and the workspace does not have, at most [`MAX_CONFLICTS`] paths; a folder ends
        /// in `/`.
        unseen: Vec<String>,
    },
    /// A merge is open in it, with conflicts.
    Conflicted {
        /// In these files, workspace-relative, at most [`MAX_CONFLICTS`].
        files: Vec<String>,
    },
}

/// How a tree differed from a commit: paths, workspace-relative, at most [`MAX_CONFLICTS`] a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitDifferences {
    /// Files that are otherwise.
    pub changed: Vec<String>,
    /// Files of the commit that were gone.
    pub gone: Vec<String>,
    /// Files that the commit does not have.
    pub added: Vec<String>,
}

impl RunWorktrees {
    /// Commits what lies in a tree of ours, and looks for files in the commit. A merge that stands open there is that of what had
    /// changed where `phase` began: it is concluded where its conflicts are resolved. `anew` checks it out again after that, so that
    /// nothing is there but what is in the commit. What git ignores is kept on a ref, unless it is much.
    ///
    /// # Errors
    /// [`WorktreeError::Gone`], [`WorktreeError::Nested`], [`WorktreeError::Unresolved`], and those of git.
    pub async fn commit(
        &self,
        phase: &PhaseId,
        tree: &WorktreeName,
        files: &[String],
        anew: bool,
    ) -> Result<CommitResult, WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        let worktree = self.worktree(tree).await?;
        if let Some(open) = worktree.open_merge().await? {
            let seen = self.reference("seen", phase.as_str());
            if let Some(files) = worktree.conclude(&open, &seen, "Join what had changed meanwhile\n").await? {
                return Ok(CommitResult::Conflicted { files });
            }
        }
        let commit = worktree.settle(&format!("Work in the tree of {tree}\n")).await?;
        let (mut missing, mut ignored) = (Vec::new(), Vec::new());
        for file in files {
            // For any reason why git does not see it, it would not be merged in its current state.
            let there = worktree.root().join(file).symlink_metadata();
            let is_file = there.as_ref().is_ok_and(|meta| !meta.is_dir());
            let at = worktree.at_top(Path::new(file));
            if !worktree.has(&commit, file).await? || is_file && !worktree.is_as_left(&commit, &at).await? {
                if there.is_ok() { &mut ignored } else { &mut missing }.push(file.clone());
            }
        }
        let unseen = self.unseen(&worktree, &commit).await?;
        if anew {
            worktree.check_out_anew(&commit).await?;
        }
        Ok(CommitResult::Committed { commit, missing, ignored, unseen })
    }

    /// Files that git ignores in one of Baton's trees, and the workspace does not have: work may be among them.
    async fn unseen(&self, worktree: &Worktree, commit: &str) -> Result<Vec<String>, WorktreeError> {
        let workspace = self.worktree(&WorktreeName::workspace()).await?;
        let status = [
            "status",
            "--porcelain=v1",
            "-z",
            "--ignored=traditional",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
            "--",
        ];
        let listed = worktree.git.call(&status).and_all(worktree.work()).bytes().await?;
        let ignored = records(&listed).filter_map(|record| record.strip_prefix(b"!! ")).map(path);
        let is_new = |path: &PathBuf| !workspace.top().join(path).exists() && !worktree.is_own(path);
        let unseen: Vec<PathBuf> = ignored.filter(is_new).take(MAX_CONFLICTS).collect();
        if !unseen.is_empty() {
            self.keep_ignored(worktree, commit, &unseen).await?;
        }
        let shown = |path: &PathBuf| {
            let slash = if worktree.top().join(path).is_dir() { "/" } else { "" };
            format!("{}{slash}", worktree.shown(path).trim_end_matches('/'))
        };
        Ok(unseen.iter().map(shown).collect())
    }

    /// Keeps ignored files on a ref, if they are few and small: the output of a build is neither.
    async fn keep_ignored(
        &self,
        worktree: &Worktree,
        commit: &str,
        paths: &[PathBuf],
    ) -> Result<(), WorktreeError> {
        let others = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"];
        let listed =
            worktree.git.call(&others).and_all(paths.iter().map(|path| literal(path))).bytes().await?;
        let files: Vec<&[u8]> = records(&listed).collect();
        let bytes =
            |file: &&[u8]| worktree.top().join(path(file)).symlink_metadata().map_or(0, |meta| meta.len());
        if files.is_empty()
            || files.len() > MAX_KEPT_FILES
            || files.iter().map(bytes).sum::<u64>() > MAX_KEPT_BYTES
        {
            return Ok(());
        }
        let now = self.snapshot(worktree, &[]).await?;
        add_files(&now.git, files).await?;
        let tree = now.git.call(&["write-tree"]).text().await?;
        let message = format!("What git ignores in the tree of {}\n", worktree.tree);
        let kept = commit_tree(&now.git, &tree, &[commit], &message).await?;
        let left = self.reference(LEFT, &format!("{}-ignored", worktree.tree));
        worktree.set_ref(&left, &kept).await
    }

    /// Restores one of Baton's trees to a commit: undoes added or removed files, and with `whole` also changed ones. The
    /// replaced content is kept on a ref.
    ///
    /// # Errors
    /// [`WorktreeError::Gone`], [`WorktreeError::Nested`], and those of git.
    pub async fn restore(
        &self,
        tree: &WorktreeName,
        commit: &str,
        whole: bool,
    ) -> Result<CommitDifferences, WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        let worktree = self.worktree(tree).await?;
        self.put_back(&worktree, commit, whole).await
    }

    /// The commit that a work tree is compared with: this one, or one of its content.
    pub(super) async fn hold(
        &self,
        worktree: &Worktree,
        commit: Option<&str>,
        message: &str,
    ) -> Result<String, WorktreeError> {
        let Some(commit) = commit else { return worktree.settle(message).await };
        self.put_back(worktree, commit, true).await?;
        Ok(commit.to_owned())
    }

    async fn put_back(
        &self,
        worktree: &Worktree,
        commit: &str,
        whole: bool,
    ) -> Result<CommitDifferences, WorktreeError> {
        let is_at_home = worktree.head().await?.as_deref() == Some(commit)
            && worktree.checked_out().await? == Some(worktree.own_branch())
            && worktree.open_merge().await?.is_none();
        let then = worktree.tree_of(commit).await?;
        let now = self.snapshot(worktree, &[]).await?;
        if now.tree == then && is_at_home {
            return Ok(CommitDifferences::default());
        }
        let mut found = CommitDifferences::default();
        let mut back = IndexEntries::new();
        let listed = ["diff-tree", "-r", "-z", "--name-status", "--no-renames"];
        let listed = now.git.call(&listed).and(&then).and(&now.tree).bytes().await?;
        let mut entries = difference(&now.git, &now.tree, &then).await?;
        for (kind, name) in pairs(&listed) {
            let name = path(name);
            let list = match kind.first() {
                Some(b'A') => &mut found.added,
                Some(b'D') => &mut found.gone,
                _ => &mut found.changed,
            };
            if list.len() < MAX_CONFLICTS {
                list.push(worktree.shown(&name));
            }
            let is_changed = !matches!(kind.first(), Some(b'A' | b'D'));
            if let Some(entry) = entries.remove(&name).filter(|_| whole || !is_changed) {
                back.insert(name, entry);
            }
        }
        let kept = now
            .commit(&[commit], &format!("What lay in the tree of {} beside its work\n", worktree.tree))
            .await?;
        let left = self.reference(LEFT, worktree.tree.as_str());
        worktree.set_ref(&left, &kept).await?;
        let tree = now.with(&back).await?;
        self.overwrite(worktree, &now, &tree).await?;
        if whole {
            worktree.go_home_to(commit).await?;
        }
        Ok(found)
    }
}

impl Worktree {
    /// Nothing is there but what a commit has, and what is Baton's own. Neither what git ignores stays, nor what its index marks as not to be
    /// looked at.
    async fn check_out_anew(&self, commit: &str) -> Result<(), WorktreeError> {
        self.git.call(&["read-tree", "--empty"]).done().await?;
        let own = self.own_paths().flat_map(|own| [OsString::from("-e"), anchored(own)]);
        self.git.call(&["clean", "-ffdxq"]).and_all(own).done().await?;
        self.git.call(&["reset", "-q", "--hard", commit]).done().await
    }

    /// Whether a commit has a file.
    async fn has(&self, commit: &str, file: &str) -> Result<bool, WorktreeError> {
        let at = self.at_top(Path::new(file));
        let listed =
            self.git.call(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--"]).and(&at);
        Ok(records(&listed.bytes().await?).next().is_some())
    }
}

/// A path as git takes it, with any characters.
fn literal(path: &Path) -> OsString {
    let mut spec = OsString::from(":(top,literal)");
    spec.push(path);
    spec
}

/// A pattern for this path from the top.
fn anchored(path: &Path) -> OsString {
    let mut pattern = OsString::from("/");
    pattern.push(path);
    pattern
}
