//! What only the host holds at the level `write`: devices, the watcher, its own folder, and what lists name at the moment of a start.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::{CommandOutput, TestWorkspace, until};

/// A command at the level `write`, with the state folder that is named.
fn tried(stage: &TestWorkspace, state: &str, arguments: &[&str]) -> CommandOutput {
    let root = stage.workspace.display().to_string();
    let place = ["sandbox", "try", "--level", "write", "--workspace", &root, "--state-dir", state];
    stage.baton(&[&place[..], arguments].concat())
}

#[test]
fn a_device_stays_as_it_is_for_others() {
    // N6: as root, an agent changed the mode of `/dev/full`, as it could have that of `/dev/null`.
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    let state = stage.state_root().display().to_string();
    // The mode that it has, so that nothing is different where it works.
    let script = "for device in /dev/full /dev/null /dev/zero /dev/shm /dev/ptmx; do\n\
                  chmod $(stat -L -c %a $device) $device && echo mode $device\n\
                  touch -c -r $device $device && echo times $device\n\
                  chown $(id -u) $device && echo owner $device; done\n\
                  echo x > /dev/null && echo written\n\
                  own=/dev/shm/baton-$$ && echo x > $own && chmod 600 $own && touch $own && rm $own && echo own";
    let ended = tried(&stage, &state, &["--", "sh", "-c", script]).expect(0);
    assert_eq!(ended.stdout, "written\nown\n", "{}", ended.stderr);
    ended.says(&["refused to write /dev/full", "refused to write /dev/shm"]);
}

#[test]
fn no_program_takes_the_watcher_of_another_one() {
    // N6: whoever connected first to the socket of another sandbox switched off what refuses changes of modes there.
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    let (beside, state) = (stage.path("beside"), stage.state_root().display().to_string());
    let victim = stage.path("outside");
    fs::create_dir(&victim).unwrap();
    fs::create_dir(&beside).unwrap();
    let root = beside.display().to_string();
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o700)).unwrap();
    // Connects to the watcher of every other sandbox, by its name and by what other processes have open.
    let thief = "import glob, os, socket, sys, time\n\
                 open('ready', 'w').close()\nheld = {}\nend = time.time() + 60\n\
                 while time.time() < end and not os.path.exists('over'):\n\
                 \x20   for path in glob.glob(sys.argv[1] + '/try-*/watch.sock') + glob.glob('/proc/[0-9]*/fd/*'):\n\
                 \x20       if path in held or path.startswith('/proc/%d/' % os.getpid()): continue\n\
                 \x20       one = socket.socket(socket.AF_UNIX)\n\
                 \x20       one.settimeout(1)\n\
                 \x20       try:\n\
                 \x20           one.connect(path)\n\
                 \x20           held[path] = one\n\
                 \x20       except OSError: one.close()\n";
    std::thread::scope(|scope| {
        let thief = scope.spawn(|| tried(&stage, &state, &["--", "python3", "-c", thief, &state]));
        until("the thief works", || stage.workspace.join("ready").exists());
        for _ in 0..3 {
            let name = victim.display().to_string();
            let place = ["sandbox", "try", "--level", "write", "--workspace", &root, "--state-dir", &state];
            let ended = stage.baton(&[&place[..], &["--", "chmod", "711", &name]].concat());
            ended.expect(1).says(&["refused to write", "/outside"]);
        }
        fs::write(stage.workspace.join("over"), "").unwrap();
        thief.join().unwrap().expect(0);
    });
    assert_eq!(fs::metadata(&victim).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn no_program_takes_the_proxy_of_another_one() {
    // N6: a session at `write` reached what a strict one beside it may reach, by the socket of that one's proxy.
    if !can(SandboxLevel::Write) || !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let (beside, state) = (stage.path("beside"), stage.state_root().display().to_string());
    fs::create_dir(&beside).unwrap();
    let root = beside.display().to_string();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.write_all(b"hello");
        }
    });
    fs::create_dir_all(stage.path(".config/baton")).unwrap();
    stage.write(".config/baton/config.toml", format!("[sandbox]\nnetwork = [\"{address}\"]\n"));
    // By its name, and by what processes of Baton have open.
    let thief = format!(
        "import glob, os, socket, sys\n\
         def is_baton(path):\n\
         \x20   try: return open(os.path.dirname(os.path.dirname(path)) + '/comm').read().strip() == 'baton'\n\
         \x20   except OSError: return False\n\
         open_there = filter(is_baton, glob.glob('/proc/[0-9]*/fd/*'))\n\
         for path in glob.glob(sys.argv[1] + '/try-*/net.sock') + list(open_there):\n\
         \x20   one = socket.socket(socket.AF_UNIX)\n\
         \x20   one.settimeout(2)\n\
         \x20   try:\n\
         \x20       one.connect(path)\n\
         \x20       one.sendall(b'CONNECT {address} HTTP/1.1\\r\\n\\r\\n')\n\
         \x20       print(path, one.recv(100))\n\
         \x20   except OSError: pass\n"
    );
    let port = address.port();
    let own = format!(
        "touch ready; while [ ! -e over ]; do sleep 0.1; done; /usr/bin/python3 -c 'import socket; \
         print(socket.create_connection((\"127.0.0.1\", {port}), 5).recv(5).decode())'"
    );
    let address = address.to_string();
    let place = ["sandbox", "try", "--workspace", &root, "--state-dir", &state, "--network", &address];
    let arguments = [&place[..], &["--", "sh", "-c", &own]].concat();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| stage.baton(&arguments));
        until("the strict session works", || beside.join("ready").exists());
        let stolen = tried(&stage, &state, &["--", "python3", "-c", &thief, &state]);
        fs::write(beside.join("over"), "").unwrap();
        // What it may reach itself, it does.
        assert_eq!(other.join().unwrap().expect(0).stdout, "hello\n");
        assert_eq!(stolen.expect(0).stdout, "");
    });
}

