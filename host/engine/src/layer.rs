//! Layers: a component that imports the question that it answers. The import is the next policy of its chain, linked here by the
//! host, so that each has its own settings, grants, fuel, digest and faults. A layer gets an answer or nothing: where the next
//! policy fails or abstains, the one behind it is asked.
//!
//! Everything behind a layer runs on the thread and under the permit (`instance_limiter.rs`) of the policy that the host asked, so no evaluation
//! ever waits for a permit while it holds one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use baton_core::decision::{Fault, LinkOutcome, LinkRecord};
use baton_core::observation::Capability;
use wasmtime::StoreContextMut;
use wasmtime::component::{ComponentExportIndex, ComponentNamedList, ComponentType, Lift, Linker, Lower};

use crate::bindings::next as owned;
use crate::contract::interface;
use crate::host_state::{HostState, Lookups, PolicyLogLine};
use crate::imports::{GuestMisuse, pay};
use crate::instance::Instance;
use crate::limits::{BEHIND_MAX, NEXT_CALLS_MAX};
use crate::settings::ConfiguredPolicy;

/// Fuel for one call of the next policy: what it costs the host to pass on a question and an answer (some 20 µs).
pub(crate) const NEXT_FUEL: u64 = 100_000;

/// Stack that an evaluation behind a layer may need: wasmtime lets a guest use half of it.
const STACK_NEEDED: usize = 1 << 20;
/// A new piece of stack, where less is left.
const STACK_PIECE: usize = 2 << 20;

/// The policies behind the one that is evaluated, and what it asked of them.
#[derive(Clone, Default)]
pub(crate) struct NextPolicies {
    chain: Arc<[ConfiguredPolicy]>,
    /// The first of the chain that stands behind it.
    from: usize,
    /// Calls of this evaluation.
    calls: u32,
    /// Evaluations behind the policy that the host asked.
    evaluations: Arc<AtomicU32>,
    pub(crate) records: Vec<LinkRecord>,
    pub(crate) logs: Vec<PolicyLogLine>,
    pub(crate) logs_dropped: u32,
}

impl NextPolicies {
    /// Behind a policy that the host asks.
    pub(crate) fn new(chain: Arc<[ConfiguredPolicy]>) -> Self {
        Self { chain, ..Self::default() }
    }

    /// Behind the link at a place of the same chain.
    fn link(&self, at: usize) -> Self {
        Self {
            chain: Arc::clone(&self.chain),
            from: at + 1,
            evaluations: Arc::clone(&self.evaluations),
            ..Self::default()
        }
    }

    fn call(&mut self) -> Result<(), GuestMisuse> {
        self.calls += 1;
        if self.calls > NEXT_CALLS_MAX { Err(GuestMisuse::NextCalls) } else { Ok(()) }
    }

    fn evaluation(&self) -> Result<(), GuestMisuse> {
        let before = self.evaluations.fetch_add(1, Ordering::Relaxed);
        if before >= BEHIND_MAX { Err(GuestMisuse::Behind) } else { Ok(()) }
    }
}

