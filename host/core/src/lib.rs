//! Sans-IO heart of Baton: ids, facts, the workflow model and the run/phase/session machines.
//!
//! Everything here is a function of its inputs: no clock, no randomness, no IO, no async. A test, a live run, a
//! recovery, a replay and a simulation drive the very same [`Run`].
//!
//! Ids in comments, such as (A8) and (M3), are those of the table in `tests/requirements.md`.
#![forbid(unsafe_code)]

pub mod action;
pub mod bucketing;
mod capability;
pub mod check_files;
pub mod decision;
pub mod decision_diff;
pub mod decision_rules;
pub mod experiment;
pub mod facts;
pub mod git_link;
pub mod grants;
pub mod ids;
pub mod input;
pub mod observation;
pub mod path_mentions;
pub mod progress;
pub mod run;
mod run_outcome;
mod serde_defaults;
pub mod shell_words;
pub mod short_format;
pub mod task_runners;
pub mod text;
pub mod time;
pub mod view;
pub mod visible;
pub mod workflow;
pub mod worktree;

pub use action::{Action, Intent};
pub use ids::{
    ActionId, Digest, DigestBuilder, ObjectiveId, PhaseId, RequestId, RoleName, RunId, Seq, SessionId,
};
pub use input::{ActionOutcome, Input, JournaledInput};
pub use run::Run;
pub use text::TextBlob;
pub use time::{DurationMs, UnixMs};
pub use workflow::Workflow;
pub use worktree::WorktreeName;
