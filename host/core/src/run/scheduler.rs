//! Who works now: bounded, fair among those that were split, and never more at one provider than it is allowed. What is
//! begun continues before something new begins.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::Discriminant;

use crate::action::RunOutcome;
use crate::ids::PhaseId;
use crate::observation::SessionState;

use super::Run;
use super::phase::Phase;
use super::phase_list::PhaseIndex;
use super::step::PhaseStep;

/// Who has a place, counted in the ways in which places are bounded.
#[derive(Default)]
struct SlotUsage<'a> {
    is_full: bool,
    /// Phases of the workflow in which agents are at work.
    roots: BTreeSet<&'a PhaseId>,
    /// Parts at work, by what they are parts of.
    parts: BTreeMap<&'a PhaseId, u32>,
    providers: BTreeMap<&'a str, u32>,
    /// Providers whose limit a phase waits for.
    limited: BTreeSet<&'a str>,
}

/// Where a phase stands, as far as it matters to others and to clocks.
#[derive(Debug, PartialEq)]
pub(super) struct ScheduleState {
    /// The step in which it takes no place; none while an agent is at work in it.
    idle_step: Option<Discriminant<PhaseStep>>,
    waits_for_provider: bool,
    /// Phases in all: those that are added for it come behind it.
    phases: usize,
}

impl Run {
    pub(super) fn schedule_state_of(&self, p: PhaseIndex) -> ScheduleState {
        let phase = &self.phases[p];
        ScheduleState {
            idle_step: (!phase.occupies_slot()).then(|| std::mem::discriminant(&phase.step)),
            waits_for_provider: self.waits_for_provider(phase),
            phases: self.phases.len(),
        }
    }

    /// Gives every free place to a phase that may have it, and ends the run if nothing is left. What a person has answered
    /// continues with the next tick alone: an answer may be given while no host is there.
    pub(super) fn schedule(&mut self, ticked: bool) {
        if self.stopping || self.ending.is_some() {
            return;
        }
        self.skip_dependents();
        self.ask_about_disputes();
        while let Some(p) = self.next_ready_phase(ticked) {
            match self.phases[p].step {
                PhaseStep::Pending => self.begin_phase(p),
                PhaseStep::Split => self.continue_integration(p),
                PhaseStep::UnderReview { .. } => self.end_review(p),
                _ => self.continue_phase(p),
            }
            self.skip_dependents();
        }
        if self.phases.iter().all(Phase::is_over) {
            let done = self
                .phases
                .iter()
                .all(|phase| phase.step == PhaseStep::Done || phase.lineage.is_made_by_host());
            self.finish(if done { RunOutcome::Done } else { RunOutcome::Unfinished });
        }
    }

    fn next_ready_phase(&self, ticked: bool) -> Option<PhaseIndex> {
        let slots = self.slot_usage();
        if slots.is_full {
            return None;
        }
        let waiting = self.phases.indices().filter(|p| {
            let may =
                if self.phases[*p].step == PhaseStep::ResumePending { ticked } else { self.is_ready(*p) };
            may && self.has_free_slot_in(&slots, *p)
        });
        waiting.min_by_key(|p| {
            let phase = &self.phases[*p];
            let beside = phase.lineage.parent.as_ref().and_then(|parent| slots.parts.get(parent)).copied();
            (phase.step == PhaseStep::Pending, beside.unwrap_or(0), *p)
        })
    }

    /// Everything that it waited for, but a place, is there.
    fn is_ready(&self, p: PhaseIndex) -> bool {
        let phase = &self.phases[p];
        match &phase.step {
            PhaseStep::Pending => self.dependencies_done(p),
            PhaseStep::Split => self.parts_are_over(&phase.spec.id),
            PhaseStep::UnderReview { review } => {
                self.phase_index(review).is_none_or(|review| self.phases[review].is_over())
            }
            _ => false,
        }
    }

    fn parts_are_over(&self, parent: &PhaseId) -> bool {
        self.phases.iter().filter(|phase| phase.lineage.parent.as_ref() == Some(parent)).all(Phase::is_over)
    }

