//! How sessions end that were not stopped by a verdict, and what the view says of objectives meanwhile.

use super::test_run::{ScriptedTurn, TestRun, workflow};
use crate::action::{Action, RunOutcome};
use crate::decision::{RecoveryAction, Verdict};
use crate::facts::AgentEvent;
use crate::ids::Digest;
use crate::input::{AgentReport, Input, PauseAnswer, SplitGroupReport};
use crate::observation::{ObjectiveStatus, PolicyQuery, PromptKind};
use crate::progress::ProgressEvent;
use crate::view::{ObjectiveSummary, RunStatus};

fn endings(world: &TestRun) -> Vec<String> {
    let view = world.run.view(world.now).unwrap();
    view.phases.iter().flat_map(|phase| &phase.sessions).map(|session| session.ending.clone()).collect()
}

fn until_at_work(world: &mut TestRun, session: &str) {
    while !world.run.live_sessions().iter().any(|live| live.as_str() == session) {
        assert!(world.step());
    }
}

fn report(world: &mut TestRun, session: &str, report: AgentReport) {
    let digest = Digest::of(format!("{session} {report:?}"));
    world.put(Input::Reported { session: Some(session.into()), digest, report });
}

// C26
#[test]
fn a_hand_off_by_choice_of_another_policy_is_called_so() {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b", "c"])]));
    world.hands_off_from = Some(800);
    world.script = [ScriptedTurn::Finish(300), ScriptedTurn::Finish(900)].into();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    assert_eq!(endings(&world), ["policy-handoff", "done"]);
}

// A8 C21
#[test]
fn the_policy_alone_says_how_much_comes_before_a_hand_off_and_idle_ones_come_to_an_end() {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b"])]));
    world.hands_off_from = Some(0);
    world.script = vec![ScriptedTurn::Nothing; 10].into();
    for session in ["s1", "s2"] {
        until_at_work(&mut world, session);
        let group = SplitGroupReport { title: "one".into(), objectives: vec!["a".into()] };
        // A request leads to a boundary at which nothing is done.
        report(
            &mut world,
            session,
            AgentReport::SplitRequest { groups: vec![group], rationale: "much".into() },
        );
    }
    world.go();
    assert_eq!(endings(&world), ["policy-handoff", "policy-handoff"]);
    assert_eq!(world.run.status(), RunStatus::Paused);
    let view = world.run.view(world.now).unwrap();
    assert!(view.questions[0].text.contains("the last continuation finished none"));
}

// C19
#[test]
fn an_objective_has_its_note_and_its_times() {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b"])]));
    let a = |world: &TestRun| -> ObjectiveSummary {
        world.run.view(world.now).unwrap().phases[0].objectives[0].clone()
    };
    until_at_work(&mut world, "s1");
    assert_eq!((a(&world).started_at, a(&world).updated_at, a(&world).completed_at), (None, None, None));
    let note = "3 of 5 cases done".to_owned();
    let status = ObjectiveStatus::InProgress;
    report(
        &mut world,
        "s1",
        AgentReport::ObjectiveUpdate { objective: "a".into(), status, note: note.clone() },
    );
    while a(&world).note.is_empty() {
        assert!(world.step());
    }
    let begun = a(&world);
    assert_eq!((begun.note, begun.updated_at, begun.completed_at), (note.clone(), Some(world.now), None));
    assert!(begun.started_at.is_some_and(|at| at <= world.now));
    world.go();
    let done = a(&world);
    assert_eq!((done.note, done.started_at), (note, begun.started_at));
    assert!(done.completed_at > begun.updated_at && done.completed_at == done.updated_at);
}

/// A session that is given its work, says this of it, and dies with its host before its prompt ends.
fn cut_off(status: ObjectiveStatus, unfinished: u32) -> TestRun {
    let mut world = TestRun::new(workflow(&[("1", &["a"])]));
    world.script = [ScriptedTurn::Finish(300)].into();
    while !matches!(world.actions.last(), Some(Action::Prompt { .. })) {
        assert!(world.step());
    }
    world.forget();
    report(
        &mut world,
        "s1",
        AgentReport::ObjectiveUpdate { objective: "a".into(), status, note: String::new() },
    );
    assert!(world.step());
    world.unfinished.set(unfinished);
    world.crash();
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    world
}

