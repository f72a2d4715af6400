//! The sandbox of an ordinary user, who has no right over the machine. Everybody else who runs these tests is one already.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::{CommandOutput, TestWorkspace};

/// Nobody has this number.
const USER: u32 = 54_321;

/// Baton in the home of that user, whose is everything there.
fn as_user(stage: &TestWorkspace, arguments: &[&str]) -> CommandOutput {
    let home = stage.path("");
    // What was built may lie where this user does not come.
    let own = stage.copy_of_baton("baton");
    let owned = Command::new("chown").args(["-hR", &format!("{USER}:{USER}")]).arg(&home).status().unwrap();
    assert!(owned.success());
    let mut command = Command::new(own);
    command.args(arguments).current_dir(&home).env_clear();
    command.envs([("PATH", "/usr/bin:/bin".as_ref()), ("HOME", home.as_os_str())]);
    command.stdin(Stdio::null()).gid(USER).uid(USER).output().unwrap().into()
}

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
    let ended = as_user(&stage, &["run", "job.toml", "--workspace", "work", "--state-dir", "state"]);
    let ended = ended.expect(0);
    ended.says(&["is not allowed to read", "/secret: its sandbox"]);
    assert_eq!((stage.read("got").as_str(), stage.read("who").trim()), ("", "54321"));
    assert!(!stage.path("outside").exists());
}

#[test]
fn links_in_a_folder_that_cannot_be_listed_are_removed() {
    // N6: the user's git, which need not list it, wrote through them.
    if !can(SandboxLevel::Strict) || !rustix::process::getuid().is_root() {
        return;
    }
    // Without the right to list, and without the right to remove.
    for mode in ["311", "500"] {
        let stage = TestWorkspace::new();
        stage.git(&["init", "-q"]);
        stage.write("profile", "mine");
        let script = format!(
            "mkdir -p .git/logs/refs/heads/f; ln -s ../../../../../../profile .git/logs/refs/heads/f/x\n\
             ln -s ../../profile .git/COMMIT_EDITMSG; chmod {mode} .git/logs/refs/heads/f .git"
        );
        let place = ["--workspace", "work", "--state-dir", "state"];
        let said = as_user(&stage, &[&["sandbox", "try"], &place[..], &["--", "sh", "-c", &script]].concat());
        said.says(&[
            "COMMIT_EDITMSG (it was a link to ../../profile, and is removed)",
            "f/x (it was a link to",
        ]);
        for link in [".git/COMMIT_EDITMSG", ".git/logs/refs/heads/f/x"] {
            assert!(stage.workspace.join(link).symlink_metadata().is_err(), "{mode}: {link}");
        }
    }
}

#[test]
fn a_script_of_batons_is_its_own_though_an_agent_took_the_right_to_write_it() {
    // N6: a role without a sandbox was asked to run what one in a sandbox had written.
    if !can(SandboxLevel::Strict) || !rustix::process::getuid().is_root() {
        return;
    }
    let stage = TestWorkspace::new();
    for (name, script) in [
        (
            "confined.sh",
            "for f in .baton/*/init.sh; do echo 'echo evil' > $f; chmod 555 ${f%/*}; done; echo x > x; echo 'Done: a'",
        ),
        ("free.sh", "sh .baton/*/init.sh > said 2>&1; echo y > y; echo 'Done: b'"),
    ] {
        let program = stage.write(name, format!("#!/bin/sh\ncat > /dev/null\n{script}\n"));
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    stage.write(
        "job.toml",
        "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nagent = \"process:./confined.sh\"\nsandbox = \"strict\"\n\
         [roles.free]\nagent = \"process:./free.sh\"\n\
         [[phases]]\nid = \"one\"\nobjectives = [{ id = \"a\", description = \"Do a.\" }]\n\
         [[phases]]\nid = \"two\"\nrole = \"free\"\nobjectives = [{ id = \"b\", description = \"Do b.\" }]\n",
    );
    as_user(&stage, &["run", "job.toml", "--workspace", "work", "--state-dir", "state"]).expect(0);
    assert!(!stage.read("said").contains("evil") && stage.read("y") == "y\n");
}

#[test]
fn work_in_a_folder_that_its_agent_has_closed_is_seen_and_committed() {
    // A5, N6: git only warns of a folder that it cannot list, and what was in it was in no commit.
    if !rustix::process::getuid().is_root() {
        return;
    }
    let stage = TestWorkspace::new();
    let script = "mkdir -p src/deep; echo x > src/deep/x; chmod 311 src/deep; echo y > y; echo 'Done: a'";
    let program = stage.write("agent.sh", format!("#!/bin/sh\ncat > /dev/null\n{script}\n"));
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    stage.git(&["init", "-q"]);
    stage.git(&["commit", "-q", "--allow-empty", "-m", "begin"]);
    stage.write(
        "job.toml",
        "name = \"job\"\ngoal = \"Show what happens.\"\ncommit = \"phase\"\n[roles.executor]\nagent = \"process:./agent.sh\"\n\
         [[phases]]\nid = \"one\"\nobjectives = [{ id = \"a\", description = \"Do a.\" }]\n",
    );
    let place = ["--workspace", "work", "--state-dir", "state"];
    as_user(&stage, &[&["run", "job.toml"], &place[..]].concat()).expect(0);
    let listed = stage.git(&["-c", "safe.directory=*", "ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(listed.contains("src/deep/x") && listed.contains('y'), "{listed}");
}
