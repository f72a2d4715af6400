//! `policies.lock`: the sources and the compiler of each committed component.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::sources::sha256;
use crate::{Error, Policy, Toolchain};

/// Name of the lock in the folder of the policies.
pub const LOCK_FILE: &str = "policies.lock";

/// Version of the lock's format.
const FORMAT: u32 = 1;

const HEADER: &str = "\
# What the committed components were built from and with. Written by `cargo run -p baton-build -- policies`, held by a
# test (sources, crates, digest) and by `baton-build --check` (bytes, with the same compiler).
";

/// The whole lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Lock {
    /// Version of the format.
    pub format: u32,
    /// One entry a policy, by name.
    pub policy: BTreeMap<String, Locked>,
}

impl Default for Lock {
    fn default() -> Self {
        Self { format: FORMAT, policy: BTreeMap::new() }
    }
}

/// One component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Locked {
    /// Name of the package it is built from.
    pub package: String,
    /// Digest of the component's file.
    pub component_sha256: String,
    /// Digest of the sources: crate, SDK, contract, build profile.
    pub source_sha256: String,
    /// The compiler, as `rustc --version` names it.
    pub rustc: String,
    /// The compiler's commit.
    pub rustc_commit: String,
    /// The origin of the standard library: `prebuilt` or `built`.
    pub std: String,
    /// Flags of the compiler, without paths of this machine.
    pub flags: Vec<String>,
    /// Version of the encoder that makes the component.
    pub wit_component: String,
    /// The crates from outside that decide its bytes, `name version` to checksum.
    pub crates: BTreeMap<String, String>,
}

impl Locked {
    /// The lock's entry for this component, made with the encoder that this tool is built with.
    ///
    /// # Errors
    /// A source that cannot be read.
    pub fn of(policy: &Policy, toolchain: &Toolchain, component: &[u8]) -> Result<Self, Error> {
        let encoder = policy.version_used_by("baton-build", "wit-component")?;
        Self::with_encoder(policy, toolchain, component, encoder)
    }

    /// The same, for an encoder of this version.
    ///
    /// # Errors
    /// A source that cannot be read.
    pub fn with_encoder(
        policy: &Policy,
        toolchain: &Toolchain,
        component: &[u8],
        encoder: String,
    ) -> Result<Self, Error> {
        Ok(Self {
            package: policy.package.clone(),
            component_sha256: sha256(component),
            source_sha256: policy.source_sha256()?,
            rustc: toolchain.version.clone(),
            rustc_commit: toolchain.commit.clone(),
            std: toolchain.std.name().to_owned(),
            flags: crate::FLAGS.iter().map(|flag| (*flag).to_owned()).collect(),
            wit_component: encoder,
            crates: policy.crates()?,
        })
    }

    /// Everything except the sources that determines the bytes, on one line.
    pub fn compiler(&self) -> String {
        format!(
            "{} ({}), std {}, wit-component {}, {}",
            self.rustc,
            self.rustc_commit,
            self.std,
            self.wit_component,
            self.flags.join(" ")
        )
    }
}

impl Lock {
    /// Reads the lock in `folder`.
    ///
    /// # Errors
    /// A lock that is missing, broken or of another format.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(LOCK_FILE);
        let text = std::fs::read_to_string(&path).map_err(Error::file("read", &path))?;
        let lock: Self = toml::from_str(&text)
            .map_err(|error| Error::Format { path: path.clone(), message: error.to_string() })?;
        if lock.format == FORMAT {
            Ok(lock)
        } else {
            let message = format!("it has format {}, this tool writes {FORMAT}", lock.format);
            Err(Error::Format { path, message })
        }
    }

    /// Writes the lock into `folder`.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let path = folder.join(LOCK_FILE);
        let text = toml::to_string(self)
            .map_err(|error| Error::Format { path: path.clone(), message: error.to_string() })?;
        std::fs::write(&path, format!("{HEADER}{text}")).map_err(Error::file("write", &path))
    }

    pub(crate) fn get(&self, policy: &Policy, folder: &Path) -> Result<&Locked, Error> {
        self.policy.get(&policy.name).ok_or_else(|| Error::OutOfDate {
            policy: policy.name.clone(),
            problem: format!("it is not in {LOCK_FILE}"),
            folder: folder.display().to_string(),
        })
    }
}

/// The first crate that two closures do not share, in words.
pub(crate) fn difference(
    locked: &BTreeMap<String, String>,
    here: &BTreeMap<String, String>,
) -> Option<String> {
    let gone = locked.iter().find(|(name, checksum)| here.get(*name) != Some(checksum));
    let new = here.iter().find(|(name, checksum)| locked.get(*name) != Some(checksum));
    match (gone, new) {
        (None, None) => None,
        (Some((gone, _)), Some((new, _))) => Some(format!("locked {gone}, here {new}")),
        (Some((gone, _)), None) => Some(format!("{gone} is gone")),
        (None, Some((new, _))) => Some(format!("{new} is new")),
    }
}
