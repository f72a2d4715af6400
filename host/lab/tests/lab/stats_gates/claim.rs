//! The claim of a gate, and the test whether a number of simulations supports it. Simulates nothing.

use std::fmt;

use super::calibration_rng::CalibrationRng;

/// The chance that a gate passes, or a limit is drawn, although it is not so.
pub(crate) const DOUBT: f64 = 0.001;

/// What is asked of every sequential method: 5 %, and one more for being asymptotic.
pub(crate) const AT_MOST_6: RateClaim = RateClaim::AtMost(0.06);

/// How often something happens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RateClaim {
    /// In no more than this share of the worlds.
    AtMost(f64),
    /// In no less.
    AtLeast(f64),
    /// In a share between these.
    Between(f64, f64),
}

impl RateClaim {
    /// Whether the true share is in the claimed range, except for a chance of [`DOUBT`].
    pub(crate) fn holds(self, counted: ObservedRate) -> bool {
        let (least, most) = counted.limits();
        match self {
            RateClaim::AtMost(share) => most <= share,
            RateClaim::AtLeast(share) => least >= share,
            RateClaim::Between(low, high) => low <= least && most <= high,
        }
    }
}

impl fmt::Display for RateClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{} %", (share * 10_000.0).round() / 100.0);
        match self {
            RateClaim::AtMost(share) => write!(f, "at most {}", percent(*share)),
            RateClaim::AtLeast(share) => write!(f, "at least {}", percent(*share)),
            RateClaim::Between(low, high) => write!(f, "{} to {}", percent(*low), percent(*high)),
        }
    }
}

/// One thing that is claimed, and the world to see it in.
pub(crate) struct CalibrationCheck {
    /// What happens or does not.
    pub(crate) what: &'static str,
    /// How often.
    pub(crate) claim: RateClaim,
    /// Simulations in `cargo test`: enough for the claim to be borne out, and seconds.
    pub(crate) quick: u32,
    /// Simulations for the table.
    pub(crate) full: u32,
    /// Whether it happens in one world.
    pub(crate) world: fn(&mut CalibrationRng) -> bool,
}

/// How often it happened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedRate {
    /// Worlds in which it happened.
    pub(crate) hits: u64,
    /// Worlds in total.
    pub(crate) of: u64,
}

impl ObservedRate {
    /// Between which shares the truth is: Chernoff's bound of the binomial, exp(−n KL(k/n ‖ p)) ≤ [`DOUBT`] on each side.
    pub(crate) fn limits(self) -> (f64, f64) {
        let share = self.hits as f64 / self.of as f64;
        let term = |q: f64, p: f64| if q > 0.0 { q * (q / p).ln() } else { 0.0 };
        let beyond = |p: f64| self.of as f64 * (term(share, p) + term(1.0 - share, 1.0 - p)) > -DOUBT.ln();
        let search = |mut inside: f64, mut outside: f64| {
            for _ in 0..60 {
                let middle = (inside + outside) / 2.0;
                if beyond(middle) { outside = middle } else { inside = middle }
            }
            outside
        };
        (search(share, 0.0), search(share, 1.0))
    }
}

impl fmt::Display for ObservedRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = self.limits();
        let share = self.hits as f64 / self.of as f64;
        write!(f, "{:.2} % ({:.2} to {:.2})", share * 100.0, least * 100.0, most * 100.0)
    }
}
