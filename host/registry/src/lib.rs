//! Where policy components come from: references, digests, and the lock that pins them. Reads files and nothing
//! else; whether the bytes are a component that may run here is for the engine to say.
#![forbid(unsafe_code)]

mod lock;
mod reference;

pub use lock::{LOCK_FILE, Lock, LockError, Pinned};
pub use reference::{COMPONENT_BYTES_MAX, Component, ResolveError, Resolved, lock_key, resolve};
