//! The guards that this host has started and that have not ended, by what no process can choose: who started them, their id and their
//! start time. What is below one of them belongs to its session.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::procfs::{self, ProcessInfo};

/// By their ids.
static GUARDS: Mutex<BTreeMap<u32, RegisteredGuard>> = Mutex::new(BTreeMap::new());

#[derive(Debug)]
struct RegisteredGuard {
    /// Clock ticks since boot: tells it from a later process with the same id.
    started: u64,
    /// The mark of its session.
    mark: String,
}

/// Keeps a guard known; dropped when it has ended.
#[derive(Debug)]
pub(crate) struct GuardRegistration {
    pid: u32,
    pub(crate) started: u64,
}

impl Drop for GuardRegistration {
    fn drop(&mut self) {
        let mut guards = lock();
        // Its id may be another guard's by now.
        if guards.get(&self.pid).is_some_and(|known| known.started == self.started) {
            guards.remove(&self.pid);
        }
    }
}

/// Starts a guard, and knows it before anything below it can be asked about. `start` gives it and its id.
pub(crate) fn start_registered<T, E>(
    mark: String,
    start: impl FnOnce() -> Result<(T, u32), E>,
) -> Result<(T, GuardRegistration), E> {
    let mut guards = lock();
    let (guard, pid) = start()?;
    let started = procfs::look(pid).map_or(0, |process| process.started);
    guards.insert(pid, RegisteredGuard { started, mark });
    Ok((guard, GuardRegistration { pid, started }))
}

/// The mark of the session whose guard this process is.
pub(crate) fn mark_of_guard(process: &ProcessInfo) -> Option<String> {
    let guards = lock();
    let known = guards.get(&process.pid).filter(|known| known.started == process.started);
    known.map(|known| known.mark.clone())
}

fn lock() -> MutexGuard<'static, BTreeMap<u32, RegisteredGuard>> {
    GUARDS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn a_guard_is_known_by_its_start_time_while_it_lives() {
        // N6: an id is given to another process later.
        let own = procfs::look(std::process::id()).unwrap_or(ProcessInfo {
            pid: std::process::id(),
            parent: 1,
            group: 0,
            session: 0,
            started: 0,
            ended: false,
        });
        let start = || Ok::<_, Infallible>(((), own.pid));
        let Ok(((), known)) = start_registered("mark".to_owned(), start);
        assert_eq!(mark_of_guard(&own).as_deref(), Some("mark"));
        assert_eq!(mark_of_guard(&ProcessInfo { started: own.started + 1, ..own }), None);
        drop(known);
        assert_eq!(mark_of_guard(&own), None);
    }
}
