//! Recorded runs, replayed. *Verified*: everything that was decided is decided again by whoever decided it, and must come out the
//! same. *Counterfactual*: a candidate is asked instead, and its answers and warnings are set beside what was
//! decided, and beside what then happened. A run is read as a stream: how long it was costs time and no memory. Starts no
//! agent, and writes nothing.
//!
//! | file | part |
//! |---|---|
//! | `replay/witnesses.rs` | whoever decided, with settings, grants and artifacts as they were |
//! | `replay/verified.rs` | several runs verified |
//! | `replay/walk.rs` | a run, entry by entry |
//! | `fate.rs` of the crate | what then happened to each context, on hard evidence |
//! | `replay/alarms.rs` | warnings beside that: lead, misses, false alarms |
//! | `replay/course.rs` | answers beside answers, and from where on they mean nothing |
//! | `replay/asking.rs` | who answers: fresh instances, or kept ones |
//! | `replay/counterfactual.rs`, `replay/several.rs` | all of that in one pass over a run, and over several |

pub(crate) mod course;

mod alarms;
mod asking;
mod counterfactual;
mod several;
mod verified;
mod walk;
mod witnesses;

pub use crate::fate::{Censoring, ContextId, ContextOutcome, SessionMoment};
pub use alarms::{BinomialRate, ContextWarnings, LeadTime, WarningOutcome, WarningStats};
pub use asking::{CandidateEvaluator, FreshEvaluator, ReusingEvaluator};
pub use counterfactual::{Counterfactual, ReplayError, ReplayOptions, counterfactual};
pub use course::{DecisionDifference, FirstDivergence, FunctionMatches, MatchCounts, TrialResult};
pub use several::{InstanceMode, RecordedRun, ReplayResult, RunReplaySummary, replay, replay_with};
pub use verified::{VerificationSummary, verify_all};
pub use witnesses::{PolicyLoadCache, RecordedPolicies};
