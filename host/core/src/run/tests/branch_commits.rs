//! What a phase changed is committed in the workspace: when, with which words, and what comes of it.

use crate::action::{Action, RunOutcome};
use crate::input::ActionOutcome;
use crate::progress::ProgressEvent;
use crate::view::CommitSummary;
use crate::workflow::{CommitSettings, CommitTime, ReviewRequirement, Workflow};

use super::test_run::{TestRun, workflow};

fn two_phases(change: impl FnOnce(&mut Workflow)) -> TestRun {
    let mut workflow = workflow(&[("10", &["o0", "o1"]), ("20", &["o2"])]);
    workflow.commits = CommitSettings { when: CommitTime::Phase, branch: None };
    workflow.phases[0].verify = Some("make test".into());
    change(&mut workflow);
    TestRun::new(workflow)
}

/// The commits that were asked for: of which phase, which one, and with which message.
fn wanted(world: &TestRun) -> Vec<(String, u32, String)> {
    let wanted = |action: &Action| match action {
        Action::CommitToBranch { phase, ordinal, message, .. } => {
            Some((phase.to_string(), *ordinal, message.clone()))
        }
        _ => None,
    };
    world.actions.iter().filter_map(wanted).collect()
}

fn row(id: &str) -> CommitSummary {
    CommitSummary {
        id: id.into(),
        subject: "Phase 10".into(),
        branch: "main".into(),
        files: 1,
        added: 1,
        removed: 0,
    }
}

#[test]
fn a_phase_is_committed_once_it_is_verified_with_what_shows_it() {
    let mut world = two_phases(|_| ());
    let made = ActionOutcome::CommittedToBranch {
        commit: Some(row("abc")),
        left: vec!["mine.txt".into()],
        by_checks: Vec::new(),
    };
    world.to_branch = [made].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let wanted = wanted(&world);
    let of: Vec<(&str, u32)> = wanted.iter().map(|(phase, ordinal, _)| (phase.as_str(), *ordinal)).collect();
    assert_eq!(of, [("10", 1), ("20", 1)]);
    let expected = "Phase 10\n\n- Do o0. (checked)\n- Do o1. (checked)\n\nPassed: make test\n\nBaton-Run: ";
    assert!(wanted[0].2.starts_with(expected), "{}", wanted[0].2);
    assert!(wanted[0].2.ends_with("\nBaton-Phase: 10\n"), "{}", wanted[0].2);
    let place = |named: fn(&Action) -> bool| world.actions.iter().position(named).unwrap();
    let verified = place(|action| matches!(action, Action::Verify { .. }));
    assert!(verified < place(|action| matches!(action, Action::CommitToBranch { .. })));
    assert_eq!(world.run.view(world.now).unwrap().phases[0].commits, [row("abc")]);
    let told = |notice: &ProgressEvent| matches!(notice, ProgressEvent::CommittedToBranch { left, .. } if left == &["mine.txt"]);
    assert_eq!(world.count(told), 1);
}

#[test]
fn an_objective_is_committed_before_the_next_prompt_and_the_last_with_its_phase() {
    let mut world = two_phases(|workflow| {
        workflow.phases[0].commit = Some(CommitTime::Objective);
        workflow.phases[1].commit = Some(CommitTime::Off);
        workflow.commits.branch = Some("work/{run}".into());
    });
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let wanted = wanted(&world);
    assert_eq!(wanted.len(), 2, "{wanted:?}");
    assert!(
        wanted[0].2.starts_with("Do o0.\n\n- Do o0. (by its answer)\n\nNot run yet: make test\n"),
        "{wanted:?}"
    );
    assert!(wanted[1].2.starts_with("Do o1.\n\n- Do o1. (checked)\n\nPassed: make test\n"), "{wanted:?}");
    let order: Vec<&str> = world.actions.iter().map(Action::name).collect();
    let first = order.iter().position(|name| *name == "commit-to-branch").unwrap();
    assert_eq!(order[..first].iter().filter(|name| **name == "prompt").count(), 1, "{order:?}");
    let branch = world.actions.iter().find_map(|action| match action {
        Action::CommitToBranch { branch, .. } => branch.clone(),
        _ => None,
    });
    assert_eq!(branch, Some(format!("work/{}", world.run.id())));
}

#[test]
fn a_commit_that_cannot_be_made_is_told_and_the_run_goes_on() {
    let mut world = two_phases(|_| ());
    let error = "a rebase is under way in the workspace".to_owned();
    world.to_branch = [ActionOutcome::Failed { error: error.clone() }].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let told =
        |notice: &ProgressEvent| matches!(notice, ProgressEvent::NotCommitted { why, .. } if *why == error);
    assert_eq!(world.count(told), 1);
    let view = world.run.view(world.now).unwrap();
    assert_eq!(view.phases[0].commits, []);
    let failed: Vec<&str> = view.not_committed().map(|phase| phase.id.as_str()).collect();
    assert_eq!((failed, view.phases[0].commit_failed.as_ref()), (vec!["10"], Some(&error)));
}

#[test]
fn a_later_commit_of_a_phase_makes_up_for_one_that_failed() {
    let mut world = two_phases(|workflow| workflow.phases[0].commit = Some(CommitTime::Objective));
    let failed = ActionOutcome::Failed { error: "a rebase is under way in the workspace".to_owned() };
    let made = ActionOutcome::CommittedToBranch {
        commit: Some(row("abc")),
        left: Vec::new(),
        by_checks: Vec::new(),
    };
    world.to_branch = [failed, made].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(world.count(|notice| matches!(notice, ProgressEvent::NotCommitted { .. })), 1);
    assert_eq!(world.run.view(world.now).unwrap().not_committed().count(), 0);
}

#[test]
fn nothing_is_committed_where_nobody_asked_for_it() {
    let mut world = two_phases(|workflow| workflow.commits = CommitSettings::default());
    world.go();
    assert_eq!((world.ending(), wanted(&world)), (Some(RunOutcome::Done), Vec::new()));
}

#[test]
fn what_a_review_made_is_looked_for_at_its_end_and_before_the_commit_that_it_is_for() {
    // N6, D3
    let mut world = two_phases(|workflow| {
        workflow.phases[0].review = Some(ReviewRequirement { role: "executor".into(), score: 70 });
    });
    world.reviews = [Some(10), Some(100)].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let behind = |action: &Action| world.run.review_to_exclude(action).map(ToString::to_string);
    let is_look = |of: &str| {
        let of = of.to_owned();
        move |action: &&Action| matches!(action, Action::MeasureWorkspace { phase, baseline: false, .. } if phase.as_str() == of)
    };
    let look = |of: &str| world.actions.iter().find(is_look(of)).and_then(behind);
    assert_eq!(look("10-review"), Some("10-review".to_owned()));
    assert_eq!(look("10-review-2"), Some("10-review-2".to_owned()));
    assert_eq!(look("10"), None);
    let commits = world.actions.iter().filter(|action| matches!(action, Action::CommitToBranch { .. }));
    assert_eq!(commits.map(behind).collect::<Vec<_>>(), [Some("10-review-2".to_owned()), None]);
}
