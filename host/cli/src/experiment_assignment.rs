//! What a new run has to do with experiments: which of them it takes part in, what their arms lay over its workflow, and what is
//! shown to the user. An experiment never keeps a run from beginning: what is wrong with one is said, and the run goes with the
//! policies of its own files.

mod configured_choices;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use baton_lab::experiment::assignment::{layer, reference, strip_arms};
use baton_lab::experiment::{
    ArmAssignment, AssignmentContext, ExperimentDefinition, ExperimentError, ExperimentStore,
    ExperimentVersion, IneligibilityReason, UnitKind, VersionState, collect, enrol, guard,
};
use baton_runtime::core::experiment::Assignment;
use baton_runtime::core::observation::Capability;
use baton_runtime::core::{Digest, UnixMs, Workflow};
use baton_runtime::store::{Journal, StateDir};
use baton_runtime::{PolicyBundle, PolicySource, view_of};

use crate::args::LocationArgs;
use crate::location::{self, RunLocation};
use crate::render::text_format;
use crate::stdio;

pub(crate) use configured_choices::{configured_component, set_aside};

/// Bytes of chance in the id of a unit: no two runs of a user ever share one.
const UNIT_BYTES: usize = 12;

/// Digits of the workspace's digest in the id of a unit, so that it can be recognised.
const WORKSPACE_DIGITS: usize = 8;

/// Assigns a new run to its arms: lays them over its workflow, and adds their components to the bundle. The result becomes part
/// of the run's first input.
pub(crate) fn assign_arms(
    location: &RunLocation,
    workflow: &mut Workflow,
    policies: &mut PolicyBundle,
    inherited: &[Assignment],
) -> anyhow::Result<Vec<Assignment>> {
    let experiments = ExperimentStore::below(&location.config.state_root);
    let unit = fresh_unit(location)?;
    let mut taken: Vec<(String, Capability)> = Vec::new();
    let mut assignments = Vec::new();
    for mut definition in in_order(&experiments) {
        if let Some(why) = tripped(location, &experiments, &mut definition, workflow) {
            stdio::progress(&format!(
                "experiment {} enrols no more runs: {why} This run uses the workflow's own policy",
                definition.name
            ));
            continue;
        }
        let files = strip_arms(workflow.clone());
        let workspace = workspace_of(location);
        let work =
            AssignmentContext { workflow: &files, workspace: &workspace, fresh_unit: &unit, inherited };
        match enrol(&definition, &work, &taken) {
            Ok(enrolled) => match components(&experiments, &definition, enrolled.version) {
                Ok(mut components) => {
                    print_assignment(&definition, &enrolled);
                    let (version, arm) = (enrolled.version, enrolled.arm);
                    let aside = set_aside(&location.config, &files, policies, version, arm);
                    if !aside.is_empty() {
                        stdio::progress(&format!(
                            "in this run arm {} decides {} and overrides {}; `--no-experiment` leaves the run out",
                            arm.name,
                            text_format::list(&version.decides.iter().collect::<Vec<_>>()),
                            text_format::list(&aside)
                        ));
                    }
                    let named = |capability| {
                        configured_component(&files, policies, &arm.reference, &arm.component, capability)
                    };
                    workflow.policies.layers.push(layer(&definition, version, arm, named));
                    taken.extend(
                        enrolled.version.decides.iter().map(|one| (definition.name.to_string(), *one)),
                    );
                    let source =
                        PolicySource { name: arm.policy.clone(), bytes: components.remove(&arm.component) };
                    policies.components.insert(reference(&definition, arm), source);
                    assignments.push(enrolled.assignment);
                }
                Err(error) => stdio::progress(&format!("not in experiment {}: {error}", definition.name)),
            },
            Err(unfit) if unfit.should_notify() => {
                stdio::progress(&format!("not in experiment {}: {unfit}", definition.name));
            }
            Err(_) => {}
        }
    }
    Ok(assignments)
}

