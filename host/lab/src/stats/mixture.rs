//! Bounds by mixtures of martingales: how far a sum may wander and never be further, and intervals for a share of successes
//! that hold at any time without an approximation.
//!
//! S. R. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences",
//! Annals of Statistics 49 (2021), arXiv 1810.08240; numbers as of their library `confseq` (`normal_log_mixture`,
//! `normal_mixture_bound`, `beta_binomial_log_mixture`, `bernoulli_confidence_interval`).

use serde::{Deserialize, Serialize};

use super::preconditions::{finite, level, positive};
use super::special::{bisect, ln_beta, normal_sf};
use super::{ArmSide, InsufficientData, MethodResult, StatsError};

/// Beyond this many intrinsic-time units no bound is searched.
const MOST: f64 = 1e15;

/// How much room is left to a mixture whose own variance is nearly all of v_opt, as `confseq` has it.
const LEAST_SHARE: f64 = 1e-3;

/// On which sides of 0 a sum is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestSides {
    /// Only above.
    One,
    /// Above and below.
    Two,
}

/// ρ, the precision of the mixture that is tightest at intrinsic time `v_opt` and level `alpha`:
/// v / (2 ln(1/α) + ln(1 + 2 ln(1/α))); on one side, that of 2α.
pub fn rho(v_opt: f64, alpha: f64, sides: TestSides) -> MethodResult<f64> {
    positive("v_opt", v_opt)?;
    level("alpha", alpha)?;
    let twice = match sides {
        TestSides::Two => -2.0 * alpha.ln(),
        TestSides::One => -2.0 * level("alpha, twice of which is looked at on one side,", 2.0 * alpha)?.ln(),
    };
    Ok(v_opt / (twice + twice.ln_1p()))
}

/// The normal mixture, for sums with sub-Gaussian steps: `s` is the sum of what deviates from its mean, `v` its variance so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormalMixture {
    rho: f64,
    sides: TestSides,
}

impl NormalMixture {
    /// Tightest at `v_opt`, at level `alpha`.
    pub fn new(v_opt: f64, alpha: f64, sides: TestSides) -> MethodResult<NormalMixture> {
        Ok(NormalMixture { rho: rho(v_opt, alpha, sides)?, sides })
    }

    /// ln of the mixture: ½ ln(ρ / (v + ρ)) + s² / (2 (v + ρ)); on one side, with ln(2 Φ(s / √(v + ρ))) more.
    pub fn ln(&self, s: f64, v: f64) -> MethodResult<f64> {
        finite("the sum", s)?;
        at_least_0("the intrinsic time", v)?;
        let rho = self.rho;
        let two = 0.5 * (rho / (v + rho)).ln() + s * s / (2.0 * (v + rho));
        Ok(match self.sides {
            TestSides::Two => two,
            TestSides::One => {
                two + std::f64::consts::LN_2 + normal_sf(-s / (v + rho).sqrt()).max(f64::MIN_POSITIVE).ln()
            }
        })
    }

    /// How far the sum ever gets at intrinsic time `v`, but for a chance of `alpha`.
    pub fn bound(&self, v: f64, alpha: f64) -> MethodResult<f64> {
        let threshold = -level("alpha", alpha)?.ln();
        at_least_0("the intrinsic time", v)?;
        match self.sides {
            TestSides::Two => Ok(((v + self.rho) * ((v / self.rho).ln_1p() + 2.0 * threshold)).sqrt()),
            TestSides::One => crossing(f64::INFINITY, threshold, |s| self.ln(s, v)),
        }
    }
}

/// The beta-binomial mixture, two-sided, for steps between −g and h with the variance g·h, as those of a share of successes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetaBinomialMixture {
    r: f64,
    g: f64,
    h: f64,
}

impl BetaBinomialMixture {
    /// Tightest at `v_opt`, at level `alpha`, for steps between −`g` and `h`.
    pub fn new(v_opt: f64, alpha: f64, g: f64, h: f64) -> MethodResult<BetaBinomialMixture> {
        let (g, h) = (positive("g", g)?, positive("h", h)?);
        let r = (rho(v_opt, alpha, TestSides::Two)? - g * h).max(LEAST_SHARE * g * h);
        Ok(BetaBinomialMixture { r, g, h })
    }

    /// ln of the mixture at the sum `s`, −v/h ≤ s ≤ v/g, and intrinsic time `v`.
    pub fn ln(&self, s: f64, v: f64) -> MethodResult<f64> {
        finite("the sum", s)?;
        at_least_0("the intrinsic time", v)?;
        let BetaBinomialMixture { r, g, h } = *self;
        let (falls, rises) = (v - g * s, v + h * s);
        if r + falls <= 0.0 || r + rises <= 0.0 {
            return Err(StatsError::OutOfRange {
                what: "the sum",
                value: s,
                must: "within what its steps allow",
            });
        }
        let all = g + h;
        let ln = v / (g * h) * all.ln() - rises / (h * all) * g.ln() - falls / (g * all) * h.ln()
            + ln_beta((r + falls) / (g * all), (r + rises) / (h * all))
            - ln_beta(r / (g * all), r / (h * all));
        finite("the mixture", ln)
    }