// A11 C23
#[test]
fn what_was_reported_as_done_before_the_host_died_is_judged_first() {
    let is_reopened = |notice: &ProgressEvent| matches!(notice, ProgressEvent::Reopened { .. });
    let doubted = cut_off(ObjectiveStatus::Done, 1);
    assert_eq!((doubted.count(is_reopened), doubted.worked[&"a".into()]), (1, 2));
    // Nothing that holds is done again, and the end of the host is not counted against an agent.
    let held = cut_off(ObjectiveStatus::Done, 0);
    assert_eq!((held.count(is_reopened), held.worked[&"a".into()]), (0, 1));
    for world in [doubted, held, cut_off(ObjectiveStatus::InProgress, 0)] {
        assert_eq!(world.count(|notice| matches!(notice, ProgressEvent::Retrying { .. })), 0);
    }
}

// A11
#[test]
fn that_an_agent_was_at_work_is_no_word_against_what_it_answers_later() {
    let at_work = |nudged: bool| {
        let mut world = TestRun::new(workflow(&[("1", &["a"])]));
        while !matches!(world.actions.last(), Some(Action::Prompt { .. })) {
            assert!(world.step());
        }
        let answer = std::mem::take(&mut world.queue);
        let status = ObjectiveStatus::InProgress;
        report(
            &mut world,
            "s1",
            AgentReport::ObjectiveUpdate { objective: "a".into(), status, note: String::new() },
        );
        world.queue.extend(answer);
        world.unfinished.set(u32::from(nudged));
        world.recovery = Some((Verdict::Answered, RecoveryAction::Nudge));
        world.go();
        world
    };
    for nudged in [false, true] {
        let world = at_work(nudged);
        assert_eq!(world.ending(), Some(RunOutcome::Done));
        assert_eq!(world.prompts_of(PromptKind::Nudged).len(), 1, "it is asked once, then its answer counts");
        assert_eq!(reported_of_a(&world), Some((ObjectiveStatus::InProgress, String::new(), true)));
    }
}

/// What policies were told last that agents had reported of it, and whether that was before the prompt.
fn reported_of_a(world: &TestRun) -> Option<(ObjectiveStatus, String, bool)> {
    let told = world.actions.iter().rev().find_map(|action| match action {
        Action::RequestDecision { request, .. } => match &request.query {
            PolicyQuery::Completion(seen) => seen.session.objectives[0].reported.clone(),
            _ => None,
        },
        _ => None,
    })?;
    Some((told.status, told.note, told.changed_since.is_some()))
}

// A11
#[test]
fn the_line_that_an_objective_is_not_done_is_known_at_its_next_prompt() {
    for (line, is_about_a) in [
        ("Not done: cases 4 and 5", true),
        ("I wrote three.\n- not done: a (cases 4 and 5)", true),
        ("Not done: b, which waits", false),
        ("Done: a", false),
    ] {
        let mut world = TestRun::new(workflow(&[("1", &["a", "b"])]));
        while !matches!(world.actions.last(), Some(Action::Prompt { .. })) {
            assert!(world.step());
        }
        let rest = std::mem::take(&mut world.queue);
        let said = AgentEvent::Text { text: line.into() };
        world.put(Input::Agent { session: "s1".into(), event: said });
        world.queue.extend(rest);
        world.unfinished.set(1);
        world.recovery = Some((Verdict::Answered, RecoveryAction::Nudge));
        while world.prompts_of(PromptKind::Nudged).is_empty() || reported_of_a(&world).is_none() {
            if !world.step() {
                break;
            }
        }
        let told = reported_of_a(&world);
        assert_eq!(
            told.as_ref().map(|(_, _, before)| *before),
            is_about_a.then_some(true),
            "{line}: {told:?}"
        );
        assert!(told.is_none_or(|(_, note, _)| line.ends_with(&note) && !note.is_empty()), "{line}");
    }
}

