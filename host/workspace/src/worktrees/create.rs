//! Checkpoints and work trees: creation, setup, setting aside, removal. No commit in one is lost: commits that no branch holds
//! any more are kept on a ref of the run.

use std::fs;
use std::path::Path;
use std::time::Duration;

use baton_core::{PhaseId, WorktreeName};
use baton_sandbox::remove_tree;

use super::git::{path, records};
use super::worktree::Worktree;
use super::{RunWorktrees, WorkspaceRepository, WorktreeError, fit};
use crate::Workspace;

/// Making a tree ready may mean to fetch and build everything once.
const SETUP_LIMIT: Duration = Duration::from_secs(60 * 60);

/// Creates a work tree without its files, which are checked out once its `.git` is known to name the repository. Until then it
/// is marked as half made.
const ADD: [&str; 7] =
    ["worktree", "add", "-q", "--no-checkout", "--lock", "--reason=initializing", "--no-guess-remote"];

/// The start of the parts of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorktreeBase {
    /// This commit: the real state of the work tree.
    Commit(String),
    /// Nothing that git could carry over: they share the folder.
    Shared {
        /// Why.
        why: String,
    },
}

/// Git's record of one of Baton's folders.
#[derive(Default)]
struct WorktreeRegistration {
    is_registered: bool,
    /// `git worktree add` did not come to its end.
    is_half_made: bool,
}

