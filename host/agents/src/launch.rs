//! Parameters, result and errors of starting an agent.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use baton_core::SessionId;
use baton_core::action::SpawnSpec;
use baton_core::facts::{AgentEvent, Capabilities, ProcessExit};
use baton_core::workflow::Role;
use tokio::io::DuplexStream;

use crate::command_allowlist::CommandAllowlist;
use crate::session_boundary::UnheldTargets;
use crate::session_files::SecretMask;

/// Everything that is needed to start an agent. Nothing is taken from the host's own environment behind its back.
#[derive(Clone, Debug)]
pub struct AgentLaunch {
    /// Which session, of which agent, with how many turns.
    pub spec: SpawnSpec,
    /// Model, permission, environment and program.
    pub role: Role,
    /// The folder in which the agent works; absolute.
    pub workspace: PathBuf,
    /// The command that runs [`supervisor_main`](crate::supervisor_main): this executable and `__guard`. The guard's own arguments are
    /// appended.
    pub guard: Vec<OsString>,
    /// The executable whose `__rehearsal` command runs [`rehearsal_main`](crate::rehearsal_main), and whose `__relay`
    /// command [`runner_main`](crate::runner_main).
    pub own_exe: PathBuf,
    /// A folder for this session alone (0700, created if missing): the guard's files, the agent's output (`stdout.jsonl`,
    /// `stderr.log`) and its input (`stdin.jsonl`).
    pub session_dir: PathBuf,
    /// Masks secrets in the files there.
    pub mask: SecretMask,
    /// The environment to choose from; see the allow list in `environment.rs`.
    pub inherit: BTreeMap<OsString, OsString>,
    /// Baton's own tools, if the agent is to have them.
    pub tools: Option<BatonToolServer>,
    /// Further servers for the agent, if it accepts any (`takes_mcp`).
    pub mcp_servers: Vec<McpServer>,
}

impl AgentLaunch {
    /// The commands that the agent may run without asking.
    pub(crate) fn commands(&self) -> CommandAllowlist {
        CommandAllowlist { patterns: self.role.allow.clone(), exact: self.spec.checks.clone() }
    }

    /// The servers that the agent starts itself, Baton's own first.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &McpServer> {
        self.tools.iter().map(|tools| &tools.command).chain(&self.mcp_servers)
    }
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
    /// Variables that it gets besides the agent's own.
    pub env: BTreeMap<String, String>,
}

/// Baton's own tools for one session. An agent gets them by either of two ways; its driver chooses.
#[derive(Clone, Debug)]
pub struct BatonToolServer {
    /// A program that the agent starts.
    pub command: McpServer,
    /// The host itself: messages go over the agent's own streams, if it supports that (Claude Code).
    pub connect: ToolServerConnector,
}

/// Opens a connection to an MCP server inside the host: lines of JSON-RPC in both directions.
#[derive(Clone)]
pub struct ToolServerConnector(Arc<dyn Fn() -> DuplexStream + Send + Sync>);

impl ToolServerConnector {
    /// By what gives the client's end of a new connection.
    pub fn new(open: impl Fn() -> DuplexStream + Send + Sync + 'static) -> Self {
        Self(Arc::new(open))
    }

    pub(crate) fn open(&self) -> DuplexStream {
        (self.0)()
    }
}

impl fmt::Debug for ToolServerConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connect")
    }
}

/// What a driver tells the host.
#[derive(Clone, Debug, PartialEq)]
pub enum DriverEvent {
    /// The agent's stream said so.
    Event(AgentEvent),
    /// The process is gone, with all it started, and its stream has been read to the end. The last event of a session.
    Exited(ProcessExit),
}

/// An agent that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpawnedAgent {
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
    #[error("{name} is not on PATH: {advice}, or {}", instead(key))]
    NotOnPath {
        /// Name of the program.
        name: String,
        /// The key of a workflow that names it.
        key: &'static str,
        /// How to get it.
        advice: &'static str,
    },
    /// It is only in folders that agents can write, so the host would run a program that one of them wrote.
    #[error("{} is in a folder that agents can write, so Baton does not use it: if you trust it, name it with its path, or {}",
        program.display(), instead(key))]
    InAgentFolder {
        /// What a shell would find.
        program: PathBuf,
        /// The key of a workflow that names it.
        key: &'static str,
    },
    /// The role names a program that is not there, or cannot be executed.
    #[error("`{key}` names {}, which is not an executable file: correct it, or give a bare name to look on PATH",
        program.display())]
    NotExecutable {
        /// The key of a workflow that names it.
        key: &'static str,
        /// As it is written in the workflow, made absolute.
        program: PathBuf,
    },
    /// The agent would not begin: it is not logged in, or it refuses its arguments.
    #[error("{why}: {mend}")]
    NotReady {
        /// What is wrong.
        why: String,
        /// What mends it.
        mend: String,
    },
    /// A rehearsal without a script.
    #[error("the role {role} plays the rehearsal agent, which needs a script: set `roles.{role}.script`")]
    NoScript {
        /// Name of the role.
        role: String,
    },
    /// Not everything in the tree can be held that a sandbox keeps as it is.
    #[error(transparent)]
    UnheldTargets(UnheldTargets),
    /// The launch names no guard.
    #[error("the agent of {session} was not started: no guard command was given")]
    NoSupervisor {
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

impl SpawnError {
    /// Trying again cannot help: something is to be installed or corrected first.
    pub fn needs_a_person(&self) -> bool {
        match self {
            SpawnError::NotOnPath { .. }
            | SpawnError::InAgentFolder { .. }
            | SpawnError::NotExecutable { .. }
            | SpawnError::NotReady { .. }
            | SpawnError::UnheldTargets(_)
            | SpawnError::NoScript { .. } => true,
            SpawnError::NoSupervisor { .. } | SpawnError::System { .. } => false,
        }
    }
}

/// Alternatives if a program is not on `PATH`.
fn instead(key: &str) -> &'static str {
    match key {
        "program" => "set `program` in its role to its path",
        _ => "write its path into the agent's command",
    }
}
