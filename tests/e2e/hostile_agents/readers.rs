//! Readers of a run whose host does not answer, or whose state folder cannot be written.

use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};

use super::job_of_shell;
use crate::support::{CommandOutput, TestWorkspace, until};

#[test]
fn the_status_of_a_frozen_host_is_what_its_journal_says() {
    let stage = job_of_shell("exec sleep 600", "");
    let mut host = stage.start(&["run", "job.toml"]);
    until("the agent works", || !stage.processes().is_empty() && stage.has_run());
    let pid = i32::try_from(host.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::STOP).unwrap();
    let shown = stage.baton(&["status"]).expect(0).says(&["no answer in time", "journal"]);
    assert!(shown.stdout.contains("only"), "{}", shown.stdout);
    kill_process(pid, Signal::CONT).unwrap();
    stage.baton(&["stop"]).expect(0);
    host.wait().unwrap();
    stage.expect_no_process();
}

/// Runs it where the state folder is mounted for reading only. Nothing where this machine does not allow that.
fn read_only(stage: &TestWorkspace, arguments: &[&str]) -> Option<CommandOutput> {
    let baton = stage.command(arguments);
    let state = stage.state_root();
    let mount = r#"mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@""#;
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]).arg(&state);
    command.arg(baton.get_program()).args(baton.get_args()).env_clear();
    command.envs(baton.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let allowed = Command::new("unshare").args(["--user", "--map-root-user", "--mount", "true"]).status();
    allowed.is_ok_and(|status| status.success()).then(|| command.output().unwrap().into())
}

#[test]
fn a_state_folder_that_cannot_be_written_can_be_read() {
    let stage = job_of_shell("echo done > a.txt; echo 'Done: a'", "");
    stage.baton(&["run", "job.toml"]).expect(0);
    for command in [&["status"][..], &["report"], &["artifacts", "ls"]] {
        let Some(shown) = read_only(&stage, command) else { return };
        assert!(!shown.expect(0).stdout.is_empty());
    }
}
