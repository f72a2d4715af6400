//! The facts on disk: git facts, file changes, verification commands, projected files, and the work trees in which phases work
//! in parallel. Reports facts and judges nothing; core and the policies decide what a change means.
//!
//! Git and child commands are named only in this crate. Files are read and written through [`cap_std`], so that no
//! link an agent plants leads out of the workspace.
#![forbid(unsafe_code)]

mod baseline;
mod baton_folder;
mod blocking_pipes;
mod dot_git;
mod error;
mod file_listing;
mod git;
mod git_config;
mod git_info;
mod git_links;
mod git_object_store;
mod isolated_git_dir;
mod issue;
mod named_files;
mod projection;
mod regular_file;
mod repository;
mod root;
mod safe_read;
mod user_filters;
mod verify;
mod worktrees;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use baton_core::UnixMs;
use baton_core::facts::{ChangedFile, WorkspaceFacts};
use baton_sandbox::make_listable;

use baton_folder::ReplacedFolders;
use dot_git::DotGit;
use isolated_git_dir::Repository;
use root::WorkspaceRoot;

pub use baseline::{Baseline, CurrentFile, MAX_CHANGED};
pub use baton_folder::ReplacedFolder;
pub use blocking_pipes::BlockingPipe;
pub use dot_git::ReplacedRepository;
pub use error::WorkspaceError;
pub use file_listing::{MAX_FILES, MAX_HASHED_BYTES};
pub use git::CommitsSince;
pub use git_config::{COMMAND_KEYS, CommandKey};
pub use issue::{Issue, issue};
pub use regular_file::{open_plain, read_plain};
pub use repository::make_repository;
pub use verify::{CommandResult, MAX_FINDINGS_BYTES, MAX_OUTPUT_BYTES};
pub use worktrees::{
    BranchCommitRequest, BranchCommitResult, BranchMoveBack, CommitDifferences, CommitResult,
    FilesBeforeCheck, LandResult, MAX_CONFLICTS, MAX_FILE_BYTES, MergeResult, ProtectedPaths, RunWorktrees,
    StateDiff, StateDiffFile, UndoChangeKind, UndoFileChange, UndoOutcome, UndoSummary, VerifiedCommit,
    WorktreeBase, WorktreeError,
};

/// What a command needs to reach the desktop of the user who started the host; none of it is a secret.
const DESKTOP: [&str; 4] = ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"];

/// A folder that agents work in. Cheap to clone; nothing is held open between calls. A folder that an agent has replaced by
/// another one, or by a link, is neither read nor written.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: WorkspaceRoot,
    /// The task folder of the run, if it is outside of `.baton`.
    own: Option<PathBuf>,
    /// Links that replaced folders of Baton's own.
    exchanged: ReplacedFolders,
    /// Git's view of it; absent if it was not opened by a run's trees.
    git: Option<GitContext>,
    /// Words before a command that is run here; empty if it is not confined.
    within: Vec<OsString>,
    /// The value that identifies the host's own commands.
    command_mark: String,
    /// The folder of Python's compiled files, in commands that are not confined; next to the sources if absent.
    python_cache: Option<PathBuf>,
}

/// Git's context of a run's trees in one folder.
#[derive(Clone, Debug)]
struct GitContext {
    /// The folder that replaces the repository for git.
    view: PathBuf,
    /// The repository that the folder was made from; the workspace's own is looked for.
    repository: Option<Repository>,
    /// The file that notes which links in it are the user's own.
    links: PathBuf,
    /// The folder with the ignore lists from the start of the run.
    info: PathBuf,
    /// The `.git` of the run's workspace, from when the host began to hold it.
    held: Arc<OnceLock<DotGit>>,
}

impl GitContext {
    fn held(&self) -> Result<(), ReplacedRepository> {
        self.held.get().map_or(Ok(()), DotGit::held)
    }
}

