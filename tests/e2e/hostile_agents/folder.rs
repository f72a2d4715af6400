//! A folder that came from others, and names a registry.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;

use super::job_of_shell;
use crate::support::TestWorkspace;

#[test]
fn what_a_folder_chooses_to_be_judged_by_is_told_when_a_run_begins() {
    // N6
    let stage = job_of_shell("echo done > a.txt; echo 'Done: a'", "");
    let loose = "[policies]\nsettings = { accept = \"answer\", max-asks = 0 }\n";
    fs::write(stage.workspace.join("baton.toml"), loose).unwrap();
    let told = "baton.toml of this folder chooses how the work is judged: accept = \"answer\", max-asks = 0";
    stage.baton(&["run", "job.toml"]).expect(0).says(&[told]);
    let log = stage.baton(&["log"]).expect(0).stdout;
    assert!(log.contains(told), "{log}");
}

#[test]
fn a_folder_that_has_an_agent_run_commands_is_not_begun_in_until_the_user_trusts_it() {
    // N6
    let stage = TestWorkspace::job_of_program("cat > /dev/null\nexit 3");
    fs::create_dir(stage.workspace.join(".claude")).unwrap();
    let hooks = "{\"hooks\": {\"SessionStart\": [{\"hooks\": []}]}}";
    fs::write(stage.workspace.join(".claude/settings.json"), hooks).unwrap();
    stage.baton(&["run", "job.toml"]).expect(5).says(&[
        "makes Claude Code run commands as soon as it starts here (.claude/settings.json: hooks)",
        "run `claude` in the folder once and accept it",
    ]);
    assert!(!stage.path("starts").exists(), "nothing was started");
}

#[test]
fn a_registry_that_only_the_folder_names_is_not_asked() {
    let registry = TcpListener::bind("127.0.0.1:0").unwrap();
    registry.set_nonblocking(true).unwrap();
    let reference = format!("oci://{}/acme/evil:1", registry.local_addr().unwrap());
    let stage = job_of_shell("echo done > a.txt; echo 'Done: a'", "");
    fs::write(stage.workspace.join("baton.toml"), format!("[policies]\nsplitting = \"{reference}\"\n"))
        .unwrap();
    let (workspace, state) = (stage.workspace.to_str().unwrap(), stage.state_root());
    let place = ["--workspace", workspace, "--state-dir", state.to_str().unwrap()];
    stage.baton(&["run", "job.toml", "--dry-run"]).expect(2).says(&["is not pinned"]);
    let which = [&["policy", "which", "job.toml"], &place[..]].concat();
    stage.baton(&which).expect(2).says(&["is not pinned"]);
    let check = stage.baton(&[&["check", "job.toml"], &place[..]].concat());
    assert_ne!(check.code, Some(0), "{}", check.stdout);
    stage.baton(&["run", "job.toml"]).expect(2).says(&["baton.toml", "your own files"]);
    assert_eq!(registry.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody was asked");
}
