//! Many simulated runs at once, over all cores. Which thread simulates what changes nothing: each run depends on its arm, its
//! seed and the model alone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rayon::prelude::*;

use super::{Model, SimulateError, SimulatedArm, SimulatedRun, simulate};

/// What came of a fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulationBatch {
    /// By arm, in the order of the arms; within an arm by seed.
    pub arms: Vec<Vec<SimulatedRun>>,
    /// It was stopped before all were simulated. Only seeds that every arm has are in it.
    pub stopped: bool,
}

/// Simulates every arm with the same seeds, `seeds` of them from `first` on. `told` is called with how many runs are done of all,
/// once in a while and from any thread; where `stop` becomes true, what is not begun is left out.
///
/// # Errors
/// Those of [`simulate`]; the first of them by arm and seed.
pub fn fleet(
    arms: &[SimulatedArm],
    model: &Model,
    first: u64,
    seeds: u64,
    told: impl Fn(u64, u64) + Sync,
    stop: &AtomicBool,
) -> Result<SimulationBatch, SimulateError> {
    let all = seeds * arms.len() as u64;
    let done = AtomicU64::new(0);
    let of_seed = |seed: u64| -> Result<Option<Vec<SimulatedRun>>, SimulateError> {
        let mut runs = Vec::with_capacity(arms.len());
        for arm in arms {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            runs.push(simulate(arm, model, seed, false)?);
            told(done.fetch_add(1, Ordering::Relaxed) + 1, all);
        }
        Ok(Some(runs))
    };
    let range: Vec<u64> = (first..first.saturating_add(seeds)).collect();
    let simulated: Vec<_> = range.into_par_iter().map(of_seed).collect();
    let mut fleet = SimulationBatch { arms: arms.iter().map(|_| Vec::new()).collect(), stopped: false };
    for of_seed in simulated {
        match of_seed? {
            None => fleet.stopped = true,
            Some(runs) => fleet.arms.iter_mut().zip(runs).for_each(|(arm, run)| arm.push(run)),
        }
    }
    Ok(fleet)
}
