//! The t test for one look at the end. Peeking at it is the negative control of the gates: it is here to be compared with, and
//! for numbers of units that were fixed beforehand.
//!
//! B. L. Welch, "The generalization of 'Student's' problem when several different population variances are involved",
//! Biometrika 34 (1947); relative effects as in GrowthBook's `gbstats` (`TwoSidedTTest`).

use serde::{Deserialize, Serialize};

use super::guard::level;
use super::ratio::effect;
use super::special::{t_quantile, t_sf};
use super::{Estimate, Guard, Moments, NotYet, Result, Scale, Side};

/// A two-sided Welch test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fixed {
    /// How often it may be wrong where there is no effect.
    pub alpha: f64,
    /// What the effect is measured in.
    pub scale: Scale,
    /// How much data it asks for.
    pub guard: Guard,
}

impl Default for Fixed {
    fn default() -> Fixed {
        Fixed { alpha: 0.05, scale: Scale::Difference, guard: Guard::default() }
    }
}

impl Fixed {
    /// Effect ± t(1 − α/2, ν) · se, with Satterthwaite's ν; valid at a number of units that was fixed beforehand.
    pub fn two_sample(&self, control: &Moments, candidate: &Moments) -> Result<Estimate> {
        level("alpha", self.alpha)?;
        self.guard.check(Side::Control, control)?;
        self.guard.check(Side::Candidate, candidate)?;
        let effect = effect(control, candidate, self.scale)?;
        let df = degrees_of_freedom(control, candidate);
        let n = control.n() + candidate.n();
        self.estimate(n, effect.value, effect.variance, df)
    }

    /// The mean of differences, `null` of which is no effect: value ± t(1 − α/2, n − 1) · s/√n.
    pub fn one_sample(&self, differences: &Moments, null: f64) -> Result<Estimate> {
        level("alpha", self.alpha)?;
        self.guard.check(Side::Candidate, differences)?;
        let n = differences.n();
        let from_null = differences.mean() - null;
        let Estimate { value, lower, upper, p, .. } =
            self.estimate(n, from_null, differences.variance_of_mean(), n as f64 - 1.0)?;
        Estimate::new(n, value + null, [lower + null, upper + null], p)
    }

    fn estimate(&self, n: u64, value: f64, variance: f64, df: f64) -> Result<Estimate> {
        if variance <= 0.0 {
            return Err(NotYet::NoVariance { side: Side::Control, n }.into());
        }
        let se = variance.sqrt();
        let width = t_quantile(1.0 - self.alpha / 2.0, df) * se;
        let p = (2.0 * t_sf((value / se).abs(), df)).min(1.0);
        Estimate::new(n, value, [value - width, value + width], p)
    }
}

/// (v_a + v_b)² / (v_a²/(n_a − 1) + v_b²/(n_b − 1)), v the variances of the means.
fn degrees_of_freedom(control: &Moments, candidate: &Moments) -> f64 {
    let (a, b) = (control.variance_of_mean(), candidate.variance_of_mean());
    let below = a * a / (control.n() as f64 - 1.0) + b * b / (candidate.n() as f64 - 1.0);
    if below > 0.0 { (a + b) * (a + b) / below } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::StatsError;
    use crate::stats::near::{near, same};

    /// The two samples of the published tests of gbstats.
    fn arms(n: u64) -> (Moments, Moments) {
        let control = Moments::from_sums(n, 1396.87, 52377.9767).unwrap();
        (control, Moments::from_sums(3461, 2422.7, 134698.29).unwrap())
    }

    #[test]
    fn known_answers_of_gbstats() {
        let relative = Fixed { scale: Scale::Relative, ..Fixed::default() };
        let (control, candidate) = arms(3407);
        let found = relative.two_sample(&control, &candidate).unwrap();
        near(found.value, 0.70732, 5);
        near(found.lower, -0.03526, 5);
        near(found.upper, 1.44989, 5);
        near(found.p, 0.06191, 5);
        same(found.lower, -0.03526008906611777);
        same(found.p, 0.06191182745618362);
        let absolute = Fixed::default().two_sample(&control, &candidate).unwrap();
        same(absolute.value, 0.29);
        same(absolute.upper, 0.5346221074407098);
        same(absolute.p, 0.020158402643587037);
    }

    #[test]
    fn small_samples_are_those_of_scipy() {
        let bare = Fixed { guard: Guard::BARE, ..Fixed::default() };
        let control = Moments::of(&[12.1, 9.8, 11.4, 10.2, 13.3, 9.1, 10.9]).unwrap();
        let candidate = Moments::of(&[14.2, 12.9, 10.8, 15.1, 13.7]).unwrap();
        let found = bare.two_sample(&control, &candidate).unwrap();
        same(found.p, 0.031153925068844644);
        same(found.lower, 0.27530723026087855);
        same(found.upper, 4.461835626881978);
        let differences = Moments::of(&[0.3, -0.1, 0.8, 0.4, 0.2, 0.9, -0.3, 0.5]).unwrap();
        let paired = bare.one_sample(&differences, 0.0).unwrap();
        same(paired.p, 0.05290500740463691);
        same(paired.lower, -0.0055670268388431365);
        let from_elsewhere = bare.one_sample(&differences, 0.3375).unwrap();
        same(from_elsewhere.p, 1.0);
        same(from_elsewhere.upper, paired.upper);
    }

    #[test]
    fn too_little_is_not_yet_and_nonsense_is_an_error() {
        let few = Moments::of_proportion(3, 19).unwrap();
        let many = Moments::of_proportion(30, 100).unwrap();
        let flat = Moments::of_proportion(0, 100).unwrap();
        let test = Fixed::default();
        let why = test.two_sample(&few, &many).unwrap_err().not_yet();
        assert_eq!(why, Some(NotYet::TooFew { side: Side::Control, n: 19, needed: 20 }));
        let why = test.two_sample(&many, &flat).unwrap_err().not_yet();
        assert_eq!(why, Some(NotYet::NoVariance { side: Side::Candidate, n: 100 }));
        let relative = Fixed { scale: Scale::Relative, guard: Guard::BARE, ..test };
        assert_eq!(relative.two_sample(&flat, &many).unwrap_err().not_yet(), Some(NotYet::NoBaseline));
        let bare = Fixed { guard: Guard::BARE, ..test };
        assert!(bare.two_sample(&flat, &flat).unwrap_err().not_yet().is_some());
        for alpha in [0.0, 1.0, -0.1, f64::NAN] {
            let error = Fixed { alpha, ..test }.two_sample(&many, &many).unwrap_err();
            assert!(matches!(error, StatsError::OutOfRange { .. } | StatsError::NotFinite { .. }), "{error}");
        }
    }
}
