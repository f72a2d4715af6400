//! Starts an agent, whatever its kind, and shows how that would be done. The protocols are in the drivers.

use std::ffi::OsString;

use baton_core::SessionId;
use baton_core::action::SpawnSpec;
use baton_core::facts::Capabilities;
use baton_core::workflow::{AgentKind, Role};
use baton_sandbox::this_program;
use tokio::sync::mpsc;

use crate::driver::AgentHandle;
use crate::launch::{AgentLaunch, DriverEvent, SpawnError, SpawnedAgent};
use crate::session_boundary::{self, ActiveBoundary};
use crate::supervised_process::SupervisedProcess;
use crate::{acp, claude, codex, command_driver, environment, process_mark, program_lookup, readiness};

/// What agents of a kind can do with their driver, as far as that is known before one is up: an ACP agent tells the rest
/// itself, in an [`AgentEvent::Capabilities`](baton_core::facts::AgentEvent::Capabilities).
pub fn capabilities(kind: &AgentKind) -> Capabilities {
    match kind {
        AgentKind::Claude => claude::CAPABILITIES,
        AgentKind::Rehearsal => acp::REHEARSAL_CAPABILITIES,
        AgentKind::Codex => codex::CAPABILITIES,
        AgentKind::Acp { .. } => acp::CAPABILITIES,
        AgentKind::Process { .. } => command_driver::CAPABILITIES,
    }
}

/// Starts an agent under its guard. `Ready` follows as an event when it takes prompts.
///
/// Events go into `events`, which is bounded: where the host is slow the agent waits, and nothing is lost. The handle
/// is the only way to talk to the agent; dropping it ends the agent at once.
///
/// With `confined` it, and all that it starts, is inside that boundary, and what is refused there is an event like any other.
pub async fn spawn(
    launch: AgentLaunch,
    confined: Option<ActiveBoundary>,
    events: mpsc::Sender<(SessionId, DriverEvent)>,
) -> Result<(AgentHandle, SpawnedAgent), SpawnError> {
    let path = launch.inherit.get(std::ffi::OsStr::new("PATH")).cloned();
    // The guard is this very program, and starts it again without a look at the file at its path.
    let own = this_program(&launch.own_exe);
    let program = program_lookup::resolve(&launch.spec, &launch.role, &own, path.as_deref())?;
    readiness::expect_ready(&launch.spec.agent, &launch.role, &program, &launch.inherit).await?;
    let command = match &launch.spec.agent {
        AgentKind::Claude => claude::command(program, &launch),
        AgentKind::Codex => codex::command(program, &launch.role),
        AgentKind::Acp { command } => acp::command(program, command, &launch.role),
        AgentKind::Process { command } => command_driver::command(&own, program, command, &launch.role),
        AgentKind::Rehearsal => program_lookup::rehearsal_command(program, &launch.role, &launch.spec)?,
    };
    let (command, events) = match confined {
        Some(confined) => {
            let command = command.within(confined.boundary.command());
            (command, session_boundary::attach_boundary(confined, launch.spec.session.clone(), events))
        }
        None => (command, events),
    };
    let mut environment = environment::choose(&launch.spec.agent, &launch.role, &launch.inherit);
    environment
        .insert(process_mark::SESSION_MARK_VARIABLE.into(), process_mark::of(&launch.session_dir).into());
    let process = SupervisedProcess::start(&launch, &command, &environment)?;
    let capabilities = capabilities(&launch.spec.agent);
    let spawned = SpawnedAgent { group: process.group(), started: process.started(), capabilities };
    let handle = match launch.spec.agent {
        AgentKind::Claude => claude::drive(process, &launch, events),
        AgentKind::Codex => codex::drive(process, &launch, events),
        AgentKind::Acp { .. } | AgentKind::Rehearsal => acp::drive(process, &launch, capabilities, events),
        AgentKind::Process { .. } => command_driver::drive(process, &launch, events),
    };
    Ok((handle, spawned))
}

/// The command line of an agent as it would be spawned, for people; finds nothing and starts nothing.
pub fn preview_command(spec: &SpawnSpec, role: &Role) -> Vec<String> {
    let called = |program: &str, args: Vec<OsString>| {
        let args = args.into_iter().map(|arg| arg.to_string_lossy().into_owned());
        std::iter::once(program.to_owned()).chain(args).collect()
    };
    match &spec.agent {
        AgentKind::Claude => {
            let args = claude::arguments(role, spec.turn_ceiling, None, None);
            called(role.program.as_deref().unwrap_or("claude"), args)
        }
        AgentKind::Codex => called(role.program.as_deref().unwrap_or("codex"), codex::arguments(role)),
        AgentKind::Acp { command } | AgentKind::Process { command } => {
            called(command.program(), command.args().iter().chain(&role.args).map(OsString::from).collect())
        }
        AgentKind::Rehearsal => {
            let script = role.script.clone().unwrap_or_default();
            ["baton", "__rehearsal", "--script", &script].map(str::to_owned).to_vec()
        }
    }
}
