//! Writes files that people and agents read into the workspace. They are copies of what the journal and the artifact
//! store hold, so they are whole at any moment but not synced to disk.

use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

use crate::error::WorkspaceError;
use crate::root::Root;

/// Makes names of temporary files unlike each other within this process.
static ORDINAL: AtomicU64 = AtomicU64::new(0);

/// What a script is created with; the user's mask takes away from it.
const SCRIPT: u32 = 0o777;
/// What every other file is.
const PLAIN: u32 = 0o666;

/// Writes beside the target, then renames: a reader sees the old file or the new one.
pub(crate) fn write(
    root: &Root,
    relative: &str,
    bytes: &[u8],
    executable: bool,
) -> Result<(), WorkspaceError> {
    let (target, name) = plain(relative)?;
    let ordinal = ORDINAL.fetch_add(1, Ordering::Relaxed);
    let temporary = target.with_file_name(format!(".{name}.{}-{ordinal}.tmp", std::process::id()));
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mode = if executable { SCRIPT } else { PLAIN };
    put(root, folder, &temporary, target, bytes, mode).map_err(failed(root, relative))
}

fn put(
    root: &Root,
    folder: Option<&Path>,
    temporary: &Path,
    target: &Path,
    bytes: &[u8],
    mode: u32,
) -> io::Result<()> {
    let dir = root.dir()?;
    if let Some(folder) = folder {
        dir.create_dir_all(folder)?;
    }
    let mut file = dir.open_with(temporary, OpenOptions::new().write(true).create_new(true).mode(mode))?;
    let written = file.write_all(bytes).and_then(|()| dir.rename(temporary, &dir, target));
    if written.is_err() {
        // The first error is the one to tell; a leftover temporary file is only untidy.
        let _ = dir.remove_file(temporary);
    }
    written
}

/// Whether a regular file has these bytes, and may be executed where it should be.
pub(crate) fn holds(root: &Root, relative: &str, bytes: &[u8], executable: bool) -> bool {
    let look = || -> io::Result<bool> {
        let dir = root.dir()?;
        let meta = dir.symlink_metadata(relative)?;
        let runs = meta.mode() & 0o100 != 0;
        if !meta.is_file() || meta.len() != bytes.len() as u64 || (executable && !runs) {
            return Ok(false);
        }
        let mut found = Vec::with_capacity(bytes.len());
        // It may have become a pipe since, which is not waited for.
        let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
        let file = dir.open_with(relative, OpenOptions::new().read(true).custom_flags(nonblocking))?;
        file.take(bytes.len() as u64 + 1).read_to_end(&mut found)?;
        Ok(found == bytes)
    };
    plain(relative).is_ok() && look().unwrap_or(false)
}

/// Removes a file; one that is not there is removed already.
pub(crate) fn remove(root: &Root, relative: &str) -> Result<(), WorkspaceError> {
    let (target, _) = plain(relative)?;
    let removed = root.dir().and_then(|dir| dir.remove_file(target));
    match removed {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(failed(root, relative)(error))
        }
        _ => Ok(()),
    }
}

/// Removes the temporary files of writers that were killed. Best effort: they are only untidy.
pub(crate) fn sweep(root: &Root, folder: &str) {
    let Ok((folder, _)) = plain(folder) else { return };
    let opened = root.dir().and_then(|dir| dir.open_dir(folder));
    let Ok(dir) = opened else { return };
    for entry in dir.entries().into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(is_temporary) {
            let _ = dir.remove_file(&name);
        }
    }
}

/// ".progress.json.4711-3.tmp".
fn is_temporary(name: &str) -> bool {
    let Some(stem) = name.strip_prefix('.').and_then(|name| name.strip_suffix(".tmp")) else { return false };
    let Some((_, numbers)) = stem.rsplit_once('.') else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    numbers.split_once('-').is_some_and(|(pid, ordinal)| is_number(pid) && is_number(ordinal))
}

fn plain(relative: &str) -> Result<(&Path, &str), WorkspaceError> {
    let target = Path::new(relative);
    let plain = target.components().all(|part| matches!(part, Component::Normal(_)));
    match (target.file_name().and_then(|name| name.to_str()), plain) {
        (Some(name), true) => Ok((target, name)),
        _ => Err(WorkspaceError::Outside { path: relative.to_owned() }),
    }
}

fn failed(root: &Root, relative: &str) -> impl Fn(io::Error) -> WorkspaceError {
    move |source| WorkspaceError::Write { root: root.path().to_owned(), path: relative.to_owned(), source }
}