impl RunWorktrees {
    /// Keeps the real state of a tree, uncommitted work included, as a commit on a private ref, and creates the tree in which
    /// the parts of the phase are merged. In `tree` nothing changes. Called again for an unchanged tree, it returns the same
    /// commit.
    ///
    /// # Errors
    /// [`WorktreeError`] if git fails. A missing git is a result.
    pub async fn checkpoint(
        &self,
        phase: &PhaseId,
        tree: &WorktreeName,
        integration: &WorktreeName,
    ) -> Result<WorktreeBase, WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        let shared = |why: String| Ok(WorktreeBase::Shared { why });
        let worktree = match self.worktree(tree).await {
            Ok(worktree) => worktree,
            Err(error @ (WorktreeError::NoRepository { .. } | WorktreeError::NoGit { .. })) => {
                return shared(error.to_string());
            }
            Err(error) => return Err(error),
        };
        let now = match self.snapshot(&worktree, &[]).await {
            Ok(now) => now,
            Err(
                error @ (WorktreeError::Nested { .. }
                | WorktreeError::RefusedName { .. }
                | WorktreeError::Filter { .. }
                | WorktreeError::UserFilter { .. }
                | WorktreeError::Objects { .. }
                | WorktreeError::Git { .. }),
            ) => {
                return shared(error.to_string());
            }
            Err(error) => return Err(error),
        };
        if let Some(within) = worktree.repository_within(&now.git).await? {
            return shared(WorktreeError::Nested { path: within }.to_string());
        }
        let reference = self.reference("base", phase.as_str());
        let head = worktree.head().await?;
        let known = worktree.commit(&reference).await?;
        let base = match (&head, known) {
            (Some(head), _) if worktree.tree_of(head).await? == now.tree => head.clone(),
            (head, Some(known)) if self.is_of(&worktree, &known, &now.tree, head.as_deref()).await? => known,
            (head, _) => {
                let parents: Vec<&str> = head.as_deref().into_iter().collect();
                let message = format!(
                    "The state of {tree} before phase {phase} was split\n\nUncommitted work of run {}.\n",
                    self.0.run
                );
                let commit = now.commit(&parents, &message).await?;
                self.mark_snapshot(&worktree, &commit).await?;
                commit
            }
        };
        worktree.set_ref(&reference, &base).await?;
        self.forget_seen(&worktree, phase.as_str()).await?;
        if let Some(branch) = worktree.checked_out().await? {
            worktree.set_ref(&self.checkpoint_branch_ref(phase.as_str(), &branch), &base).await?;
        }
        self.make(integration, &base).await?;
        Ok(WorktreeBase::Commit(base))
    }

    async fn is_of(
        &self,
        worktree: &Worktree,
        commit: &str,
        tree: &str,
        parent: Option<&str>,
    ) -> Result<bool, WorktreeError> {
        let first = worktree.commit(&format!("{commit}^")).await?;
        Ok(worktree.tree_of(commit).await? == tree && first.as_deref() == parent)
    }

    /// Remembers that a commit holds uncommitted work of the user's.
    pub(super) async fn mark_snapshot(&self, worktree: &Worktree, commit: &str) -> Result<(), WorktreeError> {
        worktree.set_ref(&(self.references("snapshots") + commit), commit).await
    }

    /// Creates a work tree on a branch of its own, or uses an existing one.
    ///
    /// # Errors
    /// Those of git.
    pub async fn branch(&self, tree: &WorktreeName, base: &str) -> Result<(), WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        self.make(tree, base).await
    }

    /// Runs the setup commands of a tree; they run at each call.
    ///
    /// # Errors
    /// [`WorktreeError::Setup`] if a command fails.
    pub async fn set_up(&self, tree: &Workspace, setup: &[String]) -> Result<(), WorktreeError> {
        for command in setup {
            let ended = tree.verify(command, SETUP_LIMIT).await?;
            if !ended.passed {
                let root = tree.root().to_owned();
                let how =
                    ended.code.map_or_else(|| "broken off".to_owned(), |code| format!("exit code {code}"));
                return Err(WorktreeError::Setup {
                    command: command.clone(),
                    root,
                    how,
                    tail: ended.findings,
                });
            }
        }
        Ok(())
    }

    async fn make(&self, tree: &WorktreeName, base: &str) -> Result<(), WorktreeError> {
        let repo = self.repo().await?;
        let workspace = self.workspace_place(repo).await?;
        let folder = self.path_of(tree);
        let known = self.known(repo, &folder).await?;
        if known.is_half_made {
            self.drop_folder(repo, &folder).await?;
        } else if let Some(worktree) = self.worktree_if_any(tree).await? {
            let head = worktree.head().await?;
            if let Some(head) = head
                && worktree.holds(base, &head).await?
            {
                return self.finish_making(&worktree, base).await;
            }
            // It is of an earlier fork.
            self.set_aside(&worktree).await?;
            self.drop_folder(repo, &folder).await?;
        } else {
            move_away(&folder, &self.0.folder, &fit(tree.as_str()))?;
            if known.is_registered {
                self.drop_folder(repo, &folder).await?;
            }
        }
        fs::create_dir_all(&self.0.folder).map_err(|source| failed("make", &self.0.folder, source))?;
        let branch = self.branch_of(repo, tree);
        let tip = workspace.commit(&format!("refs/heads/{branch}")).await?;
        let is_there = match &tip {
            Some(tip) if workspace.holds(base, tip).await? => true,
            Some(tip) => {
                self.keep(&workspace, tip).await?;
                false
            }
            None => false,
        };
        // Not by the call below: that one would write the reflogs of the repository, which agents can exchange.
        if !is_there {
            workspace.git.deliver(base).await?;
            workspace.git.call(&["update-ref"]).and(format!("refs/heads/{branch}")).and(base).done().await?;
        }
        let git = self.git(repo).await?;
        git.call(&ADD).and(&folder).and(&branch).done().await?;
        self.keep_link(repo, tree)?;
        let worktree = self.worktree(tree).await?;
        worktree.git.call(&["reset", "-q", "--hard"]).done().await?;
        git.call(&["worktree", "unlock"]).and(&folder).done().await?;
        self.finish_making(&worktree, base).await
    }

    async fn finish_making(&self, worktree: &Worktree, base: &str) -> Result<(), WorktreeError> {
        worktree.set_ref(&worktree.fork, base).await?;
        // Git knows no empty folder, and the workspace may be one.
        fs::create_dir_all(worktree.root()).map_err(|source| failed("make", &worktree.root(), source))
    }

    async fn known(
        &self,
        repo: &WorkspaceRepository,
        folder: &Path,
    ) -> Result<WorktreeRegistration, WorktreeError> {
        let listed = self.git(repo).await?.call(&["worktree", "list", "--porcelain", "-z"]).bytes().await?;
        let mut known = WorktreeRegistration::default();
        let mut is_it = false;
        for line in records(&listed) {
            if let Some(at) = line.strip_prefix(b"worktree ") {
                is_it = same(&path(at), folder);
                known.is_registered |= is_it;
            } else if is_it && line == b"locked initializing" {
                known.is_half_made = true;
            }
        }
        Ok(known)
    }

    /// Commits the content of a tree before its removal, and keeps the commit.
    async fn set_aside(&self, worktree: &Worktree) -> Result<(), WorktreeError> {
        let tip = match worktree.settle("Set aside\n").await {
            Ok(tip) => Some(tip),
            Err(WorktreeError::Unresolved { .. }) => worktree.head().await?,
            Err(error) => return Err(error),
        };
        match tip {
            Some(tip) => self.keep(worktree, &tip).await,
            None => Ok(()),
        }
    }

    /// Keeps a commit that may be on no branch soon.
    pub(super) async fn keep(&self, worktree: &Worktree, commit: &str) -> Result<(), WorktreeError> {
        let ordinal = self.next(worktree, "kept").await?;
        worktree.set_ref(&format!("{}{ordinal}", self.references("kept")), commit).await
    }

    /// The first number that is not taken among the refs of a kind.
    pub(super) async fn next(&self, worktree: &Worktree, kind: &str) -> Result<u32, WorktreeError> {
        let below = self.references(kind);
        let refs = worktree.refs_below(&below).await?;
        let numbers =
            refs.keys().filter_map(|name| name.strip_prefix(&below)?.split('/').next()?.parse::<u32>().ok());
        Ok(numbers.max().unwrap_or(0) + 1)
    }

    /// Removes git's record of the tree, and its folder, unexamined.
    async fn drop_folder(&self, repo: &WorkspaceRepository, folder: &Path) -> Result<(), WorktreeError> {
        let git = self.git(repo).await?;
        let remove = || git.call(&["worktree", "remove", "--force", "--force"]).and(folder);
        let ended = remove().ended().await?;
        if folder.symlink_metadata().is_ok() {
            // Half made, or with files that git did not want to touch.
            remove_tree(folder).map_err(|source| failed("remove", folder, source))?;
        }
        if ended.code != Some(0) && self.known(repo, folder).await?.is_registered {
            remove().done().await?;
        }
        Ok(())
    }

    /// Removes a tree with its branch, if everything in it is in `within`; otherwise it stays.
    pub(super) async fn remove(
        &self,
        at: &Worktree,
        tree: &WorktreeName,
        within: &str,
    ) -> Result<(), WorktreeError> {
        if tree.is_workspace() {
            return Ok(());
        }
        let repo = self.repo().await?;
        if let Some(worktree) = self.worktree_if_any(tree).await? {
            let is_in = match worktree.settle("Left after the merge\n").await {
                Ok(tip) => worktree.holds(&tip, within).await?,
                Err(
                    WorktreeError::Unresolved { .. }
                    | WorktreeError::Nested { .. }
                    | WorktreeError::RefusedName { .. }
                    | WorktreeError::Filter { .. }
                    | WorktreeError::UserFilter { .. }
                    | WorktreeError::TooLarge { .. },
                ) => false,
                Err(error) => return Err(error),
            };
            if !is_in {
                return Ok(());
            }
        }
        let folder = self.path_of(tree);
        if self.known(repo, &folder).await?.is_registered {
            self.drop_folder(repo, &folder).await?;
        }
        self.forget_link(tree)?;
        let branch = format!("refs/heads/{}", self.branch_of(repo, tree));
        if let Some(tip) = at.commit(&branch).await?
            && at.holds(&tip, within).await?
        {
            at.remove_ref(&branch).await?;
        }
        at.remove_ref(&self.reference("fork", tree.as_str())).await
    }
}

/// A folder in the place of a tree or its `.git` may still hold files of the user.
pub(super) fn move_away(what: &Path, to: &Path, name: &str) -> Result<(), WorktreeError> {
    if what.symlink_metadata().is_err() {
        return Ok(());
    }
    let mut away = (1..).map(|n: u32| to.join(format!(".lost-{n}-{name}")));
    match away.find(|away| away.symlink_metadata().is_err()) {
        Some(away) => fs::rename(what, &away).map_err(|source| failed("move away", what, source)),
        None => Ok(()),
    }
}

fn same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

pub(super) fn failed(what: &'static str, path: &Path, source: std::io::Error) -> WorktreeError {
    WorktreeError::File { what, path: path.to_owned(), source }
}
