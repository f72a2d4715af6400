//! Immutable files by content address, below one folder that no path can leave (cap-std). Knows no names: those
//! are the index's.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use baton_core::Digest;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, DirBuilderExt, OpenOptions, OpenOptionsExt};

use crate::error::StoreError;

/// Distinguishes unfinished files of one process.
static TEMP_FILE_COUNTER: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
pub(crate) struct ObjectStore {
    dir: Dir,
    path: PathBuf,
}

impl ObjectStore {
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(StoreError::io("open", path))?;
        Ok(Self { dir, path: path.to_owned() })
    }

    /// Folder and file name of an object. Two levels keep each folder small if there are very many objects.
    fn place(digest: &Digest) -> (&str, &str) {
        digest.hex().split_at(2)
    }

    /// For messages.
    fn path_of(&self, digest: &Digest) -> PathBuf {
        let (folder, file) = Self::place(digest);
        self.path.join(folder).join(file)
    }

    /// Keeps bytes that have this digest: whole or not at all, and on disk when this returns.
    pub(crate) fn put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.path_of(digest);
        let io = |e| StoreError::io("keep", &path)(e);
        let (folder, file) = Self::place(digest);
        let dir = self.folder(folder).map_err(io)?;
        // An object appears by a rename, so an existing one is complete: its length is proof enough.
        if dir.symlink_metadata(file).is_ok_and(|m| m.is_file() && m.len() == bytes.len() as u64) {
            return Ok(());
        }
        let unfinished = format!(
            "unfinished-{}-{}",
            std::process::id(),
            TEMP_FILE_COUNTER.fetch_add(1, Ordering::Relaxed)
        );
        let written = write_new(&dir, &unfinished, bytes).and_then(|()| dir.rename(&unfinished, &dir, file));
        if written.is_err() {
            // Nothing refers to an unfinished file, so a failed removal is not reported as a second error.
            let _ = dir.remove_file(&unfinished);
        }
        written.and_then(|()| sync(&dir)).map_err(io)
    }

    /// Removes an object that nothing refers to; a missing one is not an error.
    pub(crate) fn remove(&self, digest: &Digest) -> Result<(), StoreError> {
        let (folder, file) = Self::place(digest);
        match self.dir.remove_file(Path::new(folder).join(file)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(StoreError::io("remove", &self.path_of(digest))(e))
            }
            _ => Ok(()),
        }
    }

    /// The whole object. Refuses a changed one.
    pub(crate) fn get(&self, digest: &Digest, max_bytes: u64) -> Result<Vec<u8>, StoreError> {
        let bytes = self.range(digest, 0, max_bytes)?;
        if Digest::of(&bytes) != *digest {
            return Err(StoreError::DigestMismatch { path: self.path.clone(), digest: digest.clone() });
        }
        Ok(bytes)
    }

    /// At most `limit` bytes from `offset`; empty beyond the end.
    pub(crate) fn range(&self, digest: &Digest, offset: u64, limit: u64) -> Result<Vec<u8>, StoreError> {
        let (folder, file) = Self::place(digest);
        let read = || {
            let mut object = self.dir.open(Path::new(folder).join(file))?;
            object.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::new();
            object.take(limit).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(StoreError::io("read", &self.path_of(digest)))
    }

    fn folder(&self, name: &str) -> std::io::Result<Dir> {
        let mut private = DirBuilder::new();
        private.mode(0o700);
        match self.dir.create_dir_with(name, &private) {
            Ok(()) => sync(&self.dir)?,
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
        self.dir.open_dir(name)
    }
}

fn write_new(dir: &Dir, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = dir.open_with(name, &options)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A rename is on disk when its folder is.
fn sync(dir: &Dir) -> std::io::Result<()> {
    dir.open(".")?.sync_all()
}
