//! Places that agents reach by another name than their own: files with hard links elsewhere, a link in the place of a workspace.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::{CommandOutput, TestWorkspace};

/// The shell script of an agent, beside the work tree.
fn agent(stage: &TestWorkspace, script: &str) -> String {
    let program = stage.write(
        "agent.sh",
        format!("#!/bin/sh\ncat > /dev/null\n{script}\necho done > a.txt\necho 'Done: a'\n"),
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program.display().to_string()
}

/// A workflow of one objective, with lines at its beginning and lines of its role.
fn workflow(agent: &str, first: &str, role: &str) -> String {
    format!(
        "name = \"job\"\ngoal = \"Show what happens.\"\n{first}\n[roles.executor]\nagent = \"process:{agent}\"\n{role}\n\
         [limits]\nretries = 0\nbackoff = \"0s\"\n[[phases]]\nid = \"only\"\n[[phases.objectives]]\n\
         id = \"a\"\ndescription = \"Write a.txt.\"\nfiles = [\"a.txt\"]\n"
    )
}

/// `baton` beside the work tree, which no option names.
fn beside(stage: &TestWorkspace, arguments: &[&str]) -> CommandOutput {
    let mut command = stage.program_beside(&stage.command(&["agents"]), env!("CARGO_BIN_EXE_baton"));
    command.args(arguments).arg("--state-dir").arg(stage.path("state"));
    command.output().unwrap().into()
}

#[test]
fn what_has_hard_links_elsewhere_is_told_and_packs_stay_as_they_are() {
    // N6: an agent wrote into the store of packages of all projects, and into the repository from which its own was cloned.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    fs::write(stage.workspace.join("b.txt"), "b\n").unwrap();
    stage.make_repository();
    stage.git(&["gc", "-q"]);
    let other = stage.path("other");
    stage.git(&["clone", "-q", "--local", ".", &other.display().to_string()]);
    fs::create_dir(stage.workspace.join("node_modules")).unwrap();
    let store = stage.write("store.js", "package\n");
    fs::hard_link(&store, stage.workspace.join("node_modules/a.js")).unwrap();
    let script =
        "for pack in .git/objects/pack/*; do chmod u+w $pack; echo x >> $pack || echo $pack >> kept; done";
    let program = agent(&stage, script);
    stage.write("job.toml", workflow(&program, "", "sandbox = \"strict\""));
    let told =
        ["files that agents can write have hard links elsewhere", "node_modules/a.js", "--no-hardlinks"];
    let root = stage.workspace.display().to_string();
    stage.baton(&["check", "job.toml", "--workspace", &root]).says(&told);
    let state = stage.state_root().display().to_string();
    let place = ["sandbox", "try", "--workspace", &root, "--state-dir", &state];
    stage.baton(&[&place[..], &["--", "true"]].concat()).expect(0).says(&told);
    stage.baton(&["run", "job.toml"]).expect(0).says(&told).says(&["sandbox: "]);
    for command in ["log", "report"] {
        let said = stage.baton(&[command]).expect(0).stdout;
        assert!(said.contains("node_modules/a.js"), "{command}: {said}");
    }
    let packs = |root: &Path| fs::read_dir(root.join(".git/objects/pack")).unwrap().count();
    assert_eq!(stage.read("kept").lines().count(), packs(&stage.workspace));
    stage.git(&["-C", &other.display().to_string(), "fsck", "--strict"]);
    // The control.
    let stage = TestWorkspace::new();
    let program = agent(&stage, "");
    stage.write("job.toml", workflow(&program, "", "sandbox = \"strict\""));
    let ended = stage.baton(&["run", "job.toml"]).expect(0);
    assert!(!ended.stderr.contains("hard link"), "{}", ended.stderr);
}

#[test]
fn no_workflow_works_where_a_link_of_an_agent_leads() {
    // N6: an agent put a link in the place of the folder in which the next workflow works, and that one had no sandbox.
    if !can(SandboxLevel::Write) {
        return;
    }
    let stage = TestWorkspace::new();
    for folder in [stage.workspace.join("site"), stage.path("victim")] {
        fs::create_dir(folder).unwrap();
    }
    let program = agent(&stage, "rmdir site && ln -s ../victim site");
    fs::write(
        stage.workspace.join("job.toml"),
        workflow(&program, "workspace = \".\"", "sandbox = \"write\""),
    )
    .unwrap();
    fs::write(stage.workspace.join("site.toml"), workflow(&program, "workspace = \"site\"", "")).unwrap();
    beside(&stage, &["check", "work/site.toml"]).expect(0);
    beside(&stage, &["run", "work/job.toml", "--inline"]).expect(0);
    for arguments in [&["check", "work/site.toml"][..], &["run", "work/site.toml", "--inline"]] {
        let ended = beside(&stage, arguments).expect(2);
        ended.says(&[
            "site.toml asks to work in",
            "/victim",
            "work/site on the way is a link",
            "--workspace",
        ]);
    }
    assert_eq!(fs::read_dir(stage.path("victim")).unwrap().count(), 0);
    let victim = stage.path("victim").display().to_string();
    beside(&stage, &["check", "work/site.toml", "--workspace", &victim]).expect(0);
}
