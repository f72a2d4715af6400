//! A folder that came from others, and names a registry.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;

use super::job_of_shell;

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
    stage.baton(&["run", "job.toml", "--dry-run"]).expect(2).says(&["not pulled yet"]);
    let which = [&["policy", "which", "job.toml"], &place[..]].concat();
    stage.baton(&which).expect(2).says(&["not pulled yet"]);
    let check = stage.baton(&[&["check", "job.toml"], &place[..]].concat());
    assert_ne!(check.code, Some(0), "{}", check.stdout);
    stage.baton(&["run", "job.toml"]).expect(2).says(&["baton.toml", "nothing of yours"]);
    assert_eq!(registry.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody was asked");
}
