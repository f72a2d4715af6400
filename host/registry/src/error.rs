//! Why something could not be had from a registry, put there, or believed. Each kind says what was tried, where, and what to
//! do next.

use std::path::PathBuf;

use baton_core::Digest;

use crate::trust::TrustError;

/// Most of what a registry says that is passed on to a person.
const SAID_CHARS_MAX: usize = 300;

/// Why a registry, or the store of what was pulled from it, is of no use.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No answer, or not one that is understood.
    #[error(
        "cannot reach the registry at {url}: {why}. A policy that was pulled before needs no network if it is pinned, or named by its digest"
    )]
    Unreachable {
        /// What was asked for.
        url: String,
        /// What went wrong.
        why: String,
    },
    /// It is not here, and no registry is asked for it.
    #[error(
        "{reference} is not pulled yet, and this command does not contact registries: `baton policy pull {reference}` fetches it, and `baton policy lock` pins it"
    )]
    NotPulled {
        /// What is meant.
        reference: String,
    },
    /// It is named by a tag, and what the tag names now is not known without asking.
    #[error(
        "{reference} is not pinned, and this command does not contact the registry to resolve its tag: `baton policy lock WORKFLOW.toml` resolves and pins it, as a run does"
    )]
    NotPinned {
        /// What is meant.
        reference: String,
    },
    /// A folder names a place that the user never named.
    #[error(
        "{reference} is named only by {by}, which came with the folder, and not by your own files, so Baton does not fetch it. If you want it, pin it with `baton policy lock`, or name its registry under [trust] in your config"
    )]
    Unknown {
        /// What is named.
        reference: String,
        /// The file that names it.
        by: String,
    },
    /// It answers too slowly, or not any more.
    #[error("the registry at {url} did not answer in time ({why}); nothing was saved. Try again")]
    TimedOut {
        /// What was asked for.
        url: String,
        /// Which time ran out.
        why: String,
    },
    /// The connection ended before the answer did.
    #[error(
        "the connection to {url} closed before the transfer completed: {why}; nothing was saved. Try again"
    )]
    BrokeOff {
        /// What was asked for.
        url: String,
        /// What went wrong.
        why: String,
    },
    /// It wants credentials that are not there, or others.
    #[error(
        "the registry {host} refuses {what}: {}. `docker login {host}` stores credentials that baton uses",
        if *had_credentials { "the credentials in the Docker config do not suffice" } else { "the Docker config has no credentials for it" }
    )]
    Unauthorized {
        /// Host and port.
        host: String,
        /// What was tried.
        what: String,
        /// Whether credentials were sent.
        had_credentials: bool,
    },
    /// The Docker config, or what it names, gives no credentials.
    #[error("cannot load the credentials for {host}: {why}")]
    Credentials {
        /// Host and port.
        host: String,
        /// What went wrong.
        why: String,
    },
    /// Credentials would go over the network for everybody to read.
    #[error(
        "the registry {host} redirects logins to {realm}, which is neither HTTPS nor this machine; no credentials were sent"
    )]
    OpenRealm {
        /// Host and port.
        host: String,
        /// Where the token would be fetched.
        realm: String,
    },
    /// There is nothing under this reference.
    #[error(
        "there is no {reference}: {}",
        if reference.contains('@') { "the policy with this digest was removed or never existed" } else { "the tag was removed or never existed. If you know the digest, write it instead" }
    )]
    NotFound {
        /// What was asked for.
        reference: String,
    },
    /// It answers with a status that is of no use.
    #[error("the registry answers {status} at {url}{}", if said.is_empty() { String::new() } else { format!(": {said}") })]
    Status {
        /// The HTTP status.
        status: u16,
        /// What was asked for.
        url: String,
        /// What it says about it.
        said: String,
    },
    /// The answer is larger than it may be.
    #[error(
        "{what} at {url} has more than {max} bytes, which is more than a policy needs; it was not downloaded"
    )]
    TooLarge {
        /// What was asked for.
        what: &'static str,
        /// Where.
        url: String,
        /// The bound.
        max: u64,
    },
    /// The bytes are not those that were asked for.
    #[error(
        "{what} of {reference} has the digest {found}, but {expected} was requested: it was changed in the registry or in transit. Nothing was saved; tell its publisher"
    )]
    WrongDigest {
        /// "the manifest", "the component".
        what: &'static str,
        /// Which policy.
        reference: String,
        /// What was asked for.
        expected: Digest,
        /// What came.
        found: Digest,
    },
    /// It is an image, a chart, an index.
    #[error("{reference} is not a policy: its {what} is {found:?}, expected {expected:?}")]
    MediaType {
        /// Which policy.
        reference: String,
        /// "manifest", "config", "layer".
        what: &'static str,
        /// What is needed.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// Its manifest is not to be understood.
    #[error("{reference} is not a policy artifact: {why}")]
    Manifest {
        /// Which policy.
        reference: String,
        /// What is wrong.
        why: String,
    },
    /// What was asked for cannot be pushed.
    #[error("cannot push to {reference}: {why}")]
    Push {
        /// The reference.
        reference: String,
        /// What is wrong.
        why: String,
    },
    /// What was pinned has become another.
    #[error(
        "{reference} is pinned to the component {expected}, but its manifest names {found}; the pin was changed by hand. Review the new component, then run `baton policy lock`"
    )]
    PinMismatch {
        /// Which policy.
        reference: String,
        /// What the lock says.
        expected: Digest,
        /// What the manifest says.
        found: Digest,
    },
    /// A file of the store is not what it was.
    #[error(
        "{} has changed since it was pulled: it has the digest {found}, and its name says {expected}. Delete it, and Baton pulls it again", path.display()
    )]
    Tampered {
        /// The file.
        path: PathBuf,
        /// What its name says.
        expected: Digest,
        /// What it has.
        found: Digest,
    },
    /// The store cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Store {
        /// "read", "write".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not trusted.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl RegistryError {
    /// Whether something came, and was refused for what it is. Everything else is a matter of the network, the disk or the
    /// reference.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::WrongDigest { .. }
            | Self::MediaType { .. }
            | Self::Manifest { .. }
            | Self::TooLarge { .. }
            | Self::PinMismatch { .. }
            | Self::Tampered { .. } => true,
            Self::Trust(error) => error.is_refusal(),
            _ => false,
        }
    }

    /// Whether the reference, or the place that it names, is what is wrong.
    pub fn is_usage(&self) -> bool {
        match self {
            Self::NotFound { .. }
            | Self::NotPulled { .. }
            | Self::NotPinned { .. }
            | Self::Unknown { .. }
            | Self::Push { .. } => true,
            Self::Trust(error) => !error.is_refusal(),
            _ => false,
        }
    }
}

/// What a stranger says, fit for a terminal: short, in one line, without control characters.
pub(crate) fn said(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut short: String = text.trim().chars().take(SAID_CHARS_MAX).collect();
    if short.len() < text.trim().len() {
        short.push('…');
    }
    short.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stranger_says_does_no_harm_to_a_terminal() {
        assert_eq!(said(b" no\x1b[2J\nsuch \xff "), "no [2J such \u{fffd}");
        assert_eq!(said(&[b'a'; 1000]).chars().count(), SAID_CHARS_MAX + 1);
    }
}
