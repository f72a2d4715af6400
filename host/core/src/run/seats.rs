//! Who decides where: the pins of a run, what stands behind each, and the breaker that takes one back that keeps failing (M3).
//! A question goes to the narrowest scope that has a pin. Loads nothing: the host follows what is said here.

use std::collections::BTreeMap;

use crate::decision::{DecidedBy, Label};
use crate::ids::{Digest, PhaseId};
use crate::input::{ChangeCause, Pin, PinnedLink};
use crate::notice::Notice;
use crate::observation::Capability;
use crate::workflow::{Scope, Workflow};

use super::Run;

/// Pins that are remembered behind the one that decides. A person who rolls back goes one step, seldom two.
const BEHIND: usize = 8;

/// Policies of one chain, the built-in one at its end included; the engine has room for so many (`CHAIN_LINKS_MAX` there).
const CHAIN_LINKS_MAX: usize = 5;

/// Everything that is pinned.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seats {
    seats: BTreeMap<(Scope, Capability), Seat>,
    changes: u64,
}

/// Who decides one thing in one scope.
#[derive(Clone, Debug, PartialEq)]
struct Seat {
    pin: Pin,
    /// It is good enough to come back: the run began with it, or it has decided without a fault.
    proven: bool,
    /// Who decided here before anybody was put in place.
    began: Option<Pin>,
    faults_in_row: u32,
    /// What is taken where it is taken back, the newest last.
    behind: Vec<Pin>,
}

/// Who decides one thing in one scope, for people and for the host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeatView<'a> {
    /// Who decides.
    pub pin: &'a Pin,
    /// Who is taken where it is taken back, the newest last.
    pub behind: &'a [Pin],
    /// Faults since it last decided.
    pub faults_in_row: u32,
    /// It was put in place while the run went on, and can be rolled back.
    pub is_swapped: bool,
}

impl Seats {
    /// In order; of two for the same seat the later one decides, and the other stands behind it.
    pub(super) fn from_pins(pins: &[Pin], workflow: &Workflow) -> Self {
        let mut seats = Self::default();
        for pin in pins {
            seats.put(pin, true, workflow);
        }
        for seat in seats.seats.values_mut() {
            seat.proven = true;
            seat.began = Some(seat.pin.clone());
        }
        seats
    }

    /// Who decides in the next wider scope.
    fn wider(&self, scope: &Scope, capability: Capability, workflow: &Workflow) -> Option<&Pin> {
        let seat = |scope| self.seats.get(&(scope, capability)).map(|seat| &seat.pin);
        scope.wider(workflow).find_map(seat)
    }

    /// Who decides in a scope now: somebody who was pinned there, or else in the next wider one.
    fn in_force(&self, scope: &Scope, capability: Capability, workflow: &Workflow) -> Option<&Pin> {
        let here = self.seats.get(&(scope.clone(), capability)).map(|seat| &seat.pin);
        here.or_else(|| self.wider(scope, capability, workflow))
    }

    /// What a person took back in a scope stands in no narrower one either, as what is asked next or as what comes back: there stands what
    /// came in its place.
    fn forget_in_narrower(&mut self, gone: &Pin, back: &Pin, workflow: &Workflow) {
        let is_gone = |link: &PinnedLink| *link == gone.first() && !back.links().any(|kept| kept == *link);
        for ((scope, capability), seat) in &mut self.seats {
            let is_narrower = scope.wider(workflow).any(|wider| wider == gone.scope);
            if *capability != gone.capability || !is_narrower {
                continue;
            }
            for pin in seat.behind.iter_mut().chain(&mut seat.began) {
                if pin.first() == gone.first() {
                    *pin = Pin { scope: scope.clone(), ..back.clone() };
                }
                pin.then.retain(|link| !is_gone(link));
            }
            seat.pin.then.retain(|link| !is_gone(link));
            seat.behind.dedup_by(|one, other| one.is_same_as(other));
            seat.behind.retain(|pin| !pin.is_same_as(&seat.pin));
        }
    }

    fn key(pin: &Pin) -> (Scope, Capability) {
        (pin.scope.clone(), pin.capability)
    }

    /// `keep` tells whether the one before is good enough to come back. Behind the first one of a narrow scope stands whoever
    /// decided there until then.
    fn put(&mut self, pin: &Pin, keep: bool, workflow: &Workflow) {
        self.changes += 1;
        let behind = match self.wider(&pin.scope, pin.capability, workflow) {
            Some(wider) if !wider.is_same_as(pin) => vec![Pin { scope: pin.scope.clone(), ..wider.clone() }],
            _ => Vec::new(),
        };
        let began = behind.first().cloned();
        let seat = Seat { pin: pin.clone(), proven: false, began, faults_in_row: 0, behind };
        match self.seats.get_mut(&Self::key(pin)) {
            // It decides already; perhaps somebody else has chosen it now.
            Some(old) if old.pin.is_same_as(pin) => old.pin = pin.clone(),
            Some(old) => {
                let before = std::mem::replace(old, seat);
                old.behind = before.behind;
                old.began = before.began;
                // Whoever comes back does not stand behind itself.
                old.behind.retain(|other| !other.is_same_as(pin));
                if keep {
                    old.behind.push(before.pin);
                }
                let over = old.behind.len().saturating_sub(BEHIND);
                // The first of them is what the run began with; that one stays.
                old.behind.drain(1.min(over)..over + 1.min(over));
            }
            None => {
                self.seats.insert(Self::key(pin), seat);
            }
        }
    }
}

