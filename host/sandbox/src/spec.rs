//! What is there for whoever is confined, as the host tells it to the stages. Written once, read once, private to the user.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use baton_core::Digest;
use baton_core::workflow::SandboxLevel;
use serde::{Deserialize, Serialize};

/// Where the private folder of a boundary is, for whoever is inside of a strict one.
pub const INSIDE: &str = "/run/baton";
/// The socket of the proxy in it.
pub(crate) const PROXY_SOCKET: &str = "net.sock";
/// The socket of the watcher in it.
#[cfg(target_os = "linux")]
pub(crate) const WATCH_SOCKET: &str = "watch.sock";
/// Temporary files of whoever is confined by `write`.
pub(crate) const TEMPORARY: &str = "tmp";

/// Everything that the stages have to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BoundarySpec {
    /// How far.
    pub(crate) level: SandboxLevel,
    /// This program.
    pub(crate) own_exe: PathBuf,
    /// Bubblewrap; present where the level is strict.
    pub(crate) bwrap: Option<PathBuf>,
    /// The tree, absolute and without links.
    pub(crate) tree: PathBuf,
    /// Device and inode of the tree when the host looked.
    pub(crate) tree_id: (u64, u64),
    /// The user's home.
    pub(crate) home: Option<PathBuf>,
    /// The private folder of the boundary.
    pub(crate) folder: PathBuf,
    /// Programs that are there wherever they lie, with what belongs to them.
    pub(crate) programs: Vec<PathBuf>,
    /// What is there read-only beyond the system.
    pub(crate) read: Vec<PathBuf>,
    /// What can be written beyond the tree.
    pub(crate) write: Vec<PathBuf>,
    /// What is not there.
    pub(crate) hide: Vec<PathBuf>,
    /// Folders of the host's, which are empty but for what is named besides. The tree may lie in one.
    pub(crate) masked: Vec<PathBuf>,
    /// What stays as it is in the tree, relative to it.
    pub(crate) protect: Vec<PathBuf>,
    /// What can be written in the tree and keeps its place, relative to it.
    pub(crate) anchors: Vec<PathBuf>,
    /// Folders and files elsewhere that belong to the tree.
    pub(crate) beside: Vec<ExternalMount>,
    /// Settings of the agent.
    pub(crate) settings: Vec<SettingsMount>,
    /// Variables for whoever is confined.
    pub(crate) environment: Vec<(String, OsString)>,
    /// Ports that may be connected to, where names cannot be told apart.
    pub(crate) ports: Vec<u16>,
    /// Addresses of this machine that the proxy reaches, and that are there inside as well.
    pub(crate) loopback: Vec<SocketAddr>,
    /// The program mounts something itself, which Landlock's rules for files do not allow.
    pub(crate) mounts: bool,
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
    /// In a strict boundary an empty folder of the session's own lies over it.
    pub fresh: bool,
}

/// A folder of settings: it is there, empty and for this session alone, but for what is named in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SettingsMount {
    /// The folder as it is for the user.
    pub(crate) folder: PathBuf,
    /// What is there read-only, of what the folder has.
    pub(crate) files: Vec<String>,
    /// A folder in it that outlives the session: where it is, and where it really lies.
    pub(crate) kept: Option<(PathBuf, PathBuf)>,
    /// A file with settings that is made for the session: where it is, and where the text for it lies.
    pub(crate) made: Option<(PathBuf, PathBuf)>,
}

impl BoundarySpec {
    /// What was written, and nothing that was made of it since: the file lies where whoever is inside can write.
    pub(crate) fn read(path: &Path, digest: &str) -> io::Result<Self> {
        let written = fs::read(path)?;
        if Digest::of(&written).as_str() != digest {
            return Err(io::Error::other("it is another one than the host wrote"));
        }
        Ok(serde_json::from_slice(&written)?)
    }

    /// Where the boundary's folder is for whoever is inside.
    pub(crate) fn inside(&self) -> &Path {
        match self.level {
            SandboxLevel::Strict => Path::new(INSIDE),
            SandboxLevel::Off | SandboxLevel::Write => &self.folder,
        }
    }
}
