//! Sample ratio mismatch: whether the arms got the shares of units that they were to get. If they did not, the assignment or
//! the recording is broken, and the effects must not be interpreted.
//!
//! The fixed test is Pearson's χ². The sequential one is M. Lindon, A. Malek, "Anytime-Valid Inference For Multinomial Count
//! Data", NeurIPS 2022 (arXiv 2011.03567), with a uniform Dirichlet prior.

use serde::{Deserialize, Serialize};

use super::preconditions::finite;
use super::special::{chi_square_sf, ln_gamma};
use super::{MethodResult, StatsError};

/// The level at which a mismatch stops an experiment. Ville's inequality bounds by it the share of sound experiments that ever
/// raise the alarm; a broken one with 60 % instead of 50 % raises it within 500 units more often than not.
pub const DEFAULT_ALPHA: f64 = 0.001;

/// The χ² test, for one look.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChiSquareTest {
    /// Σ (observed − expected)² / expected.
    pub statistic: f64,
    /// Arms with a weight, less one.
    pub df: u64,
    /// Level.
    pub p: f64,
    /// Units in arms without a weight: not tested, and to be investigated.
    pub outside: u64,
}

/// The mixture test, for any number of looks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequentialSrmTest {
    /// ln of the e-value against the weights.
    pub ln_e: f64,
    /// min(1, 1/e): small enough at any one look is small enough.
    pub p: f64,
    /// Units in arms without a weight: not tested, and to be investigated.
    pub outside: u64,
}

impl SequentialSrmTest {
    /// Whether the weights are rejected at level `alpha`.
    pub fn rejects(&self, alpha: f64) -> bool {
        self.ln_e >= -alpha.ln()
    }
}

/// Whether `counts` fit `weights`, which need not sum to 1. An arm of weight 0 is ignored: it counts neither in the degrees of
/// freedom nor in the total.
pub fn chi_square(counts: &[u64], weights: &[f64]) -> MethodResult<ChiSquareTest> {
    let ArmAllocation { counts, shares, outside } = arms(counts, weights)?;
    let total: u64 = counts.iter().sum();
    let statistic = counts.iter().zip(&shares).map(|(count, share)| {
        let expected = share * total as f64;
        if expected > 0.0 { (*count as f64 - expected).powi(2) / expected } else { 0.0 }
    });
    let statistic = finite("the statistic", statistic.sum())?;
    let df = counts.len() as u64 - 1;
    Ok(ChiSquareTest { statistic, df, p: chi_square_sf(statistic, df), outside })
}

/// The evidence in `counts` against `weights`, valid at every look:
/// ln e = lnΓ(k) − lnΓ(k + n) + Σ lnΓ(1 + n_i) − Σ n_i ln θ_i over the k arms with a weight.
pub fn sequential(counts: &[u64], weights: &[f64]) -> MethodResult<SequentialSrmTest> {
    let ArmAllocation { counts, shares, outside } = arms(counts, weights)?;
    let (arms, total) = (counts.len() as f64, counts.iter().sum::<u64>() as f64);
    let each = counts.iter().zip(&shares).map(|(count, share)| {
        let count = *count as f64;
        ln_gamma(1.0 + count) - if count > 0.0 { count * share.ln() } else { 0.0 }
    });
    let ln_e = finite("the evidence", ln_gamma(arms) - ln_gamma(arms + total) + each.sum::<f64>())?;
    Ok(SequentialSrmTest { ln_e, p: (-ln_e).exp().min(1.0), outside })
}

/// The arms that can be got.
struct ArmAllocation {
    counts: Vec<u64>,
    shares: Vec<f64>,
    outside: u64,
}

