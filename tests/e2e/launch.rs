//! Runs that work by themselves, and looking on (A9): a host of its own session, its log, `baton attach` from any number of
//! terminals, and what is said where it cannot begin. Splitting and work trees are other suites'.

use std::fs::{self, File};
use std::process::{Child, Stdio};

use crate::support::{CommandOutput, TestWorkspace, until};
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::view::RunStatus;
use rustix::process::{Pid, Signal, getsid, kill_process};
use serde_json::Value;

const WORKS: &str =
    r#"{ write = "a.txt", content = "done" }, { say = "The file is written, as it was asked for." }"#;
/// It says that it is there, and then nothing more.
const HANGS: &str = r#"{ write = "here.txt", content = "" }, { hang = true }"#;

fn json(ended: &CommandOutput) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stdout))
}

/// A run that works by itself until it is stopped.
fn launched() -> (TestWorkspace, Value) {
    let stage = TestWorkspace::job(&[("a", HANGS)], "");
    let record = json(&stage.baton(&["run", "job.toml", "--fresh", "--format", "json"]).expect(0));
    until("the agent works", || stage.workspace.join("here.txt").exists());
    (stage, record)
}

fn stop(stage: &TestWorkspace) {
    stage.baton(&["stop"]).expect(0);
    until("the run is stopped", || {
        stage.story().view.status == RunStatus::Ended(RunOutcome::Interrupted) && stage.processes().is_empty()
    });
}

fn ended(child: Child) -> CommandOutput {
    child.wait_with_output().unwrap().into()
}

// A9
#[test]
fn a_fresh_run_works_in_a_session_of_its_own_and_can_be_stopped() {
    let (stage, record) = launched();
    let run = stage.story().view.run.to_string();
    assert_eq!((&record["record"], &record["schema"]), (&"launched".into(), &1.into()));
    assert_eq!(record["run"], Value::from(run.as_str()), "it was in the journal when it was said");
    let process = Pid::from_raw(i32::try_from(record["process"].as_i64().unwrap()).unwrap()).unwrap();
    assert_eq!(getsid(Some(process)).unwrap(), process);
    let log = record["log"].as_str().unwrap();
    assert!(log.ends_with(&format!("sessions/{run}/host.log")), "{log}");
    until("the log tells of the agent", || fs::read_to_string(log).unwrap().contains("here.txt"));
    stage.baton(&["run", "job.toml", "--fresh"]).expect(2).says(&["another baton", "baton attach"]);
    stop(&stage);
    until("the report is in the log", || fs::read_to_string(log).unwrap().contains("baton resume"));
}

// A9
#[test]
fn the_mode_says_where_a_run_works_and_flags_win() {
    let stage = TestWorkspace::job(&[("a", WORKS)], "");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let says = |mode: &str, flag: &str, by_itself: bool| {
        stage.write("job.toml", format!("mode = \"{mode}\"\n{workflow}"));
        let arguments = ["run", "job.toml", flag];
        let ran = stage.baton(if flag.is_empty() { &arguments[..2] } else { &arguments }).expect(0);
        until("the run is over", || {
            let ended = stage.story().view.status == RunStatus::Ended(RunOutcome::Done);
            // Its last entry comes before its last word: the host is gone when nobody holds the workspace.
            ended && stage.processes().is_empty() && stage.state().lock().is_ok()
        });
        assert_eq!(
            ran.stdout.contains("works in the background"),
            by_itself,
            "{mode} {flag}: {}",
            ran.stdout
        );
    };
    says("swarm", "", true);
    says("thorough", "", true);
    says("swarm", "--inline", false);
    says("eco", "", false);
    says("turbo", "--isolated", true);
    let plan = stage.baton(&["run", "job.toml", "--fresh", "--dry-run"]).expect(0);
    assert!(plan.stdout.contains("works in the background"), "{}", plan.stdout);
}

