//! Live experiments (M5): the arms and the analysis plan (`definition`), their storage (`store`), which run gets which arm
//! (`assignment`), the outcomes of those runs (`collection`, joined to units in `units`), and the reasons to enrol no more of
//! them (`guardrails`). Never changes a live run, and starts none.
//!
//! A unit is the root task: a run with its continuations, splits and resumes, and with the runs that replaced it. Which arm it
//! gets is a function of the experiment's seed and the unit's id ([`baton_core::bucketing`]), so the assignment can be checked.
//! The assignment is part of the run's first input, written in the same commit that begins the run. There is no other list of
//! enrolled runs.

mod arm_spec;
pub mod assignment;
pub mod collection;
pub mod definition;
pub mod guardrails;
pub mod power;
pub mod store;
pub mod units;

pub use arm_spec::{ArmSpec, shares};
pub use assignment::{ArmAssignment, AssignmentContext, IneligibilityReason, assign, enrol};
pub use collection::{CollectedRuns, ExperimentRun, collect};
pub use definition::{
    AnalysisPlan, ExperimentArm, ExperimentDefinition, ExperimentError, ExperimentVersion, RunTargeting,
    UnitKind, VersionState,
};
pub use guardrails::{GuardrailReport, guard, report};
pub use store::ExperimentStore;
pub use units::{ExclusionReason, ExperimentUnits, join};

#[cfg(test)]
mod tests;
