//! Counts the instances that live, and lets a caller wait while there are as many as the pool holds, or while its policy has
//! its share of them. Knows nothing of instances itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A decision that takes a core for longer is slow: a realistic one takes a fiftieth of it, one of a whole interpreter a
/// third. What has no end within its fuel takes some times as long.
const SLOW: Duration = Duration::from_millis(5);

/// The places of the pool, and how they are shared out: one policy never takes the last place, and those that were slow or
/// failed when they were last asked have one place together. So whatever some policies do, the others find a place, and a core.
pub(crate) struct Places {
    all: Gate,
    slow: Gate,
    kept: Gate,
    a_policy: u32,
}

/// The gates of a place, apart from that of those which are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Door {
    /// Of the share of a policy.
    Own,
    /// Of all slow policies.
    Slow,
    /// Of the pool.
    All,
}

/// The doors to a place, in the order in which they are passed. Whoever waits at the last one holds a share but no place, and those
/// inside wait for nobody: it comes to an end. A place that is kept is never the one of slow policies: that one has to come free, or
/// whoever keeps it and asks the same policy beside it would wait for itself.
fn way(is_set_back: bool, is_kept: bool) -> [Door; 2] {
    [if is_set_back && !is_kept { Door::Slow } else { Door::Own }, Door::All]
}

/// How many places may be kept at a time, of all policies together: beside each there must be one for a fresh instance of the same
/// policy, whatever else is kept.
fn most_kept(places: u32) -> u32 {
    a_policy(places) / 2
}

/// How many places one policy may have at a time.
fn a_policy(places: u32) -> u32 {
    places.saturating_sub(1).max(1)
}

/// What one policy has of the places.
pub(crate) struct Share {
    own: Gate,
    set_back: AtomicBool,
}

impl Share {
    /// It failed: until it does not, it has a place only when no other such policy has one.
    pub(crate) fn set_back(&self) {
        self.set_back.store(true, Ordering::Relaxed);
    }
}

/// A place for one decision. It notices how much of a core was used while it was held, so it stays with its thread; one that
/// is kept for many decisions says nothing of how slow a single one is.
pub(crate) struct Place<'a> {
    share: &'a Share,
    began: Option<Duration>,
    _all: Ticket<'a>,
    _share: Ticket<'a>,
    _kept: Option<Ticket<'a>>,
}

impl Places {
    pub(crate) fn new(places: u32) -> Self {
        Self {
            all: Gate::new(places),
            slow: Gate::new(1),
            kept: Gate::new(most_kept(places)),
            a_policy: a_policy(places),
        }
    }

    /// The places that may be kept at a time.
    pub(crate) fn most_kept(&self) -> u32 {
        self.kept.places
    }

    /// The share of one more policy.
    pub(crate) fn share(&self) -> Share {
        Share { own: Gate::new(self.a_policy), set_back: AtomicBool::new(false) }
    }

    /// Waits for a place and takes it until it is dropped.
    pub(crate) fn enter<'a>(&'a self, share: &'a Share) -> Place<'a> {
        let is_set_back = share.set_back.load(Ordering::Relaxed);
        let [own, all] = self.pass(share, way(is_set_back, false));
        Place { share, began: Some(core_time()), _all: all, _share: own, _kept: None }
    }

    /// Waits for a place that is kept for many decisions; none where as many are kept as may be.
    pub(crate) fn enter_to_keep<'a>(&'a self, share: &'a Share) -> Option<Place<'a>> {
        let kept = self.kept.try_enter()?;
        let [own, all] = self.pass(share, way(false, true));
        Some(Place { share, began: None, _all: all, _share: own, _kept: Some(kept) })
    }

    /// Waits at one door after the other.
    fn pass<'a>(&'a self, share: &'a Share, way: [Door; 2]) -> [Ticket<'a>; 2] {
        way.map(|door| match door {
            Door::Own => share.own.enter(),
            Door::Slow => self.slow.enter(),
            Door::All => self.all.enter(),
        })
    }

    /// The most places there ever were taken at a time.
    pub(crate) fn peak(&self) -> u32 {
        self.all.peak()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let Some(began) = self.began else { return };
        // Time in which the thread had no core is no fault of the policy.
        let took = core_time().saturating_sub(began);
        self.share.set_back.store(took > SLOW, Ordering::Relaxed);
    }
}

