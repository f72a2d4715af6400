//! Drivers: spawn, guard and talk to an agent process. One file an agent kind.
//!
//! What an agent says comes as [`AgentEvent`](baton_core::facts::AgentEvent)s through one bounded channel; what it is
//! told goes through an [`AgentHandle`]. Nothing here judges a session, and nothing outlives its host: every agent runs
//! under a [guard](guard_main) that ends it, and all it started, when the host is gone.
#![forbid(unsafe_code)]

mod acp;
mod allowed;
mod claude;
mod codex;
mod confine;
mod driver;
mod environment;
mod files;
mod flow;
mod guard;
mod launch;
mod logged;
mod mark;
mod orphan;
mod plain;
mod proc;
mod process;
mod program;
mod query;
mod ready;
mod rehearsal;
mod relay;
mod settings;
mod spawn;
mod survey;
mod token;
mod trust;

pub use confine::{ActiveBoundary, BoundaryContext};
pub use driver::{AgentHandle, DriverError};
pub use files::SecretMask;
pub use guard::guard_main;
pub use launch::{
    AgentLaunch, BatonToolServer, DriverEvent, McpServer, SpawnError, SpawnedAgent, ToolServerConnector,
};
pub use logged::turns_logged;
pub use mark::{
    ProcessOrigin, adopt_orphans, descends_from_host, of as mark_of, of_command as mark_of_command,
    own_marks, started_by,
};
pub use orphan::{Orphan, end_left_behind, end_orphan, probe_orphan};
pub use program::find_program;
pub use ready::check_ready;
pub use rehearsal::{rehearsal_main, script::ScriptError, script::check_script};
pub use relay::relay_main;
pub use settings::settings_of_agents;
pub use spawn::{capabilities, preview_command, spawn};
pub use survey::{CapabilitySource, DiscoveredAgent, survey};
pub use token::random_token;
pub use trust::expect_trusted;
