//! Who decides: for each capability the component configured for it, then the one that last decided without a fault,
//! then the built-in one, then no component at all. Every decision carries a label that says who made it and what
//! the others did. A fault never stops the work.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use baton_core::Digest;
use baton_core::decision::{DecidedBy, Decision, Fault, FaultRecord, Label};
use baton_core::observation::{Capability, Question};
use baton_core::workflow::Scope;

use crate::engine::Engine;
use crate::evaluate::{Evaluation, askable};
use crate::limits::Limits;
use crate::load::LoadError;
use crate::native;
use crate::settings::{Configured, SettingsError};
use crate::state::LogLine;

/// The default policy: every decision, with the thresholds and texts of the sources as settings.
static BUILTIN: &[u8] = include_bytes!("../../../policies/resilience.wasm");

/// Name of the built-in policy.
pub const BUILTIN_NAME: &str = "resilience";

/// Stands in a label in place of a policy's name where none decided.
pub const NATIVE_NAME: &str = "native";

/// The built-in policy, named [`BUILTIN_NAME`]; a workflow calls it `builtin:resilience`.
pub fn builtin_bytes() -> &'static [u8] {
    BUILTIN
}

/// A router could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RouterError {
    /// A component was configured for what it does not decide.
    #[error("policy {policy} cannot be configured for {capability}: it decides {decides}")]
    CannotDecide {
        /// Its name.
        policy: String,
        /// For what it was configured.
        capability: Capability,
        /// What it does decide.
        decides: String,
    },
    /// The built-in policy was refused: the host was built with a broken one.
    #[error("the built-in policy cannot be used: {0}")]
    BuiltIn(#[from] LoadError),
    /// The built-in policy has no defaults that it accepts.
    #[error("the built-in policy cannot be used: {0}")]
    BuiltInSettings(#[from] SettingsError),
}

/// Routes each question to the component configured for it. Shared by reference between all who ask.
pub struct Router {
    engine: Digest,
    limits: Limits,
    built_in: Configured,
    slots: Mutex<Slots>,
}

type Slots = BTreeMap<(Scope, Capability), Slot>;

struct Slot {
    configured: Configured,
    last_good: Option<Configured>,
}

/// A decision, with who made it and what was written on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// The decision; a fault only where the question itself cannot be put to anyone.
    pub result: Result<Decision, Fault>,
    /// Who decided, and what it took.
    pub label: Label,
    /// What every policy asked wrote, in the order of asking.
    pub logs: Vec<LogLine>,
    /// Messages beyond the bound.
    pub logs_dropped: u32,
}

impl Router {
    /// With the built-in policy behind every other, and in place of every capability that is not given.
    pub fn new(engine: &Engine, configured: BTreeMap<Capability, Configured>) -> Result<Self, RouterError> {
        let built_in = engine.load(BUILTIN_NAME, BUILTIN)?.configure(&BTreeMap::new())?;
        Self::with_built_in(engine, configured, built_in)
    }

    /// With another policy in the place of the built-in one. It must decide what nothing is configured for.
    pub fn with_built_in(
        engine: &Engine,
        mut configured: BTreeMap<Capability, Configured>,
        built_in: Configured,
    ) -> Result<Self, RouterError> {
        let mut slots = BTreeMap::new();
        for capability in Capability::ALL {
            let configured = configured.remove(&capability).unwrap_or_else(|| built_in.clone());
            can_decide(&configured, capability)?;
            slots.insert((Scope::Run, capability), Slot { configured, last_good: None });
        }
        Ok(Self {
            engine: engine.digest().clone(),
            limits: *engine.limits(),
            built_in,
            slots: Mutex::new(slots),
        })
    }

    /// Puts another component in place, between two decisions (M3): a decision under way is not disturbed, and the last
    /// good one stays at hand.
    pub fn configure(
        &self,
        scope: Scope,
        capability: Capability,
        configured: Configured,
    ) -> Result<(), RouterError> {
        can_decide(&configured, capability)?;
        match self.slots().entry((scope, capability)) {
            Entry::Occupied(mut slot) => slot.get_mut().configured = configured,
            Entry::Vacant(place) => {
                place.insert(Slot { configured, last_good: None });
            }
        }
        Ok(())
    }

    /// Says which one is asked after the one in place, until that has decided without a fault itself.
    pub fn stand_behind(
        &self,
        scope: &Scope,
        capability: Capability,
        good: Configured,
    ) -> Result<(), RouterError> {
        can_decide(&good, capability)?;
        self.remember(scope, capability, good);
        Ok(())
    }

    /// Who is asked first for a capability in a scope.
    pub fn configured(&self, scope: &Scope, capability: Capability) -> Configured {
        slot(&self.slots(), scope, capability).configured.clone()
    }

