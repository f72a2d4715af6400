//! What becomes of tool results that are offered (C3).

use super::test_run::{TestRun, label, workflow, wrong_answer};
use crate::action::Action;
use crate::decision::{Decision, Fault, OffloadingDecision};
use crate::ids::RequestId;
use crate::input::{Input, JournaledInput};
use crate::observation::{Capability, ContextItem, ContextItemKind, PolicyQuery};
use crate::progress::ProgressEvent;

fn item(n: usize) -> ContextItem {
    ContextItem { id: format!("tool-result-{n}"), kind: ContextItemKind::ToolResult, tokens: 25_000 }
}

fn offload(items: &[&str]) -> Result<Decision, Fault> {
    let items = items.iter().map(|id| (*id).to_owned()).collect();
    Ok(Decision::Offloading(OffloadingDecision { items, reason: "large".into() }))
}

/// A run whose only session works, with nothing under way but its prompt.
fn at_work() -> TestRun {
    let mut world = TestRun::new(workflow(&[("1", &["a", "b"])]));
    while !world.notices.iter().any(|notice| matches!(notice, ProgressEvent::Prompted { .. })) {
        assert!(world.step(), "a session begins");
    }
    world
}

fn apply(world: &mut TestRun, input: Input) -> Vec<Action> {
    let stamped = JournaledInput { seq: world.run.seq().next(), at: world.now, input };
    world.run.apply(&stamped).unwrap().into_iter().map(|intent| intent.action).collect()
}

fn offer(world: &mut TestRun, n: usize) -> Vec<Action> {
    let session = world.run.live_sessions()[0].clone();
    apply(world, Input::ToolResultOffered { session, item: item(n) })
}

fn asked(actions: &[Action]) -> RequestId {
    match actions {
        [Action::RequestDecision { request_id, request, .. }] => {
            assert!(matches!(&request.query, PolicyQuery::Offloading(o) if o.items.len() == 1));
            *request_id
        }
        other => panic!("{other:?}"),
    }
}

fn decide(world: &mut TestRun, request_id: RequestId, result: Result<Decision, Fault>) -> Vec<Action> {
    apply(world, Input::Decided { request_id, result, label: Box::new(label(Capability::Offloading)) })
}

#[test]
fn what_the_policy_offloads_is_replaced_and_everything_else_stays() {
    // C3
    let answers = [
        (offload(&["tool-result-1"]), true),
        (offload(&[]), false),
        (offload(&["tool-result-2"]), false),
        (offload(&["tool-result-1", "tool-result-2"]), false),
        (offload(&["tool-result-1", "tool-result-1"]), false),
        (Ok(wrong_answer(Capability::Offloading)), false),
        (Err(Fault::Trap { message: "oops".into() }), false),
    ];
    for (answer, expected) in answers {
        let mut world = at_work();
        let before = world.run.clone();
        let actions = offer(&mut world, 1);
        let request = asked(&actions);
        let placed = decide(&mut world, request, answer.clone());
        assert_eq!(
            placed,
            [Action::DeliverToolResult { item: "tool-result-1".into(), offload: expected }],
            "{answer:?}"
        );
        assert_eq!(before.status(), world.run.status(), "the course of the run is what it was");
        assert_eq!(decide(&mut world, request, offload(&["tool-result-1"])), [], "an answer counts once");
    }
}

#[test]
fn an_offer_of_nobody_is_answered_at_once() {
    let mut world = at_work();
    let kept = |n| [Action::DeliverToolResult { item: format!("tool-result-{n}"), offload: false }];
    for n in 0..super::super::tool_result_offload::PENDING_OFFERS_MAX {
        asked(&offer(&mut world, n));
    }
    assert_eq!(offer(&mut world, 1), kept(1), "one that waits already");
    assert_eq!(offer(&mut world, 1_000), kept(1_000), "one too many");
    apply(&mut world, Input::Resumed);
    let session = world.run.view(world.now).unwrap().phases[0].sessions[0].id.clone();
    assert_eq!(
        apply(&mut world, Input::ToolResultOffered { session, item: item(5) }),
        kept(5),
        "its session is gone"
    );
}
