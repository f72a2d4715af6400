//! Finds the program of an agent and says how it is called. Starts nothing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use baton_core::action::SpawnSpec;
use baton_core::workflow::{AgentKind, Role};
use baton_sandbox::{find_confined, find_trusted, is_executable, runs_no_work_of_agents};

use crate::launch::SpawnError;

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
}

impl Invocation {
    /// The same, behind the words of a command that starts it.
    pub(crate) fn within(self, before: Vec<OsString>) -> Self {
        let mut words = before.into_iter().chain([self.program.into_os_string()]).chain(self.args);
        Self { program: words.next().map(PathBuf::from).unwrap_or_default(), args: words.collect() }
    }
}

/// How to get an agent that is not there.
pub(crate) fn advice(kind: &AgentKind) -> &'static str {
    match kind {
        AgentKind::Rehearsal => "it is built in",
        AgentKind::Claude => "install it with `npm install -g @anthropic-ai/claude-code`",
        AgentKind::Codex => "install it with `npm install -g @openai/codex`",
        AgentKind::Acp { command } => match command.program() {
            "claude-agent-acp" => "install it with `npm install -g @agentclientprotocol/claude-agent-acp`",
            "codex-acp" => "install it with `npm install -g @agentclientprotocol/codex-acp`",
            "opencode" => "install it with `npm install -g opencode-ai`",
            "gemini" => "install it with `npm install -g @google/gemini-cli`",
            _ => "install it",
        },
        AgentKind::Process { .. } => "install it",
    }
}

/// Finds the program of an agent that is installed apart from Baton: the role's `program` or the agent's command, else
/// the agent's own name; a bare name is looked up on what is trusted of `path`, and by a confined role in what a `write` list names as well.
/// The rehearsal is built in and has none to find.
pub fn find_program(
    kind: &AgentKind,
    role: &Role,
    path: Option<&OsStr>,
) -> Result<Option<PathBuf>, SpawnError> {
    let (name, key) = match kind {
        AgentKind::Rehearsal => return Ok(None),
        AgentKind::Claude => (role.program.as_deref().unwrap_or("claude"), "program"),
        AgentKind::Codex => (role.program.as_deref().unwrap_or("codex"), "program"),
        AgentKind::Acp { command } | AgentKind::Process { command } => (command.program(), "agent"),
    };
    if name.contains('/') {
        let program = PathBuf::from(name);
        return if is_executable(&program) {
            Ok(Some(program))
        } else {
            Err(SpawnError::NotExecutable { key, program })
        };
    }
    let first = |path: &OsStr| {
        let mut found = std::env::split_paths(path).map(|folder| folder.join(name));
        found.find(|program| program.is_absolute() && is_executable(program))
    };
    let found = if role.sandbox.is_on() { find_confined(name, path) } else { find_trusted(name, path) };
    match (found, path.and_then(first)) {
        (Some(program), _) => Ok(Some(program)),
        (None, Some(program)) => Err(SpawnError::InAgentFolder { program, key }),
        (None, None) => Err(SpawnError::NotOnPath { name: name.to_owned(), key, advice: advice(kind) }),
    }
}

/// Whether the host may run the program of a role itself, to ask it something: not if an agent could have written it, or a cloned folder has
/// brought it, and the role is confined. An unconfined role may name any program.
pub(crate) fn may_ask(program: &Path, role: &Role) -> bool {
    !role.sandbox.is_on() || runs_no_work_of_agents(program)
}

/// The program to start: the agent's own, or this executable for the rehearsal.
pub(crate) fn resolve(
    spec: &SpawnSpec,
    role: &Role,
    own_exe: &Path,
    path: Option<&OsStr>,
) -> Result<PathBuf, SpawnError> {
    Ok(find_program(&spec.agent, role, path)?.unwrap_or_else(|| own_exe.to_owned()))
}

/// How the rehearsal is called.
pub(crate) fn rehearsal_command(
    program: PathBuf,
    role: &Role,
    spec: &SpawnSpec,
) -> Result<Invocation, SpawnError> {
    let Some(script) = &role.script else {
        return Err(SpawnError::NoScript { role: spec.role.to_string() });
    };
    let args = ["__rehearsal", "--session", spec.session.as_str(), "--script", script];
    Ok(Invocation { program, args: args.iter().map(OsString::from).collect() })
}