#[test]
fn what_keeps_a_launched_host_from_beginning_is_said_here() {
    let stage = TestWorkspace::job(&[("a", WORKS)], "");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let policies = "[policies]\nsettings = { stall-ms = \"soon\" }\n[[phases]]\n";
    stage.write("job.toml", workflow.replace("[[phases]]\n", policies));
    stage.baton(&["run", "job.toml", "--fresh"]).expect(3).says(&["`stall-ms`"]);
    assert!(!stage.has_run());
    let left: Vec<_> = fs::read_dir(stage.state().path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("launch-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

// A9, N6: the host read workflow and settings once more, so that it began what the command had not looked at.
#[test]
fn what_is_written_after_a_command_has_read_it_changes_nothing_of_its_run() {
    let stage = TestWorkspace::job(&[("a", WORKS)], "");
    let baton = stage.command(&["run", "job.toml", "--background", "--format", "json"]);
    // Its log is a pipe: the command waits for a reader when it has resolved the run, and before it starts the host.
    let mut command = stage.program_beside(&baton, "/bin/sh");
    command.args(["-c", "mkfifo \"$0/launch-$$.log\" && exec \"$@\""]).arg(stage.state().path());
    command.arg(baton.get_program()).args(baton.get_args());
    let launching = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let name = format!("/proc/{}/comm", launching.id());
    until("the run is resolved", || {
        fs::read_to_string(&name).is_ok_and(|name| name.trim_end() == "baton/launcher")
    });
    stage.write("job.toml", "agent = \"process:sh evil.sh\"\n[[phases]]\ndo = \"Something else\"\n");
    fs::write(stage.workspace.join("baton.toml"), "[policies]\nsettings = { stall-ms = \"soon\" }\n")
        .unwrap();
    let log = File::open(stage.state().path().join(format!("launch-{}.log", launching.id()))).unwrap();
    let record = json(&ended(launching).expect(0));
    until("the run is over", || {
        stage.story().view.status == RunStatus::Ended(RunOutcome::Done)
            && stage.processes().is_empty()
            && stage.state().lock().is_ok()
    });
    drop(log);
    let view = stage.story().view;
    assert_eq!((record["run"].as_str(), view.workflow.as_str()), (Some(view.run.as_str()), "job"));
    assert_eq!((view.objectives(), stage.read("a.txt").as_str()), ((1, 1), "done\n"));
}

#[test]
fn a_host_that_no_command_launches_begins_nothing() {
    let stage = TestWorkspace::job(&[("a", WORKS)], "");
    for command in ["run", "do", "resume"] {
        let typed = stage.baton(&[command, "job.toml", "--as-host", "own.log"]);
        typed.expect(2).says(&["--as-host is for the host"]);
    }
    assert!(!stage.has_run());
}

#[test]
fn many_look_on_and_leaving_stops_nothing() {
    let (stage, _) = launched();
    let run = stage.story().view.run.to_string();
    let leaves = stage.start(&["attach", "--format", "jsonl"]);
    let stays = stage.start(&["attach", &run]);
    // Both have their signals and their view before one of them is told to leave.
    until("both look on", || [&leaves, &stays].iter().all(|child| stage.handles_interrupts(child.id())));
    kill_process(Pid::from_child(&leaves), Signal::INT).unwrap();
    let left = ended(leaves).expect(0).says(&["continues", "baton attach"]);
    let records: Vec<Value> = left.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(records.iter().any(|record| record["told"]["notice"] == "session-started"), "{records:?}");
    assert_eq!(records.last().unwrap()["live"], true);
    assert_eq!(stage.story().view.status, RunStatus::Running);

    stop(&stage);
    let seen = ended(stays).expect(130);
    assert!(seen.stderr.contains("agent") && seen.stdout.contains("baton resume"), "{seen:?}");
}

#[test]
fn who_looks_on_too_late_gets_the_report() {
    let stage = TestWorkspace::job(&[("a", WORKS)], "");
    stage.baton(&["attach"]).expect(2).says(&["nothing has run"]);
    stage.baton(&["run", "job.toml"]).expect(0);
    let report = stage.baton(&["attach"]).expect(0);
    assert!(
        report.stdout.contains("1 of 1 objective") && report.stderr.contains("every objective"),
        "{report:?}"
    );

    let (stage, record) = launched();
    let host = i32::try_from(record["process"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(host).unwrap(), Signal::KILL).unwrap();
    stage.expect_no_process();
    let found = stage.baton(&["attach", "--format", "json"]).expect(130);
    assert_eq!(json(&found)["record"], "run");
    let found = stage.baton(&["attach"]).expect(130);
    assert!(found.stdout.contains("Baton is not running: `baton resume"), "{}", found.stdout);
}
