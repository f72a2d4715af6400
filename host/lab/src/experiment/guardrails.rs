//! The guardrails that stop an experiment from enrolling more units: an arm that certainly does harm, or an assignment that is
//! not random. They use the same comparison as the report, evaluated before each run begins; its sequential methods allow that
//! many looks. Never changes a live run.

use super::collection::CollectedRuns;
use super::definition::{ExperimentDefinition, ExperimentVersion};
use super::units::{join, options};
use crate::compare::{CheckResult, Comparison, compare};

/// Points of the path, which the guard does not use.
const NO_PATH: usize = 1;

/// What came of a look at a version of an experiment.
#[derive(Clone, Debug)]
pub struct GuardrailReport {
    /// Everything that a report says.
    pub comparison: Comparison,
    /// The alarms, in sentences; empty if there are none.
    pub alarms: Vec<String>,
}

/// Compares the arms of a version. These alarms are for the reader: they include outcomes that are missing more often in one
/// arm. Running work may explain those, so they do not stop the experiment.
pub fn report(
    definition: &ExperimentDefinition,
    version: &ExperimentVersion,
    collected: &CollectedRuns,
) -> GuardrailReport {
    let mut guarded = evaluate_guardrails(definition, version, collected, None);
    if guarded.comparison.attrition.checked == CheckResult::Alarm {
        guarded.alarms.push(guarded.comparison.attrition.words.clone());
    }
    guarded
}

/// Why a version must not enrol more units, in sentences; empty if it may continue.
pub fn guard(
    definition: &ExperimentDefinition,
    version: &ExperimentVersion,
    collected: &CollectedRuns,
) -> Vec<String> {
    evaluate_guardrails(definition, version, collected, Some(NO_PATH)).alarms
}

fn evaluate_guardrails(
    definition: &ExperimentDefinition,
    version: &ExperimentVersion,
    collected: &CollectedRuns,
    points: Option<usize>,
) -> GuardrailReport {
    let joined = join(definition, version, collected);
    let mut options = options(definition, version);
    options.path_points = points.unwrap_or(options.path_points);
    let mut comparison = compare(&joined.samples, &options);
    comparison.notes.extend(joined.notes);
    let mut alarms = Vec::new();
    if comparison.allocation.checked == CheckResult::Alarm {
        alarms.push(comparison.allocation.words.clone());
    }
    let tripped = comparison.guardrails.iter().filter(|guardrail| guardrail.checked == CheckResult::Alarm);
    alarms.extend(tripped.map(|guardrail| guardrail.words.clone()));
    GuardrailReport { comparison, alarms }
}
