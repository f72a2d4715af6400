//! Finds the program of an agent and says how it is called. Starts nothing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use baton_core::action::SpawnSpec;
use baton_core::workflow::{AgentKind, Role};

use crate::claude;
use crate::launch::SpawnError;

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invocation {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
}

/// Finds the program of an agent that is installed apart from Baton: the role's `program`, else the agent's own name
/// on `path`. `role_name` is for the error. The rehearsal is built in and has none to find.
pub fn find_program(
    kind: &AgentKind,
    role_name: &str,
    role: &Role,
    path: Option<&OsStr>,
) -> Result<Option<PathBuf>, SpawnError> {
    let (name, advice) = match kind {
        AgentKind::Rehearsal => return Ok(None),
        AgentKind::Claude => ("claude", "install it with `npm install -g @anthropic-ai/claude-code`"),
    };
    if let Some(program) = role.program.as_deref().filter(|program| program.contains('/')) {
        let program = PathBuf::from(program);
        return if is_executable(&program) {
            Ok(Some(program))
        } else {
            Err(SpawnError::NotExecutable { role: role_name.to_owned(), program })
        };
    }
    let name = role.program.as_deref().unwrap_or(name);
    let found = path.into_iter().flat_map(std::env::split_paths).map(|folder| folder.join(name));
    match found.filter(|program| program.is_absolute()).find(|program| is_executable(program)) {
        Some(program) => Ok(Some(program)),
        None => Err(SpawnError::NotOnPath { name: name.to_owned(), role: role_name.to_owned(), advice }),
    }
}

/// The command line of an agent as it would be spawned, for people; finds nothing and starts nothing.
pub fn preview_command(spec: &SpawnSpec, role: &Role) -> Vec<String> {
    match spec.agent {
        AgentKind::Claude => {
            let program = role.program.clone().unwrap_or_else(|| "claude".to_owned());
            let args = claude::arguments(role, spec.max_turns);
            std::iter::once(program)
                .chain(args.into_iter().map(|arg| arg.to_string_lossy().into_owned()))
                .collect()
        }
        AgentKind::Rehearsal => {
            let script = role.script.clone().unwrap_or_default();
            ["baton", "__rehearsal", "--script", &script].map(str::to_owned).to_vec()
        }
    }
}

/// The program to start: the agent's own, or this executable for the rehearsal.
pub(crate) fn resolve(
    spec: &SpawnSpec,
    role: &Role,
    own_exe: &Path,
    path: Option<&OsStr>,
) -> Result<PathBuf, SpawnError> {
    Ok(find_program(&spec.agent, spec.role.as_str(), role, path)?.unwrap_or_else(|| own_exe.to_owned()))
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

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
