//! What a run leaves in its workspace, read without Baton: whole files of their schemas, a script that runs, and after a kill
//! at any moment one file that says what is done, what is open and what comes next.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::support::TestWorkspace;
use baton_runtime::core::observation::ObjectiveStatus;
use baton_runtime::core::view::{RunStatus, RunView};
use baton_runtime::core::workflow::SandboxLevel;
use baton_runtime::core::workflow::file;
use baton_runtime::core::{ActionId, Input, ObjectiveId, Run, RunId};
use baton_runtime::store::{Journal, JournalEntry};
use baton_runtime::{PhaseProgress, Progress, ReturnStatus, SessionResult, WorkItems, progress_of};
use serde::de::DeserializeOwned;

/// Moments at which a run is killed; more with `BATON_KILL_SAMPLES=n`.
const SAMPLES: u64 = 10;
/// The same where agents are confined: each takes longer.
const CONFINED_SAMPLES: u64 = 4;
/// Where the moments begin; the same in every run of this test.
const SEED: u64 = 4;
/// Objectives of the quickstart.
const OBJECTIVES: usize = 8;

fn task_folder(stage: &TestWorkspace, run: &RunId) -> PathBuf {
    stage.workspace.join(".baton").join(run.as_str())
}

#[track_caller]
fn json<T: DeserializeOwned>(folder: &std::path::Path, name: &str) -> T {
    let text = fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"))
}

