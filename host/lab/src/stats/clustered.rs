//! Several runs of one task are not several tasks. Either each task counts once ([`means`]), or the variance is that of tasks
//! ([`robust`]); runs taken for independent raise an alarm in a fifth of all A/A tests (measured in `tests/lab/stats_gates/mod.rs`).
//!
//! K.-Y. Liang, S. L. Zeger, "Longitudinal data analysis using generalized linear models", Biometrika 73 (1986); the correction CR1
//! as in A. C. Cameron, D. L. Miller, "A Practitioner's Guide to Cluster-Robust Inference", Journal of Human Resources 50 (2015).

use std::collections::BTreeMap;

use super::preconditions::{finite, level};
use super::special::{t_quantile, t_sf};
use super::{ArmSide, Estimate, InsufficientData, MethodResult, Moments, RunningMoments};

/// One run: its task, its arm, what it came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClusterRow<K> {
    /// The task.
    pub cluster: K,
    /// The arm.
    pub side: ArmSide,
    /// The value.
    pub value: f64,
}

/// The moments of both arms, (control, candidate), with each task as one value in an arm: the mean of its runs there. For
/// [`super::sequential`] and [`super::fixed`], where a task is in one arm, which is how Baton assigns.
pub fn means<K: Ord>(rows: &[ClusterRow<K>]) -> MethodResult<(Moments, Moments)> {
    let mut tasks: BTreeMap<(ArmSide, &K), RunningMoments> = BTreeMap::new();
    for row in rows {
        tasks.entry((row.side, &row.cluster)).or_default().push(row.value)?;
    }
    let (mut control, mut candidate) = (RunningMoments::default(), RunningMoments::default());
    for ((side, _), runs) in &tasks {
        let arm = match side {
            ArmSide::Control => &mut control,
            ArmSide::Candidate => &mut candidate,
        };
        arm.push(runs.moments().mean())?;
    }
    Ok((control.moments(), candidate.moments()))
}

/// The difference of the means of all runs, with the variance of tasks (CR1) and t of as many tasks less one; for one look. A task may
/// be in both arms. `needed` is the number of tasks that are asked for in each arm.
pub fn robust<K: Ord>(rows: &[ClusterRow<K>], alpha: f64, needed: u64) -> MethodResult<Estimate> {
    level("alpha", alpha)?;
    let (mut control, mut candidate) = (RunningMoments::default(), RunningMoments::default());
    for row in rows {
        match row.side {
            ArmSide::Control => control.push(row.value)?,
            ArmSide::Candidate => candidate.push(row.value)?,
        }
    }
    let (a, b) = (control.moments(), candidate.moments());
    // What each task adds to the error of the difference.
    let mut tasks: BTreeMap<&K, (f64, [bool; 2])> = BTreeMap::new();
    for row in rows {
        let (sum, sides) = tasks.entry(&row.cluster).or_default();
        match row.side {
            ArmSide::Control => *sum -= (row.value - a.mean()) / a.n() as f64,
            ArmSide::Candidate => *sum += (row.value - b.mean()) / b.n() as f64,
        }
        sides[row.side as usize] = true;
    }
    for side in [ArmSide::Control, ArmSide::Candidate] {
        let n = tasks.values().filter(|(_, sides)| sides[side as usize]).count() as u64;
        let needed = needed.max(2);
        if n < needed {
            return Err(InsufficientData::TooFew { side, n, needed }.into());
        }
    }
    let (clusters, n) = (tasks.len() as f64, rows.len() as f64);
    let correction = clusters / (clusters - 1.0) * ((n - 1.0) / (n - 2.0));
    let variance = correction * tasks.values().map(|(sum, _)| sum * sum).sum::<f64>();
    if finite("the variance", variance)? <= 0.0 {
        return Err(InsufficientData::NoVariance { side: ArmSide::Control, n: a.n() }.into());
    }
    let (value, se, df) = (b.mean() - a.mean(), variance.sqrt(), clusters - 1.0);
    let width = t_quantile(1.0 - alpha / 2.0, df) * se;
    let p = (2.0 * t_sf((value / se).abs(), df)).min(1.0);
    Estimate::new(rows.len() as u64, value, [value - width, value + width], p)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::StatsError;
    use crate::stats::approx::{near, same};

    fn rows() -> Vec<ClusterRow<u32>> {
        let tasks = [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5];
        let values = [1.0, 2.0, 1.5, 3.0, 2.5, 3.5, 2.0, 2.2, 4.0, 3.5, 2.0, 2.5, 3.0, 4.0];
        let side = |task| if task < 3 { ArmSide::Control } else { ArmSide::Candidate };
        tasks
            .into_iter()
            .zip(values)
            .map(|(cluster, value)| ClusterRow { cluster, side: side(cluster), value })
            .collect()
    }

    #[test]
    fn the_sandwich_is_that_of_statsmodels() {
        let found = robust(&rows(), 0.05, 2).unwrap();
        same(found.value, 0.9541666666666657);
        near(found.p, 0.1888539396197457, 8);
        near(found.lower, -0.65892334, 7);
        near(found.upper, 2.56725668, 7);
    }

    #[test]
    fn a_task_counts_once_in_an_arm() {
        let (control, candidate) = means(&rows()).unwrap();
        assert_eq!((control.n(), candidate.n()), (3, 3));
        same(control.mean(), (1.5 + 3.0 + 2.1) / 3.0);
        same(candidate.mean(), (3.75 + 2.25 + 3.5) / 3.0);
    }

    #[test]
    fn too_few_tasks_are_not_yet() {
        let why = robust(&rows(), 0.05, 20).unwrap_err().not_yet();
        assert_eq!(why, Some(InsufficientData::TooFew { side: ArmSide::Control, n: 3, needed: 20 }));
        let none: [ClusterRow<u32>; 0] = [];
        assert!(robust(&none, 0.05, 0).unwrap_err().not_yet().is_some());
        let flat: Vec<ClusterRow<u32>> =
            rows().into_iter().map(|row| ClusterRow { value: 1.0, ..row }).collect();
        assert!(robust(&flat, 0.05, 2).unwrap_err().not_yet().is_some());
        let nan: Vec<ClusterRow<u32>> =
            rows().into_iter().map(|row| ClusterRow { value: f64::NAN, ..row }).collect();
        assert!(matches!(robust(&nan, 0.05, 2), Err(StatsError::NotFinite { .. })));
    }
}