// A11
#[test]
fn what_its_agent_calls_not_done_is_not_offered_as_done_first() {
    for (line, is_there, first) in [
        ("Not done: a: there is no key", true, PauseAnswer::Retry),
        ("I looked at it.", true, PauseAnswer::Accept),
        ("I looked at it.", false, PauseAnswer::Retry),
    ] {
        let mut workflow = workflow(&[("1", &["a"])]);
        workflow.phases[0].objectives[0].files = vec!["a.txt".into()];
        let mut world = TestRun::new(workflow);
        if !is_there {
            world.absent.push("a.txt".into());
        }
        while !matches!(world.actions.last(), Some(Action::Prompt { .. })) {
            assert!(world.step());
        }
        let rest = std::mem::take(&mut world.queue);
        world.put(Input::Agent { session: "s1".into(), event: AgentEvent::Text { text: line.into() } });
        world.queue.extend(rest);
        world.unfinished.set(1);
        world.recovery =
            Some((Verdict::Answered, RecoveryAction::AskPerson { question: "What now?".into() }));
        world.go();
        let choices = world.run.view(world.now).unwrap().questions[0].choices.clone();
        assert_eq!(choices[0], first, "{line}: {choices:?}");
        assert!(choices.contains(&PauseAnswer::Accept), "a person may know better");
        assert_eq!(
            choices.last() == Some(&PauseAnswer::Accept),
            first == PauseAnswer::Retry,
            "{line}: {choices:?}"
        );
    }
}

// A11
#[test]
fn what_a_person_says_to_a_question_reaches_the_next_session() {
    // The question of a policy that may be a stranger's stays between it and the person.
    for (policy, reads) in [("resilience", "Which format?"), ("team", "a policy asked a person something")] {
        person_answers(policy, reads);
    }
}

fn person_answers(policy: &'static str, reads: &str) {
    let mut world = TestRun::new(workflow(&[("1", &["a"])]));
    (world.policy, world.unfinished) = (policy, 1.into());
    world.recovery =
        Some((Verdict::Answered, RecoveryAction::AskPerson { question: "Which format?".into() }));
    world.go();
    let question = &world.run.view(world.now).unwrap().questions[0];
    assert!(question.text.contains("Which format?"), "{}", question.text);
    assert_eq!(question.text.contains("The policy team asks"), policy == "team", "{}", question.text);
    let question = question.id;
    let message = Some("CSV, with a header line".to_owned());
    world.put(Input::Answered { question, choice: PauseAnswer::Retry, message });
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    let seen = world.actions.iter().rev().find_map(|action| match action {
        Action::RequestDecision { request, .. } => match &request.query {
            PolicyQuery::Prompting(seen) => Some(seen),
            _ => None,
        },
        _ => None,
    });
    let seen = seen.unwrap();
    let because = seen.because.as_deref().unwrap();
    assert!(because.contains("CSV, with a header line") && because.contains(reads), "{because}");
    assert_eq!(because.contains("Which format?"), policy == "resilience", "{because}");
    assert!(seen.decisions.iter().any(|one| one.outcome.contains("CSV, with a header line")));
}

// A11
#[test]
fn what_is_reported_beside_a_prompt_is_judged_with_it() {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b", "c"])]));
    world.unfinished.set(1);
    until_at_work(&mut world, "s1");
    let (objective, status, note) = ("b".into(), ObjectiveStatus::Done, "only a stub so far".to_owned());
    report(&mut world, "s1", AgentReport::ObjectiveUpdate { objective, status, note });
    world.go();
    let judged = world.actions.iter().filter_map(|action| match action {
        Action::RequestDecision { request, .. } => match &request.query {
            PolicyQuery::Completion(seen) => Some(&seen.session.objectives),
            _ => None,
        },
        _ => None,
    });
    let judged: Vec<Vec<&str>> =
        judged.map(|of| of.iter().map(|objective| objective.id.as_str()).collect()).collect();
    assert_eq!(judged, [vec!["a", "b"], vec!["a"], vec!["b"], vec!["c"]]);
    let is_reopened = |notice: &ProgressEvent| matches!(notice, ProgressEvent::Reopened { objective, .. } if objective.as_str() == "b");
    assert_eq!(world.count(is_reopened), 1);
    assert_eq!(world.ending(), Some(RunOutcome::Done));
}
