//! Every row of bad input that needs the whole binary: a clear error or a journaled fallback, and nothing lost. What a
//! crate's own tests show in full is shown here once, from the outside.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::guests::GuestBuilder;
use crate::support::{TestWorkspace, until};
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::RunStatus;
use baton_runtime::store::StateDir;
use rustix::process::{Pid, Signal, kill_process};

/// An agent that does what it is asked.
const WORKS: &str =
    r#"{ write = "a.txt", content = "done" }, { say = "The file is written, as it was asked for." }"#;
/// The same for a second objective.
const WORKS_AGAIN: &str =
    r#"{ write = "b.txt", content = "done" }, { say = "The second file is written, as it was asked for." }"#;

// --- workflow files ---------------------------------------------------------------------------------------------------

/// A workflow of two phases with one mistake in it.
fn refused_workflow(from: &str, to: &str) -> crate::support::CommandOutput {
    let good = "name = \"w\"\ngoal = \"g\"\n[roles.executor]\nscript = \"script.toml\"\n\
                [[phases]]\nid = \"one\"\nobjectives = [{ id = \"a\", description = \"a\" }]\n\
                [[phases]]\nid = \"two\"\ndepends_on = [\"one\"]\nobjectives = [{ id = \"b\", description = \"b\" }]\n";
    let bad = good.replace(from, to);
    assert_ne!(bad, good);
    let stage = TestWorkspace::new();
    stage.write("script.toml", "window_tokens = 1000\n");
    stage.write("bad.toml", bad);
    let ended = stage.baton(&["run", "bad.toml"]).expect(2);
    assert!(!stage.state().journal().exists(), "nothing was begun");
    ended
}

#[test]
fn broken_toml() {
    refused_workflow("goal = \"g\"", "goal = \"g").says(&["bad.toml", "2"]);
}

#[test]
fn unknown_phase_in_depends_on() {
    refused_workflow("depends_on = [\"one\"]", "depends_on = [\"onne\"]").says(&["onne", "one"]);
}

#[test]
fn a_cycle_of_phases() {
    refused_workflow("id = \"one\"\n", "id = \"one\"\ndepends_on = [\"two\"]\n").says(&["one", "two"]);
}

// --- agents -----------------------------------------------------------------------------------------------------------

/// It was tried, tried again, and then a person was asked.
#[track_caller]
fn expect_question(stage: &TestWorkspace) {
    let story = stage.story();
    assert_eq!(story.view.status, RunStatus::Paused);
    assert_eq!(story.view.questions.len(), 1);
    assert!(story.view.phases[0].sessions.len() >= 2, "it was tried once more");
    stage.expect_no_process();
}

#[test]
fn a_missing_agent_binary() {
    let stage = TestWorkspace::job_of_program("exit 0");
    fs::remove_file(stage.path("agent.sh")).unwrap();
    let ended = stage.baton(&["run", "job.toml"]);
    assert!(matches!(ended.code, Some(2 | 5)), "{ended:?}");
    ended.says(&["agent.sh"]);
    stage.expect_no_process();
}

#[test]
fn an_agent_that_exits_at_once() {
    let stage = TestWorkspace::job_of_program("exit 3");
    stage.baton(&["run", "job.toml"]).expect(5);
    assert_eq!(stage.starts(), 2);
    expect_question(&stage);
}

#[test]
fn an_agent_that_prints_garbage() {
    let stage = TestWorkspace::job_of_program("head -c 100000 /dev/urandom; exit 1");
    stage.baton(&["run", "job.toml"]).expect(5);
    assert_eq!(stage.starts(), 2);
    expect_question(&stage);
}

#[test]
fn an_agent_that_prints_100_mb_on_one_line() {
    let stage = TestWorkspace::job(&[("a", &format!("{{ garbage = 100000000 }}, {WORKS}"))], "");
    stage.baton(&["run", "job.toml"]).expect(0);
    assert_eq!(stage.read("a.txt"), "done\n");
    let journal = fs::metadata(stage.state().journal()).unwrap().len();
    assert!(journal < 10_000_000, "{journal} bytes of it went into the journal");
}

// B7
#[test]
fn an_agent_that_never_answers() {
    let limits = "retries = 0\nnudges = 1\nheartbeat = \"100ms\"";
    let stage = TestWorkspace::job(&[("a", "{ hang = true }")], limits);
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let settings = "[policies]\nsettings = { stall-ms = 1000 }\n[[phases]]";
    stage.write("job.toml", workflow.replace("[[phases]]", settings));
    stage.baton(&["run", "job.toml"]).expect(5);
    let story = stage.story();
    assert!(
        story
            .count(|notice| matches!(notice, ProgressEvent::Stopped { verdict, .. } if verdict == "stalled"))
            >= 1
    );
    assert_eq!(story.view.questions.len(), 1);
    stage.expect_no_process();
}

