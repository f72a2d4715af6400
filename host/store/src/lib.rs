//! Everything that must survive: the journal (SQLite) and the artifact store (cap-std). This crate decides and performs
//! nothing, and rewrites nothing: rows are added, objects are immutable.
//!
//! ```text
//! <state root>/                     0700
//!   aot/                            precompiled policies, shared by all workspaces
//!   <16 hex digits>/                one folder a workspace, named by a digest of its canonical path
//!     workspace                     that path, for people
//!     lock                          held by the one host that works here
//!     journal.sqlite                every run of the workspace (`Journal`)
//!     artifacts.sqlite, artifacts/  names and versions; objects by content address (`ArtifactStore`)
//!     sessions/  control.sock       the runtime's
//! ```
#![forbid(unsafe_code)]

mod artifact_metadata;
mod artifacts;
mod database;
mod entry;
mod error;
mod gc;
mod journal;
mod migrations;
mod object_store;
mod reader;
mod schema;
pub mod secrets;
mod state_dir;
mod writer;

pub use artifact_metadata::{TOKENS_COUNTED, TOKENS_ESTIMATED, preview, tokens};
pub use artifacts::{
    ARTIFACT_BYTES_MAX, ArtifactStore, ArtifactVersion, NAME_BYTES_MAX, NewArtifact, SavedArtifact,
    check_name,
};
pub use entry::{Durability, EncodedEntry, EncodedIntent, FORMAT, JournalEntry};
pub use error::StoreError;
pub use gc::{RetainedRun, Retention};
pub use journal::{CommitHook, Journal, JournalOptions, JournalStats};
pub use reader::{JournalEntries, RunSummary};
pub use schema::JOURNAL_VERSION;
pub use state_dir::{FoundStates, HostLock, StateDir};
