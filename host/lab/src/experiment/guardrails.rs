//! What stops an experiment from taking more units: an arm that does harm for certain, or an assignment that is not random. It is the very
//! comparison that the report shows, looked at before each run begins; that it may be looked at so often is what its sequential
//! methods are for. Never touches a run that is at work.

use super::collection::CollectedRuns;
use super::definition::{ExperimentDefinition, ExperimentVersion};
use super::units::{join, options};
use crate::compare::{CheckResult, Comparison, compare};

/// Points of a path that nobody looks at.
const NO_PATH: usize = 1;

/// What came of a look at a version of an experiment.
#[derive(Clone, Debug)]
pub struct GuardrailReport {
    /// Everything that a report says.
    pub comparison: Comparison,
    /// What is wrong, in sentences; empty where nothing is.
    pub alarms: Vec<String>,
}

/// Compares the arms of a version. An alarm here is one for whoever reads: it includes outcomes that are missing more often in one
/// arm, which running work may explain, and which therefore stops nothing by itself.
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

/// Why a version has to take no more units, in sentences; empty where it may go on.
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
