//! What is reported against an objective whose phase is over (A11).

use std::collections::{BTreeMap, BTreeSet};

use super::test_run::{TestRun, workflow};
use crate::action::{Action, RunOutcome};
use crate::decision::{RecoveryAction, Verdict};
use crate::facts::{ChangedFile, WorkspaceFacts};
use crate::ids::Digest;
use crate::input::{AgentReport, Input, PauseAnswer, ReportedHandoff};
use crate::observation::{ObjectiveStatus, PolicyQuery};
use crate::progress::ProgressEvent;
use crate::run::dispute_record::Dispute;
use crate::run::phase::ObjectiveIndex;
use crate::run::phase::Phase;
use crate::run::phase_list::PhaseIndex;
use crate::time::UnixMs;
use crate::view::RunStatus;
use crate::workflow::{PhaseLoop, Workflow};

/// Two phases of one objective each; the session of the second reports these when it has begun.
fn walked(reports: Vec<AgentReport>) -> TestRun {
    let mut world = TestRun::new(workflow(&[("1", &["a"]), ("2", &["b"])]));
    while !world.run.live_sessions().iter().any(|live| live.as_str() == "s2") {
        assert!(world.step());
    }
    for (n, report) in reports.into_iter().enumerate() {
        let digest = Digest::of(format!("report {n}"));
        world.put(Input::Reported { session: Some("s2".into()), digest, report });
    }
    world.go();
    world
}

fn update(status: ObjectiveStatus) -> AgentReport {
    AgentReport::ObjectiveUpdate { objective: "a".into(), status, note: "it drops quotes".into() }
}

fn status_of_a(world: &TestRun) -> ObjectiveStatus {
    world.run.view(world.now).unwrap().phases[0].objectives[0].status
}

#[test]
fn a_report_against_work_that_is_closed_is_put_to_a_person() {
    for status in [ObjectiveStatus::Failed, ObjectiveStatus::InProgress] {
        let world = walked(vec![update(status)]);
        assert_eq!((world.run.status(), status_of_a(&world)), (RunStatus::Paused, status));
        let view = world.run.view(world.now).unwrap();
        let question = &view.questions[0];
        assert!(question.text.contains("Session s2 reported objective a as"), "{}", question.text);
        assert!(question.text.contains("after its phase was over: \"it drops quotes\""), "{}", question.text);
        assert!(
            question.choices.contains(&PauseAnswer::Accept) && question.choices.contains(&PauseAnswer::Retry)
        );
    }
}

#[test]
fn what_a_person_says_to_it_holds() {
    let mut accepted = walked(vec![update(ObjectiveStatus::Failed)]);
    accepted.answer(PauseAnswer::Accept);
    assert_eq!((accepted.ending(), status_of_a(&accepted)), (Some(RunOutcome::Done), ObjectiveStatus::Done));
    assert_eq!(accepted.worked[&"a".into()], 1);

    let mut mended = walked(vec![update(ObjectiveStatus::Failed)]);
    mended.answer(PauseAnswer::Retry);
    assert_eq!((mended.ending(), status_of_a(&mended)), (Some(RunOutcome::Done), ObjectiveStatus::Done));
    assert_eq!(mended.worked[&"a".into()], 2);

    let mut skipped = walked(vec![update(ObjectiveStatus::Failed)]);
    skipped.answer(PauseAnswer::Skip);
    assert_eq!(
        (skipped.ending(), status_of_a(&skipped)),
        (Some(RunOutcome::Unfinished), ObjectiveStatus::Failed)
    );
}

#[test]
fn whoever_takes_it_back_leaves_nothing_to_ask() {
    let world = walked(vec![update(ObjectiveStatus::Failed), update(ObjectiveStatus::Done)]);
    assert_eq!((world.ending(), status_of_a(&world)), (Some(RunOutcome::Done), ObjectiveStatus::Done));
}

