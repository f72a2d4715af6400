//! What no namespace holds and what no mount covers, tried by `baton sandbox try` and by an agent.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::{Ended, Stage};

/// A command in a strict sandbox of the stage's folder.
fn tried(stage: &Stage, arguments: &[&str]) -> Ended {
    let (root, state) = (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    stage.baton(&[&["sandbox", "try", "--workspace", &root, "--state-dir", &state], arguments].concat())
}

/// The same by Python, which exits 0 where it got what it was after.
fn python(stage: &Stage, script: &str) -> Ended {
    tried(stage, &["--", "python3", "-c", script])
}

#[test]
fn the_settings_of_the_system_are_read_only_for_root_as_well() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = Stage::new();
    // The value that is there, so that nothing is different where it works.
    let script = "p = '/proc/sys/vm/swappiness'\nv = open(p).read()\nopen(p, 'w').write(v)";
    python(&stage, script).expect(1).says(&["refused to write /proc/sys/vm/swappiness"]);
}

#[test]
fn keys_rings_and_sockets_to_a_hypervisor_are_not_there() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = Stage::new();
    let script = "import socket\nsocket.socket(40, socket.SOCK_STREAM)";
    let ended = python(&stage, script).expect(1);
    ended.says(&["Address family not supported"]);
    if cfg!(target_arch = "x86_64") {
        for (call, number) in
            [("add_key", 248), ("request_key", 249), ("keyctl", 250), ("io_uring_setup", 425)]
        {
            let script = format!(
                "import ctypes, os, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n\
                 done = libc.syscall({number}, 0, 0, 0, 0, 0)\n\
                 sys.exit(0 if done >= 0 or ctypes.get_errno() != 1 else 1)"
            );
            let ended = python(&stage, &script);
            assert_eq!(ended.code, Some(1), "{call}: {}", ended.stderr);
        }
    }
}

#[test]
fn what_a_hidden_link_leads_to_is_hidden() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = Stage::new();
    let at = |name: &str| stage.workspace.join(name);
    fs::create_dir(at("conf")).unwrap();
    fs::write(at("conf/env"), "the secret").unwrap();
    fs::write(at("conf/two"), "the secret").unwrap();
    symlink("conf/env", at(".env")).unwrap();
    symlink("conf", at("linked")).unwrap();
    let read = "cat .env conf/env linked/two conf/two";
    let hidden = [".env", "linked/two"].map(|name| at(name).display().to_string());
    let ended = tried(&stage, &["--hide", &hidden[0], "--hide", &hidden[1], "--", "sh", "-c", read]);
    assert!(!ended.stdout.contains("the secret"), "{}", ended.stdout);
    ended.says(&["refused to read"]);
    assert_eq!(stage.read("conf/env"), "the secret");
}

#[test]
fn a_bare_repository_among_the_files_is_none_for_whoever_comes_next() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = Stage::new();
    let plant =
        "mkdir objects refs && echo 'ref: refs/heads/x' > HEAD && echo '[core] bare = false' > config";
    tried(&stage, &["--", "sh", "-c", plant]).expect(0).says(&["HEAD"]);
    let at = |name: &str| stage.workspace.join(name);
    assert!(!at("HEAD").exists() && at("HEAD.from-sandbox").exists());
}

#[test]
fn what_the_host_wrote_for_a_sandbox_is_exchanged_by_nobody_inside() {
    // N6: two commands of `setup` are in one boundary, and the first runs what an agent wrote.
    for level in ["strict", "write"] {
        if !can(if level == "strict" { SandboxLevel::Strict } else { SandboxLevel::Write }) {
            continue;
        }
        let stage = Stage::new();
        let outside = stage.path("outside");
        let job = format!(
            "name = \"job\"\ngoal = \"Show what happens.\"\nsetup = [\"sh tools/prepare.sh || true\", \"true\"]\n\
             [roles.executor]\nagent = \"process:./agent.sh\"\nsandbox = \"{level}\"\n\
             [limits]\nretries = 0\nbackoff = \"0s\"\n\
             [[phases]]\nid = \"first\"\nobjectives = [{{ id = \"a\", description = \"Write it.\" }}]\n\
             [[phases]]\nid = \"second\"\nsplit = \"ahead\"\ndepends_on = [\"first\"]\n\
             objectives = [{{ id = \"b\", description = \"Do it.\" }}, {{ id = \"c\", description = \"Do it too.\" }}]\n"
        );
        stage.write("job.toml", job);
        // Where the specification lies inside: by the folder for temporary files, or in the private one.
        let prepare = format!(
            "for spec in /run/baton/sandbox.json \"$TMPDIR/../sandbox.json\"; do\n\
             [ -e \"$spec\" ] || continue\nfolder=$(dirname \"$spec\")\n\
             printf '#!/bin/sh\\ntouch {0}\\n' > \"$folder/evil.sh\"; chmod +x \"$folder/evil.sh\"\n\
             real=$(sed 's/.*\"folder\":\"\\([^\"]*\\)\".*/\\1/' \"$spec\")\n\
             sed -i \"s#\\\"bwrap\\\":\\\"[^\\\"]*\\\"#\\\"bwrap\\\":\\\"$real/evil.sh\\\"#; \
             s#\\\"own_exe\\\":\\\"[^\\\"]*\\\"#\\\"own_exe\\\":\\\"$real/evil.sh\\\"#\" \"$spec\"\ndone\n",
            outside.display()
        );
        fs::write(stage.workspace.join("prepare.txt"), prepare).unwrap();
        let script = "#!/bin/sh\ncat > /dev/null\nmkdir -p tools && cp prepare.txt tools/prepare.sh\n\
                      echo done > a.txt\necho 'Done: a, b, c'\n";
        let program = stage.write("agent.sh", script);
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        stage.make_repository();
        stage.baton(&["run", "job.toml", "--inline"]);
        assert!(!outside.exists(), "{level}: the host ran what an agent wrote");
    }
}

#[test]
fn a_pipe_is_no_file_that_was_written() {
    // A11
    let stage = Stage::new();
    let job = "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nagent = \"process:./agent.sh\"\n\
               [limits]\nretries = 0\nbackoff = \"0s\"\n[[phases]]\nid = \"only\"\n\
               objectives = [{ id = \"a\", description = \"Write a.txt.\", files = [\"a.txt\"] }]\n";
    stage.write("job.toml", job);
    let program =
        stage.write("agent.sh", "#!/bin/sh\ncat > /dev/null\n[ -e a.txt ] || mkfifo a.txt\necho 'Done: a'\n");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    let ended = stage.baton(&["run", "job.toml"]);
    assert_ne!(ended.code, Some(0), "{}", ended.stderr);
}
