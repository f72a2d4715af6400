//! What a confined command gets, as the host passes it to the stages. Written once, read once, private to the user.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use baton_core::Digest;
use baton_core::workflow::SandboxLevel;
use serde::{Deserialize, Serialize};

use crate::link_walk::LinkWalk;

/// Where the private folder of a boundary is, as seen inside a strict one.
pub const INSIDE: &str = "/run/baton";
/// The socket of the proxy in it, until it loses its name.
#[cfg(target_os = "linux")]
pub(crate) const PROXY_SOCKET: &str = "net.sock";
/// The same of the watcher.
#[cfg(target_os = "linux")]
pub(crate) const WATCH_SOCKET: &str = "watch.sock";
/// Temporary files of a command that is confined by `write`.
pub(crate) const TEMPORARY: &str = "tmp";
/// Names the folder in which Python keeps its compiled files, in place of `__pycache__` next to a source. There, an agent could
/// plant a file that another program reads in place of that source.
pub const PYTHON_CACHE_VARIABLE: &str = "PYTHONPYCACHEPREFIX";

/// Everything that the stages have to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BoundarySpec {
    /// How far.
    pub(crate) level: SandboxLevel,
    /// This program.
    pub(crate) own_exe: PathBuf,
    /// Bubblewrap; present if the level is strict.
    pub(crate) bwrap: Option<PathBuf>,
    /// The tree, absolute and without links.
    pub(crate) tree: PathBuf,
    /// Device and inode of the tree when the host looked.
    pub(crate) tree_id: (u64, u64),
    /// The user's home.
    pub(crate) home: Option<PathBuf>,
    /// The private folder of the boundary.
    pub(crate) folder: PathBuf,
    /// Programs that are available in any place, with their parts.
    pub(crate) programs: Vec<ListedPath>,
    /// Read-only paths beyond the system.
    pub(crate) read: Vec<ListedPath>,
    /// Writable paths beyond the tree.
    pub(crate) write: Vec<ListedPath>,
    /// Hidden paths.
    pub(crate) hide: Vec<PathBuf>,
    /// The workspace of which the tree is a copy, if a list names a folder above it: it is hidden, except for the paths that
    /// are named in it.
    pub(crate) covered: Option<PathBuf>,
    /// Folders of the host's, which are empty except for the paths that are named in them. The tree may be in one.
    pub(crate) masked: Vec<PathBuf>,
    /// Protected paths in the tree, relative to it.
    pub(crate) protect: Vec<PathBuf>,
    /// Paths that stay writable below a protected one, relative to the tree.
    pub(crate) open: Vec<PathBuf>,
    /// Paths in the tree that are writable and keep their place, relative to it.
    pub(crate) anchors: Vec<PathBuf>,
    /// Folders and files elsewhere that belong to the tree.
    pub(crate) beside: Vec<ExternalMount>,
    /// Settings of the agent.
    pub(crate) settings: Vec<SettingsMount>,
    /// Variables for the confined command.
    pub(crate) environment: Vec<(String, OsString)>,
    /// Permitted ports, if names cannot be distinguished.
    pub(crate) ports: Vec<u16>,
    /// Addresses of this machine that the proxy reaches, and that are there inside as well.
    pub(crate) loopback: Vec<SocketAddr>,
    /// The program mounts something itself, which Landlock's rules for files do not allow.
    pub(crate) mounts: bool,
}

/// A path that a list names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListedPath {
    /// The literal path, which is also its path inside.
    pub(crate) at: PathBuf,
    /// Its target when the boundary was made. It is reached without following links.
    pub(crate) real: PathBuf,
}

impl ListedPath {
    /// Whether this folder, of which no link leads here, is there by this path.
    pub(crate) fn shows(&self, folder: Option<&Path>) -> bool {
        folder.is_some_and(|folder| folder.starts_with(&self.real))
    }

    /// The path inside of something that has its own place here.
    pub(crate) fn inside(&self, real: &Path) -> Option<PathBuf> {
        let within = real.strip_prefix(&self.real).ok()?;
        Some(if within.as_os_str().is_empty() { self.at.clone() } else { self.at.join(within) })
    }
}

/// Something elsewhere that belongs to the tree: the repository of a work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalMount {
    /// The folder from which it is found without links.
    pub root: PathBuf,
    /// Relative to it.
    pub path: PathBuf,
    /// Whether it can be written.
    pub writable: bool,
    /// In a strict boundary an empty folder of the session's own is mounted over it.
    pub fresh: bool,
}

/// A folder of settings: inside it is empty and for this session alone, except for the files that are named here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SettingsMount {
    /// The folder's path for the user.
    pub(crate) folder: PathBuf,
    /// The files of the folder that are visible, read-only.
    pub(crate) files: Vec<ListedPath>,
    /// A folder in it that outlives the session: its path, and its real place.
    pub(crate) kept: Option<(PathBuf, PathBuf)>,
    /// A file with settings that is made for the session: its path, and the file with its text.
    pub(crate) made: Option<(PathBuf, PathBuf)>,
}

impl BoundarySpec {
    /// Whether a place is, has in it, or lies in something that is hidden inside, or has the home in it.
    pub(crate) fn is_guarded(&self, real: &Path) -> bool {
        let hidden = self.hide.iter().map(|path| LinkWalk::of(path).real);
        let mut guarded = self.masked.iter().cloned().chain(hidden);
        let is_near = |place: PathBuf| place.starts_with(real) || real.starts_with(place);
        self.home.as_ref().is_some_and(|home| home.starts_with(real)) || guarded.any(is_near)
    }

    /// What was written, and nothing that was made of it since: the file is in a folder that is writable from inside.
    pub(crate) fn read(path: &Path, digest: &str) -> io::Result<Self> {
        let written = fs::read(path)?;
        if Digest::of(&written).as_str() != digest {
            return Err(io::Error::other("it is another one than the host wrote"));
        }
        Ok(serde_json::from_slice(&written)?)
    }

    /// Where the boundary's folder is, as seen from inside.
    pub(crate) fn inside(&self) -> &Path {
        match self.level {
            SandboxLevel::Strict => Path::new(INSIDE),
            SandboxLevel::Off | SandboxLevel::Write => &self.folder,
        }
    }

    /// The folder of temporary files, as seen from inside.
    pub(crate) fn temporary(&self) -> PathBuf {
        match self.level {
            // Codex starts no helper from a temporary folder, and keeps its own in its home.
            SandboxLevel::Strict if self.home.as_ref().is_some_and(|home| home.starts_with("/tmp")) => {
                PathBuf::from("/var/tmp")
            }
            SandboxLevel::Strict => PathBuf::from("/tmp"),
            SandboxLevel::Off | SandboxLevel::Write => self.folder.join(TEMPORARY),
        }
    }

    /// The least one at `write`, for tests.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn at_write(tree: &Path, folder: &Path) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        let found = fs::symlink_metadata(tree).unwrap();
        Self {
            level: SandboxLevel::Write,
            own_exe: PathBuf::from("/baton"),
            bwrap: None,
            tree: tree.to_owned(),
            tree_id: (found.dev(), found.ino()),
            home: None,
            folder: folder.to_owned(),
            programs: Vec::new(),
            read: Vec::new(),
            write: Vec::new(),
            hide: Vec::new(),
            covered: None,
            masked: Vec::new(),
            protect: Vec::new(),
            open: Vec::new(),
            anchors: Vec::new(),
            beside: Vec::new(),
            settings: Vec::new(),
            environment: Vec::new(),
            ports: Vec::new(),
            loopback: Vec::new(),
            mounts: false,
        }
    }
}
