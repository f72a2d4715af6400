//! The errors of fetching from a registry, publishing to it, and trust. Each one names the attempted operation, its object, and
//! what the user can do.

use std::path::PathBuf;

use baton_core::Digest;

use crate::trust::TrustError;

/// Longest part of a registry's response that is shown to the user.
const SAID_CHARS_MAX: usize = 300;

/// The reason why a registry, or the store of pulled policies, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// No answer, or not one that is understood.
    #[error(
        "cannot reach the registry at {url}: {why}. A policy that was pulled before needs no network if it is pinned, or named by its digest"
    )]
    Unreachable {
        /// The requested URL.
        url: String,
        /// The failure.
        why: String,
    },
    /// It is not here, and no registry is asked for it.
    #[error(
        "{reference} is not pulled yet, and this command does not contact registries: `baton policy pull {reference}` fetches it, and `baton policy lock` pins it"
    )]
    NotPulled {
        /// The reference.
        reference: String,
    },
    /// It is named by a tag, and this command does not ask the registry for the tag's current manifest.
    #[error(
        "{reference} is not pinned, and this command does not contact the registry to resolve its tag: `baton policy lock WORKFLOW.toml` resolves and pins it, as a run does"
    )]
    NotPinned {
        /// The reference.
        reference: String,
    },
    /// A folder names a place that the user never named.
    #[error(
        "{reference} is named only by {by}, which came with the folder, and not by your own files, so Baton does not fetch it. If you want it, pin it with `baton policy lock`, or name its registry under [trust] in your config"
    )]
    Unknown {
        /// The reference.
        reference: String,
        /// The file that names it.
        by: String,
    },
    /// It answers too slowly, or not any more.
    #[error("the registry at {url} did not answer in time ({why}); nothing was saved. Try again")]
    TimedOut {
        /// The requested URL.
        url: String,
        /// Which time ran out.
        why: String,
    },
    /// The connection ended before the answer did.
    #[error(
        "the connection to {url} closed before the transfer completed: {why}; nothing was saved. Try again"
    )]
    BrokeOff {
        /// The requested URL.
        url: String,
        /// The failure.
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
        /// The attempted operation.
        what: String,
        /// Whether credentials were sent.
        had_credentials: bool,
    },
    /// The Docker config, or a helper that it names, gives no credentials.
    #[error("cannot load the credentials for {host}: {why}")]
    Credentials {
        /// Host and port.
        host: String,
        /// The failure.
        why: String,
    },
    /// Credentials would go over the network for everybody to read.
    #[error(
        "the registry {host} redirects logins to {realm}, which is neither HTTPS nor this machine; no credentials were sent"
    )]
    OpenRealm {
        /// Host and port.
        host: String,
        /// The address of the token.
        realm: String,
    },
    /// There is nothing under this reference.
    #[error(
        "there is no {reference}: {}",
        if reference.contains('@') { "the policy with this digest was removed or never existed" } else { "the tag was removed or never existed. If you know the digest, write it instead" }
    )]
    NotFound {
        /// The reference.
        reference: String,
    },
    /// It answers with a status that is of no use.
    #[error("the registry answers {status} at {url}{}", if said.is_empty() { String::new() } else { format!(": {said}") })]
    Status {
        /// The HTTP status.
        status: u16,
        /// The requested URL.
        url: String,
        /// The registry's message.
        said: String,
    },
    /// The answer is larger than it may be.
    #[error(
        "{what} at {url} has more than {max} bytes, which is more than a policy needs; it was not downloaded"
    )]
    TooLarge {
        /// The requested object.
        what: &'static str,
        /// Its URL.
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
        /// The requested digest.
        expected: Digest,
        /// The digest of the received bytes.
        found: Digest,
    },
    /// It is an image, a chart, an index.
    #[error("{reference} is not a policy: its {what} is {found:?}, expected {expected:?}")]
    MediaType {
        /// Which policy.
        reference: String,
        /// "manifest", "config", "layer".
        what: &'static str,
        /// The required kind.
        expected: &'static str,
        /// The actual kind.
        found: String,
    },
    /// Its manifest is not to be understood.
    #[error("{reference} is not a policy artifact: {why}")]
    Manifest {
        /// Which policy.
        reference: String,
        /// The defect.
        why: String,
    },
    /// The artifact cannot be pushed.
    #[error("cannot push to {reference}: {why}")]
    Push {
        /// The reference.
        reference: String,
        /// The defect.
        why: String,
    },
    /// The pinned manifest names another component than the pin.
    #[error(
        "{reference} is pinned to the component {expected}, but its manifest names {found}; the pin was changed by hand. Review the new component, then run `baton policy lock`"
    )]
    PinMismatch {
        /// Which policy.
        reference: String,
        /// The digest in the lock.
        expected: Digest,
        /// The digest in the manifest.
        found: Digest,
    },
    /// A file of the store has changed.
    #[error(
        "{} has changed since it was pulled: it has the digest {found}, and its name says {expected}. Delete it, and Baton pulls it again", path.display()
    )]
    Tampered {
        /// The file.
        path: PathBuf,
        /// The digest in its name.
        expected: Digest,
        /// The digest of its content.
        found: Digest,
    },
    /// The store cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Store {
        /// "read", "write".
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// It is not trusted.
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl RegistryError {
    /// Whether the received content was refused. All other errors are about the network, the disk or the reference.
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

    /// Whether the reference, or the place that it names, is wrong.
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

/// Untrusted text, made fit for a terminal: short, in one line, without control characters.
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
