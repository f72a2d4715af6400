//! The available agents: the program, version and capabilities of each. Starts no session.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_core::facts::Capabilities;
use baton_core::workflow::{AgentKind, Role};
use baton_sandbox::{find_trusted, runs_no_work_of_agents};

use crate::program_lookup::{advice, find_program};
use crate::program_output;
use crate::spawn::capabilities;

/// How long a program may take to tell its version: those that are scripts of many megabytes take seconds when cold.
const VERSION_TIME: Duration = Duration::from_secs(15);

/// A version longer than this is none.
const VERSION_CHARS: usize = 60;

/// An agent that can be had, or that a workflow names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveredAgent {
    /// As it is written in a workflow.
    pub agent: AgentKind,
    /// What people call it.
    pub title: String,
    /// Its program, if it is installed. For the rehearsal, this program itself.
    pub program: Option<PathBuf>,
    /// The version that it reports, if any.
    pub version: Option<String>,
    /// Its capabilities with its driver. For an ACP agent that has not been run before, those that the protocol requires; it
    /// reports the others itself.
    pub capabilities: Capabilities,
    /// Source of the capabilities.
    pub known_by: CapabilitySource,
    /// How to install it, if it is missing.
    pub advice: Option<String>,
}

/// Source of a statement about capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapabilitySource {
    /// The driver's own protocol has it.
    Driver,
    /// This agent was observed to report it (adapters change; in a session, its own report counts).
    Observed,
    /// The protocol asks it of every agent; the rest is not known before a session is open.
    Protocol,
}

/// An ACP agent that people use.
struct KnownAcpAgent {
    command: &'static str,
    title: &'static str,
    /// `compacts`, `reports_occupancy`, `reports_cost`, as it told in a recorded session.
    recorded_capabilities: [bool; 3],
}

/// What was recorded of claude-agent-acp 0.100, codex-acp 2.6, opencode 1.18 and gemini-cli 0.61.
const KNOWN_ACP: [KnownAcpAgent; 4] = [
    KnownAcpAgent {
        command: "acp:claude-agent-acp",
        title: "Claude Code over ACP",
        recorded_capabilities: [true, true, true],
    },
    KnownAcpAgent {
        command: "acp:codex-acp",
        title: "Codex over ACP",
        recorded_capabilities: [true, true, false],
    },
    KnownAcpAgent {
        command: "acp:opencode acp",
        title: "OpenCode",
        recorded_capabilities: [false, true, true],
    },
    KnownAcpAgent {
        command: "acp:gemini --acp",
        title: "Gemini CLI",
        recorded_capabilities: [false, false, false],
    },
];

/// Looks for every agent that is known by name, and for those that a workflow's roles configure, once each. `path` is where
/// programs are looked up. Programs are asked for their version, all at a time.
pub async fn survey(path: Option<&OsStr>, own_exe: &Path, configured: &[Role]) -> Vec<DiscoveredAgent> {
    let known = [AgentKind::Claude, AgentKind::Codex]
        .into_iter()
        .chain(KNOWN_ACP.iter().filter_map(|known| known.command.parse().ok()))
        .chain([AgentKind::Rehearsal])
        .map(Role::of);
    let mut roles: Vec<Role> = Vec::new();
    // A configured role first: its program is the one that would be run.
    for role in configured.iter().cloned().chain(known) {
        if !roles
            .iter()
            .any(|seen| seen.agent == role.agent && (seen.program == role.program || role.program.is_none()))
        {
            roles.push(role);
        }
    }
    let surveyed = roles.iter().map(|role| discover(role, path, own_exe));
    futures::future::join_all(surveyed).await
}

async fn discover(role: &Role, path: Option<&OsStr>, own_exe: &Path) -> DiscoveredAgent {
    let agent = role.agent.clone();
    let (mut can, mut known_by) = (capabilities(&agent), CapabilitySource::Driver);
    let known = KNOWN_ACP.iter().find(|known| known.command == String::from(agent.clone()));
    let title = match (&agent, known) {
        (AgentKind::Claude, _) => "Claude Code".to_owned(),
        (AgentKind::Codex, _) => "Codex".to_owned(),
        (AgentKind::Rehearsal, _) => "Rehearsal, built in".to_owned(),
        (_, Some(known)) => {
            [can.compacts, can.reports_occupancy, can.reports_cost] = known.recorded_capabilities;
            known_by = CapabilitySource::Observed;
            known.title.to_owned()
        }
        (AgentKind::Acp { .. }, None) => {
            known_by = CapabilitySource::Protocol;
            "ACP agent".to_owned()
        }
        (AgentKind::Process { .. }, _) => "Program".to_owned(),
    };
    let found = match &agent {
        AgentKind::Rehearsal => Ok(Some(own_exe.to_owned())),
        _ => find_program(&agent, role, path),
    };
    let program = found.ok().flatten();
    let version = match (&agent, &program) {
        (AgentKind::Rehearsal, _) => Some(env!("CARGO_PKG_VERSION").to_owned()),
        // The effect of `--version` on an arbitrary program is unknown, so it is not run.
        (AgentKind::Process { .. }, _) | (_, None) => None,
        (AgentKind::Acp { command }, Some(_)) if known.is_none() && !command.args().is_empty() => None,
        (_, Some(program)) if !may_be_asked(program, path) => None,
        (_, Some(program)) => version(program, path).await,
    };
    let advice = program.is_none().then(|| advice(&agent).to_owned());
    DiscoveredAgent { agent, title, program, version, capabilities: can, known_by, advice }
}

/// Whether the host may run a program to look at it: not if a folder brought it, or an agent may have written it.
fn may_be_asked(program: &Path, path: Option<&OsStr>) -> bool {
    let name = program.file_name().and_then(OsStr::to_str);
    let is_on_path = || name.and_then(|name| find_trusted(name, path)).is_some_and(|found| found == program);
    runs_no_work_of_agents(program) || is_on_path()
}

/// Asks a program for its version, with no environment but `PATH`.
async fn version(program: &Path, path: Option<&OsStr>) -> Option<String> {
    let environment =
        [("PATH".into(), path.unwrap_or_default().to_owned()), ("LANG".into(), "C.UTF-8".into())].into();
    version_in(&program_output::ask(program, &["--version"], &environment, VERSION_TIME).await)
}

/// The first line that has a digit in it.
fn version_in(said: &str) -> Option<String> {
    let line = said.lines().map(str::trim).find(|line| line.contains(|c: char| c.is_ascii_digit()))?;
    let plain: String = anstream::adapter::strip_str(line).to_string();
    (plain.chars().count() <= VERSION_CHARS && !plain.contains(['{', '<'])).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_a_short_line_with_a_number() {
        assert_eq!(version_in("2.1.330 (Claude Code)\n").as_deref(), Some("2.1.330 (Claude Code)"));
        assert_eq!(version_in("Warning: no home\ncodex-cli 0.169.0").as_deref(), Some("codex-cli 0.169.0"));
        assert_eq!(version_in("{\"jsonrpc\":\"2.0\"}"), None);
        assert_eq!(version_in(""), None);
    }

    #[test]
    fn known_commands_are_written_as_a_workflow_writes_them() {
        for known in &KNOWN_ACP {
            let agent: AgentKind = known.command.parse().unwrap();
            assert_eq!(String::from(agent), known.command);
        }
    }
}
