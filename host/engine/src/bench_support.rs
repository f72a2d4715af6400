//! The floor that the benches measure against: the same component, configuration, limits and imports, called with
//! wasmtime alone. No gate, watchdog, router, label or check of the answer; nothing but benches calls it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use baton_core::observation::{PolicyQuery, PolicyRequest};
use wasmtime::Store;
use wasmtime::component::{ComponentExportIndex, ComponentNamedList, Lift, Lower};

use crate::bindings::questions;
use crate::convert;
use crate::host_state::HostState;
use crate::layer::NextPolicies;
use crate::limits::START_FUEL;
use crate::settings::ConfiguredPolicy;

/// A deadline that is never reached, since the epoch does not advance here.
const NEVER: u64 = 1 << 32;

/// Time for one fresh instance and one typed call, the conversion of the observation not counted. None if the question is
/// neither `assess` nor `brief`, or if the call fails.
pub fn time(configured: &ConfiguredPolicy, question: &PolicyRequest) -> Option<Duration> {
    let function = configured.policy.0.exports.answering(question.query.capability())?;
    match &question.query {
        PolicyQuery::Exhaustion(seen) => convert::session_observation(seen, |seen| {
            call::<_, Option<questions::AssessmentResult>>(configured, question, function, (seen,))
        }),
        PolicyQuery::Prompting(seen) => convert::handoff(seen, |seen| {
            call::<_, Option<questions::Prompt>>(configured, question, function, (seen,))
        }),
        _ => None,
    }
}

fn call<P, R>(
    configured: &ConfiguredPolicy,
    question: &PolicyRequest,
    function: &ComponentExportIndex,
    params: P,
) -> Option<Duration>
where
    P: ComponentNamedList + Lower,
    (R,): ComponentNamedList + Lift,
{
    let policy = &*configured.policy.0;
    let engine = &*policy.engine.0;
    let started = Instant::now();
    let settings = Arc::clone(&configured.settings);
    let grants = policy.grants.clone();
    let state = HostState::new(&engine.limits, question.into(), settings, grants, NextPolicies::default());
    let mut store = Store::new(&engine.wasm, state);
    store.limiter(|state| &mut state.memory);
    store.set_hostcall_fuel(usize::try_from(engine.limits.output_bytes).ok()?);
    store.set_epoch_deadline(NEVER);
    store.set_fuel(START_FUEL).ok()?;
    let instance = policy.pre.instantiate(&mut store).ok()?;
    let function = instance.get_typed_func::<P, (R,)>(&mut store, function).ok()?;
    let answer = function.call(&mut store, params).ok()?;
    drop((answer, store));
    Some(started.elapsed())
}