fn arms(counts: &[u64], weights: &[f64]) -> MethodResult<ArmAllocation> {
    if counts.len() != weights.len() {
        let (left, right) = (counts.len(), weights.len());
        return Err(StatsError::Lengths { what: "counts", left, other: "weights", right });
    }
    for weight in weights {
        if finite("a weight", *weight)? < 0.0 {
            return Err(StatsError::Weights { why: "must be 0 or more each" });
        }
    }
    let sum: f64 = finite("the sum of the weights", weights.iter().sum())?;
    if sum <= 0.0 {
        return Err(StatsError::Weights { why: "sum to 0: nobody would get any arm" });
    }
    let mut arms = ArmAllocation { counts: Vec::new(), shares: Vec::new(), outside: 0 };
    for (count, weight) in counts.iter().zip(weights) {
        if *weight / sum > 0.0 {
            arms.counts.push(*count);
            arms.shares.push(weight / sum);
        } else {
            arms.outside = arms.outside.saturating_add(*count);
        }
    }
    if arms.counts.len() < 2 {
        return Err(StatsError::Weights { why: "leave fewer than two arms, so there is no ratio" });
    }
    let total = arms.counts.iter().try_fold(0_u64, |sum, count| sum.checked_add(*count));
    if total.is_none() {
        return Err(StatsError::NotFinite { what: "the number of units" });
    }
    Ok(arms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::approx::{near, same};

    #[test]
    fn known_answers() {
        near(chi_square(&[5000, 5300], &[0.5, 0.5]).unwrap().p, 0.0031167, 7);
        near(chi_square(&[821588, 815482], &[0.5, 0.5]).unwrap().p, 1.82e-6, 8);
        same(chi_square(&[821588, 815482], &[1.0, 1.0]).unwrap().p, 1.8217928726191858e-6);
        near(sequential(&[60, 40], &[0.5, 0.5]).unwrap().ln_e, -0.09096, 5);
        near(sequential(&[600, 400], &[0.5, 0.5]).unwrap().ln_e, 16.88628, 5);
    }

    #[test]
    fn any_number_of_arms_and_weights() {
        let three = chi_square(&[30, 50, 20], &[2.0, 5.0, 3.0]).unwrap();
        assert_eq!(three.df, 2);
        same(three.p, 0.015503853599009307);
        near(sequential(&[30, 50, 20], &[2.0, 5.0, 3.0]).unwrap().ln_e, 0.2052505437666241, 9);
        near(sequential(&[120, 480], &[0.25, 0.75]).unwrap().ln_e, 1.0045108477791018, 9);
    }

    #[test]
    fn an_arm_without_weight_is_no_arm() {
        let two = chi_square(&[5000, 5300], &[0.5, 0.5]).unwrap();
        let three = chi_square(&[5000, 7, 5300], &[0.5, 0.0, 0.5]).unwrap();
        assert_eq!((three.df, three.p, three.outside), (1, two.p, 7));
        let evidence = sequential(&[60, 7, 40], &[0.5, 0.0, 0.5]).unwrap();
        assert_eq!(evidence.ln_e, sequential(&[60, 40], &[0.5, 0.5]).unwrap().ln_e);
    }

    #[test]
    fn nothing_counted_is_no_evidence() {
        let nobody = sequential(&[0, 0, 0], &[1.0, 2.0, 3.0]).unwrap();
        assert!(nobody.ln_e.abs() < 1e-12 && nobody.p == 1.0, "{nobody:?}");
        assert_eq!(chi_square(&[0, 0], &[1.0, 1.0]).unwrap().p, 1.0);
    }

    #[test]
    fn weights_that_describe_no_allocation_are_refused() {
        assert!(matches!(chi_square(&[1, 2], &[0.0, 0.0]), Err(StatsError::Weights { .. })));
        assert!(matches!(chi_square(&[1, 2], &[1.0, -1.0]), Err(StatsError::Weights { .. })));
        assert!(matches!(chi_square(&[1, 2], &[1.0, 0.0]), Err(StatsError::Weights { .. })));
        assert!(matches!(chi_square(&[1, 2], &[1.0]), Err(StatsError::Lengths { .. })));
        assert!(matches!(sequential(&[1, 2], &[1.0, f64::NAN]), Err(StatsError::NotFinite { .. })));
        assert!(matches!(sequential(&[], &[]), Err(StatsError::Weights { .. })));
        assert!(sequential(&[u64::MAX, u64::MAX], &[1.0, 1.0]).is_err());
        assert!(sequential(&[u64::MAX, 0], &[1.0, 1.0]).is_ok());
    }
}