#[test]
fn a_handoff_lists_what_is_open_of_any_phase() {
    let handoff = ReportedHandoff {
        current_state: "lines 3 to 5 of a are stubs".into(),
        immediate_next_action: "go on".into(),
        open: vec!["a".into(), "b".into()],
        ..ReportedHandoff::default()
    };
    let done = AgentReport::ObjectiveUpdate {
        objective: "b".into(),
        status: ObjectiveStatus::Done,
        note: String::new(),
    };
    let mut world = walked(vec![done, AgentReport::HandoffWrite(Box::new(handoff))]);
    assert_eq!(world.run.status(), RunStatus::Paused);
    let text = world.run.view(world.now).unwrap().questions[0].text.clone();
    assert!(
        text.contains("lists objective a as open in its handoff after its phase was over: \"lines 3"),
        "{text}"
    );
    assert!(world.worked[&"b".into()] >= 1);
    world.answer(PauseAnswer::Retry);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    // The prompt of the session that takes it up has what the handoff says.
    let briefs = world.actions.iter().filter_map(|action| match action {
        Action::RequestDecision { request, .. } => match &request.query {
            PolicyQuery::Prompting(seen) if seen.phase.id.as_str() == "1" => seen.reported.as_ref(),
            _ => None,
        },
        _ => None,
    });
    let states: Vec<&str> = briefs.map(|reported| reported.current_state.as_str()).collect();
    assert!(states.contains(&"lines 3 to 5 of a are stubs"), "{states:?}");
}

#[test]
fn what_is_gone_at_the_end_is_put_to_a_person() {
    let mut flow = workflow(&[("1", &["a"]), ("2", &["b"])]);
    flow.phases[0].objectives[0].files = vec!["a.txt".into()];
    let mut world = TestRun::new(flow);
    world.absent = Vec::new();
    while !world.run.live_sessions().iter().any(|live| live.as_str() == "s2") {
        assert!(world.step());
    }
    world.absent = vec!["a.txt".into()];
    world.go();
    assert_eq!((world.run.status(), status_of_a(&world)), (RunStatus::Paused, ObjectiveStatus::InProgress));
    let text = world.run.view(world.now).unwrap().questions[0].text.clone();
    assert_eq!(
        text,
        "a.txt of objective a is missing, and was there when its phase ended. Is the work done?"
    );
    world.answer(PauseAnswer::Accept);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}

#[test]
fn only_the_last_look_says_what_is_gone_and_once() {
    for (comes_back, status) in [(false, RunStatus::Paused), (true, RunStatus::Ended(RunOutcome::Done))] {
        let mut flow = workflow(&[("1", &["a"]), ("2", &["b"])]);
        flow.phases[0].objectives[0].files = vec!["a.txt".into()];
        flow.phases[1].verify = Some("true".into());
        let mut world = TestRun::new(flow);
        world.verdicts = [false, true].into();
        while !world.run.live_sessions().iter().any(|live| live.as_str() == "s2") {
            assert!(world.step());
        }
        world.absent = vec!["a.txt".into()];
        while world.count(|notice| matches!(notice, ProgressEvent::Verified { .. })) == 0 {
            assert!(world.step());
        }
        if comes_back {
            world.absent.clear();
        }
        world.go();
        assert_eq!(world.run.status(), status);
        for question in world.run.view(world.now).unwrap().questions {
            assert_eq!(
                question.text.matches("a.txt of objective a is missing").count(),
                1,
                "{}",
                question.text
            );
        }
    }
}

/// What the first prompts of a phase say of what others learnt, one prompt after the other.
fn lessons(world: &TestRun, phase: &str) -> Vec<Vec<String>> {
    let asks = world.actions.iter().filter_map(|action| match action {
        Action::RequestDecision { request, .. } => Some(&request.query),
        _ => None,
    });
    let briefs = asks.filter_map(|ask| match ask {
        PolicyQuery::Prompting(seen) if seen.phase.id.as_str() == phase => Some(&seen.lessons),
        _ => None,
    });
    briefs.map(|lessons| lessons.iter().map(|lesson| lesson.text.clone()).collect()).collect()
}

fn handoff() -> AgentReport {
    AgentReport::HandoffWrite(Box::new(ReportedHandoff {
        current_state: "a is written".into(),
        immediate_next_action: "mention the rule of five lines".into(),
        critical_context: vec!["the file is latin1".into()],
        ..ReportedHandoff::default()
    }))
}