/// Asks one after the other behind the caller, until one answers.
fn ask_next<R>(
    store: &mut StoreContextMut<'_, HostState>,
    capability: Capability,
    call: impl Fn(&mut Instance<'_>, &ComponentExportIndex) -> Result<Option<R>, Fault>,
) -> wasmtime::Result<(Option<R>,)> {
    pay(store, NEXT_FUEL)?;
    store.data_mut().next_policies.call()?;
    let chain = Arc::clone(&store.data().next_policies.chain);
    for at in store.data().next_policies.from..chain.len() {
        let link = &chain[at];
        let Some(function) = link.policy.0.exports.answering(capability) else { continue };
        let state = store.data_mut();
        state.next_policies.evaluation()?;
        let next_policies = state.next_policies.link(at);
        let lookups = state.lookups().clone();
        let evaluate = || evaluate(link, at, lookups, next_policies, |instance| call(instance, function));
        let (answer, ended) = stacker::maybe_grow(STACK_NEEDED, STACK_PIECE, evaluate);
        let next_policies = &mut store.data_mut().next_policies;
        next_policies.records.extend(ended.records);
        next_policies.logs.extend(ended.logs);
        next_policies.logs_dropped = next_policies.logs_dropped.saturating_add(ended.logs_dropped);
        if answer.is_some() {
            return Ok((answer,));
        }
    }
    Ok((None,))
}

/// One evaluation, with its record last.
fn evaluate<R>(
    link: &ConfiguredPolicy,
    at: usize,
    lookups: Lookups,
    next_policies: NextPolicies,
    call: impl FnOnce(&mut Instance<'_>) -> Result<Option<R>, Fault>,
) -> (Option<R>, NextPolicies) {
    let policy = &*link.policy.0;
    let started = Instance::start_nested(policy, lookups, Arc::clone(&link.settings), next_policies);
    let (result, fuel, artifacts, mut ended) = match started {
        Ok(mut instance) => {
            let result = call(&mut instance);
            let fuel = instance.fuel_used();
            let (log, artifacts, mut next_policies) = instance.into_records();
            next_policies.logs.extend(log.lines);
            next_policies.logs_dropped = next_policies.logs_dropped.saturating_add(log.dropped);
            (result, fuel, artifacts, next_policies)
        }
        Err(fault) => (Err(fault), 0, Vec::new(), NextPolicies::default()),
    };
    let (answer, outcome) = match result {
        Ok(Some(answer)) => (Some(answer), LinkOutcome::Answered),
        Ok(None) => (None, LinkOutcome::Abstained),
        Err(fault) => (None, LinkOutcome::Failed { fault }),
    };
    if matches!(outcome, LinkOutcome::Failed { .. }) {
        policy.share.deprioritise();
    }
    ended.records.push(LinkRecord {
        place: u32::try_from(at + 1).unwrap_or(u32::MAX),
        policy: policy.name.clone(),
        component: policy.digest.clone(),
        settings: link.settings_digest().clone(),
        fuel,
        artifacts: artifacts.into_iter().collect(),
        outcome,
    });
    (answer, ended)
}

/// Defines each question as an import; the loader has refused what a component may not ask.
pub(crate) fn define(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    use owned::{
        Assessment, BudgetingObservation, CompactionDecision, CompactionObservation, CompletionDecision,
        CompletionObservation, Composition, HandoffObservation, OffloadingDecision, OffloadingObservation,
        Prompt, RecoveryDecision, RecoveryObservation, Review, ReviewObservation, SessionObservation,
        SplitDecision, SplittingObservation, TurnBudget,
    };
    define_one::<SessionObservation, Assessment>(linker, Capability::Exhaustion)?;
    define_one::<CompletionObservation, CompletionDecision>(linker, Capability::Completion)?;
    define_one::<RecoveryObservation, RecoveryDecision>(linker, Capability::Recovery)?;
    define_one::<OffloadingObservation, OffloadingDecision>(linker, Capability::Offloading)?;
    define_one::<BudgetingObservation, TurnBudget>(linker, Capability::Budgeting)?;
    define_one::<CompactionObservation, CompactionDecision>(linker, Capability::Compaction)?;
    define_one::<SplittingObservation, SplitDecision>(linker, Capability::Splitting)?;
    define_one::<HandoffObservation, Prompt>(linker, Capability::Prompting)?;
    define_one::<HandoffObservation, Composition>(linker, Capability::Handoff)?;
    define_one::<ReviewObservation, Review>(linker, Capability::Review)
}

/// A question.
fn define_one<O, R>(linker: &mut Linker<HostState>, capability: Capability) -> wasmtime::Result<()>
where
    O: ComponentType + Lift + Lower + Send + 'static,
    R: ComponentType + Lift + Lower + Send + 'static,
    (O,): ComponentNamedList,
    (Option<R>,): ComponentNamedList,
{
    let (interface_name, function) = names(capability);
    linker.instance(&interface_name)?.func_wrap(
        function,
        move |mut store: StoreContextMut<'_, HostState>, (observation,): (O,)| {
            ask_next::<R>(&mut store, capability, |instance, function| {
                instance.call(function, (&observation,))
            })
        },
    )
}

fn names(capability: Capability) -> (String, &'static str) {
    let (name, function) = capability.function().split_once('.').unwrap_or_default();
    (interface(name), function)
}
