//! What attackers cost a neighbour: the p99 of its decisions with a hostile policy at work in the same engine, over that
//! without one. `cargo bench -p baton-engine --bench neighbour` (`-- --quick` for a look); compare ratios, not times. What
//! the attacks end as is the business of `tests/hostile`.
//!
//! The neighbour decides as a session does, now and then, and so do the sessions that the attacker decides for, in several
//! threads. Disturbed and undisturbed stretches alternate, so that both see the same machine.

#[path = "../tests/engine/common/mod.rs"]
mod common;
#[path = "../../../tests/hostile/guests.rs"]
mod guests;
#[path = "../../../tests/hostile/questions.rs"]
mod questions;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use baton_core::observation::{Capability, PolicyRequest};
use baton_engine::limits::DECISIONS_IN_FLIGHT;
use baton_engine::{Engine, EngineConfig, Router};
use common::{agents, built_in, engine};
use guests::GuestBuilder;

/// Threads that ask the attacker, at a time: as many as there are places for instances.
const ATTACKERS: u32 = DECISIONS_IN_FLIGHT;

/// How often each asks, at most: together they are two hundred sessions with twenty events a second each.
const ATTACK_PAUSE: Duration = Duration::from_millis(1);

/// Pause between two decisions of the neighbour: the rate of many busy sessions, and still far below the capacity of a core.
const PAUSE: Duration = Duration::from_micros(500);

/// Decisions of one stretch.
const STRETCH: usize = 250;

/// Largest slowdown of the neighbour that still counts as harmless.
const AIM: f64 = 2.0;

/// A policy call that does harm in a loop.
type HarmfulLoop = Box<dyn Fn() + Sync>;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let stretches = if quick { 2 } else { 24 };
    let engine = engine();
    let neighbour = Router::new(&engine, BTreeMap::new()).expect("a router");
    let questions = agents("assess", 100);
    decide(&neighbour, &questions, STRETCH);

    println!("| beside it | p50 µs | p99 µs | p99, × undisturbed |\n|---|---:|---:|---:|");
    let mut worst = ("nobody", 0.0);
    for (name, attack) in attacks(&engine) {
        let (mut calm, mut disturbed) = (Vec::new(), Vec::new());
        for _ in 0..stretches {
            calm.extend(decide(&neighbour, &questions, STRETCH));
            disturbed.extend(beside(&attack, || decide(&neighbour, &questions, STRETCH)));
        }
        let times = percentile(&mut disturbed, 99) / percentile(&mut calm, 99);
        if times > worst.1 {
            worst = (name, times);
        }
        let (p50, p99) = (percentile(&mut disturbed, 50), percentile(&mut disturbed, 99));
        println!("| {name} | {p50:.0} | {p99:.0} | {times:.2} |");
    }
    println!("\nworst: {:.2} beside {}, aim: {AIM}", worst.1, worst.0);
}

/// Asks, and says how long each answer took, in µs.
fn decide(router: &Router, questions: &[PolicyRequest], count: usize) -> Vec<f64> {
    let ask = |question: &PolicyRequest| {
        std::thread::sleep(PAUSE);
        let began = Instant::now();
        let (result, label) = router.decide(question);
        let took = began.elapsed();
        assert!(result.is_ok() && label.faults.is_empty(), "the neighbour decides: {label:?}");
        took.as_secs_f64() * 1e6
    };
    questions.iter().cycle().take(count).map(ask).collect()
}

/// Does something while attackers are at work.
fn beside<T>(attack: &HarmfulLoop, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..ATTACKERS {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::thread::sleep(ATTACK_PAUSE);
                    attack();
                }
            });
        }
        let result = work();
        over.store(true, Ordering::Relaxed);
        result
    })
}

fn percentile(times: &mut [f64], percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(times.len() - 1) * percent / 100]
}

fn attacks(engine: &Engine) -> Vec<(&'static str, HarmfulLoop)> {
    let answer = "(i64.store (i32.const 64) (i64.const 0)) (i32.const 64)";
    let fill = "(drop (memory.grow (i32.const 1000))) (memory.fill (i32.const 0) (i32.const 1) (i32.const 15000000))";
    let flood = |call: &str| {
        format!("(loop $again {call} (global.set $heap (i32.const 65536)) (br $again)) unreachable")
    };
    let deciding = |body: &str| GuestBuilder::deciding(body);
    let guests = [
        ("nobody", None),
        ("a policy that answers", Some(GuestBuilder::good("ok"))),
        ("loops", Some(deciding("(loop $again (br $again)) unreachable"))),
        ("loops to just below its fuel", Some(deciding(&format!(
            "(local $i i32) (loop $again (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                (i32.const 2500000)))) {answer}"
        )))),
        ("traps", Some(deciding("unreachable"))),
        ("recurses", Some(deciding("(call $compaction.decide (local.get 0))"))),
        ("grows", Some(deciding("(loop $more (br_if $more (i32.ge_s (memory.grow (i32.const 16)) (i32.const 0)))) unreachable"))),
        ("touches its memory", Some(deciding(&format!("{fill} {answer}")))),
        ("calls", Some(deciding(&flood("(drop (call $len (i32.const 0)))")).import("text", "len"))),
        ("logs", Some(deciding(&flood("(call $write (i32.const 2) (i32.const 1024) (i32.const 60000))")).import("log", "write"))),
        ("slices", Some(deciding(&flood("(call $slice (i32.const 0) (i32.const 0) (i32.const 65536) (i32.const 64))")).import("text", "slice"))),
        ("answers 60 KB", Some(deciding("(i32.store (i32.const 76) (i32.const 1024)) (i32.store (i32.const 80) (i32.const 60000)) (i32.const 64)"))),
    ];
    let mut attacks: Vec<(&'static str, HarmfulLoop)> = Vec::new();
    for (name, guest) in guests {
        let Some(guest) = guest else {
            attacks.push((name, Box::new(|| ())));
            continue;
        };
        let policy = engine.load(name, &guest.build()).expect("it loads");
        let hostile = policy.configure(&BTreeMap::new()).expect("it has no settings");
        let first = BTreeMap::from([(Capability::Compaction, hostile.into())]);
        let router = Router::with_built_in(engine, first, built_in(engine)).expect("a router");
        attacks.push((name, Box::new(move || drop(router.decide(&questions::compaction())))));
    }
    attacks.push(("is loaded, again and again", loading()));
    attacks
}

/// A component of a thousand functions, which is compiled each time. Loading is off the path of decisions, and one at a
/// time is loaded in a host.
fn loading() -> HarmfulLoop {
    let engine = Engine::new(EngineConfig::default()).expect("an engine");
    let functions = (0..1000)
        .map(|n| format!("(func $more{n} (param i32) (result i32) (i32.add (local.get 0) (i32.const {n})))"));
    let component = GuestBuilder::good("ok").item(&functions.collect::<String>()).build();
    let turn = std::sync::Mutex::new(());
    Box::new(move || {
        let _turn = turn.lock();
        drop(engine.load("large", &component).expect("it loads"));
    })
}
