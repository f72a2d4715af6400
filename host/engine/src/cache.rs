//! Compiled components, kept between runs of the host. Compiled code is native code, so a file is mapped only where
//! this very user's host made it: it carries a keyed hash, and the key never leaves the private folder.
//!
//! A file that is foreign, renamed, truncated or changed fails the hash, is ignored and written anew. Nothing here
//! makes a load fail: without a cache it is slower.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use baton_core::Digest;
use wasmtime::component::Component;

const KEY_FILE: &str = "key";
const KEY_BYTES: usize = 32;
const TAG_BYTES: usize = 32;

/// Larger than the code of any component that the loader takes: 18 MiB of Python become some 60.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// Files kept; the oldest go first. Each policy leaves one for each engine it met.
const MAX_FILES: usize = 64;

/// A private folder of compiled components.
pub(crate) struct Cache {
    folder: PathBuf,
    key: [u8; KEY_BYTES],
}

impl Cache {
    /// Opens the folder, makes it where it is missing, and takes its key or makes one. Errors where somebody else
    /// could write into the folder.
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

    /// The component, where this host compiled it for this engine.
    pub(crate) fn load(
        &self,
        engine: &wasmtime::Engine,
        component: &Digest,
        compatible: &Digest,
    ) -> Option<Component> {
        let file = read_private(&self.path(component, compatible), MAX_FILE_BYTES).ok()?;
        let (tag, code) = file.split_first_chunk::<TAG_BYTES>()?;
        // `blake3::Hash` compares in constant time.
        if self.tag(component, compatible, code) != blake3::Hash::from_bytes(*tag) {
            return None;
        }
        // SAFETY: `deserialize` runs the bytes as code. These are, bit by bit, what `Component::serialize` gave to a
        // host of this user (nobody else knows the key) for this component and this engine configuration, and they
        // were read into memory before they were checked.
        #[allow(unsafe_code)]
        unsafe { Component::deserialize(engine, code) }.ok()
    }

    /// Keeps the component. Errors are for a log: the next start compiles again.
    pub(crate) fn store(
        &self,
        compiled: &Component,
        component: &Digest,
        compatible: &Digest,
    ) -> io::Result<()> {
        let code = compiled.serialize().map_err(io::Error::other)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?; // Mode 0600.
        file.write_all(self.tag(component, compatible, &code).as_bytes())?;
        file.write_all(&code)?;
        file.persist(self.path(component, compatible))?;
        self.prune()
    }

    /// The keyed hash of the code, for one component and one engine: a file under another name does not fit.
    fn tag(&self, component: &Digest, compatible: &Digest, code: &[u8]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        // All parts before the code have a fixed length.
        hasher.update(b"baton compiled component 1\n");
        hasher.update(component.hex().as_bytes());
        hasher.update(compatible.hex().as_bytes());
        hasher.update(code);
        hasher.finalize()
    }

    fn path(&self, component: &Digest, compatible: &Digest) -> PathBuf {
        self.folder.join(format!("{}-{}.cwasm", component.hex(), compatible.short()))
    }

    fn prune(&self) -> io::Result<()> {
        let mut files: Vec<_> = fs::read_dir(&self.folder)?
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let age = fs::symlink_metadata(&path).ok()?.modified().ok()?;
                path.extension().is_some_and(|end| end == "cwasm").then_some((age, path))
            })
            .collect();
        files.sort();
        for (_, path) in files.iter().take(files.len().saturating_sub(MAX_FILES)) {
            fs::remove_file(path)?;
        }
        Ok(())
    }
}

/// Whether nobody else may read or write it, and this user owns it.
fn is_private(metadata: &fs::Metadata) -> bool {
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
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    file.take(max_bytes).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn read_key(path: &Path) -> Option<[u8; KEY_BYTES]> {
    read_private(path, KEY_BYTES as u64).ok()?.try_into().ok()
}

/// Makes a key in place of one that is missing or unfit. Where another host does so at the same time the last one
/// wins, and what was kept under the other key is compiled once more.
fn make_key(folder: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let mut key = [0; KEY_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut key)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?; // Mode 0600.
    file.write_all(&key)?;
    file.persist(folder.join(KEY_FILE))?;
    Ok(key)
}