    /// How far the sum ever gets at intrinsic time `v`, but for a chance of `alpha`.
    pub fn bound(&self, v: f64, alpha: f64) -> MethodResult<f64> {
        let threshold = -level("alpha", alpha)?.ln();
        crossing(at_least_0("the intrinsic time", v)? / self.g, threshold, |s| self.ln(s, v))
    }
}

/// An interval for a share of successes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProportionInterval {
    /// Trials.
    pub n: u64,
    /// Successes among them, as a share.
    pub value: f64,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

/// The share of successes that is behind `successes` of `trials`, at any time, tightest at `t_opt` trials.
///
/// All shares p for which the beta-binomial mixture of (p, 1 − p) stays below 1/α.
pub fn bernoulli(successes: u64, trials: u64, alpha: f64, t_opt: f64) -> MethodResult<ProportionInterval> {
    level("alpha", alpha)?;
    positive("t_opt", t_opt)?;
    if successes > trials {
        let value = successes as f64;
        return Err(StatsError::OutOfRange {
            what: "the number of successes",
            value,
            must: "at most that of trials",
        });
    }
    if trials == 0 {
        return Err(InsufficientData::TooFew { side: ArmSide::Candidate, n: 0, needed: 1 }.into());
    }
    let (n, value) = (trials as f64, successes as f64 / trials as f64);
    let threshold = -alpha.ln();
    // Positive outside of the interval. The ends themselves are outside unless they were seen.
    let outside = |p: f64| -> f64 {
        let spread = p * (1.0 - p);
        if spread <= 0.0 {
            return 1.0;
        }
        let mixture = BetaBinomialMixture::new(spread * t_opt, alpha, p, 1.0 - p);
        let ln = mixture.and_then(|mixture| mixture.ln((value - p) * n, spread * n));
        ln.map_or(1.0, |ln| ln - threshold)
    };
    let lower = if successes == 0 { 0.0 } else { bisect(0.0, value, |p| -outside(p)) };
    let upper = if successes == trials { 1.0 } else { bisect(value, 1.0, outside) };
    Ok(ProportionInterval { n: trials, value, lower, upper })
}

/// Where an increasing mixture reaches the threshold, between 0 and `most`; `most` where it never does.
fn crossing(most: f64, threshold: f64, ln: impl Fn(f64) -> MethodResult<f64>) -> MethodResult<f64> {
    let short = |s: f64| ln(s).map_or(f64::INFINITY, |ln| ln - threshold);
    let mut high = most;
    if high.is_infinite() {
        high = 1.0;
        while short(high) <= 0.0 {
            high *= 2.0;
            if high > MOST {
                return Err(StatsError::Beyond { what: "the bound", limit: MOST });
            }
        }
    } else if short(high) <= 0.0 {
        return Ok(high);
    }
    Ok(bisect(0.0, high, short))
}

fn at_least_0(what: &'static str, value: f64) -> MethodResult<f64> {
    finite(what, value)?;
    if value < 0.0 { Err(StatsError::OutOfRange { what, value, must: "0 or more" }) } else { Ok(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::approx::near;

    // Those of the first mixture and of the share are the gates of the lab; the others are the test values of the library itself.
    #[test]
    fn known_answers_of_confseq() {
        near(rho(100.0, 0.05, TestSides::Two).unwrap(), 12.60056, 5);
        let two = NormalMixture::new(100.0, 0.05, TestSides::Two).unwrap();
        near(two.ln(10.0, 100.0).unwrap(), -0.6510052, 7);
        near(two.bound(100.0, 0.05).unwrap(), 30.35209, 5);
        let one = NormalMixture::new(100.0, 0.05, TestSides::One).unwrap();
        near(one.ln(10.0, 100.0).unwrap(), -0.06502391, 7);
        near(one.bound(100.0, 0.05).unwrap(), 27.66071, 5);
        let beta = BetaBinomialMixture::new(100.0, 0.05, 0.2, 0.8).unwrap();
        near(beta.ln(10.0, 100.0).unwrap(), -0.6941012, 6);
        near(beta.bound(100.0, 0.05).unwrap(), 31.4308, 4);
        let share = bernoulli(700, 1000, 0.05, 100.0).unwrap();
        near(share.lower, 0.651629, 6);
        near(share.upper, 0.745949, 6);
    }

    #[test]
    fn what_never_failed_has_an_upper_end_of_one() {
        let all = bernoulli(30, 30, 0.05, 100.0).unwrap();
        assert!(all.upper == 1.0 && all.lower > 0.7 && all.lower < 1.0, "{all:?}");
        let none = bernoulli(0, 30, 0.05, 100.0).unwrap();
        assert!(none.lower == 0.0);
        near(none.upper, 1.0 - all.lower, 9);
    }

    #[test]
    fn bad_input_is_named() {
        assert!(matches!(bernoulli(3, 2, 0.05, 100.0), Err(StatsError::OutOfRange { .. })));
        assert!(bernoulli(0, 0, 0.05, 100.0).unwrap_err().not_yet().is_some());
        assert!(rho(0.0, 0.05, TestSides::Two).is_err());
        assert!(rho(f64::NAN, 0.05, TestSides::Two).is_err());
        assert!(rho(100.0, 0.6, TestSides::One).is_err());
        let two = NormalMixture::new(100.0, 0.05, TestSides::Two).unwrap();
        assert!(two.bound(-1.0, 0.05).is_err() && two.ln(f64::NAN, 1.0).is_err());
    }
}
