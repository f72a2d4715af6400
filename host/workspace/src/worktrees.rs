//! Work trees of a run, over git: a checkpoint, trees that begin there, their merge, and the landing in the place of the start.
//! Every method examines the current state first, so each can be called again after a crash at any point. Decides nothing about
//! phases.
//!
//! | file | what |
//! |---|---|
//! | `worktrees/git.rs` | calls of git that may change something |
//! | `worktrees/export.rs` | what the host's git made, given to the repository |
//! | `worktrees/import.rs` | objects of the repository, taken into the host's own store |
//! | `worktrees/worktree_link.rs` | which repository a tree belongs to, whatever an agent makes of its `.git` |
//! | `worktrees/worktree.rs` | one tree: what it holds, and what of it is the work |
//! | `worktrees/snapshot.rs` | the real state of a tree as a git tree, without touching it |
//! | `worktrees/state_diff.rs` | states that the workspace passed through, and what differs between two |
//! | `worktrees/run_refs.rs` | refs of the run, and the file that says what they name |
//! | `worktrees/start_note.rs` | what git did not look at when a run began, and what agents do not see |
//! | `worktrees/create.rs` | checkpoints and work trees: made, set aside, removed |
//! | `worktrees/protected_paths.rs` | what agents neither make nor change, in their commits as well |
//! | `worktrees/merge.rs` | what a tree holds into another one, and conflicts there |
//! | `worktrees/pending_change.rs` | a change of a work tree, written down before it is made, and finished after a crash |
//! | `worktrees/whole_files.rs` | files of a work tree, each replaced as a whole |
//! | `worktrees/land.rs` | what came together, back to where it began |
//! | `worktrees/branch_commit.rs` | what a phase changed in the workspace, committed on its branch |
//! | `worktrees/undo.rs` | what a run landed, taken back |
//!
//! What belongs to a run, by name:
//!
//! | name | what |
//! |---|---|
//! | branch `baton/<run>/<tree>` | the work in a tree |
//! | `refs/baton/<run>/base/<phase>` | the checkpoint of a phase that is forked |
//! | `refs/baton/<run>/home/<phase>/<branch>` | the branch that was checked out then |
//! | `refs/baton/<run>/fork/<tree>` | where a tree began |
//! | `refs/baton/<run>/seen/<phase>`, `told/<phase>-<round>` | a later state of the work tree, and that its merge was told |
//! | `refs/baton/<run>/snapshots/<commit>` | commits that hold uncommitted work, and never reach a branch of the user's |
//! | `refs/baton/<run>/landed/<n>/…`, `undo/<n>/…` | changes of a work tree: `intent`, `done`, `undone` |
//! | `refs/baton/<run>/began/run`, `begun/<phase>`, `committed/<phase>-<n>`, `made/by-checks` | where commits in the workspace start from, they, and what stays out of them |
//! | `refs/baton/<run>/kept/<n>` | what would otherwise have been lost |

mod branch_commit;
mod check_outputs;
mod commit;
mod create;
mod export;
mod git;
mod import;
mod index_additions;
mod index_refresh;
mod land;
mod merge;
mod pending_change;
mod protected_paths;
mod repository_record;
mod run_refs;
mod snapshot;
mod start_note;
mod state_diff;
mod undo;
mod whole_files;
mod worktree;
mod worktree_error;
mod worktree_link;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use baton_core::{Digest, RunId, WorktreeName};
use tokio::sync::{Mutex, OnceCell};

use crate::blocking_pipes::{self, BlockingPipe};
use crate::dot_git::DotGit;
use crate::git_config;
use crate::git_info::GitInfoSnapshot;
use crate::git_links::{AcceptedLinks, RefusedLink};
use crate::git_object_store::GitObjectStore;
use crate::isolated_git_dir::{IsolatedGitDir, Repository, RepositoryLookupError};
use crate::{GitContext, Workspace, WorkspaceError};
use git::GitRunner;
use run_refs::RunRefs;
use start_note::StartNote;
use worktree::Worktree;

