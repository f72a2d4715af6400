//! Live experiments (M5): what is tried against what (`definition`), where that is kept (`catalogue`), which run gets which arm
//! (`enrol`), what became of those runs (`outcomes`, joined to units in `units`), and what stops an experiment from taking more of
//! them (`guard`). Never touches a run that is at work, and starts none.
//!
//! A unit is the root task: a run with its continuations, splits and resumes, and with the runs that were begun in its place. Which
//! arm it gets is a function of the experiment's seed and the unit's id ([`baton_core::bucketing`]), so anybody can check it; that it got
//! it stands in the run's first input, in the very same commit in which the run begins. There is no other list of who takes part.

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
