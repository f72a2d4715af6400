//! Commits the changes of a phase in the workspace, on the branch that is checked out there. Files stay as they are, and
//! changes from before the run are not committed. Commits are made by git's plumbing: no hook is run, and nothing is signed.
//!
//! | ref of the run | what |
//! |---|---|
//! | `began/run` | the workspace before the first phase |
//! | `begun/<phase>` | the workspace when a phase began |
//! | `committed/<phase>-<ordinal>` | a commit, written down before the branch moves |
//! | `made/by-checks` | files that the commands and the reviewers of phases made |

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use baton_core::view::CommitSummary;
use baton_core::{PhaseId, WorktreeName};

use super::snapshot::{IndexEntries, WorktreeSnapshot, commit_tree, difference, renames};
use super::state_diff::numbered;
use super::worktree::Worktree;
use super::{MAX_CONFLICTS, RunWorktrees, WorktreeError};

/// Unfinished operations of git, by their file in the git directory.
const UNDER_WAY: [(&str, &str); 5] = [
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
];

/// A commit that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct BranchCommitRequest<'a> {
    /// The phase whose changes are committed.
    pub phase: &'a PhaseId,
    /// Which commit of the phase, from 1: the same one is made once.
    pub ordinal: u32,
    /// Its message.
    pub message: &'a str,
    /// The branch that must be checked out; any if absent.
    pub branch: Option<&'a str>,
    /// These files alone, workspace-relative.
    pub only: Option<&'a [String]>,
    /// A file that is left out, absolute.
    pub but: Option<&'a Path>,
}

/// The result of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BranchCommitResult {
    /// The commit; absent if nothing was left to commit.
    pub commit: Option<CommitSummary>,
    /// Files that the phase changed and that were changed before the run began, workspace-relative, at most [`MAX_CONFLICTS`].
    pub left: Vec<String>,
    /// Files that a command of the host's or a reviewer made and that were not changed since, workspace-relative, at most
    /// [`MAX_CONFLICTS`].
    pub by_checks: Vec<String>,
}

