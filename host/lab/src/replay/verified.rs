//! Several runs verified, each on a thread of its own: what a person or a program wants to know of each, without its state.

use baton_core::RunId;
use baton_engine::Engine;
use rayon::prelude::*;

use super::several::Recorded;
use super::witnesses::{Shelf, Witnesses};
use crate::{Divergence, LabError, Reevaluated, verify};

/// What a run is worth as evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// Inputs and intents that folded as recorded; or the first that did not.
    pub refold: Result<(u64, u64), Divergence>,
    /// Whether its policies decide today what they decided then.
    pub decisions: Reevaluated,
}

impl Verified {
    /// Everything came out the same.
    pub fn is_exact(&self) -> bool {
        self.refold.is_ok() && self.decisions.differences == 0
    }

    /// The same, and nothing was left out for want of a component or of what it was shown.
    pub fn is_complete(&self) -> bool {
        self.is_exact() && self.decisions.unavailable == 0
    }
}

/// Verifies runs with those who decided in them, in the order in which they are named. One that cannot be read does not keep
/// the others from it.
pub fn verify_all(runs: &[Recorded], engine: &Engine) -> Vec<(RunId, Result<Verified, LabError>)> {
    let shelf = Shelf::default();
    runs.par_iter()
        .map(|Recorded { journal, run, artifacts }| {
            let witnesses = Witnesses::new(engine.clone(), journal, artifacts.clone(), shelf.clone());
            let verified = verify(journal, run, witnesses).map(|verification| Verified {
                refold: verification.refold.map(|folded| (folded.inputs, folded.intents)),
                decisions: verification.decisions,
            });
            (run.clone(), verified)
        })
        .collect()
}
