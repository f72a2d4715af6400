//! Reviews (D3), and loops that a check closes (B10).

use crate::action::RunOutcome;
use crate::facts::ChangedFile;
use crate::input::{Input, PauseAnswer};
use crate::observation::{ObjectiveStatus, PromptKind};
use crate::progress::ProgressEvent;
use crate::run::phase::ObjectiveIndex;
use crate::run::phase::ReviewScore;
use crate::run::phase_list::PhaseIndex;
use crate::run::step::PhaseStep;
use crate::run::tests::test_run::{TestRun, workflow};
use crate::view::{PhaseOrigin, RunStatus};
use crate::workflow::{PhaseLoop, ReviewRequirement, Workflow};

fn reviewed(threshold: u32) -> Workflow {
    let mut workflow = workflow(&[("1", &["a"])]);
    workflow.phases[0].review = Some(ReviewRequirement { role: "executor".into(), score: threshold });
    workflow
}

#[test]
fn a_review_below_the_score_goes_back_with_its_findings() {
    // D3
    let mut world = TestRun::new(reviewed(70));
    world.reviews = [Some(55), Some(70)].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let view = world.run.view(world.now).unwrap();
    assert_eq!((view.phases[0].score, view.phases[0].verified), (Some(70), None));
    let reviews: Vec<&str> = view
        .phases
        .iter()
        .filter(|phase| phase.origin == PhaseOrigin::Review)
        .map(|phase| phase.id.as_str())
        .collect();
    assert_eq!(reviews, ["1-review", "1-review-2"]);
    let scores: Vec<(u32, bool)> = world
        .notices
        .iter()
        .filter_map(|notice| match notice {
            ProgressEvent::Reviewed { score, passed, .. } => Some((*score, *passed)),
            _ => None,
        })
        .collect();
    assert_eq!(scores, [(55, false), (70, true)]);
    assert!(world.texts_of_prompts().iter().any(|text| text.contains("a.rs:1: odd")));
    assert_eq!(world.prompts_of(PromptKind::Reviewing).len(), 2);
}

#[test]
fn a_reviewer_that_is_never_content_is_a_persons_and_so_is_one_that_says_nothing() {
    let mut world = TestRun::new(reviewed(70));
    world.reviews = [Some(10), Some(10), Some(10)].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);

    let mut world = TestRun::new(reviewed(70));
    world.reviews = [None, None, None].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    let text = world.run.view(world.now).unwrap().questions[0].text.clone();
    assert!(text.contains("no review gave a score"), "{text}");
    world.answer(PauseAnswer::Retry);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

fn looping(at_most: u32) -> TestRun {
    let mut workflow = workflow(&[("plan", &["p"]), ("execute", &["e"]), ("check", &["c"])]);
    workflow.phases[1].depends_on = vec!["plan".into()];
    workflow.phases[2].depends_on = vec!["execute".into()];
    workflow.phases[2].verify = Some("make check".into());
    workflow.phases[2].repeat = Some(PhaseLoop { from: "plan".into(), at_most });
    TestRun::new(workflow)
}

#[test]
fn a_loop_is_walked_until_its_check_is_content() {
    // B10
    let mut world = looping(5);
    world.verdicts = [false, false, true].into();
    world.findings = "two tests fail".into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert!(world.worked.values().all(|times| *times == 3), "{:?}", world.worked);
    let view = world.run.view(world.now).unwrap();
    assert!(view.phases.iter().all(|phase| phase.iteration == 3));
    let first: Vec<String> = world.prompts_of(PromptKind::First);
    assert_eq!(first.len(), 9, "each iteration begins with a first prompt");
    assert!(first[3].contains("IterationView { ordinal: 2, at_most: 5 }"), "{}", first[3]);
    assert!(world.texts_of_prompts().iter().any(|text| text.contains("two tests fail")));
}

#[test]
fn a_loop_ends_at_its_bound_and_a_person_may_grant_another() {
    // B10
    let mut world = looping(2);
    world.verdicts = [false, false].into();
    world.go();
    assert_eq!(world.run.status(), RunStatus::Paused);
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::Iterating { .. })), 1);
    world.verdicts = [false, false, true].into();
    world.answer(PauseAnswer::Retry);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

