//! What a policy author depends on: one trait a decision, the host as a trait, and a macro that exports a policy.
//!
//! A policy is a pure function. It implements [`Exhaustion`], [`Completion`], [`Recovery`], [`Compaction`], [`Offloading`],
//! [`Splitting`], [`Budgeting`], [`Prompting`], [`Handoff`], [`Review`], [`Settings`] or any of them for a unit type and names them in [`export_policy!`]. The same crate is tested natively against a
//! [`MockHost`] and built as a WebAssembly component, unchanged. This crate does not load, run or check components.
//!
//! ```
//! use baton_sdk::prelude::*;
//!
//! struct Early;
//!
//! impl Compaction for Early {
//!     fn decide(_host: &impl Host, observation: compaction::Observation) -> Option<compaction::Decision> {
//!         Some(match observation.session.occupancy.percent() {
//!             Some(percent) if percent >= 50.0 => {
//!                 compaction::Decision::new(compaction::Action::Compact(None), format!("{percent:.0} % full"))
//!             }
//!             _ => compaction::Decision::new(compaction::Action::Keep, "there is room"),
//!         })
//!     }
//! }
//!
//! export_policy!(Early: compaction);
//! ```
//!
//! A name that is no decision does not compile, and the message lists those that are:
//!
//! ```compile_fail
//! # struct Early;
//! // error: `compacting` is no decision of baton:policy; it has: exhaustion, completion, recovery, compaction, offloading, splitting, budgeting, prompting, handoff, review, settings
//! baton_sdk::export_policy!(Early: compacting);
//! ```
//!
//! Neither does a decision whose trait the policy does not implement:
//!
//! ```compile_fail,E0277
//! # struct Early;
//! baton_sdk::export_policy!(Early: splitting);
//! ```
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[doc(hidden)]
pub mod bindings;
pub mod caps;
#[cfg(not(target_arch = "wasm32"))]
mod case;
mod decisions;
mod export;
#[cfg(not(target_arch = "wasm32"))]
mod facts;
#[cfg(not(target_arch = "wasm32"))]
pub mod golden;
mod host;
#[cfg(not(target_arch = "wasm32"))]
mod json;
#[cfg(not(target_arch = "wasm32"))]
mod judged;
#[cfg(not(target_arch = "wasm32"))]
mod mock;
mod next;
#[cfg(not(target_arch = "wasm32"))]
pub mod rules;
#[cfg(not(target_arch = "wasm32"))]
pub mod sample;
pub mod schema;
pub mod sections;
#[cfg(all(feature = "proptest", not(target_arch = "wasm32")))]
pub mod strategy;
pub mod time;
pub mod words;

#[cfg(not(target_arch = "wasm32"))]
pub use case::{Answer, Ask, Case, Policy, by};
pub use decisions::{
    Budgeting, Compaction, Completion, Exhaustion, Handoff, Offloading, Prompting, Recovery, Review,
    Settings, Splitting, budgeting, compaction, completion, exhaustion, handoff, offloading, prompting,
    recovery, review, settings, splitting, types,
};
#[cfg(not(target_arch = "wasm32"))]
pub use facts::Facts;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
pub use host::Imports;
pub use host::{Hit, Host, Level, PastCompaction, PastHandoff, PastSession, PastWait, ReadError, TurnTaken};
#[cfg(not(target_arch = "wasm32"))]
pub use judged::Judged;
#[cfg(not(target_arch = "wasm32"))]
pub use mock::MockHost;
pub use next::Next;

/// The contract that this SDK is made for: the version of `baton:policy` in `wit/`. A host serves components of every
/// version that it knows, and says of the others what they were made for.
///
/// ```
/// assert_eq!(baton_sdk::CONTRACT, "0.1.0");
/// ```
pub const CONTRACT: &str = "0.1.0";

/// Everything a policy usually needs.
///
/// ```
/// use baton_sdk::prelude::*;
///
/// fn note(host: &impl Host) {
///     host.log(Level::Debug, "nothing to decide");
/// }
/// note(&baton_sdk::MockHost::new());
/// ```
pub mod prelude {
    pub use crate::types::*;
    pub use crate::{
        Budgeting, Compaction, Completion, Exhaustion, Handoff, Hit, Host, Level, Next, Offloading,
        PastCompaction, PastHandoff, PastSession, PastWait, Prompting, ReadError, Recovery, Review, Settings,
        Splitting, TurnTaken, budgeting, caps, compaction, completion, exhaustion, export_policy, handoff,
        offloading, prompting, recovery, review, schema, settings, splitting,
    };
}

/// The guide, so that its examples are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Guide;
