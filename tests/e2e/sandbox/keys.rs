//! What people write of the sandbox: in a role, in their own configuration, in a folder's, on the command line.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::{CommandOutput, TestWorkspace};

/// A job of one objective whose agent is this shell script, with lines of its role and of its phase.
fn job(script: &str, role: &str, phase: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    let job = format!(
        "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nagent = \"process:./agent.sh\"\n{role}\n\
         [limits]\nretries = 0\nbackoff = \"0s\"\nverifications = 1\n[[phases]]\nid = \"only\"\n{phase}\n[[phases.objectives]]\n\
         id = \"a\"\ndescription = \"Write a.txt.\"\nfiles = [\"a.txt\"]\n"
    );
    stage.write("job.toml", job);
    let program = stage.write(
        "agent.sh",
        format!("#!/bin/sh\ncat > /dev/null\n{script}\necho done > a.txt\necho 'Done: a'\n"),
    );
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    stage.write("secret", "the secret");
    stage
}

fn config(stage: &TestWorkspace, text: &str) {
    let folder = stage.path(".config/baton");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), text).unwrap();
}

#[test]
fn what_a_machine_cannot_is_an_error_before_anything_starts() {
    // N6
    for (arguments, role) in [
        (&["run", "job.toml"][..], "sandbox = \"strict\""),
        (&["run", "job.toml", "--sandbox", "strict"], ""),
        (&["check", "job.toml"], "sandbox = { level = \"strict\" }"),
    ] {
        let stage = job("", role, "");
        // A machine without bubblewrap.
        let ended = stage.baton_with(arguments, "PATH", "/nowhere").expect(2);
        ended.says(&["[roles.executor]", "sandbox = \"strict\"", "install the package `bubblewrap`"]);
        assert!(!stage.has_run() && !stage.workspace.join("a.txt").exists());
    }
}

#[test]
fn a_users_floor_holds_whatever_a_workflow_says() {
    let stage =
        job("", "sandbox = { level = \"write\", network = [\"evil.example\"], write = [\"~/x\"] }", "");
    config(&stage, "[sandbox]\nlevel = \"strict\"\n");
    stage.baton(&["run", "job.toml"]).expect(2).says(&[
        "[roles.executor]",
        "evil.example:443",
        "config.toml",
    ]);
    config(&stage, "[sandbox]\nlevel = \"strict\"\nnetwork = [\"*.example\"]\n");
    stage.baton(&["run", "job.toml"]).expect(2).says(&["asks to write ~/x", "config.toml"]);
    // What is not of the open internet is for the user alone, also where nothing else is held.
    let stage = job("", "sandbox = { level = \"strict\", network = [\"127.0.0.1:80\"] }", "");
    stage.baton(&["check", "job.toml"]).expect(2).says(&["127.0.0.1:80", "only your own config.toml"]);
    // A folder's file tightens, and does not loosen.
    let stage = job("", "", "");
    config(&stage, "[sandbox]\nlevel = \"strict\"\n");
    fs::write(stage.workspace.join("baton.toml"), "[sandbox]\nnetwork = [\"evil.example\"]\n").unwrap();
    stage.baton(&["run", "job.toml"]).expect(2).says(&["baton.toml", "evil.example:443"]);
    // And what is not understood is never left out.
    for (text, says) in [
        ("[sandbox]\nlevl = \"strict\"\n", "levl"),
        ("sandbox = \"tight\"\n", "sandbox"),
        ("[sandbox]\nnetwork = [\"https://x.y\"]\n", "is no host"),
        ("[sandbox]\nwrite = [\"~\"]\n", "write"),
        ("[sandbox]\nread = [\"/../x\"]\n", ".."),
    ] {
        config(&stage, text);
        stage.baton(&["run", "job.toml"]).expect(2).says(&[says]);
    }
}

