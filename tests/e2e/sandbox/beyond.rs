//! What no namespace holds and what no mount covers, tried by `baton sandbox try` and by an agent.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::{CommandOutput, TestWorkspace};

/// A command in a strict sandbox of the stage's folder.
fn tried(stage: &TestWorkspace, arguments: &[&str]) -> CommandOutput {
    let (root, state) = (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    stage.baton(&[&["sandbox", "try", "--workspace", &root, "--state-dir", &state], arguments].concat())
}

/// The same by Python, which exits 0 where it got what it was after.
fn python(stage: &TestWorkspace, script: &str) -> CommandOutput {
    tried(stage, &["--", "python3", "-c", script])
}

#[test]
fn the_settings_of_the_system_are_read_only_for_root_as_well() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
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
    let stage = TestWorkspace::new();
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
    let stage = TestWorkspace::new();
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
    let stage = TestWorkspace::new();
    let plant =
        "mkdir objects refs && echo 'ref: refs/heads/x' > HEAD && echo '[core] bare = false' > config";
    tried(&stage, &["--", "sh", "-c", plant]).expect(0).says(&["HEAD"]);
    let at = |name: &str| stage.workspace.join(name);
    assert!(!at("HEAD").exists() && at("HEAD.from-agent").exists());
}

#[test]
fn what_the_host_wrote_for_a_sandbox_is_exchanged_by_nobody_inside() {
    // N6: two commands of `setup` are in one boundary, and the first runs what an agent wrote.
    for level in ["strict", "write"] {
        if !can(if level == "strict" { SandboxLevel::Strict } else { SandboxLevel::Write }) {
            continue;
        }
        let stage = TestWorkspace::new();
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
    let stage = TestWorkspace::new();
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

/// A workflow of confined programs, in a repository: one phase `first`, and one that is split in six, beside it or after it. What a program
/// does of these six is `parts`.
fn split(stage: &TestWorkspace, level: &str, depends: &str, script: &str, parts: &str) {
    let objective = |id| format!("{{ id = \"{id}\", description = \"Write {id}.txt.\", verify = \"true\" }}");
    let objectives = ["b", "c", "d", "e", "f", "g"].map(objective).join(", ");
    let job = format!(
        "name = \"job\"\ngoal = \"Show what happens.\"\n\
         [roles.executor]\nagent = \"process:./agent.sh\"\nsandbox = \"{level}\"\n\
         [limits]\nretries = 0\nbackoff = \"0s\"\nparallel = 2\n\
         [[phases]]\nid = \"first\"\nobjectives = [{{ id = \"a\", description = \"Write a.txt.\" }}]\n\
         [[phases]]\nid = \"second\"\nsplit = \"ahead\"\n{depends}objectives = [{objectives}]\n"
    );
    stage.write("job.toml", job);
    let script = format!(
        "#!/bin/sh\nprompt=$(cat)\ncase \"$prompt\" in *'Write a.txt'*) {script}\n\
         echo a > a.txt; echo 'Done: a'; exit ;; esac\n{parts}\n\
         for part in b c d e f g; do case \"$prompt\" in *\"Write $part.txt\"*)\n\
         echo $part > $part.txt; echo \"Done: $part\" ;; esac; done\n"
    );
    let program = stage.write("agent.sh", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    stage.make_repository();
}

#[test]
fn an_agent_makes_the_host_write_into_no_other_repository() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let other = stage.path("other");
    let script = format!(
        "for name in logs refs objects; do rm -rf .git/$name; ln -s {0}/.git/$name .git/$name; done\n\
         ln -sf {0}/.git/packed-refs .git/packed-refs",
        other.display()
    );
    split(&stage, "strict", "depends_on = [\"first\"]\n", &script, "");
    stage.git(&["clone", "-q", ".", &other.display().to_string()]);
    let told = || {
        let of_other = other.display().to_string();
        ["for-each-ref", "count-objects", "status --porcelain"]
            .map(|words| {
                let words: Vec<&str> = ["-C", &of_other].into_iter().chain(words.split(' ')).collect();
                let ended = std::process::Command::new("git").args(words).output().unwrap();
                String::from_utf8(ended.stdout).unwrap()
            })
            .join("\n")
    };
    let before = told();
    stage
        .baton(&["run", "job.toml", "--inline"])
        .expect(0)
        .says(&["packed-refs (it was a link to", "and is removed"]);
    assert_eq!(told(), before);
}

#[test]
fn a_phase_that_works_while_another_one_is_split_is_blamed_for_nothing() {
    // N6
    for level in ["strict", "write"] {
        if !can(if level == "strict" { SandboxLevel::Strict } else { SandboxLevel::Write }) {
            continue;
        }
        let stage = TestWorkspace::new();
        // The first phase ends after the trees of the other one are there, and before these are merged.
        let wait = "until ls .git/worktrees | grep -q '^secondb$'; do sleep 0.1; done";
        split(&stage, level, "", wait, "sleep 4");
        let ended = stage.baton(&["run", "job.toml", "--inline"]).expect(0);
        assert!(!ended.stderr.contains("refused"), "{level}: {}", ended.stderr);
        assert_eq!((stage.read("b.txt"), stage.read("g.txt")), ("b\n".to_owned(), "g\n".to_owned()));
        let left: Vec<_> = fs::read_dir(stage.workspace.join(".git"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.contains("from-agent"))
            .collect();
        assert_eq!(left, Vec::<String>::new());
    }
}

#[test]
fn a_person_adds_a_work_tree_while_a_confined_command_works() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    stage.make_repository();
    let wait = "touch started; until [ -e go ]; do sleep 0.1; done";
    std::thread::scope(|scope| {
        let tried = scope.spawn(|| tried(&stage, &["--", "sh", "-c", wait]));
        crate::support::until("the command works", || stage.workspace.join("started").exists());
        let add = ["worktree", "add", "-q", "../feature"];
        let added = std::process::Command::new("git").args(add).current_dir(&stage.workspace).output();
        fs::write(stage.workspace.join("go"), "").unwrap();
        assert!(added.as_ref().is_ok_and(|added| added.status.success()), "{added:?}");
        tried.join().unwrap().expect(0).says(&["nothing was refused"]);
    });
    let feature = stage.workspace.parent().unwrap().join("feature").display().to_string();
    stage.git(&["-C", &feature, "status"]);
    // The entry that keeps the folder there is none for git.
    let listed = stage.git(&["worktree", "list"]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
}

#[test]
fn a_part_writes_only_branches_of_its_run_and_exchanges_no_folder() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let victim = stage.write("victim.txt", "theirs");
    let parts = format!(
        "own=$(cut -d' ' -f2 .git); common=${{own%/.git/*}}/.git; run=$(ls $common/refs/heads/baton)\n\
         for of in refs logs/refs; do at=$common/$of/heads/baton\n\
         mv $at/$run $at/away && echo moved >> escaped.txt; touch $at/mine && echo made >> escaped.txt; done\n\
         for file in config.worktree gitdir; do echo x >> $own/$file && echo written >> escaped.txt; done\n\
         for part in b c d e f g .merge; do ln -sf {} $common/logs/refs/heads/baton/$run/second$part; done",
        victim.display()
    );
    split(&stage, "strict", "depends_on = [\"first\"]\n", "", &parts);
    stage.baton(&["run", "job.toml", "--inline"]).expect(0);
    assert!(!stage.workspace.join("escaped.txt").exists());
    assert_eq!(fs::read_to_string(victim).unwrap(), "theirs");
}

#[test]
fn what_git_would_run_by_its_settings_stays_as_it_is() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    fs::create_dir_all(stage.workspace.join(".husky/_")).unwrap();
    let write = |name: &str, text: &str| fs::write(stage.workspace.join(name), text).unwrap();
    write(".husky/pre-commit", "true\n");
    write("team.gitconfig", "[alias]\n\tl = log\n");
    stage.make_repository();
    stage.git(&["config", "core.hooksPath", ".husky/_"]);
    stage.git(&["config", "include.path", "../team.gitconfig"]);
    let plant = "echo evil >> .husky/pre-commit; echo evil >> team.gitconfig\n\
                 mkdir .git/rebase-merge; echo 'exec touch evil' > .git/rebase-merge/git-rebase-todo; true";
    tried(&stage, &["--", "sh", "-c", plant]).expect(0).says(&["pre-commit", "git-rebase-todo"]);
    assert_eq!(stage.read(".husky/pre-commit"), "true\n");
    assert_eq!(stage.read("team.gitconfig"), "[alias]\n\tl = log\n");
    assert!(!stage.workspace.join(".git/rebase-merge/git-rebase-todo").exists());
}

#[test]
fn what_cannot_be_renamed_at_first_is_renamed_and_told() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let plant = "echo x > .mcp.json; touch .mcp.json.from-agent; chmod 555 .";
    tried(&stage, &["--", "sh", "-c", plant]).expect(0).says(&[".mcp.json"]);
    assert!(!stage.workspace.join(".mcp.json").exists());
}

#[test]
fn terminals_of_the_user_are_not_written_and_own_ones_are() {
    // N6
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    let (root, state) = (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let script = "import os, sys\nmaster, slave = os.openpty()\nos.write(slave, b'x')\n\
                  open(os.ttyname(slave), 'w')";
    let arguments = ["sandbox", "try", "--level", "write", "--workspace", &root, "--state-dir", &state];
    let ended = stage.baton(&[&arguments[..], &["--", "python3", "-c", script]].concat()).expect(1);
    ended.says(&["PermissionError", "/dev/pts/"]);
}