pub use branch_commit::{BranchCommitRequest, BranchCommitResult};
pub use check_outputs::FilesBeforeCheck;
pub use commit::{CommitDifferences, CommitResult};
pub use create::WorktreeBase;
pub use land::{LandResult, VerifiedCommit};
pub use merge::MergeResult;
pub use protected_paths::ProtectedPaths;
pub use state_diff::{StateDiff, StateDiffFile};
pub use undo::{BranchMoveBack, UndoChangeKind, UndoFileChange, UndoOutcome, UndoSummary};
pub use worktree_error::WorktreeError;

/// Most conflicts that are named; a session that resolves them searches for them anyway.
pub const MAX_CONFLICTS: usize = 100;

/// A file that is larger, holes included, is not committed: git reads all of it each time.
pub const MAX_FILE_BYTES: u64 = 2 << 30;

/// A name that is used unchanged has at most this many characters: it becomes a part of a path.
const SLUG_CHARS_MAX: usize = 48;

/// Folders that replace the repository for git; neither a run nor a tree has a name that begins with a dot.
const VIEW: &str = ".view";
/// The same with the list of work trees. It is for all runs: no file is ignored by it.
const VIEW_WITH_TREES: &str = ".view-trees";
/// A run's folder that replaces the repository of the workspace for git.
const VIEW_OF_WORKSPACE: &str = ".view-of";
/// The same two for queries that change nothing, and that read the objects of the repository.
const READ_VIEW: &str = ".read";
const READ_VIEW_OF_WORKSPACE: &str = ".read-of";
/// Files that note the user's own links in the repository.
const LINKS: &str = ".links";
/// Folders with the ignore lists of the repository.
const INFO: &str = ".info";
/// Files that note what git did not see when a run began.
const START: &str = ".start";
/// Files that note the targets of a run's refs.
const REFS: &str = ".refs";
/// The host's own objects of the repository, for all runs.
const OBJECTS: &str = ".objects";

/// The work trees of one run. Cheap to clone; everything that changes the repository goes one after the other.
#[derive(Clone, Debug)]
pub struct RunWorktrees(Arc<RunWorktreesInner>);

#[derive(Debug)]
struct RunWorktreesInner {
    workspace: Workspace,
    /// The folder of this run's trees.
    folder: PathBuf,
    /// Folders of the host's that do not belong to any work, in case they are in the workspace.
    hidden: Vec<PathBuf>,
    run: String,
    /// The note of the user's own links in the repository.
    links: PathBuf,
    /// The ignore lists of the repository from the start of the run.
    info: PathBuf,
    /// The targets of the run's refs.
    refs: RunRefs,
    objects: GitObjectStore,
    /// The note of what git did not see then, and its content once it is read.
    start_file: PathBuf,
    start: OnceLock<Arc<StartNote>>,
    /// Files that git makes nothing of: agents of a sandbox do not see them. Absolute, or from the workspace.
    hidden_from_git: OnceLock<Vec<PathBuf>>,
    /// The `.git` of the workspace, from when its links are noted.
    held: Arc<OnceLock<DotGit>>,
    /// Parallel changes of one repository fail on its locks.
    repository_lock: Mutex<()>,
    repo: OnceCell<WorkspaceRepository>,
    /// Set once the repository was found to have the commit with which the run began.
    is_same_history: OnceCell<()>,
    /// Paths that no merge and no landing changes.
    kept: OnceLock<ProtectedPaths>,
    /// Makes names of temporary files unlike each other.
    ordinal: AtomicU64,
    /// Trees whose `.git` was written again, until they are asked for.
    mended: std::sync::Mutex<Vec<WorktreeName>>,
}

/// The repository of the workspace.
#[derive(Clone, Debug)]
struct WorkspaceRepository {
    /// With the whole work tree that contains the workspace.
    repository: Repository,
    /// The workspace in it; empty if it is the whole.
    prefix: PathBuf,
    /// Before the names of our branches.
    branches: String,
    identity: Arc<[String]>,
}