impl Workspace {
    /// Takes an existing folder, by its canonical path.
    ///
    /// # Errors
    /// [`WorkspaceError::NoFolder`] if it does not exist.
    pub fn open(root: &Path) -> Result<Self, WorkspaceError> {
        let refuse = |source| WorkspaceError::NoFolder { path: root.to_owned(), source };
        let root = WorkspaceRoot::open(root).map_err(refuse)?;
        Ok(Self {
            root,
            own: None,
            exchanged: ReplacedFolders::default(),
            git: None,
            within: Vec::new(),
            command_mark: "1".to_owned(),
            python_cache: None,
        })
    }

    /// The canonical path.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// An error if another folder, or a link, is in its place, or another repository in that of the run's.
    fn held(&self) -> Result<(), WorkspaceError> {
        self.root.held()?;
        self.git.as_ref().map_or(Ok(()), GitContext::held).map_err(WorkspaceError::Repository)
    }

    /// Records the current files: the start that [`Workspace::measure`] compares with. `expected` are files that objectives
    /// name; they are watched even if git ignores them.
    ///
    /// # Errors
    /// [`WorkspaceError::NoFolder`] if the folder exists but cannot be opened; [`WorkspaceError::Replaced`];
    /// [`WorkspaceError::Repository`]; [`WorkspaceError::Pipe`] if git would wait for one.
    pub async fn baseline(&self, expected: &[String]) -> Result<Baseline, WorkspaceError> {
        self.baseline_with_next_run(expected, &[]).await
    }

    /// The same, with the files and folders that the next run reads or runs, relative to the workspace: these are compared by their names.
    ///
    /// # Errors
    /// As for [`Workspace::baseline`].
    pub async fn baseline_with_next_run(
        &self,
        expected: &[String],
        next_run_files: &[String],
    ) -> Result<Baseline, WorkspaceError> {
        let (expected, next_run_files) = (expected.to_vec(), next_run_files.to_vec());
        self.listed(None, move |listing| Baseline::take(listing, &expected, &next_run_files)).await
    }

    /// The files on disk now, and their differences from the baseline (A5). A missing workspace is a fact, not an error: every
    /// file of the baseline counts as deleted.
    ///
    /// # Errors
    /// [`WorkspaceError::NoFolder`] if the folder exists but cannot be opened; [`WorkspaceError::Replaced`];
    /// [`WorkspaceError::Repository`]; [`WorkspaceError::Pipe`] if git would wait for one.
    pub async fn measure(
        &self,
        baseline: &Baseline,
        expected: &[String],
    ) -> Result<WorkspaceFacts, WorkspaceError> {
        let (expected, start) = (expected.to_vec(), baseline.clone());
        self.listed(Some(baseline), move |listing| start.compare(listing, &expected, MAX_CHANGED)).await
    }

    /// Every file that differs from the baseline, while [`Workspace::measure`] names only the first [`MAX_CHANGED`]: for a
    /// separate file, never for the journal. Limited to the files that the baseline and one pass can list.
    ///
    /// # Errors
    /// As for [`Workspace::measure`].
    pub async fn all_changed(&self, baseline: &Baseline) -> Result<Vec<ChangedFile>, WorkspaceError> {
        let start = baseline.clone();
        self.listed(Some(baseline), move |listing| start.compare(listing, &[], usize::MAX).changed).await
    }

    /// Those of the paths that are not in the workspace. Links are followed, but not out of it.
    ///
    /// # Errors
    /// As for [`Workspace::measure`].
    pub async fn missing(&self, paths: Vec<String>) -> Result<Vec<String>, WorkspaceError> {
        self.held()?;
        let root = self.root.clone();
        blocking(move || {
            let listing = file_listing::FileListing::open_bare(&root)?;
            Ok(paths.into_iter().filter(|path| !listing.has_file(path)).collect())
        })
        .await
    }

