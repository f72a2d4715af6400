//! Policies that do harm, by accident or on purpose. Each ends as a refusal that names what is wrong, or as a fault
//! that the router answers with the next in its chain; and the same engine goes on answering.

mod chain;
mod guests;
mod questions;
mod refusals;

use std::collections::BTreeMap;
use std::path::Path;

use baton_core::decision::{CompactionAction, DecidedBy, Decision, Fault, FaultRecord};
use baton_core::observation::Capability;
use baton_engine::limits::FUEL;
use baton_engine::{
    BUILTIN_NAME, Configured, Engine, EngineConfig, Evaluation, Limits, Router, builtin_bytes,
};
use guests::{ANSWER, Guest};

const MEMORY_BYTES: u64 = 8 << 20;

/// An engine for guests that want too much: little memory makes the tests quick.
fn engine() -> Engine {
    let limits = Limits { memory_bytes: MEMORY_BYTES, ..Limits::default() };
    // Unoptimised, compiling the built-in policy takes a second, so it is kept in the target folder.
    let cache_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("aot-hostile"));
    Engine::new(EngineConfig { cache_dir, limits, ..EngineConfig::default() }).expect("an engine")
}

fn configured(engine: &Engine, name: &str, guest: &Guest) -> Configured {
    let policy = engine.load(name, &guest.build()).expect("it loads");
    policy.configure(&BTreeMap::new()).expect("it has no settings")
}

fn refused(guest: &Guest) -> String {
    refused_bytes(&guest.build())
}

fn refused_bytes(bytes: &[u8]) -> String {
    let engine = engine();
    let error = engine.load("hostile", bytes).err().expect("it is refused").to_string();
    assert!(error.starts_with("policy hostile: "), "{error}");
    still_answers(&engine);
    error
}

/// The same engine answers a good policy's question.
fn still_answers(engine: &Engine) {
    let good = configured(engine, "good", &Guest::good("there is room"));
    let Evaluation { result, fuel, .. } = good.evaluate(&questions::compaction());
    let Ok(Decision::Compaction(decision)) = result else { panic!("{result:?}") };
    assert_eq!(decision.action, CompactionAction::Keep);
    assert_eq!(decision.reason, "there is room");
    assert!(fuel > 0);
    assert_eq!(engine.live_instances(), 0, "no instance is left behind");
}

/// Asks a guest, and checks everything that must hold after a fault, whatever it was: the engine still answers, and
/// the router falls back and says so.
fn faults(guest: &Guest) -> Fault {
    let engine = engine();
    let bad = configured(&engine, "hostile", guest);
    let good = configured(&engine, "good", &Guest::good("there is room"));
    let question = questions::compaction();

    let fault = bad.evaluate(&question).result.expect_err("it faults");
    assert_eq!(bad.evaluate(&question).result.as_ref(), Err(&fault), "the same fault again");
    still_answers(&engine);

    let only = BTreeMap::from([(Capability::Compaction, bad.clone())]);
    let built_in = engine.load(BUILTIN_NAME, builtin_bytes()).expect("it loads");
    let built_in = built_in.configure(&BTreeMap::new()).expect("its defaults are good");
    let router = Router::with_built_in(&engine, only, built_in.clone()).expect("a router");
    let record = FaultRecord {
        by: DecidedBy::Configured,
        policy: "hostile".to_owned(),
        component: bad.policy().digest().clone(),
        fault: fault.clone(),
    };

    let (result, label) = router.decide(&question);
    assert!(matches!(result, Ok(Decision::Compaction(_))));
    assert_eq!((label.by, label.policy.as_str()), (DecidedBy::BuiltIn, BUILTIN_NAME));
    assert_eq!(label.component.as_ref(), Some(built_in.policy().digest()));
    assert_eq!(label.settings.as_ref(), Some(built_in.settings_digest()));
    assert_eq!(&label.engine, engine.digest());
    assert_eq!(label.faults, std::slice::from_ref(&record));

    router.configure(Capability::Compaction, good.clone()).expect("it decides compaction");
    assert_eq!(router.decide(&question).1.by, DecidedBy::Configured);
    router.configure(Capability::Compaction, bad).expect("it decides compaction");
    let (_, label) = router.decide(&question);
    assert_eq!((label.by, label.policy.as_str()), (DecidedBy::LastGood, "good"));
    assert_eq!(label.component.as_ref(), Some(good.policy().digest()));
    assert_eq!(label.faults, [record]);
    fault
}

