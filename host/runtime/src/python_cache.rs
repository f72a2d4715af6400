//! Where Python keeps what it compiles while a run works: for each role, and for the commands of the workflow, a folder that no other role can
//! write. By itself, Python takes compiled modules from `__pycache__` in the work tree, in the place of the sources beside it. There, an agent
//! could leave what an agent with more rights, a check or the next run would run.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use baton_agents::{ActiveBoundary, McpServer};
use baton_core::workflow::Role;
use baton_core::{Digest, RoleName, RunId};
use baton_sandbox::PYTHON_CACHE_VARIABLE;
use baton_store::StateDir;

/// The folder among those of the sessions of a run, and in the temporary folder of a boundary.
const FOLDER: &str = "pycache";

/// For commands that nothing confines.
pub(crate) fn of_commands(state: &StateDir, run: &RunId) -> PathBuf {
    of_run(state, run).join("commands")
}

/// For an agent: in its boundary, if it has one.
pub(crate) fn of_agent(
    state: &StateDir,
    run: &RunId,
    role: &RoleName,
    confined: Option<&ActiveBoundary>,
) -> PathBuf {
    match confined {
        Some(confined) => confined.boundary.temporary().join(FOLDER),
        // Names of roles are the user's words; a digest is a file name everywhere.
        None => of_run(state, run).join(format!("role-{}", Digest::of(role.as_str()).short())),
    }
}

fn of_run(state: &StateDir, run: &RunId) -> PathBuf {
    state.sessions().join(run.as_str()).join(FOLDER)
}

/// Has an agent and its servers use the folder, unless the role hands over a variable of the user's own for this, or a server has one.
pub(crate) fn hand_over(
    folder: &Path,
    role: &Role,
    environment: &mut BTreeMap<OsString, OsString>,
    servers: &mut [McpServer],
) {
    let key = OsStr::new(PYTHON_CACHE_VARIABLE);
    let is_of_user = role.env.iter().any(|name| name == PYTHON_CACHE_VARIABLE);
    if !(is_of_user && environment.contains_key(key)) {
        environment.insert(key.to_owned(), folder.into());
    }
    let Some(value) = environment.get(key).and_then(|value| value.to_str()) else { return };
    for server in servers {
        // Some agents start their servers without the variables that they have themselves.
        server.env.entry(PYTHON_CACHE_VARIABLE.to_owned()).or_insert_with(|| value.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use baton_core::workflow::AgentKind;

    use super::*;

    // N6
    #[test]
    fn the_folder_of_the_host_counts_unless_the_role_names_the_variable() {
        let of = |role_env: &[&str], inherited: Option<&str>, server_env: Option<&str>| {
            let env = role_env.iter().map(|name| (*name).to_owned()).collect();
            let role = Role { env, ..Role::of(AgentKind::Claude) };
            let one = |value: &str| (PYTHON_CACHE_VARIABLE.to_owned(), value.to_owned());
            let env = server_env.map(one).into_iter().collect();
            let mut servers = [McpServer { name: "a".into(), command: "/a".into(), args: Vec::new(), env }];
            let mut environment =
                inherited.map(|value| (PYTHON_CACHE_VARIABLE.into(), value.into())).into_iter().collect();
            hand_over(Path::new("/own"), &role, &mut environment, &mut servers);
            let of_agent = environment[OsStr::new(PYTHON_CACHE_VARIABLE)].to_str().unwrap().to_owned();
            (of_agent, servers[0].env[PYTHON_CACHE_VARIABLE].clone())
        };
        let both = |agent: &str, server: &str| (agent.to_owned(), server.to_owned());
        assert_eq!(of(&[], None, None), both("/own", "/own"));
        assert_eq!(of(&[], Some("cache"), None), both("/own", "/own"), "the tree may lie there");
        assert_eq!(of(&[PYTHON_CACHE_VARIABLE], None, None), both("/own", "/own"));
        assert_eq!(of(&[PYTHON_CACHE_VARIABLE], Some("/user"), None), both("/user", "/user"));
        assert_eq!(of(&[], None, Some("/server")), both("/own", "/server"));
    }
}