/// The experiments in which a new run of it would be enrolled, in lines. Draws and writes nothing.
pub(crate) fn foresee(location: &RunLocation, workflow: &Workflow, policies: &PolicyBundle) -> Vec<String> {
    let experiments = ExperimentStore::below(&location.config.state_root);
    let mut taken: Vec<(String, Capability)> = Vec::new();
    let mut lines = Vec::new();
    for definition in in_order(&experiments) {
        let name = &definition.name;
        let workspace = workspace_of(location);
        let work = AssignmentContext { workflow, workspace: &workspace, fresh_unit: "", inherited: &[] };
        match enrol(&definition, &work, &taken) {
            Ok(enrolled) => {
                taken.extend(enrolled.version.decides.iter().map(|one| (name.to_string(), *one)));
                lines.push(match definition.unit {
                    UnitKind::Task => {
                        format!("experiment {name}: this task always gets arm {}", enrolled.arm.name)
                    }
                    UnitKind::Run => {
                        format!("experiment {name}: a run gets one of {}", arm_shares(enrolled.version))
                    }
                });
                let version = enrolled.version;
                let drawn = version.arms.iter().filter(|arm| match definition.unit {
                    UnitKind::Task => arm.name == enrolled.arm.name,
                    UnitKind::Run => true,
                });
                for arm in drawn {
                    let aside = set_aside(&location.config, workflow, policies, version, arm);
                    if !aside.is_empty() {
                        let aside = text_format::list(&aside);
                        lines.push(format!("experiment {name}: arm {} overrides {aside}", arm.name));
                    }
                }
            }
            Err(IneligibilityReason::NotCovered) if definition.unit == UnitKind::Run => {
                if let Some(version) = definition.current() {
                    lines.push(format!(
                        "experiment {name}: {} of all runs get one of {}",
                        percent(version.coverage),
                        arm_shares(version)
                    ));
                }
            }
            Err(unfit) if unfit.should_notify() => {
                lines.push(format!("experiment {name}: not enrolled, {unfit}"))
            }
            Err(_) => {}
        }
    }
    lines
}

/// "control 50 %, eager 50 %".
pub(crate) fn arm_shares(version: &ExperimentVersion) -> String {
    let of = |(name, weight): (String, f64)| format!("{name} {}", percent(weight));
    version.arms.iter().map(|arm| of((arm.name.to_string(), arm.weight))).collect::<Vec<_>>().join(", ")
}

/// "50 %", "12.5 %".
pub(crate) fn percent(share: f64) -> String {
    let tenths = (share * 1_000.0).round() / 10.0;
    format!("{tenths} %")
}

/// The conflicts with running experiments about the same decisions, in lines.
pub(crate) fn overlaps(experiments: &ExperimentStore, definition: &ExperimentDefinition) -> Vec<String> {
    let Some(version) = definition.current().filter(|version| version.is_running()) else {
        return Vec::new();
    };
    let earlier = in_order(experiments).into_iter().take_while(|other| other.name != definition.name);
    let mut lines = Vec::new();
    for other in earlier {
        let Some(running) = other.current().filter(|version| version.is_running()) else { continue };
        let apart = |one: &Option<String>, two: &Option<String>| one.is_some() && two.is_some() && one != two;
        if apart(&version.only.workflow, &running.only.workflow) {
            continue;
        }
        let both: Vec<&str> = Capability::ALL
            .iter()
            .filter(|one| version.decides.contains(one) && running.decides.contains(one))
            .map(|one| one.name())
            .collect();
        if !both.is_empty() {
            lines.push(format!(
                "experiment {} gets no runs that are enrolled in {}, which was started earlier and also decides {}",
                definition.name,
                other.name,
                both.join(", ")
            ));
        }
    }
    lines
}

/// What the run that a new one is begun in place of takes part in: the newest of the workflow, where it was set aside. It is still
/// the same task, and no arm is drawn twice.
///
/// What cannot be read hands nothing on: a broken journal is reported elsewhere, and does not prevent a new run.
pub(crate) fn inherited(location: &LocationArgs, workflow: &Workflow) -> anyhow::Result<Vec<Assignment>> {
    if ExperimentStore::below(&location::state_root(location)?).all().is_empty() {
        return Ok(Vec::new());
    }
    let mut newest: Option<(UnixMs, Vec<Assignment>)> = None;
    for location in RunLocation::previous_locations(location, workflow)? {
        let found = StateDir::find(&location.config.state_root, &location.config.workspace);
        let Ok(Some(state)) = found else { continue };
        let Ok(runs) = Journal::open_read_only(&state).and_then(|journal| journal.runs()) else { continue };
        let Some(run) = runs.into_iter().rev().find(|run| run.workflow == workflow.name) else { continue };
        if newest.as_ref().is_some_and(|(at, _)| *at >= run.started_at) {
            continue;
        }
        let before = match run.ended {
            true => None,
            false => view_of(&location.config, Some(&run.run)).ok().filter(|view| view.set_aside),
        };
        newest = Some((run.started_at, before.map(|view| view.assignments).unwrap_or_default()));
    }
    Ok(newest.map(|(_, assignments)| assignments).unwrap_or_default())
}

