//! Both arms on the same tasks: differences within a task, which lack the variation between tasks. How much that saves is
//! measured ([`PairedMoments::saving`]), not assumed.
//!
//! Student's paired t ([`super::fixed::WelchTest::one_sample`]), the same as a confidence sequence
//! ([`super::sequential::ConfidenceSequence::one_sample`]), and Q. McNemar, "Note on the sampling error of the difference between correlated
//! proportions or percentages", Psychometrika 12 (1947), in its exact form.

use serde::{Deserialize, Serialize};

use super::special::incomplete_beta;
use super::{MethodResult, Moments, RunningMoments, StatsError};

/// Pairs of values, each of one task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedMoments {
    /// Candidate minus control, task by task.
    pub differences: Moments,
    /// The control's values.
    pub control: Moments,
    /// The candidate's values.
    pub candidate: Moments,
    /// How much of the variance of the difference of the means the pairing takes away: 1 − s_d² / (s_a² + s_b²). Below 0, it
    /// does harm.
    pub saving: f64,
}

/// Reads pairs as (control, candidate).
pub fn pairs(pairs: &[(f64, f64)]) -> MethodResult<PairedMoments> {
    if pairs.is_empty() {
        return Err(StatsError::Empty { what: "pairs" });
    }
    let (mut differences, mut control, mut candidate) =
        (RunningMoments::default(), RunningMoments::default(), RunningMoments::default());
    for (a, b) in pairs {
        control.push(*a)?;
        candidate.push(*b)?;
        differences.push(b - a)?;
    }
    let (differences, control, candidate) = (differences.moments(), control.moments(), candidate.moments());
    let apart = control.variance() + candidate.variance();
    let saving = if apart > 0.0 { 1.0 - differences.variance() / apart } else { 0.0 };
    Ok(PairedMoments { differences, control, candidate, saving })
}

/// The level of `only_control` tasks that only control did against `only_candidate` that only the candidate did; tasks that both
/// or neither did say nothing. Two-sided and exact: 2 P(X ≤ min) of a fair coin.
pub fn mcnemar_exact(only_control: u64, only_candidate: u64) -> f64 {
    let fewer = only_control.min(only_candidate) as f64;
    let n = only_control as f64 + only_candidate as f64;
    if only_control == only_candidate {
        return 1.0;
    }
    // P(X ≤ k) of n tosses is I_½(n − k, k + 1).
    (2.0 * incomplete_beta(n - fewer, fewer + 1.0, 0.5)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::approx::{near, same};

    #[test]
    fn mcnemar_is_exact() {
        near(mcnemar_exact(59, 113), 4.65489e-5, 10);
        same(mcnemar_exact(59, 113), 4.65489376895322e-5);
        same(mcnemar_exact(1, 3), 0.625);
        same(mcnemar_exact(10, 2), 0.03857421875);
        same(mcnemar_exact(5000, 5300), 0.003215819673645259);
        assert_eq!((mcnemar_exact(0, 0), mcnemar_exact(7, 7)), (1.0, 1.0));
        same(mcnemar_exact(0, 4), 0.125);
        near(mcnemar_exact(500_000, 501_000), 0.3180365408403385, 6);
    }

    #[test]
    fn what_pairing_saves_is_measured() {
        let alike = pairs(&[(1.0, 2.0), (5.0, 6.5), (9.0, 9.5), (3.0, 4.0)]).unwrap();
        assert!(alike.saving > 0.9, "{alike:?}");
        same(alike.differences.mean(), 1.0);
        let opposite = pairs(&[(1.0, 9.0), (9.0, 1.0), (5.0, 4.0)]).unwrap();
        assert!(opposite.saving < 0.0, "{opposite:?}");
        assert!(matches!(pairs(&[]), Err(StatsError::Empty { .. })));
        assert!(matches!(pairs(&[(1.0, f64::NAN)]), Err(StatsError::NotFinite { .. })));
        assert_eq!(pairs(&[(1.0, 1.0), (1.0, 1.0)]).unwrap().saving, 0.0);
    }
}
