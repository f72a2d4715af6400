//! The next invocation goes on by itself (D8), and beginning anew keeps what there was. And who does not look is told:
//! the notify command of a workflow.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::support::{TestWorkspace, until};
use baton_runtime::core::RunId;
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::RunStatus;
use baton_runtime::store::Journal;

const WORKS: &str =
    r#"{ write = "a.txt", content = "done" }, { say = "The file is written, as it was asked for." }"#;
const WORKS_AGAIN: &str =
    r#"{ write = "b.txt", content = "done" }, { say = "The second file is written, as it was asked for." }"#;

/// A job whose host was killed in the middle of it.
fn killed() -> TestWorkspace {
    let stage = TestWorkspace::job(&[("a", WORKS), ("b", WORKS_AGAIN)], "");
    let killed = stage.baton_with(&["run", "job.toml"], "BATON_KILL_AT", "effect-before:5");
    assert_eq!(killed.code, None, "{killed:?}");
    stage.expect_no_process();
    stage
}

// D8
#[test]
fn a_run_that_was_begun_in_the_background_is_gone_on_with() {
    // The command that launches a host is above it, and is no host itself.
    let stage = TestWorkspace::job(&[("a", "{ hang = true }")], "");
    stage.baton(&["run", "job.toml", "--background"]).expect(0);
    until("the agent works", || !stage.processes().is_empty());
    stage.baton(&["stop"]).expect(0);
    until("the host is gone", || stage.processes().is_empty() && stage.state().lock().is_ok());
    stage.baton(&["run", "job.toml", "--background"]).expect(0).says(&["found"]);
    stage.baton(&["stop"]).expect(0);
    until("the host is gone", || stage.processes().is_empty() && stage.state().lock().is_ok());
    assert_eq!(runs(&stage).len(), 1);
}

fn runs(stage: &TestWorkspace) -> Vec<RunId> {
    let journal = Journal::open_read_only(&stage.state()).unwrap();
    journal.runs().unwrap().into_iter().map(|run| run.run).collect()
}

// D8
#[test]
fn the_next_run_goes_on_where_the_last_one_was() {
    let stage = killed();
    let run = stage.story().view.run.to_string();
    let plan = stage.baton(&["run", "job.toml", "--dry-run"]).expect(0);
    assert!(!plan.stderr.contains("found"), "a dry run goes on with nothing: {}", plan.stderr);

    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    stage.write("job.toml", workflow.replace("Write b.txt.", "Write something else."));
    let ended = stage.baton(&["run", "job.toml"]).expect(0);
    ended.says(&[
        "found",
        &run,
        "unfinished",
        "has changed since",
        "keeps the version that it began with",
        "--restart",
    ]);
    assert_eq!(runs(&stage).len(), 1);
    let story = stage.story();
    assert_eq!(story.view.run.as_str(), run);
    assert_eq!(story.done().len(), 2);
    assert!(story.prompts.iter().all(|prompt| prompt.already_done.is_empty()), "{:?}", story.prompts);

    // It is over now, so there is nothing to go on with.
    let anew = stage.baton(&["run", "job.toml"]).expect(0);
    assert!(!anew.stderr.contains("found"), "{}", anew.stderr);
    assert_eq!(runs(&stage).len(), 2);
}

// D8
#[test]
fn beginning_anew_keeps_the_old_run_and_leaves_it_alone() {
    let stage = killed();
    let old = stage.story().view.run;
    stage.baton(&["run", "job.toml", "--restart"]).expect(0).says(&[
        "set aside",
        old.as_str(),
        "baton resume",
    ]);
    let new = stage.story().view.run;
    assert_ne!(old, new);

    // Not even when the run that came after it is gone is it fallen upon again.
    stage.baton(&["gc", "--run", new.as_str()]).expect(0);
    assert_eq!(runs(&stage), std::slice::from_ref(&old));
    let status = stage.baton(&["status"]).expect(0);
    assert!(status.stdout.contains("set aside"), "{}", status.stdout);
    let anew = stage.baton(&["run", "job.toml"]).expect(0);
    assert!(!anew.stderr.contains("found"), "{}", anew.stderr);
    assert_eq!(runs(&stage).len(), 2);

    let resumed = stage.baton(&["resume", old.as_str()]).expect(0);
    assert!(resumed.stdout.contains("2 of 2 objectives"), "{}", resumed.stdout);
}

