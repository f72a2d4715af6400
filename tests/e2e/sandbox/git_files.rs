//! Files of a repository by which git runs commands or talks to another place, besides its settings and hooks: remotes that no settings name,
//! what git is in the middle of, programs that settings name in the tree.

use std::fs;
use std::process::{Command, Stdio};

use baton_runtime::core::workflow::SandboxLevel;

use super::beyond_mounts::split;
use super::can;
use crate::support::{CommandOutput, TestWorkspace};

/// A command in a sandbox of the stage's folder.
fn tried(stage: &TestWorkspace, level: &str, script: &str) -> CommandOutput {
    let (root, state) = (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let place = ["sandbox", "try", "--level", level, "--workspace", &root, "--state-dir", &state];
    stage.baton(&[&place[..], &["--", "sh", "-c", script]].concat())
}

#[test]
fn a_remote_that_no_settings_name_is_not_planted() {
    // N6: `git push` of the user ran, without any sandbox, a hook of a repository that an agent had made.
    for (level, name) in [(SandboxLevel::Strict, "strict"), (SandboxLevel::Write, "write")] {
        if !can(level) {
            continue;
        }
        let stage = TestWorkspace::new();
        stage.make_repository();
        // What git makes of itself, in some versions.
        let _ = fs::remove_dir(stage.workspace.join(".git/branches"));
        let plant = "git init -q --bare .git/lfs/x.git\n\
                     printf '#!/bin/sh\\ntouch ../../../evil.txt\\n' > .git/lfs/x.git/hooks/post-receive\n\
                     chmod +x .git/lfs/x.git/hooks/post-receive\n\
                     mkdir -p .git/branches .git/remotes\n\
                     echo ./.git/lfs/x.git > .git/branches/origin\n\
                     printf 'URL: ./.git/lfs/x.git\\nPush: HEAD:refs/heads/main\\n' > .git/remotes/origin\n\
                     for folder in rebase-apply rebase-merge sequencer; do\n\
                     mkdir .git/$folder; echo x/evil > .git/$folder/strategy; done\n\
                     printf '[lfs]\\n\\turl = https://example.org\\n' > .lfsconfig; true";
        let planted = [
            ".git/branches/origin",
            ".git/remotes/origin",
            ".git/rebase-apply",
            ".git/rebase-merge",
            ".git/sequencer",
            ".lfsconfig",
        ];
        tried(&stage, name, plant).expect(0).says(&planted);
        for path in planted {
            assert!(!stage.workspace.join(path).exists(), "{name}: {path}");
        }
        let push =
            Command::new("git").arg("push").current_dir(&stage.workspace).stdin(Stdio::null()).output();
        assert!(!push.unwrap().status.success(), "{name}");
        assert!(!stage.workspace.join("evil.txt").exists(), "{name}");
    }
}

#[test]
fn what_git_is_in_the_middle_of_stays_as_it_is() {
    // N6: `git rebase --continue` runs what a list of steps says, and a program in the tree as the strategy of a merge.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    stage.make_repository();
    for folder in ["rebase-apply", "rebase-merge", "sequencer"] {
        fs::create_dir(stage.workspace.join(".git").join(folder)).unwrap();
        fs::write(stage.workspace.join(".git").join(folder).join("step"), "pick\n").unwrap();
    }
    let script = "for folder in rebase-apply rebase-merge sequencer; do\n\
                  echo 'exec touch evil' >> .git/$folder/step; echo x/evil > .git/$folder/strategy\n\
                  mv .git/$folder .git/away; done; true";
    tried(&stage, "strict", script).expect(0).says(&["rebase-merge/step", "sequencer/strategy"]);
    for folder in ["rebase-apply", "rebase-merge", "sequencer"] {
        assert_eq!(
            fs::read_to_string(stage.workspace.join(".git").join(folder).join("step")).unwrap(),
            "pick\n"
        );
        assert!(!stage.workspace.join(".git").join(folder).join("strategy").exists(), "{folder}");
    }
}

#[test]
fn a_program_that_settings_of_git_name_stays_as_it_is() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    fs::create_dir(stage.workspace.join("tools")).unwrap();
    let names = ["tools/clean.sh", "tools/diff.sh", "lint.sh"];
    for name in names {
        fs::write(stage.workspace.join(name), "cat\n").unwrap();
    }
    stage.make_repository();
    stage.git(&["config", "filter.x.clean", "sh tools/clean.sh %f"]);
    stage.git(&["config", "diff.x.textconv", "./tools/diff.sh"]);
    stage.git(&["config", "alias.lint", "!sh lint.sh"]);
    let script = "for file in tools/clean.sh tools/diff.sh lint.sh; do echo evil >> $file; done; true";
    tried(&stage, "strict", script).expect(0).says(&names);
    for name in names {
        assert_eq!(fs::read_to_string(stage.workspace.join(name)).unwrap(), "cat\n", "{name}");
    }
}

