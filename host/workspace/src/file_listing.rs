//! Lists the files of a workspace and takes their fingerprints. Follows no link and waits for no pipe.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::iter;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use baton_core::visible::visible_name;
use baton_core::{Digest, DigestBuilder};
use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::error::WorkspaceError;
use crate::git::GitSnapshot;
use crate::root::WorkspaceRoot;

/// Files that are listed and counted, in the order of their paths. Ten thousand covers a large repository, and a
/// baseline of them stays near 2 MB of JSON.
pub const MAX_FILES: usize = 10_000;

/// A file is hashed up to this size: larger ones are rarely work of agents, and are compared by size and times.
pub const MAX_HASHED_BYTES: u64 = 64 << 20;

/// Source files are smaller than this. Media and databases, which are larger, have a share of their own, so that a file that comes
/// after them is still hashed.
const SMALL_FILE_BYTES: u64 = 1 << 20;

/// One pass hashes at most this much of small files, and as much of larger ones, each about half a second; files beyond that are
/// compared by size and times.
const MAX_HASHED_BYTES_IN_ALL: u64 = 256 << 20;

/// A file is hashed in pieces of this size.
const HASHED_AT_ONCE: usize = 64 << 10;

/// Without git, folders deeper than this are not entered: people's files are not that deep.
const MAX_DEPTH: usize = 64;

/// Without git, at most this many directory entries are examined, so that a flood of files cannot block the host.
const MAX_ENTRIES: usize = 200_000;

/// Folders of git and of Baton itself.
const OURS: [&str; 2] = [".git", ".baton"];

/// Without git it is unknown which files are generated; these two names are, nearly everywhere.
const GENERATED: [&str; 2] = ["target", "node_modules"];

/// Files that interpreters and test runners leave in each folder where they run. They are not kept in git, many projects do not ignore
/// them, and they are not work.
const CACHES: [&str; 6] =
    ["__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox"];

/// A workspace as one pass sees it.
pub(crate) struct FileListing {
    /// Git's facts; absent if it is not a work tree.
    pub(crate) git: Option<GitSnapshot>,
    /// The folder; absent if it is gone.
    dir: Option<Dir>,
    /// Its files by path, at most [`MAX_FILES`].
    pub(crate) files: Vec<PathBuf>,
    /// There are more.
    pub(crate) cut: bool,
    /// For some of the files beyond, git does not report whether they differ either.
    pub(crate) has_unseen: bool,
}

impl FileListing {
    /// Opens the folder and lists its files.
    pub(crate) fn open(
        root: &WorkspaceRoot,
        git: Option<GitSnapshot>,
        own: Option<&Path>,
    ) -> Result<Self, WorkspaceError> {
        let dir = folder(root)?;
        let (mut paths, is_whole) = match (&git, &dir) {
            (_, None) => (Vec::new(), true),
            (Some(git), Some(dir)) => listed(dir, &git.files),
            (None, Some(dir)) => walk(dir, Path::new(""), &GENERATED),
        };
        paths.retain(|path| own.is_none_or(|own| !path.starts_with(own)));
        paths.sort();
        paths.dedup();
        let mut listing = Self { git, dir, files: Vec::new(), cut: !is_whole, has_unseen: !is_whole };
        let mut paths = paths.into_iter();
        for path in paths.by_ref() {
            if listing.stat(&path).is_none() {
                continue; // A tracked file that was deleted, or one that vanished just now.
            }
            if listing.files.len() == MAX_FILES {
                listing.cut = true;
                listing.has_unseen |= listing.is_beyond_git(iter::once(path).chain(paths));
                break;
            }
            listing.files.push(path);
        }
        Ok(listing)
    }

    /// Opens the folder without listing anything: enough to ask for single files.
    pub(crate) fn open_bare(root: &WorkspaceRoot) -> Result<Self, WorkspaceError> {
        Ok(Self { git: None, dir: folder(root)?, files: Vec::new(), cut: false, has_unseen: false })
    }

    /// Whether git does not list one of these files, for example in a repository within the workspace, so that it does not
    /// report whether they differ.
    fn is_beyond_git(&self, mut files: impl Iterator<Item = PathBuf>) -> bool {
        let Some(git) = &self.git else { return true };
        let known: BTreeSet<&PathBuf> = git.files.iter().collect();
        files.any(|file| !known.contains(&file))
    }

    /// The files below a folder, in the order of their paths; none if it is not a folder, or has too many files. The folders of
    /// git and Baton, and caches, are left out.
    pub(crate) fn files_below(&self, folder: &Path) -> Option<Vec<PathBuf>> {
        let dir = self.dir.as_ref()?;
        let (mut files, is_whole) = walk(dir, folder, &[]);
        files.sort();
        (is_whole && files.len() <= MAX_FILES).then_some(files)
    }

    /// Whether a folder is at this path, and no link to one.
    pub(crate) fn is_folder(&self, path: &Path) -> bool {
        self.dir.as_ref().is_some_and(|dir| dir.symlink_metadata(path).is_ok_and(|meta| meta.is_dir()))
    }

    /// The system's data of a file or a link; none if it is absent, a folder, or out of reach.
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

