//! Policies as WebAssembly components: load, limit, evaluate, route, fall back.
//!
//! Bytes become a [`CompiledPolicy`] ([`Engine::load`]), a policy with settings becomes [`ConfiguredPolicy`], and a [`Router`] asks
//! the one configured for each capability, with others behind it. Each question gets a fresh instance, bounded in
//! fuel, time, memory and size; whatever a component does, the worst that comes of it is a
//! [`Fault`](baton_core::decision::Fault). Whether a decision makes sense is not judged here: core does that.
#![deny(unsafe_code)] // Two exceptions, in `compile_cache.rs` and `compiler/process.rs`: code that this program compiled; and what wasmtime generates.

mod answer_limits;
#[doc(hidden)]
pub mod bench_support;
mod bindings;
mod built_in;
mod compile_cache;
mod compiler;
mod component_interface;
mod component_limits;
mod contract;
mod convert;
mod engine;
mod evaluate;
mod exports;
mod facts;
mod fallback_answers;
mod grants;
mod host_state;
mod imports;
mod instance;
mod instance_limiter;
mod instance_reuse;
mod layer;
mod layout;
pub mod limits;
mod load;
mod nested_instances;
mod patterns;
mod requested_grants;
mod router;
mod sanitize;
mod settings;
mod watchdog;

pub use built_in::{BUILT_IN_NAMES, built_in, external_policy_name};
pub use compiler::{CompilerProcess, compile_in_subprocess, compile_main, is_compiling, stop_compiling};
pub use component_interface::{ComponentInterface, ImportedInterface};
pub use contract::CONTRACTS;
pub use engine::{Engine, EngineError};
pub use evaluate::{Evaluation, PolicyAnswer};
pub use fallback_answers::answer_without_component;
pub use grants::{ArtifactSource, ComponentGrants};
pub use host_state::{LogLevel, PolicyLogLine};
pub use instance_reuse::{COMPARED_EVERY, COMPARED_FIRST, ReusedInstance, StatefulPolicyError};
pub use limits::{DecisionLimits, EngineConfig};
pub use load::{CompiledPolicy, LoadError};
pub use router::{
    BUILTIN_NAME, Chain, HOST_FALLBACK_NAME, RoutedDecision, Router, RouterError, builtin_bytes,
    validate_answer,
};
pub use settings::{ConfiguredPolicy, SettingProblem, SettingSpec, SettingsError};