const TOLD: [&str; 3] = ["next: mention the rule of five lines", "state: a is written", "the file is latin1"];

#[test]
fn what_the_last_session_of_a_phase_handed_off_is_told_to_later_phases() {
    // C22, C23
    let done = || AgentReport::ObjectiveUpdate {
        objective: "a".into(),
        status: ObjectiveStatus::Done,
        note: String::new(),
    };
    for reports in [[done(), handoff()], [handoff(), done()]] {
        let mut world = TestRun::new(workflow(&[("1", &["a"]), ("2", &["b"])]));
        while world.run.live_sessions().is_empty() {
            assert!(world.step());
        }
        for (n, report) in reports.into_iter().enumerate() {
            let digest = Digest::of(format!("report {n}"));
            world.put(Input::Reported { session: Some("s1".into()), digest, report });
        }
        world.go();
        assert_eq!(world.ending(), Some(RunOutcome::Done));
        assert_eq!(lessons(&world, "2")[0], TOLD);
    }
}

#[test]
fn what_a_round_of_a_loop_learnt_is_told_to_the_next_one() {
    // B10, C22
    let mut flow = workflow(&[("plan", &["a"]), ("check", &["b"])]);
    flow.phases[1].repeat = Some(PhaseLoop { from: "plan".into(), at_most: 2 });
    flow.phases[1].verify = Some("true".into());
    let mut world = TestRun::new(flow);
    world.verdicts = [false, true].into();
    while !world.run.live_sessions().iter().any(|live| live.as_str() == "s2") {
        assert!(world.step());
    }
    let gotcha = AgentReport::GotchaRecord { gotcha: "plan.md must name both".into() };
    for (n, report) in [gotcha, handoff()].into_iter().enumerate() {
        let digest = Digest::of(format!("report {n}"));
        world.put(Input::Reported { session: Some("s2".into()), digest, report });
    }
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let told = lessons(&world, "plan");
    assert!(told[0].is_empty(), "{told:?}");
    let again = told.last().unwrap();
    assert!(again.iter().any(|lesson| lesson == "plan.md must name both"), "{told:?}");
    assert!(TOLD.iter().all(|words| again.iter().any(|lesson| lesson == words)), "{told:?}");
}

/// Once this session works, its host dies, and the next one finds that the work of a phase on these files is lost.
fn taken_up(flow: Workflow, session: &str, phase: &str, files: &[&str]) -> TestRun {
    let mut world = TestRun::new(flow);
    while !world.run.live_sessions().iter().any(|live| live.as_str() == session) {
        assert!(world.step());
    }
    world.forget();
    let files = files.iter().map(|file| (*file).to_owned()).collect();
    world.put(Input::WorkLost { phase: phase.into(), files, beyond: 0, includes_accepted: true });
    assert!(world.step());
    world.crash();
    world.go();
    world
}

#[test]
fn work_that_is_gone_when_a_host_takes_a_run_up_is_not_done() {
    // A11: the folder was deleted and cloned again.
    let mut world = taken_up(workflow(&[("1", &["a"]), ("2", &["b"])]), "s2", "1", &["a.txt", "c.txt"]);
    assert_eq!((world.run.status(), status_of_a(&world)), (RunStatus::Paused, ObjectiveStatus::InProgress));
    let text = world.run.view(world.now).unwrap().questions[0].text.clone();
    assert_eq!(
        text,
        "The work on objective a is no longer in the folder, as if it had been restored or cloned again, or an agent had changed it: \
         a.txt and 1 more file are missing, as before, or replaced. Is the work done?"
    );
    world.answer(PauseAnswer::Retry);
    assert_eq!((world.ending(), world.worked[&"a".into()]), (Some(RunOutcome::Done), 2));
    // What a person accepts is not asked about again.
    let mut world = taken_up(workflow(&[("1", &["a"]), ("2", &["b"])]), "s2", "1", &["a.txt"]);
    world.answer(PauseAnswer::Accept);
    assert_eq!((world.ending(), world.worked[&"a".into()]), (Some(RunOutcome::Done), 1));
    assert!(world.run.changes_in_workspace().iter().all(|of| of.phase.as_str() != "1" || !of.counts));
}

