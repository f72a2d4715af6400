//! Who decides where: the bindings of a run, what stands behind each, and the breaker that takes one back that keeps failing (M3).
//! A question goes to the narrowest scope that has a binding. Loads nothing: the host follows what is said here.

use std::collections::{BTreeMap, BTreeSet};

use crate::decision::{DecisionSource, FaultRecord, Provenance};
use crate::ids::{Digest, PhaseId};
use crate::input::{BindingLink, PolicyBinding, PolicyChangeCause};
use crate::observation::Capability;
use crate::progress::ProgressEvent;
use crate::workflow::{PolicyScope, Workflow};

use super::Run;
use super::phase_list::PhaseIndex;

/// Bindings that are remembered behind the one that decides. A person who rolls back goes one step, seldom two.
const MAX_REPLACED_BINDINGS: usize = 8;

/// Policies of one chain, the built-in one at its end included; the engine has room for that number (`CHAIN_LINKS_MAX` there).
const CHAIN_LINKS_MAX: usize = 5;

/// Everything that is bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BindingTable {
    by_scope: BTreeMap<(PolicyScope, Capability), BindingState>,
    generation: u64,
    /// The components that have made such a decision in this run, in any scope.
    decided: BTreeSet<(Capability, Digest)>,
}

/// Who decides one thing in one scope.
#[derive(Clone, Debug, PartialEq)]
struct BindingState {
    binding: PolicyBinding,
    /// It is good enough to come back by itself: the run began with it, or it has decided without a fault.
    is_proven: bool,
    /// Of each policy of the chain its faults, by component and settings. To abstain is none, and decides nothing.
    faults: BTreeMap<(Digest, Digest), FaultCounts>,
    /// What others were put in the place of, the newest last.
    replaced: Vec<ReplacedBinding>,
    /// How many of those stood there when the run began; nothing was put in their place, so there is no way back to them.
    initial_count: usize,
    /// The run began without a policy of this scope's own: after the last step back the next wider scope decides here again.
    inherits_wider: bool,
}

/// Faults of a policy: since it last decided, since it last decided about work under way, and since it last decided about anything
/// else. One that answers at every turn and fails at the end of every prompt decides nothing that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct FaultCounts {
    consecutive: u32,
    at_work: u32,
    not_at_work: u32,
}

impl FaultCounts {
    fn of(&mut self, is_at_work: bool) -> &mut u32 {
        if is_at_work { &mut self.at_work } else { &mut self.not_at_work }
    }

    fn failed(&mut self, is_at_work: bool) {
        self.consecutive = self.consecutive.saturating_add(1);
        let of_kind = self.of(is_at_work);
        *of_kind = of_kind.saturating_add(1);
    }

    fn decided(&mut self, is_at_work: bool) {
        self.consecutive = 0;
        *self.of(is_at_work) = 0;
    }

    fn most(self) -> u32 {
        self.consecutive.max(self.at_work).max(self.not_at_work)
    }
}

/// What another was put in the place of.
#[derive(Clone, Debug, PartialEq)]
struct ReplacedBinding {
    binding: PolicyBinding,
    is_proven: bool,
}

impl BindingState {
    /// There is a way back.
    fn has_replaced_binding(&self) -> bool {
        self.inherits_wider || self.replaced.len() > self.initial_count
    }

    /// What was replaced by a person or a file and has decided without a fault, the newest. What the run began with replaced nothing:
    /// after a fault the rest of its own chain is asked.
    fn last_known_good(&self) -> Option<&PolicyBinding> {
        let swapped = self.replaced.iter().rev().filter(|_| self.has_replaced_binding());
        swapped.filter(|replaced| replaced.is_proven).map(|replaced| &replaced.binding).next()
    }

    /// The next step back leaves this scope to the next wider one.
    fn reverts_to_wider_scope(&self) -> bool {
        self.inherits_wider && self.replaced.len() <= 1
    }

