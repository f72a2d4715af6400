//! The t test for one look at the end. Peeking at it is the negative control of the gates: it is here to be compared with, and
//! for numbers of units that were fixed beforehand.
//!
//! B. L. Welch, "The generalization of 'Student's' problem when several different population variances are involved",
//! Biometrika 34 (1947); relative effects have the level of the difference, and Fieller's interval.

use serde::{Deserialize, Serialize};

use super::paired::PairedMoments;
use super::preconditions::level;
use super::ratio::MeanPair;
use super::special::{t_quantile, t_sf};
use super::{ArmSide, DataRequirements, EffectScale, Estimate, InsufficientData, MethodResult, Moments};

/// A two-sided Welch test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WelchTest {
    /// False-positive rate.
    pub alpha: f64,
    /// What the effect is measured in.
    pub scale: EffectScale,
    /// How much data it asks for.
    pub guard: DataRequirements,
}

impl Default for WelchTest {
    fn default() -> WelchTest {
        WelchTest { alpha: 0.05, scale: EffectScale::Difference, guard: DataRequirements::default() }
    }
}

impl WelchTest {
    /// Effect ± t(1 − α/2, ν) · se, with Satterthwaite's ν; valid at a number of units that was fixed beforehand.
    pub fn two_sample(&self, control: &Moments, candidate: &Moments) -> MethodResult<Estimate> {
        level("alpha", self.alpha)?;
        self.guard.check(ArmSide::Control, control)?;
        self.guard.check(ArmSide::Candidate, candidate)?;
        let df = degrees_of_freedom(control, candidate);
        self.of_means(control.n() + candidate.n(), &MeanPair::of_arms(control, candidate), df)
    }

    /// The same of pairs, with n − 1 degrees of freedom.
    pub fn paired(&self, pairs: &PairedMoments) -> MethodResult<Estimate> {
        level("alpha", self.alpha)?;
        self.guard.check(ArmSide::Candidate, &pairs.differences)?;
        let n = pairs.differences.n();
        self.of_means(n, &MeanPair::of_pairs(pairs), n as f64 - 1.0)
    }

    /// The test is of the difference, on either scale.
    fn of_means(&self, n: u64, means: &MeanPair, df: f64) -> MethodResult<Estimate> {
        let (value, variance) = means.difference()?;
        let difference = self.estimate(n, value, variance, df)?;
        match self.scale {
            EffectScale::Difference => Ok(difference),
            EffectScale::Relative => means.relative(&difference, t_quantile(1.0 - self.alpha / 2.0, df)),
        }
    }

    /// The mean of differences; `null` is the value without an effect: value ± t(1 − α/2, n − 1) · s/√n.
    pub fn one_sample(&self, differences: &Moments, null: f64) -> MethodResult<Estimate> {
        level("alpha", self.alpha)?;
        self.guard.check(ArmSide::Candidate, differences)?;
        let n = differences.n();
        let from_null = differences.mean() - null;
        let Estimate { value, lower, upper, p, .. } =
            self.estimate(n, from_null, differences.variance_of_mean(), n as f64 - 1.0)?;
        Estimate::new(n, value + null, [lower + null, upper + null], p)
    }

