//! Number, mean and variance of a sample, from its sums or one value after another. Tests nothing.

use serde::{Deserialize, Serialize};

use super::preconditions::{finite, measured};
use super::{MethodResult, StatsError};

/// How far below 0 rounding may bring a sum of squared deviations, relative to the sum of squares.
const ROUNDING: f64 = 1e-9;

/// Numbers of values that a double counts exactly.
const MOST_VALUES: u64 = 1 << 53;

/// What a method needs of an arm. The variance is the unbiased one (n − 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moments {
    n: u64,
    mean: f64,
    variance: f64,
}

impl Moments {
    /// From number, mean and variance.
    pub fn new(n: u64, mean: f64, variance: f64) -> MethodResult<Moments> {
        finite("the mean", mean)?;
        finite("the variance", variance)?;
        if n > MOST_VALUES {
            return Err(StatsError::OutOfRange {
                what: "the number of values",
                value: n as f64,
                must: "below 2^53",
            });
        }
        if variance < 0.0 {
            return Err(StatsError::OutOfRange { what: "the variance", value: variance, must: "0 or more" });
        }
        Ok(Moments { n, mean, variance })
    }

    /// From the sum of the values and the sum of their squares.
    pub fn from_sums(n: u64, sum: f64, sum_of_squares: f64) -> MethodResult<Moments> {
        finite("the sum", sum)?;
        finite("the sum of squares", sum_of_squares)?;
        if n == 0 {
            return Ok(Moments::default());
        }
        let count = n as f64;
        let deviations = sum_of_squares - sum * (sum / count);
        if deviations < -ROUNDING * sum_of_squares.abs() || sum_of_squares < 0.0 {
            return Err(StatsError::Sums { n, sum, sum_of_squares });
        }
        Moments::new(n, sum / count, deviations.max(0.0) / (count - 1.0).max(1.0))
    }

    /// Of `successes` ones among `n` values of 0 and 1.
    pub fn of_proportion(successes: u64, n: u64) -> MethodResult<Moments> {
        Moments::from_sums(n, successes as f64, successes as f64)
    }

    /// Of values.
    pub fn of(values: &[f64]) -> MethodResult<Moments> {
        let mut running = RunningMoments::default();
        values.iter().try_for_each(|value| running.push(*value))?;
        Ok(running.moments())
    }

    /// Number of values.
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// Their mean; 0 of none.
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// Their variance, with n − 1 below; 0 of fewer than two.
    pub const fn variance(&self) -> f64 {
        self.variance
    }

    /// Variance of the mean.
    pub fn variance_of_mean(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.variance / self.n as f64 }
    }
}

/// The moments of values that come one at a time, and lose no digits to a large mean.
///
/// B. P. Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products", Technometrics 4 (1962); the
/// union of two: T. F. Chan, G. H. Golub, R. J. LeVeque (1979).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunningMoments {
    n: u64,
    mean: f64,
    deviations: f64,
}

impl RunningMoments {
    /// Takes one value.
    pub fn push(&mut self, value: f64) -> MethodResult<()> {
        measured(value)?;
        self.n += 1;
        let before = value - self.mean;
        self.mean += before / self.n as f64;
        self.deviations += before * (value - self.mean);
        Ok(())
    }

    /// Takes all values of another.
    pub fn merge(&mut self, other: &RunningMoments) {
        if other.n == 0 {
            return;
        }
        let (left, right) = (self.n as f64, other.n as f64);
        let apart = other.mean - self.mean;
        self.n += other.n;
        self.mean += apart * right / (left + right);
        self.deviations += other.deviations + apart * apart * left * right / (left + right);
    }

    /// Number of values.
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// What they came to so far.
    pub fn moments(&self) -> Moments {
        let below = self.n.saturating_sub(1).max(1) as f64;
        Moments { n: self.n, mean: self.mean, variance: self.deviations.max(0.0) / below }
    }
}

/// The sums of two measures of the same units: of `y`, what is of interest, and `x`, what it is counted per or what was known
/// before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JointMoments {
    /// Units.
    pub n: u64,
    /// Sum of y.
    pub y: f64,
    /// Sum of y².
    pub y_squares: f64,
    /// Sum of x.
    pub x: f64,
    /// Sum of x².
    pub x_squares: f64,
    /// Sum of xy.
    pub products: f64,
}