/// The time.
pub(crate) fn now() -> UnixMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Those that can be read, the one that was started first comes first: of two that decide the same it has the run.
fn in_order(experiments: &ExperimentStore) -> Vec<ExperimentDefinition> {
    let mut found = Vec::new();
    for (name, read) in experiments.all() {
        match read {
            Ok(definition) => found.push(definition),
            Err(error) => stdio::progress(&format!("experiment {name} is skipped: {error}")),
        }
    }
    found.sort_by_key(|definition| definition.current().map(|version| version.started_at));
    found
}

/// Why an experiment that is about this run takes no more of them, if a guardrail has said so, now or earlier.
fn tripped(
    location: &RunLocation,
    experiments: &ExperimentStore,
    definition: &mut ExperimentDefinition,
    workflow: &Workflow,
) -> Option<String> {
    let version = definition.current()?;
    let about = |only: &baton_lab::experiment::RunTargeting| {
        only.workflow.as_ref().is_none_or(|name| *name == workflow.name)
            && only.workspace.as_ref().is_none_or(|folder| *folder == workspace_of(location))
    };
    if !about(&version.only) {
        return None;
    }
    match &version.state {
        VersionState::Tripped { why, .. } => return Some(why.clone()),
        VersionState::Stopped { .. } => return None,
        VersionState::Running => {}
    }
    match check_guardrails(location, experiments, definition) {
        Ok(why) => why,
        Err(error) => {
            stdio::progress(&format!(
                "cannot check the guardrails of experiment {}: {error}",
                definition.name
            ));
            None
        }
    }
}

/// Checks the guardrails, and records the result.
fn check_guardrails(
    location: &RunLocation,
    experiments: &ExperimentStore,
    definition: &mut ExperimentDefinition,
) -> Result<Option<String>, ExperimentError> {
    let collected = collect(&location.config.state_root, experiments, &definition.name)?;
    let Some(version) = definition.current() else { return Ok(None) };
    let alarms = guard(definition, version, &collected);
    if alarms.is_empty() {
        return Ok(None);
    }
    let (why, number) = (alarms.join(" "), version.version);
    trip(experiments, definition, number, &why)?;
    Ok(Some(why))
}

/// Writes down that a guardrail ended a version, if it has not ended yet.
pub(crate) fn trip(
    experiments: &ExperimentStore,
    definition: &mut ExperimentDefinition,
    number: u32,
    why: &str,
) -> Result<(), ExperimentError> {
    let held = experiments.hold()?;
    *definition = experiments.read(definition.name.as_str())?;
    if let Some(last) =
        definition.versions.last_mut().filter(|last| last.version == number && last.is_running())
    {
        last.state = VersionState::Tripped { at: now(), why: why.to_owned() };
        experiments.write(definition, &held)?;
    }
    Ok(())
}

/// The components of all arms, all of them or none: if only the drawn arm's were checked, a broken one would take units from
/// that arm alone.
fn components(
    experiments: &ExperimentStore,
    definition: &ExperimentDefinition,
    version: &ExperimentVersion,
) -> Result<BTreeMap<Digest, Vec<u8>>, ExperimentError> {
    let read = |arm: &baton_lab::experiment::ExperimentArm| {
        Ok((arm.component.clone(), experiments.component(&definition.name, &arm.component)?))
    };
    version.arms.iter().map(read).collect()
}

fn print_assignment(definition: &ExperimentDefinition, enrolled: &ArmAssignment<'_>) {
    let (name, arm) = (&definition.name, &enrolled.arm.name);
    let why = match enrolled.inherited {
        true => "as the run that it is begun in place of".to_owned(),
        false => format!("one of {}", arm_shares(enrolled.version)),
    };
    stdio::progress(&format!("enrolled in experiment {name}: arm {arm}, {why}"));
}

/// A unique id.
fn fresh_unit(location: &RunLocation) -> anyhow::Result<String> {
    let mut chance = [0_u8; UNIT_BYTES];
    getrandom::fill(&mut chance).context("drawing the id of a unit")?;
    let key = Digest::of(workspace_of(location).to_string_lossy().as_bytes());
    let chance: String = chance.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{chance}", &key.hex()[..WORKSPACE_DIGITS]))
}

/// Canonical, as experiments keep it.
fn workspace_of(location: &RunLocation) -> std::path::PathBuf {
    let folder = &location.config.workspace;
    folder.canonicalize().unwrap_or_else(|_| folder.clone())
}
