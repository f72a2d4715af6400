//! Replay of recorded runs. *Verified*: every decision is made again by the policy that made it, and must be the same.
//! *Counterfactual*: a candidate is asked instead, and its answers and warnings are compared with the recorded decisions and
//! with the outcomes of the contexts. A run is read as a stream: a longer run costs time and no memory. Starts no agent, and
//! writes nothing.
//!
//! | file | part |
//! |---|---|
//! | `replay/recorded_policies.rs` | the policies that decided, with settings, grants and artifacts as they were |
//! | `replay/verification.rs` | several runs verified |
//! | `replay/run_reader.rs` | a run, entry by entry |
//! | `context_outcome.rs` of the crate | the outcome of each context, on hard evidence |
//! | `replay/warning_quality.rs` | warnings compared with outcomes: lead, misses, false alarms |
//! | `replay/on_policy.rs` | answers compared with recorded ones, and the point from which the comparison means nothing |
//! | `replay/evaluator.rs` | the instances that answer: fresh or reused ones |
//! | `replay/counterfactual.rs`, `replay/batch.rs` | all of that in one pass over a run, and over several |

pub(crate) mod on_policy;

mod batch;
mod counterfactual;
mod evaluator;
mod recorded_policies;
mod run_reader;
mod verification;
mod warning_quality;

pub use crate::context_outcome::{Censoring, ContextId, ContextOutcome, SessionMoment};
pub use batch::{InstanceMode, RecordedRun, ReplayResult, RunReplaySummary, replay, replay_with};
pub use counterfactual::{Counterfactual, ReplayError, ReplayOptions, counterfactual};
pub use evaluator::{CandidateEvaluator, FreshEvaluator, ReusingEvaluator};
pub use on_policy::{DecisionDifference, FirstDivergence, FunctionMatches, MatchCounts, TrialResult};
pub use recorded_policies::{PolicyLoadCache, RecordedPolicies};
pub use verification::{VerificationSummary, verify_all};
pub use warning_quality::{BinomialRate, ContextWarnings, LeadTime, WarningOutcome, WarningStats};
