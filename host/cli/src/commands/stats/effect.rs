//! Effects, shares and their intervals. The methods are the lab's.

use std::io::Read as _;

use baton_lab::stats::sequential::{ConfidenceSequence, DEFAULT_N_STAR};
use baton_lab::stats::{
    EffectScale, Estimate, JointMoments, Moments, betting, cuped, fixed::WelchTest, mixture, paired,
};
use clap::Args;

use super::{StatsAnswerResult, numbers, units};
use crate::args::OutputFormatArg;
use crate::exit_status::UsageError;
use crate::render::stats::{StatsAnswer, number};

/// Largest list of values on standard input: some millions.
const MAX_INPUT_BYTES: u64 = 64 << 20;

/// The difference of two means, valid however often you look
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton stats mean --control 86,86,200 --candidate 126,126,200
  baton stats mean --control 1396.87,52377.9767,3000 --candidate 2422.7,134698.29,3461 --relative --n-star 1000
  baton stats mean --control 1396.87,52377.9767,3407 --candidate 2422.7,134698.29,3461 --relative --fixed

Of things that are done or not, the sum of the squares is the sum. For tokens, give the sums of their logarithms: exp of the \
effect is then how many times as many.")]
pub(crate) struct MeanArgs {
    /// Sum, sum of squares and number of the control's values
    #[arg(long, visible_alias = "a", value_name = "SUM,SQUARES,N", value_parser = moments, allow_hyphen_values = true)]
    control: Moments,
    /// The same of the candidate's
    #[arg(long, visible_alias = "b", value_name = "SUM,SQUARES,N", value_parser = moments, allow_hyphen_values = true)]
    candidate: Moments,
    /// As a share of the control's mean
    #[arg(long)]
    relative: bool,
    /// Error rate of the interval
    #[arg(long, value_name = "ALPHA", default_value_t = 0.05)]
    alpha: f64,
    /// Units at which the sequence is narrowest, both arms together
    #[arg(long, value_name = "N", default_value_t = DEFAULT_N_STAR)]
    n_star: f64,
    /// Welch's t test instead, for one look at a number of units that was fixed beforehand
    #[arg(long, conflicts_with = "n_star")]
    fixed: bool,
    #[command(flatten)]
    pub(super) format: OutputFormatArg,
}

impl MeanArgs {
    pub(super) fn answer(&self) -> StatsAnswerResult {
        let scale = if self.relative { EffectScale::Relative } else { EffectScale::Difference };
        let (alpha, n_star) = (self.alpha, self.n_star);
        let (found, method, holds) = match self.fixed {
            true => {
                let test = WelchTest { alpha, scale, ..WelchTest::default() };
                (test.two_sample(&self.control, &self.candidate)?, "welch-t", "at one look")
            }
            false => {
                let sequence = ConfidenceSequence { alpha, n_star, scale, ..ConfidenceSequence::default() };
                let found = sequence.two_sample(&self.control, &self.candidate)?;
                (found, "asymptotic-confidence-sequence", "at any time")
            }
        };
        let Estimate { n, value, lower, upper, p } = found;
        let level = number((1.0 - alpha) * 100.0);
        let interval = format!("{level} % interval {} to {} {holds}", number(lower), number(upper));
        let sentence = match scale {
            EffectScale::Difference => {
                format!("candidate is {} control; {interval}", above_or_below(value, ""))
            }
            EffectScale::Relative => {
                format!(
                    "candidate is {} control; {interval}, as a share",
                    above_or_below(100.0 * value, " %")
                )
            }
        };
        Ok(StatsAnswer::new("stats-mean", sentence)
            .with("effect", value)
            .with("lower", lower)
            .with("upper", upper)
            .with("p", p)
            .with("n", n)
            .with("control_mean", self.control.mean())
            .with("candidate_mean", self.candidate.mean())
            .with("alpha", alpha)
            .with("n_star", (!self.fixed).then_some(n_star))
            .with("method", method))
    }
}

/// A success rate, valid however often you look
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton stats bernoulli 700/1000
  baton stats bernoulli 3/40 --alpha .01 --t-opt 40")]
