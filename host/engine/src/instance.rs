//! One instance, for one decision: made from the pool, limited in fuel, time, memory and size, called, thrown away.
//! Whatever a guest does ends as a [`Fault`].

use std::sync::Arc;

use baton_core::Digest;
use baton_core::decision::Fault;
use wasmtime::component::{ComponentExportIndex, ComponentNamedList, Lift, Lower};
use wasmtime::{Store, Trap};

use crate::host_state::{HostState, Lookups, PolicyLog};
use crate::imports::GuestMisuse;
use crate::instance_limiter::InstancePermit;
use crate::layer::NextPolicies;
use crate::limits::{DecisionLimits, PASSED_ON_BYTES, START_FUEL};
use crate::load::LoadedComponent;
use crate::patterns::PreparedSettings;
use crate::sanitize::{self, MESSAGE_BYTES};
use crate::watchdog::{WatchGuard, Watchdog};

/// How wasmtime says that an answer, or an argument of an import, is over the size limit. Its error type is private;
/// a test holds this text to the version in use.
const TOO_MUCH_DATA: &str = "too much data is being copied between the host and the guest";

/// A live instance. The fields drop in this order: the pool's permit is free before the next one is let in.
pub(crate) struct Instance<'p> {
    store: Store<HostState>,
    instance: wasmtime::component::Instance,
    limits: &'p DecisionLimits,
    _watch: WatchGuard<'p>,
    /// None for an evaluation behind a layer, which runs under the permit of the policy that the host asked.
    _permit: Option<InstancePermit<'p>>,
}

impl<'p> Instance<'p> {
    /// Waits for a permit of the pool and makes an instance with it.
    pub(crate) fn start(
        policy: &'p LoadedComponent,
        lookups: Lookups,
        settings: Arc<PreparedSettings>,
        next_policies: NextPolicies,
    ) -> Result<Self, Fault> {
        let permit = policy.engine.0.permits.acquire_permit(&policy.share);
        Self::with_permit(policy, lookups, settings, next_policies, Some(permit))
    }

    /// Makes an instance for a layer of the same thread, under the permit of the policy that the host asked.
    pub(crate) fn start_nested(
        policy: &'p LoadedComponent,
        lookups: Lookups,
        settings: Arc<PreparedSettings>,
        next_policies: NextPolicies,
    ) -> Result<Self, Fault> {
        Self::with_permit(policy, lookups, settings, next_policies, None)
    }

    /// The same for an instance that is kept for many questions; none if the maximum number is kept already, or it does not
    /// start.
    pub(crate) fn to_keep(
        policy: &'p LoadedComponent,
        lookups: Lookups,
        settings: Arc<PreparedSettings>,
    ) -> Option<Self> {
        let permit = policy.engine.0.permits.acquire_reusable(&policy.share)?;
        Self::with_permit(policy, lookups, settings, NextPolicies::default(), Some(permit)).ok()
    }

    fn with_permit(
        policy: &'p LoadedComponent,
        lookups: Lookups,
        settings: Arc<PreparedSettings>,
        next_policies: NextPolicies,
        permit: Option<InstancePermit<'p>>,
    ) -> Result<Self, Fault> {
        let engine = &*policy.engine.0;
        let limits = &policy.limits;
        let watch = engine.watchdog.watch();
        let state = HostState::new(limits, lookups, settings, policy.grants.clone(), next_policies);
        let mut store = Store::new(&engine.wasm, state);
        store.limiter(|state| &mut state.memory);
        bound(&mut store, policy);
        let started = store.set_fuel(START_FUEL).and_then(|()| policy.pre.instantiate(&mut store));
        let instance = started.map_err(|error| match fault(&error, store.data(), limits, START_FUEL) {
            Fault::Invalid { message } => Fault::Unloadable { message },
            other => other,
        })?;
        // What starting takes differs between platforms, so the decision is metered from here.
        store.set_fuel(limits.fuel).map_err(|error| Fault::Unloadable { message: first_line(&error) })?;
        Ok(Self { store, instance, limits, _watch: watch, _permit: permit })
    }

