//! How sessions end that were not stopped by a verdict, and what the view says of objectives meanwhile.

use super::world::{Does, World, workflow};
use crate::action::Ending;
use crate::ids::Digest;
use crate::input::{Input, Report, SplitGroupReport};
use crate::observation::ObjectiveStatus;
use crate::view::{ObjectiveRow, RunStatus};

fn endings(world: &World) -> Vec<String> {
    let view = world.run.view(world.now).unwrap();
    view.phases.iter().flat_map(|phase| &phase.sessions).map(|session| session.ending.clone()).collect()
}

fn until_at_work(world: &mut World, session: &str) {
    while !world.run.live_sessions().iter().any(|live| live.as_str() == session) {
        assert!(world.step());
    }
}

fn report(world: &mut World, session: &str, report: Report) {
    let digest = Digest::of(format!("{session} {report:?}"));
    world.put(Input::Reported { session: Some(session.into()), digest, report });
}

// C26
#[test]
fn a_hand_off_by_choice_ends_near_capacity() {
    let mut world = World::new(workflow(&[("1", &["a", "b", "c"])]));
    world.hands_off_from = Some(800);
    world.script = [Does::Finish(300), Does::Finish(900)].into();
    world.go();
    assert_eq!(world.ending(), Some(Ending::Done));
    assert_eq!(endings(&world), ["near-capacity", "done"]);
}

// A8 C21
#[test]
fn the_policy_alone_says_how_much_comes_before_a_hand_off_and_idle_ones_come_to_an_end() {
    let mut world = World::new(workflow(&[("1", &["a", "b"])]));
    world.hands_off_from = Some(0);
    world.script = vec![Does::Nothing; 10].into();
    for session in ["s1", "s2"] {
        until_at_work(&mut world, session);
        let group = SplitGroupReport { title: "one".into(), objectives: vec!["a".into()] };
        // A request leads to a boundary at which nothing is done.
        report(&mut world, session, Report::SplitRequest { groups: vec![group], rationale: "much".into() });
    }
    world.go();
    assert_eq!(endings(&world), ["near-capacity", "near-capacity"]);
    assert_eq!(world.run.status(), RunStatus::Paused);
    let view = world.run.view(world.now).unwrap();
    assert!(view.questions[0].text.contains("the last continuation finished none"));
}

// C19
#[test]
fn an_objective_has_its_note_and_its_times() {
    let mut world = World::new(workflow(&[("1", &["a", "b"])]));
    let a = |world: &World| -> ObjectiveRow {
        world.run.view(world.now).unwrap().phases[0].objectives[0].clone()
    };
    until_at_work(&mut world, "s1");
    assert_eq!((a(&world).started_at, a(&world).updated_at, a(&world).completed_at), (None, None, None));
    let note = "3 of 5 cases done".to_owned();
    let status = ObjectiveStatus::InProgress;
    report(&mut world, "s1", Report::ObjectiveUpdate { objective: "a".into(), status, note: note.clone() });
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