impl RunWorktrees {
    /// Records the state of the workspace before a phase. Before the first phase it also creates the run's branch and checks it
    /// out; the files stay as they are.
    ///
    /// # Errors
    /// [`WorktreeError::NoRepository`], [`WorktreeError::BranchTaken`] if the branch holds other commits, and those of git.
    pub async fn begin_commits(&self, phase: &PhaseId, branch: Option<&str>) -> Result<(), WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        let worktree = self.worktree(&WorktreeName::workspace()).await?;
        let now = self.snapshot(&worktree, &[]).await?;
        let head = worktree.head().await?;
        let parents: Vec<&str> = head.as_deref().into_iter().collect();
        let message = format!(
            "The state of the workspace when phase {phase} began\n\nUncommitted work of run {}.\n",
            self.0.run
        );
        let state = now.commit(&parents, &message).await?;
        let run = self.reference("began", "run");
        if worktree.commit(&run).await?.is_none() {
            if let Some(branch) = branch {
                check_out(&worktree, branch, head.as_deref()).await?;
            }
            worktree.set_ref(&run, &state).await?;
        }
        worktree.set_ref(&self.reference("begun", phase.as_str()), &state).await
    }

    /// Commits the changes of a phase since it began. Called again, it finds the commit that was made.
    ///
    /// # Errors
    /// [`WorktreeError::UnderWay`], [`WorktreeError::OtherBranch`], [`WorktreeError::NoStart`], [`WorktreeError::Filter`], [`WorktreeError::Unindexed`] once the
    /// commit is made, and those of git.
    pub async fn commit_to_branch(
        &self,
        wanted: BranchCommitRequest<'_>,
    ) -> Result<BranchCommitResult, WorktreeError> {
        let _guard = self.0.repository_lock.lock().await;
        let worktree = self.worktree(&WorktreeName::workspace()).await?;
        let reference = self.reference("committed", &format!("{}-{}", wanted.phase, wanted.ordinal));
        let head = worktree.head().await?;
        if let (Some(made), Some(head)) = (worktree.commit(&reference).await?, &head)
            && worktree.holds(&made, head).await?
        {
            if made == *head {
                follow(&worktree, &made).await?;
            }
            return Ok(BranchCommitResult {
                commit: Some(row(&worktree, &made).await?),
                ..BranchCommitResult::default()
            });
        }
        expect_free(&worktree, wanted.branch).await?;
        let now = self.snapshot(&worktree, &[]).await?;
        let before = tree_or_empty(&worktree, head.as_deref()).await?;
        let (entries, uncommitted) = self.changed_by(&worktree, &now, &before, &wanted).await?;
        let tree = tree_with(&now, &before, &entries).await?;
        if tree == before {
            return Ok(uncommitted);
        }
        let parents: Vec<&str> = head.as_deref().into_iter().collect();
        let commit = commit_tree(&worktree.git, &tree, &parents, wanted.message).await?;
        // Written down first: after a crash it is looked for by this.
        worktree.set_ref(&reference, &commit).await?;
        let none = "0".repeat(commit.len());
        let why = format!("baton: phase {}", wanted.phase);
        let moves = ["update-ref", "-m", &why, "HEAD", &commit, head.as_deref().unwrap_or(&none)];
        worktree.git.call(&moves).done().await?;
        follow(&worktree, &commit).await?;
        Ok(BranchCommitResult { commit: Some(row(&worktree, &commit).await?), ..uncommitted })
    }

    /// The changes of a phase to be committed over HEAD, and the rest, without a commit yet.
    async fn changed_by(
        &self,
        worktree: &Worktree,
        now: &WorktreeSnapshot,
        head: &str,
        wanted: &BranchCommitRequest<'_>,
    ) -> Result<(IndexEntries, BranchCommitResult), WorktreeError> {
        let began = worktree.commit(&self.reference("began", "run")).await?;
        let begun = worktree.commit(&self.reference("begun", wanted.phase.as_str())).await?;
        let (Some(began), Some(begun)) = (began, begun) else {
            return Err(WorktreeError::NoStart { phase: wanted.phase.clone() });
        };
        let first = worktree.tree_of(&began).await?;
        let committed = before(worktree, &began).await?;
        let mut dirty: BTreeSet<PathBuf> =
            difference(&now.git, &committed, &first).await?.into_keys().collect();
        // The user has committed it since then as it was.
        let uncommitted = difference(&now.git, head, &first).await?;
        dirty.retain(|path| uncommitted.contains_key(path));
        // A user's change stays one under another name.
        if !dirty.is_empty() {
            let renamed = renames(&now.git, &first, &now.tree).await?;
            dirty.extend(
                renamed
                    .into_iter()
                    .filter(|(from, _)| dirty.contains(from))
                    .map(|(_, to)| to)
                    .collect::<Vec<_>>(),
            );
        }
        let changed = difference(&now.git, &worktree.tree_of(&begun).await?, &now.tree).await?;
        let differs = difference(&now.git, head, &now.tree).await?;
        let root = worktree.at_top(Path::new(""));
        let only: Option<Vec<PathBuf>> =
            wanted.only.map(|files| files.iter().map(|file| worktree.at_top(Path::new(file))).collect());
        let is_wanted = |path: &Path| {
            differs.contains_key(path)
                && path.starts_with(&root)
                && !worktree.is_own(path)
                && wanted.but != Some(&worktree.top().join(path))
                && only.as_ref().is_none_or(|only| only.iter().any(|one| path.starts_with(one)))
        };
        let by_checks = self.entries_by_checks(worktree).await?;
        let (mut entries, mut not) = (IndexEntries::new(), BranchCommitResult::default());
        for (path, entry) in changed.into_iter().filter(|(path, _)| is_wanted(path)) {
            let why_not = if by_checks.get(&path) == Some(&entry) {
                &mut not.by_checks
            } else if dirty.contains(&path) {
                &mut not.left
            } else {
                entries.insert(path, entry);
                continue;
            };
            if why_not.len() < MAX_CONFLICTS {
                why_not.push(worktree.shown(&path));
            }
        }
        let unignored = worktree.unignored(&now.git).await?;
        let room = MAX_CONFLICTS.saturating_sub(not.left.len());
        not.left.extend(unignored.iter().take(room).map(|path| worktree.shown(path)));
        Ok((entries, not))
    }
}