    /// Counts what the policies of the chain made of one question, about work under way or not. Gives the first that has failed `most`
    /// times in a row, with how often; 0 is never.
    fn count<'l>(
        &mut self,
        label: &'l Provenance,
        is_at_work: bool,
        most: u32,
    ) -> Option<(u32, &'l FaultRecord)> {
        // Answers of one that has been replaced meanwhile say nothing about this one.
        let is_own = |by: DecisionSource, component: &Digest| match by {
            DecisionSource::Configured => *component == self.binding.component,
            DecisionSource::Next => self.binding.then.iter().any(|link| link.component == *component),
            _ => false,
        };
        let own_fault = |record: &FaultRecord| {
            let link = self.binding.links().find(|link| is_of(record, link))?;
            is_own(record.by, &record.component).then_some((link.component, link.settings))
        };
        let failed: Vec<_> =
            label.faults.iter().filter_map(|record| Some((own_fault(record)?, record))).collect();
        let decided = label.component.as_ref().filter(|component| is_own(label.by, component));
        if let Some(decided) = decided {
            let has_settings = |settings: &Digest| label.settings.as_ref().is_none_or(|own| own == settings);
            let own = self
                .faults
                .iter_mut()
                .filter(|((component, settings), _)| component == decided && has_settings(settings));
            own.for_each(|(_, faults)| faults.decided(is_at_work));
            self.is_proven |= failed.is_empty();
        }
        let mut broken = None;
        for (key, record) in failed {
            let faults = self.faults.entry(key).or_default();
            faults.failed(is_at_work);
            if broken.is_none() && most > 0 && faults.most() >= most {
                broken = Some((faults.most(), record));
            }
        }
        broken
    }

    /// One step back, without the links that failed.
    fn restore_replaced(&mut self, back: ReplacedBinding, failed: impl Fn(&BindingLink) -> bool) {
        (self.binding, self.is_proven) = (back.binding, back.is_proven);
        self.initial_count = self.initial_count.min(self.replaced.len());
        self.binding.then.retain(|link| !failed(link));
        self.faults.clear();
    }

    /// Takes the links that failed out of the chain, and out of what it was put in the place of; the others keep their places. False if none
    /// would be left.
    fn remove_failed_links(&mut self, failed: impl Fn(&BindingLink) -> bool) -> bool {
        let Some(binding) = without(&self.binding, &failed) else { return false };
        self.binding = binding;
        for replaced in &mut self.replaced {
            replaced.binding =
                without(&replaced.binding, &failed).unwrap_or_else(|| replaced.binding.clone());
        }
        // What the run began with behind the chain is all that is left of it.
        if !self.has_replaced_binding()
            && self.replaced.last().is_some_and(|last| last.binding.is_same_as(&self.binding))
        {
            self.binding = self.replaced.pop().map_or_else(|| self.binding.clone(), |last| last.binding);
            self.initial_count = self.replaced.len();
        }
        let is_left = |(component, settings): &(Digest, Digest)| {
            self.binding.links().any(|link| link.component == *component && link.settings == *settings)
        };
        self.faults.retain(|key, _| is_left(key));
        true
    }
}

/// Who decides one thing in one scope, for people and for the host.
#[derive(Clone, Debug, PartialEq)]
pub struct BindingView<'a> {
    /// Who decides.
    pub binding: &'a PolicyBinding,
    /// What it stands in the place of, the newest last.
    pub replaced: Vec<&'a PolicyBinding>,
    /// The newest of those that has decided without a fault, if the one in place was put in its place: after a fault it is asked before
    /// the rest of the chain.
    pub last_known_good: Option<&'a PolicyBinding>,
    /// Faults since it last decided such a question; of a chain those of the policy that has most.
    pub faults_in_row: u32,
}