#[test]
fn a_folder_widens_no_sandbox_however_its_level_was_raised() {
    // N6: with `--sandbox strict`, the `baton.toml` of a cloned folder gave the user's keys, `~/.bashrc` and any network.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = job("cat ~/secret > got; true", "", "");
    stage.write("PLAN.md", "# The plan\n\n- [ ] Write `a.txt`.\n");
    let agent = format!("process:{}", stage.path("agent.sh").display());
    let (root, state) = (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let place = ["sandbox", "try", "--workspace", &root, "--state-dir", &state, "--"];
    let baton_toml = stage.workspace.join("baton.toml");
    for (list, says) in [
        ("read = [\"~/secret\"]", "asks to read ~/secret"),
        ("write = [\"~/.bashrc\"]", "asks to write ~/.bashrc"),
        ("network = [\"*.com\"]", "asks for the network *.com:443"),
    ] {
        for level in ["", "level = \"write\"\n", "level = \"strict\"\n"] {
            fs::write(&baton_toml, format!("[sandbox]\n{level}{list}\n")).unwrap();
            let confined = ["--sandbox", "strict", "--agent", &agent];
            let sentence = ["do", "Write a.txt", "--no-check"];
            for task in [&["run", "job.toml"][..], &["run", "PLAN.md"], &sentence] {
                let ended = stage.baton(&[task, &confined].concat()).expect(2);
                ended.says(&["baton.toml", says, "your own config.toml does not allow", "in [sandbox]"]);
            }
            let ended = stage.baton(&[&place[..], &["sh", "-c", "cat ~/secret"]].concat());
            assert_ne!((ended.code, ended.stdout.as_str()), (Some(0), "the secret"), "{list}");
            ended.says(&["baton.toml", says]);
        }
    }
    assert!(!stage.has_run());
    // What the user lists the folder may ask for, and the start says which file does.
    config(&stage, "[sandbox]\nread = [\"~/secret\"]\nnetwork = [\"*.example.com\"]\n");
    fs::write(&baton_toml, "[sandbox]\nnetwork = [\"a.example.com\"]\n").unwrap();
    let ended = stage.baton(&["run", "job.toml", "--sandbox", "strict"]).expect(0);
    ended.says(&["by lists, executor can connect to a.example.com:443", "baton.toml)"]);
    let ended = stage.baton(&["run", "job.toml", "--sandbox", "strict", "--restart"]).expect(0);
    ended.says(&["read ~/secret", "config.toml)"]);
    assert_eq!(stage.read("got"), "the secret");
}

#[test]
fn a_workflow_works_in_no_folder_that_the_users_floor_does_not_give() {
    // N6: the file of a clone named any folder of the user as its workspace, which the agent then read and wrote.
    let stage = TestWorkspace::new();
    for folder in ["clone/site", "keys"] {
        fs::create_dir_all(stage.path(folder)).unwrap();
    }
    let job = |workspace: &str| {
        let text = format!(
            "name = \"job\"\ngoal = \"Show what happens.\"\nworkspace = \"{workspace}\"\n\
             [roles.executor]\nagent = \"process:sh -c 'cat > /dev/null; echo x > a.txt; echo Done: a'\"\n\
             [limits]\nretries = 0\nbackoff = \"0s\"\n[[phases]]\nid = \"only\"\n\
             objectives = [{{ id = \"a\", description = \"Write a.txt.\", files = [\"a.txt\"] }}]\n"
        );
        stage.write("clone/job.toml", text);
    };
    // Without a folder on the command line.
    let run = |arguments: &[&str]| -> CommandOutput {
        let mut command = stage.command(&[]);
        command.args(["run", "clone/job.toml", "--inline", "--state-dir"]).arg(stage.state_root());
        command.args(arguments).output().unwrap().into()
    };
    let says =
        ["clone/job.toml asks to work in", "/keys (`workspace`)", "--workspace", "`write` in [sandbox]"];
    job("../keys");
    run(&["--sandbox", "write"]).expect(2).says(&says);
    for floor in ["sandbox = \"write\"\n", "[sandbox]\nlevel = \"strict\"\nread = []\nwrite = [\"~/key\"]\n"]
    {
        config(&stage, floor);
        run(&[]).expect(2).says(&says);
        stage.baton(&["check", "clone/job.toml"]).expect(2).says(&says);
    }
    assert!(!stage.path("keys/a.txt").exists());
    if !can(SandboxLevel::Write) {
        return;
    }
    // The person names it, or lists it; and what lies below the file is not asked about.
    config(&stage, "sandbox = \"write\"\n");
    run(&["--workspace", "keys"]).expect(0);
    assert!(stage.path("keys/a.txt").exists());
    config(&stage, "[sandbox]\nlevel = \"write\"\nwrite = [\"~/keys\"]\n");
    stage.baton(&["check", "clone/job.toml"]).expect(0);
    config(&stage, "sandbox = \"write\"\n");
    job("site");
    // The file that the command of the agent names was written by it.
    run(&["--accept-changes"]).expect(0);
    assert!(stage.path("clone/site/a.txt").exists());
}

#[test]
fn a_run_is_not_gone_on_with_less_confined_than_is_asked_for() {
    // D8, N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = job("exit 3", "", "");
    stage.baton(&["run", "job.toml"]).expect(5);
    stage.baton(&["answer", "retry"]).expect(0);
    let ended = stage.baton(&["run", "job.toml", "--sandbox", "strict"]).expect(2);
    ended.says(&["began without `--sandbox strict`", "--restart", "--sandbox strict"]);
    // A sentence and a plan are confined as a workflow is.
    let stage = TestWorkspace::new();
    let agent =
        stage.write("agent.sh", "#!/bin/sh\ncat > /dev/null; cat ~/secret > got; echo 'Done: task'\n");
    stage.write("secret", "the secret");
    stage.write("PLAN.md", "# The plan\n\n- [ ] Write `got`.\n");
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let agent = format!("process:{}", agent.display());
    let confined = ["--agent", &agent, "--sandbox", "strict"];
    for task in [&["do", "Write got", "--check", "test -e got"][..], &["run", "PLAN.md"]] {
        let ended = stage.baton(&[task, &confined].concat());
        ended.says(&["is not allowed to read", "/secret"]);
        assert_eq!(stage.read("got"), "");
    }
}

#[test]
fn lists_give_and_take() {
    if !can(SandboxLevel::Strict) {
        return;
    }
    let script =
        "cat given/secret > got; ls hidden > list 2>&1; echo more >> ~/given/writable/file; cat ~/secret";
    let role = "sandbox = { level = \"strict\", read = [\"~/given\"], write = [\"~/given/writable\"], hide = [\"hidden\"] }";
    let stage = job(&script.replace("given/secret", "~/given/secret"), role, "");
    fs::create_dir_all(stage.path("given/writable")).unwrap();
    fs::create_dir(stage.workspace.join("hidden")).unwrap();
    fs::write(stage.workspace.join("hidden/file"), "").unwrap();
    stage.write("given/secret", "given");
    stage.baton(&["run", "job.toml"]).expect(0).says(&["is not allowed to read", "/secret: its sandbox"]);
    assert_eq!((stage.read("got").as_str(), stage.read("list").as_str()), ("given", ""));
    assert_eq!(fs::read_to_string(stage.path("given/writable/file")).unwrap(), "more\n");
    // What a policy sees and what a person reads later has it as well.
    let report = stage.baton(&["report"]).expect(0).stdout;
    let told = stage.story().count(|notice| matches!(notice, ProgressEvent::Refused { .. }));
    assert!(told >= 1 && report.contains("not allowed by its sandbox"), "{report}");
}

#[test]
fn what_others_would_run_does_not_stay_where_it_was_planted() {
    if !can(SandboxLevel::Strict) {
        return;
    }
    let script = "mkdir .claude; echo '{}' > .claude/settings.json; echo '{}' > .mcp.json; git init -q .";
    let stage = job(script, "sandbox = \"strict\"", "");
    stage.baton(&["run", "job.toml"]).expect(0).says(&["/.mcp.json (it is called .mcp.json.from-agent now)"]);
    for name in [".mcp.json", ".git", ".claude"] {
        let there = stage.workspace.join(name).exists();
        assert_eq!(
            (there, stage.workspace.join(format!("{name}.from-agent")).exists()),
            (false, true),
            "{name}"
        );
    }
    stage.expect_no_process();
}

#[test]
fn a_link_that_git_would_write_through_is_removed_from_the_repository() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let script = "ln -sf ../../victim .git/COMMIT_EDITMSG; mkdir -p .git/logs/refs; ln -s ../../../../victim .git/logs/refs/stash";
    let stage = job(script, "sandbox = \"strict\"", "");
    stage.make_repository();
    let says =
        ["COMMIT_EDITMSG (it was a link to ../../victim, and is removed)", "logs/refs/stash (it was a link"];
    stage.baton(&["run", "job.toml"]).expect(0).says(&says);
    for name in ["COMMIT_EDITMSG", "logs/refs/stash"] {
        assert!(stage.workspace.join(".git").join(name).symlink_metadata().is_err(), "{name}");
    }
}

