//! What is reported against an objective whose phase is over (A11).

use super::world::{TestRun, workflow};
use crate::action::{Action, RunOutcome};
use crate::ids::Digest;
use crate::input::{AgentReport, Input, PauseAnswer, ReportedHandoff};
use crate::observation::{ObjectiveStatus, PolicyQuery};
use crate::progress::ProgressEvent;
use crate::view::RunStatus;
use crate::workflow::PhaseLoop;

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
    // Whoever takes it up is told what the handoff says.
    let briefs = world.actions.iter().filter_map(|action| match action {
        Action::RequestDecision { question, .. } => match &question.ask {
            PolicyQuery::Brief(seen) if seen.phase.id.as_str() == "1" => seen.reported.as_ref(),
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

/// What the first prompts of a phase are told of what others learnt, one prompt after the other.
fn lessons(world: &TestRun, phase: &str) -> Vec<Vec<String>> {
    let asks = world.actions.iter().filter_map(|action| match action {
        Action::RequestDecision { question, .. } => Some(&question.ask),
        _ => None,
    });
    let briefs = asks.filter_map(|ask| match ask {
        PolicyQuery::Brief(seen) if seen.phase.id.as_str() == phase => Some(&seen.lessons),
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
