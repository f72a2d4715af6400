//! Minimum requirements on data, and checks of input. Computes no statistics.

use serde::{Deserialize, Serialize};

use super::{ArmSide, InsufficientData, MethodResult, Moments, StatsError};

/// Below this an arm says nothing about its own variance: with a rare event in an arm of ten, a variance of nearly 0 is the
/// rule, and a third of all A/A tests would raise an alarm (measured in `tests/lab/stats_gates/mod.rs`).
pub const MIN_PER_ARM: u64 = 20;

/// How much data a method asks for before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataRequirements {
    /// Units in each arm.
    pub min_per_arm: u64,
    /// Whether an arm in which all values are equal is refused.
    pub needs_variance: bool,
}

impl Default for DataRequirements {
    fn default() -> DataRequirements {
        DataRequirements { min_per_arm: MIN_PER_ARM, needs_variance: true }
    }
}

impl DataRequirements {
    /// Only the requirements of the formulas themselves. For the negative controls of a simulation, and for sums that were
    /// checked elsewhere; never for a verdict.
    pub const BARE: DataRequirements = DataRequirements { min_per_arm: 2, needs_variance: false };

    /// Refuses an arm that is too small or does not vary.
    pub(super) fn check(&self, side: ArmSide, arm: &Moments) -> MethodResult<()> {
        let needed = self.min_per_arm.max(2);
        if arm.n() < needed {
            return Err(InsufficientData::TooFew { side, n: arm.n(), needed }.into());
        }
        if self.needs_variance && arm.variance() <= 0.0 {
            return Err(InsufficientData::NoVariance { side, n: arm.n() }.into());
        }
        Ok(())
    }
}

/// Refuses NaN and infinities.
pub(super) fn finite(what: &'static str, value: f64) -> MethodResult<f64> {
    if value.is_finite() { Ok(value) } else { Err(StatsError::NotFinite { what }) }
}

/// The largest value that can be squared and summed a hundred million times and still be a number.
const LARGEST: f64 = 1e150;

/// Refuses values that are too large for a measurement.
pub(super) fn measured(value: f64) -> MethodResult<f64> {
    finite("a value", value)?;
    if value.abs() <= LARGEST {
        return Ok(value);
    }
    Err(StatsError::OutOfRange { what: "a value", value, must: "at most 1e150 either way" })
}

/// A chance nearer to 0 or 1 than this is an input mistake, and its quantiles lose precision.
const LEAST_CHANCE: f64 = 1e-12;

/// Refuses values that are not strictly between 0 and 1.
pub(super) fn level(what: &'static str, value: f64) -> MethodResult<f64> {
    finite(what, value)?;
    if (LEAST_CHANCE..=1.0 - LEAST_CHANCE).contains(&value) {
        return Ok(value);
    }
    Err(StatsError::OutOfRange { what, value, must: "above 0 and below 1, by 1e-12 at least" })
}

/// Refuses values that are not above 0.
pub(super) fn positive(what: &'static str, value: f64) -> MethodResult<f64> {
    finite(what, value)?;
    if value > 0.0 { Ok(value) } else { Err(StatsError::OutOfRange { what, value, must: "above 0" }) }
}

/// Refuses values outside of 0 to 1.
pub(super) fn share(what: &'static str, value: f64) -> MethodResult<f64> {
    finite(what, value)?;
    if (0.0..=1.0).contains(&value) {
        return Ok(value);
    }
    Err(StatsError::OutOfRange { what, value, must: "from 0 to 1" })
}