#[test]
fn what_was_planted_before_the_host_was_killed_is_told_by_the_next_one() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let script = "[ -e planted ] || { echo '{}' > .mcp.json; touch planted; sleep 60; }";
    let stage = job(script, "sandbox = \"strict\"", "");
    let mut host = stage.start(&["run", "job.toml"]);
    while !stage.workspace.join("planted").exists() {
        assert!(host.try_wait().unwrap().is_none(), "it ended before");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    host.kill().unwrap();
    host.wait().unwrap();
    let renamed = "/.mcp.json (it is called .mcp.json.from-agent now)";
    stage.baton(&["resume"]).expect(0).says(&[renamed]);
    assert!(!stage.workspace.join(".mcp.json").exists());
    let log = stage.baton(&["log"]).expect(0).stdout;
    assert!(log.contains(".mcp.json (it is called"), "{log}");
    stage.expect_no_process();
}

#[test]
fn commands_of_the_workflow_are_inside_as_well() {
    if !can(SandboxLevel::Strict) {
        return;
    }
    // The agent writes what is run afterwards.
    let script = "echo 'cat \"$HOME/secret\" > stolen; echo x > ../outside; true' > check.sh";
    let phase = "verify = \"sh check.sh\"";
    let stage = job(script, "sandbox = \"strict\"", phase);
    let told =
        format!("[notify]\ncommand = \"cat '{}' > told 2>&1; true\"\n", stage.path("secret").display());
    let text = fs::read_to_string(stage.path("job.toml"))
        .unwrap()
        .replace("[[phases]]\n", &format!("{told}[[phases]]\n"));
    stage.write("job.toml", text);
    stage.baton(&["run", "job.toml"]).expect(0);
    assert_eq!(stage.read("stolen"), "");
    assert!(stage.read("told").contains("No such file"), "{}", stage.read("told"));
    assert!(!stage.path("outside").exists());
    let log = stage.baton(&["artifacts", "show", "verifications/phase-only.log"]).expect(0).stdout;
    assert!(log.contains("[the sandbox did not allow to read ") && log.contains("/secret]"), "{log}");
    // Without one, it is stolen.
    let stage = job(script, "", phase);
    stage.baton(&["run", "job.toml"]).expect(0);
    assert_eq!((stage.read("stolen").as_str(), stage.path("outside").exists()), ("the secret", true));
}