// N6: they were held only where a setting named them plainly, and in a file that is always included.
#[test]
fn files_that_settings_name_in_other_spellings_or_on_a_condition_stay() {
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    for folder in ["tools", "ci", ".githooks", ".claude"] {
        fs::create_dir(stage.workspace.join(folder)).unwrap();
    }
    let names = ["tools/clean.sh", "tools/diff.py", "tools/hook.sh", ".githooks/pre-commit"];
    for name in names {
        fs::write(stage.workspace.join(name), "cat\n").unwrap();
    }
    let hook = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh tools/hook.sh"}]}]}}"#;
    fs::write(stage.workspace.join(".claude/settings.json"), hook).unwrap();
    fs::write(stage.workspace.join("ci/hooks.ini"), "[core]\n\thooksPath = .githooks\n").unwrap();
    stage.make_repository();
    stage.git(&["config", "filter.x.clean", "cd \"$PWD/tools\" && sh clean.sh"]);
    stage.git(&["config", "diff.x.textconv", "python3 -m tools.diff"]);
    stage.git(&["config", "includeIf.onbranch:release/**.path", "../ci/hooks.ini"]);
    let script = "for file in tools/clean.sh tools/diff.py tools/hook.sh .githooks/pre-commit; do echo evil >> $file; done; true";
    tried(&stage, "strict", script).expect(0).says(&names);
    for name in names {
        assert_eq!(fs::read_to_string(stage.workspace.join(name)).unwrap(), "cat\n", "{name}");
    }
}

#[test]
fn a_part_leaves_no_list_of_steps_in_its_work_tree() {
    // N6
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    let parts = "own=$(cut -d' ' -f2 .git); mkdir $own/rebase-merge\n\
                 echo 'exec touch evil' > $own/rebase-merge/git-rebase-todo";
    split(&stage, "strict", "depends_on = [\"first\"]\n", "", parts);
    let ended = stage.baton(&["run", "job.toml", "--inline"]).expect(0);
    ended.says(&["rebase-merge (it is called rebase-merge.from-agent now)"]);
}

#[test]
fn an_agent_commits_by_the_name_of_its_user() {
    // N6: without one, git commits nothing.
    if !can(SandboxLevel::Strict) {
        return;
    }
    let stage = TestWorkspace::new();
    stage.git(&["init", "-q"]);
    stage.write(
        ".gitconfig",
        "[user]\n\tname = Ada\n\temail = ada@example.org\n[alias]\n\tl = log\n[credential]\n\thelper = store\n",
    );
    let script = "git commit -q --allow-empty -m work && git log -1 --format='%an <%ae> %cn' > author; git l; git config credential.helper";
    let said = tried(&stage, "strict", script);
    assert_eq!(stage.read("author"), "Ada <ada@example.org> Ada\n");
    said.expect(1).says(&["'l' is not a git command"]);
}
