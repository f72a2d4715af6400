//! Lists the files of a workspace and takes their fingerprints. Follows no link and waits for no pipe.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use baton_core::Digest;
use baton_core::visible::visible_name;
use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::error::WorkspaceError;
use crate::git::GitSnapshot;
use crate::root::WorkspaceRoot;

/// Files that are listed and counted, in the order of their paths. Ten thousand covers a large repository, and a
/// baseline of them stays near 2 MB of JSON.
pub const MAX_FILES: usize = 10_000;

/// A file is hashed up to this size: source files are smaller, and media or databases are told apart by size and
/// times.
pub const MAX_HASHED_BYTES: u64 = 1 << 20;

/// One pass hashes at most this much in all, about half a second; what is beyond is told apart by size and times.
const MAX_HASHED_BYTES_IN_ALL: u64 = 256 << 20;

/// Without git, folders deeper than this are not entered: nothing that people write lies deeper.
const MAX_DEPTH: usize = 64;

/// Without git, at most this many directory entries are looked at, so that a flood of files cannot hold the host.
const MAX_ENTRIES: usize = 200_000;

/// What belongs to git and to Baton itself.
const OURS: [&str; 2] = [".git", ".baton"];

/// Without git nothing says what is generated; these two names are, nearly everywhere.
const GENERATED: [&str; 2] = ["target", "node_modules"];

/// What interpreters and test runners leave wherever they run. Nobody keeps it in git, many projects do not ignore it, and it is no work.
const CACHES: [&str; 6] =
    ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox"];

/// A workspace as one pass sees it.
pub(crate) struct FileListing {
    /// What git says; absent where it is no work tree.
    pub(crate) git: Option<GitSnapshot>,
    /// The folder; absent where it is gone.
    dir: Option<Dir>,
    /// Its files by path, at most [`MAX_FILES`].
    pub(crate) files: Vec<PathBuf>,
    /// There are more.
    pub(crate) cut: bool,
}

impl FileListing {
    /// Opens the folder and lists its files.
    pub(crate) fn open(
        root: &WorkspaceRoot,
        git: Option<GitSnapshot>,
        own: Option<&Path>,
    ) -> Result<Self, WorkspaceError> {
        let dir = folder(root)?;
        let mut paths = match (&git, &dir) {
            (_, None) => Vec::new(),
            (Some(git), Some(dir)) => listed(dir, &git.files),
            (None, Some(dir)) => walk(dir, Path::new("")),
        };
        paths.retain(|path| own.is_none_or(|own| !path.starts_with(own)));
        paths.sort();
        paths.dedup();
        let mut scene = Self { git, dir, files: Vec::new(), cut: false };
        for path in paths {
            if scene.stat(&path).is_none() {
                continue; // A tracked file that was deleted, or one that vanished just now.
            }
            if scene.files.len() == MAX_FILES {
                scene.cut = true;
                break;
            }
            scene.files.push(path);
        }
        Ok(scene)
    }

    /// Opens the folder without listing anything: enough to ask for single files.
    pub(crate) fn open_bare(root: &WorkspaceRoot) -> Result<Self, WorkspaceError> {
        Ok(Self { git: None, dir: folder(root)?, files: Vec::new(), cut: false })
    }

    /// What the system says of a file or a link; nothing where it is absent, a folder, or out of reach.
    pub(crate) fn stat(&self, path: &Path) -> Option<FileStat> {
        let meta = self.dir.as_ref()?.symlink_metadata(path).ok()?;
        // A pipe or a socket holds no work.
        (meta.is_file() || meta.is_symlink()).then(|| FileStat {
            bytes: meta.len(),
            modified_ns: nanoseconds(meta.mtime(), meta.mtime_nsec()),
            changed_ns: nanoseconds(meta.ctime(), meta.ctime_nsec()),
            inode: meta.ino(),
        })
    }

