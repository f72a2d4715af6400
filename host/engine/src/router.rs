//! Chooses the policy that decides. For each capability it asks the configured chain, each link only if all before it abstain;
//! after a fault, first the chain that last decided without one; then the built-in policy, and at last no component at all. An
//! answer that no run can follow is a fault. Every decision carries a label with the policy that made it and the results of the
//! others. Neither a fault nor an abstention stops the work.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use baton_core::decision::{AbstentionRecord, Decision, DecisionSource, Fault, FaultRecord, Provenance};
use baton_core::decision_rules::validate_decision;
use baton_core::input::{BindingLink, PolicyBinding};
use baton_core::observation::{Capability, PolicyRequest};
use baton_core::workflow::PolicyScope;
use baton_core::{Digest, Run};

use crate::engine::Engine;
use crate::evaluate::{Evaluation, PolicyAnswer, askable};
use crate::fallback_answers;
use crate::host_state::PolicyLogLine;
use crate::limits::{CHAIN_LINKS_MAX, DecisionLimits};
use crate::load::LoadError;
use crate::settings::{ConfiguredPolicy, SettingsError};

/// The default policy: every decision, with the thresholds and texts of the sources as settings.
static BUILTIN: &[u8] = include_bytes!("../../../policies/resilience.wasm");

/// Name of the built-in policy.
pub const BUILTIN_NAME: &str = "resilience";

/// In a label, replaces the policy's name if no policy decided.
pub const HOST_FALLBACK_NAME: &str = "native";

/// The built-in policy, named [`BUILTIN_NAME`]; a workflow calls it `builtin:resilience`.
pub fn builtin_bytes() -> &'static [u8] {
    BUILTIN
}