    fn estimate(&self, n: u64, value: f64, variance: f64, df: f64) -> MethodResult<Estimate> {
        if variance <= 0.0 {
            return Err(InsufficientData::NoVariance { side: ArmSide::Control, n }.into());
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
    use crate::stats::approx::{near, same};

    /// The two samples of the published tests of gbstats.
    fn arms(n: u64) -> (Moments, Moments) {
        let control = Moments::from_sums(n, 1396.87, 52377.9767).unwrap();
        (control, Moments::from_sums(3461, 2422.7, 134698.29).unwrap())
    }

    #[test]
    fn known_answers_of_gbstats() {
        let relative = WelchTest { scale: EffectScale::Relative, ..WelchTest::default() };
        let (control, candidate) = arms(3407);
        let found = relative.two_sample(&control, &candidate).unwrap();
        near(found.value, 0.70732, 5);
        // By bisection of |b − (1 + θ) a| = 1.96037 √(v_b + (1 + θ)² v_a), in another language.
        near(found.lower, 0.09406197077, 9);
        near(found.upper, 1.70868994419, 9);
        same(found.p, 0.020158402643587037);
        let absolute = WelchTest::default().two_sample(&control, &candidate).unwrap();
        same(absolute.value, 0.29);
        same(absolute.upper, 0.5346221074407098);
        same(absolute.p, 0.020158402643587037);
    }

    #[test]
    fn a_tenfold_harm_is_as_certain_as_the_difference_and_no_share_of_nearly_nothing() {
        let (control, candidate) =
            (Moments::from_sums(100, 4.0, 4.0).unwrap(), Moments::from_sums(100, 45.0, 51.0).unwrap());
        let found = WelchTest::default().two_sample(&control, &candidate).unwrap();
        // 0.41 of √(0.0003879 + 0.0031061), 6.94 standard errors.
        same(found.value, 0.41);
        assert!(found.p < 1e-9 && found.lower > 0.29, "{found:?}");
        let relative = WelchTest { scale: EffectScale::Relative, ..WelchTest::default() };
        let why = relative.two_sample(&control, &candidate).unwrap_err().not_yet();
        assert_eq!(why, Some(InsufficientData::VagueBaseline));
    }

    #[test]
    fn small_samples_are_those_of_scipy() {
        let bare = WelchTest { guard: DataRequirements::BARE, ..WelchTest::default() };
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
        let pairs = [1.0, 4.0, 2.0, 3.0, 5.0].into_iter().zip([2.5, 4.5, 2.9, 4.4, 5.2]);
        let pairs = crate::stats::paired::pairs(&pairs.collect::<Vec<_>>()).unwrap();
        let found = WelchTest { scale: EffectScale::Relative, ..bare }.paired(&pairs).unwrap();
        let alone = bare.one_sample(&pairs.differences, 0.0).unwrap();
        same(found.p, alone.p);
        assert_eq!((found.excludes_zero(), alone.excludes_zero()), (true, true));
        let from_elsewhere = bare.one_sample(&differences, 0.3375).unwrap();
        same(from_elsewhere.p, 1.0);
        same(from_elsewhere.upper, paired.upper);
    }

    #[test]
    fn too_little_is_not_yet_and_nonsense_is_an_error() {
        let few = Moments::of_proportion(3, 19).unwrap();
        let many = Moments::of_proportion(30, 100).unwrap();
        let flat = Moments::of_proportion(0, 100).unwrap();
        let test = WelchTest::default();
        let why = test.two_sample(&few, &many).unwrap_err().not_yet();
        assert_eq!(why, Some(InsufficientData::TooFew { side: ArmSide::Control, n: 19, needed: 20 }));
        let why = test.two_sample(&many, &flat).unwrap_err().not_yet();
        assert_eq!(why, Some(InsufficientData::NoVariance { side: ArmSide::Candidate, n: 100 }));
        let relative = WelchTest { scale: EffectScale::Relative, guard: DataRequirements::BARE, ..test };
        assert_eq!(
            relative.two_sample(&flat, &many).unwrap_err().not_yet(),
            Some(InsufficientData::NoBaseline)
        );
        let bare = WelchTest { guard: DataRequirements::BARE, ..test };
        assert!(bare.two_sample(&flat, &flat).unwrap_err().not_yet().is_some());
        for alpha in [0.0, 1.0, -0.1, f64::NAN] {
            let error = WelchTest { alpha, ..test }.two_sample(&many, &many).unwrap_err();
            assert!(matches!(error, StatsError::OutOfRange { .. } | StatsError::NotFinite { .. }), "{error}");
        }
    }
}
