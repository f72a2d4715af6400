//! How many units it takes. Every answer is a number of units before rounding up; the effect has to be one that is worth
//! having, not the one that was seen.
//!
//! J. Cohen, "Statistical Power Analysis for the Behavioral Sciences" (1988): means by d with the noncentral t, shares by
//! h = 2 asin √p₂ − 2 asin √p₁ with the normal. Sequential tests: [`super::sequential::ConfidenceSequence::units_needed`].

use serde::{Deserialize, Serialize};

use super::noncentral::two_sided_power;
use super::preconditions::{level, positive, share};
use super::sequential::ConfidenceSequence;
use super::special::{bisect, normal_quantile, normal_sf};
use super::{MethodResult, StatsError};

/// No experiment is larger.
const MOST_UNITS: f64 = 1e12;

/// What an experiment is to achieve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerGoal {
    /// False-positive rate (alpha).
    pub alpha: f64,
    /// Chance of detecting a real effect (power).
    pub power: f64,
}

impl Default for PowerGoal {
    fn default() -> PowerGoal {
        PowerGoal { alpha: 0.05, power: 0.8 }
    }
}

impl PowerGoal {
    /// Units in each of two arms, to find means that are `d` standard deviations apart (Welch's or Student's t, two-sided).
    pub fn two_means(&self, d: f64) -> MethodResult<f64> {
        let d = self.checked(d)?;
        self.search(2.0, |n| two_sided_power(d * (n / 2.0).sqrt(), 2.0 * n - 2.0, self.alpha))
    }

    /// Units in each of two arms, to tell shares of `control` and `candidate` apart.
    pub fn two_shares(&self, control: f64, candidate: f64) -> MethodResult<f64> {
        share("the share of control", control)?;
        share("the share of the candidate", candidate)?;
        let h = self.checked(2.0 * candidate.sqrt().asin() - 2.0 * control.sqrt().asin())?;
        let z = normal_quantile(1.0 - self.alpha / 2.0);
        self.search(0.0, |n| {
            let shift = h * (n / 2.0).sqrt();
            normal_sf(z - shift) + normal_sf(z + shift)
        })
    }

    /// Pairs, to find differences whose mean is `d` of their standard deviations.
    pub fn pairs(&self, d: f64) -> MethodResult<f64> {
        let d = self.checked(d)?;
        self.search(2.0, |n| two_sided_power(d * n.sqrt(), n - 1.0, self.alpha))
    }

    /// Units in all, in two equal arms, to find a difference of `mde` between means of values with this `variance`.
    pub fn in_all(&self, mde: f64, variance: f64) -> MethodResult<f64> {
        Ok(2.0
            * self
                .two_means(positive("the effect", mde.abs())? / positive("the variance", variance)?.sqrt())?)
    }

    /// Units in all, in two equal arms, to find the same with a confidence sequence at a single look; who peeks finds it earlier.
    /// `n_star` is where the sequence is narrowest; where it is left out, where it is needed.
    pub fn in_all_sequential(&self, mde: f64, variance: f64, n_star: Option<f64>) -> MethodResult<f64> {
        self.check()?;
        let needed = |n_star: f64| {
            // The variance of a difference of two means of n/2 each is 4 s²/n.
            let sequence = ConfidenceSequence { alpha: self.alpha, n_star, ..ConfidenceSequence::default() };
            sequence.units_needed(mde, 4.0 * positive("the variance", variance)?, self.power)
        };
        match n_star {
            Some(n_star) => needed(n_star),
            // Narrowest where it is needed is a fixed point; it is reached within a few steps.
            None => (0..12).try_fold(self.in_all(mde, variance)?, |n_star, _| needed(n_star)),
        }
    }

    /// How much more the freedom to look at any time costs, as a factor of the units of a fixed test.
    pub fn inflation(&self, mde: f64, variance: f64, n_star: Option<f64>) -> MethodResult<f64> {
        Ok(self.in_all_sequential(mde, variance, n_star)? / self.in_all(mde, variance)?)
    }

