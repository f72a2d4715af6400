//! Writes files for people and agents into the workspace. They are copies of data in the journal and the artifact store, so
//! they are complete at any moment but not synced to disk.

use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;

use crate::Workspace;
use crate::baton_folder::open_up;
use crate::error::WorkspaceError;

/// Makes names of temporary files unlike each other within this process.
static ORDINAL: AtomicU64 = AtomicU64::new(0);

/// The mode of a new script; the user's umask applies to it.
const SCRIPT: u32 = 0o777;
/// The mode of every other file.
const PLAIN: u32 = 0o666;

/// Writes a temporary file next to the target, then renames it: a reader sees the old file or the new one.
pub(crate) fn write(
    workspace: &Workspace,
    relative: &str,
    bytes: &[u8],
    executable: bool,
) -> Result<(), WorkspaceError> {
    let (folder, name) = plain(relative)?;
    let ordinal = ORDINAL.fetch_add(1, Ordering::Relaxed);
    let temporary = format!(".{name}.{}-{ordinal}.tmp", std::process::id());
    let mode = if executable { SCRIPT } else { PLAIN };
    let written =
        workspace.own_folder(folder).and_then(|dir| match put(&dir, &temporary, name, bytes, mode) {
            Err(error) if workspace.is_denied(&error, Some(folder)) => {
                open_up(&dir)?;
                put(&dir, &temporary, name, bytes, mode)
            }
            written => written,
        });
    written.map_err(failed(workspace, relative))
}

fn put(dir: &Dir, temporary: &str, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = dir.open_with(temporary, OpenOptions::new().write(true).create_new(true).mode(mode))?;
    let written = file.write_all(bytes).and_then(|()| dir.rename(temporary, dir, name));
    if written.is_err() {
        // The first error is the important one; a leftover temporary file is only untidy.
        let _ = dir.remove_file(temporary);
    }
    written
}

/// Whether a regular file has these bytes and the right executable bit.
pub(crate) fn holds(workspace: &Workspace, relative: &str, bytes: &[u8], executable: bool) -> bool {
    let look = |folder: &Path, name: &str| -> io::Result<bool> {
        let dir = workspace.folder_without_links(folder, false)?;
        let meta = dir.symlink_metadata(name)?;
        let runs = meta.mode() & 0o100 != 0;
        if !meta.is_file() || meta.len() != bytes.len() as u64 || (executable && !runs) {
            return Ok(false);
        }
        let mut found = Vec::with_capacity(bytes.len());
        // It may have become a pipe since, which is not waited for.
        let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
        let file = dir.open_with(name, OpenOptions::new().read(true).custom_flags(nonblocking))?;
        file.take(bytes.len() as u64 + 1).read_to_end(&mut found)?;
        Ok(found == bytes)
    };
    plain(relative).is_ok_and(|(folder, name)| look(folder, name).unwrap_or(false))
}

/// Removes a file; a missing one counts as removed.
pub(crate) fn remove(workspace: &Workspace, relative: &str) -> Result<(), WorkspaceError> {
    let (folder, name) = plain(relative)?;
    let removed = workspace.folder_without_links(folder, false).and_then(|dir| dir.remove_file(name));
    match removed {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(failed(workspace, relative)(error))
        }
        _ => Ok(()),
    }
}

/// Removes the temporary files of writers that were killed. Best effort: they are only untidy.
pub(crate) fn sweep(workspace: &Workspace, folder: &str) {
    let Ok(dir) = workspace.folder_without_links(Path::new(folder), false) else { return };
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

/// The folder and the name in it.
fn plain(relative: &str) -> Result<(&Path, &str), WorkspaceError> {
    let target = Path::new(relative);
    let plain = target.components().all(|part| matches!(part, Component::Normal(_)));
    match (target.parent(), target.file_name().and_then(|name| name.to_str()), plain) {
        (Some(folder), Some(name), true) => Ok((folder, name)),
        _ => Err(WorkspaceError::Outside { path: relative.to_owned() }),
    }
}

fn failed(workspace: &Workspace, relative: &str) -> impl Fn(io::Error) -> WorkspaceError {
    move |source| WorkspaceError::Write {
        root: workspace.root().to_owned(),
        path: relative.to_owned(),
        source,
    }
}
