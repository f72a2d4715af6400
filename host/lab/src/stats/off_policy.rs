//! Estimates the reward of another policy from logged decisions with their probabilities. An estimate is only as good as those
//! probabilities, which cannot be corrected afterwards, and worthless if the two policies hardly overlap:
//! [`PolicyValue::headline`] then returns an error.
//!
//! D. G. Horvitz, D. J. Thompson (1952) for IPS; A. Swaminathan, T. Joachims, "The Self-Normalized Estimator for Counterfactual
//! Learning", NeurIPS 2015 for SNIPS; M. Dudík, J. Langford, L. Li, "Doubly Robust Policy Evaluation and Learning", ICML 2011
//! (arXiv 1103.4601) for DM and DR; L. Kish, "Survey Sampling" (1965) for the effective sample size.

use serde::{Deserialize, Serialize};

use super::preconditions::{finite, positive, share};
use super::{InsufficientData, MethodResult, Moments, StatsError};

/// The effective sample size from which on a value may be put in a headline.
pub const MIN_EFFECTIVE: u64 = 30;

/// How far the chances of one decision may be from 1 together, for rounding in a log.
const ROUNDING: f64 = 1e-6;

/// One logged decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoggedDecision {
    /// What was done, from 0.
    pub action: usize,
    /// What it earned.
    pub reward: f64,
    /// The chance that it had to be done: the propensity.
    pub behaviour: f64,
    /// The chance that the other policy would have given to each action.
    pub target: Vec<f64>,
    /// A model's predicted reward of each action; needed for DM and DR.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub predicted: Vec<f64>,
}

/// The value of the other policy, by several estimators.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PolicyValue {
    /// Decisions.
    pub n: u64,
    /// How many decisions of the other policy they are worth: (Σw)² / Σw².
    pub effective: f64,
    /// The largest weight.
    pub largest_weight: f64,
    /// Σwr / n: unbiased, with a high variance.
    pub ips: f64,
    /// Its standard error; 0 of one decision.
    pub ips_se: f64,
    /// Σwr / Σw: a little biased, with much less variance. Absent if no weight is above 0.
    pub snips: Option<f64>,
    /// Its standard error.
    pub snips_se: Option<f64>,
    /// IPS with no weight above `clip`: biased downwards if rewards are positive.
    pub clipped_ips: f64,
    /// The largest weight it took.
    pub clip: f64,
    /// The model's prediction for the other policy.
    pub dm: Option<f64>,
    /// The model, corrected by the observed rewards.
    pub dr: Option<f64>,
    /// Its standard error.
    pub dr_se: Option<f64>,
    /// DR with the correction divided by Σw.
    pub sn_dr: Option<f64>,
}

impl PolicyValue {
    /// The best estimate there is (SN-DR with a model, else SNIPS), or that there is none worth a headline.
    pub fn headline(&self) -> MethodResult<f64> {
        let best = self.sn_dr.or(self.snips);
        match best {
            Some(best) if self.effective >= MIN_EFFECTIVE as f64 => Ok(best),
            _ => {
                let worth_thousandths = (self.effective * 1000.0) as u64;
                Err(InsufficientData::TooFewEffective { worth_thousandths, needed: MIN_EFFECTIVE }.into())
            }
        }
    }
}

/// Values the policy behind `target`, with weights w = target / behaviour of the logged action.
pub fn value(rows: &[LoggedDecision], clip: f64) -> MethodResult<PolicyValue> {
    positive("the largest weight allowed", clip)?;
    if rows.is_empty() {
        return Err(StatsError::Empty { what: "logged decisions" });
    }
    let with_model = rows.iter().all(|row| !row.predicted.is_empty());
    let weights = rows.iter().map(weight).collect::<MethodResult<Vec<f64>>>()?;
    let n = rows.len() as f64;
    let sum: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().map(|weight| weight * weight).sum();
    let effective = if squares > 0.0 { sum * sum / squares } else { 0.0 };

    let earned: Vec<f64> = rows.iter().zip(&weights).map(|(row, weight)| weight * row.reward).collect();
    let ips = Moments::of(&earned)?;
    let clipped_ips =
        rows.iter().zip(&weights).map(|(row, weight)| weight.min(clip) * row.reward).sum::<f64>() / n;
    let normalised = |value: f64| (sum > 0.0).then_some(value / sum);
    let snips = normalised(earned.iter().sum());
    let snips_se = snips.and_then(|snips| {
        let off = rows.iter().zip(&weights).map(|(row, weight)| (weight * (row.reward - snips)).powi(2));
        normalised(off.sum::<f64>().sqrt())
    });

    let mut value = PolicyValue {
        n: rows.len() as u64,
        effective,
        largest_weight: weights.iter().copied().fold(0.0, f64::max),
        ips: ips.mean(),
        ips_se: ips.variance_of_mean().sqrt(),
        snips,
        snips_se,
        clipped_ips,
        clip,
        dm: None,
        dr: None,
        dr_se: None,
        sn_dr: None,
    };
    if with_model {
        let model: Vec<f64> = rows.iter().map(expected).collect();
        let off =
            rows.iter().zip(&weights).map(|(row, weight)| weight * (row.reward - row.predicted[row.action]));
        let off: Vec<f64> = off.collect();
        let robust: Vec<f64> = model.iter().zip(&off).map(|(model, off)| model + off).collect();
        let robust = Moments::of(&robust)?;
        let dm = model.iter().sum::<f64>() / n;
        value.dm = Some(dm);
        value.dr = Some(robust.mean());
        value.dr_se = Some(robust.variance_of_mean().sqrt());
        value.sn_dr = normalised(off.iter().sum()).map(|correction| dm + correction);
    }
    let all = [value.effective, value.ips, value.clipped_ips, value.ips_se];
    for number in all.into_iter().chain(
        [value.snips, value.snips_se, value.dm, value.dr, value.dr_se, value.sn_dr].into_iter().flatten(),
    ) {
        finite("the value of the policy", number)?;
    }
    Ok(value)
}