/// A router could not be made.
#[derive(Debug, thiserror::Error)]
pub enum RouterError {
    /// A component was configured for a capability that it does not decide.
    #[error("policy {policy} cannot be configured for {capability}: it decides {decides}")]
    CannotDecide {
        /// Its name.
        policy: String,
        /// The capability that it was configured for.
        capability: Capability,
        /// The capabilities that it decides.
        decides: String,
    },
    /// A run is bound to a policy that was not loaded.
    #[error("the policy {policy} is pinned and was not loaded")]
    NotLoaded {
        /// Its name.
        policy: String,
    },
    /// The built-in policy was refused: the host was built with a broken one.
    #[error("the built-in policy cannot be used: {0}")]
    BuiltIn(#[from] LoadError),
    /// The built-in policy has no defaults that it accepts.
    #[error("the built-in policy cannot be used: {0}")]
    BuiltInSettings(#[from] SettingsError),
}

/// Who is asked for one capability: the first, and behind it those that are asked in turn where all before them abstain.
#[derive(Clone)]
pub struct Chain {
    first: ConfiguredPolicy,
    then: Vec<ConfiguredPolicy>,
}

impl Chain {
    /// A chain of `first` and the policies behind it; `then` may be empty.
    pub fn new(first: ConfiguredPolicy, then: Vec<ConfiguredPolicy>) -> Self {
        Self { first, then }
    }

    /// The policy that is asked first.
    pub fn first(&self) -> &ConfiguredPolicy {
        &self.first
    }

    /// All of them, in the order of asking.
    pub fn links(&self) -> impl Iterator<Item = &ConfiguredPolicy> {
        std::iter::once(&self.first).chain(&self.then)
    }

    fn is_same_as(&self, other: &Self) -> bool {
        self.then.len() == other.then.len()
            && self.links().zip(other.links()).all(|(one, other)| one.same_as(other))
    }
}

impl From<ConfiguredPolicy> for Chain {
    fn from(only: ConfiguredPolicy) -> Self {
        Self::new(only, Vec::new())
    }
}

/// Routes each question to the chain configured for it. Shared by reference between all who ask.
pub struct Router {
    engine: Digest,
    limits: DecisionLimits,
    built_in: ConfiguredPolicy,
    slots: Mutex<Slots>,
}

type Slots = BTreeMap<(PolicyScope, Capability), Slot>;

struct Slot {
    configured: Chain,
    last_good: Option<Chain>,
}

/// A decision with its label and the log lines of the policies.
#[derive(Clone, Debug, PartialEq)]
pub struct RoutedDecision {
    /// The decision; a fault only if the question itself is invalid.
    pub result: Result<Decision, Fault>,
    /// The policy that decided, its fuel and its time.
    pub label: Provenance,
    /// What every policy asked wrote, in the order of asking.
    pub logs: Vec<PolicyLogLine>,
    /// Messages beyond the bound.
    pub logs_dropped: u32,
}

impl Router {
    /// With the built-in policy behind every other, and in place of every capability that is not given.
    pub fn new(engine: &Engine, configured: BTreeMap<Capability, Chain>) -> Result<Self, RouterError> {
        let built_in = engine.load(BUILTIN_NAME, BUILTIN)?.configure(&BTreeMap::new())?;
        Self::with_built_in(engine, configured, built_in)
    }

    /// With another policy in the place of the built-in one. It must decide what nothing is configured for.
    pub fn with_built_in(
        engine: &Engine,
        mut configured: BTreeMap<Capability, Chain>,
        built_in: ConfiguredPolicy,
    ) -> Result<Self, RouterError> {
        let mut slots = BTreeMap::new();
        for capability in Capability::ALL {
            let configured: Chain = configured.remove(&capability).unwrap_or_else(|| built_in.clone().into());
            can_decide(&configured, capability)?;
            slots.insert((PolicyScope::Run, capability), Slot { configured, last_good: None });
        }
        Ok(Self {
            engine: engine.digest().clone(),
            limits: *engine.limits(),
            built_in,
            slots: Mutex::new(slots),
        })
    }

    /// Puts another chain in place, between two decisions (M3): a decision under way is not disturbed, and the last
    /// good one stays at hand.
    pub fn configure(
        &self,
        scope: PolicyScope,
        capability: Capability,
        chain: impl Into<Chain>,
    ) -> Result<(), RouterError> {
        let configured = chain.into();
        can_decide(&configured, capability)?;
        match self.slots().entry((scope, capability)) {
            Entry::Occupied(mut slot) => slot.get_mut().configured = configured,
            Entry::Vacant(place) => {
                place.insert(Slot { configured, last_good: None });
            }
        }
        Ok(())
    }

    /// Says which chain is asked after a fault of the one in place, until that has decided without a fault itself.
    pub fn set_fallback(
        &self,
        scope: &PolicyScope,
        capability: Capability,
        good: impl Into<Chain>,
    ) -> Result<(), RouterError> {
        let good = good.into();
        can_decide(&good, capability)?;
        self.remember(scope, capability, good);
        Ok(())
    }

    /// Removes the fallback chain: after a fault, the rest of the configured chain is asked, since that chain replaced no
    /// other.
    pub fn clear_fallback(&self, scope: &PolicyScope, capability: Capability) {
        if let Some(slot) = self.slots().get_mut(&(scope.clone(), capability)) {
            slot.last_good = None;
        }
    }

    /// Configures the bindings of a run, each with its fallback after a fault. `loaded` returns the policy of a link; all were
    /// loaded before, so this takes no time. Links behind the first that are not loaded are left out.
    ///
    /// # Errors
    /// The first binding that could not be configured; all others are.
    pub fn follow(
        &self,
        run: &Run,
        loaded: impl Fn(&BindingLink) -> Option<ConfiguredPolicy>,
    ) -> Result<(), RouterError> {
        let placed: Vec<_> =
            run.binding_views().map(|view| self.put(view.binding, view.last_known_good, &loaded)).collect();
        placed.into_iter().collect()
    }

    /// Configures the bindings that a run begins with; the fallback of each is the rest of its own chain. Errors as of
    /// [`follow`](Self::follow).
    pub fn begin(
        &self,
        bindings: &[PolicyBinding],
        loaded: impl Fn(&BindingLink) -> Option<ConfiguredPolicy>,
    ) -> Result<(), RouterError> {
        let placed: Vec<_> = bindings.iter().map(|binding| self.put(binding, None, &loaded)).collect();
        placed.into_iter().collect()
    }

    fn put(
        &self,
        binding: &PolicyBinding,
        fallback: Option<&PolicyBinding>,
        loaded: &impl Fn(&BindingLink) -> Option<ConfiguredPolicy>,
    ) -> Result<(), RouterError> {
        // Shadows have an engine of their own.
        if matches!(binding.scope, PolicyScope::Shadow { .. }) {
            return Ok(());
        }
        let chain_of = |binding: &PolicyBinding| {
            let first = loaded(&binding.first())?;
            Some(Chain::new(first, binding.then.iter().filter_map(loaded).collect()))
        };
        let not_loaded = || RouterError::NotLoaded { policy: binding.policy.clone() };
        let (scope, capability) = (&binding.scope, binding.capability);
        self.configure(scope.clone(), capability, chain_of(binding).ok_or_else(not_loaded)?)?;
        match fallback.and_then(chain_of) {
            Some(good) => self.set_fallback(scope, capability, good),
            None => {
                self.clear_fallback(scope, capability);
                Ok(())
            }
        }
    }

    /// The chain that is asked for a capability in a scope.
    pub fn configured(&self, scope: &PolicyScope, capability: Capability) -> Chain {
        slot(&self.slots(), scope, capability).configured.clone()
    }

    /// Decides for the run as a whole, and returns the label. The result is a fault only if the question itself is invalid (a
    /// text that is missing, or far too long), since then no policy could answer it.
    pub fn decide(&self, question: &PolicyRequest) -> (Result<Decision, Fault>, Provenance) {
        let RoutedDecision { result, label, .. } = self.decide_in(&PolicyScope::Run, question);
        (result, label)
    }

    /// The same for a scope, with the log lines of the policies.
    pub fn decide_in(&self, scope: &PolicyScope, question: &PolicyRequest) -> RoutedDecision {
        let started = Instant::now();
        let mut decided = self.ask_the_chain(scope, question);
        decided.label.duration_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        decided
    }

    fn ask_the_chain(&self, scope: &PolicyScope, question: &PolicyRequest) -> RoutedDecision {
        let capability = question.query.capability();
        let mut asked = RoutingRecords::default();
        if let Err(fault) = askable(question, &self.limits) {
            return asked.done(Err(fault), self.host_fallback_label(capability));
        }
        let mut line = self.line(scope, capability);
        while let Some((by, configured)) = line.next() {
            let next = match configured.policy().asks_next().contains(&capability) {
                true => line.rest(),
                false => Arc::default(),
            };
            let Evaluation { result, fuel, logs, logs_dropped, artifacts, nested } =
                configured.evaluate_over(question, next);
            asked.logs.extend(logs);
            asked.logs_dropped = asked.logs_dropped.saturating_add(logs_dropped);
            let component = configured.policy().digest().clone();
            let policy = configured.policy().name().to_owned();
            let settings = configured.settings_digest().clone();
            let artifacts = artifacts.into_iter().collect();
            match validate_answer(question, result) {
                Ok(Some(decision)) => {
                    let label = Provenance {
                        by,
                        policy,
                        component: Some(component),
                        settings: Some(settings),
                        fuel,
                        artifacts,
                        nested,
                        ..self.host_fallback_label(capability)
                    };
                    if asked.faults.is_empty()
                        && matches!(by, DecisionSource::Configured | DecisionSource::Next)
                    {
                        self.remember(scope, capability, line.configured);
                    }
                    return asked.done(Ok(decision), label);
                }
                Ok(None) => {
                    asked.abstained.push(AbstentionRecord {
                        by,
                        policy,
                        component,
                        settings,
                        fuel,
                        artifacts,
                        nested,
                    });
                }
                Err(fault) => {
                    line.fall_back();
                    asked.faults.push(FaultRecord {
                        by,
                        policy,
                        component,
                        fault,
                        settings: Some(settings),
                        fuel: Some(fuel),
                        artifacts,
                        nested,
                    });
                }
            }
        }
        asked.done(Ok(fallback_answers::answer(&question.query)), self.host_fallback_label(capability))
    }

    /// The candidates of a scope, as currently configured.
    fn line(&self, scope: &PolicyScope, capability: Capability) -> CandidateQueue {
        let slots = self.slots();
        let slot = slot(&slots, scope, capability);
        let is_able = |candidate: &ConfiguredPolicy| candidate.policy().decides().contains(&capability);
        let built_in = Some(self.built_in.clone()).filter(is_able);
        CandidateQueue::new(slot.configured.clone(), slot.last_good.clone(), built_in)
    }

    /// Remembers a chain that decided without a fault: if a chain that is configured later fails, it is asked again.
    fn remember(&self, scope: &PolicyScope, capability: Capability, good: Chain) {
        let mut slots = self.slots();
        let Some(slot) = slots.get_mut(&(scope.clone(), capability)) else { return };
        if !slot.last_good.as_ref().is_some_and(|last| last.is_same_as(&good)) {
            slot.last_good = Some(good);
        }
    }

    /// The label of a decision that no component made.
    fn host_fallback_label(&self, capability: Capability) -> Provenance {
        Provenance {
            by: DecisionSource::HostFallback,
            capability,
            policy: HOST_FALLBACK_NAME.to_owned(),
            component: None,
            settings: None,
            engine: self.engine.clone(),
            fuel: 0,
            duration_us: 0,
            artifacts: BTreeMap::new(),
            faults: Vec::new(),
            abstained: Vec::new(),
            nested: Vec::new(),
        }
    }

    fn slots(&self) -> MutexGuard<'_, Slots> {
        // A slot is replaced whole, so a poisoned lock is as good as any.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer of a policy, as the router takes it: a decision that no run can follow is a fault.
pub fn validate_answer(question: &PolicyRequest, answer: PolicyAnswer) -> PolicyAnswer {
    let answer = answer?;
    match answer.as_ref().map(|decision| validate_decision(&question.query, decision)) {
        Some(Err(message)) => Err(Fault::Refused { message }),
        Some(Ok(())) | None => Ok(answer),
    }
}

/// What came up while the chain was asked.
#[derive(Default)]
struct RoutingRecords {
    faults: Vec<FaultRecord>,
    abstained: Vec<AbstentionRecord>,
    logs: Vec<PolicyLogLine>,
    logs_dropped: u32,
}

impl RoutingRecords {
    fn done(self, result: Result<Decision, Fault>, label: Provenance) -> RoutedDecision {
        let RoutingRecords { faults, abstained, logs, logs_dropped } = self;
        RoutedDecision { result, label: Provenance { faults, abstained, ..label }, logs, logs_dropped }
    }
}

/// Who is asked, one after the other: each component with the same settings once.
struct CandidateQueue {
    configured: Chain,
    last_good: Option<Chain>,
    /// Who is asked next, unless they were asked before.
    ahead: VecDeque<(DecisionSource, ConfiguredPolicy)>,
    asked: Vec<ConfiguredPolicy>,
}

impl CandidateQueue {
    fn new(configured: Chain, last_good: Option<Chain>, built_in: Option<ConfiguredPolicy>) -> Self {
        let by = std::iter::once(DecisionSource::Configured).chain(std::iter::repeat(DecisionSource::Next));
        let mut ahead: VecDeque<_> = by.zip(configured.links().cloned()).collect();
        ahead.extend(built_in.map(|built_in| (DecisionSource::BuiltIn, built_in)));
        Self { configured, last_good, ahead, asked: Vec::new() }
    }

    fn next(&mut self) -> Option<(DecisionSource, ConfiguredPolicy)> {
        while let Some((by, candidate)) = self.ahead.pop_front() {
            if !self.asked.iter().any(|asked| asked.same_as(&candidate)) {
                self.asked.push(candidate.clone());
                return Some((by, candidate));
            }
        }
        None
    }

    /// Those who would be asked after it, in order: the chain behind a layer.
    fn rest(&self) -> Arc<[ConfiguredPolicy]> {
        let mut rest: Vec<ConfiguredPolicy> = Vec::new();
        for (_, candidate) in &self.ahead {
            if !self.asked.iter().chain(&rest).any(|known| known.same_as(candidate)) {
                rest.push(candidate.clone());
            }
        }
        // After a fault there may be two chains ahead. The list is cut to the maximum chain length, with the built-in policy
        // kept as its last link.
        let most = CHAIN_LINKS_MAX as usize - 1;
        if rest.len() > most {
            rest.drain(most - 1..rest.len() - 1);
        }
        rest.into()
    }

    /// A policy failed: the chain that was good before is asked next, before the rest, if it is another one.
    fn fall_back(&mut self) {
        let good = self.last_good.take().filter(|good| !good.is_same_as(&self.configured));
        let good: Vec<ConfiguredPolicy> = good.iter().flat_map(Chain::links).cloned().collect();
        for candidate in good.into_iter().rev() {
            self.ahead.push_front((DecisionSource::LastGood, candidate));
        }
    }
}

/// The slot of a scope; if it has none, that of the run, which has one for every capability from the start.
fn slot<'s>(slots: &'s Slots, scope: &PolicyScope, capability: Capability) -> &'s Slot {
    slots.get(&(scope.clone(), capability)).unwrap_or_else(|| &slots[&(PolicyScope::Run, capability)])
}

fn can_decide(chain: &Chain, capability: Capability) -> Result<(), RouterError> {
    let unable = |link: &&ConfiguredPolicy| !link.policy().decides().contains(&capability);
    let Some(link) = chain.links().find(unable) else { return Ok(()) };
    let decides: Vec<_> = link.policy().decides().iter().map(|capability| capability.name()).collect();
    Err(RouterError::CannotDecide {
        policy: link.policy().name().to_owned(),
        capability,
        decides: decides.join(", "),
    })
}
