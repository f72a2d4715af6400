//! Whole workflows in virtual time: the real core ([`Run`](baton_core::Run)) and the real components (a [`Router`]) over a
//! stochastic model of agents, people, checks and merges ([`Model`]). This module makes no decision of a host; the world only
//! performs intents and turns their results into inputs.
//!
//! | file | part |
//! |---|---|
//! | `simulate/model.rs` | the numbers of a world, and their file |
//! | `simulate/sim_rng.rs`, `simulate/quota.rs` | chance, one stream a concern, the same for every arm of a seed |
//! | `simulate/world.rs` | one run: the queue, time, inputs |
//! | `simulate/world/effects.rs` | the outcome of each intent |
//! | `simulate/sim_agent.rs` | agents, turn by turn |
//! | `simulate/workspace_model.rs` | trees, their contents and its quality |
//! | `simulate/batch.rs` | many runs at once |
//! | `simulate/fit.rs` | a model from journals |
//!
//! A simulation's results hold for its model. A default that was not measured is marked as an assumption ([`ParamSource`]);
//! `fit` replaces it by values from journals.

mod batch;
pub mod fit;
mod model;
mod quota;
mod sim_agent;
mod sim_rng;
mod workspace_model;
mod world;

use baton_core::Workflow;
use baton_core::input::{BindingLink, PolicyBinding};
use baton_engine::{ConfiguredPolicy, Router, RouterError};
use baton_store::{Durability, Journal, JournalEntry, StoreError};
use serde::{Deserialize, Serialize};

use crate::run_metrics::RunMetrics;

pub use batch::{SimulationBatch, fleet};
pub use model::{Model, ModelDiagnostic, ModelError, ModelParam, ParamSource};

/// Entries that are appended to a journal at once.
const APPENDED: usize = 1_024;

/// Makes the router of one run. A router remembers who answered well, so each run gets its own.
pub type RouterFactory = Box<dyn Fn() -> Result<Router, RouterError> + Send + Sync>;

/// The policy that a link of a binding names; none if it was not loaded.
pub type PolicyLookup = Box<dyn Fn(&BindingLink) -> Option<ConfiguredPolicy> + Send + Sync>;

/// Who decides in the runs of one arm.
pub struct SimulatedArm {
    /// What it is called.
    pub name: String,
    /// What is to be done.
    pub workflow: Workflow,
    /// Who decides, as the first input of a run says it.
    pub bindings: Vec<PolicyBinding>,
    /// Components and canonical settings of the bindings, for a journal.
    pub blobs: Vec<Vec<u8>>,
    /// A router that follows the bindings of a run, from its first input to its last.
    pub router: RouterFactory,
    /// The policies of the bindings.
    pub loaded: PolicyLookup,
}

impl std::fmt::Debug for SimulatedArm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Arm").field("name", &self.name).field("pins", &self.bindings).finish_non_exhaustive()
    }
}

/// How a simulated run ended. No run is dropped: one that reaches a bound is counted under that bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SimulationEnd {
    /// It is over.
    Over,
    /// It waits for a user who never answers.
    Waiting,
    /// It had more inputs than a run may have.
    TooManyInputs,
    /// It took longer than a run may take.
    TooLong,
    /// It went round in circles.
    NoProgress,
}

impl SimulationEnd {
    /// In a few words.
    pub const fn name(self) -> &'static str {
        match self {
            SimulationEnd::Over => "over",
            SimulationEnd::Waiting => "waits for a person",
            SimulationEnd::TooManyInputs => "too many inputs",
            SimulationEnd::TooLong => "too long",
            SimulationEnd::NoProgress => "no progress",
        }
    }
}

/// A run that was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatedRun {
    /// Of which seed.
    pub seed: u64,
    /// What it came to, as a live run would be measured.
    pub measures: RunMetrics,
    /// Objectives that are really right in the workspace in the end, which no live run can know.
    pub right: u32,
    /// How it came to rest.
    pub ends: SimulationEnd,
    /// Inputs that it had.
    pub inputs: u64,
    /// Virtual time from the first input to the last, in ms.
    pub took_ms: u64,
    /// The whole journal, if it was to be kept.
    #[serde(skip)]
    pub entries: Option<Vec<JournalEntry>>,
}

/// A simulation could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimulateError {
    /// No router could be made of the components of an arm.
    #[error("arm {arm}: {why}")]
    Router {
        /// Which arm.
        arm: String,
        /// Why not.
        why: RouterError,
    },
    /// Core refused an input: a mistake of this world, never of a policy.
    #[error(
        "arm {arm}, seed {seed}: the simulated world is broken: {why}. Please report it with the workflow and the model"
    )]
    Broken {
        /// Which arm.
        arm: String,
        /// Which seed.
        seed: u64,
        /// What core said.
        why: String,
    },
    /// A run could not be written.
    #[error(transparent)]
    Journal(#[from] StoreError),
}

/// Simulates one run. The same arm, model and seed give the same run, entry by entry. `keep` keeps its entries.
///
/// # Errors
/// [`SimulateError::Router`] if the components of the arm do not fit together; [`SimulateError::Broken`] is a bug in the
/// simulation.
pub fn simulate(
    arm: &SimulatedArm,
    model: &Model,
    seed: u64,
    keep: bool,
) -> Result<SimulatedRun, SimulateError> {
    world::SimWorld::new(arm, model, seed, keep)?.run_to_end(arm)
}

/// Writes a run that was kept into a journal, with the components that decided in it: it can be replayed like any other.
///
/// # Errors
/// [`SimulateError::Journal`] if the journal refuses it, for example because it already has a run of this name.
pub fn write(run: &SimulatedRun, arm: &SimulatedArm, journal: &Journal) -> Result<(), SimulateError> {
    for blob in &arm.blobs {
        journal.put_blob(blob.clone())?;
    }
    for entries in run.entries.as_deref().unwrap_or_default().chunks(APPENDED) {
        journal.append_wait(&run.measures.run, entries.to_vec(), Durability::Telemetry)?;
    }
    journal.flush()?;
    Ok(())
}
