//! Starts an agent: what is needed for it, what comes back, and what can go wrong. The protocols are in the drivers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use baton_core::SessionId;
use baton_core::action::SpawnSpec;
use baton_core::facts::{AgentEvent, Capabilities, Exit};
use baton_core::workflow::{AgentKind, Role};
use tokio::sync::mpsc;

use crate::driver::AgentHandle;
use crate::process::Process;
use crate::{acp, claude, codex, environment, plain, program};

/// Everything that is needed to start an agent. Nothing is taken from the host's own environment behind its back.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Which session, of which agent, with how many turns.
    pub spec: SpawnSpec,
    /// Model, permission, environment and program.
    pub role: Role,
    /// Where the agent works; absolute.
    pub workspace: PathBuf,
    /// The command that runs [`guard_main`](crate::guard_main), for example this executable and `__guard`. The guard's
    /// own arguments are appended.
    pub guard: Vec<OsString>,
    /// The executable whose `__rehearsal` command runs [`rehearsal_main`](crate::rehearsal_main), and whose `__relay`
    /// command [`relay_main`](crate::relay_main).
    pub own_exe: PathBuf,
    /// A folder for this session alone (0700, made where it is missing): the guard's files, what the agent printed
    /// (`stdout.jsonl`, `stderr.log`) and was told (`stdin.jsonl`).
    pub session_dir: PathBuf,
    /// The environment to choose from; see the allow list in `environment.rs`.
    pub inherit: BTreeMap<OsString, OsString>,
    /// Servers that the agent is told of, where it takes any (`takes_mcp`).
    pub mcp_servers: Vec<McpServer>,
}

/// An MCP server that an agent starts and talks to over stdin and stdout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// What the agent calls it.
    pub name: String,
    /// Absolute path of the program.
    pub command: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that it gets beside the agent's own.
    pub env: BTreeMap<String, String>,
}

/// What a driver tells the host.
#[derive(Clone, Debug, PartialEq)]
pub enum DriverEvent {
    /// The agent's stream said so.
    Event(AgentEvent),
    /// The process is gone, with all it started, and its stream has been read to the end. The last event of a session.
    Exited(Exit),
}

/// An agent that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spawned {
    /// Its process group; the group's leader is the guard.
    pub group: u32,
    /// Start time of the leader, in clock ticks since boot: tells a recycled id from the process itself.
    pub started: u64,
    /// What the agent and its driver can do.
    pub capabilities: Capabilities,
}

/// Why an agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No such program.
    #[error("{name} is not on PATH: {advice}, or set `roles.{role}.{key}` to where it is")]
    NotOnPath {
        /// Name of the program.
        name: String,
        /// Name of the role.
        role: String,
        /// The key of the role that names it.
        key: &'static str,
        /// How to get it.
        advice: &'static str,
    },
    /// The role names a program that is not there, or cannot be executed.
    #[error("`roles.{role}.{key}` names {}, which is not an executable file: correct it, or give a bare name to look on PATH",
        program.display())]
    NotExecutable {
        /// Name of the role.
        role: String,
        /// The key of the role that names it.
        key: &'static str,
        /// As it is written in the workflow, made absolute.
        program: PathBuf,
    },
    /// A rehearsal without a script.
    #[error("the role {role} plays the rehearsal agent, which needs a script: set `roles.{role}.script`")]
    NoScript {
        /// Name of the role.
        role: String,
    },
    /// The launch names no guard.
    #[error("the agent of {session} was not started: no guard command was given")]
    NoGuard {
        /// Which session.
        session: SessionId,
    },
    /// The system refused.
    #[error("the agent of {session} was not started: {what} ({}) failed: {source}", path.display())]
    System {
        /// Which session.
        session: SessionId,
        /// What was tried.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What agents of a kind can do with their driver, as far as that is known before one is up: an ACP agent tells the rest
/// itself, in an [`AgentEvent::Capabilities`].
pub fn capabilities(kind: &AgentKind) -> Capabilities {
    match kind {
        AgentKind::Claude => claude::CAPABILITIES,
        AgentKind::Rehearsal => acp::REHEARSAL_CAPABILITIES,
        AgentKind::Codex => codex::CAPABILITIES,
        AgentKind::Acp { .. } => acp::CAPABILITIES,
        AgentKind::Process { .. } => plain::CAPABILITIES,
    }
}

/// Starts an agent under its guard. `Ready` follows as an event when it takes prompts.
///
/// Events go into `events`, which is bounded: where the host is slow the agent waits, and nothing is lost. The handle
/// is the only way to talk to the agent; dropping it ends the agent at once.
pub async fn spawn(
    launch: Launch,
    events: mpsc::Sender<(SessionId, DriverEvent)>,
) -> Result<(AgentHandle, Spawned), SpawnError> {
    let path = launch.inherit.get(std::ffi::OsStr::new("PATH")).cloned();
    let program = program::resolve(&launch.spec, &launch.role, &launch.own_exe, path.as_deref())?;
    let command = match &launch.spec.agent {
        AgentKind::Claude => claude::command(program, &launch),
        AgentKind::Codex => codex::command(program, &launch.role),
        AgentKind::Acp { command } => acp::command(program, command, &launch.role),
        AgentKind::Process { command } => plain::command(&launch.own_exe, program, command, &launch.role),
        AgentKind::Rehearsal => program::rehearsal_command(program, &launch.role, &launch.spec)?,
    };
    let environment = environment::choose(&launch.spec.agent, &launch.role, &launch.inherit);
    let process = Process::start(&launch, &command, &environment)?;
    let capabilities = capabilities(&launch.spec.agent);
    let spawned = Spawned { group: process.group(), started: process.started(), capabilities };
    let handle = match launch.spec.agent {
        AgentKind::Claude => claude::drive(process, &launch, events),
        AgentKind::Codex => codex::drive(process, &launch, events),
        AgentKind::Acp { .. } | AgentKind::Rehearsal => acp::drive(process, &launch, capabilities, events),
        AgentKind::Process { .. } => plain::drive(process, &launch, events),
    };
    Ok((handle, spawned))
}