impl BindingTable {
    /// In order; of two for the same scope and decision the later one decides, and the other stands behind it.
    pub(super) fn from_bindings(bindings: &[PolicyBinding], workflow: &Workflow) -> Self {
        let mut table = Self::default();
        for binding in bindings {
            table.put(binding, workflow);
        }
        for binding_state in table.by_scope.values_mut() {
            binding_state.is_proven = true;
            binding_state.replaced.iter_mut().for_each(|replaced| replaced.is_proven = true);
            binding_state.initial_count = binding_state.replaced.len();
            binding_state.inherits_wider = false;
        }
        table
    }

    /// Who decides in the next wider scope.
    fn wider(
        &self,
        scope: &PolicyScope,
        capability: Capability,
        workflow: &Workflow,
    ) -> Option<&PolicyBinding> {
        let binding_in =
            |scope| self.by_scope.get(&(scope, capability)).map(|binding_state| &binding_state.binding);
        scope.wider(workflow).find_map(binding_in)
    }

    /// Who decides in a scope now: the policies that were bound there, or else in the next wider one.
    fn in_force(
        &self,
        scope: &PolicyScope,
        capability: Capability,
        workflow: &Workflow,
    ) -> Option<&PolicyBinding> {
        let here =
            self.by_scope.get(&(scope.clone(), capability)).map(|binding_state| &binding_state.binding);
        here.or_else(|| self.wider(scope, capability, workflow))
    }

    /// What a person took back in a scope stands in no narrower one that follows it either, as what is asked next or as what comes back:
    /// there stands what came in its place.
    fn remove_from_narrower_scopes(
        &mut self,
        gone: &PolicyBinding,
        back: &PolicyBinding,
        workflow: &Workflow,
    ) {
        let is_gone = |link: &BindingLink| *link == gone.first() && !back.links().any(|kept| kept == *link);
        for ((scope, capability), binding_state) in &mut self.by_scope {
            let is_narrower = scope.wider(workflow).any(|wider| wider == gone.scope);
            if *capability != gone.capability || !is_narrower || !binding_state.inherits_wider {
                continue;
            }
            for ReplacedBinding { binding, .. } in &mut binding_state.replaced {
                if binding.first() == gone.first() {
                    *binding = PolicyBinding { scope: scope.clone(), ..back.clone() };
                }
                binding.then.retain(|link| !is_gone(link));
            }
            binding_state.binding.then.retain(|link| !is_gone(link));
        }
    }

    fn key(binding: &PolicyBinding) -> (PolicyScope, Capability) {
        (binding.scope.clone(), binding.capability)
    }

    /// False where this very chain decides there already, and nothing changes. Behind the first one of a narrow scope stand the policies that decided
    /// there until then.
    fn put(&mut self, binding: &PolicyBinding, workflow: &Workflow) -> bool {
        if self.has(binding) {
            return false;
        }
        self.generation += 1;
        match self.by_scope.get_mut(&Self::key(binding)) {
            Some(binding_state) => {
                let replaced = std::mem::replace(&mut binding_state.binding, binding.clone());
                binding_state
                    .replaced
                    .push(ReplacedBinding { binding: replaced, is_proven: binding_state.is_proven });
                binding_state.is_proven = false;
                binding_state.faults.clear();
                // What the run began with stays, and so does the first of a scope that had none of its own.
                let over = binding_state.replaced.len().saturating_sub(MAX_REPLACED_BINDINGS);
                let first = (binding_state.initial_count + 1).min(MAX_REPLACED_BINDINGS);
                binding_state.replaced.drain(first..first + over);
            }
            None => {
                let wider = self.wider(&binding.scope, binding.capability, workflow);
                let until_then = |wider: &PolicyBinding| ReplacedBinding {
                    binding: PolicyBinding { scope: binding.scope.clone(), ..wider.clone() },
                    is_proven: true,
                };
                let replaced = wider.map(until_then).into_iter().collect();
                let binding = binding.clone();
                let binding_state = BindingState {
                    binding,
                    is_proven: false,
                    faults: BTreeMap::new(),
                    replaced,
                    initial_count: 0,
                    inherits_wider: true,
                };
                self.by_scope.insert(
                    (binding_state.binding.scope.clone(), binding_state.binding.capability),
                    binding_state,
                );
            }
        }
        true
    }

