//! What time means to a run: what it counts as for every phase, and when a phase that waits for it continues.

use crate::observation::{AssessTrigger, SessionState};
use crate::time::{DurationMs, UnixMs};

use super::Run;
use super::phase::Phase;
use super::phase_list::PhaseIndex;
use super::quota::is_past_reset;
use super::step::PhaseStep;
use super::stopwatch::ClockMode;

impl Run {
    /// When [`Input::Tick`](crate::Input::Tick) is due; absent where nothing waits for time.
    pub fn next_deadline(&self) -> Option<UnixMs> {
        if self.stopping || self.ending.is_some() {
            return None;
        }
        self.phases.iter().filter_map(|phase| self.deadline_of(phase)).min()
    }

    /// No host was there since then: that time counts nowhere.
    pub(super) fn pause_clocks(&mut self, since: UnixMs) {
        let now = self.now;
        let clocks = self.phases.iter_mut().map(|phase| &mut phase.usage.clock);
        for clock in clocks.chain(std::iter::once(&mut self.clock)) {
            clock.advance(since);
            clock.skip_to(now);
        }
    }

    pub(super) fn set_clock_modes(&mut self) {
        let mut run = ClockMode::Stopped;
        for p in self.phases.indices() {
            let waiting = self.waits_for_provider(&self.phases[p]);
            let pace = match (self.phases[p].is_active() && self.ending.is_none(), waiting) {
                (false, _) => ClockMode::Stopped,
                (true, true) => ClockMode::Waiting,
                (true, false) => ClockMode::Active,
            };
            self.phases[p].usage.clock.set(self.now, pace);
            run = match (run, pace) {
                (ClockMode::Active, _) | (_, ClockMode::Active) => ClockMode::Active,
                (ClockMode::Waiting, _) | (_, ClockMode::Waiting) => ClockMode::Waiting,
                _ => ClockMode::Stopped,
            };
        }
        self.clock.set(self.now, run);
    }

    pub(super) fn deadline_of(&self, phase: &Phase) -> Option<UnixMs> {
        let heartbeat = || {
            let session = self.sessions.get(phase.session.as_ref()?)?;
            session.is_alive().then_some(session.next_heartbeat)
        };
        match &phase.step {
            PhaseStep::Quota { retry_at, .. } => Some(heartbeat().map_or(*retry_at, |h| h.min(*retry_at))),
            PhaseStep::Backoff { until } => Some(*until),
            PhaseStep::ResumePending => {
                self.phase_index(&phase.spec.id).filter(|p| self.has_free_slot(*p)).map(|_| self.now)
            }
            PhaseStep::Starting { .. } | PhaseStep::Working { .. } | PhaseStep::Compacting { .. } => {
                heartbeat()
            }
            _ => None,
        }
    }

    /// The deadline that was named has passed: the phases that wait for it continue.
    pub(super) fn tick(&mut self) {
        if self.stopping || self.ending.is_some() {
            return;
        }
        self.for_each_phase(|run, p| {
            if run.deadline_of(&run.phases[p]).is_some_and(|at| at <= run.now) {
                run.tick_phase(p);
            }
        });
    }

    /// Wakes what waits in a phase, and looks at an agent that is silent.
    fn tick_phase(&mut self, p: PhaseIndex) {
        let (now, beat) = (self.now, self.heartbeat());
        if let Some(session) = self.session_mut(p)
            && session.next_heartbeat <= now
        {
            session.next_heartbeat = now + beat;
        }
        match self.phases[p].step.clone() {
            PhaseStep::Quota { since, retry_at, focus, judged_by, .. } if retry_at <= now => {
                self.on_quota_reset(p, since, focus, judged_by.is_some());
            }
            PhaseStep::Backoff { until } if until <= now => self.continue_phase(p),
            PhaseStep::Starting { .. } | PhaseStep::Working { .. } | PhaseStep::Compacting { .. } => {
                let waits = self.session(p).is_some_and(|s| match s.state {
                    SessionState::WaitingApproval => true,
                    SessionState::WaitingQuota => !s.quota.is_some_and(|wait| is_past_reset(&wait, now)),
                    _ => false,
                });
                // A wait is looked at for recovery only, which arrives as output (B7). One that outlasts every reset is
                // a silence like any other.
                if !waits {
                    self.assess_at_work(p, AssessTrigger::Heartbeat);
                }
            }
            _ => {}
        }
    }

    pub(super) fn heartbeat(&self) -> DurationMs {
        self.workflow.limits.heartbeat
    }
}
