//! The projection of a small run, played without processes: every file at three moments, and which of them are written.

mod session_results;

use std::fmt::Write as _;

use baton_core::input::{AgentReport, ArtifactRef};
use baton_core::{Input, RunId, SessionId};
use baton_store::{NewArtifact, StateDir};

use super::sample_run::{RUN, SampleRun, drawn, half_way, paths, workflow};
use super::*;

// A7 C1 C5 C10 C15 C16 C17 C19
#[test]
fn every_file_of_a_run_half_way() {
    let play = half_way();
    let mut all = String::new();
    for file in &play.projection().files {
        if !file.path.ends_with("inbox/README.md") {
            let bit = if file.executable { " (executable)" } else { "" };
            let _ = writeln!(all, "=== {}{bit}\n{}", file.path, drawn(file));
        }
    }
    insta::assert_snapshot!("half_way", all);
}

// C19 C1
#[test]
fn one_file_says_what_is_done_what_is_open_and_what_comes_next() {
    let mut play = half_way();
    let progress: Progress = serde_json::from_str(&play.file("progress.json")).unwrap();
    assert_eq!(progress.done, ["inventory".into(), "parser".into()]);
    assert_eq!(progress.open, ["printer".into(), "guide".into()]);
    assert!(progress.next_action.starts_with("Work on printer of phase build"), "{}", progress.next_action);
    assert_eq!(progress.phases[1].approaches_tried[0].result, "it cannot\ncount");
    assert_eq!(progress.phases[1].handoff_count, 1);
    assert_eq!(progress_of(play.entries.clone()), Some(progress.clone()), "the journal tells the same");

    let before = progress.phases;
    play.until(|_| false);
    let after: Progress = serde_json::from_str(&play.file("progress.json")).unwrap();
    assert!(after.open.is_empty());
    assert_eq!(after.next_action, "Nothing: every phase is over.");
    let words = |phases: &[PhaseProgress]| -> Vec<_> {
        let objectives = phases.iter().flat_map(|phase| phase.objectives.clone());
        objectives.map(|objective| (objective.id, objective.description)).collect()
    };
    assert_eq!(words(&after.phases), words(&before), "descriptions never change");
    let items: WorkItems = serde_json::from_str(&play.file("work-items.json")).unwrap();
    assert!(items.items.iter().all(|item| item.passes) && items.items.len() == 5);
}

// C21
#[test]
fn handoffs_of_a_phase_that_is_over_lie_in_the_archive() {
    let mut play = half_way();
    let name = "handoffs/phase-build-handoff-";
    assert!(paths(&play.projection()).iter().any(|path| path.contains(name)));
    assert!(!play.projection().gone.iter().any(|path| path.contains(name)), "the phase is open");
    play.until(|_| false);
    let over = play.projection();
    assert!(paths(&over).iter().all(|path| !path.contains(name)), "{:?}", paths(&over));
    assert!(paths(&over).iter().any(|path| path.contains("handoffs/archive/phase-build-handoff-")));
    // What the session left, and what each phase left to those after it.
    assert_eq!(over.gone.len(), 4 * 4, "{:?}", over.gone);
    assert!(play.file("phases/phase-build-results.md").contains("handoffs/archive/"));
    assert!(play.file("index.md").contains("No phase that is open has a handoff"));
}

// C10 C17
#[test]
fn a_session_returns_what_it_came_to() {
    let mut play = half_way();
    let of = |play: &SampleRun, session: &str| -> SessionResult {
        serde_json::from_str(&play.file(&format!("returns/{session}.json"))).unwrap()
    };
    let exhausted = of(&play, "s2");
    assert_eq!((exhausted.status, exhausted.ending.as_str()), (ReturnStatus::Partial, "exhausted"));
    let partial = exhausted.partial_progress.unwrap();
    assert_eq!(partial.stage, "context_exhaustion_handoff");
    assert_eq!((partial.phases_completed, partial.phases_total), (1, 3));
    assert!(partial.handoff_path.is_some_and(|path| path.contains("/handoffs/phase-build-handoff-")));
    let [error] = exhausted.errors.as_slice() else { panic!("{:?}", exhausted.errors) };
    assert_eq!((error.kind.as_str(), error.recoverable), ("context_exhaustion", true));
    assert_eq!(error.recommendation, "Spawn successor with handoff file");
    assert!(!error.message.contains('\u{1b}') && !error.message.contains('\n'));

    let at_work = of(&play, "s3");
    assert_eq!(at_work.partial_progress.unwrap().stage, "phase_build_in_progress");
    assert!(at_work.errors.is_empty() && at_work.ended_at.is_none());
    assert_eq!(of(&play, "s1").status, ReturnStatus::Completed);

    // The host dies, and another one resumes the run: the session is lost, which needs no action of the user.
    play.inputs.clear();
    play.take(Input::Resumed);
    let lost = of(&play, "s3");
    assert_eq!((lost.status, lost.ending.as_str()), (ReturnStatus::Partial, "lost with the host"));
    assert_eq!((lost.errors[0].kind.as_str(), lost.errors[0].recoverable), ("interrupted", true));
    let newest: SessionResult = serde_json::from_str(&play.file(".return-meta.json")).unwrap();
    assert_eq!(newest.session, SessionId::from("s3"));
}

