//! What is verified and reviewed is what is merged and lands: one commit (D3, D12).

use crate::action::{Action, RunOutcome};
use crate::decision::{SplitAction, SubPhase, WorkStyle};
use crate::input::{ActionOutcome, PauseAnswer};
use crate::progress::ProgressEvent;
use crate::view::RunStatus;
use crate::workflow::Workflow;

use super::test_run::{TestRun, workflow};

/// Phase "20", split into a part for each of two objectives, which name `o0.txt` and `o1.txt`.
fn split(change: impl FnOnce(&mut Workflow)) -> TestRun {
    let mut workflow = workflow(&[("20", &["o0", "o1"])]);
    workflow.review_parts = Some(false);
    for objective in &mut workflow.phases[0].objectives {
        objective.files = vec![format!("{}.txt", objective.id)];
    }
    change(&mut workflow);
    let mut world = TestRun::new(workflow);
    let part = |id: &str| SubPhase {
        title: format!("part {id}"),
        objectives: vec![id.into()],
        order: WorkStyle::Direct,
        max_turns: None,
    };
    world.split = Some(SplitAction::Split { sub_phases: vec![part("o0"), part("o1")] });
    world
}

fn committed(commit: &str, missing: &[&str], ignored: &[&str]) -> ActionOutcome {
    let all = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    ActionOutcome::Committed {
        commit: commit.to_owned(),
        missing: all(missing),
        ignored: all(ignored),
        unseen: Vec::new(),
    }
}

fn restored(changed: &[&str], gone: &[&str], added: &[&str]) -> ActionOutcome {
    let all = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    ActionOutcome::Restored { changed: all(changed), gone: all(gone), added: all(added) }
}

/// The commits that were merged and landed, with the phase of each.
fn taken(world: &TestRun) -> Vec<(String, String)> {
    let taken = |action: &Action| match action {
        Action::Merge { phase, commit, .. } | Action::Land { phase, commit, .. } => {
            Some((phase.to_string(), commit.clone().unwrap_or_default()))
        }
        _ => None,
    };
    world.actions.iter().filter_map(taken).collect()
}

fn pair(phase: &str, commit: &str) -> (String, String) {
    (phase.to_owned(), commit.to_owned())
}

#[test]
fn what_is_merged_and_lands_is_what_was_committed_before_its_checks() {
    let mut world = split(|_| ());
    world.commits = ["a", "b", "whole"].map(|commit| committed(commit, &[], &[])).into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(taken(&world), [pair("20a", "a"), pair("20b", "b"), pair("20", "whole")]);
    let named = world.actions.iter().find_map(|action| match action {
        Action::CommitWorktree { phase, files, .. } if phase.as_str() == "20" => Some(files.clone()),
        _ => None,
    });
    assert_eq!(named.unwrap(), ["o0.txt", "o1.txt"], "each objective's files are looked for in the whole");
}

#[test]
fn a_file_that_got_lost_where_the_parts_came_together_is_made_there_before_it_lands() {
    // A session that resolved a conflict, a command or a person took it away: "0 files" landed, and all was done.
    let mut world = split(|_| ());
    let whole = committed("whole", &["o1.txt"], &[]);
    world.commits = [committed("a", &[], &[]), committed("b", &[], &[]), whole].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let reopened = |notice: &ProgressEvent| matches!(notice, ProgressEvent::Reopened { because, .. } if because == "o1.txt is missing");
    assert_eq!(world.count(reopened), 1);
    assert_eq!(world.worked[&"o1".into()], 2);
}

#[test]
fn a_file_that_git_ignores_is_asked_about() {
    let mut world = split(|_| ());
    world.commits = [committed("a", &[], &["o0.txt"])].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    let view = world.run.view(world.now).unwrap();
    assert!(view.questions[0].text.contains("o0.txt, which git ignores or"), "{:?}", view.questions);
    assert!(taken(&world).iter().all(|(phase, _)| phase != "20a"), "nothing of it is merged");
    world.answer(PauseAnswer::Retry);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

#[test]
fn what_a_command_changes_is_verified_once_more_and_never_for_ever() {
    let verified = |workflow: &mut Workflow| {
        workflow.phases[0].objectives[0].verify = Some("cargo fmt && cargo test".into());
    };
    let mut world = split(verified);
    world.commits = ["before", "b", "formatted"].map(|commit| committed(commit, &[], &[])).into();
    world.restored = [restored(&["src/lib.rs"], &[], &["coverage.out"])].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert!(taken(&world).contains(&pair("20a", "formatted")), "{:?}", taken(&world));
    let left_out = |notice: &ProgressEvent| matches!(notice, ProgressEvent::LeftOut { files, .. } if files == &["coverage.out"]);
    assert_eq!(world.count(left_out), 1, "people are told what is no part of the work");

    let mut world = split(verified);
    world.restored = vec![restored(&["src/lib.rs"], &[], &[]); 20].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    let view = world.run.view(world.now).unwrap();
    let text = &view.questions[0].text;
    assert!(text.contains("its verification changes what it verifies: src/lib.rs"), "{text}");
}

#[test]
fn a_reviewer_that_changes_any_file_of_the_work_is_not_counted() {
    let mut world = split(|workflow| workflow.review_parts = Some(true));
    world.reviews = [Some(95); 6].into();
    world.restored = [restored(&["shared.txt"], &[], &["evil.py"])].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let because = "its review changed what it looked at: shared.txt is changed";
    let reopened = |notice: &ProgressEvent| matches!(notice, ProgressEvent::Reopened { because: why, .. } if why == because);
    assert_eq!(world.count(reopened), 1);
}

#[test]
fn what_a_session_made_of_a_conflict_is_reviewed_where_nothing_else_looks_at_it() {
    // D12: the merge session took one side, and the work of a part that was reviewed landed without it.
    let conflicted = || ActionOutcome::Conflicted { files: vec!["shared.txt".into()] };
    let reviews = |world: &TestRun| {
        let is_review =
            |action: &&Action| matches!(action, Action::Spawn(spec) if spec.phase.as_str() == "20-review");
        world.actions.iter().filter(is_review).count()
    };
    let mut world = split(|workflow| workflow.review_parts = Some(true));
    (world.merges, world.reviews) = ([conflicted()].into(), [Some(95); 6].into());
    world.go();
    assert_eq!((world.ending(), reviews(&world)), (Some(RunOutcome::Done), 1));

    let mut world = split(|workflow| {
        workflow.review_parts = Some(true);
        workflow.phases[0].verify = Some("make test".into());
    });
    (world.merges, world.reviews) = ([conflicted()].into(), [Some(95); 6].into());
    world.go();
    assert_eq!((world.ending(), reviews(&world)), (Some(RunOutcome::Done), 0), "a command looks at it");
}

#[test]
fn a_command_that_takes_the_work_away_is_heard_within_bounds() {
    // In a folder that it shares, where nothing is committed: `test -s o0.txt; rm o0.txt` was checked and done, without the file.
    let mut workflow = workflow(&[("10", &["o0"])]);
    workflow.phases[0].objectives[0].files = vec!["o0.txt".into()];
    workflow.phases[0].objectives[0].verify = Some("test -s o0.txt; rm o0.txt".into());
    let mut world = TestRun::new(workflow);
    world.taken_by_checks = vec!["o0.txt".into()];
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    let view = world.run.view(world.now).unwrap();
    let text = &view.questions[0].text;
    assert!(
        text.contains("its commands passed, and after them") && text.contains("o0.txt is missing"),
        "{text}"
    );
}
