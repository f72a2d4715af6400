//! `baton.lock`: which bytes each reference led to when a person last agreed to them. It is read and compared here;
//! when to write it is the caller's decision.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use baton_core::Digest;
use serde::{Deserialize, Serialize};

/// Its name, beside the workflow file.
pub const LOCK_FILE: &str = "baton.lock";

/// Version of the file's format.
const VERSION: u32 = 1;

const HEADER: &str = "# The policy components that this folder's workflows agreed to, by digest. Written by baton; keep it in git.\n\n";

/// The pins of one folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lock {
    pins: BTreeMap<String, Digest>,
}

/// How a component stands to the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinned {
    /// It is the one that is pinned.
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
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not what baton writes.
    #[error("{} is not a lock that this baton reads: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong, with its line.
        why: String,
    },
    /// The component is another one than was agreed to.
    #[error(
        "the policy {reference:?} has the digest {found}, but {LOCK_FILE} pins {expected}. If the change is meant, delete its entry there; otherwise bring the old file back"
    )]
    Changed {
        /// As it is written in the lock.
        reference: String,
        /// What is pinned.
        expected: Digest,
        /// What is there.
        found: Digest,
    },
}

/// The file as it is written.
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
}

impl Lock {
    /// Reads a lock; an absent file is a lock without pins.
    pub fn read(path: &Path) -> Result<Self, LockError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, path),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(LockError::Io { doing: "read", path: path.to_owned(), source }),
        }
    }

    /// Parses the text of a lock; `path` is for messages. Unknown keys and double references are refused: whoever
    /// wrote them meant something that would not happen.
    pub fn parse(text: &str, path: &Path) -> Result<Self, LockError> {
        let malformed = |why: String| LockError::Malformed { path: path.to_owned(), why };
        let file: LockFile = toml::from_str(text).map_err(|e| malformed(e.to_string()))?;
        if file.version != VERSION {
            return Err(malformed(format!(
                "it has version {}, and this baton reads version {VERSION}",
                file.version
            )));
        }
        let mut pins = BTreeMap::new();
        for component in file.components {
            if pins.insert(component.reference.clone(), component.digest).is_some() {
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
            .map(|(r, d)| PinnedComponent { reference: r.clone(), digest: d.clone() })
            .collect();
        let file = LockFile { version: VERSION, components };
        let body = toml::to_string(&file).expect("texts and a number are always TOML");
        format!("{HEADER}{body}")
    }

    /// Writes it: whole or not at all.
    pub fn write(&self, path: &Path) -> Result<(), LockError> {
        let io = |source| LockError::Io { doing: "write", path: path.to_owned(), source };
        let unfinished = path.with_extension(format!("lock.{}", std::process::id()));
        let write = || {
            let mut file = std::fs::File::create(&unfinished)?;
            file.write_all(self.to_toml().as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&unfinished, path)
        };
        write().inspect_err(|_| drop(std::fs::remove_file(&unfinished))).map_err(io)
    }

    /// What is pinned under a reference (see [`lock_key`](crate::lock_key)).
    pub fn get(&self, reference: &str) -> Option<&Digest> {
        self.pins.get(reference)
    }

    /// Pins a reference; gives back what was pinned before.
    pub fn pin(&mut self, reference: impl Into<String>, digest: Digest) -> Option<Digest> {
        self.pins.insert(reference.into(), digest)
    }

    /// Compares a component with the lock.
    pub fn check(&self, reference: &str, found: &Digest) -> Result<Pinned, LockError> {
        match self.pins.get(reference) {
            None => Ok(Pinned::New),
            Some(expected) if expected == found => Ok(Pinned::Same),
            Some(expected) => Err(LockError::Changed {
                reference: reference.to_owned(),
                expected: expected.clone(),
                found: found.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_it_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK_FILE);
        assert_eq!(Lock::read(&path).unwrap(), Lock::default());

        let mut lock = Lock::default();
        lock.pin("policies/strict.wasm", Digest::of("strict"));
        lock.pin("builtin:resilience", Digest::of("resilience"));
        lock.write(&path).unwrap();
        assert_eq!(Lock::read(&path).unwrap(), lock);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing unfinished is left");

        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{text}");
        assert!(text.find("builtin:").unwrap() < text.find("policies/").unwrap(), "in order: {text}");
    }

    #[test]
    fn a_changed_component_is_noticed() {
        let mut lock = Lock::default();
        lock.pin("a.wasm", Digest::of("old"));
        assert_eq!(lock.check("a.wasm", &Digest::of("old")).unwrap(), Pinned::Same);
        assert_eq!(lock.check("b.wasm", &Digest::of("new")).unwrap(), Pinned::New);
        let error = lock.check("a.wasm", &Digest::of("new")).unwrap_err().to_string();
        assert!(error.contains("a.wasm") && error.contains(Digest::of("old").as_str()), "{error}");
    }

    #[test]
    fn what_it_does_not_understand_is_refused() {
        let digest = Digest::of("");
        let entry = format!("[[component]]\nreference = \"a.wasm\"\ndigest = \"{digest}\"\n");
        for (text, hint) in [
            ("version = 2\n".to_owned(), "version 2"),
            ("version = 1\nfrozen = true\n".to_owned(), "frozen"),
            (format!("version = 1\n{entry}signed = true\n"), "signed"),
            (format!("version = 1\n{entry}{entry}"), "twice"),
            (
                "version = 1\n[[component]]\nreference = \"a\"\ndigest = \"md5:00\"\n".to_owned(),
                "not a digest",
            ),
            ("not toml".to_owned(), "line 1"),
        ] {
            let error = Lock::parse(&text, Path::new("baton.lock")).unwrap_err().to_string();
            assert!(error.contains("baton.lock") && error.contains(hint), "{hint}: {error}");
        }
    }
}
