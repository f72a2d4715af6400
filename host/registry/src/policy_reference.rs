//! A reference of the workflow file ("builtin:resilience", "policies/strict.wasm@sha256:…", "oci://host/name:tag") and its
//! bytes, if it is a file. Uses no network: `resolver.rs` does.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use baton_core::Digest;
use baton_core::visible::visible_name;

use crate::oci_reference::{InvalidOciReference, OciReference};

/// Largest component: a hundred times the default policy, and small enough to read and hash before it is trusted.
pub const COMPONENT_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// Between a reference and the digest that it must have.
const PIN: &str = "@sha256:";

/// The target of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolvedReference {
    /// A component that the host carries; the caller has its bytes, and checks the pin with [`ResolveError::pinned`].
    BuiltIn {
        /// "resilience" of "builtin:resilience".
        name: String,
        /// The digest that the reference asks for.
        pin: Option<Digest>,
    },
    /// A component that was read from a file.
    File(ComponentFile),
    /// A policy in a registry, which [`PolicyResolver::get`](crate::PolicyResolver::get) fetches.
    Registry(OciReference),
}

/// A component's bytes and their source. Its pin, if any, has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentFile {
    /// The file's name without its extension, for people.
    pub name: String,
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// Its content address.
    pub digest: Digest,
    /// The file.
    pub path: PathBuf,
}

/// Why a reference leads nowhere.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// It names nothing.
    #[error(
        "{reference:?} does not name a policy: write the path of a .wasm file, or \"builtin:resilience\""
    )]
    Empty {
        /// As it was written.
        reference: String,
    },
    /// It has a scheme that this version does not read.
    #[error(
        "cannot take a policy from {reference:?}: components come from files, \"oci://\" and \"builtin:\". Download it, check it, and write the path of the .wasm file"
    )]
    Scheme {
        /// As it was written.
        reference: String,
    },
    /// It has the scheme of a registry, but is malformed.
    #[error(transparent)]
    Oci(#[from] InvalidOciReference),
    /// Its pin is not a digest.
    #[error("the pin of {reference:?} is not a digest: expected \"@sha256:\" and 64 lower-case hex digits")]
    BadPin {
        /// As it was written.
        reference: String,
    },
    /// The bytes have another digest than the pin.
    #[error(
        "the policy {reference:?} has the digest {found}, but {expected} was requested. Use the intended file, or review the new one and change the pin"
    )]
    Pinned {
        /// As it was written.
        reference: String,
        /// The digest of the pin.
        expected: Digest,
        /// The digest of the bytes.
        found: Digest,
    },
    /// The file cannot be read.
    #[error("cannot read the policy {}: {source}", found_at(reference, path))]
    Unreadable {
        /// As it was written.
        reference: String,
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// It is a folder, a pipe, a device.
    #[error("the policy {} is not a file", shown(path))]
    NotAFile {
        /// The path of the file.
        path: PathBuf,
    },
    /// It is larger than any policy.
    #[error("the policy {} has more than {} bytes", shown(path), COMPONENT_BYTES_MAX)]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
}

impl ResolveError {
    /// Compares a digest with the pin of a reference, if it has one.
    pub fn pinned(reference: &str, pin: Option<&Digest>, found: &Digest) -> Result<(), ResolveError> {
        match pin {
            Some(expected) if expected != found => Err(ResolveError::Pinned {
                reference: reference.to_owned(),
                expected: expected.clone(),
                found: found.clone(),
            }),
            _ => Ok(()),
        }
    }
}

/// The path, and the reference if it differs.
fn found_at(reference: &str, path: &Path) -> String {
    match path.as_os_str() == reference {
        true => shown(path),
        false => format!("{} ({reference:?})", shown(path)),
    }
}

/// The path in one line: the folder may be untrusted, and a file name may contain any characters.
fn shown(path: &Path) -> String {
    visible_name(&path.to_string_lossy()).into_owned()
}

/// Follows a reference. Paths are relative to `base`, the folder of the file that names them.
pub fn resolve(reference: &str, base: &Path) -> Result<ResolvedReference, ResolveError> {
    if OciReference::is_meant(reference) {
        return Ok(ResolvedReference::Registry(reference.parse()?));
    }
    let (place, pin) = split(reference)?;
    if let Some(name) = place.strip_prefix("builtin:") {
        if name.is_empty() {
            return Err(ResolveError::Empty { reference: reference.to_owned() });
        }
        return Ok(ResolvedReference::BuiltIn { name: name.to_owned(), pin });
    }
    if place.is_empty() {
        return Err(ResolveError::Empty { reference: reference.to_owned() });
    }
    if place.contains("://") {
        return Err(ResolveError::Scheme { reference: reference.to_owned() });
    }
    let path = base.join(place);
    let bytes = read(reference, &path)?;
    let digest = Digest::of(&bytes);
    ResolveError::pinned(reference, pin.as_ref(), &digest)?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(ResolvedReference::File(ComponentFile { name, bytes, digest, path }))
}

/// The key of a reference in the lock: without its pin, and with a path below `base` relative to it, so that the lock is the
/// same on every machine. A policy of a registry keeps its digest, which is part of its place.
pub fn lock_key(reference: &str, base: &Path) -> String {
    if let Ok(reference) = reference.parse::<OciReference>() {
        return reference.to_string();
    }
    let place = reference.rfind(PIN).map_or(reference, |at| &reference[..at]);
    match Path::new(place).strip_prefix(base) {
        Ok(relative) if !base.as_os_str().is_empty() => relative.to_string_lossy().into_owned(),
        _ => place.to_owned(),
    }
}

