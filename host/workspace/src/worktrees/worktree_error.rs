//! Why something about a work tree did not work.

use std::io;
use std::path::{Path, PathBuf};

use baton_core::{PhaseId, WorktreeName};

use super::MAX_FILE_BYTES;
use crate::WorkspaceError;

/// Why something about a work tree did not work.
#[derive(Debug, thiserror::Error)]
pub enum WorktreeError {
    /// Git cannot be started, or hangs.
    #[error("git does not run in {}: {source}; it must be on PATH, version 2.38 or later", at.display())]
    NoGit {
        /// Where.
        at: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Git refused.
    #[error("`git {call}` failed in {}: {said}", at.display())]
    Git {
        /// With what.
        call: String,
        /// Where.
        at: PathBuf,
        /// What it said.
        said: String,
    },
    /// A link in the repository leads git elsewhere, or git would wait for a pipe.
    #[error("{source}")]
    Link {
        /// Which, and what to do.
        source: io::Error,
    },
    /// A file of the host's or of the tree could not be read or written.
    #[error("cannot {what} {}: {source}; check free space and permissions", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The workspace is no work tree of git.
    #[error("{} is not in a git work tree: {why}", workspace.display())]
    NoRepository {
        /// The workspace.
        workspace: PathBuf,
        /// Why.
        why: String,
    },
    /// A tree is gone.
    #[error("{}", gone(tree, path))]
    Gone {
        /// Which.
        tree: WorktreeName,
        /// Where it was.
        path: PathBuf,
    },
    /// The workspace is in another repository than it was when the trees were made.
    #[error("the git repository of {} is {}, and was {} when the work trees of this run were made; restore the original one", workspace.display(), now.display(), then.display())]
    OtherRepository {
        /// The workspace.
        workspace: PathBuf,
        /// Where its repository is now.
        now: PathBuf,
        /// Where it was.
        then: PathBuf,
    },
    /// The repository does not have the commit with which the run began.
    #[error(
        "the repository {} does not have commit {} with which this run began, so that it is another one, or was made again: restore the original, or \
         start a new run with the current one by `baton run --restart`", repository.display(), commit.get(..12).unwrap_or(commit)
    )]
    OtherHistory {
        /// The folder of the repository.
        repository: PathBuf,
        /// The commit.
        commit: String,
    },
    /// A repository inside the work, which git does not carry along.
    #[error(
        "{path} is a git repository of its own, and git cannot include its contents: remove its .git, or add it to .gitignore"
    )]
    Nested {
        /// Which.
        path: String,
    },
    /// A name that git takes into no commit.
    #[error(
        "git refuses the name {path}, since systems can take it for .git or what git reads: rename it, or add it to .gitignore"
    )]
    RefusedName {
        /// Which.
        path: String,
    },
    /// A file that is too large to be kept.
    #[error(
        "{path} has {bytes} bytes, and git would take minutes to store it (Baton commits files of at most {} bytes): add it to .gitignore, or remove it",
        MAX_FILE_BYTES
    )]
    TooLarge {
        /// Which.
        path: String,
        /// Its apparent size.
        bytes: u64,
    },
    /// The repository does not have what a commit or a tree names.
    #[error(
        "git's objects of {object} are not all in {}, or another thing than their names say, which git itself does not notice and an agent can \
         have done: `git fsck` lists them. Nothing was changed; put them back (`git fetch` brings what another repository has), and let the work be done again",
        repository.display()
    )]
    Objects {
        /// The commit or tree.
        object: String,
        /// The folder of the repository.
        repository: PathBuf,
    },
    /// A file goes through a command that only the repository names.
    #[error(
        "{path} goes through the filter {filter}, which only the repository's own configuration defines, and Baton runs no commands from a repository: if you trust it, set filter.{filter}.clean and filter.{filter}.smudge with `git config --global`"
    )]
    Filter {
        /// The first such file.
        path: String,
        /// The filter.
        filter: String,
    },
    /// A file goes through a command of the user that could run a file of the work tree.
    #[error(
        "{path} goes through the filter {filter} of your git settings, and Baton does not run it, since its commands may run or load files of the work tree, which agents write: set filter.{filter}.clean and filter.{filter}.smudge to one program by its absolute path, outside of what agents write, without `-m`, `-c`, relative paths and shell syntax"
    )]
    UserFilter {
        /// The first such file.
        path: String,
        /// The filter.
        filter: String,
    },
    /// A commit is on the branch, and the index is as it was before.
    #[error("commit {} was made, but the index was not updated: {source}; fix that, then `git reset` updates the index", commit.get(..12).unwrap_or(commit))]
    Unindexed {
        /// Its full id.
        commit: String,
        /// Why.
        source: Box<WorktreeError>,
    },
    /// A commit brings what no agent of a sandbox makes or changes.
    #[error(
        "nothing is merged: {of} changes {}, which can run commands or decide how work is judged, and sandboxed \
         work may not change it: review it, remove it from the commits if it is unwanted, and retry", paths.join(", ")
    )]
    Kept {
        /// Of what.
        of: String,
        /// Which paths, at most [`MAX_CONFLICTS`](crate::MAX_CONFLICTS).
        paths: Vec<String>,
    },
    /// A merge or a rebase of an agent's own stands open in its tree.
    #[error("in the work tree of {tree} a merge is open with conflicts in {}: resolve them there, and commit", files.join(", "))]
    Unresolved {
        /// Where.
        tree: WorktreeName,
        /// In which files.
        files: Vec<String>,
    },
    /// Folders that git does not know stand where files are to be.
    #[error("nothing was changed: {} in the way of files of the same name; move their contents", paths.join(", "))]
    InTheWay {
        /// Which.
        paths: Vec<String>,
    },
    /// A file was changed in the moment in which it was to be replaced.
    #[error(
        "{path} was changed while Baton was writing files there, and it stays as it is: retry, and the change is taken into account"
    )]
    ChangedMeanwhile {
        /// Which, from the top of the repository.
        path: String,
    },
    /// A command that makes a tree ready failed.
    #[error("the setup command {command:?} failed in {} ({how}):\n{tail}", root.display())]
    Setup {
        /// Which.
        command: String,
        /// Where.
        root: PathBuf,
        /// By which exit code, or that the host ended it.
        how: String,
        /// The end of what it printed.
        tail: String,
    },
    /// What a landing wrote down before it began cannot be read.
    #[error("{reference} no longer has the value that Baton wrote: {why}")]
    Record {
        /// Which ref.
        reference: String,
        /// What is wrong.
        why: String,
    },
    /// Git is in the middle of something in the workspace.
    #[error("{what} is under way in the workspace; its files stay uncommitted")]
    UnderWay {
        /// What.
        what: &'static str,
    },
    /// Another branch is checked out than the run commits on.
    #[error("the run commits on {wanted}, and {found} is checked out; its files stay uncommitted")]
    OtherBranch {
        /// The branch of the run.
        wanted: String,
        /// What is checked out.
        found: String,
    },
    /// The branch of the run holds something else.
    #[error(
        "the branch {branch} exists already and has other commits than HEAD; name another in `commit_branch`, such as work/{{run}}"
    )]
    BranchTaken {
        /// Its name.
        branch: String,
    },
    /// It is not known any more what a phase started from.
    #[error("the state of the files at the start of phase {phase} is unknown; they stay uncommitted")]
    NoStart {
        /// Which phase.
        phase: PhaseId,
    },
    /// The command could not be run at all.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

/// Where the work of a tree is that git does not have any more.
fn gone(tree: &WorktreeName, path: &Path) -> String {
    match path.is_dir() {
        true => format!(
            "git has no work tree of {tree} any more, as after its repository was removed and cloned again; its files are in {}, and on no \
             branch unless they were committed and the repository still has that branch: restore the repository and retry, or copy the files",
            path.display()
        ),
        false => format!(
            "the work tree of {tree} is no longer at {}, and git cannot repair it; its committed work is on its branch",
            path.display()
        ),
    }
}
