//! The engine: wasmtime's configuration, the pool, and what identifies both. Loading is in `load.rs`, deciding in
//! `evaluate.rs`.

use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use baton_core::Digest;
use baton_core::grants::MEMORY_MIB_MAX;
use sha2::{Digest as _, Sha256};
use wasmtime::component::Linker;
use wasmtime::{Config, Enabled, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::compile_cache::CompileCache;
use crate::compiler::CompilerProcess;
use crate::host_state::HostState;
use crate::imports::{self, BYTE_FUEL, CALL_FUEL, ENTRY_BYTES, PATTERN_BYTE_FUEL};
use crate::instance_limiter::InstancePermits;
use crate::layer::NEXT_FUEL;
use crate::limits::{
    BEHIND_MAX, CHAIN_LINKS_MAX, DecisionLimits, EngineConfig, MAX_DECISIONS_IN_FLIGHT, NEXT_CALLS_MAX,
    PASSED_ON_BYTES,
};
use crate::watchdog::Watchdog;

/// Evaluates policies. Cheap to clone; all clones share one pool.
#[derive(Clone)]
pub struct Engine(pub(crate) Arc<EngineInner>);

pub(crate) struct EngineInner {
    pub(crate) wasm: wasmtime::Engine,
    pub(crate) linker: Linker<HostState>,
    pub(crate) limits: DecisionLimits,
    pub(crate) permits: InstancePermits,
    pub(crate) watchdog: Watchdog,
    pub(crate) cache: Option<CompileCache>,
    pub(crate) compiler: Option<CompilerProcess>,
    cache_problem: Option<String>,
    /// Code that one engine compiled runs in every engine with this digest.
    pub(crate) compatible: Digest,
    digest: Digest,
}

/// The engine could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A number that makes no sense.
    #[error(
        "cannot make {given} decisions at a time: `decisions_in_flight` must be between 1 and {MAX_DECISIONS_IN_FLIGHT}"
    )]
    DecisionsInFlight {
        /// What was asked for.
        given: u32,
    },
    /// The system or wasmtime refused.
    #[error(
        "cannot set up the WebAssembly engine for {decisions_in_flight} decisions at a time: {detail}; if the \
         address space is limited (`ulimit -v`), allow fewer decisions at a time"
    )]
    Wasmtime {
        /// What was asked for.
        decisions_in_flight: u32,
        /// What wasmtime said.
        detail: String,
    },
    /// No thread for the watchdog.
    #[error("cannot start the thread that watches over decisions: {0}")]
    Watchdog(#[from] std::io::Error),
}

/// Pages that a decision touched stay in memory for the next one, which saves the page faults that dominate a fresh
/// instance. Without `PAGEMAP_SCAN` (Linux 6.7) all of them would be cleared by hand each time, which costs more.
const KEEP_RESIDENT_BYTES: usize = 2 << 20;

/// A component made by `wit-component` is three core instances (the module, its shim, its fixup); a whole Python
/// interpreter with its libraries is 38. They are counted, not reserved.
const CORE_INSTANCES: u32 = 64;

/// One for the module, one for the shim, and room.
const TABLES: u32 = 4;

impl Engine {
    /// Sets up wasmtime and its pool. A cache folder that cannot be used is not an error, see [`Engine::cache_problem`].
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        let EngineConfig { cache_dir, limits, decisions_in_flight, compiler } = config;
        if !(1..=MAX_DECISIONS_IN_FLIGHT).contains(&decisions_in_flight) {
            return Err(EngineError::DecisionsInFlight { given: decisions_in_flight });
        }
        let refused = |error: wasmtime::Error| EngineError::Wasmtime {
            decisions_in_flight,
            detail: format!("{error:#}"),
        };
        let wasm = wasmtime::Engine::new(&wasmtime_config(&limits, decisions_in_flight)).map_err(refused)?;
        let mut linker = Linker::new(&wasm);
        imports::define(&mut linker).map_err(refused)?;
        let compatible = compatibility(&wasm);
        let (cache, cache_problem) = open_cache(cache_dir);
        Ok(Self(Arc::new(EngineInner {
            watchdog: Watchdog::start(wasm.clone())?,
            digest: engine_digest(&compatible, &limits),
            permits: InstancePermits::new(decisions_in_flight),
            wasm,
            linker,
            limits,
            cache,
            compiler,
            cache_problem,
            compatible,
        })))
    }

    /// Identifies wasmtime's version, its configuration, the limits and the price of every import. Decisions and
    /// fuel are the same for the same digest.
    pub fn digest(&self) -> &Digest {
        &self.0.digest
    }

    /// The limits of one decision.
    pub fn limits(&self) -> &DecisionLimits {
        &self.0.limits
    }

    /// Why compiled components are not cached, if a folder was given and could not be used.
    pub fn cache_problem(&self) -> Option<&str> {
        self.0.cache_problem.as_deref()
    }

    /// The most decisions that were ever made at a time; never more than `decisions_in_flight`.
    pub fn peak_instances(&self) -> u32 {
        self.0.permits.peak()
    }

    /// Instances that live now, as wasmtime's pool counts them.
    pub fn live_instances(&self) -> u64 {
        self.0.wasm.pooling_allocator_metrics().map_or(0, |pool| pool.component_instances())
    }
}

