//! How often each policy answered or failed in a run, for reports. An abstention is neither.

use crate::decision::Label;
use crate::ids::Digest;
use crate::view::PolicyFailureRow;

/// The policies that were asked, in the order in which they first answered or failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PolicyOutcomes(Vec<PolicyFailureRow>);

impl PolicyOutcomes {
    /// Counts what the policies made of one question.
    pub(super) fn count(&mut self, label: &Label) {
        for record in &label.faults {
            let row = self.row(&record.policy, &record.component);
            row.failed = row.failed.saturating_add(1);
            if !row.instead.contains(&label.policy) {
                row.instead.push(label.policy.clone());
            }
        }
        if let Some(component) = &label.component {
            let row = self.row(&label.policy, component);
            row.answered = row.answered.saturating_add(1);
        }
    }

    fn row(&mut self, policy: &str, component: &Digest) -> &mut PolicyFailureRow {
        let is_it = |row: &PolicyFailureRow| row.policy == policy && row.component == *component;
        let at = self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.push(PolicyFailureRow {
                policy: policy.to_owned(),
                component: component.clone(),
                failed: 0,
                answered: 0,
                instead: Vec::new(),
            });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// Those that failed.
    pub(super) fn failures(&self) -> Vec<PolicyFailureRow> {
        self.0.iter().filter(|row| row.failed > 0).cloned().collect()
    }
}
