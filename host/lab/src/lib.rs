//! What recorded runs and streams can teach. Judges a recorded stream (`classify`), folds a journal again through core and holds it to what it says (`refold`), and
//! puts recorded questions to the policies again (`reevaluate`, `policies`), or to a candidate instead (`trial`), any handoff document to a policy (`review`), and generated questions (`conformance`) or those of golden files (`golden`) to a new one. Performs nothing: no agent is started, nothing written.
#![forbid(unsafe_code)]

mod classify;
pub mod conformance;
pub mod golden;
pub mod measure;
mod pairing;
mod policies;
mod reevaluate;
mod refold;
mod review;
mod trial;

use baton_core::decision::Label;
use baton_core::observation::Question;
use baton_core::{RunId, Seq};
use baton_store::{Journal, StoreError};

pub use baton_streams::Format as StreamFormat;
pub use classify::{Classified, ClassifyError, Moment, classify, classify_remark};
pub use policies::{ask_again, candidate};
pub use reevaluate::{Answer, Changed, DIFFERENCES_KEPT, Reevaluated, Reevaluation};
pub use refold::{Divergence, Folded, Refold};
pub use review::{Known, review};
pub use trial::{Difference, Function, Tally, Trial, Tried, try_on};

/// What a recorded run is worth as evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Verification {
    /// Whether core does today what it did then.
    pub refold: Result<Folded, Divergence>,
    /// Whether the policies answer today what they answered then.
    pub decisions: Reevaluated,
}

impl Verification {
    /// The run replays exactly: core and every component that was asked again.
    pub fn is_exact(&self) -> bool {
        self.refold.is_ok() && self.decisions.differences == 0
    }
}

/// Why a run could not be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// Its journal cannot be read.
    #[error(transparent)]
    Journal(#[from] StoreError),
    /// The journal has no such run.
    #[error("there is no run {run} in {}. `baton status` lists the runs of a workspace", journal.display())]
    NoRun {
        /// Which.
        run: RunId,
        /// Where.
        journal: std::path::PathBuf,
    },
    /// A decision that answers nothing: the journal was not written by this host.
    #[error("entry {seq} of run {run} answers a question that was never put")]
    NoQuestion {
        /// Which run.
        run: RunId,
        /// The decision.
        seq: Seq,
    },
    /// Core does not take today what it took then.
    #[error(
        "core refuses entry {seq} of run {run}: {why}. The journal was written by another version of baton, or is damaged"
    )]
    Refused {
        /// Which run.
        run: RunId,
        /// The input.
        seq: Seq,
        /// Why.
        why: String,
    },
}

/// Re-folds a run and re-evaluates its decisions, in one pass over its journal.
///
/// `evaluate` puts a question to the component that the label names, under the settings that it names:
/// [`ask_again`] does it with real policies.
pub fn verify(
    journal: &Journal,
    run: &RunId,
    evaluate: impl FnMut(&Question, &Label) -> Answer,
) -> Result<Verification, LabError> {
    let mut refold = Refold::new();
    let mut reevaluation = Reevaluation::new(run.clone(), evaluate);
    let mut rows = 0_u64;
    for entry in journal.read(run)? {
        let entry = entry?;
        reevaluation.take(&entry)?;
        refold.take(entry);
        rows += 1;
    }
    if rows == 0 {
        return Err(LabError::NoRun { run: run.clone(), journal: journal.path().to_owned() });
    }
    Ok(Verification { refold: refold.finish(), decisions: reevaluation.finish() })
}

/// Re-folds a run alone: no policy is needed for it.
pub fn refold(journal: &Journal, run: &RunId) -> Result<Result<Folded, Divergence>, LabError> {
    let nobody = |_: &Question, _: &Label| Answer::Unavailable { why: "nobody was asked".to_owned() };
    Ok(verify(journal, run, nobody)?.refold)
}
