//! Every schedule of a few callers at the gates, walked to its end (M6): no order of their steps leaves one waiting for ever. The way
//! through the doors and the counting are those of `gate.rs`. What is behind a layer takes no place, so a chain of any depth is one
//! caller.

use std::collections::{BTreeMap, BTreeSet};

use super::{Door, State, a_policy, most_kept, way};

/// What a caller does in one go, while nobody else does anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// It wants a place for one decision.
    Decide,
    /// It wants a place to keep, and asks the same policy beside it.
    Keep,
    /// Tries a door, and sleeps there where nothing is free.
    Pass(Door),
    Leave(Door),
    LeaveKept,
    /// A decision is over: it was slow, or it was not.
    Judged,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Caller {
    policy: usize,
    /// The next one last.
    ahead: Vec<Step>,
    sleeps: bool,
}

/// All that a schedule can change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hall {
    places: u32,
    callers: Vec<Caller>,
    /// Tickets of each door; the own doors of policies apart.
    inside: BTreeMap<(Door, usize), u32>,
    kept: u32,
    set_back: Vec<bool>,
}

impl Hall {
    /// Callers by the number of their policy, with what each of them does.
    fn of(places: u32, callers: &[(usize, &[Step])]) -> Self {
        let caller = |(policy, steps): &(usize, &[Step])| {
            let ahead = steps.iter().rev().copied().collect();
            Caller { policy: *policy, ahead, sleeps: false }
        };
        let policies = callers.iter().map(|(policy, _)| policy + 1).max().unwrap_or(0);
        Self {
            places,
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
            Step::Decide => {
                let way = way(self.set_back[policy], false);
                caller.go([
                    Step::Pass(way[0]),
                    Step::Pass(way[1]),
                    Step::Judged,
                    Step::Leave(way[1]),
                    Step::Leave(way[0]),
                ]);
            }
            Step::Keep => {
                let mut kept = State { inside: self.kept, peak: 0 };
                match kept.take(most_kept(self.places)) {
                    true => {
                        let way = way(false, true);
                        caller.go([Step::Leave(way[1]), Step::Leave(way[0]), Step::LeaveKept]);
                        caller.go([Step::Pass(way[0]), Step::Pass(way[1]), Step::Decide]);
                    }
                    // A fresh instance is asked instead.
                    false => caller.go([Step::Decide]),
                }
                next.kept = kept.inside;
            }
            Step::Pass(door) => {
                let places = self.places_behind(door);
                if !next.counted(door, policy, |state| state.take(places)) {
                    next.callers[at].go([step]);
                    next.callers[at].sleeps = true;
                }
            }
            Step::Leave(door) => {
                next.counted(door, policy, State::leave);
                return next.one_woken(door, policy);
            }
            Step::LeaveKept => next.kept -= 1,
            Step::Judged => {
                return [true, false].map(|is_slow| next.judged(policy, is_slow)).to_vec();
            }
        }
        vec![next]
    }

    fn places_behind(&self, door: Door) -> u32 {
        match door {
            Door::Own => a_policy(self.places),
            Door::Slow => 1,
            Door::All => self.places,
        }
    }

    fn counted<T>(&mut self, door: Door, policy: usize, change: impl FnOnce(&mut State) -> T) -> T {
        let inside = self.inside.entry((door, if door == Door::Own { policy } else { 0 })).or_default();
        let mut state = State { inside: *inside, peak: 0 };
        let answer = change(&mut state);
        *inside = state.inside;
        answer
    }

    /// Somebody left a door: one of those that sleep there is woken, whichever, and tries again.
    fn one_woken(self, door: Door, policy: usize) -> Vec<Self> {
        let sleeps_there = |caller: &Caller| {
            let is_same_door = door != Door::Own || caller.policy == policy;
            caller.sleeps && is_same_door && caller.ahead.last() == Some(&Step::Pass(door))
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

impl Caller {
    /// Puts steps before those that are ahead.
    fn go<const N: usize>(&mut self, steps: [Step; N]) {
        self.ahead.extend(steps.into_iter().rev());
    }
}

/// Walks every schedule, and says how many states there are; the first one without a way on is an error.
fn walk(begin: Hall) -> Result<usize, Hall> {
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

const ONCE: &[Step] = &[Step::Decide];
const TWICE: &[Step] = &[Step::Decide, Step::Decide];
const KEEPS: &[Step] = &[Step::Keep];

#[test]
fn no_schedule_leaves_a_caller_waiting() {
    let halls: [&[(usize, &[Step])]; 5] = [
        &[(0, TWICE), (0, TWICE), (1, TWICE)],
        &[(0, TWICE), (1, TWICE), (2, TWICE)],
        &[(0, KEEPS), (0, KEEPS), (0, KEEPS)],
        &[(0, KEEPS), (1, KEEPS), (2, KEEPS)],
        &[(0, KEEPS), (0, ONCE), (1, KEEPS), (1, ONCE)],
    ];
    for places in 1..=5 {
        for callers in halls {
            let states =
                walk(Hall::of(places, callers)).unwrap_or_else(|stuck| panic!("{places}: {stuck:#?}"));
            assert!(states > 100, "{states} states of {callers:?}");
        }
    }
}

#[test]
fn a_hall_in_which_callers_wait_for_each_other_is_found() {
    // Before the kept places were counted together, three policies could keep all that there were.
    let mut full = Hall::of(3, &[(0, ONCE), (1, ONCE), (2, ONCE)]);
    for policy in 0..3 {
        for door in way(false, true) {
            full.counted(door, policy, |state| state.take(3));
        }
        full.callers[policy].ahead = vec![Step::Leave(Door::Own), Step::Leave(Door::All), Step::Decide];
    }
    let stuck = walk(full).unwrap_err();
    assert!(stuck.callers.iter().all(|caller| caller.sleeps), "each holds what the others want: {stuck:#?}");
}
