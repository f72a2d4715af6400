//! The only clock of a run: milliseconds since the epoch that never go back within one host. Core asks no clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use baton_core::UnixMs;

/// Stamps inputs.
#[derive(Debug, Default)]
pub(crate) struct InputClock {
    last: UnixMs,
}

impl InputClock {
    /// Goes on after the last entry of a journal, even where the machine's clock was set back since.
    pub(crate) fn after(last: UnixMs) -> Self {
        Self { last }
    }

    /// Now, or the last time that was given where the machine's clock went back.
    pub(crate) fn now(&mut self) -> UnixMs {
        self.last = self.last.max(wall());
        self.last
    }

    /// How long until `at`; zero where it has passed.
    pub(crate) fn until(&mut self, at: UnixMs) -> Duration {
        Duration::from_millis(at.since(self.now()).0)
    }
}

/// Minutes that the machine's time zone is ahead of UTC now; negative where it is behind.
pub(crate) fn utc_offset_minutes() -> i32 {
    jiff::Zoned::now().offset().seconds() / 60
}

/// What the machine's clock says.
pub(crate) fn wall() -> UnixMs {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMs(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_never_goes_back_behind_the_journal() {
        let future = UnixMs(wall().0 + 1_000_000);
        let mut clock = InputClock::after(future);
        assert_eq!(clock.now(), future);
        assert_eq!(clock.until(UnixMs(0)), Duration::ZERO);
        assert_eq!(clock.until(UnixMs(future.0 + 5)), Duration::from_millis(5));
    }
}
