//! Sources of policy components: references and digests, registries, signatures and trust rules, the store of pulled policies,
//! and the lock that pins them. The engine decides whether the bytes are a component that may run.
//!
//! All calls here are blocking: a caller in an async runtime runs them on a thread.
#![forbid(unsafe_code)]

mod artifact;
mod auth;
mod client;
mod content_store;
mod credentials;
mod error;
mod http;
mod lock;
mod oci_reference;
mod policy_reference;
mod resolver;
mod sign;
pub mod trust;

pub use artifact::{COMPONENT_TYPE, CONFIG_TYPE, MANIFEST_TYPE, PolicyArtifact};
pub use client::{ClientOptions, PulledPolicy, RegistryClient};
pub use content_store::{ContentStore, ContentStoreEntry, StoredPolicy};
pub use credentials::{RegistryCredentials, TrustedCommand};
pub use error::RegistryError;
pub use http::Timeouts;
pub use lock::{LOCK_FILE, LockError, OciPin, PinStatus, PolicyLock};
pub use oci_reference::{InvalidOciReference, OciReference, SCHEME};
pub use policy_reference::{
    COMPONENT_BYTES_MAX, ComponentFile, ResolveError, ResolvedReference, lock_key, resolve,
};
pub use resolver::{PolicyResolver, ResolvedPolicy};
pub use sign::{KeyError, PAYLOAD_TYPE, PublicKey, SIGNATURE_ANNOTATION, Signature, SigningKey};