impl RunWorktrees {
    /// The trees of a run, which are in a folder that only the host writes to. `hidden` are folders of the host's
    /// that are no part of any work, should they lie in the workspace. Touches nothing yet.
    pub fn new(workspace: &Workspace, folder: &Path, hidden: &[&Path], run: &RunId) -> Self {
        let real = |path: &&Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let run = fit(run.as_str());
        let of_run = |name: &str| beside(folder).join(format!("{name}-{run}"));
        let (start_file, refs) = (of_run(START), RunRefs::new(of_run(REFS), &run));
        let (links, info, view) = (of_run(LINKS), of_run(INFO), of_run(READ_VIEW_OF_WORKSPACE));
        let held = Arc::default();
        let (noted, kept, holding) = (links.clone(), info.clone(), Arc::clone(&held));
        let git = Some(GitContext { view, repository: None, links: noted, info: kept, held: holding });
        Self(Arc::new(RunWorktreesInner {
            workspace: Workspace { git, ..workspace.clone() },
            folder: folder.to_owned(),
            hidden: hidden.iter().map(real).collect(),
            run,
            links,
            info,
            refs,
            objects: GitObjectStore::new(&beside(folder).join(OBJECTS)),
            start_file,
            start: OnceLock::new(),
            hidden_from_git: OnceLock::new(),
            held,
            repository_lock: Mutex::new(()),
            repo: OnceCell::new(),
            is_same_history: OnceCell::new(),
            kept: OnceLock::new(),
            ordinal: AtomicU64::new(0),
            mended: std::sync::Mutex::default(),
        }))
    }

    /// The workplace of a phase: the workspace, or the same folder of a work tree.
    ///
    /// # Errors
    /// [`WorktreeError::Gone`] if there is no such work tree.
    pub async fn open(&self, tree: &WorktreeName) -> Result<Workspace, WorktreeError> {
        if tree.is_workspace() {
            return Ok(self.0.workspace.clone());
        }
        let worktree = self.worktree(tree).await?;
        self.workspace_at(tree, &worktree.root(), worktree.repository()).map_err(WorktreeError::Workspace)
    }

    /// The same without asking git, for callers that may block but not wait: nothing if the tree is gone, or if no caller has
    /// asked for any tree yet.
    pub fn at_hand(&self, tree: &WorktreeName) -> Option<Workspace> {
        if tree.is_workspace() {
            return Some(self.0.workspace.clone());
        }
        let repo = self.0.repo.get()?;
        let root = self.path_of(tree).join(&repo.prefix);
        self.workspace_at(tree, &root, &self.made_in(repo, tree)?).ok()
    }

    fn workspace_at(
        &self,
        tree: &WorktreeName,
        root: &Path,
        at: &Repository,
    ) -> Result<Workspace, WorkspaceError> {
        // If a part has put a link there, it is not the folder that was made for it.
        if root.symlink_metadata().is_ok_and(|now| now.is_symlink()) {
            let source = std::io::Error::other("a link is in its place");
            return Err(WorkspaceError::NoFolder { path: root.to_owned(), source });
        }
        let view = self.0.folder.join(format!("{READ_VIEW}-{}", fit(tree.as_str())));
        let held = Arc::clone(&self.0.held);
        let (links, info) = (self.0.links.clone(), self.0.info.clone());
        let git = Some(GitContext { view, repository: Some(at.clone()), links, info, held });
        let Workspace { own, exchanged, command_mark, python_cache, .. } = self.0.workspace.clone();
        Ok(Workspace { own, exchanged, git, command_mark, python_cache, ..Workspace::open(root)? })
    }

    /// The folder of a tree.
    fn path_of(&self, tree: &WorktreeName) -> PathBuf {
        self.0.folder.join(fit(tree.as_str()))
    }

    fn branch_of(&self, repo: &WorkspaceRepository, tree: &WorktreeName) -> String {
        format!("{}/{}/{}", repo.branches, self.0.run, fit(tree.as_str()))
    }

    /// A private ref of the run.
    fn reference(&self, kind: &str, name: &str) -> String {
        self.references(kind) + &fit(name)
    }

    /// Everything of a kind below the run.
    fn references(&self, kind: &str) -> String {
        self.0.refs.below(kind)
    }

