//! From runs to units, and from units to the samples that are compared. A unit counts for its assigned arm, however its run
//! ended (intention to treat). A unit that cannot count is listed with its reason, never dropped.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::ids::ArmName;

use super::assignment::{mismatched_component, not_given};
use super::collection::{CollectedRuns, ExperimentRun};
use super::definition::{ExperimentDefinition, ExperimentVersion, UnitKind};
use crate::compare::{ArmSample, CompareOptions, ComparisonDesign, InvalidUnit};
use crate::run_metrics::{RunMetrics, RunResult, add_asked};

/// The units of one version of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentUnits {
    /// One sample an arm, control first.
    pub samples: Vec<ArmSample>,
    /// Runs that claim an arm that the experiment does not have.
    pub unknown_arm_runs: Vec<InvalidUnit>,
    /// Runs that were started again, and count together with the runs that replaced them.
    pub replaced: u64,
    /// What a reader has to know besides.
    pub notes: Vec<String>,
}

/// Why a run cannot count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExclusionReason {
    /// What became of it cannot be read.
    Unreadable(String),
    /// The experiment would have assigned another arm: the assignment was written by hand, or is not random.
    NotGiven(String),
    /// It began with another component than its arm has.
    OtherComponent(String),
    /// Another run has its unit, and neither was begun in place of the other.
    Duplicate,
}

impl std::fmt::Display for ExclusionReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExclusionReason::Unreadable(why) => write!(f, "its journal cannot be read: {why}"),
            ExclusionReason::NotGiven(why) => write!(f, "the experiment did not give it this arm: {why}"),
            ExclusionReason::OtherComponent(what) => write!(f, "what decided is not its arm's: {what}"),
            ExclusionReason::Duplicate => {
                write!(f, "another run has the same unit, and was not begun in its place")
            }
        }
    }
}

/// Joins the assignments of a version to their outcomes.
pub fn join(
    definition: &ExperimentDefinition,
    version: &ExperimentVersion,
    collected: &CollectedRuns,
) -> ExperimentUnits {
    let mut arms: BTreeMap<&ArmName, (Vec<RunMetrics>, Vec<InvalidUnit>)> = BTreeMap::new();
    let mut joined =
        ExperimentUnits { samples: Vec::new(), unknown_arm_runs: Vec::new(), replaced: 0, notes: Vec::new() };
    for unit in units(definition, version, collected) {
        let arm = version.arm(&unit.newest().assignment.arm).map(|arm| &arm.name);
        joined.replaced += unit.records.len() as u64 - 1;
        let (counted, why) = match (unit.misfit(definition, version), unit.measures()) {
            (Some(misfit), _) => (None, misfit.to_string()),
            (None, Ok(measures)) => (Some(measures), String::new()),
            (None, Err(why)) => (None, ExclusionReason::Unreadable(why).to_string()),
        };
        let invalid =
            || InvalidUnit { unit: unit.newest().assignment.unit.clone(), reason: unit.with_location(&why) };
        match (arm, counted) {
            (None, _) => joined.unknown_arm_runs.push(invalid()),
            (Some(arm), Some(measures)) => arms.entry(arm).or_default().0.push(measures),
            (Some(arm), None) => arms.entry(arm).or_default().1.push(invalid()),
        }
    }
    for arm in &version.arms {
        let (measures, invalid) = arms.remove(&arm.name).unwrap_or_default();
        joined.samples.push(ArmSample {
            arm: arm.name.as_str().to_owned(),
            policy: arm.policy.clone(),
            component: Some(arm.component.clone()),
            weight: arm.weight,
            measures,
            invalid,
        });
    }
    joined.notes = notes(version, collected, &joined);
    joined
}

/// How the samples are to be compared.
pub fn options(definition: &ExperimentDefinition, version: &ExperimentVersion) -> CompareOptions {
    let analysis = version.analysis;
    CompareOptions {
        title: match definition.versions.len() {
            1 => definition.name.to_string(),
            _ => format!("{}, version {}", definition.name, version.version),
        },
        experiment: Some(definition.name.clone()),
        design: match definition.unit {
            UnitKind::Run => ComparisonDesign::Independent,
            UnitKind::Task => ComparisonDesign::ClusteredByTask,
        },
        alpha: analysis.alpha,
        objectives_margin: analysis.objectives_margin,
        tokens_margin: analysis.tokens_margin,
        guardrail_margin: analysis.guardrail_margin,
        ..CompareOptions::default()
    }
}

/// The runs that are counted as one.
struct UnitRuns<'a> {
    /// In the order in which they began; each but the last was set aside for the next.
    records: Vec<&'a ExperimentRun>,
    is_duplicate: bool,
}