/// Σ over all actions of target × predicted.
fn expected(row: &LoggedDecision) -> f64 {
    row.target.iter().zip(&row.predicted).map(|(target, predicted)| target * predicted).sum()
}

fn weight(row: &LoggedDecision) -> MethodResult<f64> {
    finite("a reward", row.reward)?;
    share("the chance of what was done", row.behaviour)?;
    positive("the chance of what was done", row.behaviour)?;
    for chance in &row.target {
        share("a chance of the target policy", *chance)?;
    }
    let sum: f64 = row.target.iter().sum();
    if (sum - 1.0).abs() > ROUNDING {
        return Err(StatsError::OutOfRange {
            what: "the sum of the target policy's chances",
            value: sum,
            must: "1: a chance for each action",
        });
    }
    let Some(target) = row.target.get(row.action) else {
        let value = row.action as f64;
        return Err(StatsError::OutOfRange {
            what: "an action",
            value,
            must: "one that the target policy knows",
        });
    };
    if !row.predicted.is_empty() && row.predicted.len() != row.target.len() {
        let (left, right) = (row.predicted.len(), row.target.len());
        return Err(StatsError::Lengths { what: "predictions", left, other: "chances", right });
    }
    for predicted in &row.predicted {
        finite("a prediction", *predicted)?;
    }
    Ok(target / row.behaviour)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::approx::{near, same};

    fn logged() -> Vec<LoggedDecision> {
        let actions = [0, 0, 1, 1, 0, 1, 0, 1];
        let rewards = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0];
        let behaviour = [0.8, 0.8, 0.2, 0.2, 0.5, 0.5, 0.8, 0.2];
        let taken = [0.1, 0.1, 0.9, 0.9, 0.5, 0.5, 0.1, 0.9];
        let row = |i: usize| {
            let mut target = vec![1.0 - taken[i]; 2];
            target[actions[i]] = taken[i];
            let (action, reward, behaviour) = (actions[i], rewards[i], behaviour[i]);
            LoggedDecision { action, reward, behaviour, target, predicted: vec![0.4, 0.7] }
        };
        (0..8).map(row).collect()
    }

    #[test]
    fn known_answers() {
        let found = value(&logged(), 3.0).unwrap();
        same(found.ips, 1.71875);
        near(found.snips.unwrap(), 0.866142, 6);
        same(found.dm.unwrap(), 0.64);
        same(found.dr.unwrap(), 1.02125);
        near(found.sn_dr.unwrap(), 0.832126, 6);
        same(found.clipped_ips, 1.15625);
        near(found.effective, 4.01319, 5);
        same(found.largest_weight, 4.5);
    }

    #[test]
    fn no_headline_before_there_is_enough() {
        let rows = logged();
        let why = value(&rows, 3.0).unwrap().headline().unwrap_err().not_yet();
        assert_eq!(why, Some(InsufficientData::TooFewEffective { worth_thousandths: 4013, needed: 30 }));
        let many: Vec<LoggedDecision> = rows.iter().cycle().take(80).cloned().collect();
        near(value(&many, 3.0).unwrap().headline().unwrap(), 0.832126, 6);
    }

    #[test]
    fn the_policy_that_decided_is_worth_what_it_earned() {
        let itself: Vec<LoggedDecision> = logged()
            .into_iter()
            .map(|row| {
                let mut target = vec![1.0 - row.behaviour; 2];
                target[row.action] = row.behaviour;
                LoggedDecision { target, predicted: Vec::new(), ..row }
            })
            .collect();
        let found = value(&itself, 3.0).unwrap();
        same(found.ips, 0.625);
        same(found.snips.unwrap(), 0.625);
        same(found.effective, 8.0);
        assert_eq!((found.dm, found.dr), (None, None));
    }

    #[test]
    fn logs_that_cannot_be_right_are_refused() {
        let with = |change: &dyn Fn(&mut LoggedDecision)| {
            let mut rows = logged();
            change(&mut rows[3]);
            value(&rows, 3.0)
        };
        assert!(matches!(with(&|row| row.behaviour = 0.0), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(with(&|row| row.behaviour = 1.2), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(with(&|row| row.reward = f64::NAN), Err(StatsError::NotFinite { .. })));
        assert!(matches!(with(&|row| row.action = 2), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(with(&|row| row.target = vec![0.1, 0.2]), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(with(&|row| row.predicted = vec![0.1]), Err(StatsError::Lengths { .. })));
        assert!(matches!(value(&[], 3.0), Err(StatsError::Empty { .. })));
        assert!(matches!(value(&logged(), 0.0), Err(StatsError::OutOfRange { .. })));
        // Nothing that was done would have been done: weights of 0, and no division by them.
        let never: Vec<LoggedDecision> = logged()
            .into_iter()
            .map(|row| LoggedDecision {
                target: if row.action == 0 { vec![0.0, 1.0] } else { vec![1.0, 0.0] },
                ..row
            })
            .collect();
        let found = value(&never, 3.0).unwrap();
        assert_eq!((found.effective, found.snips, found.sn_dr), (0.0, None, None));
    }
}