impl JointMoments {
    /// Takes one unit.
    pub fn push(&mut self, y: f64, x: f64) -> MethodResult<()> {
        measured(y)?;
        measured(x)?;
        self.n += 1;
        self.y += y;
        self.y_squares += y * y;
        self.x += x;
        self.x_squares += x * x;
        self.products += x * y;
        Ok(())
    }

    /// Both together.
    #[must_use]
    pub fn and(&self, other: &JointMoments) -> JointMoments {
        JointMoments {
            n: self.n + other.n,
            y: self.y + other.y,
            y_squares: self.y_squares + other.y_squares,
            x: self.x + other.x,
            x_squares: self.x_squares + other.x_squares,
            products: self.products + other.products,
        }
    }

    /// Moments of y.
    pub fn of_y(&self) -> MethodResult<Moments> {
        Moments::from_sums(self.n, self.y, self.y_squares)
    }

    /// Moments of x.
    pub fn of_x(&self) -> MethodResult<Moments> {
        Moments::from_sums(self.n, self.x, self.x_squares)
    }

    /// The unbiased covariance; 0 of fewer than two units.
    pub fn covariance(&self) -> MethodResult<f64> {
        finite("the sum of products", self.products)?;
        if self.n < 2 {
            return Ok(0.0);
        }
        let covariance = (self.products - self.y * (self.x / self.n as f64)) / (self.n as f64 - 1.0);
        finite("the covariance", covariance)?;
        // Cauchy and Schwarz, but for rounding.
        let most = (self.of_y()?.variance() * self.of_x()?.variance()).sqrt();
        if covariance.abs() > most + ROUNDING * (most + self.products.abs()) {
            let value = self.products;
            let must = "one that values with these sums can have";
            return Err(StatsError::OutOfRange { what: "the sum of the products", value, must });
        }
        Ok(covariance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_values_come_to_the_same() {
        let values = [1.0, 2.5, -3.0, 8.0, 0.25];
        let sums = Moments::from_sums(5, values.iter().sum(), values.iter().map(|v| v * v).sum()).unwrap();
        let online = Moments::of(&values).unwrap();
        assert_eq!(online.n(), 5);
        assert!((online.mean() - 1.75).abs() < 1e-15, "{online:?}");
        assert!((online.variance() - 16.25).abs() < 1e-12, "{online:?}");
        assert!((sums.variance() - online.variance()).abs() < 1e-12);
    }

    #[test]
    fn a_large_mean_costs_no_digits() {
        let values: Vec<f64> = [4.0, 7.0, 13.0, 16.0].iter().map(|v| v + 1e9).collect();
        assert!((Moments::of(&values).unwrap().variance() - 30.0).abs() < 1e-6);
    }

    #[test]
    fn impossible_sums_are_refused() {
        assert!(matches!(Moments::from_sums(4, 10.0, 20.0), Err(StatsError::Sums { .. })));
        assert!(matches!(Moments::from_sums(4, 0.0, -1.0), Err(StatsError::Sums { .. })));
        assert!(matches!(Moments::from_sums(4, f64::NAN, 1.0), Err(StatsError::NotFinite { .. })));
        assert!(matches!(Moments::new(4, 0.0, -0.1), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(Moments::of(&[1.0, f64::INFINITY]), Err(StatsError::NotFinite { .. })));
        assert!(matches!(Moments::of(&[1e308, -1e308]), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(Moments::of_proportion(5, 4), Err(StatsError::Sums { .. })));
        assert_eq!(Moments::from_sums(0, 0.0, 0.0).unwrap().n(), 0);
    }

    #[test]
    fn halves_merge_to_the_whole() {
        let values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0];
        let mut left = RunningMoments::default();
        let mut right = RunningMoments::default();
        values[..3].iter().for_each(|v| left.push(*v).unwrap());
        values[3..].iter().for_each(|v| right.push(*v).unwrap());
        left.merge(&right);
        let whole = Moments::of(&values).unwrap();
        assert!((left.moments().variance() - whole.variance()).abs() < 1e-12);
        assert!((left.moments().mean() - whole.mean()).abs() < 1e-12);
    }
}
