//! Errors of a workspace. A file that vanishes or cannot be read is not an error here: it is a fact.

use std::io;
use std::path::PathBuf;

use crate::blocking_pipes::BlockingPipe;
use crate::dot_git::ReplacedRepository;

/// Why a workspace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The folder is not there, or cannot be opened.
    #[error("cannot open the workspace {}: {source}; name an existing folder that this user may read", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The folder was replaced by another folder or a link.
    #[error(
        "the workspace {} was replaced: another folder, or a link to one, is in its place, and Baton neither reads nor writes there; restore \
         the original folder, or `baton stop` the run and continue in the current one with `baton resume`",
        path.display()
    )]
    Replaced {
        /// The folder.
        path: PathBuf,
    },
    /// The repository of the workspace is another one than when the run began.
    #[error(transparent)]
    Repository(ReplacedRepository),
    /// Git would wait for a pipe.
    #[error(transparent)]
    Pipe(#[from] BlockingPipe),
    /// A path that is not plain and relative.
    #[error(
        "refused to write {path:?}: a projected file is named by a relative path below the workspace, without \"..\""
    )]
    Outside {
        /// The path as given.
        path: String,
    },
    /// A file could not be written.
    #[error("cannot write {path} in the workspace {}: {source}; check free space, permissions and links on the way", root.display())]
    Write {
        /// The workspace.
        root: PathBuf,
        /// Workspace-relative.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A file that an agent named could not be read.
    #[error("cannot read {path:?}: {source}; name a regular file inside the workspace {}", root.display())]
    Read {
        /// The workspace.
        root: PathBuf,
        /// As it was named.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A file that an agent named is hidden from it.
    #[error(
        "{path:?} is hidden from agents by the key `hide` of a sandbox, and Baton does not read hidden files for them"
    )]
    Hidden {
        /// As it was named.
        path: String,
    },
    /// A file that an agent named is too large to keep.
    #[error("{path:?} has more than {max_bytes} bytes; keep a part of it, or compress it first")]
    TooLarge {
        /// As it was named.
        path: String,
        /// The bound.
        max_bytes: u64,
    },
    /// A command could not be started or waited for.
    #[error("cannot run the verification {command:?} in {}: {source}; `sh` must be on PATH and the folder must exist", root.display())]
    Command {
        /// The workspace.
        root: PathBuf,
        /// The command.
        command: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The host is shutting down.
    #[error(
        "reading the workspace was interrupted because the host is shutting down; `baton resume` reads it again"
    )]
    Stopped,
}