// D8
#[test]
fn another_workflow_in_the_same_folder_is_not_mistaken_for_it() {
    let stage = killed();
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    stage.write("other.toml", workflow.replace("name = \"job\"", "name = \"other\""));
    let other = stage.baton(&["run", "other.toml"]).expect(0);
    assert!(!other.stderr.contains("found"), "{}", other.stderr);
    // Nor is another file that only has the same name.
    fs::create_dir(stage.path("sub")).unwrap();
    stage.write("sub/job.toml", workflow.replace("\"script.toml\"", "\"../script.toml\""));
    let other = stage.baton(&["run", "sub/job.toml"]).expect(0);
    assert!(!other.stderr.contains("found"), "{}", other.stderr);
    stage.baton(&["run", "job.toml"]).expect(0).says(&["found"]);
    assert_eq!(runs(&stage).len(), 3);
}

// D8
#[test]
fn a_run_in_a_scratch_folder_is_found_there() {
    let stage = TestWorkspace::job(&[("a", WORKS), ("b", WORKS_AGAIN)], "");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    stage.write("job.toml", format!("workspace = \"scratch\"\n{workflow}"));
    let run = |kill_at: &str, arguments: &[&str]| -> crate::support::CommandOutput {
        // Without the flags of the stage: where it works is the workflow's to say.
        let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
        command.arg("run").arg("job.toml").args(arguments).current_dir(stage.path(".")).env_clear();
        command.env("HOME", stage.path(".")).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("BATON_KILL_AT", kill_at).output().unwrap().into()
    };
    assert_eq!(run("effect-before:5", &[]).code, None);
    run("", &[]).expect(0).says(&["found", "unfinished", "scratch/job-1"]);
    assert_eq!(run("effect-before:5", &[]).code, None, "a folder of its own");
    run("", &["--restart"]).expect(0).says(&["set aside", "scratch/job-3"]);
    run("", &[]).expect(0).says(&["scratch/job-4"]);
}

