//! `baton.lock`: the bytes that each reference led to when the user last accepted them. This module reads and compares it; the
//! caller decides when to write it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use baton_core::Digest;
use serde::{Deserialize, Serialize};

use crate::oci_reference::OciReference;

/// Its name, in the folder of the workflow file.
pub const LOCK_FILE: &str = "baton.lock";

/// Most of a file that is read: some 10,000 references.
const MAX_BYTES: u64 = 4 << 20;

/// Versions of the file's format: with the second came policies of registries, and a lock without any is still written in
/// the first.
const VERSION_OF_FILES: u32 = 1;
const VERSION: u32 = 2;

const HEADER: &str = "# The policy components that this folder's workflows agreed to, by digest. Written by baton; keep it in git.\n\n";

/// The pins of one folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyLock {
    pins: BTreeMap<String, LockEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct LockEntry {
    component: Digest,
    manifest: Option<Digest>,
}

/// The pin of a policy in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OciPin {
    /// The digest of its manifest, by which it is found again.
    pub manifest: Digest,
    /// The digest of its component.
    pub component: Digest,
}

/// The result of comparing a component with the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinStatus {
    /// The component is the pinned one.
    Same,
    /// Nothing is pinned under this reference yet.
    New,
}

/// Why a lock cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// It cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// "read" or "write".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file does not have Baton's format.
    #[error("{} is not a lock file that this baton can read: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The error, with its line.
        why: String,
    },
    /// The component differs from the pinned one.
    #[error(
        "the policy {reference:?} has the digest {found}, but {LOCK_FILE} pins {expected}. If the change is intended, `baton policy lock WORKFLOW` pins the current file; otherwise restore the old one"
    )]
    Changed {
        /// The reference in the lock.
        reference: String,
        /// The pinned digest.
        expected: Digest,
        /// The actual digest.
        found: Digest,
    },
}

/// The format of the file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LockFile {
    version: u32,
    #[serde(default, rename = "component", skip_serializing_if = "Vec::is_empty")]
    components: Vec<PinnedComponent>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PinnedComponent {
    reference: String,
    digest: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    manifest: Option<Digest>,
}

impl PolicyLock {
    /// Reads a lock; an absent file is a lock without pins.
    pub fn read(path: &Path) -> Result<Self, LockError> {
        match read(path) {
            Ok(text) => Self::parse(&text, path),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(LockError::Io { doing: "read", path: path.to_owned(), source }),
        }
    }

    /// Parses the text of a lock; `path` is for messages. Unknown keys and double references are refused: the person who
    /// wrote them meant something that would not take effect.
    pub fn parse(text: &str, path: &Path) -> Result<Self, LockError> {
        let malformed = |why: String| LockError::Malformed { path: path.to_owned(), why };
        let file: LockFile = toml::from_str(text).map_err(|e| malformed(e.to_string()))?;
        if !(VERSION_OF_FILES..=VERSION).contains(&file.version) {
            return Err(malformed(format!(
                "it has version {}, and this baton reads up to version {VERSION}",
                file.version
            )));
        }
        let mut pins = BTreeMap::new();
        for component in file.components {
            let pin = LockEntry { component: component.digest, manifest: component.manifest };
            if OciReference::is_meant(&component.reference) != pin.manifest.is_some() {
                return Err(malformed(format!(
                    "{:?} has to have a manifest exactly when it is in a registry",
                    component.reference
                )));
            }
            if pins.insert(component.reference.clone(), pin).is_some() {
                return Err(malformed(format!("it pins {:?} twice", component.reference)));
            }
        }
        Ok(Self { pins })
    }

    /// The text of the lock, references in order, so that a change is a small diff.
    pub fn to_toml(&self) -> String {
        let components = self
            .pins
            .iter()
            .map(|(reference, pin)| PinnedComponent {
                reference: reference.clone(),
                digest: pin.component.clone(),
                manifest: pin.manifest.clone(),
            })
            .collect();
        let of_registries = self.pins.values().any(|pin| pin.manifest.is_some());
        let version = if of_registries { VERSION } else { VERSION_OF_FILES };
        let file = LockFile { version, components };
        let body = toml::to_string(&file).expect("texts and a number are always TOML");
        format!("{HEADER}{body}")
    }

