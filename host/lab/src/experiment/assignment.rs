//! The assignment of a new run to an arm, and how the arm is laid over the run's workflow. Pure: reads no file; the assignment
//! is recorded in the run's first input only.

use std::path::{Path, PathBuf};

use baton_core::bucketing;
use baton_core::experiment::Assignment;
use baton_core::ids::ExperimentId;
use baton_core::input::PolicyBinding;
use baton_core::observation::Capability;
use baton_core::workflow::{ConfigLayer, ConfigSource, PolicyChoice, PolicyLayer, PolicyScope};
use baton_core::{Digest, Workflow};

use super::definition::{ExperimentArm, ExperimentDefinition, ExperimentVersion, UnitKind};
use crate::run_metrics::task_of;

/// Buckets of an assignment that was written down are found again to this; weights are written in full.
const SAME: f64 = 1e-9;

/// A run that is about to begin.
#[derive(Clone, Copy, Debug)]
pub struct AssignmentContext<'a> {
    /// What is to be done, with every layer that files lay.
    pub workflow: &'a Workflow,
    /// Where, canonical.
    pub workspace: &'a Path,
    /// An id that no other run has: hashed if the run itself is the unit.
    pub fresh_unit: &'a str,
    /// The assignments of the run that this one replaces.
    pub inherited: &'a [Assignment],
}

/// Why a run takes no part in an experiment. None of it depends on the arm that it would get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IneligibilityReason {
    /// It takes no units any more.
    NotRunning,
    /// It is about another workflow.
    OtherWorkflow,
    /// It is about another folder.
    OtherWorkspace(PathBuf),
    /// The workflow chooses by itself, for a role or a phase, what the arms decide; an arm would decide elsewhere only.
    NarrowerChoice {
        /// "role reviewer", "phase build".
        place: String,
        /// What is chosen there.
        capability: Capability,
    },
    /// Another experiment, which was started earlier, decides the same in this run.
    DecidedByOther {
        /// The earlier experiment.
        by: String,
        /// The capability that both decide.
        capability: Capability,
    },
    /// Coverage leaves this unit out.
    NotCovered,
}

impl IneligibilityReason {
    /// Whether a person would wonder, so that `run` says a word about it.
    pub fn should_notify(&self) -> bool {
        matches!(
            self,
            IneligibilityReason::NarrowerChoice { .. } | IneligibilityReason::DecidedByOther { .. }
        )
    }
}

impl std::fmt::Display for IneligibilityReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            IneligibilityReason::NotRunning => write!(f, "it takes no runs any more"),
            IneligibilityReason::OtherWorkflow => write!(f, "it is about another workflow"),
            IneligibilityReason::OtherWorkspace(folder) => {
                write!(f, "it is about the folder {}", folder.display())
            }
            IneligibilityReason::NarrowerChoice { place, capability } => {
                write!(f, "the workflow chooses a policy for {capability} in {place} itself")
            }
            IneligibilityReason::DecidedByOther { by, capability } => {
                write!(f, "experiment {by}, which was started earlier, decides {capability} in it")
            }
            IneligibilityReason::NotCovered => write!(f, "coverage leaves it out"),
        }
    }
}

/// The assignment of an enrolled run.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmAssignment<'a> {
    /// What goes into its first input.
    pub assignment: Assignment,
    /// The version that it counts for.
    pub version: &'a ExperimentVersion,
    /// The arm.
    pub arm: &'a ExperimentArm,
    /// It was given to the run that this one is begun in place of.
    pub inherited: bool,
}

/// The arm of a unit: a function of the definition and the unit alone. None where coverage leaves it out.
pub fn assign<'a>(
    definition: &'a ExperimentDefinition,
    version: &'a ExperimentVersion,
    unit: &str,
) -> Option<ArmAssignment<'a>> {
    let bucket = bucketing::hash(&definition.seed, unit, definition.hash_version)?;
    let arm = version.arms.get(bucketing::choose(bucket, &version.ranges())?)?;
    Some(ArmAssignment {
        assignment: assignment(definition, version, arm, unit),
        version,
        arm,
        inherited: false,
    })
}

fn assignment(
    definition: &ExperimentDefinition,
    version: &ExperimentVersion,
    arm: &ExperimentArm,
    unit: &str,
) -> Assignment {
    Assignment {
        experiment: definition.name.clone(),
        version: version.version,
        unit: unit.to_owned(),
        arm: arm.name.clone(),
        propensities: version.propensities(),
        component: arm.component.clone(),
        unchecked: arm.unchecked,
    }
}

/// Gives a new run its arm, or says why it gets none. `taken` is what experiments before this one decide in the run.
pub fn enrol<'a>(
    definition: &'a ExperimentDefinition,
    work: &AssignmentContext<'_>,
    taken: &[(String, Capability)],
) -> Result<ArmAssignment<'a>, IneligibilityReason> {
    let version = definition.current().ok_or(IneligibilityReason::NotRunning)?;
    fits(version, work)?;
    if let Some((by, capability)) = taken.iter().find(|(_, capability)| version.decides.contains(capability))
    {
        return Err(IneligibilityReason::DecidedByOther { by: by.clone(), capability: *capability });
    }
    let before = work
        .inherited
        .iter()
        .find(|before| before.experiment == definition.name && before.version == version.version);
    if let Some(before) = before
        && let Some(arm) = version.arm(&before.arm)
    {
        let assignment = assignment(definition, version, arm, &before.unit);
        return Ok(ArmAssignment { assignment, version, arm, inherited: true });
    }
    let task;
    let unit = match definition.unit {
        UnitKind::Run => work.fresh_unit,
        UnitKind::Task => {
            task = task_of(work.workflow).to_string();
            &task
        }
    };
    assign(definition, version, unit).ok_or(IneligibilityReason::NotCovered)
}

