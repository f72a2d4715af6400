//! The turns of a phase: given again while the work moves, and never without end.

use super::test_run::*;
use crate::action::Action;
use crate::facts::{AgentEvent, Refusal, RefusalKind};
use crate::input::{Input, PauseAnswer};
use crate::observation::{BudgetingObservation, PolicyQuery, TurnUsage};
use crate::progress::ProgressEvent;
use crate::view::PhaseStatus;

/// One objective, with three turns to begin with, by an agent that works and works.
fn long(turns_needed: u32) -> TestRun {
    let mut workflow = workflow(&[("p", &["a"])]);
    workflow.roles.get_mut(&"executor".into()).unwrap().max_turns = Some(3);
    let mut world = TestRun::new(workflow);
    world.script = [ScriptedTurn::Work { turns: turns_needed, moves: true }].into();
    world.gives_turns = true;
    world
}

/// What was asked about turns that were used up.
fn asked(world: &TestRun) -> Vec<TurnUsage> {
    let spent = |action: &Action| match action {
        Action::RequestDecision { request, .. } => match &request.query {
            PolicyQuery::Budgeting(seen) => BudgetingObservation::clone(seen).spent,
            _ => None,
        },
        _ => None,
    };
    world.actions.iter().filter_map(spent).collect()
}

fn row(world: &TestRun) -> crate::view::PhaseSummary {
    world.run.view(world.now).unwrap().phases[0].clone()
}

#[test]
fn a_prompt_of_many_turns_runs_to_its_end_in_one_session_while_files_move() {
    // A1
    let mut world = long(14);
    world.go();
    assert_eq!(row(&world).status, PhaseStatus::Done);
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::SessionStarted { .. })), 1);
    let asked = asked(&world);
    assert!(asked.len() >= 3 && asked.iter().all(|spent| spent.files_changed > 0), "{asked:?}");
    assert!(asked.iter().all(|spent| spent.ceiling == Some(30)));
    assert_eq!(world.count(|n| matches!(n, ProgressEvent::Stopped { .. } | ProgressEvent::Paused { .. })), 0);
}

#[test]
fn who_moves_a_file_each_turn_for_ever_ends_at_the_ceiling_and_a_person_is_told_its_key() {
    let mut world = long(u32::MAX);
    world.go();
    let row = row(&world);
    assert_eq!((row.status, row.turns, row.max_turns), (PhaseStatus::Paused, 30, 30));
    let question = &world.run.view(world.now).unwrap().questions[0];
    assert!(
        question.text.contains("30 turns at most")
            && question.text.contains("`turn_ceiling` in [roles.executor]")
    );
    // A person lets it begin again, and what is shown adds up.
    world.script = [ScriptedTurn::Finish(100)].into();
    world.answer(PauseAnswer::Retry);
    let row = super::turns::row(&world);
    assert_eq!((row.status, row.max_turns), (PhaseStatus::Done, 33));
    assert!(row.turns <= row.max_turns);
}

#[test]
fn a_ceiling_that_a_person_writes_is_hard() {
    let mut world = long(u32::MAX);
    let mut workflow = workflow(&[("p", &["a"])]);
    let role = workflow.roles.get_mut(&"executor".into()).unwrap();
    (role.max_turns, role.turn_ceiling) = (Some(3), Some(3));
    world.queue.clear();
    let mut hard = TestRun::new(workflow);
    (hard.script, hard.gives_turns) = (world.script.clone(), true);
    hard.go();
    assert_eq!((row(&hard).status, row(&hard).turns), (PhaseStatus::Paused, 3));
    assert_eq!(asked(&hard), []);
}

#[test]
fn who_moves_nothing_is_continued_with_a_fresh_look_and_then_a_person_is_asked() {
    // A8
    let mut world = long(0);
    world.gives_turns = false;
    world.script = [
        ScriptedTurn::Work { turns: u32::MAX, moves: false },
        ScriptedTurn::Work { turns: u32::MAX, moves: false },
    ]
    .into();
    world.go();
    let row = row(&world);
    assert_eq!((row.status, row.continuation, row.sessions.len()), (PhaseStatus::Paused, 1, 2));
    assert_eq!((row.turns, row.max_turns), (6, 6));
    let stops =
        |n: &ProgressEvent| matches!(n, ProgressEvent::Stopped { verdict, .. } if verdict == "turn-limit");
    assert_eq!(world.count(stops), 2);
    // Its successor gets there.
    let mut world = long(0);
    world.gives_turns = false;
    world.script = [ScriptedTurn::Work { turns: u32::MAX, moves: false }, ScriptedTurn::Finish(100)].into();
    world.go();
    assert_eq!(super::turns::row(&world).status, PhaseStatus::Done);
}