pub(crate) struct BernoulliArgs {
    /// Successes of trials
    #[arg(value_name = "SUCCESSES/TRIALS", value_parser = share)]
    share: (u64, u64),
    /// Error rate of the interval
    #[arg(long, value_name = "ALPHA", default_value_t = 0.05)]
    alpha: f64,
    /// Trials at which the interval is narrowest
    #[arg(long, value_name = "TRIALS", default_value_t = 100.0)]
    t_opt: f64,
    #[command(flatten)]
    pub(super) format: OutputFormatArg,
}

impl BernoulliArgs {
    pub(super) fn answer(&self) -> StatsAnswerResult {
        let (successes, trials) = self.share;
        let found = mixture::bernoulli(successes, trials, self.alpha, self.t_opt)?;
        let percent = |share: f64| number(100.0 * share);
        let sentence = format!(
            "{} % succeed; {} % interval {} to {} % at any time",
            percent(found.value),
            percent(1.0 - self.alpha),
            percent(found.lower),
            percent(found.upper),
        );
        Ok(StatsAnswer::new("stats-bernoulli", sentence)
            .with("share", found.value)
            .with("lower", found.lower)
            .with("upper", found.upper)
            .with("n", found.n)
            .with("alpha", self.alpha)
            .with("method", "beta-binomial-mixture"))
    }
}

/// Values from 0 to 1 against a mean, by betting: wins, ties and losses, or rare events
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton stats betting 1,0,1,1,.5,1,1,0,1,1,1,.5,1,1,1,0,1,1,1,1
  baton stats betting 0,0,1,0,0,0 --mean .1
  jq -r '.[]' outcomes.json | baton stats betting -

1 is a win, 0 a loss, .5 a tie; the order is that in which they came.")]
pub(crate) struct BettingArgs {
    /// The values, or `-` for standard input
    #[arg(value_name = "VALUE,…")]
    values: String,
    /// The mean to bet against
    #[arg(long, value_name = "MEAN", default_value_t = 0.5)]
    mean: f64,
    /// How often a true mean may be rejected
    #[arg(long, value_name = "ALPHA", default_value_t = 0.05)]
    alpha: f64,
    #[command(flatten)]
    pub(super) format: OutputFormatArg,
}

impl BettingArgs {
    pub(super) fn answer(&self) -> StatsAnswerResult {
        let found = betting::bet(&self.read()?, self.mean, self.alpha)?;
        let (mean, capital) = (number(self.mean), number(found.capital));
        let verdict = match found.rejected_at {
            Some(at) => {
                format!("a mean of {mean} is rejected at value {at}: 1 has become {capital} in the end")
            }
            None => format!("a mean of {mean} is not rejected: 1 has become {capital}"),
        };
        let sentence =
            format!("{verdict}; the mean is {} to {} at any time", number(found.lower), number(found.upper));
        Ok(StatsAnswer::new("stats-betting", sentence)
            .with("capital", found.capital)
            .with("e_value", found.e_value)
            .with("p", found.p)
            .with("rejected_at", found.rejected_at)
            .with("mean", found.mean)
            .with("lower", found.lower)
            .with("upper", found.upper)
            .with("n", found.n)
            .with("alpha", self.alpha)
            .with("method", "hedged-betting"))
    }

    fn read(&self) -> Result<Vec<f64>, UsageError> {
        let mut text = self.values.clone();
        if text == "-" {
            text.clear();
            let read = std::io::stdin().lock().take(MAX_INPUT_BYTES + 1).read_to_string(&mut text);
            read.map_err(|error| UsageError(format!("cannot read standard input: {error}")))?;
            if text.len() as u64 > MAX_INPUT_BYTES {
                return Err(UsageError(format!("standard input is longer than {MAX_INPUT_BYTES} bytes")));
            }
        }
        let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        words
            .map(|word| word.parse().map_err(|_| UsageError(format!("`{word}` is not a value from 0 to 1"))))
            .collect()
    }
}

/// Tasks that only one of two arms did: McNemar's exact test
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton stats mcnemar 59,113

Tasks that both did, or neither, say nothing about which is better.")]
pub(crate) struct McnemarArgs {
    /// Tasks that only control did, and tasks that only the candidate did
    #[arg(value_name = "CONTROL,CANDIDATE", value_parser = pair)]
    tasks: (u64, u64),
    #[command(flatten)]
    pub(super) format: OutputFormatArg,
}