/// Something in the store.
fn saved(name: &str) -> ArtifactRef {
    let (digest, summary) = (Digest::of(name), "said".to_owned());
    ArtifactRef { name: name.to_owned(), version: 1, digest, bytes: 1, summary }
}

// C10
#[test]
fn a_session_returns_its_own_work_and_says_where_it_lies() {
    let mut play = half_way();
    play.report("s2", AgentReport::ArtifactSaved { artifact: saved("summaries/phase-build.md") });
    play.report("s3", AgentReport::ArtifactSaved { artifact: saved("notes/grammar") });
    play.until(|_| false);
    let left = |session: &str| -> Vec<(String, Option<String>, Option<String>)> {
        let returned: SessionResult =
            serde_json::from_str(&play.file(&format!("returns/{session}.json"))).unwrap();
        returned.artifacts.into_iter().map(|one| (one.kind, one.path, one.artifact)).collect()
    };
    let before = left("s2");
    assert_eq!(before.iter().map(|one| one.0.as_str()).collect::<Vec<_>>(), ["handoff", "summary"]);
    let projection = play.projection();
    for (kind, path, artifact) in before {
        assert!(artifact.is_none(), "{kind} is a file");
        assert!(path.as_deref().is_some_and(|path| paths(&projection).contains(&path)), "{path:?} is there");
    }
    // The verification came after s2 had ended.
    let named = |name: &str| ("artifact".to_owned(), None, Some(name.to_owned()));
    assert_eq!(left("s3"), [named("notes/grammar@1"), named("verifications/phase-build.log@1")]);
    assert!(left("s1").is_empty());
}

// B2 C5
#[test]
fn a_summary_in_the_workspace_says_what_is_true_now() {
    let mut play = half_way();
    let has =
        |play: &SampleRun, name: &str| paths(&play.projection()).iter().any(|path| path.ends_with(name));
    assert!(!has(&play, RUN_SUMMARY), "none was written");
    for name in [RUN_SUMMARY, "summaries/phase-build.md"] {
        play.report("s3", AgentReport::ArtifactSaved { artifact: saved(name) });
    }
    assert!(play.file(RUN_SUMMARY).contains("| in progress | 1 of 2 done |"), "{}", play.file(RUN_SUMMARY));
    assert!(play.file("summaries/phase-build.md").contains("1. Work on printer: "));
    play.until(|_| false);
    assert!(play.file(RUN_SUMMARY).contains("| done | 2 of 2 done |"), "{}", play.file(RUN_SUMMARY));
    let summary = play.file("summaries/phase-build.md");
    assert!(summary.contains("Done: parser, printer") && !summary.contains("Work on"), "{summary}");
    assert!(summary.contains("the newest handoff: .baton/20260212-103000/handoffs/archive/"), "{summary}");
}

