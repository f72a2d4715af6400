//! Counts live instances, and makes a caller wait while the pool is full or while its policy has used up its share. Holds no
//! instances itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A decision that takes a core for longer is slow: a realistic one takes a fiftieth of it, one of a whole interpreter a
/// third. What has no end within its fuel takes some times as long.
const SLOW: Duration = Duration::from_millis(5);

/// The permits of the pool, and how they are shared out: one policy never takes the last permit, and those that were slow or
/// failed when they were last asked have one permit together. So the other policies always find a permit and a core.
pub(crate) struct InstancePermits {
    all: CountingSemaphore,
    slow: CountingSemaphore,
    kept: CountingSemaphore,
    a_policy: u32,
}

/// The gates of a permit, apart from that of those which are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum PermitPool {
    /// Of the share of a policy.
    Own,
    /// Of all slow policies.
    Slow,
    /// Of the pool.
    All,
}

/// The gates to a permit, in the order in which they are passed. A caller that waits at the last gate holds a share but no
/// permit, and the holders of a permit do not wait, so the wait ends. A kept permit is never the one of slow policies: that
/// one has to become free, or a caller that keeps it and asks the same policy again would wait for itself.
fn way(is_set_back: bool, is_kept: bool) -> [PermitPool; 2] {
    [if is_set_back && !is_kept { PermitPool::Slow } else { PermitPool::Own }, PermitPool::All]
}

/// How many permits may be kept at a time, of all policies together: for each there must be another one for a fresh instance of
/// the same policy.
fn most_kept(permits: u32) -> u32 {
    a_policy(permits) / 2
}

/// How many permits one policy may have at a time.
fn a_policy(permits: u32) -> u32 {
    permits.saturating_sub(1).max(1)
}

/// What one policy has of the permits.
pub(crate) struct PolicyShare {
    own: CountingSemaphore,
    set_back: AtomicBool,
}

impl PolicyShare {
    /// It failed: until it does not, it has a permit only when no other such policy has one.
    pub(crate) fn deprioritise(&self) {
        self.set_back.store(true, Ordering::Relaxed);
    }
}

/// A permit for one decision. It notices how much of a core was used while it was held, so it stays with its thread; one that
/// is kept for many decisions does not show how slow a single decision is.
pub(crate) struct InstancePermit<'a> {
    share: &'a PolicyShare,
    began: Option<Duration>,
    _all: SemaphorePermit<'a>,
    _share: SemaphorePermit<'a>,
    _kept: Option<SemaphorePermit<'a>>,
}

impl InstancePermits {
    pub(crate) fn new(permits: u32) -> Self {
        Self {
            all: CountingSemaphore::new(permits),
            slow: CountingSemaphore::new(1),
            kept: CountingSemaphore::new(most_kept(permits)),
            a_policy: a_policy(permits),
        }
    }

    /// The permits that may be kept at a time.
    pub(crate) fn most_kept(&self) -> u32 {
        self.kept.permits
    }

    /// The share of one more policy.
    pub(crate) fn share(&self) -> PolicyShare {
        PolicyShare { own: CountingSemaphore::new(self.a_policy), set_back: AtomicBool::new(false) }
    }

    /// Waits for a permit and takes it until it is dropped.
    pub(crate) fn acquire_permit<'a>(&'a self, share: &'a PolicyShare) -> InstancePermit<'a> {
        let is_set_back = share.set_back.load(Ordering::Relaxed);
        let [own, all] = self.acquire_both(share, way(is_set_back, false));
        InstancePermit { share, began: Some(core_time()), _all: all, _share: own, _kept: None }
    }

    /// Waits for a permit that is kept for many decisions; none if the maximum number is kept already.
    pub(crate) fn acquire_reusable<'a>(&'a self, share: &'a PolicyShare) -> Option<InstancePermit<'a>> {
        let kept = self.kept.try_acquire()?;
        let [own, all] = self.acquire_both(share, way(false, true));
        Some(InstancePermit { share, began: None, _all: all, _share: own, _kept: Some(kept) })
    }

    /// Waits at one door after the other.
    fn acquire_both<'a>(&'a self, share: &'a PolicyShare, way: [PermitPool; 2]) -> [SemaphorePermit<'a>; 2] {
        way.map(|door| match door {
            PermitPool::Own => share.own.acquire(),
            PermitPool::Slow => self.slow.acquire(),
            PermitPool::All => self.all.acquire(),
        })
    }

    /// The most permits there ever were taken at a time.
    pub(crate) fn peak(&self) -> u32 {
        self.all.peak()
    }
}