impl UnitRuns<'_> {
    fn newest(&self) -> &ExperimentRun {
        self.records[self.records.len() - 1]
    }

    fn misfit(
        &self,
        definition: &ExperimentDefinition,
        version: &ExperimentVersion,
    ) -> Option<ExclusionReason> {
        let found = &self.newest().assignment;
        if let Some(why) = not_given(definition, version, found) {
            return Some(ExclusionReason::NotGiven(why));
        }
        let arm = version.arm(&found.arm)?;
        for record in &self.records {
            if let Some((capability, component)) = mismatched_component(version, arm, &record.bindings) {
                let what = format!("{capability} began with {}", component.short());
                return Some(ExclusionReason::OtherComponent(what));
            }
        }
        self.is_duplicate.then_some(ExclusionReason::Duplicate)
    }

    /// What the last of them came to, at the price of all of them.
    fn measures(&self) -> Result<RunMetrics, String> {
        let mut whole = self.newest().measures.clone()?;
        whole.started_at = self.records[0].started_at;
        for before in &self.records[..self.records.len() - 1] {
            let before = before.measures.as_ref().map_err(Clone::clone)?;
            whole.tokens += before.tokens;
            whole.cost_microusd = match (whole.cost_microusd, before.cost_microusd) {
                (Some(now), Some(before)) => Some(now + before),
                (now, before) => now.or(before),
            };
            whole.active_ms += before.active_ms;
            whole.quota_wait_ms += before.quota_wait_ms;
            whole.turns += before.turns;
            whole.wasted_turns += before.wasted_turns;
            whole.sessions += before.sessions;
            whole.handoffs += before.handoffs;
            whole.compactions += before.compactions;
            whole.splits += before.splits;
            whole.exhaustions += before.exhaustions;
            whole.missed += before.missed;
            whole.false_alarms += before.false_alarms;
            whole.lead_turns.extend_from_slice(&before.lead_turns);
            whole.retries += before.retries;
            whole.decisions += before.decisions;
            whole.faults += before.faults;
            whole.timeouts += before.timeouts;
            add_asked(&mut whole.policies, &before.policies);
            whole.swapped |= before.swapped;
        }
        Ok(whole)
    }

    /// The reason with the location of the run, so that the user can look at it.
    fn with_location(&self, why: &str) -> String {
        let newest = self.newest();
        format!("run {} in {}: {why}", newest.run, newest.workspace.display())
    }
}

/// Runs by unit. If the run is the unit, a stopped run is grouped with the next run of its unit, which replaced it. If the task
/// is the unit, every run counts separately and the comparison clusters them.
fn units<'a>(
    definition: &ExperimentDefinition,
    version: &ExperimentVersion,
    collected: &'a CollectedRuns,
) -> Vec<UnitRuns<'a>> {
    let of_version = collected.records.iter().filter(|record| record.assignment.version == version.version);
    if definition.unit == UnitKind::Task {
        return of_version.map(|record| UnitRuns { records: vec![record], is_duplicate: false }).collect();
    }
    let mut order: Vec<&str> = Vec::new();
    let mut by_unit: BTreeMap<&str, Vec<&ExperimentRun>> = BTreeMap::new();
    for record in of_version {
        let unit = record.assignment.unit.as_str();
        let records = by_unit.entry(unit).or_default();
        if records.is_empty() {
            order.push(unit);
        }
        records.push(record);
    }
    let counted = |unit: &str| {
        let records = by_unit.remove(unit).unwrap_or_default();
        let was_replaced = |record: &&ExperimentRun| {
            record.measures.as_ref().is_ok_and(|measures| measures.standing == RunResult::Stopped)
        };
        let is_duplicate = !records[..records.len() - 1].iter().all(was_replaced);
        UnitRuns { records, is_duplicate }
    };
    order.into_iter().map(counted).collect()
}

fn notes(version: &ExperimentVersion, collected: &CollectedRuns, joined: &ExperimentUnits) -> Vec<String> {
    let mut notes = Vec::new();
    if let super::VersionState::Tripped { why, .. } = &version.state {
        notes.push(format!("A guardrail stopped enrolment: {why}. Runs that had begun went on."));
    }
    if let super::VersionState::Stopped { why, .. } = &version.state {
        notes.push(format!("It was stopped: {why}."));
    }
    if joined.replaced > 0 {
        notes.push(format!(
            "{} runs were begun anew; they count as one unit with what came in their place, with the tokens and the time of both.",
            joined.replaced
        ));
    }
    for stranger in &joined.unknown_arm_runs {
        notes.push(format!("In no arm of this experiment: {}.", stranger.reason));
    }
    let journals: BTreeSet<String> = collected
        .unreadable
        .iter()
        .map(|(workspace, why)| format!("The journal of {} cannot be read: {why}.", workspace.display()))
        .collect();
    notes.extend(journals);
    notes
}
