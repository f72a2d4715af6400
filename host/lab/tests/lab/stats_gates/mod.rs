//! How often the statistics are wrong, by simulation, with the negative controls that show that the simulation can tell. The full
//! count prints the table of `STATISTICS.md`:
//! `cargo test -p baton-lab --test lab stats_gates -- --ignored --nocapture`
//!
//! Every gate runs over the seeds of [`SEEDS`], which were fixed beforehand, and passes only if the true rate is in the claimed
//! range, except for a chance of one in a thousand ([`claim::DOUBT`]), so that no lucky seed passes.

mod calibration_rng;
mod claim;
mod clusters;
mod shares;
mod units;

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};

use calibration_rng::{CalibrationRng, SEEDS};
use claim::{CalibrationCheck, ObservedRate};

/// All of them, in the order of the table.
fn gates() -> Vec<CalibrationCheck> {
    [shares::gates(), clusters::gates(), units::gates()].into_iter().flatten().collect()
}

/// Runs a gate's world `simulations` times, as often from each seed.
fn count(gate: &CalibrationCheck, simulations: u32) -> ObservedRate {
    let of_each = simulations.div_ceil(SEEDS.len() as u32);
    let next = AtomicUsize::new(0);
    let run = || {
        let mut hits = 0;
        while let Some(seed) = SEEDS.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut rng = CalibrationRng::new(*seed);
            hits += (0..of_each).filter(|_| (gate.world)(&mut rng)).count() as u64;
        }
        hits
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(SEEDS.len());
    let hits = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a world that runs")).sum()
    });
    ObservedRate { hits, of: u64::from(of_each) * SEEDS.len() as u64 }
}

/// Fails with every gate that does not hold, not only with the first.
fn hold(gates: &[CalibrationCheck], simulations: impl Fn(&CalibrationCheck) -> u32) {
    let mut broken = Vec::new();
    println!("| what happens | claimed | measured | simulations |\n|---|---|---|---|");
    for gate in gates {
        let counted = count(gate, simulations(gate));
        println!("| {} | {} | {counted} | {} |", gate.what, gate.claim, counted.of);
        if !gate.claim.holds(counted) {
            let (least, most) = counted.limits();
            broken.push(format!("{}: {}, but between {least:.4} and {most:.4}", gate.what, gate.claim));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

// M5
#[test]
fn error_rates_hold_however_often_one_looks() {
    hold(&shares::gates(), |gate| gate.quick);
}

// M5
#[test]
fn runs_of_one_task_are_not_several_tasks() {
    hold(&clusters::gates(), |gate| gate.quick);
}

// M5
#[test]
fn a_broken_randomiser_is_noticed_and_a_sound_one_is_not() {
    hold(&units::gates(), |gate| gate.quick);
}

/// The full count: some minutes.
#[test]
#[ignore = "the full count takes minutes; it prints the table of STATISTICS.md"]
fn full_count() {
    hold(&gates(), |gate| gate.full);
}

/// A gate that always passed would be no gate.
#[test]
fn a_claim_that_is_wrong_does_not_hold() {
    let coin = |rng: &mut CalibrationRng| rng.happens(0.07);
    for claim in [claim::AT_MOST_6, claim::RateClaim::Between(0.02, 0.06), claim::RateClaim::AtLeast(0.08)] {
        let gate = CalibrationCheck { what: "a coin", claim, quick: 0, full: 0, world: coin };
        assert!(!claim.holds(count(&gate, 4_000)), "{claim}");
    }
    // What holds in truth but was not tried often enough does not hold here.
    assert!(!claim::AT_MOST_6.holds(ObservedRate { hits: 0, of: 50 }));
}
