//! How often each policy decided, abstained or failed in a run, for reports.

use std::collections::BTreeMap;

use crate::decision::Label;
use crate::ids::Digest;
use crate::observation::Capability;
use crate::view::{PolicyDecisionsRow, PolicyFailureRow};

/// The policies that were asked, in the order in which they first answered or failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PolicyOutcomes(Vec<Outcomes>);

/// What one policy made of the questions that it was asked.
#[derive(Clone, Debug, PartialEq)]
struct Outcomes {
    policy: String,
    component: Digest,
    failed: u32,
    answered: BTreeMap<Capability, u32>,
    abstained: BTreeMap<Capability, u32>,
    /// Who answered where it failed.
    instead: Vec<String>,
}

impl PolicyOutcomes {
    /// Counts what the policies made of one question.
    pub(super) fn count(&mut self, label: &Label) {
        for record in &label.faults {
            let of = self.of(&record.policy, &record.component);
            of.failed = of.failed.saturating_add(1);
            if !of.instead.contains(&label.policy) {
                of.instead.push(label.policy.clone());
            }
        }
        for record in &label.abstained {
            let abstained =
                self.of(&record.policy, &record.component).abstained.entry(label.capability).or_default();
            *abstained = abstained.saturating_add(1);
        }
        if let Some(component) = &label.component {
            let answered = self.of(&label.policy, component).answered.entry(label.capability).or_default();
            *answered = answered.saturating_add(1);
        }
    }

    fn of(&mut self, policy: &str, component: &Digest) -> &mut Outcomes {
        let is_it = |known: &Outcomes| known.policy == policy && known.component == *component;
        let at = self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.push(Outcomes {
                policy: policy.to_owned(),
                component: component.clone(),
                failed: 0,
                answered: BTreeMap::new(),
                abstained: BTreeMap::new(),
                instead: Vec::new(),
            });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// Those that failed.
    pub(super) fn failures(&self) -> Vec<PolicyFailureRow> {
        let failed = self.0.iter().filter(|of| of.failed > 0);
        let row = |of: &Outcomes| PolicyFailureRow {
            policy: of.policy.clone(),
            component: of.component.clone(),
            failed: of.failed,
            answered: of.answered.values().fold(0, |sum, answered| sum.saturating_add(*answered)),
            instead: of.instead.clone(),
        };
        failed.map(row).collect()
    }

    /// Those that decided or abstained.
    pub(super) fn decisions(&self) -> Vec<PolicyDecisionsRow> {
        let has_answered = |of: &&Outcomes| !of.answered.is_empty() || !of.abstained.is_empty();
        let row = |of: &Outcomes| PolicyDecisionsRow {
            policy: of.policy.clone(),
            component: of.component.clone(),
            decided: of.answered.clone(),
            abstained: of.abstained.clone(),
        };
        self.0.iter().filter(has_answered).map(row).collect()
    }
}
