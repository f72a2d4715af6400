//! Files that the check commands of a phase make themselves, like compiled copies next to their sources, and those that its
//! reviewers make: they are not work of the phase, and are not committed with it while they are unchanged. The ref
//! `made/by-checks` of the run has them.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use baton_core::{PhaseId, WorktreeName};

use super::branch_commit::{tree_or_empty, tree_with};
use super::git::{path, records};
use super::snapshot::{IndexEntries, WorktreeSnapshot, commit_tree, difference};
use super::worktree::Worktree;
use super::{RunWorktrees, WorktreeError};

/// The files of the workspace that are not in its commit and not ignored before a command runs, but for those that an earlier one made.
#[derive(Debug)]
pub struct FilesBeforeCheck(BTreeSet<PathBuf>);

impl RunWorktrees {
    /// Examines the workspace before a command runs there.
    ///
    /// # Errors
    /// [`WorktreeError::NoRepository`], and those of git.
    pub async fn before_check(&self) -> Result<FilesBeforeCheck, WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        let worktree = self.worktree(&WorktreeName::workspace()).await?;
        let mut files = not_committed(&worktree).await?;
        let known = self.entries_by_checks(&worktree).await?;
        if !known.is_empty() {
            // A file that an earlier command left and that is unchanged since may be written again by the next one.
            let now = self.changed_since_head(&worktree).await?.1;
            files.retain(|path| known.get(path).is_none_or(|entry| now.get(path) != Some(entry)));
        }
        Ok(FilesBeforeCheck(files))
    }

    /// Records the files that the command made: those that did not exist before, in their current state.
    ///
    /// # Errors
    /// [`WorktreeError::NoRepository`], those of a snapshot, and those of git.
    pub async fn after_check(&self, before: &FilesBeforeCheck) -> Result<(), WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        let worktree = self.worktree(&WorktreeName::workspace()).await?;
        self.remember_made_since(&worktree, before).await
    }

    /// Records the files that the session of a review made: those that did not exist when that phase began, in their current
    /// state.
    ///
    /// # Errors
    /// [`WorktreeError::NoRepository`], those of a snapshot, and those of git.
    pub async fn after_review(&self, review: &PhaseId) -> Result<(), WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        let worktree = self.worktree(&WorktreeName::workspace()).await?;
        let begun = self.reference("begun", review.as_str());
        let Some(begun) = worktree.commit(&begun).await? else { return Ok(()) };
        let there = worktree.tree_of(&begun).await?;
        let mut there = difference(&worktree.git, &tree_or_empty(&worktree, None).await?, &there).await?;
        // A file that a check left and that was unchanged before the review may be written again by it.
        let known = self.entries_by_checks(&worktree).await?;
        there.retain(|path, entry| known.get(path) != Some(entry));
        self.remember_made_since(&worktree, &FilesBeforeCheck(there.into_keys().collect())).await
    }

    async fn remember_made_since(
        &self,
        worktree: &Worktree,
        before: &FilesBeforeCheck,
    ) -> Result<(), WorktreeError> {
        let mut made = not_committed(worktree).await?;
        made.retain(|path| !before.0.contains(path));
        if made.is_empty() {
            return Ok(());
        }
        let (now, mut entries) = self.changed_since_head(worktree).await?;
        entries.retain(|path, _| made.contains(path));
        let reference = self.made_by_checks();
        let known = tree_or_empty(worktree, worktree.commit(&reference).await?.as_deref()).await?;
        let tree = tree_with(&now, &known, &entries).await?;
        let message = format!("What checks of run {} made\n", self.0.run);
        let commit = commit_tree(&worktree.git, &tree, &[], &message).await?;
        worktree.set_ref(&reference, &commit).await
    }

    /// Files of the run's commands, as the commands left them.
    pub(super) async fn entries_by_checks(&self, worktree: &Worktree) -> Result<IndexEntries, WorktreeError> {
        let Some(made) = worktree.commit(&self.made_by_checks()).await? else {
            return Ok(IndexEntries::new());
        };
        difference(&worktree.git, &tree_or_empty(worktree, None).await?, &worktree.tree_of(&made).await?)
            .await
    }

    async fn changed_since_head(
        &self,
        worktree: &Worktree,
    ) -> Result<(WorktreeSnapshot, IndexEntries), WorktreeError> {
        let now = self.snapshot(worktree, &[]).await?;
        let head = tree_or_empty(worktree, worktree.head().await?.as_deref()).await?;
        let entries = difference(&now.git, &head, &now.tree).await?;
        Ok((now, entries))
    }

    fn made_by_checks(&self) -> String {
        self.reference("made", "by-checks")
    }
}

/// Whether or not git's index has them: a command may add the files that it makes.
async fn not_committed(worktree: &Worktree) -> Result<BTreeSet<PathBuf>, WorktreeError> {
    let listed =
        worktree.git.call(&["ls-files", "-co", "--exclude-standard", "-z", "--"]).and_all(worktree.work());
    let listed = listed.bytes().await?;
    let committed = match worktree.head().await? {
        Some(head) => {
            worktree
                .git
                .call(&["ls-tree", "-r", "-z", "--name-only", "--full-tree"])
                .and(head)
                .bytes()
                .await?
        }
        None => Vec::new(),
    };
    let committed: HashSet<&[u8]> = records(&committed).collect();
    let new = records(&listed).filter(|name| !committed.contains(name)).map(path);
    Ok(new.filter(|path| !worktree.is_own(path)).collect())
}
