//! Confidence sequences for means: intervals that hold at every moment at once, so one may look as often as one likes and stop
//! whenever one wants. They are asymptotic, which is what [`DataRequirements`] is for.
//!
//! I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy, A. Ramdas, "Time-uniform central limit theory and asymptotic
//! confidence sequences", arXiv 2103.06476 (equations 9, 155 and 161 of version 7); as GrowthBook's
//! `SequentialTwoSidedTTest` has it. Relative effects have the level of the difference, and Fieller's interval.

use serde::{Deserialize, Serialize};

use super::paired::PairedMoments;
use super::preconditions::{level, positive};
use super::ratio::MeanPair;
use super::special::normal_quantile;
use super::{
    ArmSide, DataRequirements, EffectScale, Estimate, InsufficientData, MethodResult, Moments,
    RunningMoments, StatsError,
};

/// Units, both arms together, at which the sequence is narrowest. Agent work is decided by a few hundred runs.
pub const DEFAULT_N_STAR: f64 = 400.0;

/// Numbers of units beyond which no search goes.
const MOST_UNITS: f64 = 1e12;

/// An asymptotic confidence sequence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceSequence {
    /// False-positive rate over any number of looks.
    pub alpha: f64,
    /// Units, both arms together, at which it is narrowest. To be fixed before the first look.
    pub n_star: f64,
    /// What the effect is measured in.
    pub scale: EffectScale,
    /// How much data it asks for.
    pub guard: DataRequirements,
}

impl Default for ConfidenceSequence {
    fn default() -> ConfidenceSequence {
        ConfidenceSequence {
            alpha: 0.05,
            n_star: DEFAULT_N_STAR,
            scale: EffectScale::Difference,
            guard: DataRequirements::default(),
        }
    }
}

