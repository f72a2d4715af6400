//! What time means to a run: what it counts as for every phase, and when somebody who waits for it goes on.

use crate::time::{DurationMs, UnixMs};

use super::Run;
use super::phase::Phase;
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

    /// Nobody was there since then: that time counts nowhere.
    pub(super) fn pause_clocks(&mut self, since: UnixMs) {
        let now = self.now;
        let clocks = self.phases.iter_mut().map(|phase| &mut phase.clock);
        for clock in clocks.chain(std::iter::once(&mut self.clock)) {
            clock.advance(since);
            clock.skip_to(now);
        }
    }

    pub(super) fn set_clock_modes(&mut self) {
        let mut run = ClockMode::Stopped;
        for p in 0..self.phases.len() {
            let waiting = self.waits_for_provider(&self.phases[p]);
            let pace = match (self.phases[p].is_active() && self.ending.is_none(), waiting) {
                (false, _) => ClockMode::Stopped,
                (true, true) => ClockMode::Waiting,
                (true, false) => ClockMode::Active,
            };
            self.phases[p].clock.set(self.now, pace);
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

    /// The deadline that was named has passed: whoever waits for it goes on.
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

    pub(super) fn heartbeat(&self) -> DurationMs {
        self.workflow.limits.heartbeat
    }
}
