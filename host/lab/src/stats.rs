//! Statistics that hold however often one looks: pure functions of counts, sums and sequences. This module reads no journal,
//! does not depend on experiments and gives no advice; `compare` and `experiment` do. The purpose of each method and its error
//! rate in simulation are in `host/lab/STATISTICS.md`.
//!
//! Every difference is *candidate minus control*. Bad input is an error, too little data is [`InsufficientData`]; no function returns
//! a NaN or panics.

#[cfg(test)]
mod approx;
pub mod betting;
pub mod clustered;
pub mod cuped;
pub mod fixed;
pub mod holm;
pub mod mixture;
pub mod moments;
mod noncentral;
pub mod off_policy;
pub mod paired;
pub mod power;
mod preconditions;
pub mod ratio;
pub mod sequential;
mod special;
pub mod srm;

use serde::{Deserialize, Serialize};

pub use moments::{JointMoments, Moments, RunningMoments};
pub use preconditions::{DataRequirements, MIN_PER_ARM};

/// One of two arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArmSide {
    /// What is done today.
    Control,
    /// What is tried instead.
    Candidate,
}

impl ArmSide {
    /// "control", "candidate".
    pub const fn name(self) -> &'static str {
        match self {
            ArmSide::Control => "control",
            ArmSide::Candidate => "candidate",
        }
    }
}

impl std::fmt::Display for ArmSide {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// What an effect is measured in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectScale {
    /// The difference of the means, in their unit.
    #[default]
    Difference,
    /// The difference as a share of the control's mean: 0.06 is 6 % more.
    Relative,
}

/// An effect with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Units that it rests on, both arms together.
    pub n: u64,
    /// Candidate minus control.
    pub value: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// Level against no effect; of a sequential method it holds at any time.
    pub p: f64,
}

impl Estimate {
    /// Refuses what left the numbers: values so large, or so nearly the same, that nothing can be said of them.
    fn new(n: u64, value: f64, [lower, upper]: [f64; 2], p: f64) -> MethodResult<Estimate> {
        for (what, number) in
            [("the effect", value), ("the interval", lower), ("the interval", upper), ("p", p)]
        {
            preconditions::finite(what, number)?;
        }
        Ok(Estimate { n, value, lower, upper, p: p.clamp(0.0, 1.0) })
    }

    /// Whether the interval has no effect in it.
    pub fn excludes_zero(&self) -> bool {
        self.lower > 0.0 || self.upper < 0.0
    }

    /// The estimate of a ratio, if this one is of a logarithm: 0.26 becomes 1.3 times, and 1 means no effect.
    #[must_use]
    pub fn exp(self) -> Estimate {
        Estimate { value: self.value.exp(), lower: self.lower.exp(), upper: self.upper.exp(), ..self }
    }
}

/// Why there is no estimate yet. More data may give one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum InsufficientData {
    /// An arm is too small for a reliable estimate of its variance.
    #[error("{side} has {n} units, and {needed} are needed")]
    TooFew {
        /// The arm.
        side: ArmSide,
        /// What it has.
        n: u64,
        /// What it needs.
        needed: u64,
    },
    /// All values of an arm are the same, so nothing says how much they vary.
    #[error("all {n} values of {side} are the same, so their variance is not known")]
    NoVariance {
        /// The arm.
        side: ArmSide,
        /// Its size.
        n: u64,
    },
    /// A relative effect of nothing.
    #[error("the mean of control is 0, so nothing can be said relative to it")]
    NoBaseline,
    /// The mean of control is not known well enough to be a divisor.
    #[error(
        "the mean of control is too near to 0, for how much it varies, for an effect relative to it. Read the difference instead"
    )]
    VagueBaseline,
    /// The logged decisions say too little about the policy that is asked for.
    #[error(
        "the logged decisions are worth {} units of the target policy, and {needed} are needed before a headline",
        worth_thousandths / 1000
    )]
    TooFewEffective {
        /// Effective sample size, in thousandths.
        worth_thousandths: u64,
        /// What is needed.
        needed: u64,
    },
}

/// Why nothing was computed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// Too little data so far; no mistake.
    #[error(transparent)]
    NotYet(#[from] InsufficientData),
    /// NaN or infinite.
    #[error("{what} is not a finite number. Leave out what was not measured, and count it")]
    NotFinite {
        /// Name of the quantity.
        what: &'static str,
    },
    /// A value outside its allowed range.
    #[error("{what} is {value}; it must be {must}")]
    OutOfRange {
        /// Name of the quantity.
        what: &'static str,
        /// The value.
        value: f64,
        /// The allowed range: "above 0 and below 1".
        must: &'static str,
    },
    /// Two lists that belong together differ in length.
    #[error("there are {left} {what} and {right} {other}; each needs its own")]
    Lengths {
        /// The one list.
        what: &'static str,
        /// Its length.
        left: usize,
        /// The other list.
        other: &'static str,
        /// Its length.
        right: usize,
    },
    /// Nothing to compute with.
    #[error("there are no {what}")]
    Empty {
        /// What is missing.
        what: &'static str,
    },
    /// Weights that describe no allocation.
    #[error("the weights {why}")]
    Weights {
        /// What is wrong with them.
        why: &'static str,
    },
    /// Sums that no sample can have.
    #[error("no {n} values have the sum {sum} and the sum of squares {sum_of_squares}")]
    Sums {
        /// Number of values.
        n: u64,
        /// Their sum.
        sum: f64,
        /// The sum of their squares.
        sum_of_squares: f64,
    },
    /// The search for an answer left the numbers that can be searched.
    #[error("{what} is beyond {limit}: the effect is too small to be found by experiment")]
    Beyond {
        /// What was searched.
        what: &'static str,
        /// End of the searched range.
        limit: f64,
    },
}

impl StatsError {
    /// The missing data, if the input is valid but insufficient.
    pub const fn not_yet(&self) -> Option<InsufficientData> {
        match self {
            StatsError::NotYet(why) => Some(*why),
            _ => None,
        }
    }
}

/// What everything here returns.
pub type MethodResult<T> = std::result::Result<T, StatsError>;