/// For how long this thread has had a core.
fn core_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// A counting gate.
struct Gate {
    places: u32,
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Clone, Default)]
struct State {
    inside: u32,
    peak: u32,
}

impl State {
    /// Takes a place, where one of so many is free.
    fn take(&mut self, places: u32) -> bool {
        let is_free = self.inside < places;
        if is_free {
            self.inside += 1;
            self.peak = self.peak.max(self.inside);
        }
        is_free
    }

    fn leave(&mut self) {
        self.inside -= 1;
    }
}

impl Gate {
    fn new(places: u32) -> Self {
        Self { places, state: Mutex::default(), left: Condvar::new() }
    }

    /// Waits for a place and takes it until the ticket is dropped.
    fn enter(&self) -> Ticket<'_> {
        let mut state = self.lock();
        while !state.take(self.places) {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ticket(self)
    }

    /// Takes a place, if one is free now.
    fn try_enter(&self) -> Option<Ticket<'_>> {
        let is_taken = self.lock().take(self.places);
        is_taken.then(|| Ticket(self))
    }

    /// The most tickets there ever were at a time.
    fn peak(&self) -> u32 {
        self.lock().peak
    }

    /// A count cannot be left half-changed, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place behind the gate.
struct Ticket<'a>(&'a Gate);

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.0.lock().leave();
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod schedules;

#[cfg(test)]
mod tests {
    use super::*;

    /// Another thread enters and leaves; meanwhile `while_it_waits` looks.
    fn waits(places: &Places, share: &Share, leave: Place<'_>, while_it_waits: impl FnOnce()) {
        let waiting = AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                drop(places.enter(share));
                waiting.store(false, Ordering::SeqCst);
            });
            while_it_waits();
            assert!(waiting.load(Ordering::SeqCst), "it does not get in");
            drop(leave);
        });
        assert!(!waiting.load(Ordering::SeqCst));
    }

    #[test]
    fn one_policy_never_takes_the_last_place() {
        let places = Places::new(4);
        let (greedy, modest) = (places.share(), places.share());
        let mut held: Vec<_> = (0..3).map(|_| places.enter(&greedy)).collect();
        let leave = held.pop().expect("three");
        waits(&places, &greedy, leave, || drop(places.enter(&modest)));
        assert_eq!(places.all.lock().inside, 2);
    }

    #[test]
    fn slow_policies_have_one_place_together() {
        let places = Places::new(4);
        let (one, other, quick) = (places.share(), places.share(), places.share());
        one.set_back();
        other.set_back();
        let leave = places.enter(&one);
        waits(&places, &other, leave, || (0..9).for_each(|_| drop(places.enter(&quick))));
        assert!(!other.set_back.load(Ordering::Relaxed), "it was quick this time");
    }

    #[test]
    fn who_takes_a_core_for_long_is_slow_until_it_does_not() {
        let places = Places::new(1);
        let share = places.share();
        let place = places.enter(&share);
        while place.began.is_some_and(|began| core_time() < began + 2 * SLOW) {}
        drop(place);
        assert!(share.set_back.load(Ordering::Relaxed));
        drop(places.enter(&share));
        assert!(!share.set_back.load(Ordering::Relaxed));
    }

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

    #[test]
    fn whoever_keeps_a_place_never_waits_for_itself() {
        let places = Places::new(4);
        let share = places.share();
        share.set_back();
        let kept = places.enter_to_keep(&share).expect("one may be kept");
        drop(places.enter(&share));
        assert!(places.enter_to_keep(&places.share()).is_none(), "of all policies together");
        // It was held for long, by one who asked many questions: that makes nobody slow.
        let began = core_time();
        while core_time().saturating_sub(began) <= SLOW {}
        share.set_back.store(false, Ordering::Relaxed);
        drop(kept);
        assert!(!share.set_back.load(Ordering::Relaxed));
    }
}