fn message(fault: Fault) -> String {
    match fault {
        Fault::Trap { message } | Fault::Invalid { message } | Fault::Unloadable { message } => message,
        other => panic!("{other}"),
    }
}

// ---- what it does when it is asked -----------------------------------------------------------------------------

#[test]
fn loops() {
    assert_eq!(
        faults(&Guest::deciding("(loop $again (br $again)) unreachable")),
        Fault::OutOfFuel { limit: FUEL }
    );
}

#[test]
fn eats_memory() {
    let eats = Guest::deciding(
        "(loop $more (br_if $more (i32.ge_s (memory.grow (i32.const 16)) (i32.const 0)))) unreachable",
    );
    assert_eq!(faults(&eats), Fault::OutOfMemory { limit_bytes: MEMORY_BYTES });
}

#[test]
fn begins_with_too_much_memory() {
    let error = refused(&Guest::good("").pages(200));
    assert!(error.contains("memory"), "{error}");
}

#[test]
fn traps() {
    assert_eq!(message(faults(&Guest::deciding("unreachable"))), "wasm `unreachable` instruction executed");
    assert_eq!(
        message(faults(&Guest::deciding("(i32.div_u (i32.const 1) (i32.const 0))"))),
        "integer divide by zero"
    );
}

#[test]
fn recurses_without_end() {
    assert_eq!(message(faults(&Guest::deciding("(call $decide (local.get 0))"))), "call stack exhausted");
}

/// `offload` with a hundred ids, each the same MiB of its memory: 100 MB that cost the guest one.
#[test]
fn returns_100_mb() {
    let fill = format!(
        "(local $i i32)
         (drop (memory.grow (i32.const 32)))
         (memory.fill (i32.const 131072) (i32.const 97) (i32.const 1048576))
         (loop $next
            (i32.store (i32.add (i32.const 4096) (i32.mul (local.get $i) (i32.const 8))) (i32.const 131072))
            (i32.store (i32.add (i32.const 4100) (i32.mul (local.get $i) (i32.const 8))) (i32.const 1048576))
            (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100))))
         (i32.store8 (i32.const {ANSWER}) (i32.const 2))
         (i32.store (i32.const {}) (i32.const 4096))
         (i32.store (i32.const {}) (i32.const 100))
         (i32.const {ANSWER})",
        ANSWER + 4,
        ANSWER + 8
    );
    assert_eq!(
        faults(&Guest::deciding(&fill)),
        Fault::TooLarge { limit_bytes: Limits::default().output_bytes }
    );
}

#[test]
fn returns_a_reason_of_a_page() {
    assert_eq!(faults(&Guest::good(&"x".repeat(1025))), Fault::TooLarge { limit_bytes: 1024 });
}

#[test]
fn lies_about_a_length() {
    let text = message(faults(&Guest::new("compaction-policy").answering(u32::MAX)));
    assert!(text.contains("out of bounds") || text.contains("out-of-bounds"), "{text}");
}

#[test]
fn lies_about_an_address() {
    let text = message(faults(&Guest::deciding("(i32.const 0x7ffffff0)")));
    assert!(text.contains("out of bounds") || text.contains("out-of-bounds"), "{text}");
    let text = message(faults(&Guest::deciding("(i32.const 65)")));
    assert!(text.contains("aligned"), "{text}");
}

#[test]
fn answers_with_what_is_no_text() {
    let text = message(faults(
        &Guest::new("compaction-policy").answering(2).item("(data (i32.const 1024) \"\\ff\\fe\")"),
    ));
    assert!(text.contains("utf-8"), "{text}");
}

#[test]
fn answers_with_a_variant_that_does_not_exist() {
    let body = format!("(i32.store8 (i32.const {ANSWER}) (i32.const 9)) (i32.const {ANSWER})");
    let text = message(faults(&Guest::deciding(&body)));
    assert!(text.contains("discriminant"), "{text}");
}

#[test]
fn hands_out_memory_that_it_does_not_have() {
    let fault = faults(&Guest::good("ok").realloc("(i32.const 0x7ffffff0)"));
    assert!(matches!(fault, Fault::Trap { .. } | Fault::Invalid { .. }), "{fault}");
    assert_eq!(
        faults(&Guest::good("ok").realloc("(loop $again (br $again)) unreachable")),
        Fault::OutOfFuel { limit: FUEL }
    );
}

#[test]
fn loops_after_it_answered() {
    let fault = faults(&Guest::good("ok").after_return("(loop $again (br $again))"));
    assert_eq!(fault, Fault::OutOfFuel { limit: FUEL });
}

