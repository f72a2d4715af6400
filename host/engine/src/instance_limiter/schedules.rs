//! Every schedule of a few callers at the gates, walked to its end (M6): no order of their steps leaves one waiting without
//! end. The order of the gates and the counting are those of `instance_limiter.rs`. The policies behind a layer take no permit,
//! so a chain of any depth is one caller.

use std::collections::{BTreeMap, BTreeSet};

use super::{PermitPool, SemaphoreState, a_policy, most_kept, way};

/// An atomic step of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CallerStep {
    /// It wants a permit for one decision.
    Decide,
    /// It wants a permit to keep, and asks the same policy with another one meanwhile.
    Keep,
    /// Tries a gate, and sleeps there if no permit is free.
    Pass(PermitPool),
    Leave(PermitPool),
    LeaveKept,
    /// A decision is over: it was slow, or it was not.
    Judged,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ModelCaller {
    policy: usize,
    /// The next one last.
    ahead: Vec<CallerStep>,
    sleeps: bool,
}

/// All that a schedule can change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PermitModel {
    permits: u32,
    callers: Vec<ModelCaller>,
    /// Tickets of each door; the own doors of policies apart.
    inside: BTreeMap<(PermitPool, usize), u32>,
    kept: u32,
    set_back: Vec<bool>,
}

impl PermitModel {
    /// Callers by the number of their policy, with what each of them does.
    fn of(permits: u32, callers: &[(usize, &[CallerStep])]) -> Self {
        let caller = |(policy, steps): &(usize, &[CallerStep])| {
            let ahead = steps.iter().rev().copied().collect();
            ModelCaller { policy: *policy, ahead, sleeps: false }
        };
        let policies = callers.iter().map(|(policy, _)| policy + 1).max().unwrap_or(0);
        Self {
            permits,
            callers: callers.iter().map(caller).collect(),
            inside: BTreeMap::new(),
            kept: 0,
            set_back: vec![false; policies],
        }
    }

    fn is_over(&self) -> bool {
        self.callers.iter().all(|caller| caller.ahead.is_empty())
    }

    /// Every state that one step of one caller leads to.
    fn next(&self) -> Vec<Self> {
        (0..self.callers.len()).flat_map(|at| self.after_step_of(at)).collect()
    }

    fn after_step_of(&self, at: usize) -> Vec<Self> {
        let mut next = self.clone();
        let caller = &mut next.callers[at];
        if caller.sleeps {
            return Vec::new();
        }
        let Some(step) = caller.ahead.pop() else { return Vec::new() };
        let policy = caller.policy;
        match step {
            CallerStep::Decide => {
                let way = way(self.set_back[policy], false);
                caller.go([
                    CallerStep::Pass(way[0]),
                    CallerStep::Pass(way[1]),
                    CallerStep::Judged,
                    CallerStep::Leave(way[1]),
                    CallerStep::Leave(way[0]),
                ]);
            }
            CallerStep::Keep => {
                let mut kept = SemaphoreState { inside: self.kept, peak: 0 };
                match kept.take(most_kept(self.permits)) {
                    true => {
                        let way = way(false, true);
                        caller.go([
                            CallerStep::Leave(way[1]),
                            CallerStep::Leave(way[0]),
                            CallerStep::LeaveKept,
                        ]);
                        caller.go([CallerStep::Pass(way[0]), CallerStep::Pass(way[1]), CallerStep::Decide]);
                    }
                    // A fresh instance is asked instead.
                    false => caller.go([CallerStep::Decide]),
                }
                next.kept = kept.inside;
            }
            CallerStep::Pass(door) => {
                let permits = self.permits_behind(door);
                if !next.counted(door, policy, |state| state.take(permits)) {
                    next.callers[at].go([step]);
                    next.callers[at].sleeps = true;
                }
            }
            CallerStep::Leave(door) => {
                next.counted(door, policy, SemaphoreState::leave);
                return next.one_woken(door, policy);
            }
            CallerStep::LeaveKept => next.kept -= 1,
            CallerStep::Judged => {
                return [true, false].map(|is_slow| next.judged(policy, is_slow)).to_vec();
            }
        }
        vec![next]
    }

