//! The contract grows by facts: a component that was built before one was there runs as it did, byte for byte, and one that reads
//! it gets it from the question, so that a replay gives the same.

mod common;
#[path = "../../../tests/hostile/guests.rs"]
mod guests;
#[path = "../../../tests/hostile/questions.rs"]
mod questions;

use std::collections::BTreeMap;

use baton_core::observation::{Facts, PastSession, Question};
use baton_engine::Engine;
use common::engine;
use guests::{ANSWER, Guest, REASON, contract};

/// The contract as it was before there were facts.
fn without_facts() -> String {
    let facts = include_str!("../../../wit/facts.wit");
    let worlds = contract();
    let (before, rest) =
        worlds.split_once("/// Facts that a policy may import beside that.").expect("a world of facts");
    let (_, after) = rest.split_once("}\n").expect("it ends");
    format!("{before}{after}").replace(facts, "")
}

/// Answers with the id of the newest session that is over, and with "none" where there is none.
fn reader() -> Guest {
    Guest::deciding(&format!(
        "(local $sessions i32)
         (call $past-sessions (i32.const 1) (i32.const 1024))
         (i32.store (i32.const {REASON}) (i32.const 2048))
         (i32.store (i32.const {length}) (i32.const 4))
         (if (i32.load (i32.const 1028)) (then
            (local.set $sessions (i32.load (i32.const 1024)))
            (i32.store (i32.const {REASON}) (i32.load (local.get $sessions)))
            (i32.store (i32.const {length}) (i32.load offset=4 (local.get $sessions)))))
         (i32.const {ANSWER})",
        length = REASON + 4,
    ))
    .contract("world compaction-policy {", "world compaction-policy {\n    import facts-history;")
    .import("facts-history", "past-sessions")
    .data(2048, "none")
}

fn reason(engine: &Engine, component: &[u8], question: &Question) -> String {
    let policy = engine.load("guest", component).unwrap().configure(&BTreeMap::new()).unwrap();
    policy.evaluate(question).result.unwrap().expect("it answers").reason().to_owned()
}

fn with_a_past() -> Question {
    let past = PastSession {
        id: "s7".into(),
        agent: "claude".into(),
        role: "executor".into(),
        ended_by: Some("exhausted".into()),
        objectives_done: 1,
        turns: 40,
        compactions: 1,
        peak_tokens: Some(170_000),
        window_tokens: Some(200_000),
    };
    Question { facts: Facts { past_sessions: vec![past] }, ..questions::compaction() }
}

#[test]
fn a_new_component_reads_a_fact_and_an_old_one_runs_as_it_did() {
    let engine = engine();
    let old = Guest::good("there is room").written_against(&without_facts()).build();
    assert_eq!(
        old,
        Guest::good("there is room").build(),
        "the fact changes no byte of what does not read it"
    );
    let new = reader().build();
    for (question, found) in [(with_a_past(), "s7"), (questions::compaction(), "none")] {
        assert_eq!(reason(&engine, &old, &question), "there is room");
        assert_eq!(reason(&engine, &new, &question), found);
        // What is in the journal is all that a replay has.
        let journaled: Question = serde_json::from_str(&serde_json::to_string(&question).unwrap()).unwrap();
        assert_eq!(journaled.facts, question.facts);
    }
}
