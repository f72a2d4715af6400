//! The ceiling of what a policy can tell: it sees transcripts, and has no way out but its decision. Shown here is that there
//! is no other way, and how wide this one is. What the host does with a decision that carries a secret is shown by a whole
//! run, in `tests/e2e/hostile_run.rs`.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::TextBlob;
use baton_core::decision::{Decision, Fault};
use baton_core::observation::PolicyRequest;
use baton_engine::limits::{LOG_BYTES, LOG_LINES, REASON_BYTES};
use wit_parser::{Resolve, WorldItem};

use crate::hostile::guests::{ANSWER, GuestBuilder, REASON, contract};
use crate::hostile::{configured, engine, questions};

/// Every function that the contract lends to a policy, and whether it gives anything back. What gives nothing back can
/// only tell: that is the log.
const IMPORTED_FUNCTIONS: [(&str, &str, bool); 12] = [
    ("artifacts", "names", true),
    ("artifacts", "read", true),
    ("config", "get-flag", true),
    ("config", "get-integer", true),
    ("config", "get-number", true),
    ("config", "get-text", true),
    ("config", "get-texts", true),
    ("log", "write", false),
    ("text", "find-any", true),
    ("text", "find-setting", true),
    ("text", "len", true),
    ("text", "slice", true),
];

// M6
#[test]
fn no_function_that_a_policy_may_call_tells_anybody_anything_but_the_log() {
    let mut resolve = Resolve::default();
    let package = resolve.push_str("contract.wit", &contract()).expect("the contract is WIT");
    let mut lent = BTreeSet::new();
    for name in [
        "exhaustion-policy",
        "compaction-policy",
        "splitting-policy",
        "budgeting-policy",
        "prompting-policy",
        "handoff-policy",
        "review-policy",
        "settings-policy",
        "policy",
    ] {
        let world = resolve.select_world(&[package], Some(name)).expect("the world exists");
        for item in resolve.worlds[world].imports.values() {
            let WorldItem::Interface { id, .. } = item else { panic!("{name} imports what is no interface") };
            let interface = &resolve.interfaces[*id];
            for function in interface.functions.values() {
                let of = interface.name.clone().expect("it has a name");
                lent.insert((of, function.name.clone(), function.result.is_some()));
            }
        }
    }
    let known =
        IMPORTED_FUNCTIONS.map(|(interface, name, answers)| (interface.to_owned(), name.to_owned(), answers));
    assert_eq!(lent, BTreeSet::from(known), "a new function: can it tell anybody what a policy has seen?");
}

/// Reads the beginning of what it is shown, and answers with so many bytes of it.
fn telling(bytes: usize) -> GuestBuilder {
    GuestBuilder::deciding(&format!(
        "(call $slice (i32.const 0) (i32.const 0) (i32.const {bytes}) (i32.const 512))
         (i32.store (i32.const {}) (i32.load (i32.const 512)))
         (i32.store (i32.const {}) (i32.load (i32.const 516)))
         (i32.const {ANSWER})",
        REASON,
        REASON + 4
    ))
    .import("text", "slice")
}

fn transcript() -> PolicyRequest {
    PolicyRequest {
        texts: vec![TextBlob::new("the whole transcript ".repeat(5_000))],
        ..questions::compaction()
    }
}

// M6
#[test]
fn a_decision_carries_what_it_was_shown_up_to_its_cap_and_no_further() {
    let engine = engine();
    let told = configured(&engine, "tells", &telling(REASON_BYTES)).evaluate(&transcript());
    let Ok(Some(Decision::Compaction(decision))) = told.result else { panic!("{:?}", told.result) };
    assert_eq!(decision.reason.len(), REASON_BYTES, "a sentence is as much as it can tell a person");
    let told = configured(&engine, "tells", &telling(REASON_BYTES + 1)).evaluate(&transcript());
    assert_eq!(told.result, Err(Fault::TooLarge { limit_bytes: REASON_BYTES as u64 }));
}

// M6
#[test]
fn the_log_carries_no_more_than_its_cap() {
    let tells = GuestBuilder::deciding(&format!(
        "(local $line i32)
         (call $slice (i32.const 0) (i32.const 0) (i32.const 60000) (i32.const 512))
         (loop $next
            (call $write (i32.const 2) (i32.load (i32.const 512)) (i32.load (i32.const 516)))
            (br_if $next (i32.lt_u (local.tee $line (i32.add (local.get $line) (i32.const 1))) (i32.const 100))))
         (i32.const {ANSWER})"
    ));
    let tells = tells.import("text", "slice").import("log", "write");
    let told = configured(&engine(), "tells", &tells).evaluate(&transcript());
    assert!(told.result.is_ok(), "{:?}", told.result);
    assert!(told.logs.iter().all(|line| line.message.len() <= LOG_BYTES as usize));
    assert_eq!((told.logs.len(), told.logs_dropped), (LOG_LINES as usize, 100 - LOG_LINES));
}

/// Not even the next decision of its own learns of it: each has an instance of its own, and a settled state of the world.
// M6
#[test]
fn nothing_is_told_to_the_next_decision() {
    let asked = "(global $asked (mut i32) (i32.const 0))";
    let counts = GuestBuilder::deciding(&format!(
        "(global.set $asked (i32.add (global.get $asked) (i32.const 1)))
         (i32.store8 (i32.const 1024) (i32.add (global.get $asked) (i32.const 48)))
         (i32.store8 (i32.const 1025) (i32.load8_u (i32.const 90000)))
         (i32.store8 (i32.const 90000) (i32.const 33))
         (i32.store (i32.const {}) (i32.const 1024))
         (i32.store (i32.const {}) (i32.const 2))
         (i32.const {ANSWER})",
        REASON,
        REASON + 4
    ))
    .item(asked);
    let counts = configured(&engine(), "counts", &counts);
    let said: BTreeMap<_, _> = (0..9)
        .map(|time| {
            (
                time,
                counts
                    .evaluate(&questions::compaction())
                    .result
                    .expect("no fault")
                    .expect("it decides")
                    .reason()
                    .to_owned(),
            )
        })
        .collect();
    assert!(said.values().all(|reason| reason == "1\0"), "{said:?}");
}
