//! Effects as ratios: how a relative difference varies (delta method), ratios of two sums, logarithms of what is never 0.
//! Tests nothing.
//!
//! The formulas are those of GrowthBook's `gbstats` (`frequentist_diff`, `frequentist_variance`, `RatioStatistic`), after
//! A. Deng, U. Knoblich, J. Lu, "Applying the Delta Method in Metric Analytics", KDD 2018 (arXiv 1803.06336).

use super::guard::{finite, positive};
use super::moments::Joint;
use super::{Moments, NotYet, Result, Scale, StatsError};

/// An effect and the variance of its estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Candidate minus control, on its scale.
    pub value: f64,
    /// Variance of `value`: the square of its standard error.
    pub variance: f64,
}

/// The effect of `candidate` over `control`.
///
/// Relative: (b − a) / a, with variance s_b² / (a² n_b) + s_a² b² / (a⁴ n_a). Relative to a mean of 0 there is
/// [`NotYet::NoBaseline`].
pub fn effect(control: &Moments, candidate: &Moments, scale: Scale) -> Result<Effect> {
    let (a, b) = (control.mean(), candidate.mean());
    let (noise_a, noise_b) = (control.variance_of_mean(), candidate.variance_of_mean());
    let effect = match scale {
        Scale::Difference => Effect { value: b - a, variance: noise_b + noise_a },
        Scale::Relative if a == 0.0 => return Err(NotYet::NoBaseline.into()),
        Scale::Relative => {
            let ratio = b / a;
            Effect { value: (b - a) / a, variance: noise_b / (a * a) + noise_a * ratio * ratio / (a * a) }
        }
    };
    finite("the effect", effect.value)?;
    finite("the variance of the effect", effect.variance)?;
    Ok(effect)
}

/// The ratio of two sums, such as tokens per objective, as if it were a mean: its `variance / n` is the variance of the ratio.
///
/// s² = s_y²/x² − 2 y cov/x³ + y² s_x²/x⁴ with the means y and x. A mean of 0 below is [`NotYet::NoBaseline`].
pub fn of_sums(sums: &Joint) -> Result<Moments> {
    let (above, below) = (sums.of_y()?, sums.of_x()?);
    if below.mean() == 0.0 {
        return Err(NotYet::NoBaseline.into());
    }
    let ratio = above.mean() / below.mean();
    let variance = above.variance() - 2.0 * ratio * sums.covariance()? + ratio * ratio * below.variance();
    Moments::new(sums.n, ratio, (variance / below.mean().powi(2)).max(0.0))
}

/// The logarithm of a measure that is never 0, such as tokens: differences of means of logarithms are ratios
/// ([`super::Estimate::exp`]), and one enormous run does not drown the others.
pub fn ln(value: f64) -> Result<f64> {
    positive("a value whose logarithm is taken", value).map(f64::ln)
}

/// Moments of the logarithms.
pub fn log_moments(values: &[f64]) -> Result<Moments> {
    let logs = values.iter().map(|value| ln(*value)).collect::<Result<Vec<f64>>>()?;
    if logs.is_empty() {
        return Err(StatsError::Empty { what: "values" });
    }
    Moments::of(&logs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::near::same;

    #[test]
    fn a_ratio_of_sums_is_that_of_gbstats() {
        let mut sums = Joint::default();
        for (tokens, objectives) in [(120.0, 3.0), (90.0, 2.0), (200.0, 5.0), (150.0, 3.0), (80.0, 2.0)] {
            sums.push(tokens, objectives).unwrap();
        }
        let found = of_sums(&sums).unwrap();
        same(found.mean(), 42.666666666666664);
        same(found.variance(), 21.555555555555486);
        assert!(of_sums(&Joint::default()).unwrap_err().not_yet().is_some());
    }

    #[test]
    fn logarithms_are_of_what_is_above_zero() {
        same(log_moments(&[1.0, std::f64::consts::E.powi(2)]).unwrap().mean(), 1.0);
        assert!(matches!(log_moments(&[1.0, 0.0]), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(log_moments(&[]), Err(StatsError::Empty { .. })));
    }
}
