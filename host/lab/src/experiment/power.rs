//! Sample size for a minimum detectable effect, from the outcomes of past runs or from numbers that the user gives. Two
//! answers: for one look at a fixed number of units, and for any number of looks.

use serde::{Deserialize, Serialize};

use crate::run_metrics::{RunMetrics, RunResult};
use crate::stats::power::PowerGoal;
use crate::stats::{Moments, StatsError};

/// What is to be found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum PowerQuestion {
    /// A share of units (finished runs, say) that is `baseline` and would become `baseline + effect`, both of 1.
    Share {
        /// Of control.
        baseline: f64,
        /// What is added to it.
        effect: f64,
    },
    /// A mean that would change by `effect`, in the unit of the values, whose standard deviation is `sd`.
    Mean {
        /// The standard deviation.
        sd: f64,
        /// The change.
        effect: f64,
    },
}

/// How many it takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SampleSize {
    /// What was asked.
    pub sought: PowerQuestion,
    /// Units in each of two equal arms, for one look.
    pub one_look_per_arm: u64,
    /// Units in both arms together, for one look.
    pub one_look_in_all: u64,
    /// Units in both arms together, looking at any time.
    pub any_time_in_all: u64,
}

/// How many units it takes.
pub fn needed(sought: PowerQuestion, goal: PowerGoal) -> Result<SampleSize, StatsError> {
    let (per_arm, any_time) = match sought {
        PowerQuestion::Share { baseline, effect } => {
            let candidate = baseline + effect;
            let middle = (baseline + candidate) / 2.0;
            let per_arm = goal.two_shares(baseline, candidate)?;
            (per_arm, goal.in_all_sequential(effect, middle * (1.0 - middle), None)?)
        }
        PowerQuestion::Mean { sd, effect } => {
            (goal.in_all(effect, sd * sd)? / 2.0, goal.in_all_sequential(effect, sd * sd, None)?)
        }
    };
    let up = |units: f64| units.ceil() as u64;
    Ok(SampleSize {
        sought,
        one_look_per_arm: up(per_arm),
        one_look_in_all: 2 * up(per_arm),
        any_time_in_all: up(any_time).max(2 * up(per_arm)),
    })
}

/// What runs came to so far, as far as it says how many more it takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PastRuns {
    /// Runs that are over.
    pub runs: u64,
    /// Share of them in which every objective is done.
    pub finished: f64,
    /// Mean objectives of a run.
    pub objectives: f64,
    /// Their standard deviation.
    pub objectives_sd: f64,
    /// Standard deviation of the natural logarithm of their tokens.
    pub ln_tokens_sd: f64,
}

/// Summarises runs that are over. None for fewer than two runs, whose spread is unknown.
pub fn past<'a>(runs: impl IntoIterator<Item = &'a RunMetrics>) -> Result<Option<PastRuns>, StatsError> {
    let over: Vec<&RunMetrics> = runs.into_iter().filter(|run| run.standing.is_final()).collect();
    if over.len() < 2 {
        return Ok(None);
    }
    let finished = over.iter().filter(|run| run.standing == RunResult::Done).count();
    let objectives: Vec<f64> = over.iter().map(|run| f64::from(run.counted())).collect();
    let tokens: Vec<f64> =
        over.iter().filter(|run| run.tokens > 0).map(|run| (run.tokens as f64).ln()).collect();
    let objectives = Moments::of(&objectives)?;
    let ln_tokens_sd = if tokens.len() < 2 { 0.0 } else { Moments::of(&tokens)?.variance().sqrt() };
    Ok(Some(PastRuns {
        runs: over.len() as u64,
        finished: finished as f64 / over.len() as f64,
        objectives: objectives.mean(),
        objectives_sd: objectives.variance().sqrt(),
        ln_tokens_sd,
    }))
}
