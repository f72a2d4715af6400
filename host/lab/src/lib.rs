//! What recorded, simulated and tried runs can teach: replay, import, simulation, experiments, and what came of them in numbers
//! and words; and whether a policy is fit to decide. Starts no agent and decides nothing in a live run. It writes only what
//! it is told to keep: imported and simulated runs, and experiments.
#![forbid(unsafe_code)]

mod candidate_trial;
mod classify;
pub mod compare;
pub mod conformance;
mod context_outcome;
mod core_replay;
pub mod experiment;
pub mod golden;
mod import;
mod policies;
mod policy_replay;
pub mod replay;
mod request_matching;
mod review;
pub mod run_metrics;
pub mod simulate;
pub mod stats;

use baton_core::decision::Provenance;
use baton_core::observation::PolicyRequest;
use baton_core::{RunId, Seq};
use baton_store::{Journal, StoreError};

pub use baton_streams::StreamFormat;
pub use candidate_trial::{CandidateTrial, try_candidate};
pub use classify::{Classification, ClassifyError, RecordingTime, classify, classify_remark};
pub use core_replay::{CoreDivergence, CoreReplay, CoreReplayResult};
pub use import::{
    Import, ImportError, ImportFormat, ImportNote, ImportOutcome, ImportReport, ImportRequest,
    ImportedVerdict, Importer, NOTES_KEPT, RECORDING_BYTES_MAX, RecordedFile, turns_schema,
};
pub use policies::{ask_again, candidate};
pub use policy_replay::{
    ChangedDecision, DIFFERENCES_KEPT, DecisionReplayer, PolicyReplay, PolicyReplayResult, ReplayedAnswer,
};
pub use replay::{DecisionDifference, FunctionMatches, MatchCounts, TrialResult};
pub use review::{ReviewedDocumentFacts, review};

/// What a recorded run is worth as evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct RunVerification {
    /// Whether core does today what it did then.
    pub refold: Result<CoreReplayResult, CoreDivergence>,
    /// Whether the policies answer today what they answered then.
    pub decisions: PolicyReplayResult,
}

impl RunVerification {
    /// The run replays exactly: core and every component that was asked again.
    pub fn is_exact(&self) -> bool {
        self.refold.is_ok() && self.decisions.differences == 0
    }

    /// It is exact, and nothing was left out for want of a component or of what it was shown.
    pub fn is_complete(&self) -> bool {
        self.is_exact() && self.decisions.unavailable == 0
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
    RunNotFound {
        /// Which.
        run: RunId,
        /// Where.
        journal: std::path::PathBuf,
    },
    /// A decision that answers nothing: the journal was not written by this host.
    #[error("entry {seq} of run {run} answers a question that was never put")]
    QuestionNotFound {
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
/// The witness puts a question to the component that the label names, under the settings that it names:
/// [`replay::RecordedPolicies`] does it with what the journal has of them, [`ask_again`] with policies that are at hand.
pub fn verify(
    journal: &Journal,
    run: &RunId,
    replayer: impl DecisionReplayer,
) -> Result<RunVerification, LabError> {
    let mut refold = CoreReplay::new();
    let mut reevaluation = PolicyReplay::new(run.clone(), replayer);
    let mut rows = 0_u64;
    for entry in journal.read(run)? {
        let entry = entry?;
        reevaluation.take(&entry)?;
        refold.take(entry);
        rows += 1;
    }
    if rows == 0 {
        return Err(LabError::RunNotFound { run: run.clone(), journal: journal.path().to_owned() });
    }
    Ok(RunVerification { refold: refold.finish(), decisions: reevaluation.finish() })
}

/// Re-folds a run alone: no policy is needed for it.
pub fn refold(journal: &Journal, run: &RunId) -> Result<Result<CoreReplayResult, CoreDivergence>, LabError> {
    let nobody = |_: &PolicyRequest, _: &Provenance| ReplayedAnswer::Unavailable {
        why: "nobody was asked".to_owned(),
    };
    Ok(verify(journal, run, nobody)?.refold)
}

/// What is wrong with a text that was to be JSON, for whoever says where in words of their own.
fn json_error_message(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.split(" at line ").next().unwrap_or_default().to_owned()
}
