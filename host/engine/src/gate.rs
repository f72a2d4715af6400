//! Counts the instances that live, and lets a caller wait while there are as many as the pool holds. Knows nothing
//! of instances itself.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A counting gate.
pub(crate) struct Gate {
    places: u32,
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    inside: u32,
    peak: u32,
}

impl Gate {
    pub(crate) fn new(places: u32) -> Self {
        Self { places, state: Mutex::default(), left: Condvar::new() }
    }

    /// Waits for a place and takes it until the ticket is dropped.
    pub(crate) fn enter(&self) -> Ticket<'_> {
        let mut state = self.lock();
        while state.inside >= self.places {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.inside += 1;
        state.peak = state.peak.max(state.inside);
        Ticket(self)
    }

    /// The most tickets there ever were at a time.
    pub(crate) fn peak(&self) -> u32 {
        self.lock().peak
    }

    /// A count cannot be left half-changed, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place behind the gate.
pub(crate) struct Ticket<'a>(&'a Gate);

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.0.lock().inside -= 1;
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_its_places_are_inside_and_everyone_gets_in() {
        let gate = Gate::new(2);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let _ticket = gate.enter();
                        std::thread::yield_now();
                    }
                });
            }
        });
        assert!((1..=2).contains(&gate.peak()));
        assert_eq!(gate.lock().inside, 0);
    }
}
