//! Amounts that an agent reports as totals, turned into increments.

/// The growth of a cumulative amount since the last report.
#[derive(Debug, Default)]
pub(crate) struct CumulativeCounter(u64);

impl CumulativeCounter {
    /// Starts from an amount that was reported before.
    pub(crate) fn from(before: u64) -> Self {
        Self(before)
    }

    /// Takes the amount as it is now; gives what came on top. A smaller amount (a counter that was reset) counts whole.
    pub(crate) fn advance_to(&mut self, now: u64) -> u64 {
        let grown = if now >= self.0 { now - self.0 } else { now };
        self.0 = now;
        grown
    }
}
