//! What the policies of a run made of the questions that they were asked, and who answered where they failed.

use std::collections::BTreeMap;

use baton_core::Digest;
use baton_core::decision::{Fault, Provenance};
use baton_core::input::PolicyBinding;
use baton_core::observation::Capability;
use baton_core::workflow::ConfigLayer;
use serde::{Deserialize, Serialize};

/// The failures of one policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyFailures {
    /// Questions that it was asked and gave no answer to.
    pub times: u64,
    /// Those of them in which it trapped.
    pub trapped: u64,
    /// Who answered in its place, by name, and how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answered: BTreeMap<String, u64>,
}

impl PolicyFailures {
    /// Takes in those of the same policy elsewhere.
    pub fn add(&mut self, other: &Self) {
        self.times += other.times;
        self.trapped += other.trapped;
        for (policy, times) in &other.answered {
            *self.answered.entry(policy.clone()).or_default() += times;
        }
    }

    fn is_none(&self) -> bool {
        self.times == 0
    }
}

/// What one policy made of the questions of one decision. A component with other settings is another policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyCounts {
    /// Its component.
    pub component: Digest,
    /// Digest of its canonical settings; none where a journal does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Digest>,
    /// What it was asked about.
    pub decision: Capability,
    /// Who laid it over the run: "EXPERIMENT, arm NAME", or nothing in a simulation. None of a policy that files name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// Questions that it decided.
    #[serde(default)]
    pub decided: u64,
    /// Questions that it left to the next policy.
    #[serde(default)]
    pub abstained: u64,
    /// Questions on which it failed.
    #[serde(default, skip_serializing_if = "PolicyFailures::is_none")]
    pub failures: PolicyFailures,
}

impl PolicyCounts {
    /// How often it was asked: it answered, abstained or failed.
    pub fn asked(&self) -> u64 {
        self.decided + self.abstained + self.failures.times
    }

    fn is_same_policy(&self, other: &Self) -> bool {
        (&self.component, &self.settings, self.decision, &self.arm)
            == (&other.component, &other.settings, other.decision, &other.arm)
    }
}

/// Takes in what was counted elsewhere.
pub fn add_asked(all: &mut Vec<PolicyCounts>, other: &[PolicyCounts]) {
    for one in other {
        match all.iter_mut().find(|known| known.is_same_policy(one)) {
            Some(known) => {
                known.decided += one.decided;
                known.abstained += one.abstained;
                known.failures.add(&one.failures);
            }
            None => all.push(one.clone()),
        }
    }
}

/// Counts, and knows what arms laid over the run.
#[derive(Debug, Default)]
pub(super) struct PolicyCounter {
    /// What an arm decides, its component and settings, and what it is called.
    laid: Vec<(Capability, Digest, Digest, String)>,
    counted: Vec<PolicyCounts>,
}

impl PolicyCounter {
    /// Takes over what arms laid over a run that begins.
    pub(super) fn on_run_start(&mut self, bindings: &[PolicyBinding]) {
        let of_arms = bindings.iter().filter(|binding| binding.from.layer == ConfigLayer::Experiment);
        self.laid.extend(of_arms.map(|binding| {
            (
                binding.capability,
                binding.component.clone(),
                binding.settings.clone(),
                binding.from.file.clone(),
            )
        }));
    }

    /// Counts what the policies made of one question.
    pub(super) fn count(&mut self, label: &Provenance) {
        for record in &label.faults {
            let of = &mut self.of(&record.component, record.settings.as_ref(), label.capability).failures;
            of.times += 1;
            of.trapped += u64::from(matches!(record.fault, Fault::Trap { .. }));
            *of.answered.entry(label.policy.clone()).or_default() += 1;
        }
        for record in &label.abstained {
            self.of(&record.component, Some(&record.settings), label.capability).abstained += 1;
        }
        if let Some(component) = &label.component {
            self.of(component, label.settings.as_ref(), label.capability).decided += 1;
        }
    }

    fn of(
        &mut self,
        component: &Digest,
        settings: Option<&Digest>,
        decision: Capability,
    ) -> &mut PolicyCounts {
        // Old journals name the settings of those that answered alone.
        let is_laid = |laid: &&(Capability, Digest, Digest, String)| {
            (laid.0, &laid.1) == (decision, component) && settings.is_none_or(|settings| *settings == laid.2)
        };
        let arm = self.laid.iter().find(is_laid).map(|laid| laid.3.clone());
        let (component, settings) = (component.clone(), settings.cloned());
        let new = PolicyCounts {
            component,
            settings,
            decision,
            arm,
            decided: 0,
            abstained: 0,
            failures: PolicyFailures::default(),
        };
        let at = self.counted.iter().position(|known| known.is_same_policy(&new)).unwrap_or_else(|| {
            self.counted.push(new);
            self.counted.len() - 1
        });
        &mut self.counted[at]
    }

    /// The counts, in the order in which they were first asked.
    pub(super) fn finish(self) -> Vec<PolicyCounts> {
        self.counted
    }
}
