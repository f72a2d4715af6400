//! Attacks by agents: programs that do their best to harm the host, the disk and the person who reads.

mod daemons;
mod descriptors;
mod escapes;
mod flood;
mod folder;
mod hidden;
mod link_swaps;
mod programs;
mod protected_paths_in_commits;
mod readers;
mod replaced_workspace;
mod run_control;
mod secrets;
mod settings;
mod shared_inbox;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::TestWorkspace;

/// A job of one objective, `a.txt`, whose agent is this shell script. It gets its prompt on stdin; `role` are lines of its role.
fn job_of_shell(script: &str, role: &str) -> TestWorkspace {
    let stage = TestWorkspace::job(&[("a", "")], "retries = 1");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let role = format!("agent = \"process:./agent.sh\"\n{role}");
    stage.write("job.toml", workflow.replace("script = \"script.toml\"", &role));
    let program = stage.write("agent.sh", format!("#!/bin/sh\ncat > /dev/null\n{script}\n"));
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    stage
}