fn split(reference: &str) -> Result<(&str, Option<Digest>), ResolveError> {
    let Some(at) = reference.rfind(PIN) else { return Ok((reference, None)) };
    match reference[at + 1..].parse() {
        Ok(pin) => Ok((&reference[..at], Some(pin))),
        Err(_) => Err(ResolveError::BadPin { reference: reference.to_owned() }),
    }
}

fn read(reference: &str, path: &Path) -> Result<Vec<u8>, ResolveError> {
    let unreadable =
        |source| ResolveError::Unreadable { reference: reference.to_owned(), path: path.to_owned(), source };
    // Checked before it is opened: opening a pipe would wait for a writer.
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(ResolveError::NotAFile { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(COMPONENT_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > COMPONENT_BYTES_MAX {
        return Err(ResolveError::TooLarge { path: path.to_owned() });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(name: &str, bytes: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), bytes).unwrap();
        folder
    }

    #[test]
    fn a_file_is_read_relative_to_the_file_that_names_it() {
        let folder = folder_with("strict.wasm", b"\0asm");
        let ResolvedReference::File(component) = resolve("strict.wasm", folder.path()).unwrap() else {
            panic!("a file")
        };
        assert_eq!((component.name.as_str(), component.bytes.as_slice()), ("strict", b"\0asm".as_slice()));
        assert_eq!(component.digest, Digest::of(b"\0asm"));
        let absolute = component.path.to_str().unwrap();
        assert_eq!(
            resolve(absolute, Path::new("/elsewhere")).unwrap(),
            ResolvedReference::File(component.clone())
        );
    }

    #[test]
    fn a_pin_is_held_to() {
        let folder = folder_with("strict.wasm", b"\0asm");
        let good = format!("strict.wasm@{}", Digest::of(b"\0asm"));
        assert!(matches!(resolve(&good, folder.path()), Ok(ResolvedReference::File(_))));
        let other = format!("strict.wasm@{}", Digest::of(b"other"));
        let error = resolve(&other, folder.path()).unwrap_err();
        assert!(error.to_string().contains(Digest::of(b"\0asm").as_str()), "{error}");
        assert!(matches!(resolve("strict.wasm@sha256:abc", folder.path()), Err(ResolveError::BadPin { .. })));
    }

    #[test]
    fn a_built_in_one_is_left_to_the_caller() {
        let digest = Digest::of("bytes");
        let resolved = resolve(&format!("builtin:resilience@{digest}"), Path::new("")).unwrap();
        assert_eq!(
            resolved,
            ResolvedReference::BuiltIn { name: "resilience".to_owned(), pin: Some(digest.clone()) }
        );
        assert!(ResolveError::pinned("builtin:resilience", Some(&digest), &digest).is_ok());
        assert!(ResolveError::pinned("builtin:resilience", Some(&digest), &Digest::of("")).is_err());
        assert!(matches!(resolve("builtin:", Path::new("")), Err(ResolveError::Empty { .. })));
    }

    #[test]
    fn one_in_a_registry_is_left_to_the_depot() {
        let resolved = resolve("oci://example.org/policies/strict:1", Path::new("/nowhere")).unwrap();
        let ResolvedReference::Registry(reference) = resolved else { panic!("in a registry") };
        assert_eq!((reference.place().as_str(), reference.tag()), ("example.org/policies/strict", Some("1")));
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_name() {
        let folder = folder_with("x.wasm", b"");
        for remote in
            ["https://example.org/strict.wasm", "OCI://example.org/strict:1", "oci://example.org/strict"]
        {
            let error = resolve(remote, folder.path()).unwrap_err();
            assert!(error.to_string().contains(remote) && error.to_string().contains("oci://"), "{error}");
        }
        assert!(matches!(resolve("", folder.path()), Err(ResolveError::Empty { .. })));
        assert!(matches!(resolve(".", folder.path()), Err(ResolveError::NotAFile { .. })));
        let error = resolve("absent.wasm", folder.path()).unwrap_err();
        assert!(
            error.to_string().contains(&folder.path().join("absent.wasm").display().to_string()),
            "{error}"
        );
        let huge = File::create(folder.path().join("huge.wasm")).unwrap();
        huge.set_len(COMPONENT_BYTES_MAX + 1).unwrap();
        assert!(matches!(resolve("huge.wasm", folder.path()), Err(ResolveError::TooLarge { .. })));
    }

    #[test]
    fn the_lock_knows_a_policy_by_its_place_beside_the_workflow() {
        let base = Path::new("/home/ada/work");
        assert_eq!(lock_key("/home/ada/work/policies/strict.wasm", base), "policies/strict.wasm");
        assert_eq!(lock_key("/opt/strict.wasm", base), "/opt/strict.wasm");
        let pinned = format!("policies/strict.wasm@{}", Digest::of(""));
        assert_eq!(lock_key(&pinned, base), "policies/strict.wasm");
        assert_eq!(lock_key("builtin:resilience", base), "builtin:resilience");
        let remote = format!("oci://Example.org/strict:1@{}", Digest::of(""));
        assert_eq!(lock_key(&remote, base), remote.replace("Example", "example"));
    }
}
