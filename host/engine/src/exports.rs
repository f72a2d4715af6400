//! Which questions a component answers, and whether the types of its functions are those of the contract. Calls none.

use std::collections::BTreeMap;

use baton_core::observation::Capability;
use wasmtime::component::{Component, ComponentExportIndex, ComponentNamedList, Lift, Lower};

use crate::bindings::{questions, settings as wit_settings};
use crate::contract;
use crate::instance::Instance;

/// Indexes of the functions in the component.
pub(crate) struct Exports {
    answers: BTreeMap<Capability, ComponentExportIndex>,
    /// `settings.schema`.
    pub(crate) schema: Option<ComponentExportIndex>,
}

impl Exports {
    /// A missing interface is not an error; an interface without its function is.
    pub(crate) fn find(component: &Component) -> Result<Self, String> {
        let find = |name: &str| {
            let (interface, function) = name.split_once('.').unwrap_or((name, ""));
            let of = component.get_export_index(None, contract::interface(interface).as_str())?;
            let found = component.get_export_index(Some(&of), function);
            Some(found.ok_or_else(|| format!("it exports {interface} without the function {function}")))
        };
        let answers = Capability::ALL.into_iter().filter_map(|capability| {
            find(capability.function()).map(|found| found.map(|function| (capability, function)))
        });
        Ok(Self { answers: answers.collect::<Result<_, _>>()?, schema: find("settings.schema").transpose()? })
    }

    /// The function that answers for a capability, if the component has it.
    pub(crate) fn answering(&self, capability: Capability) -> Option<&ComponentExportIndex> {
        self.answers.get(&capability)
    }

    pub(crate) fn decides(&self) -> Vec<Capability> {
        Capability::ALL.into_iter().filter(|capability| self.answers.contains_key(capability)).collect()
    }

    /// Compares the types of every function with those of the contract: a record with a field too many passes all
    /// checks before this one.
    pub(crate) fn check_types(&self, instance: &mut Instance<'_>) -> Result<(), String> {
        fn check<P, R>(
            instance: &mut Instance<'_>,
            name: &str,
            function: &ComponentExportIndex,
        ) -> Result<(), String>
        where
            P: ComponentNamedList + Lower,
            (R,): ComponentNamedList + Lift,
        {
            instance.check::<P, (R,)>(function).map_err(|error| format!("{name}: {error:#}"))
        }
        for (capability, function) in &self.answers {
            let check = match capability {
                Capability::Exhaustion => {
                    check::<(questions::SessionObservation<'_>,), Option<questions::AssessmentResult>>
                }
                Capability::Completion => {
                    check::<
                        (questions::CompletionObservation<'_>,),
                        Option<questions::CompletionDecisionResult>,
                    >
                }
                Capability::Recovery => {
                    check::<(questions::RecoveryObservation<'_>,), Option<questions::RecoveryDecision>>
                }
                Capability::Offloading => {
                    check::<(questions::OffloadingObservation<'_>,), Option<questions::OffloadingDecision>>
                }
                Capability::Compaction => {
                    check::<(questions::CompactionObservation<'_>,), Option<questions::CompactionDecision>>
                }
                Capability::Splitting => {
                    check::<(questions::SplittingObservation<'_>,), Option<questions::SplitDecision>>
                }
                Capability::Budgeting => {
                    check::<(questions::BudgetingObservation<'_>,), Option<questions::TurnBudget>>
                }
                Capability::Prompting => {
                    check::<(questions::HandoffObservation<'_>,), Option<questions::Prompt>>
                }
                Capability::Handoff => {
                    check::<(questions::HandoffObservation<'_>,), Option<questions::Composition>>
                }
                Capability::Review => check::<(questions::ReviewObservation<'_>,), Option<questions::Review>>,
            };
            check(instance, capability.function(), function)?;
        }
        let schema = self.schema.as_ref();
        let checked =
            schema.map(|schema| check::<(), Vec<wit_settings::Setting>>(instance, "settings.schema", schema));
        checked.unwrap_or(Ok(()))
    }
}
