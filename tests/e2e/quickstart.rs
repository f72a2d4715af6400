//! The main job, as a new user sees it first: the quickstart of the README over real processes, with the real policy.

use std::process::Command;
use std::time::Instant;

use crate::support::{TestWorkspace, until};
use baton_runtime::core::action::RunOutcome;
use baton_runtime::core::progress::ProgressEvent;
use baton_runtime::core::view::{PhaseSummary, RunStatus};
use rustix::process::{Pid, Signal, kill_process};

// A5 A6 A7 B1 B2 B4 B6 B8 C19 D5
#[test]
fn the_quickstart_finishes_everything_and_shows_what_it_is_for() {
    let stage = TestWorkspace::quickstart();
    let began = Instant::now();
    stage.baton(&["run", "quickstart.toml"]).expect(0);
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap();

    let story = stage.story();
    assert_eq!(story.view.status, RunStatus::Ended(RunOutcome::Done));
    let objectives: usize = story.view.phases.iter().map(|phase| phase.objectives.len()).sum();
    assert_eq!((story.view.phases.len(), objectives), (3, 8));
    assert_eq!(story.done().len(), objectives);
    assert!(story.prompts.iter().all(|prompt| prompt.already_done.is_empty()), "{:?}", story.prompts);
    for file in ["notes/inventory.md", "src/parser.sh", "src/evaluator.sh", "tests/run.sh", "docs/guide.md"] {
        assert!(!stage.read(file).is_empty());
    }

    // A warning at a high threshold, and never a stop for it.
    assert!(story.count(|notice| matches!(notice, ProgressEvent::Warned { .. })) >= 1);
    // One compaction, with its safety net written before.
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::Compacted { asked: true, .. })), 1);
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::CompactionFailed { .. })), 0);
    let run = format!(".baton/{}", story.view.run);
    assert!(!stage.read(&format!("{run}/summaries/run.md")).is_empty());

    // One exhaustion, with what the verdict rests on.
    let exhausted: Vec<_> = story
        .notices
        .iter()
        .filter_map(|notice| match notice {
            ProgressEvent::Stopped { verdict, evidence, .. } if verdict == "exhausted" => Some(evidence),
            _ => None,
        })
        .collect();
    assert!(matches!(exhausted.as_slice(), [evidence] if !evidence.is_empty()), "{exhausted:?}");

    // Continuation 1 of 3, with what remains.
    let continued: Vec<_> = story
        .notices
        .iter()
        .filter_map(|notice| match notice {
            ProgressEvent::SessionStarted { continuation: k @ 1.., of, remaining, .. } => {
                Some((*k, *of, remaining.len()))
            }
            _ => None,
        })
        .collect();
    assert!(matches!(continued.as_slice(), [(1, 3, 1..)]), "{continued:?}");

    // The handoff lies where it is said to lie, and is kept as an artifact. Its phase is over, so it has moved into the
    // archive, and names the facts that moved with it where they are now.
    let handoffs: Vec<_> = story.view.phases.iter().flat_map(|phase| &phase.handoffs).collect();
    assert!(!handoffs.is_empty());
    for handoff in handoffs {
        let text = stage.read(&handoff.path);
        let kept = stage.baton(&["artifacts", "show", &handoff.artifact.name]).expect(0);
        let facts = handoff.facts.replace("/archive/", "/");
        assert!(kept.stdout.contains(&facts) && stage.workspace.join(&handoff.facts).exists(), "{facts}");
        assert_eq!(kept.stdout.trim_end(), text.replace("/archive/", "/").trim_end());
    }
    // Every phase left one to those after it (C23).
    let closes = |phase: &PhaseSummary| phase.handoffs.iter().filter(|row| row.closes).count();
    assert!(story.view.phases.iter().all(|phase| closes(phase) == 1));

    // One wait for a provider, not counted as time.
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::QuotaWait { .. })), 1);
    let (active, waited) = (story.view.active_ms.0, story.view.quota_wait_ms.0);
    assert!(waited > 0 && active + waited <= took_ms, "{active} + {waited} of {took_ms}");

    let progress: serde_json::Value =
        serde_json::from_str(&stage.read(&format!("{run}/progress.json"))).unwrap();
    let statuses: Vec<_> =
        progress["phases"].as_array().unwrap().iter().map(|phase| &phase["status"]).collect();
    assert_eq!(statuses, ["done", "done", "done"]);
    stage.expect_no_process();
}