fn open_cache(folder: Option<PathBuf>) -> (Option<CompileCache>, Option<String>) {
    match folder.map(|folder| (CompileCache::open(&folder), folder)) {
        None => (None, None),
        Some((Ok(cache), _)) => (Some(cache), None),
        Some((Err(error), folder)) => {
            let problem = format!("cannot keep compiled policies in {}: {error}", folder.display());
            (None, Some(problem))
        }
    }
}

/// The settings of `notes`: sync calls, fresh instances from a pool, and nothing whose result depends on the machine.
pub(crate) fn wasmtime_config(limits: &DecisionLimits, decisions_in_flight: u32) -> Config {
    // A layer holds its instance while the policies behind it have theirs.
    let instances = decisions_in_flight * CHAIN_LINKS_MAX;
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(instances)
        .total_core_instances(instances * CORE_INSTANCES)
        .max_core_instances_per_component(CORE_INSTANCES)
        .total_memories(instances)
        .max_memories_per_component(1)
        .total_tables(instances * TABLES)
        .max_tables_per_component(TABLES)
        .max_memory_size(
            usize::try_from(limits.memory_bytes.max(u64::from(MEMORY_MIB_MAX) << 20)).unwrap_or(usize::MAX),
        );
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
            .table_keep_resident(KEEP_RESIDENT_BYTES)
            .pagemap_scan(Enabled::Yes);
    }
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .concurrency_support(false) // Sync calls are some five times cheaper without it.
        .consume_fuel(true)
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .memory_init_cow(true)
        // Bounds are checked in the code, not by pages without access: taking access away and giving it back for each
        // instance costs more than the checks, and makes every core stop for it.
        .signals_based_traps(false)
        .memory_guard_size(0)
        // Neither is needed to stop a policy or to report why it failed, and without them its code is smaller and loads at
        // once.
        .native_unwind_info(false)
        .generate_address_map(false)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// wasmtime's own compatibility hash, as a digest.
fn compatibility(wasm: &wasmtime::Engine) -> Digest {
    struct DigestHasher(Sha256);
    impl Hasher for DigestHasher {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0 // Nobody asks: the digest is taken from the state itself.
        }
    }
    let mut feed = DigestHasher(Sha256::new());
    wasm.precompile_compatibility_hash().hash(&mut feed);
    Digest::of(feed.0.finalize())
}

/// Every number that can change a policy's answer or its reported fuel.
fn engine_digest(compatible: &Digest, limits: &DecisionLimits) -> Digest {
    let DecisionLimits {
        fuel,
        watchdog_ms: _,
        memory_bytes,
        output_bytes,
        input_bytes,
        log_lines: _,
        log_bytes: _,
    } = limits;
    Digest::of(format!(
        "baton:policy@0.1 on {compatible}; fuel {fuel}, call {CALL_FUEL}, byte {BYTE_FUEL}, entry {ENTRY_BYTES}, \
         pattern byte {PATTERN_BYTE_FUEL}, next {NEXT_FUEL}; next calls {NEXT_CALLS_MAX}, behind {BEHIND_MAX}; memory {memory_bytes}, output {output_bytes}, passed on {PASSED_ON_BYTES}, input {input_bytes}"
    ))
}
