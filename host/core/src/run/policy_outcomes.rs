//! How often each policy decided, abstained or failed in a run, for reports.

use std::collections::BTreeMap;

use crate::decision::Provenance;
use crate::ids::Digest;
use crate::observation::Capability;
use crate::view::{PolicyDecisionsSummary, PolicyFailureSummary};

/// The policies that were asked, in the order in which they first answered or failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PolicyOutcomes(Vec<OutcomeCounts>);

/// What one policy made of the questions that it was asked.
#[derive(Clone, Debug, PartialEq)]
struct OutcomeCounts {
    policy: String,
    component: Digest,
    /// None in journals that do not say it.
    settings: Option<Digest>,
    failed: u32,
    answered: BTreeMap<Capability, u32>,
    abstained: BTreeMap<Capability, u32>,
    /// Who answered where it failed.
    instead: Vec<String>,
}

impl PolicyOutcomes {
    /// Counts what the policies made of one question.
    pub(super) fn count(&mut self, label: &Provenance) {
        for record in &label.faults {
            let of = self.of(&record.policy, &record.component, record.settings.as_ref());
            of.failed = of.failed.saturating_add(1);
            if !of.instead.contains(&label.policy) {
                of.instead.push(label.policy.clone());
            }
        }
        for record in &label.abstained {
            let of = self.of(&record.policy, &record.component, Some(&record.settings));
            let abstained = of.abstained.entry(label.capability).or_default();
            *abstained = abstained.saturating_add(1);
        }
        if let Some(component) = &label.component {
            let of = self.of(&label.policy, component, label.settings.as_ref());
            let answered = of.answered.entry(label.capability).or_default();
            *answered = answered.saturating_add(1);
        }
    }

    /// A component with other settings is another policy. Old journals do not say the settings of one that failed.
    fn of(&mut self, policy: &str, component: &Digest, settings: Option<&Digest>) -> &mut OutcomeCounts {
        let is_it = |known: &OutcomeCounts| {
            let both = known.settings.as_ref().zip(settings);
            known.policy == policy && known.component == *component && both.is_none_or(|(a, b)| a == b)
        };
        let at = self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.push(OutcomeCounts {
                policy: policy.to_owned(),
                component: component.clone(),
                settings: settings.cloned(),
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
    pub(super) fn failures(&self) -> Vec<PolicyFailureSummary> {
        let failed = self.0.iter().filter(|of| of.failed > 0);
        let row = |of: &OutcomeCounts| PolicyFailureSummary {
            policy: of.policy.clone(),
            component: of.component.clone(),
            settings: of.settings.clone(),
            failed: of.failed,
            answered: of.answered.values().fold(0, |sum, answered| sum.saturating_add(*answered)),
            instead: of.instead.clone(),
        };
        failed.map(row).collect()
    }

    /// Those that decided or abstained.
    pub(super) fn decisions(&self) -> Vec<PolicyDecisionsSummary> {
        let has_answered = |of: &&OutcomeCounts| !of.answered.is_empty() || !of.abstained.is_empty();
        let row = |of: &OutcomeCounts| PolicyDecisionsSummary {
            policy: of.policy.clone(),
            component: of.component.clone(),
            settings: of.settings.clone(),
            decided: of.answered.clone(),
            abstained: of.abstained.clone(),
        };
        self.0.iter().filter(has_answered).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::{AbstentionRecord, DecisionSource, Fault, FaultRecord};

    fn label(settings: &str) -> Provenance {
        Provenance {
            by: DecisionSource::Configured,
            capability: Capability::Splitting,
            policy: "odd".to_owned(),
            component: Some(Digest::of("odd")),
            settings: Some(Digest::of(settings)),
            engine: Digest::of("engine"),
            fuel: 1,
            duration_us: 1,
            artifacts: BTreeMap::new(),
            faults: Vec::new(),
            abstained: Vec::new(),
            nested: Vec::new(),
        }
    }

    fn failed(settings: Option<&str>) -> FaultRecord {
        FaultRecord {
            by: DecisionSource::Configured,
            policy: "odd".to_owned(),
            component: Digest::of("odd"),
            fault: Fault::OutOfFuel { limit: 1 },
            settings: settings.map(Digest::of),
            fuel: None,
            artifacts: BTreeMap::new(),
            nested: Vec::new(),
        }
    }

    #[test]
    fn a_component_with_other_settings_is_another_policy() {
        // M3
        let abstained = AbstentionRecord {
            by: DecisionSource::Configured,
            policy: "odd".to_owned(),
            component: Digest::of("odd"),
            settings: Digest::of("nine"),
            fuel: 1,
            artifacts: BTreeMap::new(),
            nested: Vec::new(),
        };
        let mut outcomes = PolicyOutcomes::default();
        outcomes.count(&Provenance { abstained: vec![abstained], ..label("three") });
        outcomes.count(&Provenance { faults: vec![failed(Some("nine"))], ..label("three") });
        let rows = outcomes.decisions();
        let counted = |row: &PolicyDecisionsSummary| {
            (row.settings.clone().unwrap(), row.decided.values().sum(), row.abstained.values().sum())
        };
        let counted: Vec<(Digest, u32, u32)> = rows.iter().map(counted).collect();
        assert_eq!(counted, [(Digest::of("nine"), 0, 1), (Digest::of("three"), 2, 0)]);
        let [row] = &outcomes.failures()[..] else { panic!("{outcomes:?}") };
        assert_eq!((row.settings.clone(), row.failed, row.answered), (Some(Digest::of("nine")), 1, 0));
    }

    #[test]
    fn a_failure_of_an_old_journal_is_that_of_its_component() {
        // M3
        let mut outcomes = PolicyOutcomes::default();
        outcomes.count(&label("three"));
        outcomes.count(&Provenance { faults: vec![failed(None)], ..label("three") });
        let [row] = &outcomes.failures()[..] else { panic!("{outcomes:?}") };
        assert_eq!((row.failed, row.answered), (1, 2));
    }
}
