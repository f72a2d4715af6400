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

/// A script of Python with an argument, at the level `write`.
fn written(stage: &TestWorkspace, script: &str, argument: &str) -> CommandOutput {
    tried(stage, &["--level", "write", "--", "python3", "-c", script, argument])
}

/// The same without a sandbox, as the control.
fn unconfined(stage: &TestWorkspace, script: &str, argument: &str) -> CommandOutput {
    let mut command = std::process::Command::new("python3");
    command.args(["-c", script, argument]).current_dir(&stage.workspace).stdin(std::process::Stdio::null());
    command.output().unwrap().into()
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
pub(super) fn split(stage: &TestWorkspace, level: &str, depends: &str, script: &str, parts: &str) {
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
    tried(&stage, &["--", "sh", "-c", plant]).expect(0).says(&["pre-commit", "rebase-merge"]);
    assert_eq!(stage.read(".husky/pre-commit"), "true\n");
    assert_eq!(stage.read("team.gitconfig"), "[alias]\n\tl = log\n");
    assert!(!stage.workspace.join(".git/rebase-merge").exists());
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

#[test]
fn what_is_typed_into_a_terminal_of_the_user_is_not_read() {
    // N6: a program waited at another window for the user's password.
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    let window = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&window).unwrap();
    unlockpt(&window).unwrap();
    let name = ptsname(&window, Vec::new()).unwrap().into_string().unwrap();
    // What is typed waits for the shell that has the other end.
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY | rustix::fs::OFlags::CLOEXEC;
    let _shell = rustix::fs::open(&name, flags, rustix::fs::Mode::empty()).unwrap();
    rustix::io::write(&window, b"the password\n").unwrap();
    let script = "import os, sys\n\
                  terminal = os.open(sys.argv[1], os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)\n\
                  print(os.read(terminal, 100).decode())";
    let ended = written(&stage, script, &name).expect(1);
    assert!(!ended.stdout.contains("the password"), "{}", ended.stdout);
    ended.says(&["PermissionError", &format!("refused to read {name}")]);
    let control = unconfined(&stage, script, &name).expect(0);
    assert!(control.stdout.contains("the password"), "{}", control.stdout);
}

/// Spellings of a file outside, each with a change of something that only its owner changes.
const ATTRIBUTES: &str = r#"
import ctypes, os, sys
victim = sys.argv[1]
libc = ctypes.CDLL(None)
held = os.open(victim, os.O_RDONLY)
links = {"open": f"/proc/self/fd/{held}", "twice": "open", "plain": victim, "folder": "../outside"}
for name, to in links.items():
    os.path.islink(name) and os.unlink(name)
    os.symlink(to, name)

def in_folder(folder, change):
    before = os.open(".", os.O_RDONLY)
    os.chdir(folder)
    try:
        change()
    finally:
        os.fchdir(before)

def without_path():
    if libc.fchownat(-100, b"", os.getuid(), -1, 0x1000) != 0:
        raise PermissionError

tries = {
    "whole path": lambda: os.chmod(victim, 0o604),
    "descriptor": lambda: os.fchmod(held, 0o604),
    "link": lambda: os.chmod("plain", 0o604),
    "own descriptor": lambda: os.chmod(f"/proc/self/fd/{held}", 0o604),
    "descriptor of process": lambda: os.chmod(f"/proc/{os.getpid()}/fd/{held}", 0o604),
    "descriptor of task": lambda: os.chmod(f"/proc/self/task/{os.getpid()}/fd/{held}", 0o604),
    "descriptor of thread": lambda: os.chmod(f"/proc/thread-self/fd/{held}", 0o604),
    "device": lambda: os.chmod(f"/dev/fd/{held}", 0o604),
    "link to descriptor": lambda: os.chmod("open", 0o604),
    "link to link": lambda: os.chmod("twice", 0o604),
    "times": lambda: os.utime("open", (1, 1)),
    "owner": lambda: os.chown("open", os.getuid(), -1),
    "attribute": lambda: os.setxattr("open", "user.baton", b"x"),
    "own root": lambda: os.chmod(f"/proc/self/root{victim}", 0o604),
    "own folder": lambda: os.chmod("/proc/self/cwd/../victim", 0o604),
    "above a link": lambda: os.chmod("folder/../victim", 0o604),
    "among descriptors": lambda: in_folder("/proc/self/fd", lambda: os.chmod(str(held), 0o604)),
    "current folder": lambda: in_folder("..", without_path),
}
for name, change in tries.items():
    try:
        change()
        print("done", name)
    except PermissionError:
        print("refused", name)
    except OSError as error:
        print("failed", name, error)
"#;

#[test]
fn attributes_of_files_outside_are_changed_by_no_spelling_of_their_path() {
    // N6
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    fs::create_dir(stage.path("outside")).unwrap();
    let victim = stage.write("victim", "").canonicalize().unwrap();
    let looked = || {
        let found = fs::metadata(&victim).unwrap();
        (found.permissions().mode(), found.modified().unwrap())
    };
    let (before, name) = (looked(), victim.display().to_string());
    let ended = written(&stage, ATTRIBUTES, &name).expect(0);
    let other: Vec<_> = ended.stdout.lines().filter(|line| !line.starts_with("refused ")).collect();
    assert_eq!((other, ended.stdout.lines().count()), (Vec::new(), 18), "{}", ended.stderr);
    assert_eq!(looked(), before);
    ended.says(&[&format!("refused to write {name}")]);
    let control = unconfined(&stage, ATTRIBUTES, &name).expect(0);
    let refused: Vec<_> = control.stdout.lines().filter(|line| line.starts_with("refused ")).collect();
    assert_eq!(refused, Vec::<&str>::new());
    assert_ne!(looked(), before);
}

#[test]
fn attributes_of_own_files_are_changed_and_links_are_themselves() {
    // N6
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    let victim = stage.write("victim", "").canonicalize().unwrap().display().to_string();
    let script = r#"
import os, sys
own = os.open("own", os.O_RDWR | os.O_CREAT)
os.mkdir("folder")
os.symlink("../own", "folder/link")
open_files = [f"/proc/self/fd/{own}", f"/dev/fd/{own}"]
for path in ["own", "./folder/../own", "folder/link", os.getcwd() + "/own"] + open_files:
    os.chmod(path, 0o600)
    os.utime(path, (1, 1))
os.chmod("../own", 0o640, dir_fd=os.open("folder", os.O_RDONLY))
os.fchmod(own, 0o600)
os.fchmod(os.pipe()[1], 0o600)
os.symlink(sys.argv[1], "out")
os.utime("out", (1, 1), follow_symlinks=False)
os.lchown("out", os.getuid(), -1)
os.unlink("own")
os.fchmod(own, 0o640)
for path in ["missing", "folder/link", "../missing"]:
    try:
        os.chmod(path, 0o600)
    except FileNotFoundError:
        pass
"#;
    let ended = written(&stage, script, &victim).expect(0);
    assert!(!ended.stderr.contains(&victim), "{}", ended.stderr);
}

#[test]
fn a_link_in_the_repository_has_the_host_make_nothing_elsewhere() {
    // N6
    for level in ["strict", "write"] {
        if !can(if level == "strict" { SandboxLevel::Strict } else { SandboxLevel::Write }) {
            continue;
        }
        let stage = TestWorkspace::new();
        stage.make_repository();
        let elsewhere = stage.path("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::create_dir_all(stage.workspace.join(".git/worktrees")).unwrap();
        symlink(&elsewhere, stage.workspace.join(".git/worktrees/.baton")).unwrap();
        tried(&stage, &["--level", level, "--", "true"]);
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0, "{level}");
    }
}

#[test]
fn a_program_at_write_has_no_controlling_terminal() {
    // N6: what has one types into the shell of the user.
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    let (root, state) = (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let tried =
        stage.command(&["sandbox", "try", "--level", "write", "--workspace", &root, "--state-dir", &state]);
    // The outer shell has a terminal, and what is confined has none.
    let mut command = stage.program_beside(&tried, "/usr/bin/python3");
    let outer = "import os, pty, sys\nsys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
    let inner = "true < /dev/tty && (\"$@\" -- sh -c '! true < /dev/tty'; exit $?)";
    command.args(["-c", outer, "sh", "-c", inner, "sh"]).arg(tried.get_program()).args(tried.get_args());
    let ended = command.output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
}

#[test]
fn a_session_that_was_begun_outside_of_a_container_is_no_obstacle() {
    // N6: inside, its leader has the number 0.
    if !can(SandboxLevel::Write) || !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let (root, state) = (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let tried =
        stage.command(&["sandbox", "try", "--level", "write", "--workspace", &root, "--state-dir", &state]);
    let mut command = stage.program_beside(&tried, "bwrap");
    command
        .args(["--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc"])
        .arg(tried.get_program())
        .args(tried.get_args())
        .args(["--", "/usr/bin/python3", "-c", "import os; print(os.getsid(0))"]);
    let ended = CommandOutput::from(command.output().unwrap()).expect(0);
    assert_eq!(ended.stdout, "0\n");
}

#[test]
fn a_submodule_within_a_submodule_keeps_its_repository() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    stage.make_repository();
    let at = |name: &str| stage.workspace.join(name);
    fs::create_dir_all(at("s/deep")).unwrap();
    for (name, text) in [
        (".gitmodules", "[submodule \"s\"]\n\tpath = s\n\turl = /s\n"),
        ("s/.gitmodules", "[submodule \"deep\"]\n\tpath = deep\n\turl = /deep\n"),
        ("s/.git", "gitdir: ../.git/modules/s\n"),
        ("s/deep/.git", "gitdir: ../../.git/modules/s/modules/deep\n"),
    ] {
        fs::write(at(name), text).unwrap();
    }
    let ended = tried(&stage, &["--", "sh", "-c", "rm s/deep/.git || mv s/deep s/away"]).expect(1);
    ended.says(&["refused to write"]);
    assert!(at("s/deep/.git").is_file());
}
