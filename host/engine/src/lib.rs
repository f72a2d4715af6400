//! Policies as WebAssembly components: load, limit, evaluate, route, fall back.
//!
//! Bytes become a [`Policy`] ([`Engine::load`]), a policy with settings becomes [`Configured`], and a [`Router`] asks
//! the one configured for each capability, with others behind it. Each question gets a fresh instance, bounded in
//! fuel, time, memory and size; whatever a component does, the worst that comes of it is a
//! [`Fault`](baton_core::decision::Fault). Whether a decision makes sense is not judged here: core does that.
#![deny(unsafe_code)] // Two exceptions, in `cache.rs` and `compiler/process.rs`: code that this program compiled; and what wasmtime generates.

#[doc(hidden)]
pub mod bare;
mod bindings;
mod bounds;
mod built_in;
mod cache;
mod compiler;
mod contract;
mod convert;
mod engine;
mod evaluate;
mod exports;
mod facts;
mod gate;
mod grants;
mod imports;
mod instance;
mod layer;
mod layout;
pub mod limits;
mod load;
mod native;
mod outline;
mod patterns;
mod plain;
mod reuse;
mod router;
mod settings;
mod shape;
mod state;
mod unfold;
mod wants;
mod watchdog;

pub use built_in::{BUILT_IN_NAMES, built_in, name_from_elsewhere};
pub use compiler::{CompilerProcess, compile_apart, compile_main, is_compiling, stop_compiling};
pub use contract::CONTRACTS;
pub use engine::{Engine, EngineError};
pub use evaluate::{Evaluation, PolicyAnswer};
pub use grants::{ArtifactSource, Grants};
pub use limits::{EngineConfig, Limits};
pub use load::{LoadError, Policy};
pub use native::answer_without_component;
pub use outline::{Import, Outline};
pub use reuse::{COMPARED_EVERY, COMPARED_FIRST, Remembers, Reusing};
pub use router::{BUILTIN_NAME, Chain, Decided, NATIVE_NAME, Router, RouterError, builtin_bytes, followed};
pub use settings::{Configured, Problem, Setting, SettingsError};
pub use state::{LogLevel, LogLine};