/// Another host takes the run up, and finds that files of a phase are lost if work of it counts on them, as a host does that asks so.
fn take_up_without(world: &mut TestRun, phase: &str, file: &str) -> bool {
    let changes = world.run.changes_in_workspace();
    let counts = changes.iter().any(|of| of.phase.as_str() == phase && of.is_done_by(file));
    world.forget();
    if counts {
        let files = vec![file.to_owned()];
        world.put(Input::WorkLost { phase: phase.into(), files, beyond: 0, includes_accepted: true });
        assert!(world.step());
    }
    world.crash();
    world.go();
    counts
}

/// Phase 1 says nothing of its objective, and a person accepts it with the files that it has changed; then the session of phase 2 works.
fn accepted(changes: bool) -> TestRun {
    let mut flow = workflow(&[("1", &["a"]), ("2", &["b"])]);
    flow.phases[1].depends_on = vec!["1".into()];
    if changes {
        flow.phases[0].objectives[0].files = vec!["a.txt".into()];
    }
    let mut world = TestRun::new(flow);
    world.unfinished.set(1);
    world.recovery = Some((Verdict::Answered, RecoveryAction::AskPerson { question: "Done?".into() }));
    world.go();
    let question = world.run.view(world.now).unwrap().questions[0].id;
    world.put(Input::Answered { question, choice: PauseAnswer::Accept, message: None });
    let at_work = |world: &TestRun| {
        let live = world.run.live_sessions();
        world.run.view(world.now).unwrap().phases[1]
            .sessions
            .iter()
            .any(|session| live.contains(&&session.id))
    };
    while !at_work(&world) {
        assert!(world.step());
    }
    world
}

#[test]
fn what_a_person_accepted_and_is_gone_is_put_to_them_once() {
    // A11: they accepted it as it was then.
    for choice in [PauseAnswer::Accept, PauseAnswer::Retry] {
        let mut world = accepted(true);
        let before = world.worked[&"a".into()];
        assert!(take_up_without(&mut world, "1", "a.txt"));
        assert_eq!(
            (world.run.status(), status_of_a(&world)),
            (RunStatus::Paused, ObjectiveStatus::InProgress)
        );
        let text = world.run.view(world.now).unwrap().questions[0].text.clone();
        assert!(text.contains("objective a, which a person accepted, is no longer in the folder"), "{text}");
        assert_eq!(world.worked[&"a".into()], before, "no agent does it before they say so");
        // They say it while no host is there, and the next one finds the same.
        let question = world.run.view(world.now).unwrap().questions[0].id;
        world.put(Input::Answered { question, choice, message: None });
        assert!(world.step());
        world.absent = if choice == PauseAnswer::Accept { vec!["a.txt".into()] } else { Vec::new() };
        assert!(!take_up_without(&mut world, "1", "a.txt"), "the same loss is not asked about again");
        assert_eq!((world.ending(), status_of_a(&world)), (Some(RunOutcome::Done), ObjectiveStatus::Done));
        assert_eq!(world.worked[&"a".into()] > before, choice == PauseAnswer::Retry);
    }
}

#[test]
fn what_is_back_when_a_person_accepts_it_can_be_lost_again() {
    // A11
    let mut world = accepted(true);
    assert!(take_up_without(&mut world, "1", "a.txt"));
    world.answer(PauseAnswer::Accept);
    let of_a = |world: &TestRun| world.run.changes_in_workspace()[0].is_done_by("a.txt");
    assert!(of_a(&world), "it was measured, and is there");
}

#[test]
fn what_a_person_accepted_without_any_work_is_not_asked_about() {
    // A11: nothing of it can be lost.
    let mut world = accepted(false);
    assert!(!take_up_without(&mut world, "1", "a.txt"));
    assert_eq!((world.ending(), status_of_a(&world)), (Some(RunOutcome::Done), ObjectiveStatus::Done));
    // A journal of a host that did not look at what was accepted.
    let mut world = accepted(true);
    world.forget();
    let files = vec!["a.txt".to_owned()];
    world.put(Input::WorkLost { phase: "1".into(), files, beyond: 0, includes_accepted: false });
    assert!(world.step());
    world.crash();
    world.go();
    assert_eq!((world.ending(), status_of_a(&world)), (Some(RunOutcome::Done), ObjectiveStatus::Done));
}