    /// Git for the list of work trees.
    async fn git(&self, repo: &WorkspaceRepository) -> Result<GitRunner, WorktreeError> {
        let at = &repo.repository;
        let failed = |source| WorktreeError::File { what: "use", path: at.common_dir.clone(), source };
        let folder = beside(&self.0.folder).join(VIEW_WITH_TREES);
        let info = GitInfoSnapshot::default();
        let view = IsolatedGitDir::hold(&folder, at, &self.links(at)?, &info, Some(&self.0.objects))
            .await
            .map_err(failed)?;
        Ok(GitRunner::new(view.with_work_trees().map_err(failed)?, Arc::default(), false))
    }

    /// The repository that the workspace is a work tree of.
    async fn repo(&self) -> Result<&WorkspaceRepository, WorktreeError> {
        self.0.repo.get_or_try_init(|| self.find()).await
    }

    /// The repository around the workspace, or the reason why there is none.
    async fn around(&self) -> Result<Result<Repository, String>, WorktreeError> {
        match Repository::around(self.0.workspace.root()).await {
            Ok(repository) => Ok(Ok(repository)),
            Err(RepositoryLookupError::Absent(why)) => Ok(Err(why)),
            Err(RepositoryLookupError::Pipe(pipe)) => Err(WorktreeError::Link { source: pipe.into() }),
        }
    }

    async fn find(&self) -> Result<WorkspaceRepository, WorktreeError> {
        let root = self.0.workspace.root();
        let none =
            |why: &str| WorktreeError::NoRepository { workspace: root.to_owned(), why: why.to_owned() };
        let repository = self.around().await?.map_err(|why| none(&why))?;
        self.expect_same(&repository)?;
        let prefix = root.strip_prefix(&repository.top).map_err(|error| none(&error.to_string()))?.to_owned();
        let view = self.view(&WorktreeName::workspace(), &repository).await?;
        let git = GitRunner::new(view, Arc::default(), false);
        if git.call(&["check-ignore", "-q", "--"]).and(root).ended().await?.code == Some(0) {
            return Err(none("the repository around it ignores it"));
        }
        let mut identity = Vec::new();
        for (name, value) in [("user.name", "Baton"), ("user.email", "baton@localhost")] {
            if git.call(&["config", "--get", name]).answer().await?.is_none_or(|set| set.is_empty()) {
                identity.push(format!("{name}={value}"));
            }
        }
        self.make_room_for_large_files(&git, &repository).await?;
        // A branch of that very name leaves no room for others below it.
        let is_taken = git.call(&["rev-parse", "-q", "--verify", "refs/heads/baton"]).holds().await?;
        let branches = if is_taken { "baton-runs" } else { "baton" };
        Ok(WorkspaceRepository {
            repository,
            prefix,
            branches: branches.to_owned(),
            identity: identity.into(),
        })
    }

