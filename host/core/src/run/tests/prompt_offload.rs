//! What becomes of large texts that a prompt would embed (C4).

use super::test_run::{ScriptedTurn, TestRun, workflow};
use crate::action::{Action, OffloadedInput, RunOutcome};
use crate::observation::{HandoffObservation, PolicyQuery, PromptKind};
use crate::text::TextBlob;

const PATH: &str =
    "In full: .baton/r1/inputs/phase-1/objective-b.md (1006 tokens, estimated; read it by ranges)";

fn description() -> String {
    format!("Write the parser.\n{}", "Mind the grammar.\n".repeat(222)) + "The end"
}

/// Two objectives, the second of them with a long description, and an agent that cannot compact.
fn world(script: &[ScriptedTurn]) -> TestRun {
    let mut flow = workflow(&[("1", &["a", "b"])]);
    flow.phases[0].objectives[1].description = description();
    flow.phases[0].verify = Some("check".into());
    let mut world = TestRun::new(flow);
    world.compacts = false;
    world.script = script.iter().copied().collect();
    world
}

fn finished(mut world: TestRun) -> TestRun {
    world.go();
    assert_eq!(world.ending(), Some(RunOutcome::Done));
    world
}

/// What every prompt was written from.
fn briefs(world: &TestRun) -> Vec<(&HandoffObservation, &[TextBlob])> {
    let asked = world.actions.iter().filter_map(|action| match action {
        Action::RequestDecision { request, .. } => Some(request),
        _ => None,
    });
    let briefs = asked.filter_map(|question| match &question.query {
        PolicyQuery::Prompting(observation) => Some((&**observation, question.texts.as_slice())),
        _ => None,
    });
    briefs.collect()
}

fn offloaded(world: &TestRun) -> Vec<&OffloadedInput> {
    let items = world.actions.iter().filter_map(|action| match action {
        Action::Offload { items, .. } => Some(items),
        _ => None,
    });
    items.flatten().collect()
}

#[test]
fn in_a_full_context_a_large_objective_is_a_pointer_and_elsewhere_it_is_embedded() {
    // C4
    let full = finished(world(&[ScriptedTurn::Finish(900)]));
    let [kept] = offloaded(&full)[..] else { panic!("one text is kept") };
    assert_eq!(
        (kept.name.as_str(), kept.text.body()),
        ("inputs/phase-1/objective-b.md", Some(&*description()))
    );
    let (next, _) = briefs(&full)[1];
    assert_eq!((next.kind, &next.focus), (PromptKind::Next, &vec!["b".into()]));
    assert_eq!(next.objectives[1].description, format!("Write the parser. {PATH}"));
    let inputs: Vec<_> =
        full.run.inputs().map(|(input, is_unloaded)| (input.name.as_str(), is_unloaded)).collect();
    assert_eq!(inputs, [("inputs/phase-1/objective-b.md", true)], "its phase is over");

    let half = finished(world(&[ScriptedTurn::Finish(500)]));
    assert_eq!(offloaded(&half), Vec::<&OffloadedInput>::new());
    assert_eq!(briefs(&half)[1].0.objectives[1].description, description());
}

#[test]
fn it_stays_a_pointer_while_the_context_is_full_and_a_new_one_gets_the_text() {
    // C4
    let world = finished(world(&[ScriptedTurn::Finish(900), ScriptedTurn::Nothing, ScriptedTurn::Exhaust]));
    let seen: Vec<_> =
        briefs(&world).iter().map(|(o, _)| (o.kind, o.objectives[1].description.contains(PATH))).collect();
    let expected = [
        (PromptKind::First, false),
        (PromptKind::Next, true),
        // It answered nothing, and its context is not full any more.
        (PromptKind::Nudged, false),
        (PromptKind::Continuing, false),
    ];
    assert_eq!(seen, expected);

    let mut again =
        self::world(&[ScriptedTurn::Finish(900), ScriptedTurn::Finish(900), ScriptedTurn::Finish(900)]);
    again.verdicts = [false, false].into();
    let again = finished(again);
    let pointers = briefs(&again).iter().filter(|(o, _)| o.objectives[1].description.contains(PATH)).count();
    assert_eq!((pointers, again.run.inputs().count()), (3, 1), "kept under one name");
}

#[test]
fn findings_keep_their_first_and_last_lines_and_end_with_the_pointer() {
    // C4
    let mut world = world(&[ScriptedTurn::Finish(300), ScriptedTurn::Finish(900)]);
    world.verdicts = [false].into();
    world.findings = (0..120).map(|n| format!("line {n}: {}\n", "x".repeat(100))).collect();
    let world = finished(world);
    let (nudge, texts) = *briefs(&world).last().unwrap();
    assert_eq!(nudge.kind, PromptKind::Nudged);
    let findings = texts[nudge.findings.unwrap().0 as usize].body().unwrap();
    let lines: Vec<&str> = findings.lines().collect();
    assert_eq!(lines.len(), 22);
    assert!(lines[0].starts_with("line 0: x") && lines[9].starts_with("line 9: "), "{findings}");
    assert_eq!(lines[10], "… 100 lines …");
    assert!(lines[11].starts_with("line 110: ") && lines[20].starts_with("line 119: "), "{findings}");
    assert!(lines[21].starts_with("In full: .baton/r1/inputs/phase-1/findings.md ("), "{findings}");
    assert!(findings.len() < 2_048);
    assert!(offloaded(&world).iter().any(|kept| kept.text.body() == Some(world.findings.as_str())));
}

#[test]
fn an_answer_that_names_anything_else_offloads_nothing() {
    // C4
    for ids in [&["objective:a"][..], &["objective:b", "x"], &["objective:b", "objective:b"], &[]] {
        let mut world = world(&[ScriptedTurn::Finish(900)]);
        world.offloads = Some(ids.iter().map(|id| (*id).to_owned()).collect());
        let world = finished(world);
        assert_eq!(offloaded(&world), Vec::<&OffloadedInput>::new(), "{ids:?}");
        assert_eq!(briefs(&world)[1].0.objectives[1].description, description(), "{ids:?}");
    }
}

#[test]
fn what_cannot_be_kept_is_embedded() {
    // C4
    let mut world = world(&[ScriptedTurn::Finish(900)]);
    world.keeps = false;
    let world = finished(world);
    assert_eq!(offloaded(&world).len(), 1, "it was tried");
    assert_eq!(briefs(&world)[1].0.objectives[1].description, description());
    assert_eq!(world.run.inputs().count(), 0);
}
