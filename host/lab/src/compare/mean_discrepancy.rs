//! An effect that is not the difference of the two means beside it: units were put beside each other in the order of their arrival,
//! and those of the larger arm that have no counterpart yet are in its mean and not in the effect.

use super::number_format::points;
use super::options::CompareOptions;
use super::{Effect, Metric, MetricScale};

/// Shares that are closer than this read alike.
const DISPLAY_TOLERANCE: f64 = 0.005;

/// How far the shown means are apart, beside an effect that says something else.
pub(super) struct MeanDiscrepancy<'a> {
    metric: &'a Metric,
    effect: &'a Effect,
    /// Units of control and of the candidate.
    n: (u64, u64),
    /// Of the means, as a share of control or in points.
    difference: f64,
}

/// Nothing where the effect is what the means say.
pub(super) fn of<'a>(metric: &'a Metric, effect: &'a Effect) -> Option<MeanDiscrepancy<'a>> {
    let (control, candidate) = (metric.arms.first()?, metric.arms.iter().find(|arm| arm.arm == effect.arm)?);
    let (a, b) = (control.mean?, candidate.mean?);
    let (difference, shown) = match (effect.relative, metric.scale) {
        (Some(relative), _) if a > 0.0 => (b / a - 1.0, relative.value),
        (None, MetricScale::Proportion) => (b - a, effect.absolute?.value),
        _ => return None,
    };
    let is_apart = (difference - shown).abs() > DISPLAY_TOLERANCE;
    is_apart.then_some(MeanDiscrepancy { metric, effect, n: (control.n, candidate.n), difference })
}

impl MeanDiscrepancy<'_> {
    /// "35 pairs by order of arrival; over all 37 and 35 runs the shares differ by 2.2 points"
    pub(super) fn words(&self, options: &CompareOptions) -> String {
        let Self { metric, effect, n: (control, candidate), difference } = self;
        let (unit, pairs, much) = (options.design.unit(), effect.n / 2, points(*difference));
        let (what, much) = match metric.scale {
            MetricScale::Proportion => ("shares", format!("{much} points")),
            MetricScale::Mean | MetricScale::LogRatio => ("means", format!("{much} %")),
        };
        format!(
            "{pairs} pairs by order of arrival; over all {control} and {candidate} {unit}s the {what} differ by {much}"
        )
    }
}