#[test]
fn a_review_that_changes_what_it_looks_at_does_not_count() {
    // D3, D12: a reviewer that stashed or removed the work decided what landed.
    let mut world = TestRun::new(reviewed(70));
    world.reviews = [Some(95)].into();
    let review_of =
        |world: &TestRun| world.run.phases.position(|phase| phase.lineage.origin == PhaseOrigin::Review);
    while review_of(&world).is_none() {
        assert!(world.step());
    }
    let review = review_of(&world).unwrap();
    let file = |path: &str, exists| ChangedFile {
        path: path.into(),
        bytes: 1,
        exists,
        digest: None,
        is_new: path == "coverage.txt",
    };
    let found = vec![file("gone.txt", false), file("made.txt", true), file("coverage.txt", true)];
    world.run.phases[review].measurements.facts.changed = found;
    let id = world.run.phases[review].spec.id.clone();
    let said = ReviewScore { score: 95, summary: "right".into(), findings: Vec::new() };
    world.run.phases[review].review.submitted = Some(said);
    world.run.phases[PhaseIndex::at(0)].step = PhaseStep::UnderReview { review: id };
    world.run.end_review(PhaseIndex::at(0));
    let work = &world.run.phases[PhaseIndex::at(0)];
    assert!(!work.is_finished(), "whoever made it sees that it is there");
    assert!(
        work.verification.findings.contains("gone.txt is gone, made.txt is changed."),
        "{}",
        work.verification.findings
    );
    assert!(
        !work.verification.findings.contains("coverage.txt"),
        "what a check leaves behind changes nothing"
    );
}

#[test]
fn a_review_that_passes_and_says_that_something_is_not_done_is_put_to_a_person() {
    // A11, D12
    let asked = |summary: &str, finding: &str| {
        let mut flow = workflow(&[("1", &["parser"])]);
        flow.phases[0].review = Some(ReviewRequirement { role: "executor".into(), score: 70 });
        let mut world = TestRun::new(flow);
        while world.run.phases.iter().next().is_none_or(|phase| phase.done_count() == 0) {
            assert!(world.step());
        }
        let (summary, findings) = (summary.to_owned(), vec![finding.to_owned()]);
        world.run.scored(PhaseIndex::at(0), ReviewScore { score: 90, summary, findings }, 70);
        world.go();
        world.run.view(world.now).unwrap().questions.first().map(|question| question.text.clone())
    };
    let denied = "parser is not done: only two of its five lines are there, the rest are stubs";
    let question = asked(&format!("Read it all. {denied}."), "none").unwrap();
    assert!(question.contains("gives 90 of 100, and says: \"parser is not done"), "{question}");
    assert!(asked("Good.", "the parser is incomplete").is_some());
    for (summary, finding) in [
        ("The parser is done.", "a.rs:1: odd"),
        ("The parser is complete. It is not done elegantly, but it holds.", "none"),
        ("Good.", "incomplete input is an error, as asked"),
    ] {
        assert_eq!(asked(summary, finding), None, "{summary} {finding}");
    }
}

#[test]
fn a_review_that_passes_what_is_open_again_is_put_to_a_person_at_once() {
    // A11, D12
    let mut flow = workflow(&[("1", &["parser", "printer"])]);
    flow.phases[0].review = Some(ReviewRequirement { role: "executor".into(), score: 70 });
    let mut world = TestRun::new(flow);
    while world.run.phases.iter().next().is_none_or(|phase| phase.done_count() < 2) {
        assert!(world.step());
    }
    world.run.reopen(
        PhaseIndex::at(0),
        ObjectiveIndex::at(1),
        ObjectiveStatus::InProgress,
        "the reviewer reported it",
    );
    let said = ReviewScore { score: 90, summary: "Good.".into(), findings: Vec::new() };
    world.run.scored(PhaseIndex::at(0), said, 70);
    world.go();
    let question = world.run.view(world.now).unwrap().questions.first().cloned().unwrap();
    assert_eq!(
        question.text,
        "The review of 1 gives 90 of 100, and objective printer was opened again meanwhile. Is it good enough to go on with?"
    );
    assert_eq!(
        world.run.phases[PhaseIndex::at(0)].assessment.unproven_objectives,
        [1].map(ObjectiveIndex::at)
    );
    world.put(Input::Answered { question: question.id, choice: PauseAnswer::Accept, message: None });
    world.go();
    assert!(world.run.phases[PhaseIndex::at(0)].is_finished());
}