#[test]
fn an_agent_that_ignores_sigterm() {
    let stage = TestWorkspace::job(
        &[("a", "{ ignore_sigterm = true }, { write = \"here.txt\", content = \"\" }, { hang = true }")],
        "",
    );
    let mut host = stage.start(&["run", "job.toml"]);
    until("the agent is deaf", || stage.workspace.join("here.txt").exists());
    stage.baton(&["stop"]).expect(0);
    assert_eq!(host.wait().unwrap().code(), Some(130));
    assert_eq!(stage.story().view.status, RunStatus::Ended(RunOutcome::Interrupted));
    stage.expect_no_process();
}

#[test]
fn an_agent_that_leaves_grandchildren() {
    let stage = TestWorkspace::job(&[("a", &format!("{{ spawn_grandchild = true }}, {WORKS}"))], "");
    stage.baton(&["run", "job.toml"]).expect(0);
    stage.expect_no_process();
}

#[test]
fn an_agent_whose_host_is_killed() {
    let stage = TestWorkspace::job(
        &[("a", "{ spawn_grandchild = true }, { write = \"here.txt\", content = \"\" }, { hang = true }")],
        "",
    );
    let mut host = stage.start(&["run", "job.toml"]);
    until("the agent works", || stage.workspace.join("here.txt").exists());
    host.kill().unwrap();
    host.wait().unwrap();
    stage.expect_no_process();
}

/// Nobody is left to end it but the next host, and it does so before it starts another.
#[test]
fn an_agent_whose_host_and_guard_are_killed() {
    let stage =
        TestWorkspace::job_of_program("[ -e here.txt ] && exit 3\n: > here.txt\nwhile :; do sleep 1; done");
    let mut host = stage.start(&["run", "job.toml"]);
    until("the agent works", || stage.workspace.join("here.txt").exists());
    // A host that sees its guard die ends the agent itself, so it must not see anything any more.
    kill_process(Pid::from_child(&host), Signal::STOP).unwrap();
    kill_process(stage.process("__guard"), Signal::KILL).unwrap();
    host.kill().unwrap();
    host.wait().unwrap();
    assert!(!stage.processes().is_empty(), "the orphan works on");
    stage.baton(&["resume"]).expect(5);
    assert_eq!(stage.starts(), 3, "one retry, and the question after it");
    stage.expect_no_process();
}

#[test]
fn an_agent_that_deletes_everything_it_can() {
    let stage = TestWorkspace::job(
        &[("a", &format!("{{ delete_workspace = true }}, {WORKS}")), ("b", WORKS_AGAIN)],
        "",
    );
    stage.baton(&["run", "job.toml"]).expect(0);
    assert_eq!((stage.read("a.txt"), stage.read("b.txt")), ("done\n".into(), "done\n".into()));
    let story = stage.story();
    assert_eq!(story.done().len(), 2);
    assert!(!stage.read(&format!(".baton/{}/progress.json", story.view.run)).is_empty(), "projected again");
}

/// What a successor is told to read is there again, although the session before it deleted everything.
#[test]
fn an_agent_that_deletes_the_handoffs() {
    let exhausts = |id: &str, then: &str| {
        format!(
            "{{ write = \"{id}.mark\", content = \"\" }}, {{ read = \"big\", tokens = 200000, unless = \"{id}.mark\" }}, \
             {then} {{ write = \"{id}.txt\", content = \"done\" }}, {{ say = \"The file is written, as it was asked for.\" }}"
        )
    };
    let (b, c) = (exhausts("b", "{ delete_workspace = true },"), exhausts("c", ""));
    let stage = TestWorkspace::job(&[("a", WORKS), ("b", &b), ("c", &c)], "");
    stage.baton(&["run", "job.toml"]).expect(0);
    let story = stage.story();
    assert_eq!(story.done().len(), 3);
    let handoffs = &story.view.phases[0].handoffs;
    // Two to successors, and what the phase left.
    assert_eq!(handoffs.len(), 3);
    for handoff in handoffs {
        assert!(!stage.read(&handoff.path).is_empty());
    }
    stage.expect_no_process();
}

// --- the disk and the journal -----------------------------------------------------------------------------------------

#[test]
fn a_full_disk() {
    let stage = TestWorkspace::quickstart();
    let ended = stage.baton_with(&["run", "quickstart.toml"], "BATON_JOURNAL_PAGES", "215").expect(1);
    ended.says(&["intact up to entry", "baton resume"]);
    stage.expect_no_process();
    stage.baton(&["resume"]).expect(0);
    assert_eq!(stage.story().done().len(), 8);
}

/// A finished job and the path of its journal.
fn finished_job() -> (TestWorkspace, PathBuf) {
    let stage = TestWorkspace::job(&[("a", WORKS)], "");
    stage.baton(&["run", "job.toml"]).expect(0);
    let journal = stage.state().journal();
    (stage, journal)
}