#[test]
fn who_goes_in_circles_gets_more_turns_once_and_a_person_is_told_what_it_took() {
    // A1, A8: 573 turns and 16 million tokens, in which nothing came of anything.
    let mut world = long(0);
    (world.idle_grants, world.circles) = (1, true);
    world.script = [ScriptedTurn::Work { turns: u32::MAX, moves: false }; 3].into();
    world.go();
    let row = row(&world);
    assert_eq!(
        (row.status, row.sessions.len(), row.turns),
        (PhaseStatus::Paused, 2, 9),
        "a new session gets none for nothing"
    );
    let told = |of: fn(&ProgressEvent) -> Option<&String>| {
        world.notices.iter().filter_map(of).cloned().collect::<Vec<_>>()
    };
    let budgets = told(|n| if let ProgressEvent::Budgeted { reason, .. } = n { Some(reason) } else { None });
    assert_eq!(budgets.len(), 1, "{budgets:?}");
    assert!(budgets[0].ends_with("; its context was compacted 3 times meanwhile"), "{budgets:?}");
    let stops = told(|n| if let ProgressEvent::Stopped { reason, .. } = n { Some(reason) } else { None });
    assert!(stops[0].starts_with("the 6 turns of the phase are used up: "), "{stops:?}");
    assert!(
        stops[1].starts_with("the 9 turns of the phase are used up, 3 of them by this session: "),
        "{stops:?}"
    );
    let text = &world.run.view(world.now).unwrap().questions[0].text;
    assert!(
        text.contains(
            " It used 9 turns (3 of them by its last session), at least 990 tokens and at least $0.01."
        ),
        "{text}"
    );
    assert!(text.contains("`max_turns` in [roles.executor]"), "{text}");
}

#[test]
fn a_person_is_told_what_the_last_session_was_refused_and_said() {
    let mut world = long(0);
    world.gives_turns = false;
    world.script = [ScriptedTurn::Work { turns: u32::MAX, moves: false }; 2].into();
    while world.count(|n| matches!(n, ProgressEvent::Prompted { .. })) < 2 && world.step() {}
    let session = row(&world).sessions[1].id.clone();
    for event in [
        AgentEvent::Refused(Refusal { kind: RefusalKind::Own, target: "git push: not allowed".to_owned() }),
        AgentEvent::Text { text: "I cannot \n\"push\" here.".to_owned() },
    ] {
        world.put(Input::Agent { session: session.clone(), event });
    }
    world.go();
    let text = &world.run.view(world.now).unwrap().questions[0].text;
    let told = r#" Its last session was refused a call: "git push: not allowed". It said last: "I cannot \"push\" here."."#;
    assert!(text.ends_with(told), "{text}");
    world.answer(PauseAnswer::Retry);
    let prompts = world.texts_of_prompts();
    assert!(prompts.iter().all(|prompt| !prompt.contains("It said last")), "{prompts:?}");
}

#[test]
fn an_exhausted_session_leaves_what_is_left_and_no_more() {
    // A6
    let mut world = long(0);
    world.script = [ScriptedTurn::Exhaust, ScriptedTurn::Finish(100)].into();
    world.go();
    let continued =
        |n: &ProgressEvent| matches!(n, ProgressEvent::SessionStarted { continuation: 1, max_turns: 2, .. });
    assert_eq!(world.count(continued), 1);
    assert_eq!(asked(&world), []);
}

#[test]
fn a_host_that_dies_while_turns_are_asked_for_asks_again() {
    for steps in 5..60 {
        let mut world = long(14);
        for _ in 0..steps {
            world.step();
        }
        world.script = [ScriptedTurn::Finish(100)].into();
        world.crash();
        world.go();
        assert_eq!(row(&world).status, PhaseStatus::Done, "after {steps} steps");
    }
}
