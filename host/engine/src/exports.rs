//! Which functions of the contract a component exports, and whether their types are those of the contract. Calls none.

use baton_core::observation::Capability;
use wasmtime::component::{Component, ComponentExportIndex, ComponentNamedList, Lift, Lower};

use crate::bindings::{compaction, exhaustion, handoff, settings as wit_settings, splitting};
use crate::contract;
use crate::instance::Instance;

/// Where the functions are in the component, by interface.
pub(crate) struct Exports {
    pub(crate) exhaustion: Option<ComponentExportIndex>,
    pub(crate) compaction: Option<ComponentExportIndex>,
    pub(crate) splitting: Option<Splitting>,
    pub(crate) handoff: Option<Handoff>,
    /// `settings.schema`.
    pub(crate) schema: Option<ComponentExportIndex>,
}

pub(crate) struct Splitting {
    pub(crate) evaluate: ComponentExportIndex,
    pub(crate) budget: ComponentExportIndex,
}

pub(crate) struct Handoff {
    pub(crate) brief: ComponentExportIndex,
    pub(crate) compose: ComponentExportIndex,
    pub(crate) review: ComponentExportIndex,
}

impl Exports {
    /// An interface that is missing is no error, a function of an interface is.
    pub(crate) fn find(component: &Component) -> Result<Self, String> {
        let interface = |name: &str| component.get_export_index(None, contract::interface(name).as_str());
        let function = |of: &ComponentExportIndex, interface: &str, name: &str| {
            component
                .get_export_index(Some(of), name)
                .ok_or_else(|| format!("it exports {interface} without the function {name}"))
        };
        Ok(Self {
            exhaustion: interface("exhaustion")
                .map(|of| function(&of, "exhaustion", "assess"))
                .transpose()?,
            compaction: interface("compaction")
                .map(|of| function(&of, "compaction", "decide"))
                .transpose()?,
            splitting: match interface("splitting") {
                Some(of) => Some(Splitting {
                    evaluate: function(&of, "splitting", "evaluate")?,
                    budget: function(&of, "splitting", "budget")?,
                }),
                None => None,
            },
            handoff: match interface("handoff") {
                Some(of) => Some(Handoff {
                    brief: function(&of, "handoff", "brief")?,
                    compose: function(&of, "handoff", "compose")?,
                    review: function(&of, "handoff", "review")?,
                }),
                None => None,
            },
            schema: interface("settings").map(|of| function(&of, "settings", "schema")).transpose()?,
        })
    }

    pub(crate) fn decides(&self) -> Vec<Capability> {
        Capability::ALL
            .into_iter()
            .filter(|capability| match capability {
                Capability::Exhaustion => self.exhaustion.is_some(),
                Capability::Compaction => self.compaction.is_some(),
                Capability::Splitting => self.splitting.is_some(),
                Capability::Handoff => self.handoff.is_some(),
            })
            .collect()
    }

    /// Compares the types of every function with those of the contract: a record with a field too many passes all
    /// checks before this one.
    pub(crate) fn check_types(&self, instance: &mut Instance<'_>) -> Result<(), String> {
        fn check<P, R>(
            instance: &mut Instance<'_>,
            name: &str,
            function: Option<&ComponentExportIndex>,
        ) -> Result<(), String>
        where
            P: ComponentNamedList + Lower,
            R: ComponentNamedList + Lift,
        {
            match function.map(|function| instance.check::<P, R>(function)) {
                Some(Err(error)) => Err(format!("{name}: {error:#}")),
                Some(Ok(())) | None => Ok(()),
            }
        }
        let splitting = self.splitting.as_ref();
        let handoff = self.handoff.as_ref();
        check::<(exhaustion::Observation<'_>,), (exhaustion::Assessment,)>(
            instance,
            "exhaustion.assess",
            self.exhaustion.as_ref(),
        )?;
        check::<(compaction::Observation<'_>,), (compaction::Decision,)>(
            instance,
            "compaction.decide",
            self.compaction.as_ref(),
        )?;
        check::<(splitting::Observation<'_>,), (splitting::Decision,)>(
            instance,
            "splitting.evaluate",
            splitting.map(|functions| &functions.evaluate),
        )?;
        check::<(splitting::Observation<'_>, u32), (splitting::TurnBudget,)>(
            instance,
            "splitting.budget",
            splitting.map(|functions| &functions.budget),
        )?;
        check::<(handoff::Observation<'_>,), (handoff::Briefing,)>(
            instance,
            "handoff.brief",
            handoff.map(|functions| &functions.brief),
        )?;
        check::<(handoff::Observation<'_>,), (handoff::Composition,)>(
            instance,
            "handoff.compose",
            handoff.map(|functions| &functions.compose),
        )?;
        check::<(handoff::ReviewObservation<'_>,), (handoff::ReviewResult,)>(
            instance,
            "handoff.review",
            handoff.map(|functions| &functions.review),
        )?;
        check::<(), (Vec<wit_settings::Setting>,)>(instance, "settings.schema", self.schema.as_ref())
    }
}
