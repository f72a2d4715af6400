//! What was pulled, kept by digest below the state directory, so that a pinned policy needs no network. A blob appears whole or
//! not at all, and is checked again each time that it is read. Makes no network request.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use baton_core::Digest;
use serde::{Deserialize, Serialize};

use crate::artifact::{Manifest, json};
use crate::client::PulledPolicy;
use crate::error::RegistryError;
use crate::oci_reference::OciReference;
use crate::policy_reference::COMPONENT_BYTES_MAX;
use crate::sign::Signature;

/// The beginning of the extension of an incomplete file; the id of the writing process follows.
const PART: &str = "part-";

/// The format of an entry.
const VERSION: u32 = 1;

/// Largest entry: references, and signatures with the documents that they are made over.
const ENTRY_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// An incomplete file of this age belongs to a process that has died: writing the largest takes seconds.
const UNFINISHED_MAX: Duration = Duration::from_secs(60 * 60);

/// Most signatures that an entry remembers; the newest stay.
const SIGNATURES_KEPT_MAX: usize = 64;

/// Most references that an entry remembers; the newest stay.
const REFERENCES_MAX: usize = 64;

/// Policies that were pulled.
#[derive(Clone, Debug)]
pub struct ContentStore {
    root: PathBuf,
}

/// A policy of the store, whole and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPolicy {
    /// Its record.
    pub entry: ContentStoreEntry,
    /// Its component.
    pub bytes: Vec<u8>,
}

/// The record of a policy of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentStoreEntry {
    version: u32,
    /// The digest of its manifest.
    pub manifest: Digest,
    /// The digest of its component.
    pub component: Digest,
    /// How large the component is.
    pub bytes: u64,
    /// Under which references it was pulled, the newest last.
    pub references: Vec<String>,
    /// The signatures that the registry had. Being stored does not make them trusted.
    pub signatures: Vec<Signature>,
}

impl ContentStoreEntry {
    /// Adds signatures to the known ones. A registry without signatures removes none: a signature is of the manifest, from any
    /// registry.
    fn take(&mut self, signatures: &[Signature]) {
        self.signatures.retain(|known| !signatures.contains(known));
        self.signatures.splice(..0, signatures.iter().cloned());
        self.signatures.truncate(SIGNATURES_KEPT_MAX);
    }
}

impl ContentStore {
    /// The store of a state directory; nothing is made before something is kept.
    pub fn below(state_root: &Path) -> Self {
        Self { root: state_root.join("policies") }
    }

    /// The policy with this manifest; none if it was never pulled.
    pub fn get(&self, manifest: &Digest) -> Result<Option<StoredPolicy>, RegistryError> {
        let Some(entry) = self.entry(manifest)? else { return Ok(None) };
        let Some(manifest_bytes) = self.blob(manifest)? else { return Ok(None) };
        // The component is taken from the manifest, whose bytes are checked, and not from the record.
        let reference = format!("oci://store/policy@{manifest}").parse::<OciReference>();
        let reference = reference.expect("a constant place and a digest are a reference");
        let component = Manifest::parse(&manifest_bytes, &reference)?.component(&reference)?.digest.clone();
        let Some(bytes) = self.blob(&component)? else { return Ok(None) };
        Ok(Some(StoredPolicy {
            entry: ContentStoreEntry { component, bytes: bytes.len() as u64, ..entry },
            bytes,
        }))
    }

    /// Keeps a policy. Its entry is written last, so that a policy is there when all of it is.
    pub fn keep(
        &self,
        reference: &OciReference,
        pulled: &PulledPolicy,
        signatures: &[Signature],
    ) -> Result<(), RegistryError> {
        self.put(&pulled.component, &pulled.bytes)?;
        self.put(&Digest::of(&pulled.config_bytes), &pulled.config_bytes)?;
        self.put(&pulled.manifest, &pulled.manifest_bytes)?;
        let mut entry = self.entry(&pulled.manifest)?.unwrap_or_else(|| ContentStoreEntry {
            version: VERSION,
            manifest: pulled.manifest.clone(),
            component: pulled.component.clone(),
            bytes: pulled.bytes.len() as u64,
            references: Vec::new(),
            signatures: Vec::new(),
        });
        let reference = reference.to_string();
        entry.references.retain(|there| *there != reference);
        entry.references.push(reference);
        let surplus = entry.references.len().saturating_sub(REFERENCES_MAX);
        entry.references.drain(..surplus);
        entry.take(signatures);
        self.write_entry(&entry)?;
        self.sweep();
        Ok(())
    }

