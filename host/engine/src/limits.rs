//! What one decision may use, and how many are made at a time. Nothing here enforces anything.

use std::path::PathBuf;

use crate::compiler::CompilerProcess;

/// How an [`Engine`](crate::Engine) is set up.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Folder for compiled components between runs of the host; without it every start compiles them again.
    ///
    /// The folder must be private to the user (mode 0700). It is created if it is missing.
    pub cache_dir: Option<PathBuf>,
    /// What one decision may use.
    pub limits: DecisionLimits,
    /// Instances that live at a time, from 1 to 1,024. The memory of the pool depends on this number alone, never
    /// on the number of agents; a further caller waits.
    pub decisions_in_flight: u32,
    /// What compiles components that are not part of the host; without it the host's own process does, with no other limit than what
    /// may be compiled at all. By default, what [`compile_in_subprocess`](crate::compile_in_subprocess) said.
    pub compiler: Option<CompilerProcess>,
}

/// Two decisions for each of the two cores of a small machine: a decision takes some ten µs, so a host that waits
/// for one of these has other worries.
pub const DECISIONS_IN_FLIGHT: u32 = 4;

/// More than this many instances at a time would need more address space than a process gets by default.
pub const MAX_DECISIONS_IN_FLIGHT: u32 = 1024;

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            cache_dir: None,
            limits: DecisionLimits::default(),
            decisions_in_flight: DECISIONS_IN_FLIGHT,
            compiler: CompilerProcess::of_every_engine(),
        }
    }
}

/// What one decision may use. They are part of [`Engine::digest`](crate::Engine::digest), except for the watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DecisionLimits {
    /// Fuel: the semantic limit, deterministic under one engine digest.
    pub fuel: u64,
    /// Wall time after which the host's backstop ends a decision that fuel did not.
    pub watchdog_ms: u64,
    /// Linear memory of an instance, its initial memory included.
    pub memory_bytes: u64,
    /// Bytes that one answer, or one call of an import, may carry into the host.
    pub output_bytes: u64,
    /// Bytes of text that one question may refer to.
    pub input_bytes: u64,
    /// Log messages kept of one decision.
    pub log_lines: u32,
    /// Bytes kept of one log message.
    pub log_bytes: u32,
}

/// Two hundred times the fuel of a realistic decision (some 200,000), and still only some ten ms.
pub const FUEL: u64 = 40_000_000;

/// Fuel ends a computation that takes too long. The watchdog covers time that fuel does not measure (a machine that swaps, a
/// call of the host). It is long enough for an honest decision on a loaded machine.
pub const WATCHDOG_MS: u64 = 2_000;

/// Room for a policy in Python or JavaScript, whose interpreters begin with some 20 MiB.
pub const MEMORY_BYTES: u64 = 64 << 20;

/// Four times the largest single text an answer may have.
pub const OUTPUT_BYTES: u64 = 128 << 10;

/// The host cuts its text windows to some KiB; documents and findings are a page. One MiB is far beyond both.
pub const INPUT_BYTES: u64 = 1 << 20;

/// Bytes of one artifact that are read for a policy; a larger one is as good as absent.
pub const ARTIFACT_READ_BYTES: u64 = 1 << 20;

/// As `wit/imports.wit` promises.
pub const LOG_LINES: u32 = 16;

/// As `wit/imports.wit` promises.
pub const LOG_BYTES: u32 = 1024;

/// Policies of one chain, the built-in one behind it included: one decision may need this many instances at a time.
pub const CHAIN_LINKS_MAX: u32 = 5;

/// Calls of the next policy that one evaluation of a layer may make (as `wit/worlds.wit` promises).
pub const NEXT_CALLS_MAX: u32 = 4;

/// Maximum number of evaluations behind layers in one decision, for all layers of the chain together.
pub const BEHIND_MAX: u32 = 16;

/// A component larger than this is refused before it is compiled: a whole Python interpreter takes 18 MiB.
pub const COMPONENT_BYTES: u64 = 64 << 20;

/// Fuel for making an instance, in addition to the fuel of the decision: interpreters initialise at build time, so only a few
/// constructors run here.
pub const START_FUEL: u64 = 20_000_000;

/// A prompt, a document, an index or compaction instructions: one screen is 4 KiB, eight of them are too much to
/// read but not yet an attack.
pub const ANSWER_TEXT_BYTES: usize = 32 << 10;

/// Beside its answer a layer carries the question into the host that it passes on to the next policy: objectives, files and records of
/// a large phase, which the host itself had given it.
pub const PASSED_ON_BYTES: u64 = 4 << 20;

/// A reason, a warning, a title or a question to the user: some sentences.
pub const REASON_BYTES: usize = 1024;

/// Evidence is quoted, so it is cut to this (as `wit/types.wit` promises) instead of refused.
pub const EVIDENCE_BYTES: usize = 200;

/// Entries of any list in an answer: a split has at most 26 parts, an observation at most 32 signals.
pub const ANSWER_ITEMS: usize = 256;

impl Default for DecisionLimits {
    fn default() -> Self {
        Self {
            fuel: FUEL,
            watchdog_ms: WATCHDOG_MS,
            memory_bytes: MEMORY_BYTES,
            output_bytes: OUTPUT_BYTES,
            input_bytes: INPUT_BYTES,
            log_lines: LOG_LINES,
            log_bytes: LOG_BYTES,
        }
    }
}