/// The branch of the run is checked out, at the commit that was.
async fn check_out(worktree: &Worktree, branch: &str, head: Option<&str>) -> Result<(), WorktreeError> {
    let name = format!("refs/heads/{branch}");
    if worktree.checked_out().await?.as_deref() == Some(name.as_str()) {
        return Ok(());
    }
    if let Some(there) = worktree.commit(&name).await? {
        if head != Some(there.as_str()) {
            return Err(WorktreeError::BranchTaken { branch: branch.to_owned() });
        }
    } else if let Some(head) = head {
        worktree.git.deliver(head).await?;
        worktree.git.call(&["update-ref", &name, head]).done().await?;
    }
    worktree.git.call(&["symbolic-ref", "-m", "baton: the branch of a run", "HEAD", &name]).done().await
}

/// No merge, rebase or the like is open that a commit would disturb, and the branch is the one that is meant.
async fn expect_free(worktree: &Worktree, branch: Option<&str>) -> Result<(), WorktreeError> {
    for (file, what) in UNDER_WAY {
        let path = worktree.git.call(&["rev-parse", "--git-path", file]).text().await?;
        if worktree.top().join(path).symlink_metadata().is_ok() {
            return Err(WorktreeError::UnderWay { what });
        }
    }
    if !worktree.unmerged().await?.is_empty() {
        return Err(WorktreeError::UnderWay { what: "a merge" });
    }
    let Some(branch) = branch else { return Ok(()) };
    let found = worktree.checked_out().await?;
    if found.as_deref() == Some(&format!("refs/heads/{branch}")) {
        return Ok(());
    }
    let found =
        found.as_deref().map_or("no branch", |name| name.trim_start_matches("refs/heads/")).to_owned();
    Err(WorktreeError::OtherBranch { wanted: branch.to_owned(), found })
}

/// A tree with other entries, made in the index of a snapshot, which is of no use after it.
pub(super) async fn tree_with(
    now: &WorktreeSnapshot,
    before: &str,
    entries: &IndexEntries,
) -> Result<String, WorktreeError> {
    now.git.call(&["read-tree", before]).done().await?;
    put(&now.git, entries).await?;
    now.git.call(&["write-tree"]).text().await
}

async fn put(git: &super::git::GitRunner, entries: &IndexEntries) -> Result<(), WorktreeError> {
    let lines: Vec<u8> = entries.values().flatten().copied().collect();
    git.call(&["update-index", "--replace", "-z", "--index-info"]).input(lines).done().await
}

/// Entries of the index that were committed are as they were committed; what else the user staged stays staged.
async fn follow(worktree: &Worktree, commit: &str) -> Result<(), WorktreeError> {
    let before = before(worktree, commit).await?;
    let committed = difference(&worktree.git, &before, commit).await?;
    let lags = |source| WorktreeError::Unindexed { commit: commit.to_owned(), source: Box::new(source) };
    put(&worktree.git, &committed).await.map_err(lags)?;
    // It only reports differences, if there are any.
    worktree.git.call(&["update-index", "-q", "--refresh"]).ended().await.map(drop)
}

async fn row(worktree: &Worktree, commit: &str) -> Result<CommitSummary, WorktreeError> {
    let before = before(worktree, commit).await?;
    let numbers = ["diff-tree", "-r", "-z", "--numstat", "--no-ext-diff", "--no-textconv", "--no-renames"];
    let listed = worktree.git.call(&numbers).and(&before).and(commit).without_attributes().bytes().await?;
    let files: Vec<_> = listed.split(|byte| *byte == 0).filter_map(numbered).collect();
    let branch = worktree.checked_out().await?.unwrap_or_default();
    Ok(CommitSummary {
        id: commit.to_owned(),
        subject: worktree
            .git
            .call(&["show", "-s", "--no-show-signature", "--format=%s", commit])
            .text()
            .await?,
        branch: branch.trim_start_matches("refs/heads/").to_owned(),
        files: u32::try_from(files.len()).unwrap_or(u32::MAX),
        added: files.iter().filter_map(|file| file.added).sum(),
        removed: files.iter().filter_map(|file| file.removed).sum(),
    })
}

/// The tree of the commit before; the empty one before the first.
async fn before(worktree: &Worktree, commit: &str) -> Result<String, WorktreeError> {
    let parent = worktree.commit(&format!("{commit}^")).await?;
    tree_or_empty(worktree, parent.as_deref()).await
}

pub(super) async fn tree_or_empty(
    worktree: &Worktree,
    commit: Option<&str>,
) -> Result<String, WorktreeError> {
    match commit {
        Some(commit) => worktree.tree_of(commit).await,
        None => worktree.git.call(&["mktree"]).text().await,
    }
}