    /// With git-lfs, its files are in the repository, not in the folder that replaces it.
    async fn make_room_for_large_files(
        &self,
        git: &GitRunner,
        repository: &Repository,
    ) -> Result<(), WorktreeError> {
        let has_it = git.call(&["config", "--get-regexp", "^filter\\.lfs\\."]).answer().await?.is_some();
        let folder = repository.common_dir.join("lfs");
        match std::fs::create_dir(&folder) {
            _ if !has_it => Ok(()),
            Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
                Err(WorktreeError::File { what: "make", path: folder, source })
            }
            _ => Ok(()),
        }
    }

    /// The folder that replaces the repository for git in a tree.
    fn view_of(&self, tree: &WorktreeName) -> PathBuf {
        match tree.is_workspace() {
            true => beside(&self.0.folder).join(format!("{VIEW_OF_WORKSPACE}-{}", self.0.run)),
            false => self.0.folder.join(format!("{VIEW}-{}", fit(tree.as_str()))),
        }
    }

    async fn view(
        &self,
        tree: &WorktreeName,
        repository: &Repository,
    ) -> Result<IsolatedGitDir, WorktreeError> {
        let path = self.view_of(tree);
        let failed = |source: io::Error| match source.get_ref().is_some_and(|why| why.is::<RefusedLink>()) {
            true => WorktreeError::Link { source },
            false => WorktreeError::File {
                what: "make a view of the git repository in",
                path: path.clone(),
                source,
            },
        };
        let Repository { top, git_dir, common_dir } = repository;
        let in_the_way = |pipe: BlockingPipe| WorktreeError::Link { source: pipe.into() };
        blocking_pipes::expect_none(top, &[git_dir, common_dir]).map_err(in_the_way)?;
        git_config::expect_no_included_pipe(&[git_dir, common_dir]).await.map_err(in_the_way)?;
        let links = self.links(repository)?;
        if tree.is_workspace() {
            links.expect_same(repository).map_err(|source| WorktreeError::Link { source })?;
        }
        let info = GitInfoSnapshot::kept_or_of(&self.0.info, repository).await.map_err(failed)?;
        IsolatedGitDir::hold(&path, repository, &links, &info, Some(&self.0.objects)).await.map_err(failed)
    }

    /// The links in the repository that are the user's own.
    fn links(&self, repository: &Repository) -> Result<AcceptedLinks, WorktreeError> {
        let path = &self.0.links;
        let failed = |source| WorktreeError::File { what: "read", path: path.clone(), source };
        AcceptedLinks::noted_or_of(path, repository).map_err(failed)
    }

    /// A tree that is there, as git sees it. One whose link to the repository an agent changed or removed is mended.
    async fn worktree(&self, tree: &WorktreeName) -> Result<Worktree, WorktreeError> {
        let held = self.0.held.get().map_or(Ok(()), DotGit::held);
        held.map_err(|replaced| WorktreeError::Link { source: io::Error::other(replaced) })?;
        let repo = self.repo().await?;
        if tree.is_workspace() {
            return self.workspace_place(repo).await;
        }
        let gone = || WorktreeError::Gone { tree: tree.clone(), path: self.path_of(tree) };
        let mut made = self.made_in(repo, tree);
        if made.is_none() && self.register_again(repo, tree).await? {
            made = self.made_in(repo, tree);
        }
        let repository = made.ok_or_else(gone)?;
        self.hold_link(tree, &repository.top)?;
        let worktree = Worktree::new(self, repo, tree, self.view(tree, &repository).await?);
        if !worktree.is_sound().await? {
            return Err(gone());
        }
        worktree.expect_own_branch().await?;
        Ok(worktree)
    }

    async fn workspace_place(&self, repo: &WorkspaceRepository) -> Result<Worktree, WorktreeError> {
        let tree = WorktreeName::workspace();
        let view = self.view(&tree, &repo.repository).await?;
        let worktree = Worktree::new(self, repo, &tree, view);
        self.expect_same_history(&worktree).await?;
        Ok(worktree)
    }

    /// The same as [`RunWorktrees::worktree`]; none if it is gone.
    async fn worktree_if_any(&self, tree: &WorktreeName) -> Result<Option<Worktree>, WorktreeError> {
        match self.worktree(tree).await {
            Ok(worktree) => Ok(Some(worktree)),
            Err(WorktreeError::Gone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The folder of the trees of all runs: they see the repository of the workspace alike.
fn beside(folder: &Path) -> &Path {
    folder.parent().unwrap_or(folder)
}

/// A name that fits into a path, a branch and a ref on every system, and is unique: a plain one stays unchanged, and any other
/// gets a digest.
fn fit(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    let is_fit = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(is_plain)
        && name.len() <= SLUG_CHARS_MAX
        && !name.contains("..")
        && !name.ends_with('.')
        && !name.ends_with(".lock");
    if is_fit {
        return name.to_owned();
    }
    let words: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let words: String = words.trim_matches('-').chars().take(SLUG_CHARS_MAX / 2).collect();
    let digest = Digest::of(name);
    format!("{}-{}", if words.is_empty() { "x" } else { words.trim_matches('-') }, digest.short())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_stay_and_others_are_told_apart() {
        assert_eq!(fit("20a"), "20a");
        assert_eq!(fit("20.merge"), "20.merge");
        let odd = ["20A", "20/a", "a..b", "a.lock", "", "ünï", "-x", &"x".repeat(80), "a b", "a-b "];
        let mut fitted: Vec<String> = odd.iter().map(|name| fit(name)).collect();
        assert!(fitted.iter().all(|name| fit(name) == *name), "{fitted:?}");
        fitted.sort();
        fitted.dedup();
        assert_eq!(fitted.len(), odd.len());
    }
}