fn sh(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new("sh").args(arguments).current_dir("/").output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

// A7 C1 C2 C5 C10 C15 C16 C17 C19 C21
#[test]
fn every_file_of_a_finished_run_is_read_without_baton() {
    let stage = TestWorkspace::quickstart();
    stage.baton(&["run", "quickstart.toml"]).expect(0);
    let view = stage.story().view;
    let folder = task_folder(&stage, &view.run);

    let progress: Progress = json(&folder, "progress.json");
    assert_eq!((progress.done.len(), progress.open.len()), (OBJECTIVES, 0));
    assert_eq!(progress.next_action, "Nothing: every phase is over.");
    let items: WorkItems = json(&folder, "work-items.json");
    assert!(items.items.len() > OBJECTIVES && items.items.iter().all(|item| item.passes));

    let sessions: Vec<_> = view.phases.iter().flat_map(|phase| &phase.sessions).collect();
    for session in &sessions {
        let returned: SessionResult = json(&folder, &format!("returns/{}.json", session.id));
        match session.ending.as_str() {
            "exhausted" => {
                assert_eq!(returned.status, ReturnStatus::Partial);
                assert_eq!(returned.errors[0].kind, "context_exhaustion");
                let handoff = returned.partial_progress.unwrap().handoff_path.expect("a handoff");
                assert!(stage.workspace.join(&handoff).exists(), "{handoff} is where it is said to be");
            }
            _ => assert_eq!(returned.status, ReturnStatus::Completed, "{session:?}"),
        }
    }
    assert!(sessions.iter().any(|session| session.ending == "exhausted"));
    let newest: SessionResult = json(&folder, ".return-meta.json");
    assert_eq!(newest.session, sessions.last().unwrap().id);

    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert!(read("README.md").contains("progress.json"));
    assert!(read("progress.log").lines().count() > OBJECTIVES);
    let org = read("state.org");
    assert!(org.contains(":CONTINUATION: 1 of 3\n") && org.contains(":PREVIOUS_AGENT: s2"), "{org}");
    assert!(org.contains("** Step build: ") && org.contains("- [x] evaluator: "), "{org}");
    let build: PhaseProgress = json(&folder, "progress/phase-build-progress.json");
    assert!(progress.phases.contains(&build) && build.completed_at.is_some());
    assert!(read("index.md").contains("Next: "));
    assert!(read("phases/phase-build-results.md").contains("Status: completed"));
    assert!(
        read("summaries/phase-survey.md").contains("## Next steps")
            || folder.join("summaries/run.md").exists()
    );

    // Its phase is over, so the handoff is archived, and everybody says so.
    for handoff in view.phases.iter().flat_map(|phase| &phase.handoffs) {
        assert!(handoff.path.contains("/handoffs/archive/phase-"), "{}", handoff.path);
        assert!(stage.workspace.join(&handoff.path).exists());
    }
    let open: Vec<_> = fs::read_dir(folder.join("handoffs")).unwrap().flatten().collect();
    assert_eq!(open.len(), 1, "the archive alone: {open:?}");

    let script = folder.join("init.sh").display().to_string();
    assert_eq!(sh(&["-n", &script]).0, Some(0));
    let (code, shown) = sh(&[&script]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        shown.contains("== 2. What has happened") && shown.contains("Nothing: every phase is over."),
        "{shown}"
    );
}

#[test]
fn schemas_are_printed_for_every_file_that_programs_read() {
    let stage = TestWorkspace::new();
    for (of, key) in [("progress", "next_action"), ("work-items", "items"), ("return", "partial_progress")] {
        let schema = stage.baton(&["schema", "--of", of]).expect(0);
        let schema: serde_json::Value = serde_json::from_str(&schema.stdout).unwrap();
        assert!(schema["properties"].get(key).is_some(), "{of}: {schema}");
    }
    let workflow: serde_json::Value =
        serde_json::from_str(&stage.baton(&["schema"]).expect(0).stdout).unwrap();
    assert_eq!(workflow, file::schema());
}

// C15 C1
#[test]
fn paths_and_setup_are_the_ones_of_the_workflow() {
    let steps =
        r#"{ write = "a.txt", content = "done" }, { say = "The file is written, as it was asked for." }"#;
    let stage = TestWorkspace::job(&[("a", steps)], "");
    let workflow = fs::read_to_string(stage.path("job.toml")).unwrap();
    let keys = "setup = [\"echo ready > ready.txt\"]\n[paths]\nfolder = \"specs/{workflow}-{run}\"\nindex = \"START.md\"\n";
    let workflow = workflow.replace("[roles.executor]", &format!("{keys}[roles.executor]"));
    stage.write("job.toml", &workflow);
    stage.baton(&["check", "job.toml"]).expect(0).says(&[
        "git does not ignore",
        "specs/{workflow}-{run}",
        "echo ready",
    ]);
    let plan = stage.baton(&["run", "job.toml", "--dry-run"]).expect(0);
    assert!(plan.stdout.contains("setup      echo ready > ready.txt"), "{}", plan.stdout);

    stage.baton(&["run", "job.toml"]).expect(0);
    let view = stage.story().view;
    let folder = stage.workspace.join(format!("specs/job-{}", view.run));
    assert!(folder.join("START.md").exists() && !stage.workspace.join(".baton").exists());
    assert!(!stage.workspace.join("ready.txt").exists(), "Baton itself sets nothing up");
    assert_eq!(sh(&[&folder.join("init.sh").display().to_string()]).0, Some(0));
    assert_eq!(stage.read("ready.txt"), "ready\n");

    // The next run would write over what is not Baton's.
    stage.write("job.toml", workflow.replace("specs/{workflow}-{run}", "docs"));
    fs::create_dir(stage.workspace.join("docs")).unwrap();
    fs::write(stage.workspace.join("docs/README.md"), "mine").unwrap();
    stage.baton(&["run", "job.toml"]).expect(2).says(&["docs", "[paths]"]);
    assert_eq!(stage.read("docs/README.md"), "mine");
}

#[test]
fn an_agent_that_is_not_there_is_asked_about_at_once() {
    let stage = TestWorkspace::job_of_program("exit 0");
    fs::remove_file(stage.path("agent.sh")).unwrap();
    let ended = stage.baton(&["run", "job.toml"]).expect(5);
    let view = stage.story().view;
    assert_eq!(view.phases[0].sessions.len(), 1, "trying again could not help");
    let question = &view.questions[0].text;
    assert!(question.contains("agent.sh") && question.contains("`agent` in [roles.executor]"), "{question}");
    let next = format!("baton answer {} retry|skip|stop --resume", view.run);
    assert!(ended.stdout.contains(&next), "{}", ended.stdout);
    let folder = task_folder(&stage, &view.run);
    let progress: Progress = json(&folder, "progress.json");
    assert!(progress.next_action.contains(&next), "{}", progress.next_action);
    let returned: SessionResult = json(&folder, ".return-meta.json");
    assert_eq!((returned.status, returned.errors[0].recoverable), (ReturnStatus::Failed, false));
}

// --- killed at a random point -----------------------------------------------------------------------------------------

/// A stream of numbers that is the same every time.
struct LcgRng(u64);

impl LcgRng {
    fn below(&mut self, bound: u64) -> u64 {
        // The multiplier and increment of Knuth's MMIX; the high bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Kills a run at a moment; false where it came to its end before.
fn kill(stage: &TestWorkspace, flags: &[&str], numbers: &mut LcgRng) -> (String, bool) {
    let run = [&["run", "quickstart.toml"], flags].concat();
    let point = match numbers.below(5) {
        // Any moment of the clock: within a write as well as between two.
        0 => {
            let after = Duration::from_millis(300 + numbers.below(2_500));
            let mut host = stage.start(&run);
            std::thread::sleep(after);
            host.kill().unwrap();
            let status = host.wait().unwrap();
            stage.expect_no_process();
            return (format!("after {after:?}"), status.code().is_none());
        }
        1 => format!("commit:{}", 1 + numbers.below(90)),
        2 => format!("before-commit:{}", 1 + numbers.below(90)),
        3 => format!("effect-before:{}", 1 + numbers.below(50)),
        _ => format!("effect-after:{}", 1 + numbers.below(50)),
    };
    let ended = stage.baton_with(&run, "BATON_KILL_AT", &point);
    stage.expect_no_process();
    (point, ended.code.is_none())
}

fn done(view: &RunView) -> BTreeSet<ObjectiveId> {
    let objectives = view.phases.iter().flat_map(|phase| &phase.objectives);
    let done = objectives.filter(|objective| objective.status == ObjectiveStatus::Done);
    done.map(|objective| objective.id.clone()).collect()
}

/// Holds the file in the workspace against the journal.
fn compare(stage: &TestWorkspace, point: &str) {
    let journal = Journal::open_read_only(&stage.state()).unwrap();
    let run = journal.latest().unwrap().expect("a run").run;
    let entries: Vec<JournalEntry> = journal.read(&run).unwrap().map(Result::unwrap).collect();
    let path = task_folder(stage, &run).join("progress.json");
    let Ok(text) = fs::read_to_string(&path) else {
        // Killed between the first commit and its projection: nothing has been performed.
        let performed = |entry: &JournalEntry| matches!(entry, JournalEntry::Input(s) if matches!(s.input, Input::Outcome { .. }));
        assert!(!entries.iter().any(performed), "{point}: work was done, and no file tells of it");
        return;
    };
    let file: Progress =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{point}: {error}\n{text}"));

    // Never ahead: it is what the journal tells up to one of its entries, to the letter.
    let told = |entry: &JournalEntry| entry.seq() <= file.journal_seq;
    let prefix: Vec<JournalEntry> = entries.iter().filter(|entry| told(entry)).cloned().collect();
    assert_eq!(progress_of(prefix).as_ref(), Some(&file), "{point}: the file is not what the journal tells");

    // Behind by at most the last commit: nothing that follows from an entry it does not tell of has been performed.
    let (mut folded, mut untold) = (Run::new(), BTreeSet::<ActionId>::new());
    for entry in &entries {
        let JournalEntry::Input(stamped) = entry else { continue };
        if let Input::Outcome { action, .. } = &stamped.input {
            assert!(
                !untold.contains(action),
                "{point}: {action} was performed, and the file does not tell why"
            );
        }
        for intent in folded.apply(stamped).unwrap() {
            if !told(entry) && intent.action.is_durable() {
                untold.insert(intent.id);
            }
        }
    }

    // What people see of the journal says the same.
    let status = stage.baton(&["status", "--format", "json"]).expect(0);
    let shown: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    let view: RunView = serde_json::from_value(shown.get("view").unwrap_or(&shown).clone()).unwrap();
    let by_journal = done(&view);
    let by_file: BTreeSet<ObjectiveId> = file.done.iter().cloned().collect();
    assert!(by_file.is_subset(&by_journal), "{point}: {by_file:?} is called done; {by_journal:?} is");
    assert_eq!(by_file.len() + file.open.len(), OBJECTIVES, "{point}");
    // The host died before it performed anything of the commit, which had been shown by then.
    if point.starts_with("effect-before") {
        assert_eq!(by_file, by_journal, "{point}");
    }
    match file.open.first() {
        Some(open) => assert!(
            file.next_action.starts_with(&format!("Work on {open} ")) && !by_file.contains(open),
            "{point}: {}",
            file.next_action
        ),
        None => assert!(file.next_action.starts_with("Verify") || file.next_action.starts_with("Nothing")),
    }
    assert_eq!(file.resume, format!("baton resume {run}"));
}

// D8
#[test]
fn a_run_killed_at_a_random_point_says_what_is_done_and_resume_does_the_rest() {
    survives(&[], SAMPLES);
}

// D8 N6
#[test]
fn a_confined_run_killed_at_a_random_point_loses_nothing() {
    if crate::sandbox::can(SandboxLevel::Strict) {
        survives(&["--sandbox", "strict"], CONFINED_SAMPLES);
    }
}

fn survives(flags: &[&str], samples: u64) {
    let samples = std::env::var("BATON_KILL_SAMPLES").ok().and_then(|n| n.parse().ok()).unwrap_or(samples);
    let mut numbers = LcgRng(SEED);
    let (mut killed, mut tried) = (0, 0);
    while killed < samples {
        tried += 1;
        assert!(tried <= 4 * samples, "only {killed} of {tried} runs were killed before their end");
        let stage = TestWorkspace::quickstart();
        let (point, was_killed) = kill(&stage, flags, &mut numbers);
        if !was_killed {
            continue;
        }
        killed += 1;
        if !stage.has_run() {
            continue;
        }
        compare(&stage, &point);

        let resumed = stage.baton(&["resume"]);
        let over = resumed.code == Some(2) && resumed.stderr.contains("is over");
        assert!(over || resumed.code == Some(0), "{point}: {:?}\n{}", resumed.code, resumed.stderr);
        let view = stage.story().view;
        assert!(matches!(view.status, RunStatus::Ended(_)), "{point}");
        let progress: Progress = json(&task_folder(&stage, &view.run), "progress.json");
        assert_eq!((progress.done.len(), progress.open.len()), (OBJECTIVES, 0), "{point}");
        stage.expect_no_process();
    }
}
