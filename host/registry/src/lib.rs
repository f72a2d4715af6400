//! Where policy components come from: references and digests, registries, signatures and whose are believed, the store of what
//! was pulled, and the lock that pins it. Whether the bytes are a component that may run here is for the engine to say.
//!
//! Everything here waits for what it asks: a caller in an async runtime gives it a thread.
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
