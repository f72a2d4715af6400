//! Recorded runs, replayed. *Verified*: everything that was decided is decided again by whoever decided it, and must come out the
//! same. *Counterfactual*: a candidate is asked instead, and its answers and warnings are set beside what was
//! decided, and beside what then happened. A run is read as a stream: how long it was costs time and no memory. Starts no
//! agent, and writes nothing.
//!
//! | file | part |
//! |---|---|
//! | `replay/recorded_policies.rs` | the policies that decided, with settings, grants and artifacts as they were |
//! | `replay/verification.rs` | several runs verified |
//! | `replay/run_reader.rs` | a run, entry by entry |
//! | `context_outcome.rs` of the crate | what then happened to each context, on hard evidence |
//! | `replay/warning_quality.rs` | warnings beside that: lead, misses, false alarms |
//! | `replay/on_policy.rs` | answers beside answers, and from where on they mean nothing |
//! | `replay/evaluator.rs` | who answers: fresh instances, or kept ones |
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