/// The sequence at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SequencePoint {
    /// Units until then, both arms together.
    pub n: u64,
    /// The effect.
    pub value: f64,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl ConfidenceSequence {
    /// ρ = √((−2 ln α + ln(1 − 2 ln α)) / N*).
    pub fn rho(&self) -> MethodResult<f64> {
        let twice = -2.0 * level("alpha", self.alpha)?.ln();
        Ok(((twice + twice.ln_1p()) / positive("N*", self.n_star)?).sqrt())
    }

    /// How many standard errors wide each half is at `n` units: √(2 (nρ² + 1) ln(√(nρ² + 1) / α) / (nρ²)).
    pub fn boundary(&self, n: f64) -> MethodResult<f64> {
        let grown = positive("the number of units", n)? * self.rho()?.powi(2);
        let ln = 0.5 * grown.ln_1p() - self.alpha.ln();
        Ok((2.0 * (grown + 1.0) * ln / grown).sqrt())
    }

    /// The effect of the candidate, with its interval and the level against none, both valid at any time.
    pub fn two_sample(&self, control: &Moments, candidate: &Moments) -> MethodResult<Estimate> {
        self.guard.check(ArmSide::Control, control)?;
        self.guard.check(ArmSide::Candidate, candidate)?;
        self.of_means(control.n() + candidate.n(), &MeanPair::of_arms(control, candidate))
    }

    /// The same of pairs.
    pub fn paired(&self, pairs: &PairedMoments) -> MethodResult<Estimate> {
        self.guard.check(ArmSide::Candidate, &pairs.differences)?;
        self.of_means(pairs.differences.n(), &MeanPair::of_pairs(pairs))
    }

    /// The test is of the difference, on either scale.
    fn of_means(&self, n: u64, means: &MeanPair) -> MethodResult<Estimate> {
        let (value, variance) = means.difference()?;
        let difference = self.estimate(n, value, variance)?;
        match self.scale {
            EffectScale::Difference => Ok(difference),
            EffectScale::Relative => means.relative(&difference, self.boundary(n as f64)?),
        }
    }

    /// The mean of differences of pairs; no effect is 0.
    pub fn one_sample(&self, differences: &Moments) -> MethodResult<Estimate> {
        self.guard.check(ArmSide::Candidate, differences)?;
        self.estimate(differences.n(), differences.mean(), differences.variance_of_mean())
    }

    /// value ± se · [`ConfidenceSequence::boundary`], p = min(1, √(nρ² + 1) · exp(−ρ²S² / (2 (nρ² + 1)))), S² = (value/se)² n.
    fn estimate(&self, n: u64, value: f64, variance: f64) -> MethodResult<Estimate> {
        if variance <= 0.0 {
            return Err(InsufficientData::NoVariance { side: ArmSide::Control, n }.into());
        }
        let width = variance.sqrt() * self.boundary(n as f64)?;
        let grown = n as f64 * self.rho()?.powi(2);
        let ln_evidence = grown * (value * value / variance) / (2.0 * (grown + 1.0)) - 0.5 * grown.ln_1p();
        Estimate::new(n, value, [value - width, value + width], (-ln_evidence).exp())
    }

    /// The sequence over time, from the arms at each moment, in order. Moments without an estimate have no point. With
    /// `intersect` each interval is intersected with the earlier ones, as a confidence sequence allows. An empty intersection
    /// happens at most as often as the sequence is wrong; the intersection then starts again from the current interval.
    pub fn path(
        &self,
        moments: impl IntoIterator<Item = (Moments, Moments)>,
        intersect: bool,
    ) -> MethodResult<Vec<SequencePoint>> {
        let mut points: Vec<SequencePoint> = Vec::new();
        for (control, candidate) in moments {
            let estimate = match self.two_sample(&control, &candidate) {
                Ok(estimate) => estimate,
                Err(StatsError::NotYet(_)) => continue,
                Err(error) => return Err(error),
            };
            let Estimate { n, value, lower, upper, .. } = estimate;
            let mut point = SequencePoint { n, value, lower, upper };
            if let Some(before) = points.last().filter(|_| intersect) {
                let (low, high) = (lower.max(before.lower), upper.min(before.upper));
                if low <= high {
                    (point.lower, point.upper) = (low, high);
                }
            }
            points.push(point);
        }
        Ok(points)
    }

    /// [`ConfidenceSequence::path`] of values in the order in which they came, with no more than `most` points, the last among them.
    pub fn path_of(
        &self,
        arrivals: &[(ArmSide, f64)],
        most: usize,
        intersect: bool,
    ) -> MethodResult<Vec<SequencePoint>> {
        let every = arrivals.len().div_ceil(most.max(1)).max(1);
        let (mut control, mut candidate) = (RunningMoments::default(), RunningMoments::default());
        let mut moments = Vec::new();
        for (index, (side, value)) in arrivals.iter().enumerate() {
            match side {
                ArmSide::Control => control.push(*value)?,
                ArmSide::Candidate => candidate.push(*value)?,
            }
            let left = arrivals.len() - 1 - index;
            if left.is_multiple_of(every) {
                moments.push((control.moments(), candidate.moments()));
            }
        }
        self.path(moments, intersect)
    }

    /// Units, both arms together, at which an effect of `effect` leaves the interval with the chance `power` at a single look
    /// there; who looks oftener finds it earlier. `unit_variance` is the variance of the estimate times the units it rests
    /// on: what stays the same as arms grow.
    pub fn units_needed(&self, effect: f64, unit_variance: f64, power: f64) -> MethodResult<f64> {
        let per_unit =
            positive("the effect", effect.abs())? / positive("the variance", unit_variance)?.sqrt();
        let beyond = normal_quantile(level("the power", power)?);
        // Standard errors of the effect grow with √n, the boundary slower: they cross once.
        self.boundary(1.0)?;
        let short = |n: f64| n.sqrt() * per_unit - self.boundary(n).unwrap_or(f64::INFINITY) - beyond;
        if short(MOST_UNITS) <= 0.0 {
            return Err(StatsError::Beyond { what: "the number of units", limit: MOST_UNITS });
        }
        Ok(super::special::bisect(0.0, MOST_UNITS, short))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::approx::{near, same};

    /// The two samples of the published tests of gbstats.
    fn arms(n: u64) -> (Moments, Moments) {
        let control = Moments::from_sums(n, 1396.87, 52377.9767).unwrap();
        (control, Moments::from_sums(3461, 2422.7, 134698.29).unwrap())
    }

    #[test]
    fn known_answers_of_gbstats() {
        let (control, candidate) = arms(3000);
        let with = |n_star, scale| ConfidenceSequence { n_star, scale, ..ConfidenceSequence::default() };
        let found = with(1000.0, EffectScale::Relative).two_sample(&control, &candidate).unwrap();
        near(found.value, 0.50336, 5);
        // By bisection of |b − (1 + θ) a| = 3.18465 √(v_b + (1 + θ)² v_a), in another language.
        near(found.lower, -0.30300132364, 9);
        near(found.upper, 2.4159074048, 9);
        same(found.p, 1.0);
        near(
            with(300.0, EffectScale::Relative).two_sample(&control, &candidate).unwrap().upper,
            2.61384463794,
            9,
        );
        same(
            with(300.0, EffectScale::Difference).two_sample(&control, &candidate).unwrap().lower,
            -0.20019117944848153,
        );
        let shares = |successes| Moments::of_proportion(successes, 200).unwrap();
        let found = with(400.0, EffectScale::Difference).two_sample(&shares(86), &shares(126)).unwrap();
        same(found.lower, 0.051212362612732265);
        same(found.p, 0.001842828741160546);
    }

    #[test]
    fn the_level_is_that_at_which_the_interval_ends_at_zero() {
        let (control, candidate) =
            (Moments::new(150, 1.0, 2.0).unwrap(), Moments::new(130, 1.7, 1.5).unwrap());
        let p = ConfidenceSequence::default().two_sample(&control, &candidate).unwrap().p;
        // The tuning depends on α, so that it is held fixed here by N*.
        let rho = ConfidenceSequence::default().rho().unwrap();
        let at_p = ConfidenceSequence { alpha: p, ..ConfidenceSequence::default() };
        let n_star = at_p.n_star * (at_p.rho().unwrap() / rho).powi(2);
        let at_p = ConfidenceSequence { n_star, ..at_p }.two_sample(&control, &candidate).unwrap();
        assert!(at_p.lower.abs() < 1e-9, "{at_p:?}");
    }

    #[test]
    fn a_path_has_a_last_point_and_no_more_points_than_asked_for() {
        let arrivals: Vec<(ArmSide, f64)> = (0..301)
            .map(|i| {
                let side = if i % 2 == 0 { ArmSide::Control } else { ArmSide::Candidate };
                (side, f64::from(i * 7 % 13) + if i % 2 == 0 { 0.0 } else { 4.0 })
            })
            .collect();
        let sequence = ConfidenceSequence::default();
        let path = sequence.path_of(&arrivals, 50, false).unwrap();
        assert!(path.len() <= 50 && path.len() > 30, "{}", path.len());
        assert_eq!(path.last().unwrap().n, 301);
        assert!(path[0].n >= 40, "the guard holds: {:?}", path[0]);
        let cut = sequence.path_of(&arrivals, 50, true).unwrap();
        for pair in cut.windows(2) {
            assert!(pair[1].lower >= pair[0].lower && pair[1].upper <= pair[0].upper);
        }
        assert_eq!(sequence.path_of(&arrivals, 0, false).unwrap().len(), 1);
        assert_eq!(sequence.path_of(&[], 50, false).unwrap(), []);
        assert!(sequence.path_of(&[(ArmSide::Control, f64::NAN)], 50, false).is_err());
    }

    #[test]
    fn units_needed_are_those_at_which_the_interval_is_so_narrow() {
        let sequence = ConfidenceSequence::default();
        let needed = sequence.units_needed(0.2, 1.0, 0.5).unwrap();
        // At a power of a half the interval is as wide as the effect.
        let width = sequence.boundary(needed).unwrap() * (1.0 / needed).sqrt();
        same(width, 0.2);
        assert!(sequence.units_needed(0.2, 1.0, 0.8).unwrap() > needed);
        assert!(matches!(sequence.units_needed(0.0, 1.0, 0.8), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(sequence.units_needed(1e-9, 1.0, 0.8), Err(StatsError::Beyond { .. })));
        let never = ConfidenceSequence { n_star: 0.0, ..sequence };
        assert!(never.units_needed(0.2, 1.0, 0.8).is_err());
    }
}
