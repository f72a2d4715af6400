//! One outcome of one candidate against control: from values to an effect with its interval. Judges nothing.

use std::collections::BTreeMap;

use super::metrics::{MetricSpec, OBJECTIVES};
use super::options::{AnalysisSchedule, CompareOptions, ComparisonDesign};
use super::{ConfidenceInterval, MetricScale, SequencePoint};
use crate::stats::fixed::WelchTest;
use crate::stats::paired::PairedMoments;
use crate::stats::sequential::ConfidenceSequence;
use crate::stats::{
    ArmSide, DataRequirements, EffectScale, Estimate, InsufficientData, MethodResult, Moments,
    RunningMoments, StatsError, betting, paired,
};

/// An outcome of a run. Runs are in order of their arrival.
#[derive(Clone, Debug)]
pub(super) struct UnitValue {
    /// Place in the order of arrival over all arms.
    pub(super) arrived: u64,
    /// What is counted once.
    pub(super) unit: String,
    /// The value on the tested scale; none if it is not known yet, or if the run has no value for this metric.
    pub(super) tested: Option<f64>,
    /// The value as a share from 0 to 1, if the metric allows it: the input of the betting test.
    pub(super) share: Option<f64>,
}

/// An effect in numbers.
#[derive(Clone, Debug)]
pub(super) struct EffectEstimate {
    /// Units that it rests on: of both arms, or pairs.
    pub(super) n: u64,
    pub(super) absolute: Option<ConfidenceInterval>,
    pub(super) relative: Option<ConfidenceInterval>,
    pub(super) p: f64,
    pub(super) method: &'static str,
    /// The effect over time, if the method computes it anyway.
    path: Vec<SequencePoint>,
}

impl EffectEstimate {
    pub(super) fn shown(&self) -> Option<ConfidenceInterval> {
        self.relative.or(self.absolute)
    }

    fn point(&self) -> Option<SequencePoint> {
        let ConfidenceInterval { value, lower, upper } = self.shown()?;
        Some(SequencePoint { n: self.n, value, lower, upper })
    }
}

/// What pairs are worth.
pub(super) struct VarianceReduction {
    pub(super) pairs: u64,
    pub(super) correlation: Option<f64>,
    pub(super) saving: f64,
}

/// A comparison of two arms on one outcome.
pub(super) struct ArmComparison<'a> {
    pub(super) spec: &'a MetricSpec,
    pub(super) options: &'a CompareOptions,
    pub(super) control: &'a [UnitValue],
    pub(super) candidate: &'a [UnitValue],
}

