//! The contract grows by facts: a component that was built before one was there runs as it did, byte for byte, and one that reads
//! it gets it from the question, so that a replay gives the same.

use std::collections::BTreeMap;

use crate::common::engine;
use crate::hostile::guests::{ANSWER, GuestBuilder, REASON, contract};
use crate::hostile::questions;
use baton_core::decision::{QuotaCause, Staleness};
use baton_core::observation::{
    PastCompaction, PastHandoff, PastSession, PastTurn, PastWait, PolicyRequest, QueryFacts,
};
use baton_core::{DurationMs, UnixMs};
use baton_engine::Engine;

/// The contract as it was before there were facts.
fn without_facts() -> String {
    let facts = include_str!("../../../../wit/facts.wit");
    let worlds = contract();
    let (before, rest) =
        worlds.split_once("/// Facts that a policy may import beside that.").expect("a world of facts");
    let (_, after) = rest.split_once("}\n").expect("it ends");
    format!("{before}{after}").replace(facts, "")
}

/// Answers with a text of the newest entry of a fact, whose pointer is `text_at` bytes behind the beginning of the entry; with
/// "some" if the entry has no text, and with "none" if there is no entry.
fn reader(interface: &'static str, function: &'static str, text_at: Option<u32>) -> GuestBuilder {
    let found = match text_at {
        None => format!("(i32.store (i32.const {REASON}) (i32.const 2052))"),
        Some(at) => format!(
            "(local.set $entries (i32.load (i32.const 1024)))
             (i32.store (i32.const {REASON}) (i32.load offset={at} (local.get $entries)))
             (i32.store (i32.const {length}) (i32.load offset={length_at} (local.get $entries)))",
            length = REASON + 4,
            length_at = at + 4,
        ),
    };
    GuestBuilder::deciding(&format!(
        "(local $entries i32)
         (call ${function} (i32.const 1) (i32.const 1024))
         (i32.store (i32.const {REASON}) (i32.const 2048))
         (i32.store (i32.const {length}) (i32.const 4))
         (if (i32.load (i32.const 1028)) (then {found}))
         (i32.const {ANSWER})",
        length = REASON + 4,
    ))
    .contract("world compaction-policy {", &format!("world compaction-policy {{\n    import {interface};"))
    .import(interface, function)
    .data(2048, "nonesome")
}

/// Every fact of the contract, the offset of a text in its entries, and that text.
const FACTS: [(&str, &str, Option<u32>, &str); 5] = [
    ("facts-history", "past-sessions", Some(0), "s7"),
    ("facts-turns", "turns-taken", Some(60), "sonnet"),
    ("facts-compactions", "past-compactions", Some(0), "s6"),
    ("facts-waits", "past-waits", None, "some"),
    ("facts-handoffs", "past-handoffs", Some(0), "docs/handoffs/build-1.md"),
];

fn reason(engine: &Engine, component: &[u8], question: &PolicyRequest) -> String {
    let policy = engine.load("guest", component).unwrap().configure(&BTreeMap::new()).unwrap();
    policy.evaluate(question).result.unwrap().expect("it answers").reason().to_owned()
}

fn with_a_past() -> PolicyRequest {
    let past_sessions = vec![PastSession {
        id: "s7".into(),
        agent: "claude".into(),
        role: "executor".into(),
        ended_by: Some("exhausted".into()),
        objectives_done: 1,
        turns: 40,
        compactions: 1,
        peak_tokens: Some(170_000),
        window_tokens: Some(200_000),
    }];
    let turns_taken = vec![PastTurn {
        ordinal: 3,
        ended_at_ms: UnixMs(9_000),
        took_ms: DurationMs(4_000),
        billed_input_tokens: 1_000,
        billed_output_tokens: 100,
        cost_microusd: Some(7),
        model: Some("sonnet".into()),
    }];
    let past_compactions = vec![PastCompaction {
        session: "s6".into(),
        turn: 12,
        ended_at_ms: UnixMs(5_000),
        by_host: false,
        before_tokens: Some(160_000),
        after_tokens: None,
    }];
    let past_waits =
        vec![PastWait { cause: QuotaCause::Usage, began_at_ms: UnixMs(1_000), ended_at_ms: None }];
    let past_handoffs = vec![PastHandoff {
        path: "docs/handoffs/build-1.md".into(),
        session: "s6".into(),
        score: Some(95),
        staleness: Some(Staleness::Fresh),
    }];
    let facts = QueryFacts { past_sessions, turns_taken, past_compactions, past_waits, past_handoffs };
    PolicyRequest { facts, ..questions::compaction() }
}

#[test]
fn a_new_component_reads_each_fact_and_an_old_one_runs_as_it_did() {
    let engine = engine();
    let old = GuestBuilder::good("there is room").written_against(&without_facts()).build();
    assert_eq!(
        old,
        GuestBuilder::good("there is room").build(),
        "the fact changes no byte of what does not read it"
    );
    for (question, is_known) in [(with_a_past(), true), (questions::compaction(), false)] {
        assert_eq!(reason(&engine, &old, &question), "there is room");
        for (interface, function, text_at, said) in FACTS {
            let new = reader(interface, function, text_at).build();
            let expected = if is_known { said } else { "none" };
            assert_eq!(reason(&engine, &new, &question), expected, "{interface}");
        }
        // What is in the journal is all that a replay has.
        let journaled: PolicyRequest =
            serde_json::from_str(&serde_json::to_string(&question).unwrap()).unwrap();
        assert_eq!(journaled.facts, question.facts);
    }
}