    /// Whether this very chain decides in the binding's own scope already.
    fn has(&self, binding: &PolicyBinding) -> bool {
        self.by_scope
            .get(&Self::key(binding))
            .is_some_and(|binding_state| binding_state.binding.is_same_as(binding))
    }

    /// One step back, to this binding.
    fn roll_back(&mut self, binding: &PolicyBinding, workflow: &Workflow) {
        let Some(binding_state) = self.by_scope.get_mut(&Self::key(binding)) else {
            self.put(binding, workflow);
            return;
        };
        self.generation += 1;
        if binding_state.reverts_to_wider_scope() {
            self.by_scope.remove(&Self::key(binding));
        } else {
            binding_state.is_proven = binding_state.replaced.pop().is_some_and(|replaced| replaced.is_proven);
            binding_state.binding = binding.clone();
            binding_state.faults.clear();
        }
    }

    /// Who decides after one step back, where there is one.
    fn back(
        &self,
        scope: &PolicyScope,
        capability: Capability,
        workflow: &Workflow,
    ) -> Option<PolicyBinding> {
        let binding_state = self
            .by_scope
            .get(&(scope.clone(), capability))
            .filter(|binding_state| binding_state.has_replaced_binding())?;
        let wider =
            || self.wider(scope, capability, workflow).filter(|_| binding_state.reverts_to_wider_scope());
        let binding = wider().or_else(|| binding_state.replaced.last().map(|replaced| &replaced.binding))?;
        Some(PolicyBinding { scope: scope.clone(), ..binding.clone() })
    }
}

impl Run {
    /// The components that decide, by scope and capability.
    pub fn bindings(&self) -> impl Iterator<Item = &PolicyBinding> {
        self.bindings.by_scope.values().map(|binding_state| &binding_state.binding)
    }