#[test]
fn work_that_is_gone_is_done_again_where_its_phase_is_at_work() {
    // A11
    let mut flow = workflow(&[("1", &["a", "b", "c"])]);
    flow.phases[0].objectives[0].files = vec!["a.txt".into()];
    let mut world = TestRun::new(flow);
    assert!(world.step());
    while status_of_a(&world) != ObjectiveStatus::Done {
        assert!(world.step());
    }
    world.forget();
    world.put(Input::WorkLost {
        phase: "1".into(),
        files: vec!["a.txt".into()],
        beyond: 0,
        includes_accepted: true,
    });
    assert!(world.step());
    assert_eq!(status_of_a(&world), ObjectiveStatus::InProgress);
    world.crash();
    world.go();
    assert_eq!((world.ending(), world.worked[&"a".into()]), (Some(RunOutcome::Done), 2));
}

#[test]
fn work_that_is_gone_stays_gone_until_a_person_says_otherwise() {
    // A11: neither a second crash nor what an agent reports of it brings files back.
    let mut world = TestRun::new(workflow(&[("1", &["a"]), ("2", &["b"])]));
    while !world.run.live_sessions().iter().any(|live| live.as_str() == "s2") {
        assert!(world.step());
    }
    world.forget();
    for _ in 0..2 {
        world.put(Input::WorkLost {
            phase: "1".into(),
            files: vec!["a.txt".into()],
            beyond: 0,
            includes_accepted: true,
        });
    }
    let done = AgentReport::ObjectiveUpdate {
        objective: "a".into(),
        status: ObjectiveStatus::Done,
        note: String::new(),
    };
    world.put(Input::Reported { session: Some("s2".into()), digest: Digest::of("done"), report: done });
    for _ in 0..3 {
        assert!(world.step());
    }
    world.crash();
    world.go();
    assert_eq!((world.run.status(), status_of_a(&world)), (RunStatus::Paused, ObjectiveStatus::InProgress));
    let text = world.run.view(world.now).unwrap().questions[0].text.clone();
    assert_eq!(text.matches("no longer in the folder").count(), 1, "{text}");
}

#[test]
fn earlier_contents_of_files_are_known() {
    // A11: what is lost comes back as one of these.
    let mut phase = Phase::new(workflow(&[("1", &["a"])]).phases.remove(0));
    let file = |path: &str, content: &str| ChangedFile {
        path: path.into(),
        bytes: 1,
        exists: true,
        digest: Some(Digest::of(content)),
        is_new: false,
    };
    let mut measure = |at, files: &[(&str, &str)]| {
        let changed = files.iter().map(|(path, content)| file(path, content)).collect();
        phase.set_facts(&WorkspaceFacts { changed, ..Default::default() }, UnixMs(at));
        phase.measurements.past.clone()
    };
    assert!(measure(1, &[("a", "1"), ("b", "1")]).contents.is_empty());
    let measurements = measure(2, &[("a", "2"), ("b", "1")]);
    assert_eq!((measurements.newest_at, measurements.newest_is_whole), (UnixMs(2), true));
    assert_eq!(measurements.contents, BTreeMap::from([("a".to_owned(), vec![Digest::of("1")])]));
    // As it was at the start of the phase, it is not listed.
    let measurements = measure(3, &[("a", "1")]);
    assert_eq!(measurements.contents["a"], [Digest::of("1"), Digest::of("2")]);
    assert_eq!(measurements.contents["b"], [Digest::of("1")]);
    for round in 0..40 {
        measure(4, &[("a", &round.to_string())]);
    }
    assert_eq!(phase.measurements.past.contents["a"].len(), 16);
}

