//! Programs and settings that are shown in a sandbox: nobody chooses by them what else is there, and Baton's own program stays the one that
//! runs.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::TestWorkspace;

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A user whose agents have this sandbox, and an agent that leaves no session: it is started twice.
fn two_sessions(sandbox: &str, agent: &str, role: &str, script: &str) -> TestWorkspace {
    let stage = TestWorkspace::new();
    fs::create_dir_all(stage.path(".config/baton")).unwrap();
    stage.write(".config/baton/config.toml", format!("sandbox = {sandbox}\n"));
    let agent = stage.path(agent);
    program(&agent, &format!("#!/bin/sh\n{{ {script} ; }} >> out.txt 2>&1\nexit 1\n"));
    let job = format!(
        "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nagent = \"acp:{}\"\npermission = \"edit\"\n{role}\n\
         [limits]\nretries = 1\nbackoff = \"0s\"\n\
         [[phases]]\nid = \"only\"\nverify = \"false\"\nobjectives = [{{ id = \"a\", description = \"Write a.txt.\" }}]\n",
        agent.display()
    );
    stage.write("job.toml", job);
    stage
}

#[test]
fn the_program_of_the_host_is_the_one_that_was_started() {
    // N6: an agent moved it and put its own in the place, which the host ran as the guard of the next session, outside of every sandbox.
    for (level, place) in [("strict", "tools/bin/baton"), ("write", "work/bin/baton")] {
        if !can(if level == "strict" { SandboxLevel::Strict } else { SandboxLevel::Write }) {
            continue;
        }
        let stage = TestWorkspace::new();
        fs::create_dir_all(stage.path(place).parent().unwrap()).unwrap();
        fs::create_dir_all(stage.path("tools")).unwrap();
        let own = stage.copy_of_baton(place);
        let folder = own.parent().unwrap().display().to_string();
        let script = format!(
            "#!/bin/sh\ncat > /dev/null\nmv {folder} {folder}-old && mkdir {folder} && echo moved > moved\n\
             printf '#!/bin/sh\\ntouch \"$HOME/ran\"\\n' > {folder}/baton; chmod +x {folder}/baton\nexit 1\n"
        );
        program(&stage.path("agent.sh"), &script);
        let job = format!(
            "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nagent = \"process:./agent.sh\"\n\
             sandbox = {{ level = \"{level}\", write = [\"~/tools\"] }}\n[limits]\nretries = 1\nbackoff = \"0s\"\n\
             [[phases]]\nid = \"only\"\nverify = \"false\"\nobjectives = [{{ id = \"a\", description = \"Do it.\" }}]\n"
        );
        stage.write("job.toml", job);
        let same = stage.command(&["run", "job.toml", "--inline"]);
        let ended = stage.program_beside(&same, &own).args(same.get_args()).output().unwrap();
        assert_ne!(ended.status.code(), Some(0));
        assert!(!stage.path("ran").exists(), "{level}: the host ran what an agent wrote");
        // What the user runs again is what it was, where it lies in a list; in the tree it is a file of the work.
        assert_eq!(stage.workspace.join("moved").exists(), level == "write", "{level}");
        // Under the other name it is the same: the attack did happen.
        if level == "write" {
            assert!(stage.workspace.join("bin-old/baton").exists());
        }
    }
}

#[test]
fn no_workflow_shows_files_by_naming_them_as_programs() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = two_sessions(
        "{ level = \"strict\", read = [] }",
        "agent.sh",
        "",
        "cat ~/keys/key ~/more/key; ls ~/keys",
    );
    fs::create_dir_all(stage.path("keys")).unwrap();
    fs::create_dir_all(stage.path("more")).unwrap();
    stage.write("keys/key", "the secret");
    stage.write("more/key", "the secret");
    fs::create_dir_all(stage.path("lib/node_modules")).unwrap();
    let [keys, key, package] = ["keys", "more/key", "lib/node_modules/../../keys"]
        .map(|name| stage.path(name).display().to_string());
    let state = stage.state_root().display().to_string();
    let role = format!(
        "args = [\"{package}\"]\n[roles.executor.mcp]\na = {{ command = [\"{keys}\"] }}\nb = {{ command = [\"{key}\"] }}\nc = {{ command = [\"{state}\"] }}\n"
    );
    let job = fs::read_to_string(stage.path("job.toml")).unwrap();
    stage
        .write("job.toml", job.replace("permission = \"edit\"\n", &format!("permission = \"edit\"\n{role}")));
    stage.baton(&["run", "job.toml"]);
    let out = stage.read("out.txt");
    assert!(out.contains("No such file") && !out.contains("the secret"), "{out}");
}

#[test]
fn no_program_or_setting_leads_through_a_link_that_an_agent_could_make() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let exchange = "cat ~/.netrc; mv ~/ext/bin ~/ext/old; mkdir ~/ext/bin; ln -s ../../.netrc ~/ext/bin/srv";
    let role = "[roles.executor.mcp]\na = { command = [\"~/ext/bin/srv\"] }\n";
    let stage = two_sessions("{ level = \"strict\", write = [\"~/ext\"] }", "agent.sh", role, exchange);
    let job = fs::read_to_string(stage.path("job.toml")).unwrap();
    stage.write("job.toml", job.replace("~/ext", &stage.path("ext").display().to_string()));
    stage.write(".netrc", "the secret");
    program(&stage.path("ext/bin/srv"), "#!/bin/sh\n");
    stage.baton(&["run", "job.toml"]);
    let out = stage.read("out.txt");
    assert!(out.contains("No such file") && !out.contains("the secret"), "{out}");
    assert!(stage.path("ext/bin/srv").is_symlink());

    let exchange = "cat ~/.claude/CLAUDE.md; ln -sfn ~/keys/key ~/ext/CLAUDE.md";
    let stage = two_sessions("{ level = \"strict\", write = [\"~/ext\"] }", "claude-x", "", exchange);
    for folder in ["ext", "keys", ".claude"] {
        fs::create_dir_all(stage.path(folder)).unwrap();
    }
    stage.write("keys/key", "the secret");
    stage.write("ext/CLAUDE.md", "rules\n");
    symlink("../ext/CLAUDE.md", stage.path(".claude/CLAUDE.md")).unwrap();
    let ended = stage.baton(&["run", "job.toml"]);
    let out = stage.read("out.txt");
    assert!(out.contains("rules") && !out.contains("the secret"), "{out}");
    ended.says(&["is a link that agents can exchange"]);
}

#[test]
fn files_are_confined_whatever_an_agent_is_called() {
    // N6: what was called codex had none of Landlock's rules for files, so that its own sandbox could mount.
    if !can(SandboxLevel::Write) {
        return;
    }
    for name in ["codex-fake", "other-fake"] {
        let stage = two_sessions("\"write\"", name, "", "echo x > ~/outside; cat ~/config");
        stage.write("config", "read\n");
        stage.baton(&["run", "job.toml"]);
        assert!(stage.read("out.txt").contains("read\n"), "{name}: it ran");
        assert!(!stage.path("outside").exists(), "{name}");
    }
}