#[test]
fn every_way_to_end_has_a_status_and_every_record_follows_its_schema() {
    let mut play = half_way();
    let schema = schemars::schema_for!(SessionResult).to_value();
    let required = |value: &serde_json::Value| -> Vec<String> {
        let names = value["required"].as_array().into_iter().flatten();
        names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let value: serde_json::Value = serde_json::from_str(&play.file(".return-meta.json")).unwrap();
    for name in required(&schema) {
        assert!(value.get(&name).is_some(), "{name}");
    }
    play.until(|_| false);
    for (schema, name) in [
        (schemars::schema_for!(Progress).to_value(), "progress.json"),
        (schemars::schema_for!(WorkItems).to_value(), "work-items.json"),
    ] {
        let value: serde_json::Value = serde_json::from_str(&play.file(name)).unwrap();
        let known = schema["properties"].as_object().unwrap();
        assert!(value.as_object().unwrap().keys().all(|key| known.contains_key(key)), "{name}");
        for key in required(&schema) {
            assert!(value.get(&key).is_some(), "{name}: {key}");
        }
    }
}

// C1 C2
#[test]
fn the_script_is_posix_shell_and_runs_nothing_but_the_setup() {
    let play = half_way();
    let script = play.file("init.sh");
    assert!(script.contains("setup 'npm ci'") && script.contains("setup 'make deps'"), "{script}");
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join(".baton").join(RUN);
    std::fs::create_dir_all(&folder).unwrap();
    // What the workflow calls its setup is not installed here.
    let harmless = script.replace("'npm ci'", "'echo first'").replace("'make deps'", "'exit 3'");
    std::fs::write(folder.join("init.sh"), harmless).unwrap();
    std::fs::write(folder.join("progress.log"), play.file("progress.log")).unwrap();
    let run = |arguments: &[&str]| {
        let mut sh = std::process::Command::new("sh");
        let output = sh.args(arguments).current_dir("/").output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let path = folder.join("init.sh").display().to_string();
    assert_eq!(run(&["-n", &path]).0, Some(0));
    let (code, shown) = run(&[&path]);
    assert_eq!(code, Some(1), "a command of the setup failed");
    let root = place.path().canonicalize().unwrap();
    assert!(shown.contains(&format!("== 1. Where am I\n{}\n", root.display())), "{shown}");
    assert!(shown.contains("first") && shown.contains("handoff: .baton/"), "{shown}");
    assert!(shown.contains("== 3. What comes next\nWork on printer of phase build"), "{shown}");
    assert_eq!(std::fs::read_to_string(root.join("a b")).unwrap(), "its\n");
    std::fs::remove_file(root.join("a b")).unwrap();
    assert_eq!(run(&[&path, "--look"]).0, Some(0));
    assert!(!root.join("a b").exists(), "a look sets nothing up");
}

/// A workspace with a store, and a projector on them.
struct Wall {
    place: crate::test_support::TestFixture,
    workspace: Workspace,
    artifacts: baton_store::ArtifactStore,
}

impl Wall {
    fn new() -> Self {
        let place = crate::test_support::TestFixture::new(baton_store::JournalOptions::default());
        let state: &StateDir = &place.state;
        let artifacts = baton_store::ArtifactStore::open(state).unwrap();
        let workspace = Workspace::open(&place.workspace).unwrap();
        Self { place, workspace, artifacts }
    }

    fn projector(&self, play: &SampleRun) -> ProjectionWriter {
        let run = RunId::new(RUN);
        for (name, body) in &play.bodies {
            let (name, bytes) = (name.as_str(), body.as_bytes());
            let at = baton_core::UnixMs(1);
            let new = NewArtifact {
                name,
                media_type: "text/markdown",
                bytes,
                summary: "",
                session: None,
                tool_call: None,
                at,
            };
            self.artifacts.save(&run, new).unwrap();
        }
        ProjectionWriter::start(crate::test_support::trees(&self.place), self.artifacts.clone(), run)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.place.workspace.join(".baton").join(RUN).join(name)
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

#[tokio::test]
async fn only_what_changed_is_written_and_what_an_agent_deleted_comes_back() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let (wall, mut play) = (Wall::new(), half_way());
    let mut projector = wall.projector(&play);
    projector.write_projection(play.projection()).await;
    assert!(wall.read("index.md").contains("# Index"), "what a session wrote is in it");
    assert_eq!(std::fs::read_to_string(wall.place.workspace.join(".baton/.gitignore")).unwrap(), "*\n");
    assert_ne!(wall.path("init.sh").metadata().unwrap().permissions().mode() & 0o100, 0);

    let inode = |name: &str| wall.path(name).metadata().unwrap().ino();
    let (items, readme) = (inode("progress.json"), inode("README.md"));
    play.report("s3", AgentReport::GotchaRecord { gotcha: "tabs".into() });
    projector.write_projection(play.projection()).await;
    assert_ne!(inode("progress.json"), items, "it tells a later entry of the journal");
    assert_eq!(inode("README.md"), readme, "nothing else was written");

    let handoffs = wall.path("handoffs");
    std::fs::remove_dir_all(&handoffs).unwrap();
    std::fs::write(wall.path("progress.json"), "{}").unwrap();
    std::fs::remove_file(wall.path("state.org")).unwrap();
    projector.restorer().restore(&WorktreeName::workspace()).await.unwrap();
    assert!(handoffs.read_dir().unwrap().count() >= 2);
    assert!(wall.read("progress.json").contains("journal_seq"));
    assert!(!wall.read("state.org").is_empty());

    // Another host writes all files again, and moves those of finished phases (C21).
    play.until(|_| false);
    std::fs::remove_dir_all(wall.place.workspace.join(".baton")).unwrap();
    std::fs::create_dir_all(&handoffs).unwrap();
    let left = play.projection().gone[0].rsplit('/').next().unwrap().to_owned();
    std::fs::write(handoffs.join(&left), "left behind").unwrap();
    std::fs::write(wall.path(".progress.json.12-3.tmp"), "half").unwrap();
    let mut projector = wall.projector(&play);
    projector.write_projection(play.projection()).await;
    projector.finish().await;
    assert!(!handoffs.join(&left).exists() && handoffs.join("archive").join(&left).exists());
    assert!(!wall.path(".progress.json.12-3.tmp").exists(), "what a killed host left is gone");
    // The archived document names the moved files by their new paths; the store keeps the original document (C21).
    let document =
        play.bodies.iter().find(|(_, body)| body.contains("-facts.json")).expect("it names its facts");
    let name = document.0.replace("handoffs/", "handoffs/archive/");
    assert_eq!(wall.read(&name), document.1.replace("/handoffs/", "/handoffs/archive/"));
    let kept =
        wall.artifacts.get(&RunId::new(RUN), &document.0, baton_store::ArtifactVersion::Latest).unwrap();
    assert_eq!(wall.artifacts.read(&kept.artifact.digest).unwrap(), document.1.as_bytes());
}

#[tokio::test]
async fn a_lost_workspace_is_no_error_and_is_not_made_anew() {
    let (wall, play) = (Wall::new(), half_way());
    let mut projector = wall.projector(&play);
    std::fs::remove_dir_all(&wall.place.workspace).unwrap();
    projector.write_projection(play.projection()).await;
    projector.finish().await;
    assert!(!wall.place.workspace.exists());
}

#[test]
fn a_folder_of_somebody_else_is_not_written_to() {
    let wall = Wall::new();
    assert!(expect_free(&wall.workspace, "specs/calc").is_ok());
    std::fs::create_dir_all(wall.place.workspace.join("specs/calc")).unwrap();
    assert!(expect_free(&wall.workspace, "specs/calc").is_ok());
    std::fs::write(wall.place.workspace.join("specs/calc/README.md"), "mine").unwrap();
    let error = expect_free(&wall.workspace, "specs/calc").unwrap_err().to_string();
    assert!(error.contains("specs/calc") && error.contains("{run}"), "{error}");
    let progress = half_way().file("progress.json");
    std::fs::write(wall.place.workspace.join("specs/calc/progress.json"), progress).unwrap();
    assert!(expect_free(&wall.workspace, "specs/calc").is_ok(), "an earlier run of Baton's wrote it");
}

// C15
#[test]
fn paths_are_the_ones_of_the_workflow() {
    let mut workflow = workflow();
    workflow.paths.folder = "specs/{slug}".into();
    workflow.paths.handoff = "h/{phase}-{ordinal}-{session}.md".into();
    workflow.paths.index = "START.md".into();
    workflow.paths.results = "results-{phase}.md".into();
    let mut play = SampleRun::begin(workflow);
    play.until(|view| view.phases[1].sessions.len() == 2);
    let projection = play.projection();
    let all = paths(&projection);
    for expected in ["h/build-1-s2.md", "h/build-1-s2-index.md", "START.md", "results-build.md"] {
        let path = format!("specs/a-calculator-with-quotes-and-nothing-run/{expected}");
        assert!(all.contains(&path.as_str()), "{path} is not among {all:#?}");
    }
    assert!(all.iter().all(|path| !path.starts_with(".baton")), "{all:#?}");
    assert!(play.file("init.sh").contains("cd -- \"$here/../..\""));
}