impl Drop for InstancePermit<'_> {
    fn drop(&mut self) {
        let Some(began) = self.began else { return };
        // Time in which the thread had no core does not count against the policy.
        let took = core_time().saturating_sub(began);
        self.share.set_back.store(took > SLOW, Ordering::Relaxed);
    }
}

/// For how long this thread has had a core.
fn core_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// A counting gate.
struct CountingSemaphore {
    permits: u32,
    state: Mutex<SemaphoreState>,
    left: Condvar,
}

#[derive(Clone, Default)]
struct SemaphoreState {
    inside: u32,
    peak: u32,
}

impl SemaphoreState {
    /// Takes a permit if fewer than `permits` are taken.
    fn take(&mut self, permits: u32) -> bool {
        let is_free = self.inside < permits;
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

impl CountingSemaphore {
    fn new(permits: u32) -> Self {
        Self { permits, state: Mutex::default(), left: Condvar::new() }
    }

    /// Waits for a permit and takes it until the ticket is dropped.
    fn acquire(&self) -> SemaphorePermit<'_> {
        let mut state = self.lock();
        while !state.take(self.permits) {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        SemaphorePermit(self)
    }

    /// Takes a permit, if one is free now.
    fn try_acquire(&self) -> Option<SemaphorePermit<'_>> {
        let is_taken = self.lock().take(self.permits);
        is_taken.then(|| SemaphorePermit(self))
    }

    /// The most tickets there ever were at a time.
    fn peak(&self) -> u32 {
        self.lock().peak
    }

    /// A count cannot be left half-changed, so a poisoned lock is as good as any.
    fn lock(&self) -> MutexGuard<'_, SemaphoreState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A permit that was acquired.
struct SemaphorePermit<'a>(&'a CountingSemaphore);

impl Drop for SemaphorePermit<'_> {
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
    fn waits(
        permits: &InstancePermits,
        share: &PolicyShare,
        leave: InstancePermit<'_>,
        while_it_waits: impl FnOnce(),
    ) {
        let waiting = AtomicBool::new(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                drop(permits.acquire_permit(share));
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
        let permits = InstancePermits::new(4);
        let (greedy, modest) = (permits.share(), permits.share());
        let mut held: Vec<_> = (0..3).map(|_| permits.acquire_permit(&greedy)).collect();
        let leave = held.pop().expect("three");
        waits(&permits, &greedy, leave, || drop(permits.acquire_permit(&modest)));
        assert_eq!(permits.all.lock().inside, 2);
    }

    #[test]
    fn slow_policies_have_one_place_together() {
        let permits = InstancePermits::new(4);
        let (one, other, quick) = (permits.share(), permits.share(), permits.share());
        one.deprioritise();
        other.deprioritise();
        let leave = permits.acquire_permit(&one);
        waits(&permits, &other, leave, || (0..9).for_each(|_| drop(permits.acquire_permit(&quick))));
        assert!(!other.set_back.load(Ordering::Relaxed), "it was quick this time");
    }

    #[test]
    fn who_takes_a_core_for_long_is_slow_until_it_does_not() {
        let permits = InstancePermits::new(1);
        let share = permits.share();
        let permit = permits.acquire_permit(&share);
        while permit.began.is_some_and(|began| core_time() < began + 2 * SLOW) {}
        drop(permit);
        assert!(share.set_back.load(Ordering::Relaxed));
        drop(permits.acquire_permit(&share));
        assert!(!share.set_back.load(Ordering::Relaxed));
    }

    #[test]
    fn no_more_than_its_places_are_inside_and_everyone_gets_in() {
        let gate = CountingSemaphore::new(2);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let _ticket = gate.acquire();
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
        let permits = InstancePermits::new(4);
        let share = permits.share();
        share.deprioritise();
        let kept = permits.acquire_reusable(&share).expect("one may be kept");
        drop(permits.acquire_permit(&share));
        assert!(permits.acquire_reusable(&permits.share()).is_none(), "of all policies together");
        // It was held for a long time for many questions: that does not make the policy slow.
        let began = core_time();
        while core_time().saturating_sub(began) <= SLOW {}
        share.set_back.store(false, Ordering::Relaxed);
        drop(kept);
        assert!(!share.set_back.load(Ordering::Relaxed));
    }
}
