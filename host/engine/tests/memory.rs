//! What attacks leave behind in the host's memory: nothing. Alone in its process, since it measures the process.

#[path = "../../../tests/hostile/guests.rs"]
mod guests;
#[path = "../../../tests/hostile/questions.rs"]
mod questions;

use std::collections::BTreeMap;

use baton_engine::limits::DECISIONS_IN_FLIGHT;
use baton_engine::{ConfiguredPolicy, DecisionLimits, Engine, EngineConfig};
use guests::GuestBuilder;

const MEMORY_BYTES: u64 = 16 << 20;

/// What an allocator may keep for itself, and what a compiled component takes: far less than one attack uses.
const SLACK_BYTES: u64 = 48 << 20;

/// What the process has in memory.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("a process has a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it says what is resident");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib << 10
}

fn attackers(engine: &Engine) -> Vec<ConfiguredPolicy> {
    let fill =
        "(drop (memory.grow (i32.const 200))) (memory.fill (i32.const 0) (i32.const 1) (i32.const 13000000))";
    let answer = "(i64.store (i32.const 64) (i64.const 0)) (i32.const 60)";
    let guests = [
        GuestBuilder::deciding("(loop $more (br_if $more (i32.ge_s (memory.grow (i32.const 16)) (i32.const 0)))) unreachable"),
        GuestBuilder::deciding(&format!("{fill} unreachable")),
        GuestBuilder::deciding(&format!("{fill} {answer}")),
        GuestBuilder::deciding("(call $compaction.decide (local.get 0))"),
        GuestBuilder::deciding("(loop $again (call $write (i32.const 2) (i32.const 0) (i32.const 60000)) (br $again)) unreachable")
            .import("log", "write"),
        GuestBuilder::deciding(&format!(
            "(loop $again
                (call $slice (i32.const 0) (i32.const 0) (i32.const 65536) (i32.const {}))
                (global.set $heap (i32.const 65536)) (br $again)) unreachable",
            guests::DECISION
        ))
        .import("text", "slice"),
    ];
    let load = |guest: &GuestBuilder| {
        let policy = engine.load("attacker", &guest.build()).expect("it loads");
        policy.configure(&BTreeMap::new()).expect("it has no settings")
    };
    guests.iter().map(load).collect()
}

// M4: memory belongs to the pool, whatever policies do.
#[test]
fn attacks_leave_nothing_behind() {
    let limits = DecisionLimits { memory_bytes: MEMORY_BYTES, ..DecisionLimits::default() };
    let engine = Engine::new(EngineConfig { limits, ..EngineConfig::default() }).expect("an engine");
    let attackers = attackers(&engine);
    let before = resident_bytes();
    std::thread::scope(|scope| {
        for _ in 0..2 * DECISIONS_IN_FLIGHT {
            scope.spawn(|| {
                for attacker in attackers.iter().cycle().take(12 * attackers.len()) {
                    let _ = attacker.evaluate(&questions::compaction());
                }
            });
        }
    });
    let grown = resident_bytes().saturating_sub(before);
    let pool = u64::from(DECISIONS_IN_FLIGHT) * MEMORY_BYTES;
    assert!(grown <= pool + SLACK_BYTES, "{grown} bytes more, and the pool has {pool}");
    assert_eq!(engine.live_instances(), 0);

    // Neither does loading what is refused.
    let refused = GuestBuilder::good("").starting_with("unreachable").build();
    let load = || assert!(engine.load("refused", &refused).is_err());
    (0..20).for_each(|_| load());
    let before = resident_bytes();
    (0..200).for_each(|_| load());
    let grown = resident_bytes().saturating_sub(before);
    assert!(grown <= SLACK_BYTES, "{grown} bytes more after 200 refusals");
}
