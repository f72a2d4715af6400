//! Writes files that people and agents read into the workspace. They are copies of what the journal and the artifact
//! store hold, so they are whole at any moment but not synced to disk.

use std::io::{self, Write as _};
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use crate::error::WorkspaceError;

/// Makes names of temporary files unlike each other within this process.
static ORDINAL: AtomicU64 = AtomicU64::new(0);

/// Writes beside the target, then renames: a reader sees the old file or the new one.
pub(crate) fn write(root: &Path, relative: &str, bytes: &[u8]) -> Result<(), WorkspaceError> {
    let target = Path::new(relative);
    let plain = target.components().all(|part| matches!(part, Component::Normal(_)));
    let (Some(name), true) = (target.file_name().and_then(|name| name.to_str()), plain) else {
        return Err(WorkspaceError::Outside { path: relative.to_owned() });
    };
    let ordinal = ORDINAL.fetch_add(1, Ordering::Relaxed);
    let temporary = target.with_file_name(format!(".{name}.{}-{ordinal}.tmp", std::process::id()));
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    put(root, folder, &temporary, target, bytes).map_err(|source| WorkspaceError::Write {
        root: root.to_owned(),
        path: relative.to_owned(),
        source,
    })
}

fn put(root: &Path, folder: Option<&Path>, temporary: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    let dir = Dir::open_ambient_dir(root, ambient_authority())?;
    if let Some(folder) = folder {
        dir.create_dir_all(folder)?;
    }
    let mut file = dir.open_with(temporary, OpenOptions::new().write(true).create_new(true))?;
    let written = file.write_all(bytes).and_then(|()| dir.rename(temporary, &dir, target));
    if written.is_err() {
        // The first error is the one to tell; a leftover temporary file is only untidy.
        let _ = dir.remove_file(temporary);
    }
    written
}
