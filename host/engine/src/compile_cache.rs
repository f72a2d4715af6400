//! Compiled components, kept between runs of the host. Compiled code is native code, so a file is mapped only if a host of this
//! user wrote it in this folder, and it was not changed since.
//!
//! Each file of code has a record of its identity (device, inode, size, times), sealed with a key that never leaves the private
//! folder. A file that is foreign, copied, renamed, truncated or changed does not match its record: it is ignored and written
//! again. That is how a system trusts its own executables; hashing them at each start would cost as much as the rest of a warm
//! start. A cached component has passed its trial, so a warm start makes no instance either. An error of the cache never makes
//! a load fail: without a cache it is slower.

use std::fs::{self, DirBuilder, Metadata, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_core::Digest;
use serde::{Deserialize, Serialize};
use wasmtime::component::Component;

const KEY_FILE: &str = "key";
const KEY_BYTES: usize = 32;
const TAG_BYTES: usize = 32;

/// End of the name of a file of code.
const CODE: &str = "cwasm";

/// Extension of the record file: the tag, then a [`CacheRecord`] as JSON.
const RECORD: &str = "record";

/// Longer than any record.
const MAX_RECORD_BYTES: u64 = 4096;

/// Components kept; the oldest go first. Each leaves one for each engine it met.
const MAX_FILES: usize = 64;

/// Bytes kept: several interpreters, each some hundred MiB of code at most. Components of strangers are not to fill the disk.
const MAX_BYTES: u64 = 1 << 30;

/// Longer than a tick of any clock that a file system takes its times from (10 ms at most): a change to a file after this delay
/// has another time than a change before it.
const CLOCK_TICK: Duration = Duration::from_millis(20);

/// A private folder of compiled components.
pub(crate) struct CompileCache {
    folder: PathBuf,
    key: [u8; KEY_BYTES],
}

/// What a component is kept under.
pub(crate) struct CacheKey {
    /// Seen by the cache alone, so it need not be the digest that people see: this one takes a third of the time.
    component: blake3::Hash,
    engine: Digest,
}

/// What is known of a component that was kept.
#[derive(Serialize, Deserialize)]
struct CacheRecord {
    digest: Digest,
    file: FileIdentity,
}

/// Which file it is, and that it was not written to since. The time of the last change of a file cannot be set by
/// anyone but the system.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct FileIdentity {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl From<&Metadata> for FileIdentity {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl CacheKey {
    /// For these bytes and this engine.
    pub(crate) fn new(component: &[u8], engine: &Digest) -> Self {
        Self { component: blake3::hash(component), engine: engine.clone() }
    }
}

/// A component from the cache.
pub(crate) struct CachedComponent {
    pub(crate) component: Component,
    pub(crate) digest: Digest,
}

impl CompileCache {
    /// Opens the folder, creates it if it is missing, and reads its key or makes one. An error if another user could write into
    /// the folder.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let metadata = fs::symlink_metadata(folder)?;
        if !metadata.is_dir() || !is_private(&metadata) {
            let message =
                format!("{} is not a folder of mode 0700 that belongs to this user", folder.display());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        let key = match read_key(&folder.join(KEY_FILE)) {
            Some(key) => key,
            None => make_key(folder)?,
        };
        Ok(Self { folder: folder.to_owned(), key })
    }