/// Whether the experiment applies to a run. An arm decides in the whole run or not at all: if a role or a phase has its own
/// choice for a capability that the arms decide, the run is not enrolled.
pub fn fits(version: &ExperimentVersion, work: &AssignmentContext<'_>) -> Result<(), IneligibilityReason> {
    if !version.is_running() {
        return Err(IneligibilityReason::NotRunning);
    }
    if version.only.workflow.as_ref().is_some_and(|name| *name != work.workflow.name) {
        return Err(IneligibilityReason::OtherWorkflow);
    }
    if let Some(folder) = version.only.workspace.as_ref().filter(|folder| *folder != work.workspace) {
        return Err(IneligibilityReason::OtherWorkspace(folder.clone()));
    }
    match narrower(work.workflow, &version.decides).into_iter().next() {
        Some((place, capability)) => Err(IneligibilityReason::NarrowerChoice { place, capability }),
        None => Ok(()),
    }
}

/// The roles and phases that choose for themselves something of this, each with the first of it: "role reviewer", "phase build".
pub fn narrower(workflow: &Workflow, decides: &[Capability]) -> Vec<(String, Capability)> {
    let policies = &workflow.policies;
    let roles = policies.roles.iter().map(|(role, layer)| (format!("role {role}"), layer));
    let phases = policies.phases.iter().map(|(phase, layer)| (format!("phase {phase}"), layer));
    let chosen = |(place, layer): (String, &PolicyLayer)| {
        let says =
            |capability: &&Capability| layer.all.is_some() || layer.by_capability.contains_key(capability);
        decides.iter().find(says).map(|capability| (place, *capability))
    };
    roles.chain(phases).filter_map(chosen).collect()
}

/// How a run names the component of an arm. It stands for these bytes alone, whatever lies in any file.
pub fn reference(definition: &ExperimentDefinition, arm: &ExperimentArm) -> String {
    format!("experiment:{}/{}@{}", definition.name, arm.name, arm.component)
}

/// Where an arm says what it lays over a run. A simulation has no experiment, and its arms have no place.
pub fn place_of(experiment: Option<&ExperimentId>, arm: &str) -> String {
    experiment.map(|experiment| format!("{experiment}, arm {arm}")).unwrap_or_default()
}

/// The arm, as the closest of the layers for the whole run: what files lay beneath it decides there only if the arm abstains. `over` says how
/// the files name the same component, if it decides this there: the settings of the arm are laid over theirs.
pub fn layer(
    definition: &ExperimentDefinition,
    version: &ExperimentVersion,
    arm: &ExperimentArm,
    over: impl Fn(Capability) -> Option<String>,
) -> PolicyLayer {
    let choice = PolicyChoice {
        component: Some(reference(definition, arm)),
        settings: arm.settings.clone(),
        grants: arm.grants.clone(),
        from: ConfigSource {
            layer: ConfigLayer::Experiment,
            file: place_of(Some(&definition.name), arm.name.as_str()),
            line: 0,
        },
        ..PolicyChoice::default()
    };
    let chosen = |capability| PolicyChoice { over: over(capability), ..choice.clone() };
    let by_capability = version.decides.iter().map(|capability| (*capability, chosen(*capability))).collect();
    PolicyLayer { all: None, by_capability }
}

/// A workflow without what experiments laid over it: what its files say.
#[must_use]
pub fn strip_arms(mut workflow: Workflow) -> Workflow {
    let is_of_files = |layer: &PolicyLayer| {
        let choices = layer.all.iter().chain(layer.by_capability.values());
        choices.clone().next().is_none()
            || choices.clone().any(|choice| choice.from.layer != ConfigLayer::Experiment)
    };
    workflow.policies.layers.retain(is_of_files);
    workflow
}

/// Why an assignment that was read from a journal cannot be what this version gave; nothing where it is.
pub fn not_given(
    definition: &ExperimentDefinition,
    version: &ExperimentVersion,
    found: &Assignment,
) -> Option<String> {
    let Some(given) = assign(definition, version, &found.unit) else {
        return Some(format!("coverage leaves the unit {} out", found.unit));
    };
    if given.arm.name != found.arm {
        return Some(format!("its unit falls into arm {}, and it got {}", given.arm.name, found.arm));
    }
    if given.arm.component != found.component {
        let (right, wrong) = (given.arm.component.short(), found.component.short());
        return Some(format!("its arm has the component {right}, and it got {wrong}"));
    }
    let expected = version.propensities();
    let same = expected.len() == found.propensities.len()
        && expected.iter().all(|(arm, chance)| {
            found.propensities.get(arm).is_some_and(|found| (found - chance).abs() < SAME)
        });
    (!same).then(|| "its propensities are not those of the experiment".to_owned())
}

/// What a run really began with where the arm should decide: another component, if it is one.
pub fn mismatched_component(
    version: &ExperimentVersion,
    arm: &ExperimentArm,
    bindings: &[PolicyBinding],
) -> Option<(Capability, Digest)> {
    version.decides.iter().find_map(|capability| {
        let mut deciding = bindings
            .iter()
            .rev()
            .filter(|binding| binding.capability == *capability && binding.scope == PolicyScope::Run);
        let decides = deciding.next().map(|binding| &binding.component);
        match decides {
            Some(component) if *component == arm.component => None,
            found => Some((*capability, found.cloned().unwrap_or_else(|| Digest::of("")))),
        }
    })
}
