//! What came of asking components that gave no answer, and who answered in their place.

use std::collections::BTreeMap;

use baton_core::Digest;
use baton_core::decision::{Fault, Label};
use serde::{Deserialize, Serialize};

/// The failures of one component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failures {
    /// Questions that it was asked and gave no answer to.
    pub times: u64,
    /// Those of them in which it trapped.
    pub trapped: u64,
    /// Who answered in its place, by name, and how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answered: BTreeMap<String, u64>,
}

impl Failures {
    /// Takes in those of the same component elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.times += other.times;
        self.trapped += other.trapped;
        for (policy, times) in &other.answered {
            *self.answered.entry(policy.clone()).or_default() += times;
        }
    }
}

/// Counts the faults that a decision came after.
pub(super) fn count(failures: &mut BTreeMap<Digest, Failures>, label: &Label) {
    for record in &label.faults {
        let of = failures.entry(record.component.clone()).or_default();
        of.times += 1;
        of.trapped += u64::from(matches!(record.fault, Fault::Trap { .. }));
        *of.answered.entry(label.policy.clone()).or_default() += 1;
    }
}
