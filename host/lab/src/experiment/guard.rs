//! What stops an experiment from taking more units: an arm that does harm for certain, or dice that are not fair. It is the very
//! comparison that the report shows, looked at before each run begins; that it may be looked at so often is what its sequential
//! methods are for. Never touches a run that is at work.

use super::definition::{Definition, Version};
use super::outcomes::Collected;
use super::units::{join, options};
use crate::compare::{Checked, Comparison, compare};

/// Points of a path that nobody looks at.
const NO_PATH: usize = 1;

/// What came of a look at a version of an experiment.
#[derive(Clone, Debug)]
pub struct Guarded {
    /// Everything that a report says.
    pub comparison: Comparison,
    /// What is wrong, in sentences; empty where nothing is.
    pub alarms: Vec<String>,
}

/// Compares the arms of a version. An alarm here is one for whoever reads: it includes outcomes that are missing more often in one
/// arm, which running work may explain, and which therefore stops nothing by itself.
pub fn report(definition: &Definition, version: &Version, collected: &Collected) -> Guarded {
    let mut guarded = look(definition, version, collected, None);
    if guarded.comparison.attrition.checked == Checked::Alarm {
        guarded.alarms.push(guarded.comparison.attrition.words.clone());
    }
    guarded
}

/// Why a version has to take no more units, in sentences; empty where it may go on.
pub fn guard(definition: &Definition, version: &Version, collected: &Collected) -> Vec<String> {
    look(definition, version, collected, Some(NO_PATH)).alarms
}

fn look(definition: &Definition, version: &Version, collected: &Collected, points: Option<usize>) -> Guarded {
    let joined = join(definition, version, collected);
    let mut options = options(definition, version);
    options.path_points = points.unwrap_or(options.path_points);
    let mut comparison = compare(&joined.samples, &options);
    comparison.notes.extend(joined.notes);
    let mut alarms = Vec::new();
    if comparison.allocation.checked == Checked::Alarm {
        alarms.push(comparison.allocation.words.clone());
    }
    let tripped = comparison.guardrails.iter().filter(|guardrail| guardrail.checked == Checked::Alarm);
    alarms.extend(tripped.map(|guardrail| guardrail.words.clone()));
    Guarded { comparison, alarms }
}