    /// Prepares the instance for another question: all state on the host's side is new, and the guest keeps its memory. Only
    /// `instance_reuse.rs` does that.
    pub(crate) fn renew(
        &mut self,
        policy: &LoadedComponent,
        lookups: Lookups,
        settings: Arc<PreparedSettings>,
    ) -> wasmtime::Result<()> {
        let grants = policy.grants.clone();
        *self.store.data_mut() =
            HostState::new(self.limits, lookups, settings, grants, NextPolicies::default());
        bound(&mut self.store, policy);
        self.store.set_fuel(self.limits.fuel)
    }

    /// Compares the types of a function with those of the contract.
    pub(crate) fn check<P, R>(&mut self, function: &ComponentExportIndex) -> wasmtime::Result<()>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift,
    {
        self.instance.get_typed_func::<P, R>(&mut self.store, function).map(drop)
    }

    /// Calls a function.
    pub(crate) fn call<P, R>(&mut self, function: &ComponentExportIndex, params: P) -> Result<R, Fault>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        let called = self
            .instance
            .get_typed_func::<P, (R,)>(&mut self.store, function)
            .and_then(|function| function.call(&mut self.store, params));
        match called {
            Ok((answer,)) => Ok(answer),
            Err(error) => Err(fault(&error, self.store.data(), self.limits, self.limits.fuel)),
        }
    }

    /// Fuel used since the start.
    pub(crate) fn fuel_used(&self) -> u64 {
        self.limits.fuel.saturating_sub(self.store.get_fuel().unwrap_or_default())
    }

    /// Ends the instance and returns its log, the artifacts that it read, and its questions to the policies behind it.
    pub(crate) fn into_records(self) -> (PolicyLog, Vec<(String, Digest)>, NextPolicies) {
        let state = self.store.into_data();
        (state.log, state.artifacts.unwrap_or_default(), state.next_policies)
    }
}

/// What one decision may carry into the host, and for how long it may take.
fn bound(store: &mut Store<HostState>, policy: &LoadedComponent) {
    let limits = &policy.limits;
    let passed_on = if policy.asks_next.is_empty() { 0 } else { PASSED_ON_BYTES };
    let bytes = limits.output_bytes.saturating_add(passed_on);
    store.set_hostcall_fuel(usize::try_from(bytes).unwrap_or(usize::MAX));
    store.set_epoch_deadline(Watchdog::deadline_ticks(limits.watchdog_ms));
}

/// What an error of wasmtime means here.
fn fault(error: &wasmtime::Error, state: &HostState, limits: &DecisionLimits, fuel: u64) -> Fault {
    let message = first_line(error);
    let Some(trap) = error.downcast_ref::<Trap>() else {
        return if error.is::<GuestMisuse>() {
            Fault::Trap { message }
        } else if message.contains(TOO_MUCH_DATA) {
            Fault::TooLarge { limit_bytes: limits.output_bytes }
        } else {
            Fault::Invalid { message }
        };
    };
    match trap {
        Trap::OutOfFuel => Fault::OutOfFuel { limit: fuel },
        Trap::Interrupt => Fault::Watchdog { limit_ms: limits.watchdog_ms },
        // Few guests survive that their memory does not grow, and then the trap does not say why.
        _ if state.memory.refused => Fault::OutOfMemory { limit_bytes: limits.memory_bytes },
        Trap::StringOutOfBounds
        | Trap::ListOutOfBounds
        | Trap::InvalidDiscriminant
        | Trap::InvalidChar
        | Trap::UnalignedPointer => Fault::Invalid { message },
        _ => Fault::Trap { message },
    }
}

/// The first line of the innermost cause, without wasmtime's prefix: the location in the code is not part of a fault, since it
/// would differ between builds.
fn first_line(error: &wasmtime::Error) -> String {
    let text = match error.downcast_ref::<Trap>() {
        Some(trap) => trap.to_string(),
        None => error.root_cause().to_string(),
    };
    let line = text.lines().next().unwrap_or_default();
    let line = line.strip_prefix("wasm trap: ").unwrap_or(line);
    sanitize::line(line, MESSAGE_BYTES)
}
