//! The simulation gate: a run in virtual time, in a world of chance, for thousands of seeds. Random workflows, agents that
//! exhaust, split, stall, meet quotas and die, policies that answer nonsense, merges that do not fit, hosts that die at any
//! point, people who answer or do not. `invariants.rs` says what holds all the same. Through the public interface of core
//! alone: it must hold what is visible from outside.
//!
//! `BATON_SIM_SEEDS=1000000` tries this number of seeds instead of the published ones, `BATON_SIM_FROM=n` begins at another,
//! `BATON_SIM_SEED=n` replays one and prints all of it.
#![forbid(unsafe_code)]

mod agents;
mod fake_worktrees;
mod invariants;
mod policy;
mod rng;
mod scenario;
mod simulation_counts;
mod trace;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use simulation_counts::SimulationCounts;
use trace::Trace;
use world::SimulationWorld;

/// Seeds 0 to this are tried by `cargo test`: some seconds.
const PUBLISHED: u64 = 2_000;
/// Failures that are shown; one is rarely alone.
const SHOWN: usize = 8;

/// One seed. A panic of core is a failure like any other.
fn simulate(seed: u64, lines: usize) -> (Result<SimulationCounts, String>, Trace) {
    let mut trace = Trace::new(lines);
    let result = catch_unwind(AssertUnwindSafe(|| SimulationWorld::new(seed, &mut trace).go()))
        .unwrap_or_else(|panic| {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            Err(format!("core panicked: {}", said.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?")))
        });
    (result, trace)
}

/// Many seeds on all cores.
fn simulate_all(from: u64, to: u64) -> (SimulationCounts, Vec<(u64, String)>) {
    let (next, all) = (AtomicU64::new(from), Mutex::new((SimulationCounts::default(), Vec::new())));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= to {
                        return;
                    }
                    let (result, _) = simulate(seed, 0);
                    let Ok(mut all) = all.lock() else { return };
                    match result {
                        Ok(tally) => all.0.add(&tally),
                        Err(why) => all.1.push((seed, why)),
                    }
                }
            });
        }
    });
    let (tally, mut failures) = all.into_inner().unwrap_or_default();
    failures.sort();
    (tally, failures)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// B9, B10, D1–D4, D8: in every case, every promise of `invariants.rs` is kept.
#[test]
fn every_promise_is_kept_whatever_happens() {
    if let Some(seed) = number("BATON_SIM_SEED") {
        let (result, trace) = simulate(seed, usize::MAX);
        println!("{}", trace.text());
        if let Err(why) = result {
            panic!("seed {seed}: {why}");
        }
        return;
    }
    let from = number("BATON_SIM_FROM").unwrap_or(0);
    let count = number("BATON_SIM_SEEDS").unwrap_or(PUBLISHED);
    let (tally, failures) = simulate_all(from, from + count);
    println!("{tally:#?}");
    if let Some((first, why)) = failures.first() {
        for (seed, why) in failures.iter().take(SHOWN) {
            println!("seed {seed}: {why}");
        }
        let (_, trace) = simulate(*first, trace::LINES);
        panic!(
            "{} of {count} seeds failed. Seed {first}: {why}\n{}\nBATON_SIM_SEED={first} shows all of it",
            failures.len(),
            trace.text()
        );
    }
    if count >= PUBLISHED {
        tally.has_seen_everything();
    }
}