    fn permits_behind(&self, door: PermitPool) -> u32 {
        match door {
            PermitPool::Own => a_policy(self.permits),
            PermitPool::Slow => 1,
            PermitPool::All => self.permits,
        }
    }

    fn counted<T>(
        &mut self,
        door: PermitPool,
        policy: usize,
        change: impl FnOnce(&mut SemaphoreState) -> T,
    ) -> T {
        let inside = self.inside.entry((door, if door == PermitPool::Own { policy } else { 0 })).or_default();
        let mut state = SemaphoreState { inside: *inside, peak: 0 };
        let answer = change(&mut state);
        *inside = state.inside;
        answer
    }

    /// A permit was released: one of its sleepers, whichever, wakes and tries again.
    fn one_woken(self, door: PermitPool, policy: usize) -> Vec<Self> {
        let sleeps_there = |caller: &ModelCaller| {
            let is_same_door = door != PermitPool::Own || caller.policy == policy;
            caller.sleeps && is_same_door && caller.ahead.last() == Some(&CallerStep::Pass(door))
        };
        let asleep: Vec<usize> =
            (0..self.callers.len()).filter(|other| sleeps_there(&self.callers[*other])).collect();
        let woken = |other: usize| {
            let mut woken = self.clone();
            woken.callers[other].sleeps = false;
            woken
        };
        match asleep.is_empty() {
            true => vec![self],
            false => asleep.into_iter().map(woken).collect(),
        }
    }

    fn judged(&self, policy: usize, is_slow: bool) -> Self {
        let mut judged = self.clone();
        judged.set_back[policy] = is_slow;
        judged
    }
}

impl ModelCaller {
    /// Puts steps before those that are ahead.
    fn go<const N: usize>(&mut self, steps: [CallerStep; N]) {
        self.ahead.extend(steps.into_iter().rev());
    }
}

/// Walks every schedule, and says how many states there are; the first one without a way on is an error.
fn walk(begin: PermitModel) -> Result<usize, PermitModel> {
    let mut seen = BTreeSet::from([begin.clone()]);
    let mut open = vec![begin];
    while let Some(hall) = open.pop() {
        let next = hall.next();
        if next.is_empty() && !hall.is_over() {
            return Err(hall);
        }
        for one in next {
            if seen.insert(one.clone()) {
                open.push(one);
            }
        }
    }
    Ok(seen.len())
}

const ONCE: &[CallerStep] = &[CallerStep::Decide];
const TWICE: &[CallerStep] = &[CallerStep::Decide, CallerStep::Decide];
const KEEPS: &[CallerStep] = &[CallerStep::Keep];

#[test]
fn no_schedule_leaves_a_caller_waiting() {
    let halls: [&[(usize, &[CallerStep])]; 5] = [
        &[(0, TWICE), (0, TWICE), (1, TWICE)],
        &[(0, TWICE), (1, TWICE), (2, TWICE)],
        &[(0, KEEPS), (0, KEEPS), (0, KEEPS)],
        &[(0, KEEPS), (1, KEEPS), (2, KEEPS)],
        &[(0, KEEPS), (0, ONCE), (1, KEEPS), (1, ONCE)],
    ];
    for permits in 1..=5 {
        for callers in halls {
            let states = walk(PermitModel::of(permits, callers))
                .unwrap_or_else(|stuck| panic!("{permits}: {stuck:#?}"));
            assert!(states > 100, "{states} states of {callers:?}");
        }
    }
}

#[test]
fn a_hall_in_which_callers_wait_for_each_other_is_found() {
    // Before the kept permits were counted together, three policies could keep all that there were.
    let mut full = PermitModel::of(3, &[(0, ONCE), (1, ONCE), (2, ONCE)]);
    for policy in 0..3 {
        for door in way(false, true) {
            full.counted(door, policy, |state| state.take(3));
        }
        full.callers[policy].ahead =
            vec![CallerStep::Leave(PermitPool::Own), CallerStep::Leave(PermitPool::All), CallerStep::Decide];
    }
    let stuck = walk(full).unwrap_err();
    assert!(stuck.callers.iter().all(|caller| caller.sleeps), "each holds what the others want: {stuck:#?}");
}