    fn check(&self) -> MethodResult<()> {
        level("alpha", self.alpha)?;
        level("the power", self.power)?;
        if self.power <= self.alpha {
            return Err(StatsError::OutOfRange { what: "the power", value: self.power, must: "above alpha" });
        }
        Ok(())
    }

    fn checked(&self, effect: f64) -> MethodResult<f64> {
        self.check()?;
        positive("the effect", effect.abs())
    }

    /// The least number at which an increasing power is what it is to be.
    fn search(&self, least: f64, power: impl Fn(f64) -> f64) -> MethodResult<f64> {
        let short = |n: f64| power(n) - self.power;
        let mut high = 4.0;
        while short(high) <= 0.0 {
            high *= 2.0;
            if high > MOST_UNITS {
                return Err(StatsError::Beyond { what: "the number of units", limit: MOST_UNITS });
            }
        }
        // Two values are the least that vary.
        Ok(bisect(least, high, short).max(2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::approx::{near, same};

    #[test]
    fn known_answers() {
        let goal = PowerGoal::default();
        near(goal.two_means(0.5).unwrap(), 63.77, 2);
        near(goal.two_shares(0.4, 0.5).unwrap(), 387.17, 2);
        near(goal.pairs(0.3).unwrap(), 89.15, 2);
        // This one is at a power of 0.85.
        let found = PowerGoal { power: 0.85, ..goal }.in_all(0.3, 100.0).unwrap();
        assert_eq!(found.ceil(), 39_906.0);
    }

    #[test]
    fn other_effects_are_those_of_statsmodels() {
        let goal = PowerGoal::default();
        near(goal.two_means(0.2).unwrap(), 393.40569, 5);
        near(goal.two_means(1.2).unwrap(), 11.94225767945852, 6);
        near(goal.two_means(-2.0).unwrap(), 5.08999456823225, 6);
        near(PowerGoal { power: 0.9, ..goal }.two_means(0.5).unwrap(), 85.0312841157341, 6);
        near(PowerGoal { power: 0.9, alpha: 0.01 }.two_means(0.5).unwrap(), 120.70548584929035, 6);
        near(goal.pairs(0.1).unwrap(), 786.808940181792, 5);
        near(goal.pairs(1.5).unwrap(), 5.686142097745736, 6);
        near(goal.two_shares(0.43, 0.63).unwrap(), 96.4239230974535, 6);
        near(goal.two_shares(0.02, 0.01).unwrap(), 2253.6552221125808, 5);
        near(goal.two_shares(0.95, 0.9).unwrap(), 423.7318628483572, 5);
    }

    #[test]
    fn looking_at_any_time_costs_units() {
        let goal = PowerGoal::default();
        let factor = goal.inflation(0.3, 1.0, None).unwrap();
        assert!(factor > 1.5 && factor < 2.5, "{factor}");
        assert!(goal.inflation(0.3, 1.0, Some(5000.0)).unwrap() > factor);
        // The best tuning is a little beyond where it is needed, and no other is much better.
        let best = goal.in_all_sequential(0.3, 1.0, None).unwrap();
        assert!(
            [0.5, 0.8, 1.3, 2.0].iter().all(|factor| {
                goal.in_all_sequential(0.3, 1.0, Some(best * factor)).unwrap() > 0.97 * best
            })
        );
    }

    #[test]
    fn effects_that_cannot_be_found_are_named() {
        let goal = PowerGoal::default();
        assert!(matches!(goal.two_means(0.0), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(goal.two_shares(0.4, 0.4), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(goal.two_shares(0.4, 1.4), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(goal.two_means(1e-9), Err(StatsError::Beyond { .. })));
        assert!(matches!(goal.in_all(0.3, 0.0), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(
            PowerGoal { alpha: 0.05, power: 0.05 }.two_means(0.5),
            Err(StatsError::OutOfRange { .. })
        ));
        assert!(matches!(
            PowerGoal { alpha: f64::NAN, power: 0.8 }.pairs(0.5),
            Err(StatsError::NotFinite { .. })
        ));
        same(goal.two_means(1e6).unwrap(), 2.0);
        same(goal.two_shares(0.0, 1.0).unwrap(), 2.0);
    }
}