#[test]
fn the_level_write_holds_files_and_ports() {
    if !can(SandboxLevel::Write) {
        return;
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "echo x > \"$HOME/outside\"; echo x > \"$TMPDIR/mine\" && cat \"$TMPDIR/mine\" \"$HOME/secret\" > got; \
         /usr/bin/python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)' 2> tried"
    );
    let stage = job(&script, "sandbox = \"write\"", "");
    let ended = stage.baton(&["run", "job.toml"]).expect(0);
    ended.says(&[
        "is not allowed to write",
        "/outside",
        &format!("is not allowed to connect to 127.0.0.1:{port}"),
    ]);
    assert_eq!(stage.read("got"), "x\nthe secret");
    assert!(stage.read("tried").contains("Permission"), "{}", stage.read("tried"));
    assert!(!stage.path("outside").exists());
    // The control.
    let stage = job(&script, "", "");
    stage.baton(&["run", "job.toml"]).expect(0);
    assert_eq!((stage.read("tried").as_str(), stage.path("outside").exists()), ("", true));
}

#[test]
fn a_command_is_tried_before_it_is_trusted() {
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    stage.write("secret", "the secret");
    let tried = |arguments: &[&str]| {
        let place = ["--workspace", stage.workspace.to_str().unwrap(), "--state-dir"];
        let root = stage.state_root();
        let mut all = vec!["sandbox", "try"];
        all.extend(place);
        all.push(root.to_str().unwrap());
        all.extend(arguments);
        stage.baton(&all)
    };
    let secret = stage.path("secret");
    let ended = tried(&["--", "sh", "-c", "cat ~/secret; echo x > /usr/y; echo x > mine"]).expect(0);
    ended.says(&["refused to read ", "/secret", "refused to write /usr/y"]);
    assert_eq!(stage.read("mine"), "x\n");
    let ended = tried(&["--read", secret.to_str().unwrap(), "--", "sh", "-c", "cat ~/secret"]).expect(0);
    assert_eq!(ended.stdout, "the secret");
    ended.says(&["nothing was refused"]);
    // The host's own folders are not there, whatever may be read.
    let state = stage.state_root();
    let ended = tried(&["--read", state.to_str().unwrap(), "--", "ls", state.to_str().unwrap()]).expect(0);
    assert_eq!(ended.stdout, "");
    tried(&["--", "false"]).expect(1);
    let json = tried(&["--format", "json", "--", "sh", "-c", "cat ~/secret"]).expect(1).stdout;
    assert!(json.contains("\"kind\": \"read\"") && json.contains("\"passed\": false"), "{json}");
}

