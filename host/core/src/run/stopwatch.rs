//! Time as it counts: what passes while a provider makes everybody wait is kept apart (B6), and what passes while
//! no agent works, or while the host is down, counts nowhere.

use crate::time::{DurationMs, UnixMs};

/// What time counts as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ClockMode {
    /// Not at all.
    #[default]
    Stopped,
    /// As work.
    Active,
    /// As a quota wait.
    Waiting,
}

/// A stopwatch with two hands.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Stopwatch {
    pace: ClockMode,
    last: UnixMs,
    pub(super) active: DurationMs,
    pub(super) waited: DurationMs,
}

impl Stopwatch {
    /// Counts the time since the last call at the pace that was set then.
    pub(super) fn advance(&mut self, now: UnixMs) {
        let passed = now.since(self.last);
        match self.pace {
            ClockMode::Stopped => {}
            ClockMode::Active => self.active = self.active + passed,
            ClockMode::Waiting => self.waited = self.waited + passed,
        }
        self.last = self.last.max(now);
    }

    /// From `now` on, time counts like this. A clock that was made in the middle of a run begins here, not at the epoch.
    pub(super) fn set(&mut self, now: UnixMs, pace: ClockMode) {
        self.advance(now);
        self.pace = pace;
    }

    /// Forgets the time since the last call: no host was there.
    pub(super) fn skip_to(&mut self, now: UnixMs) {
        self.last = self.last.max(now);
    }

    /// What it would show at `now`, as (active, waited).
    pub(super) fn at(&self, now: UnixMs) -> (DurationMs, DurationMs) {
        let mut ahead = self.clone();
        ahead.advance(now);
        (ahead.active, ahead.waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_wait_is_no_work_and_neither_is_a_night_without_a_host() {
        // B6
        let mut clock = Stopwatch::default();
        clock.set(UnixMs(1000), ClockMode::Active);
        clock.set(UnixMs(1500), ClockMode::Waiting);
        clock.advance(UnixMs(9500));
        clock.set(UnixMs(9500), ClockMode::Active);
        clock.skip_to(UnixMs(100_000));
        clock.advance(UnixMs(100_250));
        assert_eq!((clock.active, clock.waited), (DurationMs(750), DurationMs(8000)));
    }
}