    /// Whether a file that an objective names is there. Links are followed, but not out of the workspace.
    pub(crate) fn has_file(&self, path: &str) -> bool {
        self.dir
            .as_ref()
            .is_some_and(|dir| dir.metadata(path).is_ok_and(|meta| meta.is_file() || meta.is_dir()))
    }

    /// Content address of a regular file, or of a link's target; nothing where it is too large or unreadable.
    pub(crate) fn digest(&self, path: &Path, budget: &mut HashBudget) -> Option<Digest> {
        let dir = self.dir.as_ref()?;
        let meta = dir.symlink_metadata(path).ok()?;
        if meta.is_symlink() {
            return Some(Digest::of(dir.read_link_contents(path).ok()?.as_os_str().as_bytes()));
        }
        if !meta.is_file() || !budget.take(meta.len()) {
            return None;
        }
        // The file may have become a pipe since: then opening must not wait for a writer.
        let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).ok()?;
        let file = dir.open_with(path, OpenOptions::new().read(true).custom_flags(nonblocking)).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(MAX_HASHED_BYTES + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= MAX_HASHED_BYTES).then(|| Digest::of(&bytes))
    }
}

/// The workspace; absent where it is gone.
fn folder(root: &WorkspaceRoot) -> Result<Option<Dir>, WorkspaceError> {
    match root.dir() {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(WorkspaceError::NoFolder { path: root.path().to_owned(), source }),
    }
}

/// Size and times of a file. Any write changes `changed_ns`, which no program can set back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileStat {
    pub(crate) bytes: u64,
    pub(crate) modified_ns: i64,
    pub(crate) changed_ns: i64,
    pub(crate) inode: u64,
}

/// How much more may be hashed in this pass.
pub(crate) struct HashBudget(u64);

impl HashBudget {
    pub(crate) fn new() -> Self {
        Self(MAX_HASHED_BYTES_IN_ALL)
    }

    fn take(&mut self, bytes: u64) -> bool {
        let fits = bytes <= MAX_HASHED_BYTES && bytes <= self.0;
        if fits {
            self.0 -= bytes;
        }
        fits
    }
}

/// A path as facts carry it: `/` between components, what is not UTF-8 replaced, and control characters made visible, since it gets into
/// prompts and onto terminals.
pub(crate) fn shown(path: &Path) -> String {
    visible_name(&path.to_string_lossy()).into_owned()
}

fn is_ours(path: &Path) -> bool {
    path.components().next().is_some_and(|first| OURS.iter().any(|ours| first.as_os_str() == *ours))
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// The files that git lists. Of a repository inside the workspace it names only the folder, so that is walked.
fn listed(root: &Dir, files: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in files.iter().filter(|path| !is_ours(path) && !is_cached(path)) {
        if root.symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
            found.extend(walk(root, path));
        } else {
            found.push(path.clone());
        }
    }
    found
}

/// Whether it lies in a folder of [`CACHES`].
fn is_cached(path: &Path) -> bool {
    let mut parts = path.components();
    parts.any(|part| CACHES.iter().any(|cache| part.as_os_str() == *cache))
}

/// Files below a folder where git is of no help: breadth first, no links, bounded.
fn walk(root: &Dir, start: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = BTreeSet::from([(0_usize, start.to_owned())]);
    let mut looked_at = 0;
    let skipped = OURS.iter().chain(&GENERATED).chain(&CACHES);
    while let Some((depth, folder)) = folders.pop_first() {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let Ok(entries) = root.read_dir(here) else { continue };
        for entry in entries.flatten() {
            looked_at += 1;
            if looked_at > MAX_ENTRIES {
                return found;
            }
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else { continue };
            if !kind.is_dir() {
                found.push(folder.join(&name));
            } else if depth < MAX_DEPTH && !skipped.clone().any(|skipped| name == *skipped) {
                folders.insert((depth + 1, folder.join(&name)));
            }
        }
    }
    found
}
