//! The experiments that a run takes part in: which arm it got, and with which chances it might have got
//! another. Which arm that is, is decided before a run begins; nothing is chosen here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::{ArmName, Digest, ExperimentId};
use crate::serde_defaults::is_default;

/// Which arm of an experiment a run got. It is a part of the run's first input, so it is durable before any policy of the arm
/// is asked anything, and whatever belongs to the run has it too: continuations, sub-phases, retries and resumes (M5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Assignment {
    /// Of which experiment.
    pub experiment: ExperimentId,
    /// Which bucketing of it, from 1: an arm with another component is another one.
    pub version: u32,
    /// What was hashed: the root task.
    pub unit: String,
    /// The arm.
    pub arm: ArmName,
    /// The chance of each arm at that moment, of 1 together. Propensities cannot be repaired afterwards.
    pub propensities: BTreeMap<ArmName, f64>,
    /// The component of the arm. What really decided is in the labels.
    pub component: Digest,
    /// The component was added to the experiment without the check that it is fit to decide.
    #[serde(default, skip_serializing_if = "is_default")]
    pub unchecked: bool,
}