#[test]
fn a_corrupt_journal() {
    let (stage, journal) = finished_job();
    let mut bytes = fs::read(&journal).unwrap();
    for byte in bytes.iter_mut().skip(100) {
        *byte = 0xA5;
    }
    fs::write(&journal, &bytes).unwrap();
    for command in [&["status"][..], &["run", "job.toml"], &["resume"]] {
        let ended = stage.baton(command);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        ended.says(&["journal.sqlite", "--state-dir"]);
    }
    assert_eq!(fs::read(&journal).unwrap(), bytes, "it was left as it is");
}

#[test]
fn a_corrupt_journal_of_one_folder_hides_no_other_runs() {
    // N3: `baton runs --all` failed while any one folder of the state could not be read.
    let stage = TestWorkspace::new();
    let stream = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/streams/codex/success.jsonl");
    let state = stage.path("state").display().to_string();
    let baton = |arguments: &[&str]| {
        // With the state folder of this test alone: `command` adds the shared one.
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_baton"));
        command.args(arguments).args(["--state-dir", &state]).current_dir(stage.path(""));
        command
            .env_clear()
            .env("HOME", stage.path(""))
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        crate::support::CommandOutput::from(command.output().unwrap())
    };
    for folder in ["one", "two", "three"] {
        fs::create_dir(stage.path(folder)).unwrap();
        let workspace = stage.path(folder).display().to_string();
        baton(&["import", stream, "--workspace", &workspace]).expect(0);
    }
    let state_of = |folder: &str| {
        StateDir::find(&stage.path("state"), &stage.path(folder)).unwrap().expect("there is a run")
    };
    let damaged = state_of("two");
    for name in ["journal.sqlite-wal", "journal.sqlite-shm"] {
        let _ = fs::remove_file(damaged.path().join(name));
    }
    fs::write(damaged.journal(), "no database".repeat(1000)).unwrap();
    let exposed = state_of("three");
    fs::set_permissions(exposed.path(), fs::Permissions::from_mode(0o777)).unwrap();

    let two = damaged.workspace().display().to_string();
    let left_out = [format!("the runs of {two} are left out: "), exposed.path().display().to_string()];
    let left_out = left_out.each_ref().map(String::as_str);
    let table = baton(&["runs", "--all"]).expect(0).says(&left_out).stdout;
    assert_eq!(table.lines().count(), 2, "{table}");
    let lines = baton(&["runs", "--all", "--format", "jsonl"]).expect(0).says(&left_out).stdout;
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let all = baton(&["runs", "--all", "--format", "json"]).expect(0).stdout;
    let all: serde_json::Value = serde_json::from_str(&all).unwrap();
    let one = stage.path("one").canonicalize().unwrap();
    assert_eq!(all["runs"][0]["workspace"], *one.to_string_lossy(), "{all}");
    let unreadable = all["unreadable"].as_array().unwrap();
    assert_eq!((all["runs"].as_array().unwrap().len(), unreadable.len()), (1, 2), "{all}");
    let reason = unreadable.iter().find(|folder| folder["workspace"] == *two).unwrap()["reason"].as_str();
    assert!(reason.is_some_and(|reason| !reason.is_empty()), "{all}");
}

#[test]
fn a_newer_journal() {
    let (stage, journal) = finished_job();
    let newer = rusqlite::Connection::open(&journal).unwrap();
    newer.pragma_update(None, "user_version", 999).unwrap();
    drop(newer);
    for command in [&["status"][..], &["run", "job.toml"], &["resume"]] {
        let ended = stage.baton(command);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        ended.says(&["version 999", "was not touched"]);
    }
}

#[test]
fn two_hosts_on_one_workspace() {
    let stage = TestWorkspace::job(&[("a", "{ write = \"here.txt\", content = \"\" }, { hang = true }")], "");
    let mut first = stage.start(&["run", "job.toml"]);
    until("the first works", || stage.workspace.join("here.txt").exists());
    let pid = format!("process {}", first.id());
    stage.baton(&["run", "job.toml"]).expect(2).says(&[&pid, "baton stop"]);
    stage.baton(&["resume"]).expect(2).says(&[&pid]);
    stage.baton(&["stop"]).expect(0);
    assert_eq!(first.wait().unwrap().code(), Some(130));
}

#[test]
fn a_user_edits_a_file_while_an_agent_works() {
    let stage = TestWorkspace::job(&[("a", WORKS), ("b", WORKS_AGAIN)], "");
    let script = fs::read_to_string(stage.path("script.toml")).unwrap();
    stage.write("script.toml", format!("pace_ms = 300\n{script}"));
    let mut host = stage.start(&["run", "job.toml"]);
    until("the agent wrote", || stage.workspace.join("a.txt").exists());
    fs::write(stage.workspace.join("a.txt"), "user").unwrap();
    fs::write(stage.workspace.join("notes.txt"), "user").unwrap();
    assert!(host.try_wait().unwrap().is_none(), "the agent still works");
    assert_eq!(host.wait().unwrap().code(), Some(0));
    assert_eq!((stage.read("a.txt"), stage.read("notes.txt")), ("user".into(), "user".into()));
}