#[test]
fn every_command_of_one_boundary_is_watched() {
    // N6: of two commands of `setup`, only the first was.
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    let victim = stage.write("victim", "");
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).unwrap();
    let change = format!("chmod 666 '{}' || true", victim.display());
    let job = format!(
        "name = \"job\"\ngoal = \"Show what happens.\"\nsetup = [\"true\", \"{change}\"]\n\
         [roles.executor]\nagent = \"process:./agent.sh\"\nsandbox = \"write\"\n\
         [limits]\nretries = 0\nbackoff = \"0s\"\n\
         [[phases]]\nid = \"first\"\nobjectives = [{{ id = \"a\", description = \"Write it.\" }}]\n\
         [[phases]]\nid = \"second\"\nsplit = \"ahead\"\ndepends_on = [\"first\"]\n\
         objectives = [{{ id = \"b\", description = \"Do it.\" }}, {{ id = \"c\", description = \"Do it too.\" }}]\n"
    );
    stage.write("job.toml", job);
    let script = "#!/bin/sh\ncat > /dev/null\necho done > a.txt\necho 'Done: a, b, c'\n";
    let agent = stage.write("agent.sh", script);
    fs::set_permissions(agent, fs::Permissions::from_mode(0o755)).unwrap();
    stage.make_repository();
    stage.baton(&["run", "job.toml", "--inline"]);
    assert_eq!(fs::metadata(&victim).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn no_list_is_followed_through_a_link_that_was_made_after_the_look() {
    // N6: an agent that wrote in the folder above exchanged folder and link in a loop; some starts took the link.
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    let state = stage.state_root().display().to_string();
    let at = |name: &str| stage.path(name).display().to_string();
    for folder in ["lists", "lists/sub", "victim"] {
        fs::create_dir(stage.path(folder)).unwrap();
    }
    symlink(stage.path("victim"), stage.path("lists/link")).unwrap();
    let (sub, link) = (stage.path("lists/sub"), stage.path("lists/link"));
    let (above, below) = (at("lists"), at("lists/sub"));
    let lists = ["--write", &above, "--write", &below];
    let over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flip = || {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !over.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = renameat_with(CWD, &sub, CWD, &link, RenameFlags::EXCHANGE);
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        };
        scope.spawn(flip);
        for number in 0..30 {
            let write = format!("echo x > '{}/hit-{number}'", at("victim"));
            tried(&stage, &state, &[&lists[..], &["--", "sh", "-c", &write]].concat());
        }
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(fs::read_dir(stage.path("victim")).unwrap().count(), 0);
}

#[test]
fn no_agent_can_move_the_folder_of_the_host() {
    // N6: a state folder in the tree was writable with all of the tree, and so was the link of a user to one elsewhere.
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    let at = |name: &str| stage.workspace.join(name).display().to_string();
    let script = "#!/bin/sh\ncat > /dev/null\nmv state moved; mkdir state\necho 'Done: a'\n";
    let agent = stage.write("agent.sh", script);
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    stage.write(
        "job.toml",
        "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nagent = \"process:./agent.sh\"\n\
         sandbox = \"write\"\n[limits]\nretries = 0\nbackoff = \"0s\"\n\
         [[phases]]\nid = \"only\"\nobjectives = [{ id = \"a\", description = \"Write it.\" }]\n",
    );
    let root = stage.workspace.display().to_string();
    let mut run = stage.program_beside(&stage.command(&["agents"]), env!("CARGO_BIN_EXE_baton"));
    run.args(["run", "job.toml", "--workspace", &root, "--state-dir", &at("state"), "--inline"]);
    let ended = CommandOutput::from(run.output().unwrap());
    ended.says(&["has Baton's own folder in it", "/state", "--state-dir"]);
    assert!(!stage.workspace.join("moved").exists());
    fs::remove_dir_all(stage.workspace.join("state")).unwrap();
    fs::create_dir(stage.path("elsewhere")).unwrap();
    symlink(stage.path("elsewhere"), stage.workspace.join("state")).unwrap();
    let ended = tried(&stage, &at("state"), &["--", "mv", "state", "moved"]).expect(1);
    ended.says(&["has Baton's own folder in it", "by ", "/state"]);
    // Beside the tree it is as far away as anywhere else.
    let beside = stage.path("state").display().to_string();
    tried(&stage, &beside, &["--", "true"]).expect(0);
}