/// Huge `memory.fill`s cost one unit of fuel each: this is what the watchdog is for.
#[test]
fn hides_its_work_from_fuel() {
    let limits = Limits { watchdog_ms: 100, fuel: u64::MAX / 2, ..Limits::default() };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() }).expect("an engine");
    let guest = Guest::deciding(
        "(drop (memory.grow (i32.const 512)))
         (loop $again
            (memory.fill (i32.const 131072) (i32.const 1) (i32.const 33554432))
            (br $again))
         unreachable",
    );
    let fault = configured(&engine, "hostile", &guest).evaluate(&questions::compaction()).result;
    assert_eq!(fault, Err(Fault::Watchdog { limit_ms: 100 }));
    still_answers(&engine);
}

// ---- what it does with its imports -----------------------------------------------------------------------------

#[test]
fn floods_the_log() {
    let flood = Guest::deciding(
        "(loop $again (call $write (i32.const 2) (i32.const 1024) (i32.const 3)) (br $again)) unreachable",
    )
    .import("log", "write")
    .data(1024, "hey");
    assert_eq!(faults(&flood), Fault::OutOfFuel { limit: FUEL });
    let evaluation = configured(&engine(), "hostile", &flood).evaluate(&questions::compaction());
    assert_eq!(evaluation.logs.len(), 16);
    assert_eq!(evaluation.logs[0].message, "hey");
    assert!(evaluation.logs_dropped > 1000);
    assert_eq!(evaluation.fuel, FUEL);
}

#[test]
fn writes_a_log_message_of_a_megabyte() {
    let long = Guest::deciding(
        "(drop (memory.grow (i32.const 20))) (call $write (i32.const 0) (i32.const 0) (i32.const 1048576)) unreachable",
    );
    let fault = faults(&long.import("log", "write"));
    assert_eq!(fault, Fault::TooLarge { limit_bytes: Limits::default().output_bytes });
}

#[test]
fn floods_the_host_with_calls() {
    let flood = Guest::deciding(&format!(
        "(loop $again
            (call $slice (i32.const 0) (i32.const 0) (i32.const 10) (i32.const {ANSWER}))
            (global.set $heap (i32.const 65536))
            (br $again))
         unreachable"
    ));
    assert_eq!(faults(&flood.import("text", "slice")), Fault::OutOfFuel { limit: FUEL });
}

#[test]
fn asks_for_a_setting_that_it_does_not_have() {
    let text = message(faults(
        &Guest::deciding("(drop (call $get-flag (i32.const 1024) (i32.const 6))) unreachable")
            .import("config", "get-flag")
            .data(1024, "colour"),
    ));
    assert_eq!(text, "asked for the setting \"colour\" as a flag, but it is not in its schema");
}

#[test]
fn searches_for_too_many_patterns() {
    let many = Guest::deciding(&format!(
        "(call $find-any (i32.const 0) (i32.const 0) (i32.const 10) (i32.const 4096) (i32.const 2000) (i32.const 9)
            (i32.const {ANSWER}))
         unreachable"
    ));
    assert!(message(faults(&many.import("text", "find-any"))).starts_with("2000 patterns of 0 bytes"));
}

/// Ids that name no text are empty texts, and ranges are clipped: nothing to trap on.
#[test]
fn reads_texts_that_do_not_exist() {
    let odd = Guest::deciding(&format!(
        "(call $slice (i32.const 77) (i32.const 5) (i32.const 4) (i32.const {ANSWER}))
         (if (i32.add (call $len (i32.const 77)) (i32.load (i32.const {}))) (then unreachable))
         (i64.store (i32.const {ANSWER}) (i64.const 0))
         (i32.const {ANSWER})",
        ANSWER + 4
    ));
    let odd = odd.import("text", "len").import("text", "slice");
    assert!(configured(&engine(), "odd", &odd).evaluate(&questions::compaction()).result.is_ok());
}

/// It would trap at its second call, but nothing is remembered between two calls.
#[test]
fn counts_its_calls() {
    let guest = Guest::deciding(
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (if (i32.gt_u (global.get $calls) (i32.const 1)) (then unreachable))
         (i32.const 0)",
    )
    .item("(global $calls (mut i32) (i32.const 0))");
    let counting = configured(&engine(), "counting", &guest);
    for _ in 0..3 {
        assert!(counting.evaluate(&questions::compaction()).result.is_ok());
    }
}