    /// Removes incomplete files. A failed removal is repeated another time.
    fn sweep(&self) {
        let folders = ["sha256", "entries"].map(|folder| fs::read_dir(self.root.join(folder)));
        for file in folders.into_iter().flatten().flatten().flatten() {
            let is_old = || {
                let modified = file.metadata().and_then(|metadata| metadata.modified()).ok()?;
                Some(SystemTime::now().duration_since(modified).ok()? > UNFINISHED_MAX)
            };
            let path = file.path();
            let is_part = path.extension().is_some_and(|e| e.to_string_lossy().starts_with(PART));
            if is_part && is_old().unwrap_or(false) {
                drop(fs::remove_file(path));
            }
        }
    }

    /// Stores signatures that were made after a policy was pulled.
    pub fn keep_signatures(&self, manifest: &Digest, signatures: &[Signature]) -> Result<(), RegistryError> {
        match self.entry(manifest)? {
            Some(mut entry) => {
                entry.take(signatures);
                self.write_entry(&entry)
            }
            None => Ok(()),
        }
    }

    /// Everything that is kept, by digest.
    pub fn entries(&self) -> Result<Vec<ContentStoreEntry>, RegistryError> {
        let folder = self.root.join("entries");
        let files = match fs::read_dir(&folder) {
            Ok(files) => files,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(store("read", &folder, source)),
        };
        let mut digests = BTreeSet::new();
        for file in files {
            let name = file.map_err(|source| store("read", &folder, source))?.file_name();
            let digest = name.to_str().and_then(|name| name.strip_suffix(".json"));
            digests.extend(digest.and_then(|hex| format!("sha256:{hex}").parse::<Digest>().ok()));
        }
        let entries = digests.iter().map(|digest| self.entry(digest));
        entries.filter_map(Result::transpose).collect()
    }

    fn entry(&self, manifest: &Digest) -> Result<Option<ContentStoreEntry>, RegistryError> {
        let Some(bytes) = read(&self.entry_path(manifest), ENTRY_BYTES_MAX)? else { return Ok(None) };
        // A record of a later version, or a broken one, counts as none: the policy is pulled again.
        let entry: Option<ContentStoreEntry> = serde_json::from_slice(&bytes).ok();
        Ok(entry.filter(|entry| entry.version == VERSION && entry.manifest == *manifest))
    }

    fn write_entry(&self, entry: &ContentStoreEntry) -> Result<(), RegistryError> {
        write(&self.entry_path(&entry.manifest), &json(entry))
    }

    /// A blob whose bytes have its digest.
    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, RegistryError> {
        let path = self.blob_path(digest);
        let Some(bytes) = read(&path, COMPONENT_BYTES_MAX)? else { return Ok(None) };
        let found = Digest::of(&bytes);
        if found != *digest {
            return Err(RegistryError::Tampered { path, expected: digest.clone(), found });
        }
        Ok(Some(bytes))
    }

    /// Writes a blob, and replaces a damaged one.
    fn put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), RegistryError> {
        if matches!(self.blob(digest), Ok(Some(_))) {
            return Ok(());
        }
        write(&self.blob_path(digest), bytes)
    }

    fn blob_path(&self, digest: &Digest) -> PathBuf {
        self.root.join("sha256").join(digest.hex())
    }

    fn entry_path(&self, manifest: &Digest) -> PathBuf {
        self.root.join("entries").join(format!("{}.json", manifest.hex()))
    }
}

fn store(doing: &'static str, path: &Path, source: std::io::Error) -> RegistryError {
    RegistryError::Store { doing, path: path.to_owned(), source }
}

/// A file, up to its largest size; none if it does not exist.
fn read(path: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>, RegistryError> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(store("read", path, source)),
    };
    let mut bytes = Vec::new();
    // One byte more than the limit, so that a longer file has another digest.
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|source| store("read", path, source))?;
    Ok(Some(bytes))
}