    /// The same, with what stands behind each.
    pub fn binding_views(&self) -> impl Iterator<Item = BindingView<'_>> {
        self.bindings.by_scope.values().map(|binding_state| BindingView {
            binding: &binding_state.binding,
            replaced: binding_state.replaced.iter().map(|replaced| &replaced.binding).collect(),
            last_known_good: binding_state.last_known_good(),
            faults_in_row: binding_state
                .faults
                .values()
                .map(|faults| faults.most())
                .max()
                .unwrap_or_default(),
        })
    }

    /// Who would decide in a scope after one step back. Absent if no policy was put in place there. Where the scope had no policy of its own,
    /// the last step back leaves it to the next wider scope, as that is now.
    pub fn step_back(&self, scope: &PolicyScope, capability: Capability) -> Option<PolicyBinding> {
        self.bindings.back(scope, capability, &self.workflow)
    }

    /// The narrower scopes that have a policy of their own for this, which a change in `scope` does not reach.
    pub fn narrower(
        &self,
        scope: &PolicyScope,
        capability: Capability,
    ) -> impl Iterator<Item = &PolicyScope> {
        let is_narrower = move |(other, decides): &&(PolicyScope, Capability)| {
            *decides == capability && other.wider(&self.workflow).any(|wider| wider == *scope)
        };
        self.bindings.by_scope.keys().filter(is_narrower).map(|(scope, _)| scope)
    }

    /// The binding with the chain that decided there until now behind it, so that what it abstains from is decided as before. It takes the place
    /// of a policy of its own name or component, which is an earlier version or has other settings. A file that changed takes the place of
    /// its earlier version, wherever that stands. Of a chain that grows too long, the built-in policy at its end stays.
    #[must_use]
    pub fn with_previous_chain(&self, binding: PolicyBinding, cause: PolicyChangeCause) -> PolicyBinding {
        let Some(replaced) = self.in_force(&binding.scope, binding.capability) else { return binding };
        if cause == PolicyChangeCause::File && replaced.policy != binding.policy {
            let mut chain = replaced.clone();
            if let Some(link) = chain.then.iter_mut().find(|link| link.policy == binding.policy) {
                *link = binding.first();
            }
            return chain;
        }
        let is_another =
            |link: &BindingLink| link.component != binding.component && link.policy != binding.policy;
        let mut then: Vec<BindingLink> = replaced.links().filter(is_another).collect();
        let over = (then.len() + 1).saturating_sub(CHAIN_LINKS_MAX);
        let last = then.len().saturating_sub(1);
        then.drain(last.saturating_sub(over)..last);
        PolicyBinding { then, ..binding }
    }

    /// Who decides something in a scope now: the policies that were bound there, or else in the next wider one.
    pub fn in_force(&self, scope: &PolicyScope, capability: Capability) -> Option<&PolicyBinding> {
        self.bindings.in_force(scope, capability, &self.workflow)
    }

    /// Whether a chain decides in a binding's own scope already, with these settings and grants.
    pub fn is_already_bound(&self, binding: &PolicyBinding) -> bool {
        self.bindings.has(binding)
    }

    /// How often a binding was put; the host that follows the bindings compares it.
    pub fn binding_generation(&self) -> u64 {
        self.bindings.generation
    }

    /// The narrowest scope of a phase in which a policy is bound for this.
    pub(super) fn scope_of(&self, p: PhaseIndex, capability: Capability) -> PolicyScope {
        let has = |scope: &PolicyScope| self.bindings.by_scope.contains_key(&(scope.clone(), capability));
        let phase = PolicyScope::Phase { phase: self.workflow_phase(p).clone() };
        if has(&phase) {
            return phase;
        }
        let role = PolicyScope::Role { role: self.phases[p].spec.role.clone() };
        if has(&role) { role } else { PolicyScope::Run }
    }

    /// Who decides this about a phase.
    pub(super) fn binding_for(&self, p: PhaseIndex, capability: Capability) -> Option<&PolicyBinding> {
        self.bindings
            .by_scope
            .get(&(self.scope_of(p, capability), capability))
            .map(|binding_state| &binding_state.binding)
    }

    /// The phase of the workflow that a phase is, or is a part of.
    fn workflow_phase(&self, p: PhaseIndex) -> &PhaseId {
        let mut p = p;
        // Each parent stands before its parts, so this ends.
        while let Some(parent) = self.phases[p].lineage.parent.as_ref().and_then(|id| self.phase_index(id)) {
            if parent >= p {
                break;
            }
            p = parent;
        }
        &self.phases[p].spec.id
    }

    /// Reports what policies ask for beyond the usual, and what of it they get, before they are asked anything (M6).
    pub(super) fn notify_requested_grants(&mut self, bindings: &[PolicyBinding]) {
        let mut told: Vec<BindingLink> = Vec::new();
        for link in bindings.iter().flat_map(PolicyBinding::links).filter(|link| !link.wants.is_empty()) {
            if told.iter().any(|other| other.component == link.component && other.grants == link.grants) {
                continue;
            }
            let refused = link.grants.lacks(&link.wants);
            let (policy, wants, granted) = (link.policy.clone(), link.wants.clone(), link.grants.clone());
            told.push(link);
            self.notify(ProgressEvent::PolicyWants { policy, wants, granted, refused });
        }
    }

    /// A person, or a file that changed, has put others in place.
    pub(super) fn apply_binding_changes(&mut self, bindings: &[PolicyBinding], cause: PolicyChangeCause) {
        self.notify_requested_grants(bindings);
        let (mut was, mut changed): (Vec<String>, Vec<PolicyBinding>) = (Vec::new(), Vec::new());
        for binding in bindings {
            let before = self.in_force(&binding.scope, binding.capability).cloned();
            if cause == PolicyChangeCause::Rollback {
                self.bindings.roll_back(binding, &self.workflow);
                if let Some(gone) = &before {
                    self.bindings.remove_from_narrower_scopes(gone, binding, &self.workflow);
                }
            } else if !self.bindings.put(binding, &self.workflow) {
                continue;
            }
            was.extend(before.map(|before| before.policy).filter(|policy| !was.contains(policy)));
            changed.push(binding.clone());
        }
        if !changed.is_empty() {
            self.notify(ProgressEvent::PolicyChanged { bindings: changed, was, cause });
        }
    }

    /// Remembers how the chain that is configured did. A policy of it that has failed often enough is asked no more: of faults between which
    /// that policy decided nothing of that kind (about work under way, or otherwise), however often it abstained or another one of the
    /// chain decided. The others stay as they are.
    pub(super) fn count_policy_faults(&mut self, scope: &PolicyScope, is_at_work: bool, label: &Provenance) {
        let most = self.workflow.policies.breaker;
        let key = (scope.clone(), label.capability);
        if let Some(component) = label.component.clone() {
            self.bindings.decided.insert((label.capability, component));
        }
        let wider = self.bindings.wider(scope, label.capability, &self.workflow).cloned();
        let Some(binding_state) = self.bindings.by_scope.get_mut(&key) else { return };
        let Some((faults, record)) = binding_state.count(label, is_at_work, most) else { return };
        let failed = |link: &BindingLink| is_of(record, link);
        if binding_state.has_replaced_binding() && failed(&binding_state.binding.first()) {
            // Behind the first policy of a phase stand the policies that decide in the run, and one of them may be the one that fails.
            while binding_state.replaced.last().is_some_and(|last| failed(&last.binding.first())) {
                binding_state.replaced.pop();
            }
            let wider = wider.filter(|wider| {
                binding_state.reverts_to_wider_scope()
                    && !binding_state.replaced.is_empty()
                    && !failed(&wider.first())
            });
            if let Some(wider) = wider {
                self.bindings.by_scope.remove(&key);
                return self.notify_policy_reverted(
                    record,
                    PolicyBinding { scope: scope.clone(), ..wider },
                    faults,
                );
            }
            match binding_state.replaced.pop() {
                Some(back) => binding_state.restore_replaced(back, failed),
                None if !binding_state.remove_failed_links(failed) => return,
                None => {}
            }
        } else if !binding_state.remove_failed_links(failed) {
            // It is alone, so what the run began with before it decides.
            let Some(back) = binding_state.replaced.pop() else { return };
            binding_state.restore_replaced(back, failed);
        }
        let to = binding_state.binding.clone();
        self.notify_policy_reverted(record, to, faults);
    }

    /// The policy of this record is asked no more; `to` decides.
    fn notify_policy_reverted(&mut self, record: &FaultRecord, to: PolicyBinding, faults: u32) {
        self.bindings.generation += 1;
        let again = self.bindings.decided.contains(&(to.capability, to.component.clone()));
        let (policy, because) = (record.policy.clone(), record.fault.to_string());
        self.notify(ProgressEvent::PolicyTakenBack { policy, to: Box::new(to), again, faults, because });
    }
}

/// The chain without the links that failed, if one is left.
fn without(binding: &PolicyBinding, failed: impl Fn(&BindingLink) -> bool) -> Option<PolicyBinding> {
    let mut links = binding.links().filter(|link| !failed(link));
    let BindingLink { policy, component, settings, wants, grants } = links.next()?;
    let then = links.collect();
    Some(PolicyBinding { policy, component, settings, wants, grants, then, ..binding.clone() })
}

/// Whether a fault is this policy's: the same component with other settings is another one.
fn is_of(record: &FaultRecord, link: &BindingLink) -> bool {
    link.component == record.component
        && record.settings.as_ref().is_none_or(|settings| *settings == link.settings)
}

#[cfg(test)]
mod tests;