    /// The current state of those of these files that differ from their descriptions, or for which that is unknown.
    ///
    /// # Errors
    /// As for [`Workspace::measure`].
    pub async fn differing(&self, left: Vec<ChangedFile>) -> Result<Vec<CurrentFile>, WorkspaceError> {
        self.listed(None, move |listing| baseline::differing(listing, left)).await
    }

    /// The names of those of these files that are as a commit has them at their paths. None without git.
    ///
    /// # Errors
    /// As for [`Workspace::measure`].
    pub async fn as_committed(
        &self,
        commit: &str,
        files: &[CurrentFile],
    ) -> Result<BTreeSet<String>, WorkspaceError> {
        self.held()?;
        Ok(git::as_committed(self, commit, files).await?)
    }

    /// The names of those of these files that equal this commit, or one before it, at their paths, as far as the newest
    /// thousand commits that changed each show it. The history of the commits in `without` is not read. None without git.
    ///
    /// # Errors
    /// As for [`Workspace::measure`].
    pub async fn as_in_history(
        &self,
        commit: &str,
        without: &[&str],
        files: &[CurrentFile],
    ) -> Result<BTreeSet<String>, WorkspaceError> {
        self.held()?;
        Ok(git::history::as_in_history(self, commit, without, files).await?)
    }

    /// The names of those of these files, each with the state that the work left, that equal a commit since `start` on HEAD, a
    /// branch or a tag, although no commit on HEAD since then has that state. Files that the user committed in the folder
    /// itself since the measurement, at `since`, with only commits and rebases there, are left out. None without git; `start`
    /// may be empty.
    ///
    /// # Errors
    /// As for [`Workspace::measure`].
    pub async fn replaced_by_commits(
        &self,
        start: &str,
        since: UnixMs,
        files: &[(&CurrentFile, &ChangedFile)],
    ) -> Result<BTreeSet<String>, WorkspaceError> {
        self.held()?;
        Ok(git::history::replaced_by_commits(self, start, since, files).await?)
    }

    /// The newest commit on HEAD that was made by then. None without git.
    ///
    /// # Errors
    /// As for [`Workspace::measure`].
    pub async fn head_by(&self, at: UnixMs) -> Result<Option<String>, WorkspaceError> {
        self.held()?;
        Ok(git::head_by(self, at.0 / 1000).await?)
    }

    /// Whether HEAD names an older commit than this baseline, or one of another branch or repository; false if the same branch
    /// was rewritten, as by an amended commit or a rebase. False without git.
    ///
    /// # Errors
    /// As for [`Workspace::measure`].
    pub async fn has_left(&self, start: &Baseline) -> Result<bool, WorkspaceError> {
        self.held()?;
        Ok(git::has_left(self, start).await?)
    }

