//! CUPED: takes out of an outcome what a measure from before the assignment already told (the size of a task, say). The effect
//! stays what it was, its variance does not.
//!
//! A. Deng, Y. Xu, R. Kohavi, T. Walker, "Improving the Sensitivity of Online Controlled Experiments by Utilizing Pre-Experiment
//! Data", WSDM 2013; pooled θ as in GrowthBook's `gbstats` (`compute_theta`).

use serde::{Deserialize, Serialize};

use super::preconditions::finite;
use super::{JointMoments, MethodResult, Moments};

/// Both arms, adjusted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CupedAdjustment {
    /// cov(y, x) / var(x), over both arms.
    pub theta: f64,
    /// The control: y − θ (x − the mean of all x).
    pub control: Moments,
    /// The candidate, likewise.
    pub candidate: Moments,
    /// How much of the variance of the effect is gone: 0.4 is 40 %.
    pub saving: f64,
}

/// Adjusts y by x in both arms. `x` must be from before the assignment, or the effect itself is taken out.
pub fn adjust(control: &JointMoments, candidate: &JointMoments) -> MethodResult<CupedAdjustment> {
    let pooled = control.and(candidate);
    let spread = pooled.of_x()?.variance();
    let theta = if spread > 0.0 { finite("theta", pooled.covariance()? / spread)? } else { 0.0 };
    let centre = pooled.of_x()?.mean();
    let arm = |arm: &JointMoments| -> MethodResult<Moments> {
        let (y, x) = (arm.of_y()?, arm.of_x()?);
        let variance = y.variance() + theta * theta * x.variance() - 2.0 * theta * arm.covariance()?;
        Moments::new(arm.n, y.mean() - theta * (x.mean() - centre), variance.max(0.0))
    };
    let (adjusted_control, adjusted_candidate) = (arm(control)?, arm(candidate)?);
    let before = control.of_y()?.variance_of_mean() + candidate.of_y()?.variance_of_mean();
    let after = adjusted_control.variance_of_mean() + adjusted_candidate.variance_of_mean();
    let saving = if before > 0.0 { 1.0 - after / before } else { 0.0 };
    Ok(CupedAdjustment { theta, control: adjusted_control, candidate: adjusted_candidate, saving })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::approx::same;

    fn joint(values: &[(f64, f64)]) -> JointMoments {
        let mut joint = JointMoments::default();
        values.iter().for_each(|(y, x)| joint.push(*y, *x).unwrap());
        joint
    }

    #[test]
    fn the_adjustment_is_that_of_gbstats() {
        let control = joint(&[(5.0, 1.0), (7.0, 2.0), (9.0, 3.0), (4.0, 1.0), (6.0, 2.0), (8.0, 2.0)]);
        let candidate = joint(&[(6.0, 1.0), (9.0, 2.0), (11.0, 4.0), (5.0, 1.0), (8.0, 2.0)]);
        let adjusted = adjust(&control, &candidate).unwrap();
        same(adjusted.theta, 2.03061224489796);
        same(adjusted.control.variance(), 0.5569936137720388);
        same(adjusted.candidate.variance(), 0.716711786755523);
        same(adjusted.candidate.mean() - adjusted.control.mean(), 0.9615646258503396);
        // Centred, so that the means stay what people know: gbstats has 2.777 and no θ times the mean of x.
        same(adjusted.control.mean(), 2.7772108843537398 + 2.03061224489796 * 1.9090909090909092);
        assert!(adjusted.saving > 0.5, "{adjusted:?}");
    }

    #[test]
    fn a_covariate_that_says_nothing_changes_nothing() {
        let control = joint(&[(5.0, 1.0), (7.0, 1.0), (9.0, 1.0)]);
        let candidate = joint(&[(6.0, 1.0), (9.0, 1.0)]);
        let adjusted = adjust(&control, &candidate).unwrap();
        assert_eq!((adjusted.theta, adjusted.saving), (0.0, 0.0));
        assert_eq!(adjusted.control, control.of_y().unwrap());
        let broken = JointMoments { products: f64::NAN, ..joint(&[(5.0, 1.0), (7.0, 2.0)]) };
        assert!(adjust(&broken, &candidate).is_err());
    }
}