    /// Decides for the run as a whole, and says who did. The result is a fault only where the question itself cannot be put (a text that is
    /// not at hand, or far too long), since then nobody could answer it.
    pub fn decide(&self, question: &Question) -> (Result<Decision, Fault>, Label) {
        let Decided { result, label, .. } = self.decide_in(&Scope::Run, question);
        (result, label)
    }

    /// The same with what the policies wrote, by those who decide in a scope.
    pub fn decide_in(&self, scope: &Scope, question: &Question) -> Decided {
        let started = Instant::now();
        let mut decided = self.ask_the_chain(scope, question);
        decided.label.duration_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        decided
    }

    fn ask_the_chain(&self, scope: &Scope, question: &Question) -> Decided {
        let capability = question.ask.capability();
        let mut asked = Asked::default();
        if let Err(fault) = askable(question, &self.limits) {
            return asked.done(Err(fault), self.native_label(capability));
        }
        for (by, configured) in self.chain(scope, capability) {
            let Evaluation { result, fuel, logs, logs_dropped, artifacts } = configured.evaluate(question);
            asked.logs.extend(logs);
            asked.logs_dropped = asked.logs_dropped.saturating_add(logs_dropped);
            let component = configured.policy().digest().clone();
            let policy = configured.policy().name().to_owned();
            match result {
                Ok(decision) => {
                    let label = Label {
                        by,
                        policy,
                        component: Some(component),
                        settings: Some(configured.settings_digest().clone()),
                        fuel,
                        artifacts: artifacts.into_iter().collect(),
                        ..self.native_label(capability)
                    };
                    if by == DecidedBy::Configured {
                        self.remember(scope, capability, configured);
                    }
                    return asked.done(Ok(decision), label);
                }
                Err(fault) => asked.faults.push(FaultRecord {
                    by,
                    policy,
                    component,
                    fault,
                    settings: Some(configured.settings_digest().clone()),
                    fuel: Some(fuel),
                    artifacts: artifacts.into_iter().collect(),
                }),
            }
        }
        asked.done(Ok(native::answer(&question.ask)), self.native_label(capability))
    }

    /// Those with a component, in order; each component with the same settings once.
    fn chain(&self, scope: &Scope, capability: Capability) -> Vec<(DecidedBy, Configured)> {
        let slots = self.slots();
        let slot = slot(&slots, scope, capability);
        let mut chain = vec![(DecidedBy::Configured, slot.configured.clone())];
        let behind =
            [(DecidedBy::LastGood, slot.last_good.as_ref()), (DecidedBy::BuiltIn, Some(&self.built_in))];
        for (by, candidate) in behind {
            let Some(candidate) = candidate else { continue };
            let new = !chain.iter().any(|(_, asked)| asked.same_as(candidate));
            if new && can_decide(candidate, capability).is_ok() {
                chain.push((by, candidate.clone()));
            }
        }
        chain
    }

    /// It decided without a fault: where the one configured after it fails, it is asked again.
    fn remember(&self, scope: &Scope, capability: Capability, good: Configured) {
        let mut slots = self.slots();
        let Some(slot) = slots.get_mut(&(scope.clone(), capability)) else { return };
        if !slot.last_good.as_ref().is_some_and(|last| last.same_as(&good)) {
            slot.last_good = Some(good);
        }
    }

    /// The label of a decision that no component made.
    fn native_label(&self, capability: Capability) -> Label {
        Label {
            by: DecidedBy::Native,
            capability,
            policy: NATIVE_NAME.to_owned(),
            component: None,
            settings: None,
            engine: self.engine.clone(),
            fuel: 0,
            duration_us: 0,
            artifacts: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        // A slot is replaced whole, so a poisoned lock is as good as any.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came up while the chain was asked.
#[derive(Default)]
struct Asked {
    faults: Vec<FaultRecord>,
    logs: Vec<LogLine>,
    logs_dropped: u32,
}

impl Asked {
    fn done(self, result: Result<Decision, Fault>, label: Label) -> Decided {
        let Asked { faults, logs, logs_dropped } = self;
        Decided { result, label: Label { faults, ..label }, logs, logs_dropped }
    }
}

/// The place of a scope; where it has none, that of the run, which has one for every capability from the start.
fn slot<'s>(slots: &'s Slots, scope: &Scope, capability: Capability) -> &'s Slot {
    slots.get(&(scope.clone(), capability)).unwrap_or_else(|| &slots[&(Scope::Run, capability)])
}

fn can_decide(configured: &Configured, capability: Capability) -> Result<(), RouterError> {
    let policy = configured.policy();
    if policy.decides().contains(&capability) {
        return Ok(());
    }
    let decides: Vec<_> = policy.decides().iter().map(|capability| capability.name()).collect();
    Err(RouterError::CannotDecide {
        policy: policy.name().to_owned(),
        capability,
        decides: decides.join(", "),
    })
}
