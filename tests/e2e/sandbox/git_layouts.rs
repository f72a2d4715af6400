//! Repositories that do not lie in `.git` at the root of the work tree, and links that lead from what stays as it is to files of the work:
//! what git or the next agent reads and runs there stays as it is all the same.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use baton_runtime::core::workflow::SandboxLevel;

use super::can;
use crate::support::{CommandOutput, TestWorkspace};

/// A script of a shell in a strict sandbox of a folder.
fn tried(stage: &TestWorkspace, folder: &Path, script: &str) -> CommandOutput {
    let (root, state) = (folder.display().to_string(), stage.state_root().display().to_string());
    let place = ["sandbox", "try", "--level", "strict", "--workspace", &root, "--state-dir", &state];
    stage.baton(&[&place[..], &["--", "sh", "-c", script]].concat())
}

/// Tries to append to files of a folder, and to make them where they are not there. Each stays as it was, or is renamed; the control is written.
fn expect_held(stage: &TestWorkspace, folder: &Path, names: &[&str]) {
    let before: Vec<Option<Vec<u8>>> = names.iter().map(|name| fs::read(folder.join(name)).ok()).collect();
    fs::write(folder.join("free.txt"), "").unwrap();
    let script = format!(
        "for file in {} free.txt; do mkdir -p $(dirname $file); echo evil >> $file; done; true",
        names.join(" ")
    );
    let ended = tried(stage, folder, &script).expect(0).says(names);
    for (name, before) in names.iter().zip(before) {
        assert_eq!(fs::read(folder.join(name)).ok(), before, "{name}: {}", ended.stderr);
    }
    assert_eq!(fs::read_to_string(folder.join("free.txt")).unwrap(), "evil\n");
}

#[test]
fn what_links_in_hooks_and_settings_lead_to_stays_as_it_is() {
    // N6: a hook that is a link to a file of the work was written there, and the next commit of the user ran it.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let tree = &stage.workspace;
    for folder in ["scripts", "conf", "skills/one", ".claude", ".codex"] {
        fs::create_dir_all(tree.join(folder)).unwrap();
    }
    for name in ["scripts/pre-commit", "conf/claude.json", "skills/one/SKILL.md"] {
        fs::write(tree.join(name), "\n").unwrap();
    }
    stage.make_repository();
    fs::create_dir_all(tree.join(".git/hooks")).unwrap();
    for (to, at) in [
        ("../../scripts/again", ".git/hooks/pre-commit"),
        ("pre-commit", "scripts/again"),
        ("../conf/claude.json", ".claude/settings.json"),
        ("../skills", ".claude/skills"),
        // What is not there.
        ("../conf/codex.toml", ".codex/config.toml"),
    ] {
        symlink(to, tree.join(at)).unwrap();
    }
    let held = ["scripts/pre-commit", "conf/claude.json", "skills/one/SKILL.md", "conf/codex.toml"];
    expect_held(&stage, tree, &held);
    assert!(tree.join("conf/codex.toml.from-agent").exists());
}

#[test]
fn what_a_repository_above_the_tree_has_in_it_stays_as_it_is() {
    // N6: hooks, included settings and a submodule of the repository were written in the folder of it that an agent worked in.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let module = stage.path("module").display().to_string();
    stage.git(&["init", "-q", &module]);
    stage.git(&["-C", &module, "commit", "-q", "--allow-empty", "-m", "begin"]);
    let app = stage.workspace.join("app");
    fs::create_dir_all(app.join("hooks")).unwrap();
    fs::write(app.join("hooks/pre-commit"), "#!/bin/sh\n").unwrap();
    fs::write(app.join("settings"), "\n").unwrap();
    stage.make_repository();
    stage.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &module, "app/module"]);
    stage.git(&["config", "core.hooksPath", "app/hooks"]);
    stage.git(&["config", "include.path", "../app/settings"]);
    stage.git(&["config", "--add", "include.path", "../app/absent"]);
    expect_held(&stage, &app, &["hooks/pre-commit", "settings", "module/.git", "absent"]);
}

#[test]
fn linked_work_trees_and_a_repository_of_another_name_stay_as_they_are() {
    // N6: a work tree that the user has in the tree was led to a repository that an agent had made, and `git status` there ran its commands.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    stage.make_repository();
    stage.git(&["worktree", "add", "-q", ".worktrees/feature"]);
    stage.git(&["config", "core.hooksPath", ".hooks"]);
    let of_work_tree = [".worktrees/feature/.git", ".worktrees/feature/.hooks"];
    expect_held(&stage, &stage.workspace, &of_work_tree);
    // The repository lies in the tree, beside its work trees.
    let project = stage.path("project");
    let bare = project.join(".bare").display().to_string();
    stage.git(&["clone", "-q", "--bare", ".", &bare]);
    fs::write(project.join(".git"), "gitdir: ./.bare\n").unwrap();
    let main = project.join("trees/main").display().to_string();
    stage.git(&["-C", &project.display().to_string(), "worktree", "add", "-q", &main]);
    let held = [
        ".bare/config",
        ".bare/hooks/pre-commit",
        ".bare/commondir",
        ".bare/info/attributes",
        ".bare/objects/info/alternates",
        ".bare/worktrees/main/gitdir",
        ".git",
        "trees/main/.git",
    ];
    expect_held(&stage, &project, &held);
}