// --- policies ---------------------------------------------------------------------------------------------------------

/// A job whose compaction is decided by this component.
fn job_of_policy(component: &[u8]) -> TestWorkspace {
    let stage = TestWorkspace::job(&[("a", WORKS), ("b", WORKS_AGAIN)], "");
    stage.write("hostile.wasm", component);
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let policies = "[policies]\ncompaction = \"hostile.wasm\"\n[[phases]]\n";
    stage.write("job.toml", workflow.replace("[[phases]]\n", policies));
    stage
}

/// It faults when it is asked; the work goes on with the next in the chain, and people are told.
#[track_caller]
fn falls_back(guest: &GuestBuilder) {
    let stage = job_of_policy(&guest.build());
    stage.baton(&["run", "job.toml"]).expect(0);
    let story = stage.story();
    assert_eq!(story.done().len(), 2);
    assert!(story.count(|notice| matches!(notice, ProgressEvent::FellBack { .. })) >= 1);
}

/// It is refused before anything begins.
#[track_caller]
fn refused_policy(component: &[u8], says: &[&str]) {
    let stage = job_of_policy(component);
    stage.baton(&["run", "job.toml"]).expect(3).says(says);
    assert!(!stage.workspace.join("a.txt").exists());
    stage.baton(&["status"]).expect(2);
}

#[test]
fn a_policy_that_loops() {
    falls_back(&GuestBuilder::deciding("(loop $forever (br $forever)) (i32.const 0)"));
}

#[test]
fn a_policy_that_eats_memory() {
    falls_back(&GuestBuilder::deciding(
        "(loop $more (br_if $more (i32.ge_s (memory.grow (i32.const 16)) (i32.const 0)))) unreachable",
    ));
}

#[test]
fn a_policy_that_traps() {
    falls_back(&GuestBuilder::deciding("unreachable"));
}

/// Its reason begins in a memory of two pages and is said to have 100 MB.
#[test]
fn a_policy_that_returns_100_mb() {
    falls_back(&GuestBuilder::new("compaction-policy").answering(100_000_000));
}

#[test]
fn a_policy_that_imports_wasi() {
    let guest = GuestBuilder::good("ok")
        .with_package("package wasi:clocks@0.2.0; interface wall-clock { now: func() -> u64; }")
        .contract("world imports {", "world imports { import wasi:clocks/wall-clock@0.2.0;")
        .import("wall-clock", "now");
    refused_policy(&guest.build(), &["hostile.wasm", "wasi:clocks/wall-clock"]);
}

#[test]
fn a_policy_with_a_record_too_many() {
    let (from, to) = (
        "record compaction-decision {\n        action: compaction-action,",
        "record compaction-decision {\n        extra: u32,\n        action: compaction-action,",
    );
    let guest = GuestBuilder::good("ok").contract(from, to);
    refused_policy(&guest.build(), &["hostile.wasm", "compaction.decide"]);
}

#[test]
fn a_policy_that_is_no_component() {
    refused_policy(b"\x7fELF and so on", &["hostile.wasm", "native code"]);
    refused_policy(b"", &["hostile.wasm", "empty"]);
}

#[test]
fn settings_of_the_wrong_type() {
    let stage = TestWorkspace::job(&[("a", WORKS)], "");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let policies = "[policies]\nsettings = { stall-ms = \"soon\", stal-ms = 1 }\n[[phases]]\n";
    stage.write("job.toml", workflow.replace("[[phases]]\n", policies));
    let refused = stage.baton(&["run", "job.toml"]).expect(3);
    refused.says(&["`stall-ms`", "`stal-ms`: there is no such setting; did you mean"]);
    stage.baton(&["status"]).expect(2);
}

/// A run keeps the component that it began with: neither its file nor the workflow's is needed again.
#[test]
fn a_policy_whose_file_is_gone_at_the_resume() {
    let stage = job_of_policy(&GuestBuilder::good("there is room").build());
    let killed = stage.baton_with(&["run", "job.toml"], "BATON_KILL_AT", "effect-before:3");
    assert_eq!(killed.code, None, "{killed:?}");
    fs::remove_file(stage.path("hostile.wasm")).unwrap();
    fs::remove_file(stage.path("job.toml")).unwrap();
    stage.baton(&["resume"]).expect(0);
    let story = stage.story();
    assert_eq!(story.done().len(), 2);
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::FellBack { .. })), 0);
}
