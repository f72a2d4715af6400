//! Effects as ratios: the interval of a relative difference (Fieller), ratios of two sums (delta method), logarithms of values
//! that are never 0. Tests nothing.
//!
//! E. C. Fieller, "Some problems in interval estimation", Journal of the Royal Statistical Society B 16 (1954). Ratios of sums are
//! those of GrowthBook's `gbstats` (`RatioStatistic`), after A. Deng, U. Knoblich, J. Lu, "Applying the Delta Method in Metric
//! Analytics", KDD 2018 (arXiv 1803.06336).

use super::moments::JointMoments;
use super::paired::PairedMoments;
use super::preconditions::{finite, positive};
use super::{Estimate, InsufficientData, MethodResult, Moments, StatsError};

/// The square of the half width of control's interval over the square of its mean, above which no relative effect is given.
/// From 1 on, Fieller's interval has no end; at a half it reaches from a quarter to nearly fourfold without an effect.
const MOST_VAGUE: f64 = 0.5;

/// Two means, and how their estimates vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MeanPair {
    control: f64,
    candidate: f64,
    control_variance: f64,
    candidate_variance: f64,
    covariance: f64,
}

impl MeanPair {
    /// From two independent arms.
    pub(super) fn of_arms(control: &Moments, candidate: &Moments) -> MeanPair {
        MeanPair {
            control: control.mean(),
            candidate: candidate.mean(),
            control_variance: control.variance_of_mean(),
            candidate_variance: candidate.variance_of_mean(),
            covariance: 0.0,
        }
    }

    /// Of the two of each pair.
    pub(super) fn of_pairs(pairs: &PairedMoments) -> MeanPair {
        let means = MeanPair::of_arms(&pairs.control, &pairs.candidate);
        let apart = means.control_variance + means.candidate_variance;
        MeanPair { covariance: (apart - pairs.differences.variance_of_mean()) / 2.0, ..means }
    }

    /// Candidate minus control, and the variance of that.
    pub(super) fn difference(&self) -> MethodResult<(f64, f64)> {
        let value = finite("the effect", self.candidate - self.control)?;
        let variance = self.candidate_variance + self.control_variance - 2.0 * self.covariance;
        Ok((value, finite("the variance of the effect", variance)?))
    }

    /// `difference` as a share of control's mean, with the interval of Fieller: each share θ at which candidate − (1 + θ)
    /// control is at most `errors` standard errors from 0. At θ = 0 that is the test of the difference, so that its level is
    /// the level of both, and the one interval excludes 0 exactly if the other does.
    pub(super) fn relative(&self, difference: &Estimate, errors: f64) -> MethodResult<Estimate> {
        let square = self.control * self.control;
        if square == 0.0 {
            return Err(InsufficientData::NoBaseline.into());
        }
        let scaled = |variance: f64| errors * errors * variance / square;
        let (vague, above, both) =
            (scaled(self.control_variance), scaled(self.candidate_variance), scaled(self.covariance));
        if vague.is_nan() || vague > MOST_VAGUE {
            return Err(InsufficientData::VagueBaseline.into());
        }
        let ratio = self.candidate / self.control;
        let middle = ratio - both;
        let spread = (middle * middle - (1.0 - vague) * (ratio * ratio - above)).max(0.0).sqrt();
        let end = |spread: f64| (middle + spread) / (1.0 - vague) - 1.0;
        Estimate::new(difference.n, ratio - 1.0, [end(-spread), end(spread)], difference.p)
    }
}

/// The ratio of two sums, such as tokens per objective, as if it were a mean: its `variance / n` is the variance of the ratio.
///
/// s² = s_y²/x² − 2 y cov/x³ + y² s_x²/x⁴ with the means y and x. A mean of 0 below is [`InsufficientData::NoBaseline`].
pub fn of_sums(sums: &JointMoments) -> MethodResult<Moments> {
    let (above, below) = (sums.of_y()?, sums.of_x()?);
    if below.mean() == 0.0 {
        return Err(InsufficientData::NoBaseline.into());
    }
    let ratio = above.mean() / below.mean();
    let variance = above.variance() - 2.0 * ratio * sums.covariance()? + ratio * ratio * below.variance();
    Moments::new(sums.n, ratio, (variance / below.mean().powi(2)).max(0.0))
}

/// The logarithm of a measure that is never 0, such as tokens: differences of means of logarithms are ratios
/// ([`super::Estimate::exp`]), and one enormous run does not drown the others.
pub fn ln(value: f64) -> MethodResult<f64> {
    positive("a value whose logarithm is taken", value).map(f64::ln)
}

/// Moments of the logarithms.
pub fn log_moments(values: &[f64]) -> MethodResult<Moments> {
    let logs = values.iter().map(|value| ln(*value)).collect::<MethodResult<Vec<f64>>>()?;
    if logs.is_empty() {
        return Err(StatsError::Empty { what: "values" });
    }
    Moments::of(&logs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::approx::same;

    #[test]
    fn a_ratio_of_sums_is_that_of_gbstats() {
        let mut sums = JointMoments::default();
        for (tokens, objectives) in [(120.0, 3.0), (90.0, 2.0), (200.0, 5.0), (150.0, 3.0), (80.0, 2.0)] {
            sums.push(tokens, objectives).unwrap();
        }
        let found = of_sums(&sums).unwrap();
        same(found.mean(), 42.666666666666664);
        same(found.variance(), 21.555555555555486);
        assert!(of_sums(&JointMoments::default()).unwrap_err().not_yet().is_some());
    }

    #[test]
    fn logarithms_are_of_what_is_above_zero() {
        same(log_moments(&[1.0, std::f64::consts::E.powi(2)]).unwrap().mean(), 1.0);
        assert!(matches!(log_moments(&[1.0, 0.0]), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(log_moments(&[]), Err(StatsError::Empty { .. })));
    }
}
