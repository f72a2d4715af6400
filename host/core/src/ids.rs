//! Typed ids. No id is made from chance here: the host makes run ids, core counts the rest.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Declares ids that are text: cheap to print, ordered, impossible to mix up.
macro_rules! text_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Takes the id as it is; code that reads one from outside validates it first.
            pub fn new(id: impl Into<String>) -> Self {
                Self(id.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(id: &str) -> Self {
                Self(id.to_owned())
            }
        }
    )*};
}

text_ids! {
    /// One execution of a workflow.
    RunId;
    /// A phase of the workflow, or a sub-phase made by a split ("20", "20a").
    PhaseId;
    /// An objective, unique in its workflow.
    ObjectiveId;
    /// One agent process with one context window; core counts them per run ("s1", "s2"…).
    SessionId;
    /// A role of the workflow ("executor", "reviewer").
    RoleName;
    /// An experiment of a user ("split-v2").
    ExperimentId;
    /// One of the alternatives of an experiment ("control", "eager").
    ArmName;
}

/// Declares ids that count.
macro_rules! counter_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// The one after this.
            #[must_use]
            pub fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

counter_ids! {
    /// Position of an entry in a run's journal, from 1.
    Seq;
    /// An intent of a run, from 1.
    ActionId;
    /// A question put to a policy, from 1.
    RequestId;
}

/// Content address: `sha256:` and 64 lower-case hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// A text that is not a digest.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a digest: expected \"sha256:\" and 64 lower-case hex digits")]
pub struct DigestError(String);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(format!("sha256:{}", base16ct::lower::encode_string(&Sha256::digest(bytes.as_ref()))))
    }

    /// With its algorithm: `sha256:…`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 hex digits alone, fit for a file name.
    pub fn hex(&self) -> &str {
        &self.0["sha256:".len()..]
    }

    /// The first 12 hex digits, for people.
    pub fn short(&self) -> &str {
        &self.hex()[..12]
    }
}

/// Makes the digest of bytes that are never in memory all at once.
#[derive(Clone, Debug, Default)]
pub struct DigestBuilder(Sha256);

impl DigestBuilder {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes that were taken.
    pub fn finish(self) -> Digest {
        Digest(format!("sha256:{}", base16ct::lower::encode_string(&self.0.finalize())))
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        match text.strip_prefix("sha256:") {
            Some(hex) if hex.len() == 64 && hex.bytes().all(is_hex) => Ok(Self(text)),
            _ => Err(DigestError(text)),
        }
    }
}

impl std::str::FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        Self::try_from(text.to_owned())
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_sha256_and_rejects_everything_else() {
        let empty = Digest::of("");
        assert_eq!(empty.short(), "e3b0c44298fc");
        assert_eq!(empty.as_str().parse::<Digest>(), Ok(empty.clone()));
        assert!("sha256:".parse::<Digest>().is_err());
        assert!(empty.as_str().to_uppercase().parse::<Digest>().is_err());
    }
}
