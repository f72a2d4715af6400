//! What goes with a question of what came before (C12, C13, B9).

use crate::action::Action;
use crate::observation::QueryFacts;

use super::test_run::{ScriptedTurn, TestRun, workflow};

/// The facts of every question, in order.
fn told(world: &TestRun) -> Vec<QueryFacts> {
    let facts = |action: &Action| match action {
        Action::RequestDecision { request, .. } => Some(request.facts.clone()),
        _ => None,
    };
    world.actions.iter().filter_map(facts).collect()
}

#[test]
fn a_question_knows_what_came_before_in_its_phase() {
    let mut world = TestRun::new(workflow(&[("one", &["a", "b", "c", "d"])]));
    world.script = [
        ScriptedTurn::Finish(300),
        ScriptedTurn::Forget { finishes: true },
        ScriptedTurn::Quota(Some(1)),
        ScriptedTurn::Exhaust,
    ]
    .into();
    world.go();
    let facts = told(&world);
    assert_eq!(facts[0], QueryFacts::default(), "nothing came before the first question");
    let newest = facts.last().unwrap();

    // The session before, with its compaction, is still known to its successor.
    assert_eq!(newest.past_sessions.len(), 1);
    let before = &newest.past_sessions[0];
    assert_eq!(before.ended_by.as_deref(), Some("exhausted"));
    let compaction = &newest.past_compactions[0];
    assert_eq!((&compaction.session, compaction.turn, compaction.by_host), (&before.id, 1, false));
    assert_eq!((compaction.before_tokens, compaction.after_tokens), (Some(300), Some(200)));

    // Turns are those of the session itself, newest first, with what each cost.
    let ordinals = |facts: &QueryFacts| facts.turns_taken.iter().map(|turn| turn.ordinal).collect::<Vec<_>>();
    assert!(facts.iter().any(|facts| ordinals(facts) == [4, 3, 2, 1]));
    let [turn, ..] = &newest.turns_taken[..] else { panic!("it took no turn") };
    assert_eq!((turn.billed_input_tokens, turn.cost_microusd), (300, Some(1000)));

    // A wait has its beginning and its end.
    let wait = &newest.past_waits[0];
    assert_eq!(newest.past_waits.len(), 1);
    assert_eq!(
        wait.ended_at_ms.map(|end| end.since(wait.began_at_ms)),
        Some(world.run.view(world.now).unwrap().quota_wait_ms)
    );

    // The handoff that the session before left.
    let handoff = &newest.past_handoffs[0];
    assert_eq!(handoff.session, before.id);
    assert!(handoff.score.is_some() && handoff.staleness.is_some());
}

#[test]
fn of_each_kind_only_the_newest_are_told() {
    let ids: Vec<String> = (0..20).map(|n| format!("o{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let mut world = TestRun::new(workflow(&[("one", &ids)]));
    world.script = vec![ScriptedTurn::Forget { finishes: true }; 20].into();
    world.go();
    let newest = told(&world).pop().unwrap();
    let turns: Vec<u32> = newest.turns_taken.iter().map(|turn| turn.ordinal).collect();
    assert_eq!(turns, (13..=20).rev().collect::<Vec<_>>());
    let compacted: Vec<u32> = newest.past_compactions.iter().map(|one| one.turn).collect();
    assert_eq!(compacted, (4..=19).rev().collect::<Vec<_>>());
}