/// Writes a file whole or not at all, for its owner only.
fn write(path: &Path, bytes: &[u8]) -> Result<(), RegistryError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::DirBuilder::new()
        .mode(0o700)
        .recursive(true)
        .create(folder)
        .map_err(|source| store("make", folder, source))?;
    let unfinished = path.with_extension(format!("{PART}{}", std::process::id()));
    let write = || {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, path)?;
        fs::File::open(folder)?.sync_all()
    };
    write().inspect_err(|_| drop(fs::remove_file(&unfinished))).map_err(|source| store("write", path, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifact::PolicyArtifact;

    fn pulled(component: &[u8]) -> PulledPolicy {
        let artifact = PolicyArtifact::new(component.to_vec(), &[], &[]);
        PulledPolicy {
            manifest: artifact.digest(),
            component: artifact.component(),
            bytes: artifact.component,
            manifest_bytes: artifact.manifest,
            config_bytes: artifact.config,
        }
    }

    fn reference(tag: &str) -> OciReference {
        format!("oci://example.org/a:{tag}").parse().unwrap()
    }

    #[test]
    fn what_is_kept_is_there_and_nothing_else_is() {
        let root = tempfile::tempdir().unwrap();
        let store = ContentStore::below(root.path());
        let pulled = pulled(b"\0asm");
        assert_eq!(store.get(&pulled.manifest).unwrap(), None);
        assert_eq!(store.entries().unwrap(), []);
        assert!(fs::read_dir(root.path()).unwrap().next().is_none(), "looking makes nothing");

        let signature = Signature { payload: "{}".into(), signature: "AAAA".into() };
        store.keep(&reference("1"), &pulled, &[]).unwrap();
        store.keep(&reference("2"), &pulled, std::slice::from_ref(&signature)).unwrap();
        // From another place, where it is unsigned.
        store.keep(&reference("2"), &pulled, &[]).unwrap();
        store.keep_signatures(&pulled.manifest, std::slice::from_ref(&signature)).unwrap();
        let kept = store.get(&pulled.manifest).unwrap().unwrap();
        assert_eq!((kept.bytes.as_slice(), &kept.entry.component), (b"\0asm".as_slice(), &pulled.component));
        assert_eq!(kept.entry.references, ["oci://example.org/a:1", "oci://example.org/a:2"]);
        assert_eq!(kept.entry.signatures, [signature]);
        assert_eq!(store.entries().unwrap(), [kept.entry]);
    }

    // M6
    #[test]
    fn a_file_that_was_changed_is_refused_and_mended_by_another_pull() {
        let root = tempfile::tempdir().unwrap();
        let store = ContentStore::below(root.path());
        let pulled = pulled(b"\0asm");
        for digest in [&pulled.component, &pulled.manifest] {
            store.keep(&reference("1"), &pulled, &[]).unwrap();
            fs::write(store.blob_path(digest), b"another").unwrap();
            let error = store.get(&pulled.manifest).unwrap_err();
            assert!(
                matches!(&error, RegistryError::Tampered { expected, .. } if expected == digest),
                "{error}"
            );
        }
        store.keep(&reference("1"), &pulled, &[]).unwrap();
        assert!(store.get(&pulled.manifest).unwrap().is_some());
    }

    // M6
    #[test]
    fn half_a_policy_is_none() {
        let root = tempfile::tempdir().unwrap();
        let store = ContentStore::below(root.path());
        let pulled = pulled(b"\0asm");
        // A host that died on the way: blobs and a file that was not finished, and no entry.
        store.put(&pulled.component, &pulled.bytes).unwrap();
        let unfinished = store.blob_path(&pulled.manifest).with_extension("part-1");
        fs::write(&unfinished, b"{").unwrap();
        assert_eq!(store.get(&pulled.manifest).unwrap(), None);
        assert_eq!(store.entries().unwrap(), []);
        // And one whose blob was deleted by hand.
        store.keep(&reference("1"), &pulled, &[]).unwrap();
        assert!(unfinished.exists(), "somebody may be writing it");
        let long_ago = SystemTime::now() - 2 * UNFINISHED_MAX;
        fs::File::options().write(true).open(&unfinished).unwrap().set_modified(long_ago).unwrap();
        store.keep(&reference("1"), &pulled, &[]).unwrap();
        assert!(!unfinished.exists(), "nobody is any more");
        fs::remove_file(store.blob_path(&pulled.component)).unwrap();
        assert_eq!(store.get(&pulled.manifest).unwrap(), None);
        fs::write(store.entry_path(&pulled.manifest), b"{").unwrap();
        assert_eq!(store.get(&pulled.manifest).unwrap(), None);
    }
}