    /// The component, if this host compiled and tried it with this engine.
    pub(crate) fn load(&self, wasm: &wasmtime::Engine, entry: &CacheKey) -> Option<CachedComponent> {
        let sealed = read_private(&self.path(entry, RECORD), MAX_RECORD_BYTES).ok()?;
        let (tag, record) = sealed.split_first_chunk::<TAG_BYTES>()?;
        // `blake3::Hash` compares in constant time.
        if self.tag(entry, record) != blake3::Hash::from_bytes(*tag) {
            return None;
        }
        let CacheRecord { digest, file } = serde_json::from_slice(record).ok()?;
        let path = self.path(entry, CODE);
        let metadata = fs::symlink_metadata(&path).ok()?;
        if !metadata.is_file() || !is_private(&metadata) || FileIdentity::from(&metadata) != file {
            return None;
        }
        // SAFETY: `deserialize_file` maps the file and runs it. A host of this user (no other user knows the key) wrote it for
        // this component and this engine, read it back, and recorded its identity; it is that file, and it was not written to
        // since. No other user can replace it: the folder is private, and a host of this user only writes code there that it
        // compiled itself.
        #[allow(unsafe_code)]
        let component = unsafe { Component::deserialize_file(wasm, path) }.ok()?;
        Some(CachedComponent { component, digest })
    }

    /// Keeps a component that passed its trial. Errors are for a log: the next start compiles again.
    pub(crate) fn store(&self, entry: &CacheKey, compiled: &Component, digest: &Digest) -> io::Result<()> {
        let code = compiled.serialize().map_err(io::Error::other)?;
        let path = self.path(entry, CODE);
        self.write(&path, &[&code])?;
        // Changes from here on show in the times; changes before show in the content.
        std::thread::sleep(CLOCK_TICK);
        let file = FileIdentity::from(&fs::symlink_metadata(&path)?);
        if read_private(&path, code.len() as u64)? != code {
            return Err(io::Error::other("the file was changed while it was written"));
        }
        let record = serde_json::to_vec(&CacheRecord { digest: digest.clone(), file })?;
        self.write(&self.path(entry, RECORD), &[self.tag(entry, &record).as_bytes(), &record])?;
        self.prune()
    }

    /// Writes a whole file, and syncs it to disk before it gets its name.
    fn write(&self, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.as_file().set_permissions(Permissions::from_mode(0o400))?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    }

    /// The seal of a record. A record under another name has another.
    fn tag(&self, entry: &CacheKey, record: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        // All parts before the record have a fixed length.
        hasher.update(b"baton compiled component 1\n");
        hasher.update(entry.component.as_bytes());
        hasher.update(entry.engine.hex().as_bytes());
        hasher.update(record);
        hasher.finalize()
    }

    fn path(&self, entry: &CacheKey, end: &str) -> PathBuf {
        self.folder.join(format!("{}-{}.{end}", entry.component.to_hex(), entry.engine.short()))
    }

    fn prune(&self) -> io::Result<()> {
        let mut files: Vec<_> = fs::read_dir(&self.folder)?
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let metadata = fs::symlink_metadata(&path).ok()?;
                let file = (metadata.modified().ok()?, metadata.len(), path);
                file.2.extension().is_some_and(|end| end == CODE).then_some(file)
            })
            .collect();
        files.sort();
        let mut kept_bytes = 0u64;
        for (place, (_, bytes, path)) in files.iter().rev().enumerate() {
            kept_bytes = kept_bytes.saturating_add(*bytes);
            // The newest file stays at any size: it was asked for just now.
            if place > 0 && (place >= MAX_FILES || kept_bytes > MAX_BYTES) {
                fs::remove_file(path)?;
                // Code without a record is not trusted; a record without code means nothing.
                let _ = fs::remove_file(path.with_extension(RECORD));
            }
        }
        Ok(())
    }
}

/// Whether this user owns it, and no other user may read or write it.
fn is_private(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o077 == 0
}

/// Reads a file that is private, no link, and not longer than that.
fn read_private(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || !is_private(&metadata) || metadata.len() > max_bytes {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_key(path: &Path) -> Option<[u8; KEY_BYTES]> {
    read_private(path, KEY_BYTES as u64).ok()?.try_into().ok()
}

/// Makes a key if it is missing or invalid. If two hosts do so at the same time, the last key wins, and code that was cached
/// under the other key is compiled once more.
fn make_key(folder: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?; // Mode 0600.
    file.write_all(&key)?;
    file.persist(folder.join(KEY_FILE))?;
    Ok(key)
}