    /// Who has a place now.
    fn slot_usage(&self) -> SlotUsage<'_> {
        let mut slots = SlotUsage::default();
        let mut count = 0;
        for phase in &self.phases {
            if self.waits_for_provider(phase) {
                slots.limited.insert(self.provider_of(phase));
            }
            if !phase.occupies_slot() {
                continue;
            }
            count += 1;
            slots.roots.insert(self.root_of(phase));
            if let Some(parent) = &phase.lineage.parent {
                *slots.parts.entry(parent).or_default() += 1;
            }
            *slots.providers.entry(self.provider_of(phase)).or_default() += 1;
        }
        let agents = self.workflow.limits.agents;
        slots.is_full = agents > 0 && count >= agents;
        slots
    }

    /// One more may work: of all, of the workflow's phases, and at its provider.
    pub(super) fn has_free_slot(&self, p: PhaseIndex) -> bool {
        self.has_free_slot_in(&self.slot_usage(), p)
    }

    fn has_free_slot_in(&self, slots: &SlotUsage<'_>, p: PhaseIndex) -> bool {
        let is_one_more = !slots.roots.contains(self.root_of(&self.phases[p]));
        if slots.is_full || is_one_more && slots.roots.len() >= self.workflow.limits.parallel.max(1) as usize
        {
            return false;
        }
        let provider = self.provider_of(&self.phases[p]);
        let at_provider = slots.providers.get(provider).copied().unwrap_or(0);
        if self.workflow.providers.get(provider).is_some_and(|bound| at_provider >= *bound) {
            return false;
        }
        // A phase that begins now would only run into the limit that others wait for already.
        self.phases[p].step != PhaseStep::Pending || !slots.limited.contains(provider)
    }

    /// How many parts of a phase may work at once, if no other phase does.
    pub(super) fn max_parallel_parts(&self, phase: &Phase) -> u32 {
        let agents = Some(self.workflow.limits.agents).filter(|agents| *agents > 0);
        let at_provider = self.workflow.providers.get(self.provider_of(phase)).copied();
        agents.into_iter().chain(at_provider).min().unwrap_or(u32::MAX)
    }

    /// The phase of the workflow that it is a part of.
    pub(super) fn root_of<'a>(&'a self, phase: &'a Phase) -> &'a PhaseId {
        let mut root = phase;
        while let Some(parent) = root.lineage.parent.as_ref().and_then(|id| self.phase_index(id)) {
            root = &self.phases[parent];
        }
        &root.spec.id
    }

    /// Whose quota a phase uses.
    pub(super) fn provider_of<'a>(&'a self, phase: &'a Phase) -> &'a str {
        self.workflow.provider_of(&phase.spec)
    }

    pub(super) fn waits_for_provider(&self, phase: &Phase) -> bool {
        let session = phase.session.as_ref().and_then(|id| self.sessions.get(id));
        matches!(phase.step, PhaseStep::Quota { .. })
            || session.is_some_and(|session| session.state == SessionState::WaitingQuota)
    }

    fn dependencies_done(&self, p: PhaseIndex) -> bool {
        self.phases[p]
            .spec
            .depends_on
            .iter()
            .all(|id| self.phase_index(id).is_some_and(|on| self.phases[on].step == PhaseStep::Done))
    }

    /// A phase whose dependency was left open cannot be begun.
    fn skip_dependents(&mut self) {
        loop {
            let skipped: Vec<PhaseId> = self
                .phases
                .iter()
                .filter(|phase| phase.step == PhaseStep::Skipped)
                .map(|phase| phase.spec.id.clone())
                .collect();
            let next = self.phases.iter_mut().find(|phase| {
                phase.step == PhaseStep::Pending
                    && phase.spec.depends_on.iter().any(|id| skipped.contains(id))
            });
            match next {
                Some(phase) => phase.step = PhaseStep::Skipped,
                None => return,
            }
        }
    }
}