    /// Writes it: whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), LockError> {
        let io = |source| LockError::Io { doing: "write", path: path.to_owned(), source };
        let unfinished = path.with_extension(format!("lock.{}", std::process::id()));
        let write = || {
            let mut file = File::create(&unfinished)?;
            file.write_all(self.to_toml().as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&unfinished, path)
        };
        write().inspect_err(|_| drop(std::fs::remove_file(&unfinished))).map_err(io)
    }

    /// The component that is pinned under a reference (see [`lock_key`](crate::lock_key)).
    pub fn get(&self, reference: &str) -> Option<&Digest> {
        self.pins.get(reference).map(|pin| &pin.component)
    }

    /// The pin of a policy in a registry.
    pub fn oci(&self, reference: &OciReference) -> Option<OciPin> {
        let pin = self.pins.get(&reference.to_string())?;
        Some(OciPin { manifest: pin.manifest.clone()?, component: pin.component.clone() })
    }

    /// All pins, in order: reference, component, and the manifest if it is in a registry.
    pub fn pins(&self) -> impl Iterator<Item = (&str, &Digest, Option<&Digest>)> {
        self.pins.iter().map(|(reference, pin)| (reference.as_str(), &pin.component, pin.manifest.as_ref()))
    }

    /// Pins a reference; returns the previous pin.
    pub fn pin(&mut self, reference: impl Into<String>, digest: Digest) -> Option<Digest> {
        let pin = LockEntry { component: digest, manifest: None };
        self.pins.insert(reference.into(), pin).map(|before| before.component)
    }

    /// Pins a policy of a registry; returns the previous pin.
    pub fn pin_oci(&mut self, reference: &OciReference, pin: OciPin) -> Option<OciPin> {
        let before = self.oci(reference);
        let pin = LockEntry { component: pin.component, manifest: Some(pin.manifest) };
        self.pins.insert(reference.to_string(), pin);
        before
    }

    /// Compares a component with the lock.
    pub fn check(&self, reference: &str, found: &Digest) -> Result<PinStatus, LockError> {
        match self.get(reference) {
            None => Ok(PinStatus::New),
            Some(expected) if expected == found => Ok(PinStatus::Same),
            Some(expected) => Err(LockError::Changed {
                reference: reference.to_owned(),
                expected: expected.clone(),
                found: found.clone(),
            }),
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    // Checked before it is opened: opening a pipe would wait for a writer.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    match text.len() as u64 > MAX_BYTES {
        true => Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes"))),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_is_not_read_whole() {
        // N6
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let refused = PolicyLock::read(&path).unwrap_err();
        assert!(format!("{refused:?}").contains("more than"), "{refused:?}");
    }

    #[test]
    fn it_reads_what_it_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        assert_eq!(PolicyLock::read(&path).unwrap(), PolicyLock::default());

        let mut lock = PolicyLock::default();
        lock.pin("policies/strict.wasm", Digest::of("strict"));
        lock.pin("builtin:resilience", Digest::of("resilience"));
        lock.write(&path).unwrap();
        assert_eq!(PolicyLock::read(&path).unwrap(), lock);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished is left");

        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{text}");
        assert!(text.find("builtin:").unwrap() < text.find("policies/").unwrap(), "in order: {text}");
    }

    #[test]
    fn a_policy_of_a_registry_has_its_manifest_pinned_too() {
        let path = Path::new(LOCK_FILE);
        let mut lock = PolicyLock::default();
        lock.pin("a.wasm", Digest::of("file"));
        assert!(lock.to_toml().contains("version = 1\n"), "an older baton reads it");

        let reference: OciReference = "oci://example.org/a:1".parse().unwrap();
        assert_eq!(lock.oci(&reference), None);
        let pin = |n: &str| OciPin { manifest: Digest::of(format!("m{n}")), component: Digest::of(n) };
        assert_eq!(lock.pin_oci(&reference, pin("1")), None);
        assert!(lock.to_toml().contains("version = 2\n"));
        assert_eq!(PolicyLock::parse(&lock.to_toml(), path).unwrap(), lock);
        assert_eq!(lock.pin_oci(&reference, pin("2")), Some(pin("1")));
        assert_eq!(lock.oci(&reference), Some(pin("2")));
        assert_eq!(lock.get("oci://example.org/a:1"), Some(&pin("2").component));
        assert_eq!(lock.pins().count(), 2);
    }

    #[test]
    fn a_changed_component_is_noticed() {
        let mut lock = PolicyLock::default();
        lock.pin("a.wasm", Digest::of("old"));
        assert_eq!(lock.check("a.wasm", &Digest::of("old")).unwrap(), PinStatus::Same);
        assert_eq!(lock.check("b.wasm", &Digest::of("new")).unwrap(), PinStatus::New);
        let error = lock.check("a.wasm", &Digest::of("new")).unwrap_err().to_string();
        assert!(error.contains("a.wasm") && error.contains(Digest::of("old").as_str()), "{error}");
    }

    #[test]
    fn what_it_does_not_understand_is_refused() {
        let digest = Digest::of("");
        let entry = format!("[[component]]\nreference = \"a.wasm\"\ndigest = \"{digest}\"\n");
        for (text, hint) in [
            ("version = 3\n".to_owned(), "version 3"),
            ("version = 0\n".to_owned(), "version 0"),
            (format!("version = 2\n{entry}manifest = \"{digest}\"\n"), "in a registry"),
            (format!("version = 2\n{}", entry.replace("a.wasm", "oci://h/a:1")), "in a registry"),
            ("version = 1\nfrozen = true\n".to_owned(), "frozen"),
            (format!("version = 1\n{entry}signed = true\n"), "signed"),
            (format!("version = 1\n{entry}{entry}"), "twice"),
            (
                "version = 1\n[[component]]\nreference = \"a\"\ndigest = \"md5:00\"\n".to_owned(),
                "not a digest",
            ),
            ("not toml".to_owned(), "line 1"),
        ] {
            let error = PolicyLock::parse(&text, Path::new("baton.lock")).unwrap_err().to_string();
            assert!(error.contains("baton.lock") && error.contains(hint), "{hint}: {error}");
        }
    }
}
