//! Files that hold what only their user may read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// Makes names of half-written files unlike each other.
static ORDINAL: AtomicU64 = AtomicU64::new(1);

/// Writes a value as JSON, with the folders that lack above it, all for this user alone. Who needs the file whole or not at all calls
/// [`replace`].
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    write(path, &serde_json::to_vec(value)?).map(drop)
}

/// Writes a file whole or not at all, also after a power cut and where another thread writes the same: written beside, then renamed, each once
/// it is on disk. Blocking.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let ordinal = ORDINAL.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("tmp-{}-{ordinal}", std::process::id()));
    write(&beside, bytes)?.sync_all()?;
    fs::rename(&beside, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    Ok(file)
}
