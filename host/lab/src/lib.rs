//! Evaluation of policies on recorded, simulated and enrolled runs: replay, import, simulation, experiments with their
//! statistics and reports, and the conformance check of a policy. Starts no agent and decides nothing in a live run. It writes
//! only imported and simulated runs, and experiments, when its caller asks for it.
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

/// Result of verifying a recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunVerification {
    /// Whether core does the same today as when the run was recorded.
    pub refold: Result<CoreReplayResult, CoreDivergence>,
    /// Whether the policies give the same answers today as when the run was recorded.
    pub decisions: PolicyReplayResult,
}

impl RunVerification {
    /// The run replays exactly: core and every component that was asked again.
    pub fn is_exact(&self) -> bool {
        self.refold.is_ok() && self.decisions.differences == 0
    }

    /// The run is exact, and no decision was left out because a component or its input was missing.
    pub fn is_complete(&self) -> bool {
        self.is_exact() && self.decisions.unavailable == 0
    }
}

/// Why a run could not be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// Its journal cannot be read.
    #[error(transparent)]
    Journal(#[from] StoreError),
    /// The journal has no such run.
    #[error("there is no run {run} in {}. `baton status` lists the runs of a workspace", journal.display())]
    RunNotFound {
        /// The run that was asked for.
        run: RunId,
        /// The journal that was searched.
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
    /// Core refuses an input that it accepted when the run was recorded.
    #[error(
        "core refuses entry {seq} of run {run}: {why}. The journal was written by another version of baton, or is damaged"
    )]
    Refused {
        /// Which run.
        run: RunId,
        /// The input.
        seq: Seq,
        /// Core's reason.
        why: String,
    },
}

/// Re-folds a run and re-evaluates its decisions, in one pass over its journal.
///
/// The replayer puts a question to the component that the label names, with the settings that it names:
/// [`replay::RecordedPolicies`] takes them from the journal, [`ask_again`] uses loaded policies.
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

/// The error of a JSON parser without its location, for callers that state the location themselves.
fn json_error_message(error: &serde_json::Error) -> String {
    let said = error.to_string();
    said.split(" at line ").next().unwrap_or_default().to_owned()
}