impl Run {
    /// The components that decide, by scope and capability.
    pub fn pins(&self) -> impl Iterator<Item = &Pin> {
        self.seats.seats.values().map(|seat| &seat.pin)
    }

    /// The same, with what stands behind each.
    pub fn seats(&self) -> impl Iterator<Item = SeatView<'_>> {
        self.seats.seats.values().map(|seat| SeatView {
            pin: &seat.pin,
            behind: &seat.behind,
            faults_in_row: seat.faults_in_row,
            is_swapped: seat.began.as_ref().is_some_and(|began| !began.is_same_as(&seat.pin)),
        })
    }

    /// The pin with the chain that decided there until now behind it, so that what it abstains from is decided as before. It takes the place
    /// of a policy of its own name or component, which is an earlier version or has other settings. A file that changed takes the place of
    /// its earlier version, wherever that stands. Of a chain that grows too long, the built-in policy at its end stays.
    #[must_use]
    pub fn with_rest(&self, pin: Pin, cause: ChangeCause) -> Pin {
        let Some(replaced) = self.in_force(&pin.scope, pin.capability) else { return pin };
        if cause == ChangeCause::File && replaced.policy != pin.policy {
            let mut chain = replaced.clone();
            if let Some(link) = chain.then.iter_mut().find(|link| link.policy == pin.policy) {
                *link = pin.first();
            }
            return chain;
        }
        let is_another = |link: &PinnedLink| link.component != pin.component && link.policy != pin.policy;
        let mut then: Vec<PinnedLink> = replaced.links().filter(is_another).collect();
        let over = (then.len() + 1).saturating_sub(CHAIN_LINKS_MAX);
        let last = then.len().saturating_sub(1);
        then.drain(last.saturating_sub(over)..last);
        Pin { then, ..pin }
    }

    /// Who decides something in a scope now: somebody who was pinned there, or else in the next wider one.
    pub fn in_force(&self, scope: &Scope, capability: Capability) -> Option<&Pin> {
        self.seats.in_force(scope, capability, &self.workflow)
    }

    /// How often a pin was put; whoever follows the pins compares it.
    pub fn pin_changes(&self) -> u64 {
        self.seats.changes
    }

    /// The narrowest scope of a phase in which somebody is pinned for this.
    pub(super) fn scope_of(&self, p: usize, capability: Capability) -> Scope {
        let has = |scope: &Scope| self.seats.seats.contains_key(&(scope.clone(), capability));
        let phase = Scope::Phase { phase: self.workflow_phase(p).clone() };
        if has(&phase) {
            return phase;
        }
        let role = Scope::Role { role: self.phases[p].spec.role.clone() };
        if has(&role) { role } else { Scope::Run }
    }

    /// Who decides this about a phase.
    pub(super) fn pin_for(&self, p: usize, capability: Capability) -> Option<&Pin> {
        self.seats.seats.get(&(self.scope_of(p, capability), capability)).map(|seat| &seat.pin)
    }

    /// The phase of the workflow that a phase is, or is a part of.
    fn workflow_phase(&self, p: usize) -> &PhaseId {
        let mut p = p;
        // Each parent stands before its parts, so this ends.
        while let Some(parent) = self.phases[p].parent.as_ref().and_then(|id| self.phase_index(id)) {
            if parent >= p {
                break;
            }
            p = parent;
        }
        &self.phases[p].spec.id
    }

    /// What policies ask for beyond the usual, and what of it they get, is told before they are asked anything (M6).
    pub(super) fn tell_wants(&mut self, pins: &[Pin]) {
        let mut told: Vec<PinnedLink> = Vec::new();
        for link in pins.iter().flat_map(Pin::links).filter(|link| !link.wants.is_empty()) {
            if told.iter().any(|other| other.component == link.component && other.grants == link.grants) {
                continue;
            }
            let refused = link.grants.lacks(&link.wants);
            let (policy, wants, granted) = (link.policy.clone(), link.wants.clone(), link.grants.clone());
            told.push(link);
            self.notify(Notice::PolicyWants { policy, wants, granted, refused });
        }
    }

    /// A person, or a file that changed, has put others in place.
    pub(super) fn change_pins(&mut self, pins: &[Pin], cause: ChangeCause) {
        self.tell_wants(pins);
        let (mut was, mut changed) = (Vec::new(), Vec::new());
        for pin in pins {
            let before = self.seats.seats.get(&Seats::key(pin)).map(|seat| (seat.pin.clone(), seat.proven));
            let wider = self.seats.wider(&pin.scope, pin.capability, &self.workflow).cloned();
            let proven = before.as_ref().is_some_and(|(_, proven)| *proven);
            let before = before.map(|(pin, _)| pin).or(wider);
            self.seats.put(pin, proven && cause != ChangeCause::Rollback, &self.workflow);
            if cause == ChangeCause::Rollback
                && let Some(seat) = self.seats.seats.get_mut(&Seats::key(pin))
            {
                // What comes back was good before.
                seat.proven = true;
                if let Some(gone) = &before {
                    self.seats.forget_in_narrower(gone, pin, &self.workflow);
                }
            }
            if before.as_ref().is_none_or(|before| !before.is_same_as(pin)) {
                was.extend(before.map(|before| before.policy));
                changed.push(pin.clone());
            }
        }
        was.dedup();
        if !changed.is_empty() {
            self.notify(Notice::PolicyChanged { pins: changed, was, cause });
        }
    }

    /// Remembers how the chain that is configured did; after enough faults in a row the one behind it decides again.
    pub(super) fn judge_the_judge(&mut self, scope: &Scope, label: &Label) {
        let most = self.workflow.policies.breaker;
        let key = (scope.clone(), label.capability);
        let Some(seat) = self.seats.seats.get_mut(&key) else { return };
        // Answers of one that has been replaced meanwhile say nothing about this one.
        let is_own = |by: DecidedBy, component: &Digest| match by {
            DecidedBy::Configured => *component == seat.pin.component,
            DecidedBy::Next => seat.pin.then.iter().any(|link| link.component == *component),
            _ => false,
        };
        let Some(record) = label.faults.iter().find(|record| is_own(record.by, &record.component)) else {
            let decided = label.component.as_ref().is_some_and(|component| is_own(label.by, component));
            if decided || label.abstained.iter().any(|record| is_own(record.by, &record.component)) {
                seat.proven = true;
                seat.faults_in_row = 0;
            }
            return;
        };
        seat.faults_in_row = seat.faults_in_row.saturating_add(1);
        if most == 0 || seat.faults_in_row < most {
            return;
        }
        let (faults, because) = (seat.faults_in_row, record.fault.to_string());
        let failed = |link: &PinnedLink| {
            link.component == record.component
                && record.settings.as_ref().is_none_or(|settings| *settings == link.settings)
        };
        // Behind the first policy of a phase stands whoever decides in the run, and that may be the one that fails.
        while seat.behind.last().is_some_and(|pin| failed(&pin.first())) {
            seat.behind.pop();
        }
        let policy = match seat.behind.pop() {
            Some(back) => std::mem::replace(&mut seat.pin, back).policy,
            // Whoever stands before it did nothing wrong.
            None if !failed(&seat.pin.first()) => record.policy.clone(),
            None => return,
        };
        seat.pin.then.retain(|link| !failed(link));
        seat.proven = true;
        seat.faults_in_row = 0;
        let to = Box::new(seat.pin.clone());
        self.seats.changes += 1;
        self.notify(Notice::PolicyTakenBack { policy, to, faults, because });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pin(policy: &str) -> Pin {
        Pin {
            capability: Capability::Splitting,
            policy: policy.to_owned(),
            component: Digest::of(policy),
            settings: Digest::of("{}"),
            scope: Scope::Run,
            wants: Default::default(),
            grants: Default::default(),
            from: Default::default(),
            then: Vec::new(),
        }
    }

    fn behind(seats: &Seats) -> Vec<&str> {
        let seat = &seats.seats[&(Scope::Run, Capability::Splitting)];
        seat.behind.iter().map(|pin| pin.policy.as_str()).collect()
    }

    #[test]
    fn what_was_good_stands_behind_and_the_first_one_stays() {
        // M3
        let workflow = Workflow::default();
        let mut seats = Seats::from_pins(&[pin("built-in"), pin("a")], &workflow);
        assert_eq!(behind(&seats), ["built-in"]);
        seats.put(&pin("b"), false, &workflow);
        assert_eq!(behind(&seats), ["built-in"], "one that never decided is nothing to go back to");
        seats.put(&pin("built-in"), true, &workflow);
        assert_eq!(behind(&seats), ["b"], "whoever comes back does not stand behind itself");
        for n in 0..20 {
            seats.put(&pin(&n.to_string()), true, &workflow);
        }
        assert_eq!(behind(&seats), ["b", "12", "13", "14", "15", "16", "17", "18"]);
    }
}
