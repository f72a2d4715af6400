//! The facts that a policy may import (`wit/facts.wit`): each a list that went with the question, so that a replay has it too.

use baton_core::observation::QueryFacts;
use wasmtime::component::{ComponentNamedList, Lift, Linker, Lower};

use crate::bindings::facts::{facts_compactions, facts_handoffs, facts_history, facts_turns, facts_waits};
use crate::contract::interface;
use crate::convert;
use crate::host_state::HostState;
use crate::imports::{ENTRY_BYTES, GuestStore, ImportResult, for_bytes, pay};

/// Defines the facts.
pub(crate) fn define(linker: &mut Linker<HostState>) -> wasmtime::Result<()> {
    list(
        linker,
        ("facts-history", "past-sessions"),
        |facts| &facts.past_sessions,
        convert::past_session,
        |session: &facts_history::PastSession| {
            let ended_by = session.ended_by.as_ref().map_or(0, String::len);
            session.id.len() + session.agent.len() + session.role.len() + ended_by
        },
    )?;
    list(
        linker,
        ("facts-turns", "turns-taken"),
        |facts| &facts.turns_taken,
        convert::turn_taken,
        |turn: &facts_turns::TurnTaken| turn.model.as_ref().map_or(0, String::len),
    )?;
    list(
        linker,
        ("facts-compactions", "past-compactions"),
        |facts| &facts.past_compactions,
        convert::past_compaction,
        |compaction: &facts_compactions::PastCompaction| compaction.session.len(),
    )?;
    list(
        linker,
        ("facts-waits", "past-waits"),
        |facts| &facts.past_waits,
        convert::past_wait,
        |_: &facts_waits::PastWait| 0,
    )?;
    list(
        linker,
        ("facts-handoffs", "past-handoffs"),
        |facts| &facts.past_handoffs,
        convert::past_handoff,
        |handoff: &facts_handoffs::PastHandoff| handoff.path.len() + handoff.session.len(),
    )
}

/// Defines a function that gives the newest entries of one list, at most as many as are asked for, and takes fuel for the bytes of each.
fn list<T, U>(
    linker: &mut Linker<HostState>,
    (name, function): (&str, &str),
    known: fn(&QueryFacts) -> &Vec<T>,
    told: fn(&T) -> U,
    bytes: fn(&U) -> usize,
) -> wasmtime::Result<()>
where
    T: 'static,
    U: Lower + Lift + Send + Sync + 'static,
    (Vec<U>,): ComponentNamedList + Lower,
{
    let mut instance = linker.instance(&interface(name))?;
    instance.func_wrap(function, move |mut store: GuestStore<'_>, (limit,): (u32,)| -> ImportResult<Vec<U>> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let entries: Vec<U> = known(store.data().facts()).iter().take(limit).map(told).collect();
        pay(&mut store, for_bytes(entries.iter().map(|entry| bytes(entry) + ENTRY_BYTES).sum()))?;
        Ok((entries,))
    })
}