impl McnemarArgs {
    pub(super) fn answer(&self) -> StatsAnswerResult {
        let (control, candidate) = self.tasks;
        let p = paired::mcnemar_exact(control, candidate);
        let sentence = format!(
            "{candidate} tasks were done only by the candidate, {control} only by control; p = {} at one look",
            number(p)
        );
        Ok(StatsAnswer::new("stats-mcnemar", sentence)
            .with("p", p)
            .with("only_control", control)
            .with("only_candidate", candidate)
            .with("method", "mcnemar-exact"))
    }
}

/// Two means, adjusted for a measure from before the assignment
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton stats cuped --control 39,271,11,23,78,6 --candidate 39,327,10,26,89,5

y is the outcome, x was known before the assignment (the size of a task, say). From 20 units an arm on there is an interval.")]
pub(crate) struct CupedArgs {
    /// Sums of y, y², x, x² and xy, and the number, of the control
    #[arg(long, visible_alias = "a", value_name = "Y,YY,X,XX,XY,N", value_parser = joint, allow_hyphen_values = true)]
    control: JointMoments,
    /// The same of the candidate
    #[arg(long, visible_alias = "b", value_name = "Y,YY,X,XX,XY,N", value_parser = joint, allow_hyphen_values = true)]
    candidate: JointMoments,
    /// Error rate of the interval
    #[arg(long, value_name = "ALPHA", default_value_t = 0.05)]
    alpha: f64,
    /// Units at which the sequence is narrowest, both arms together
    #[arg(long, value_name = "N", default_value_t = DEFAULT_N_STAR)]
    n_star: f64,
    #[command(flatten)]
    pub(super) format: OutputFormatArg,
}

impl CupedArgs {
    pub(super) fn answer(&self) -> StatsAnswerResult {
        let found = cuped::adjust(&self.control, &self.candidate)?;
        let effect = found.candidate.mean() - found.control.mean();
        let sequence =
            ConfidenceSequence { alpha: self.alpha, n_star: self.n_star, ..ConfidenceSequence::default() };
        let interval = match sequence.two_sample(&found.control, &found.candidate) {
            Ok(interval) => Some(interval),
            Err(error) if error.not_yet().is_some() => None,
            Err(error) => return Err(error.into()),
        };
        let sentence = format!(
            "candidate is {} control, with {} % less variance than without the adjustment",
            above_or_below(effect, ""),
            number((1000.0 * found.saving).round() / 10.0)
        );
        Ok(StatsAnswer::new("stats-cuped", sentence)
            .with("effect", effect)
            .with("lower", interval.map(|interval| interval.lower))
            .with("upper", interval.map(|interval| interval.upper))
            .with("p", interval.map(|interval| interval.p))
            .with("theta", found.theta)
            .with("saving", found.saving)
            .with("control_mean", found.control.mean())
            .with("control_variance", found.control.variance())
            .with("candidate_mean", found.candidate.mean())
            .with("candidate_variance", found.candidate.variance())
            .with("method", "cuped"))
    }
}

/// "0.2 above", "12 % below".
fn above_or_below(value: f64, unit: &str) -> String {
    let side = if value < 0.0 { "below" } else { "above" };
    format!("{}{unit} {side}", number(value.abs()))
}

fn moments(text: &str) -> Result<Moments, String> {
    let [sum, squares, n] = numbers(text, "sum, sum of squares and number of values")?;
    Moments::from_sums(units(n)?, sum, squares).map_err(|error| error.to_string())
}

fn joint(text: &str) -> Result<JointMoments, String> {
    let [y, y_squares, x, x_squares, products, n] =
        numbers(text, "the sums of y, y², x, x² and xy, and the number")?;
    Ok(JointMoments { n: units(n)?, y, y_squares, x, x_squares, products })
}

fn pair(text: &str) -> Result<(u64, u64), String> {
    let [control, candidate] = numbers(text, "two numbers of tasks")?;
    Ok((units(control)?, units(candidate)?))
}

fn share(text: &str) -> Result<(u64, u64), String> {
    let expected = "expected successes/trials, as 700/1000";
    let (successes, trials) = text.split_once('/').ok_or(expected)?;
    let whole = |text: &str| text.trim().parse::<u64>().map_err(|_| expected.to_owned());
    Ok((whole(successes)?, whole(trials)?))
}