impl ArmComparison<'_> {
    /// The effect.
    pub(super) fn numbers(&self) -> MethodResult<EffectEstimate> {
        if self.spec.scale == MetricScale::Proportion {
            return self.proportion();
        }
        match self.means() {
            Err(StatsError::NotYet(InsufficientData::NoVariance { .. })) if self.spec.id == OBJECTIVES => {
                match self.is_alike() && self.options.looks == AnalysisSchedule::Once {
                    true => self.alike_shares(),
                    // An arm that finishes everything has no variance. A bet needs none, and is exact for shares.
                    false => self.shares(),
                }
            }
            Err(StatsError::NotYet(InsufficientData::NoVariance { .. })) if self.is_alike() => {
                Ok(self.alike())
            }
            numbers => numbers,
        }
    }

    /// The effect as units came in, at no more than `most` moments.
    pub(super) fn path(&self, most: usize) -> Vec<SequencePoint> {
        let whole = match self.numbers() {
            Ok(numbers) if numbers.path.is_empty() => numbers,
            Ok(numbers) => return numbers.path,
            Err(_) => return Vec::new(),
        };
        let mut arrivals: Vec<u64> =
            self.control.iter().chain(self.candidate).map(|value| value.arrived).collect();
        arrivals.sort_unstable();
        let every = arrivals.len().div_ceil(most.max(1)).max(1);
        let moments = arrivals
            .iter()
            .enumerate()
            .filter(|(index, _)| (arrivals.len() - 1 - index).is_multiple_of(every));
        moments
            .filter_map(|(_, until)| {
                let upto = |values: &'_ [UnitValue]| values.partition_point(|value| value.arrived <= *until);
                let (control, candidate) =
                    (&self.control[..upto(self.control)], &self.candidate[..upto(self.candidate)]);
                let then = ArmComparison { control, candidate, ..*self }.means().ok()?;
                // A share of control's mean and a difference are not drawn in one line.
                (then.relative.is_some() == whole.relative.is_some()).then(|| then.point())?
            })
            .collect()
    }

    /// How much variance the pairing removes, if units are paired.
    pub(super) fn worth(&self) -> Option<VarianceReduction> {
        let found = paired::pairs(&self.pairs(|value| value.tested)).ok()?;
        let spread = (found.control.variance() * found.candidate.variance()).sqrt();
        let apart = found.control.variance() + found.candidate.variance() - found.differences.variance();
        let correlation = (spread > 0.0).then(|| (apart / (2.0 * spread)).clamp(-1.0, 1.0));
        Some(VarianceReduction { pairs: found.differences.n(), correlation, saving: found.saving })
    }

    fn guard(&self) -> DataRequirements {
        DataRequirements { min_per_arm: self.options.min_per_arm, needs_variance: true }
    }

    fn is_paired(&self) -> bool {
        self.options.design == ComparisonDesign::PairedBySeed
    }

    /// The i-th of both arms, where both are known.
    fn pairs(&self, of: impl Fn(&UnitValue) -> Option<f64>) -> Vec<(f64, f64)> {
        let both = self.control.iter().zip(self.candidate);
        both.filter_map(|(a, b)| Some((of(a)?, of(b)?))).collect()
    }

    fn two_sample(
        &self,
        control: &Moments,
        candidate: &Moments,
        scale: EffectScale,
    ) -> MethodResult<Estimate> {
        let CompareOptions { alpha, n_star, looks, .. } = *self.options;
        let guard = self.guard();
        match looks {
            AnalysisSchedule::AnyTime => {
                ConfidenceSequence { alpha, n_star, scale, guard }.two_sample(control, candidate)
            }
            AnalysisSchedule::Once => WelchTest { alpha, scale, guard }.two_sample(control, candidate),
        }
    }

    fn paired(&self, pairs: &PairedMoments, scale: EffectScale) -> MethodResult<Estimate> {
        let CompareOptions { alpha, n_star, looks, .. } = *self.options;
        let guard = self.guard();
        match looks {
            AnalysisSchedule::AnyTime => ConfidenceSequence { alpha, n_star, scale, guard }.paired(pairs),
            AnalysisSchedule::Once => WelchTest { alpha, scale, guard }.paired(pairs),
        }
    }

    /// Whether both of every pair came to the same: an arm that never decides otherwise on a seed does nothing else there.
    fn is_alike(&self) -> bool {
        let pairs = self.pairs(|value| value.tested);
        let is_enough = pairs.len() as u64 >= self.options.min_per_arm;
        self.is_paired() && is_enough && pairs.iter().all(|(a, b)| a == b)
    }

    fn alike(&self) -> EffectEstimate {
        let none = ConfidenceInterval { value: 0.0, lower: 0.0, upper: 0.0 };
        let is_log = self.spec.scale == MetricScale::LogRatio;
        EffectEstimate {
            n: self.pairs(|value| value.tested).len() as u64,
            absolute: (!is_log).then_some(none),
            relative: Some(none),
            p: 1.0,
            method: "the same in every pair",
            path: Vec::new(),
        }
    }

    /// As many objectives in both of every pair. That no pair of `n` differs bounds how often one would, by the exact interval of Clopper
    /// and Pearson (Biometrika 26, 1934): 1 − (α/2)^(1/n). A pair that differs does so by all objectives at most.
    fn alike_shares(&self) -> MethodResult<EffectEstimate> {
        let n = self.pairs(|value| value.tested).len() as u64;
        let often = 1.0 - (self.options.alpha / 2.0).powf(1.0 / n.max(1) as f64);
        let base = Moments::of(&clusters(self.control, |value| value.share))?.mean();
        let around = |end: f64| ConfidenceInterval { value: 0.0, lower: -end, upper: end };
        let of_control = (base > 0.0).then(|| often / base);
        let mean = moments(self.control)?.mean();
        Ok(EffectEstimate {
            n,
            absolute: Some(around(of_control.map_or(often, |share| share * mean))),
            relative: of_control.map(around),
            p: 1.0,
            method: "exact bound for pairs that differ, since none does",
            path: Vec::new(),
        })
    }

    fn means(&self) -> MethodResult<EffectEstimate> {
        let (difference, share) = if self.is_paired() { self.paired_means()? } else { self.arm_means()? };
        let method = match (self.options.looks, self.is_paired()) {
            (AnalysisSchedule::AnyTime, false) => "asymptotic confidence sequence of two means",
            (AnalysisSchedule::AnyTime, true) => "asymptotic confidence sequence of differences within pairs",
            (AnalysisSchedule::Once, false) => "Welch's t, one look",
            (AnalysisSchedule::Once, true) => "paired t, one look",
        };
        let numbers = |absolute: Option<Estimate>, relative: Option<Estimate>, by: Estimate| EffectEstimate {
            n: by.n,
            absolute: absolute.map(interval),
            relative: relative.map(interval),
            p: by.p,
            method,
            path: Vec::new(),
        };
        Ok(match self.spec.scale {
            MetricScale::LogRatio => {
                let mut numbers = numbers(None, Some(difference.exp()), difference);
                numbers.relative = numbers.relative.map(|ratio| ratio.map(|end| end - 1.0));
                numbers
            }
            _ => numbers(Some(difference), share, difference),
        })
    }

    /// The difference, which is the tested quantity, and the same as a share of control's mean if that can be computed.
    fn arm_means(&self) -> MethodResult<(Estimate, Option<Estimate>)> {
        let (control, candidate) = (moments(self.control)?, moments(self.candidate)?);
        let difference = self.two_sample(&control, &candidate, EffectScale::Difference)?;
        Ok((difference, self.two_sample(&control, &candidate, EffectScale::Relative).ok()))
    }

    fn paired_means(&self) -> MethodResult<(Estimate, Option<Estimate>)> {
        let pairs = self.pairs(|value| value.tested);
        if pairs.is_empty() {
            let needed = self.options.min_per_arm.max(2);
            return Err(InsufficientData::TooFew { side: ArmSide::Candidate, n: 0, needed }.into());
        }
        let pairs = &paired::pairs(&pairs)?;
        let difference = self.paired(pairs, EffectScale::Difference)?;
        Ok((difference, self.paired(pairs, EffectScale::Relative).ok()))
    }

    /// Shares of units, as differences in points: rare as they may be.
    fn proportion(&self) -> MethodResult<EffectEstimate> {
        if self.options.looks == AnalysisSchedule::Once {
            match self.means() {
                // Rarely or never: the t test has nothing to go by.
                Err(StatsError::NotYet(InsufficientData::NoVariance { .. })) => {}
                numbers => return numbers.map(|numbers| EffectEstimate { relative: None, ..numbers }),
            }
        }
        self.bets(|value| value.tested, "betting on runs in the order of their arrival")
    }

    /// Objectives done, as shares of those that there are.
    fn shares(&self) -> MethodResult<EffectEstimate> {
        let mut numbers = self.bets(
            |value| value.share,
            "betting on the share of objectives done, since an arm does not vary",
        )?;
        let base = Moments::of(&clusters(self.control, |value| value.share))?.mean();
        if base > 0.0 {
            let of_control = |end: f64| end / base;
            numbers.relative = numbers.absolute.map(|points| points.map(of_control));
            for point in &mut numbers.path {
                let SequencePoint { value, lower, upper, .. } = *point;
                (point.value, point.lower, point.upper) =
                    (of_control(value), of_control(lower), of_control(upper));
            }
            // In objectives a run, as the means are.
            let mean = moments(self.control)?.mean();
            numbers.absolute = numbers.relative.map(|share| share.map(|end| end * mean));
            return Ok(numbers);
        }
        // Control has done none, so the candidate alone says how many objectives a run has.
        let done = Moments::of(&clusters(self.candidate, |value| value.share))?.mean();
        if done > 0.0 {
            let of_a_run = moments(self.candidate)?.mean() / done;
            numbers.absolute = numbers.absolute.map(|share| share.map(|end| end * of_a_run));
            for point in &mut numbers.path {
                let SequencePoint { value, lower, upper, .. } = *point;
                (point.value, point.lower, point.upper) =
                    (of_a_run * value, of_a_run * lower, of_a_run * upper);
            }
        }
        Ok(numbers)
    }

    fn bets(
        &self,
        of: impl Fn(&UnitValue) -> Option<f64> + Copy,
        method: &'static str,
    ) -> MethodResult<EffectEstimate> {
        let (control, candidate): (Vec<f64>, Vec<f64>) = if self.is_paired() {
            self.pairs(of).into_iter().unzip()
        } else {
            (clusters(self.control, of), clusters(self.candidate, of))
        };
        let CompareOptions { alpha, path_points, .. } = *self.options;
        let found = betting::two_arms(&control, &candidate, (0.0, 1.0), alpha, path_points)?;
        let absolute = Some(interval(found.estimate));
        Ok(EffectEstimate {
            n: found.estimate.n,
            absolute,
            relative: None,
            p: found.estimate.p,
            method,
            path: found.path,
        })
    }
}

fn interval(of: Estimate) -> ConfidenceInterval {
    ConfidenceInterval { value: of.value, lower: of.lower, upper: of.upper }
}

/// The mean of each unit, in the order of its first run.
fn clusters(values: &[UnitValue], of: impl Fn(&UnitValue) -> Option<f64>) -> Vec<f64> {
    let mut place: BTreeMap<&str, usize> = BTreeMap::new();
    let mut means: Vec<RunningMoments> = Vec::new();
    for value in values {
        // What is not a finite number was not measured.
        let Some(number) = of(value).filter(|number| number.is_finite()) else { continue };
        let index = *place.entry(&value.unit).or_insert_with(|| {
            means.push(RunningMoments::default());
            means.len() - 1
        });
        let _always_finite = means[index].push(number);
    }
    means.iter().map(|mean| mean.moments().mean()).collect()
}

/// Moments of an arm, one value a unit.
pub(super) fn moments(values: &[UnitValue]) -> MethodResult<Moments> {
    Moments::of(&clusters(values, |value| value.tested))
}