    /// Content address of a regular file, or of a link by [`link_digest`]; none if it is too large or unreadable.
    pub(crate) fn digest(&self, path: &Path, budget: &mut HashBudget) -> Option<Digest> {
        let dir = self.dir.as_ref()?;
        let meta = dir.symlink_metadata(path).ok()?;
        if meta.is_symlink() {
            return Some(link_digest(dir.read_link_contents(path).ok()?.as_os_str().as_bytes()));
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
        let mut file = file.take(MAX_HASHED_BYTES + 1);
        let (mut digest, mut piece) = (DigestBuilder::default(), [0; HASHED_AT_ONCE]);
        loop {
            match file.read(&mut piece) {
                Ok(0) => break,
                Ok(read) => digest.update(&piece[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        // The limit is used up if the file has grown beyond it since.
        (file.limit() > 0).then(|| digest.finish())
    }

    /// When the folder was created, in nanoseconds since the epoch; none if its file system does not record it.
    pub(crate) fn made_ns(&self) -> Option<u64> {
        let made = self.dir.as_ref()?.dir_metadata().ok()?.created().ok()?.into_std();
        u64::try_from(made.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
    }

    /// When a file was last written or moved to its place, or, if none is there, when the nearest folder above it was last changed. No
    /// program can set these times back.
    pub(crate) fn touched_ns(&self, path: &Path) -> Option<i64> {
        if let Some(stat) = self.stat(path) {
            return Some(stat.changed_ns);
        }
        let dir = self.dir.as_ref()?;
        let above = path.ancestors().skip(1).find_map(|above| match above.as_os_str().is_empty() {
            true => dir.dir_metadata().ok(),
            false => dir.symlink_metadata(above).ok(),
        })?;
        Some(nanoseconds(above.ctime(), above.ctime_nsec()))
    }
}

/// Content address of a link. It differs from that of a file with the target as its text: an agent may replace a file by a
/// link, and the link's target is another program.
pub(crate) fn link_digest(target: &[u8]) -> Digest {
    let mut digest = DigestBuilder::default();
    digest.update(b"link\0");
    digest.update(target);
    digest.finish()
}

/// The workspace; absent if it is gone.
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
pub(crate) struct HashBudget {
    small: u64,
    large: u64,
}

impl HashBudget {
    pub(crate) fn new() -> Self {
        Self { small: MAX_HASHED_BYTES_IN_ALL, large: MAX_HASHED_BYTES_IN_ALL }
    }

    fn take(&mut self, bytes: u64) -> bool {
        let share = if bytes <= SMALL_FILE_BYTES { &mut self.small } else { &mut self.large };
        let fits = bytes <= MAX_HASHED_BYTES && bytes <= *share;
        if fits {
            *share -= bytes;
        }
        fits
    }
}

/// A path as facts carry it: `/` between components, invalid UTF-8 replaced, and control characters made visible, since it gets
/// into prompts and onto terminals.
pub(crate) fn shown(path: &Path) -> String {
    visible_name(&path.to_string_lossy()).into_owned()
}

fn is_ours(path: &Path) -> bool {
    path.components().next().is_some_and(|first| OURS.iter().any(|ours| first.as_os_str() == *ours))
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// The files that git lists, and whether these are all. Of a repository inside the workspace it names only the folder, so that is walked.
fn listed(root: &Dir, files: &[PathBuf]) -> (Vec<PathBuf>, bool) {
    let (mut found, mut is_whole) = (Vec::new(), true);
    for path in files.iter().filter(|path| !is_ours(path) && !is_cached(path)) {
        if root.symlink_metadata(path).is_ok_and(|meta| meta.is_dir()) {
            let (below, all) = walk(root, path, &GENERATED);
            found.extend(below);
            is_whole &= all;
        } else {
            found.push(path.clone());
        }
    }
    (found, is_whole)
}

/// Whether it is in a folder of [`CACHES`].
fn is_cached(path: &Path) -> bool {
    let mut parts = path.components();
    parts.any(|part| CACHES.iter().any(|cache| part.as_os_str() == *cache))
}

/// Files below a folder without the help of git, and whether these are all: breadth first, no links, bounded, without folders
/// of these names and those of git, Baton or a cache.
fn walk(root: &Dir, start: &Path, without: &[&str]) -> (Vec<PathBuf>, bool) {
    let (mut found, mut is_whole) = (Vec::new(), true);
    let mut folders = BTreeSet::from([(0_usize, start.to_owned())]);
    let mut looked_at = 0;
    let skipped = OURS.iter().chain(without).chain(&CACHES);
    while let Some((depth, folder)) = folders.pop_first() {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { &folder };
        let Ok(entries) = root.read_dir(here) else { continue };
        for entry in entries.flatten() {
            looked_at += 1;
            if looked_at > MAX_ENTRIES {
                return (found, false);
            }
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else { continue };
            if !kind.is_dir() {
                found.push(folder.join(&name));
            } else if skipped.clone().any(|skipped| name == *skipped) {
                continue;
            } else if depth < MAX_DEPTH {
                folders.insert((depth + 1, folder.join(&name)));
            } else {
                is_whole = false;
            }
        }
    }
    (found, is_whole)
}
