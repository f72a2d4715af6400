//! A folder that was restored after a crash: what an agent had only reported by then, what an earlier walk of a loop had left, and what parts
//! in one folder had done is not called done (A11).

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::{TestWorkspace, until};

/// A run whose agent is a shell script: `$prompt` is what it was asked for, and `hang` waits until the run is resumed.
struct KilledRun {
    stage: TestWorkspace,
}

fn sh(stage: &TestWorkspace, command: &str) {
    let done = Command::new("sh")
        .args(["-ec", command])
        .current_dir(&stage.workspace)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs([("GIT_AUTHOR_NAME", "t"), ("GIT_COMMITTER_NAME", "t")])
        .envs([("GIT_AUTHOR_EMAIL", "t@example.org"), ("GIT_COMMITTER_EMAIL", "t@example.org")])
        .status()
        .unwrap();
    assert!(done.success(), "{command}");
}

impl KilledRun {
    /// Works until the script hangs, and kills the host. `head` is of the workflow, before its first table.
    fn new(is_repository: bool, head: &str, phases: &str, cases: &str) -> Self {
        let stage = TestWorkspace::new();
        sh(&stage, "echo old > f.txt; echo read > README");
        if is_repository {
            sh(&stage, "git init -q -b main; git add -A; git commit -qm begin");
        }
        stage.write(
            "job.toml",
            format!(
                "name = \"job\"\ngoal = \"Show what happens.\"\n{head}\n[roles.executor]\nagent = \"process:./agent.sh\"\n\
                 [limits]\nbackoff = \"0s\"\n{phases}"
            ),
        );
        let (go, hangs) = (stage.path("go").display().to_string(), stage.path("hangs").display().to_string());
        let prompts = stage.path("prompts").display().to_string();
        let program = stage.write(
            "agent.sh",
            format!(
                "#!/bin/sh\nprompt=$(cat)\nprintf '%s\\n' \"$prompt\" | grep -o 'Do [a-z0-9]*\\.' | head -1 >> '{prompts}'\n\
                 hang() {{ : > '{hangs}'; while [ ! -e '{go}' ]; do sleep 0.1; done; }}\n\
                 case \"$prompt\" in\n{cases}esac\n"
            ),
        );
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
        let mut host = stage.start(&["run", "job.toml"]);
        until("the agent hangs", || stage.path("hangs").exists());
        host.kill().unwrap();
        host.wait().unwrap();
        until("the host is gone", || stage.processes().is_empty() && stage.state().lock().is_ok());
        Self { stage }
    }

    fn prompts_for(&self, objective: &str) -> usize {
        let asked = fs::read_to_string(self.stage.path("prompts")).unwrap();
        asked.lines().filter(|line| *line == format!("Do {objective}.")).count()
    }
}

/// The agent writes `new.txt`, reports that it is done, and is still in its prompt when the host is killed.
fn reported() -> KilledRun {
    let phases = "[[phases]]\nid = \"one\"\nobjectives = [{ id = \"first\", description = \"Do first.\" }]\n\
                  [[phases]]\nid = \"two\"\nobjectives = [{ id = \"second\", description = \"Do second.\" }]\n";
    let cases = "*'Do first.'*)\n\
                 echo work > new.txt\n\
                 if [ ! -e ../again ]; then : > ../again; inbox=$(ls -d .baton/*/inbox | head -1)\n\
                 echo '{\"report\":\"objective-update\",\"objective\":\"first\",\"status\":\"done\",\"note\":\"\"}' > $inbox/r.tmp\n\
                 mv $inbox/r.tmp $inbox/r.json; hang; fi\n\
                 echo 'Done: first' ;;\n\
                 *) echo more > more.txt; echo 'Done: second' ;;\n";
    KilledRun::new(true, "", phases, cases)
}

// A11
#[test]
fn what_was_only_reported_is_not_done_once_its_files_are_gone() {
    for (restore, prompts) in [("git stash -qu", 2), (":", 1)] {
        let run = reported();
        sh(&run.stage, restore);
        run.stage.write("go", "");
        run.stage.baton(&["resume"]).expect(0);
        assert_eq!(run.stage.read("new.txt"), "work\n", "{restore}");
        assert_eq!(run.prompts_for("first"), prompts, "{restore}");
    }
}

// A11, B10
#[test]
fn what_an_earlier_walk_of_a_loop_left_and_is_gone_is_asked_about() {
    let phases = "[[phases]]\nid = \"plan\"\nobjectives = [{ id = \"first\", description = \"Do first.\" }]\n\
                  [[phases]]\nid = \"check\"\nverify = \"test -e g.txt\"\nrepeat = { from = \"plan\", at_most = 3 }\n\
                  objectives = [{ id = \"second\", description = \"Do second.\" }]\n\
                  [[phases]]\nid = \"last\"\nobjectives = [{ id = \"third\", description = \"Do third.\" }]\n";
    let cases = "*'Do first.'*)\n\
                 if [ -e ../again ]; then echo g > g.txt; else : > ../again; echo work > f.txt; echo work > new.txt; fi\n\
                 echo 'Done: first' ;;\n\
                 *'Do second.'*) echo k >> k.txt; echo 'Done: second' ;;\n\
                 *) hang; echo b > b.txt; echo 'Done: third' ;;\n";
    for restore in ["git checkout -q f.txt", "rm new.txt"] {
        let run = KilledRun::new(true, "", phases, cases);
        sh(&run.stage, restore);
        run.stage.write("go", "");
        let resumed = run.stage.baton(&["resume"]);
        let words = "The work on objective first is no longer in the folder";
        assert!(resumed.stderr.contains(words), "{restore}: {}", resumed.stderr);
        assert_ne!(resumed.code, Some(0), "{restore}: {}", resumed.stderr);
    }
    let run = KilledRun::new(true, "", phases, cases);
    run.stage.write("go", "");
    run.stage.baton(&["resume"]).expect(0);
}

// A11, C11
#[test]
fn what_parts_in_one_folder_did_and_is_gone_is_done_again() {
    let parts: Vec<String> = (0..4).map(|n| format!("part{n}")).collect();
    let objectives: Vec<String> =
        parts.iter().map(|id| format!("{{ id = \"{id}\", description = \"Do {id}.\" }}")).collect();
    let phases =
        format!("[[phases]]\nid = \"one\"\nsplit = \"ahead\"\nobjectives = [{}]\n", objectives.join(", "));
    let of_parts: String = parts
        .iter()
        .map(|id| {
            let first = if id == "part3" { "if [ ! -e ../go ]; then hang; fi; " } else { "" };
            format!("*'Do {id}.'*) {first}echo work > {id}.txt; echo 'Done: {id}' ;;\n")
        })
        .collect();
    let cases = format!("{of_parts}*) echo all > all.txt; echo 'Done' ;;\n");
    let run = KilledRun::new(false, "review_parts = false", &phases, &cases);
    assert_eq!(run.stage.read("part0.txt"), "work\n");
    sh(&run.stage, "rm part*.txt");
    run.stage.write("go", "");
    run.stage.baton(&["resume"]).expect(0);
    for id in &parts {
        assert_eq!(run.stage.read(&format!("{id}.txt")), "work\n");
    }
}