#[test]
fn a_named_file_that_is_put_back_while_its_phase_works_is_not_done() {
    // A11: `git stash`, by a person or by the agent of the next objective.
    let mut flow = workflow(&[("1", &["a", "b"])]);
    flow.phases[0].objectives[0].files = vec!["a.txt".into()];
    let mut world = TestRun::new(flow);
    while world.run.phases.is_empty() || status_of_a(&world) != ObjectiveStatus::Done {
        assert!(world.step());
    }
    world.put_back = vec!["a.txt".into()];
    while status_of_a(&world) == ObjectiveStatus::Done {
        assert!(world.step(), "it stays done");
    }
    let because = world.notices.iter().find_map(|notice| match notice {
        ProgressEvent::Reopened { because, .. } => Some(because.as_str()),
        _ => None,
    });
    assert_eq!(because, Some("a.txt had been changed for it, and is as it was before by now"));
    world.put_back.clear();
    world.go();
    assert_eq!((world.ending(), world.worked[&"a".into()]), (Some(RunOutcome::Done), 2));
}

/// The first of two objectives is done, and two files changed during its prompt.
fn with_two_files_by_a() -> TestRun {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b"])]));
    while !world.worked.contains_key(&"a".into()) {
        assert!(world.step());
    }
    world.moved = 2;
    while status_of_a(&world) != ObjectiveStatus::Done {
        assert!(world.step());
    }
    world
}

#[test]
fn an_objective_without_files_of_which_nothing_is_left_is_not_done() {
    // A11: the next objective of the same phase was at work when the folder was restored, and the first one stayed done.
    let mut world = with_two_files_by_a();
    world.moved = 0;
    while status_of_a(&world) == ObjectiveStatus::Done {
        assert!(world.step(), "it stays done");
    }
    let because = world.notices.iter().find_map(|notice| match notice {
        ProgressEvent::Reopened { because, .. } => Some(because.as_str()),
        _ => None,
    });
    let said = "moved-0 and 1 more file had been changed for it, and are as they were before by now";
    assert_eq!(because, Some(said));
    world.go();
    assert_eq!((world.ending(), world.worked[&"a".into()]), (Some(RunOutcome::Done), 2));
}

#[test]
fn an_objective_of_which_something_is_left_stays_done() {
    // A11
    let mut world = with_two_files_by_a();
    world.moved = 1;
    world.go();
    assert_eq!((world.ending(), world.worked[&"a".into()]), (Some(RunOutcome::Done), 1));
}

#[test]
fn what_is_done_again_is_not_asked_about() {
    // A11: a phase whose work was lost while it was reviewed had done it again, and a person was asked whether it is done.
    let mut world = walked(Vec::new());
    let p = PhaseIndex::at(0);
    let dispute = Dispute {
        objective: ObjectiveIndex::at(0),
        words: "lost".into(),
        reported: None,
        is_from_last_measurement: false,
        is_of_accepted_work: false,
        handoff: None,
    };
    world.run.phases[p].disputes.push(dispute);
    world.run.reopen(p, ObjectiveIndex::at(0), ObjectiveStatus::InProgress, "its review found nothing");
    assert!(
        world.run.phases[p].disputes.is_empty()
            && world.run.phases[p].objectives[ObjectiveIndex::at(0)].has_lost_work
    );
}

#[test]
fn finished_phases_are_listed_with_what_they_changed_and_what_is_named() {
    // A11
    let mut flow = workflow(&[("1", &["a"]), ("2", &["b"])]);
    for (phase, file) in [(0, "a.txt"), (1, "b.txt")] {
        flow.phases[phase].objectives[0].files = vec![file.to_owned()];
    }
    let mut world = TestRun::new(flow);
    while !world.run.live_sessions().iter().any(|live| live.as_str() == "s2") {
        assert!(world.step());
    }
    let finished = world.run.finished_work();
    let [of_first] = finished.as_slice() else { panic!("{finished:?}") };
    let changed: Vec<&str> = of_first.walks[0].files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!((of_first.phase.as_str(), changed), ("1", vec!["a.txt"]));
    assert_eq!(
        (&of_first.named, &of_first.named_elsewhere),
        (&BTreeSet::from(["a.txt"]), &BTreeSet::from(["b.txt"]))
    );
    assert!(world.run.may_end_soon());
}
