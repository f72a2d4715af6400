//! `baton stats`: the numbers of a report, one at a time, from sums and counts that anyone can check. Reads no run and no
//! experiment; the methods are the lab's, and how they look is `render/stats.rs`.

mod assignment;
mod effect;
mod logged;
mod plan;

use clap::Subcommand;

use crate::args::{OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::render::json_record;
use crate::render::stats::StatsAnswer;
use crate::stdio;

use assignment::{BucketArgs, SrmArgs};
use effect::{BernoulliArgs, BettingArgs, CupedArgs, McnemarArgs, MeanArgs};
use logged::OffPolicyArgs;
use plan::{HolmArgs, StatsPowerArgs};

/// Recompute a number of a report: effects, intervals, levels, buckets, numbers of units
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  baton stats mean --control 86,86,200 --candidate 126,126,200
                                        an effect, valid at any time
  baton stats bernoulli 700/1000        a success rate, likewise
  baton stats betting 1,0,1,1,.5,1      wins, ties and losses against even
  baton stats srm 5000,5300             sample ratio mismatch test
  baton stats mcnemar 59,113            tasks that only one of two arms did
  baton stats holm .01,.04,.03          several tests at once
  baton stats cuped --control 39,271,11,23,78,6 --candidate 39,327,10,26,89,5
                                        an effect, adjusted for a known measure
  baton stats off-policy logged.json    what another policy would have earned
  baton stats power --shares .43,.63    sample size
  baton stats bucket run-7f --seed split-v2
                                        which arm an id gets

Differences are the candidate's minus the control's. host/lab/STATISTICS.md describes what each method is for, with \
its paper and its error rate in simulation.")]
pub(crate) enum StatsCommand {
    Mean(MeanArgs),
    Bernoulli(BernoulliArgs),
    Betting(BettingArgs),
    Srm(SrmArgs),
    Mcnemar(McnemarArgs),
    Holm(HolmArgs),
    Cuped(CupedArgs),
    OffPolicy(OffPolicyArgs),
    Power(StatsPowerArgs),
    Bucket(BucketArgs),
}

pub(crate) fn stats(command: StatsCommand) -> anyhow::Result<CliExit> {
    match command {
        StatsCommand::Mean(args) => print_answer(args.format, args.answer()),
        StatsCommand::Bernoulli(args) => print_answer(args.format, args.answer()),
        StatsCommand::Betting(args) => print_answer(args.format, args.answer()),
        StatsCommand::Srm(args) => print_answer(args.format, args.answer()),
        StatsCommand::Mcnemar(args) => print_answer(args.format, args.answer()),
        StatsCommand::Holm(args) => print_answer(args.format, args.answer()),
        StatsCommand::Cuped(args) => print_answer(args.format, args.answer()),
        StatsCommand::OffPolicy(args) => print_answer(args.format, args.answer()),
        StatsCommand::Power(args) => print_answer(args.format, args.answer()),
        StatsCommand::Bucket(args) => print_answer(args.format, args.answer()),
    }
}

/// An answer, or why the numbers on the command line give none.
type StatsAnswerResult = Result<StatsAnswer, UsageError>;

impl From<baton_lab::stats::StatsError> for UsageError {
    fn from(error: baton_lab::stats::StatsError) -> UsageError {
        UsageError(error.to_string())
    }
}

fn print_answer(format: OutputFormatArg, answer: StatsAnswerResult) -> anyhow::Result<CliExit> {
    let answer = answer?;
    match format.format {
        OutputFormat::Text => stdio::data(&answer.text())?,
        OutputFormat::Json => stdio::data(&json_record::pretty(&answer.json())?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&answer.json())?)?,
    }
    Ok(CliExit::Done)
}

/// "1,2,3" as exactly this number of numbers; `of` names them.
fn numbers<const N: usize>(text: &str, of: &str) -> Result<[f64; N], String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|one| one.trim().parse::<f64>()).collect();
    let numbers = numbers.map_err(|_| format!("expected {of}, as numbers"))?;
    numbers
        .try_into()
        .map_err(|found: Vec<f64>| format!("expected {of}, and there are {} numbers", found.len()))
}

/// A number of units, which has to be a whole one.
fn units(number: f64) -> Result<u64, String> {
    if number >= 0.0 && number.fract() == 0.0 && number <= 2_f64.powi(53) {
        return Ok(number as u64);
    }
    Err(format!("expected a whole number of units, got {number}"))
}

#[cfg(test)]
mod tests;
