//! The sandbox of an ordinary user, who has no right over the machine. Everybody else who runs these tests is one already.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::TestWorkspace;

/// Nobody has this number.
const USER: u32 = 54_321;

#[test]
fn an_ordinary_user_confines_as_root_does() {
    // N6
    if !can(SandboxLevel::Strict) || !rustix::process::getuid().is_root() {
        return;
    }
    let stage = TestWorkspace::new();
    let script =
        "#!/bin/sh\ncat > /dev/null\ncat ~/secret > got\necho x > ../outside\nid -u > who\necho 'Done: a'\n";
    let program = stage.write("agent.sh", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    stage.write("secret", "the secret");
    stage.write(
        "job.toml",
        "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nagent = \"process:./agent.sh\"\nsandbox = \"strict\"\n\
         [[phases]]\nid = \"only\"\nverify = \"test -e who && ! test -e $HOME/secret\"\n[[phases.objectives]]\nid = \"a\"\n\
         description = \"Write who.\"\nfiles = [\"who\"]\n",
    );
    let home = stage.path("");
    // What was built may lie where nobody else comes.
    let own = stage.copy_of_baton("baton");
    let owned = Command::new("chown").args(["-R", &format!("{USER}:{USER}")]).arg(&home).status().unwrap();
    assert!(owned.success());
    let ended = Command::new(own)
        .args(["run", "job.toml", "--workspace", "work", "--state-dir", "state"])
        .current_dir(&home)
        .env_clear()
        .envs([("PATH", "/usr/bin:/bin".as_ref()), ("HOME", home.as_os_str())])
        .stdin(Stdio::null())
        .gid(USER)
        .uid(USER)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{said}");
    assert!(said.contains("is not allowed to read") && said.contains("/secret: its sandbox"), "{said}");
    assert_eq!((stage.read("got").as_str(), stage.read("who").trim()), ("", "54321"));
    assert!(!stage.path("outside").exists());
}
