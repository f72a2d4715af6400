//! Before an experiment: how many units it takes. After it: levels of several questions at once.

use baton_lab::stats::holm;
use baton_lab::stats::power::PowerGoal;
use clap::{ArgGroup, Args};

use super::{StatsAnswerResult, numbers};
use crate::args::OutputFormatArg;
use crate::render::stats::{StatsAnswer, number};

/// Sample size for an effect
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("effect").required(true).args(["d", "shares", "paired_d", "mde"]))]
#[command(after_help = "\
Examples:
  baton stats power --d .5              means, half a standard deviation apart
  baton stats power --shares .4,.5      shares of successes
  baton stats power --paired-d .3       both arms on the same tasks
  baton stats power --mde .3 --variance 100 --power .85
  baton stats power --mde .3 --variance 1 --sequential

Give the smallest effect that is worth having, not one that was observed.")]
pub(crate) struct StatsPowerArgs {
    /// Distance of two means in standard deviations
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    d: Option<f64>,
    /// Shares of successes of control and candidate
    #[arg(long, value_name = "CONTROL,CANDIDATE", value_parser = shares)]
    shares: Option<(f64, f64)>,
    /// Mean of the differences on the same task, in their standard deviations
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    paired_d: Option<f64>,
    /// Smallest difference of two means to find
    #[arg(long, value_name = "EFFECT", requires = "variance", allow_hyphen_values = true)]
    mde: Option<f64>,
    /// Variance of the values, for --mde
    #[arg(long, value_name = "VARIANCE", requires = "mde")]
    variance: Option<f64>,
    /// For a confidence sequence, which is valid at any time
    #[arg(long, requires = "mde")]
    sequential: bool,
    /// Units at which the sequence is narrowest [default: where they are needed]
    #[arg(long, value_name = "N", requires = "sequential")]
    n_star: Option<f64>,
    /// False-positive rate
    #[arg(long, value_name = "ALPHA", default_value_t = 0.05)]
    alpha: f64,
    /// Probability of finding an effect that exists
    #[arg(long, value_name = "POWER", default_value_t = 0.8)]
    power: f64,
    #[command(flatten)]
    pub(super) format: OutputFormatArg,
}

impl StatsPowerArgs {
    pub(super) fn answer(&self) -> StatsAnswerResult {
        let goal = PowerGoal { alpha: self.alpha, power: self.power };
        let (units, of, arms, method) = if let Some(d) = self.d {
            (goal.two_means(d)?, "units in each arm", 2.0, "noncentral-t")
        } else if let Some((control, candidate)) = self.shares {
            (goal.two_shares(control, candidate)?, "units in each arm", 2.0, "arcsine-normal")
        } else if let Some(d) = self.paired_d {
            (goal.pairs(d)?, "pairs", 2.0, "noncentral-t")
        } else {
            let (mde, variance) = (self.mde.unwrap_or_default(), self.variance.unwrap_or_default());
            match self.sequential {
                true => {
                    let units = goal.in_all_sequential(mde, variance, self.n_star)?;
                    (units, "units in all", 1.0, "asymptotic-confidence-sequence")
                }
                false => (goal.in_all(mde, variance)?, "units in all", 1.0, "noncentral-t"),
            }
        };
        let percent = |share: f64| number(100.0 * share);
        let sentence = format!(
            "{} {of} find it {} % of the time, with {} % false positives",
            units.ceil(),
            percent(self.power),
            percent(self.alpha)
        );
        Ok(StatsAnswer::new("stats-power", sentence)
            .with("units", units)
            .with("units_are", of)
            .with("runs_in_all", (arms * units.ceil()) as u64)
            .with("alpha", self.alpha)
            .with("power", self.power)
            .with("method", method))
    }
}

/// Several tests at once, by Holm's procedure
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton stats holm .01,.04,.03,.005")]
pub(crate) struct HolmArgs {
    /// The p-value of each test
    #[arg(value_name = "P,…", value_delimiter = ',', required = true)]
    levels: Vec<f64>,
    /// How often any of them may be wrong
    #[arg(long, value_name = "ALPHA", default_value_t = 0.05)]
    alpha: f64,
    #[command(flatten)]
    pub(super) format: OutputFormatArg,
}

impl HolmArgs {
    pub(super) fn answer(&self) -> StatsAnswerResult {
        let adjusted = holm::adjust(&self.levels)?;
        let rejected = adjusted.iter().filter(|level| **level <= self.alpha).count();
        let sentence = format!(
            "{rejected} of {} questions have an answer, with a chance of {} that any of them is wrong",
            adjusted.len(),
            number(self.alpha)
        );
        Ok(StatsAnswer::new("stats-holm", sentence)
            .with("adjusted", &adjusted)
            .with("levels", &self.levels)
            .with("alpha", self.alpha)
            .with("method", "holm"))
    }
}

fn shares(text: &str) -> Result<(f64, f64), String> {
    let [control, candidate] = numbers(text, "two shares")?;
    Ok((control, candidate))
}