/// Its agent breaks once, and nothing may be tried again without a person.
fn paused(top: &str) -> TestWorkspace {
    let steps = format!(r#"{{ write = "mark", content = "" }}, {{ exit = 1, unless = "mark" }}, {WORKS}"#);
    let stage = TestWorkspace::job(&[("a", &steps)], "retries = 0\ncontinuations = 0");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    stage.write("job.toml", workflow.replace("[[phases]]\n", &format!("{top}[[phases]]\n")));
    stage.baton(&["run", "job.toml"]).expect(5);
    stage
}

// D8
#[test]
fn a_run_that_waits_for_a_person_says_so_again() {
    let stage = paused("");
    let before = stage.story().entries;
    let waits = stage.baton(&["run", "job.toml"]).expect(5);
    assert!(waits.stdout.contains("baton answer") && waits.stdout.contains("retry"), "{}", waits.stdout);
    waits.says(&["found", "question", "waits for your answer"]);
    assert_eq!(stage.story().entries, before, "nothing was begun");
    let run = stage.story().view.run.to_string();
    let resumed = stage.baton(&["resume"]).expect(5);
    assert!(resumed.stdout.contains(&format!("baton answer {run} retry --resume")), "{}", resumed.stdout);
    assert!(!resumed.stderr.contains("run resumed"), "{}", resumed.stderr);
    resumed.says(&["waits for your answer to question", "about only", "nothing was resumed"]);
    assert_eq!(stage.story().entries, before, "nothing was begun");
    stage.baton(&["answer", &run, "retry"]).expect(0);
    stage.baton(&["run", "job.toml"]).expect(0).says(&["found"]);
    assert_eq!((runs(&stage).len(), stage.story().done().len()), (1, 1));
}

#[test]
fn a_command_is_told_once_what_a_person_wants_to_know() {
    let command =
        r#"echo \"$BATON_EVENT $BATON_RUN $BATON_PHASE\" >> told.txt; test -n \"$BATON_TEXT\" || exit 1"#;
    let stage = paused(&format!("[notify]\ncommand = \"{command}\"\nbell = true\n"));
    let run = stage.story().view.run.to_string();
    assert_eq!(stage.read("told.txt"), format!("paused {run} only\n"));
    stage.baton(&["answer", &run, "retry"]).expect(0);
    stage.baton(&["resume"]).expect(0);
    assert_eq!(stage.read("told.txt"), format!("paused {run} only\nfinished {run} \n"), "each once");
    assert_eq!(stage.story().count(|notice| matches!(notice, ProgressEvent::Paused { .. })), 1);
}

#[test]
fn a_command_that_fails_or_cannot_be_started_changes_nothing() {
    for command in ["exit 7", "/nowhere/nothing", "kill $$"] {
        let stage = TestWorkspace::job(&[("a", WORKS)], "");
        let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
        let notify = format!("[notify]\ncommand = \"{command}\"\n[[phases]]\n");
        stage.write("job.toml", workflow.replace("[[phases]]\n", &notify));
        stage.baton(&["run", "job.toml"]).expect(0);
        assert_eq!(stage.story().view.status, RunStatus::Ended(RunOutcome::Done));
    }
}

/// A phase that is over, and one whose agent hangs where there is no file `go` beside the workspace; the folder is deleted and cloned again
/// while no host is there.
fn cloned_again(killed: bool) -> TestWorkspace {
    let stage = TestWorkspace::new();
    let phase = |id: &str, objective: &str| {
        format!(
            "[[phases]]\nid = \"{id}\"\nobjectives = [{{ id = \"{objective}\", description = \"Do {objective}.\" }}]\n"
        )
    };
    let job = format!(
        "name = \"job\"\ngoal = \"Show what happens.\"\n[roles.executor]\nagent = \"process:./agent.sh\"\n\
         [limits]\nretries = 0\nbackoff = \"0s\"\n{}{}",
        phase("first", "parser"),
        phase("second", "printer")
    );
    stage.write("job.toml", job);
    stage.write("notes.txt", "as it began\n");
    let script = "#!/bin/sh\nprompt=$(cat)\ncase \"$prompt\" in\n\
                  *'Do parser'*) echo parsed > parser.txt; echo more >> notes.txt; echo 'Done: parser' ;;\n\
                  *) while [ ! -e ../go ]; do sleep 0.1; done; echo printed > printer.txt; echo 'Done: printer' ;; esac\n";
    let program = stage.write("agent.sh", script);
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    stage.make_repository();
    let origin = stage.workspace.parent().unwrap().join("origin").display().to_string();
    stage.git(&["clone", "-q", "--bare", ".", &origin]);
    let mut host = stage.start(&["run", "job.toml"]);
    until("the second phase works", || stage.has_sessions_of("second"));
    if killed {
        host.kill().unwrap();
    } else {
        stage.baton(&["stop"]).expect(0);
    }
    host.wait().unwrap();
    until("the host is gone", || stage.processes().is_empty() && stage.state().lock().is_ok());
    fs::remove_dir_all(&stage.workspace).unwrap();
    Command::new("git").args(["clone", "-q", &origin]).arg(&stage.workspace).status().unwrap();
    fs::write(stage.workspace.parent().unwrap().join("go"), "").unwrap();
    stage
}

// A11
#[test]
fn what_was_done_in_a_folder_that_was_cloned_again_is_not_done() {
    for killed in [false, true] {
        let stage = cloned_again(killed);
        let resumed = stage.baton(&["resume"]);
        assert_ne!(resumed.code, Some(0), "{}", resumed.stderr);
        resumed.says(&[
            "The work on objective parser is no longer in the folder",
            "notes.txt and 1 more file are",
        ]);
        let ended = stage.baton(&["answer", "retry", "--resume"]).expect(0);
        assert!(!ended.stderr.contains("no longer"), "{}", ended.stderr);
        assert_eq!(
            (stage.read("parser.txt"), stage.read("printer.txt")),
            ("parsed\n".into(), "printed\n".into())
        );
    }
}