// C12, C20, C23: what an agent hands off is not done, and its successor gets what it wrote.
#[test]
fn the_handoff_example_is_finished_by_the_next_session() {
    let stage = TestWorkspace::example("handoff");
    let ended = stage.baton(&["run", "handoff.toml"]).expect(0);
    let story = stage.story();
    assert_eq!(story.view.status, RunStatus::Ended(RunOutcome::Done), "{}", ended.stderr);
    let focus: Vec<_> = story.prompts.iter().map(|prompt| prompt.focus[0].as_str()).collect();
    assert_eq!(focus, ["function", "cases", "cases"], "{}", ended.stderr);
    assert!(story.prompts.iter().all(|prompt| prompt.already_done.is_empty()), "{:?}", story.prompts);

    let [phase] = story.view.phases.as_slice() else { panic!("{:?}", story.view.phases) };
    let [first, second] = phase.sessions.as_slice() else { panic!("{:?}", phase.sessions) };
    assert_eq!((first.ending.as_str(), second.continuation), ("handed-off", 1));
    let percent = first.used_tokens.unwrap() * 100 / first.window_tokens.unwrap();
    assert!((80..85).contains(&percent), "{percent} %");

    // The document that the second session started from has the words of the first one.
    let handoff = phase.handoffs.iter().find(|handoff| handoff.session == first.id).unwrap();
    let document = stage.read(&handoff.path);
    for said in ["3 of 5 cases done", "check 2000 yes", "The rules of today count"] {
        assert!(document.contains(said), "{said:?} is not in:\n{document}");
    }
    assert_eq!(stage.read("tests/leap.sh").lines().filter(|line| line.starts_with("check ")).count(), 5);
}

#[test]
fn a_dry_run_shows_the_prompts_and_starts_nothing() {
    let stage = TestWorkspace::quickstart();
    let plan = stage.baton(&["run", "quickstart.toml", "--dry-run"]).expect(0);
    for shown in ["inventory", "changelog", "sh tests/run.sh", "rehearsal"] {
        assert!(plan.stdout.contains(shown), "{shown:?} is not in:\n{}", plan.stdout);
    }
    assert_eq!(std::fs::read_dir(&stage.workspace).unwrap().count(), 0);
    assert!(!stage.state().journal().exists());
}

// D8
#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let stage = TestWorkspace::quickstart();
    let script = std::fs::read_to_string(stage.path("quickstart.rehearsal.toml")).unwrap();
    stage.write("quickstart.rehearsal.toml", script.replace("pace_ms = 0", "pace_ms = 50"));
    let mut host = stage.start(&["run", "quickstart.toml"]);
    until("the second phase is at work", || stage.workspace.join("src/parser.sh").exists());
    kill_process(Pid::from_child(&host), Signal::INT).unwrap();
    assert_eq!(host.wait().unwrap().code(), Some(130));
    stage.expect_no_process();
    let story = stage.story();
    assert_eq!(story.view.status, RunStatus::Ended(RunOutcome::Interrupted));
    assert!(story.done().len() >= 2, "what was done is kept");

    stage.baton(&["resume"]).expect(0);
    let story = stage.story();
    assert_eq!(story.done().len(), 8);
    assert!(story.prompts.iter().all(|prompt| prompt.already_done.is_empty()), "{:?}", story.prompts);
}

/// Its agent breaks once, and nothing may be tried again without a person.
fn paused() -> TestWorkspace {
    let steps = r#"{ write = "mark", content = "" }, { exit = 1, unless = "mark" },
        { write = "a.txt", content = "done" }, { say = "The file is written, as it was asked for." }"#;
    let stage = TestWorkspace::job(&[("a", steps)], "retries = 0\ncontinuations = 0");
    stage.baton(&["run", "job.toml"]).expect(5);
    assert_eq!(stage.story().view.status, RunStatus::Paused);
    stage
}

#[test]
fn a_paused_run_goes_on_after_an_answer() {
    let stage = paused();
    let run = stage.story().view.run.to_string();
    stage.baton(&["answer", &run, "raise"]).expect(2).says(&["`retry`"]);
    let answered = stage.baton(&["answer", &run, "retry", "--format", "json"]).expect(0).stdout;
    let answered: serde_json::Value = serde_json::from_str(&answered).unwrap();
    assert_eq!((&answered["record"], &answered["choice"]), (&"answer".into(), &"retry".into()), "{answered}");
    stage.baton(&["answer", &run, "retry"]).expect(2).says(&["has no open question"]);
    stage.baton(&["resume"]).expect(0);
    assert_eq!(stage.read("a.txt"), "done\n");
    let story = stage.story();
    assert_eq!(story.view.status, RunStatus::Ended(RunOutcome::Done));
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::Answered { .. })), 1);
}

