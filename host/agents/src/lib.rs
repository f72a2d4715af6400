//! Drivers: spawn, guard and talk to an agent process. One file an agent kind.
//!
//! What an agent says comes as [`AgentEvent`](baton_core::facts::AgentEvent)s through one bounded channel; what it is
//! told goes through an [`AgentHandle`]. Nothing here judges a session, and nothing outlives its host: every agent runs
//! under a [guard](supervisor_main) that ends it, and all it started, when the host is gone.
#![forbid(unsafe_code)]

mod acp;
mod claude;
mod codex;
mod command_allowlist;
mod command_driver;
mod command_files;
mod discovery;
mod driver;
mod environment;
mod event_throttle;
mod folder_trust;
mod guard_registry;
mod launch;
mod logged_turns;
mod orphan;
mod process_mark;
mod procfs;
mod program_lookup;
mod program_output;
mod readiness;
mod rehearsal;
mod relay;
mod session_boundary;
mod session_files;
mod settings_commands;
mod settings_fingerprint;
mod spawn;
mod supervised_process;
mod supervisor;
mod token;

pub use command_files::CommandFiles;
pub use discovery::{CapabilitySource, DiscoveredAgent, survey};
pub use driver::{AgentHandle, DriverError};
pub use folder_trust::expect_trusted;
pub use launch::{
    AgentLaunch, BatonToolServer, DriverEvent, McpServer, SpawnError, SpawnedAgent, ToolServerConnector,
};
pub use logged_turns::turns_logged;
pub use orphan::{Orphan, end_left_behind, end_orphan, probe_orphan};
pub use process_mark::{
    ProcessOrigin, adopt_orphans, become_launcher, descends_from_host, end_descendants, is_launched,
    of as mark_of, of_command as mark_of_command, own_marks, process_origin,
};
pub use program_lookup::find_program;
pub use readiness::check_ready;
pub use rehearsal::{rehearsal_main, script::ScriptError, script::check_script};
pub use relay::runner_main;
pub use session_boundary::{ActiveBoundary, BoundaryContext, UnheldTargets};
pub use session_files::SecretMask;
pub use settings_fingerprint::{TOO_MANY_SETTINGS, fingerprints_at, settings_of_agents};
pub use spawn::{capabilities, preview_command, spawn};
pub use supervisor::supervisor_main;
pub use token::random_token;