    /// Examines the listed files, and queries git for the changes since a baseline.
    async fn listed<T: Send + 'static>(
        &self,
        since: Option<&Baseline>,
        look: impl FnOnce(&file_listing::FileListing) -> T + Send + 'static,
    ) -> Result<T, WorkspaceError> {
        self.held()?;
        let root = self.root.path().to_owned();
        blocking(move || {
            make_listable(&root);
            Ok(())
        })
        .await?;
        let git = git::look(self, since).await?;
        let (root, own) = (self.root.clone(), self.own.clone());
        blocking(move || Ok(look(&file_listing::FileListing::open(&root, git, own.as_deref())?))).await
    }

    /// Git's changes since `head` was checked out on `branch`. None if there is no git, or was none.
    pub async fn since(&self, head: &str, branch: &str) -> CommitsSince {
        match self.held() {
            Ok(()) => git::since(self, head, branch).await.unwrap_or_default(),
            Err(_) => CommitsSince::default(),
        }
    }

    /// Runs a command by `sh -c` in the workspace, in a process group of its own that ends with it, at the limit,
    /// when the future is dropped, or when this process dies. It inherits only an allow-listed environment.
    ///
    /// # Errors
    /// [`WorkspaceError::Command`] if it cannot be started. A failure or a timeout is a result.
    pub async fn verify(&self, command: &str, limit: Duration) -> Result<CommandResult, WorkspaceError> {
        self.held()?;
        verify::run(self, command, &[], limit).await
    }

    /// The same for a command that notifies people: it gets these additional variables.
    ///
    /// # Errors
    /// As for [`Workspace::verify`].
    pub async fn tell(
        &self,
        command: &str,
        told: &[(&str, String)],
        limit: Duration,
    ) -> Result<CommandResult, WorkspaceError> {
        let of_desktop = DESKTOP.iter().filter_map(|name| Some((*name, std::env::var(name).ok()?)));
        let told: Vec<(&str, String)> = of_desktop.chain(told.iter().cloned()).collect();
        verify::run(self, command, &told, limit).await
    }

    /// Writes a file below the workspace, completely or not at all, and creates its folders. Blocking; for small files.
    ///
    /// # Errors
    /// [`WorkspaceError::Outside`] if the path is not a plain relative path; [`WorkspaceError::Write`] if the system refuses,
    /// or a link of the user's is on the way; a link in place of a folder of Baton's own is removed.
    pub fn write_projection(&self, relative: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        projection::write(self, relative, bytes, false)
    }

    /// The same for a file that can be executed.
    ///
    /// # Errors
    /// As for [`Workspace::write_projection`].
    pub fn write_script(&self, relative: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
        projection::write(self, relative, bytes, true)
    }

    /// Whether a file that was written is there as it was written. Blocking.
    pub fn holds_projection(&self, relative: &str, bytes: &[u8], executable: bool) -> bool {
        projection::holds(self, relative, bytes, executable)
    }

    /// Removes a written file; a missing one is not an error. Blocking.
    ///
    /// # Errors
    /// As for [`Workspace::write_projection`].
    pub fn remove_projection(&self, relative: &str) -> Result<(), WorkspaceError> {
        projection::remove(self, relative)
    }

    /// Removes incomplete files of killed writers in a folder. Blocking; failures are ignored.
    pub fn sweep_projections(&self, folder: &str) {
        projection::sweep(self, folder);
    }

    /// The same workspace with this folder as one of Baton's own: files there are not changes of the work. `.baton` always is
    /// one.
    #[must_use]
    pub fn with_own_folder(mut self, folder: &str) -> Self {
        self.own = Some(PathBuf::from(folder));
        self
    }

    /// The same workspace, whose commands get this as `BATON_COMMAND`: it identifies the processes that they leave behind.
    #[must_use]
    pub fn with_command_mark(mut self, mark: String) -> Self {
        self.command_mark = mark;
        self
    }

    /// The same workspace; in its commands Python keeps its compiled files in this folder, which Python creates: it uses no
    /// compiled modules from the workspace, where agents may have left them. Confined commands are not affected.
    #[must_use]
    pub fn with_python_cache(mut self, folder: PathBuf) -> Self {
        self.python_cache = Some(folder);
        self
    }

    /// The same workspace, whose commands are started by this one: the words before them.
    #[must_use]
    pub fn within(mut self, before: Vec<OsString>) -> Self {
        self.within = before;
        self
    }

    /// Reads a file that an agent names, by its path relative to the workspace or by its absolute path. Blocking.
    ///
    /// # Errors
    /// [`WorkspaceError::Read`] if there is no such file inside the workspace, links included; [`WorkspaceError::Hidden`] if it
    /// is in one of the `hidden` places, absolute or from the workspace; [`WorkspaceError::TooLarge`].
    pub fn read_file(
        &self,
        path: &str,
        max_bytes: u64,
        hidden: &[PathBuf],
    ) -> Result<Vec<u8>, WorkspaceError> {
        safe_read::read(&self.root, path, max_bytes, hidden)
    }
}

/// Runs a function that reads many files on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(join) => match join.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(WorkspaceError::Stopped),
        },
    }
}
