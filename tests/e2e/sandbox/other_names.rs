//! Places that agents reach by another name than their own: files with hard links elsewhere, a link in the place of a workspace.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
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

#[test]
fn a_second_name_that_an_earlier_run_made_is_held_like_the_first() {
    // N6: an agent in a strict sandbox wrote, by a hard link of an earlier run, what a role without a sandbox ran next, and read what is hidden.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let at = |name: &str| stage.workspace.join(name);
    fs::create_dir(at("tools")).unwrap();
    let text = "cat > /dev/null\necho b > b.txt\necho 'Done: b'\n";
    fs::write(at("tools/agent.sh"), text).unwrap();
    fs::write(at(".gitignore"), "build\n.env\n").unwrap();
    fs::write(at(".env"), "the secret\n").unwrap();
    stage.make_repository();
    let program = agent(&stage, "mkdir build && ln tools/agent.sh build/cache.o && ln .env build/env");
    stage.write("first.toml", workflow(&program, "", "sandbox = \"strict\""));
    stage.baton(&["run", "first.toml"]).expect(0);
    assert_eq!(fs::metadata(at("tools/agent.sh")).unwrap().nlink(), 2);
    fs::remove_file(at("a.txt")).unwrap();
    let script = "echo evil > tools/agent.sh || echo direct >> refused.txt\n\
                  echo evil > build/cache.o || echo by link >> refused.txt\n\
                  mv build away || echo moved >> refused.txt\ncat build/env .env >> got.txt";
    let program = agent(&stage, script);
    let roles = "sandbox = { level = \"strict\", hide = [\".env\"] }\n\
                 [roles.other]\nagent = \"process:sh tools/agent.sh\"";
    let next = "[[phases]]\nid = \"next\"\nrole = \"other\"\ndepends_on = [\"only\"]\n\
                objectives = [{ id = \"b\", description = \"Write b.txt.\", files = [\"b.txt\"] }]\n";
    stage.write("second.toml", workflow(&program, "", roles) + next);
    // A link is a change of the file as well.
    stage.baton(&["run", "second.toml"]).expect(2).says(&["tools/agent.sh was written or moved while run"]);
    stage.baton(&["run", "second.toml", "--accept-changes"]).expect(0);
    assert_eq!(stage.read("refused.txt"), "direct\nby link\nmoved\n");
    assert_eq!(stage.read("got.txt"), "");
    assert_eq!((stage.read("tools/agent.sh"), stage.read("b.txt")), (text.to_owned(), "b\n".to_owned()));
}

#[test]
fn a_file_with_more_names_than_can_be_held_is_an_error() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let at = |name: &str| stage.workspace.join(name);
    fs::create_dir(at(".claude")).unwrap();
    fs::create_dir(at("build")).unwrap();
    fs::write(at(".claude/settings.json"), "{}\n").unwrap();
    for number in 0..65 {
        fs::hard_link(at(".claude/settings.json"), at(&format!("build/{number}"))).unwrap();
    }
    let (root, state) = (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let tried = |level: &str| {
        let place = ["sandbox", "try", "--level", level, "--workspace", &root, "--state-dir", &state];
        stage.baton(&[&place[..], &["--", "touch", "ran"]].concat())
    };
    let ended = tried("strict");
    assert_ne!(ended.code, Some(0), "{}", ended.stderr);
    ended.says(&[".claude/settings.json", "66 names (hard links)", "mv FILE.new FILE"]);
    assert!(!at("ran").exists());
    // One that has a single name again is no matter.
    fs::copy(at(".claude/settings.json"), at("copy")).unwrap();
    fs::rename(at("copy"), at(".claude/settings.json")).unwrap();
    tried("strict").expect(0);
}
