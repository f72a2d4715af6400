//! Several runs verified, each on a thread of its own: what a person or a program wants to know of each, without its state.

use baton_core::RunId;
use baton_engine::Engine;
use rayon::prelude::*;

use super::batch::RecordedRun;
use super::recorded_policies::{PolicyLoadCache, RecordedPolicies};
use crate::{CoreDivergence, LabError, PolicyReplayResult, verify};

/// What a run is worth as evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct VerificationSummary {
    /// Inputs and intents that folded as recorded; or the first that did not.
    pub refold: Result<(u64, u64), CoreDivergence>,
    /// Whether its policies decide today what they decided then.
    pub decisions: PolicyReplayResult,
}

impl VerificationSummary {
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
pub fn verify_all(
    runs: &[RecordedRun],
    engine: &Engine,
) -> Vec<(RunId, Result<VerificationSummary, LabError>)> {
    let load_cache = PolicyLoadCache::default();
    runs.par_iter()
        .map(|RecordedRun { journal, run, artifacts }| {
            let witnesses =
                RecordedPolicies::new(engine.clone(), journal, artifacts.clone(), load_cache.clone());
            let verified = verify(journal, run, witnesses).map(|verification| VerificationSummary {
                refold: verification.refold.map(|folded| (folded.inputs, folded.intents)),
                decisions: verification.decisions,
            });
            (run.clone(), verified)
        })
        .collect()
}