#[test]
fn the_door_of_a_session_takes_no_orders() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let script = "/usr/bin/python3 -c 'import socket; door = socket.socket(socket.AF_UNIX); \
                  door.connect(\"/run/baton/door.sock\"); door.sendall(b\"{\\\"control\\\":\\\"stop\\\"}\\n\"); \
                  print(door.recv(4096).decode())' > said 2>&1";
    let stage = job(script, "sandbox = \"strict\"", "");
    let ended = stage.baton(&["run", "job.toml"]).expect(0);
    assert!(stage.read("said").contains("takes calls of tools by its own session"), "{}", stage.read("said"));
    ended.says(&["is not allowed to change its run by stop: its host does not give it"]);
}

#[test]
fn the_door_of_a_session_takes_its_own_calls() {
    // N6: the host knows by a process inside which session started it.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let script = "/usr/bin/python3 -c 'import json, socket; file = json.load(open(\"/run/baton/door.json\")); \
                  door = socket.socket(socket.AF_UNIX); door.connect(file.pop(\"socket\")); file.pop(\"schema\"); \
                  call = {\"tool\": \"context_status\", \"arguments\": {}}; \
                  asked = {\"control\": \"call\", \"pass\": file, \"call\": call}; \
                  door.sendall(json.dumps(asked).encode() + b\"\\n\"); print(door.recv(65536).decode())' > said 2>&1";
    for level in ["strict", "write"] {
        let stage = job(script, &format!("sandbox = \"{level}\""), "");
        stage.baton(&["run", "job.toml"]).expect(0);
        let said = stage.read("said");
        assert!(level == "write" || said.contains("\"reply\":\"called\""), "{level}: {said}");
        assert!(!said.contains("another session"), "{level}: {said}");
    }
}

#[test]
fn what_a_link_leads_to_stays_as_it_is() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let script = "echo '{}' > tools/settings.json; rm -f .claude && mkdir .claude && echo '{}' > .claude/settings.json";
    let stage = job(script, "sandbox = \"strict\"", "");
    fs::create_dir(stage.workspace.join("tools")).unwrap();
    fs::write(stage.workspace.join("tools/settings.json"), "mine").unwrap();
    std::os::unix::fs::symlink("tools", stage.workspace.join(".claude")).unwrap();
    stage.baton(&["run", "job.toml"]).expect(0).says(&["/.claude (it leads to tools again)"]);
    assert_eq!(stage.read(".claude/settings.json"), "mine");
    // The control.
    let stage = job(script, "", "");
    fs::create_dir(stage.workspace.join("tools")).unwrap();
    stage.baton(&["run", "job.toml"]).expect(0);
    assert_eq!(stage.read("tools/settings.json"), "{}\n");
}
