//! Sans-IO heart of Baton: ids, facts, the workflow model and the run/phase/session machines.
//!
//! Everything here is a function of its inputs: no clock, no randomness, no IO, no async. A test, a live run, a
//! recovery, a replay and a simulation drive the very same [`Run`].
#![forbid(unsafe_code)]

pub mod action;
pub mod agreement;
pub mod bucket;
pub mod check_files;
pub mod decision;
pub mod experiment;
pub mod facts;
pub mod fits;
pub mod git_link;
pub mod grants;
pub mod ids;
pub mod input;
pub mod named;
pub mod notice;
pub mod observation;
pub mod run;
pub mod short;
pub mod text;
pub mod time;
pub mod tree;
pub mod view;
pub mod visible;
pub mod workflow;

pub use action::{Action, Intent};
pub use ids::{ActionId, Digest, ObjectiveId, PhaseId, RequestId, RoleName, RunId, Seq, SessionId};
pub use input::{Input, Outcome, Stamped};
pub use run::Run;
pub use text::Text;
pub use time::{DurationMs, UnixMs};
pub use tree::Tree;
pub use workflow::Workflow;