#[test]
fn an_answer_can_end_the_run() {
    let stage = paused();
    let run = stage.story().view.run.to_string();
    stage.baton(&["answer", &run, "stop"]).expect(0);
    assert_eq!(stage.story().view.status, RunStatus::Ended(RunOutcome::Unfinished));
    // Nobody comes after it: the files in the workspace tell so by then.
    let progress = stage.read(&format!(".baton/{run}/progress.json"));
    assert!(!progress.contains("\"paused\""), "{progress}");
    stage.baton(&["resume"]).expect(2).says(&["is over"]);
}

#[test]
fn an_answer_that_ends_the_run_is_not_mistaken_for_an_error() {
    let stage = paused();
    let run = stage.story().view.run.to_string();
    let ended = stage.baton(&["answer", &run, "skip", "--resume"]).expect(1);
    assert!(ended.stdout.contains("unfinished") && ended.stderr.is_empty(), "{}", ended.stderr);
}

#[test]
fn a_live_host_is_asked_answered_and_stopped() {
    let stage = paused();
    let workflow = std::fs::read_to_string(stage.path("job.toml")).unwrap();
    let second =
        "[[phases]]\nid = \"other\"\ndepends_on = []\nobjectives = [{ id = \"b\", description = \"b\" }]\n";
    stage.write("job.toml", workflow + second);
    let script = std::fs::read_to_string(stage.path("script.toml")).unwrap();
    stage.write(
        "script.toml",
        script + "[objectives.b]\nsteps = [{ write = \"here\", content = \"\" }, { hang = true }]\n",
    );
    std::fs::remove_file(stage.workspace.join("mark")).unwrap();

    let mut host = stage.start(&["run", "job.toml", "--restart"]);
    until("the second phase works", || stage.workspace.join("here").exists());
    let run = stage.story().view.run.to_string();
    assert_eq!(stage.story().view.questions.len(), 1);
    stage.baton(&["answer", &run, "skip"]).expect(0);
    until("the answer is journaled", || stage.story().view.questions.is_empty());
    let stopping = stage.baton(&["stop", "--format", "json"]).expect(0).stdout;
    let stopping: serde_json::Value = serde_json::from_str(&stopping).unwrap();
    assert_eq!((&stopping["record"], stopping["run"].as_str()), (&"stop".into(), Some(run.as_str())));
    assert_eq!(host.wait().unwrap().code(), Some(130));
    assert_eq!(stage.story().view.status, RunStatus::Ended(RunOutcome::Interrupted));
    stage.expect_no_process();
    // What was known of the phase at work is in the workspace (C23).
    let view = stage.story().view;
    let left = view.phases.iter().find(|phase| phase.id.as_str() == "other").unwrap();
    let document = stage.read(&left.handoffs[0].path);
    assert!(document.contains("the run was stopped while") && document.contains("- [ ] b"), "{document}");
    stage.baton(&["stop"]).expect(2).says(&["no run is active"]);
}

#[test]
fn status_and_version_never_start_the_policy_engine() {
    let write =
        r#"{ write = "a.txt", content = "done" }, { say = "The file is written, as it was asked for." }"#;
    let stage = TestWorkspace::job(&[("a", write)], "");
    stage.baton(&["run", "job.toml"]).expect(0);
    // An engine reserves gigabytes of addresses for its pool, so with one there is none.
    let with_few_addresses = |arguments: &[&str]| {
        let baton = stage.command(arguments);
        Command::new("sh")
            .args(["-c", "ulimit -v 1000000; exec \"$0\" \"$@\""])
            .arg(baton.get_program())
            .args(baton.get_args())
            .current_dir(stage.path("."))
            .env_clear()
            .envs(baton.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .output()
            .unwrap()
    };
    assert!(with_few_addresses(&["status"]).status.success());
    assert!(with_few_addresses(&["--version"]).status.success());
    assert!(!with_few_addresses(&["policy", "inspect"]).status.success(), "the limit would tell");
}
