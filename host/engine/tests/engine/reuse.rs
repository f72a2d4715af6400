//! An instance that is kept gives the answers of fresh ones, or is found out.

use std::collections::BTreeMap;

use crate::common::{agents, built_in, engine};
use crate::hostile::guests::{ANSWER, GuestBuilder, REASON};
use crate::hostile::questions;
use baton_core::decision::Fault;
use baton_engine::{COMPARED_FIRST, ConfiguredPolicy, Engine};

fn guest(engine: &Engine, guest: GuestBuilder) -> ConfiguredPolicy {
    engine.load("guest", &guest.build()).unwrap().configure(&BTreeMap::new()).unwrap()
}

/// Counts what it was asked in its memory, and answers with another reason from the n-th question on.
fn counting(n: u64) -> GuestBuilder {
    let (count, reason_bytes) = (2048, REASON + 4);
    GuestBuilder::deciding(&format!(
        "(i32.store (i32.const {count}) (i32.add (i32.load (i32.const {count})) (i32.const 1)))
         (i32.store (i32.const {}) (i32.const 1024))
         (i32.store (i32.const {reason_bytes}) (i32.const 4))
         (if (i32.ge_u (i32.load (i32.const {count})) (i32.const {n})) (then
            (i32.store (i32.const {reason_bytes}) (i32.const 3))))
         (i32.const {ANSWER})",
        REASON
    ))
    .data(1024, "once")
}

#[test]
fn the_built_in_policy_answers_the_same_with_an_instance_that_is_kept() {
    let engine = engine();
    let policy = built_in(&engine);
    let mut kept = policy.reusing();
    for name in ["assess", "brief"] {
        for question in agents(name, 400) {
            assert_eq!(kept.evaluate(&question).unwrap(), policy.evaluate(&question).result);
        }
    }
    assert!(kept.compared() > COMPARED_FIRST && kept.compared() < 800, "{}", kept.compared());
}

#[test]
fn an_instance_that_was_asked_thousands_of_questions_is_replaced_and_it_goes_on() {
    let engine = engine();
    let policy = built_in(&engine);
    let (mut kept, questions) = (policy.reusing(), agents("assess", 50));
    for question in questions.iter().cycle().take(9_000) {
        assert!(kept.evaluate(question).unwrap().is_ok());
    }
}

#[test]
fn a_policy_that_remembers_is_found_out_at_once_or_at_the_next_comparison() {
    let engine = engine();
    for n in [2, 100, COMPARED_FIRST + 10] {
        let policy = guest(&engine, counting(n));
        let mut kept = policy.reusing();
        let question = questions::compaction();
        let answers =
            (1..2 * COMPARED_FIRST).find_map(|asked| Some((asked, kept.evaluate(&question).err()?)));
        let (asked, remembers) = answers.expect("it is found out");
        assert!(asked >= n && asked <= n.max(COMPARED_FIRST) + 61, "{asked}");
        assert_eq!((remembers.asked, remembers.policy.as_str()), (asked, "guest"));
    }
}

#[test]
fn a_fault_is_told_by_a_fresh_instance_and_the_next_question_is_asked_all_the_same() {
    let engine = engine();
    // It traps on every second question of one instance: a fresh one never does.
    let policy = guest(
        &engine,
        GuestBuilder::deciding(&format!(
            "(if (i32.load (i32.const 2048)) (then unreachable))
             (i32.store (i32.const 2048) (i32.const 1))
             (i32.const {ANSWER})"
        )),
    );
    let mut kept = policy.reusing();
    for _ in 0..10 {
        assert!(kept.evaluate(&questions::compaction()).unwrap().is_ok());
    }
    let policy = guest(&engine, GuestBuilder::deciding("unreachable"));
    let fault = policy.reusing().evaluate(&questions::compaction()).unwrap();
    assert!(matches!(fault, Err(Fault::Trap { .. })), "{fault:?}");
}
