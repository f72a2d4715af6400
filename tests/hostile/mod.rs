//! Policies that do harm, by accident or on purpose. Each ends as a refusal that names what is wrong, or as a fault
//! that the router answers with the next in its chain; and the same engine goes on answering.

mod attacks;
mod chain;
pub(crate) mod guests;
mod layers;
mod leaks;
pub(crate) mod questions;
mod raw;

use std::collections::BTreeMap;
use std::path::Path;

use crate::hostile::guests::GuestBuilder;
use baton_core::TextBlob;
use baton_core::decision::{CompactionAction, Decision, Fault};
use baton_core::observation::PolicyRequest;
use baton_engine::limits::FUEL;
use baton_engine::{ConfiguredPolicy, DecisionLimits, Engine, EngineConfig, Evaluation};

const MEMORY_BYTES: u64 = 8 << 20;

/// An engine for guests that want too much: little memory makes the tests quick.
fn engine() -> Engine {
    let limits = DecisionLimits { memory_bytes: MEMORY_BYTES, ..DecisionLimits::default() };
    // Unoptimised, compiling the built-in policy takes a second, so it is kept in the target folder.
    let cache_dir = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("aot-hostile"));
    Engine::new(EngineConfig { cache_dir, limits, ..EngineConfig::default() }).expect("an engine")
}

fn configured(engine: &Engine, name: &str, guest: &GuestBuilder) -> ConfiguredPolicy {
    let policy = engine.load(name, &guest.build()).expect("it loads");
    policy.configure(&BTreeMap::new()).expect("it has no settings")
}

fn refused(guest: &GuestBuilder) -> String {
    let error = engine().load("hostile", &guest.build()).err().expect("it is refused").to_string();
    assert!(error.starts_with("policy hostile: "), "{error}");
    error
}

/// The same engine answers a good policy's question.
fn still_answers(engine: &Engine) {
    let good = configured(engine, "good", &GuestBuilder::good("there is room"));
    let Evaluation { result, fuel, .. } = good.evaluate(&questions::compaction());
    let Ok(Some(Decision::Compaction(decision))) = result else { panic!("{result:?}") };
    assert_eq!(decision.action, CompactionAction::Keep);
    assert_eq!(decision.reason, "there is room");
    assert!(fuel > 0);
    assert_eq!(engine.live_instances(), 0, "no instance is left behind");
}

fn message(fault: Fault) -> String {
    match fault {
        Fault::Trap { message } | Fault::Invalid { message } | Fault::Unloadable { message } => message,
        other => panic!("{other}"),
    }
}

/// What fuel cannot end, since somebody was granted no end of it: this is what the watchdog is for.
#[test]
fn hides_its_work_from_fuel() {
    let limits = DecisionLimits { watchdog_ms: 100, fuel: u64::MAX / 2, ..DecisionLimits::default() };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() }).expect("an engine");
    let guest = GuestBuilder::deciding(
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

#[test]
fn a_flooded_log_keeps_what_it_promises_and_counts_the_rest() {
    let flood = GuestBuilder::deciding(
        "(loop $again (call $write (i32.const 2) (i32.const 1024) (i32.const 3)) (br $again)) unreachable",
    )
    .import("log", "write")
    .data(1024, "hey");
    let evaluation = configured(&engine(), "hostile", &flood).evaluate(&questions::compaction());
    assert_eq!(evaluation.logs.len(), 16);
    assert_eq!(evaluation.logs[0].message, "hey");
    assert!(evaluation.logs_dropped > 1000);
    assert_eq!(evaluation.fuel, FUEL);
}

/// What calls cost the host is charged, so that no flood of them takes longer than a loop does.
#[test]
fn every_call_pays_for_what_it_makes_the_host_do() {
    let engine = engine();
    let fuel = |body: &str, more: &dyn Fn(GuestBuilder) -> GuestBuilder| {
        let guest = more(GuestBuilder::deciding(&format!(
            "{body} (i64.store (i32.const 64) (i64.const 0)) (i32.const 60)"
        )));
        let question =
            PolicyRequest { texts: vec![TextBlob::new("a".repeat(100_000))], ..questions::compaction() };
        let evaluation = configured(&engine, "hostile", &guest).evaluate(&question);
        assert!(evaluation.result.is_ok(), "{:?}", evaluation.result);
        evaluation.fuel
    };
    let search = |patterns: u32| {
        let body = format!(
            "(drop (memory.grow (i32.const 9))) (call $find-any (i32.const 0) (i32.const 0) (i32.const 100000)
                (i32.const 4096) (i32.const {patterns}) (i32.const 256) (i32.const 64))"
        );
        let entries = raw::words(&[1024, 1, 2048, 2000]);
        fuel(&body, &|guest| {
            let guest = guest.import("text", "find-any").item(&raw::data(4096, &entries)).data(1024, "a");
            guest.data(2048, &format!("{}b", "a".repeat(1999)))
        })
    };
    // Behind each of 256 hits, the search looks for the end of the long pattern, and turns back.
    let (short, long) = (search(1), search(2));
    assert!(long - short > 256 * 2000, "{short} and {long}");
}
