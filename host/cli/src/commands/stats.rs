//! `baton stats`: the numbers of a report, one at a time, from sums and counts that anybody can check. Reads no run and no
//! experiment; the methods are the lab's, and how they look is `render/stats.rs`.

mod assignment;
mod effect;
mod logged;
mod plan;

use clap::Subcommand;

use crate::args::{Format, FormatArg};
use crate::exit::{Exit, Usage};
use crate::out;
use crate::render::record;
use crate::render::stats::Answer;

use assignment::{BucketArgs, SrmArgs};
use effect::{BernoulliArgs, BettingArgs, CupedArgs, McnemarArgs, MeanArgs};
use logged::OffPolicyArgs;
use plan::{HolmArgs, PowerArgs};

/// Recompute a number of a report: effects, intervals, levels, buckets, numbers of units
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  baton stats mean --control 86,86,200 --candidate 126,126,200
                                        an effect that may be looked at at any time
  baton stats bernoulli 700/1000        a share of successes, likewise
  baton stats betting 1,0,1,1,.5,1      wins, ties and losses against even
  baton stats srm 5000,5300             whether the arms got their shares of units
  baton stats mcnemar 59,113            tasks that only one of two arms did
  baton stats holm .01,.04,.03          several questions at once
  baton stats cuped --control 39,271,11,23,78,6 --candidate 39,327,10,26,89,5
                                        an effect without what was known before
  baton stats off-policy logged.json    what another policy would have earned
  baton stats power --shares .43,.63    how many units it takes
  baton stats bucket run-7f --seed split-v2
                                        which arm an id gets

Differences are the candidate's minus the control's. Which method is for what, with its paper and with how often it is wrong \
in simulation, is in host/lab/STATISTICS.md.")]
pub(crate) enum StatsCommand {
    Mean(MeanArgs),
    Bernoulli(BernoulliArgs),
    Betting(BettingArgs),
    Srm(SrmArgs),
    Mcnemar(McnemarArgs),
    Holm(HolmArgs),
    Cuped(CupedArgs),
    OffPolicy(OffPolicyArgs),
    Power(PowerArgs),
    Bucket(BucketArgs),
}

pub(crate) fn stats(command: StatsCommand) -> anyhow::Result<Exit> {
    match command {
        StatsCommand::Mean(args) => tell(args.format, args.answer()),
        StatsCommand::Bernoulli(args) => tell(args.format, args.answer()),
        StatsCommand::Betting(args) => tell(args.format, args.answer()),
        StatsCommand::Srm(args) => tell(args.format, args.answer()),
        StatsCommand::Mcnemar(args) => tell(args.format, args.answer()),
        StatsCommand::Holm(args) => tell(args.format, args.answer()),
        StatsCommand::Cuped(args) => tell(args.format, args.answer()),
        StatsCommand::OffPolicy(args) => tell(args.format, args.answer()),
        StatsCommand::Power(args) => tell(args.format, args.answer()),
        StatsCommand::Bucket(args) => tell(args.format, args.answer()),
    }
}

/// An answer, or why the numbers on the command line give none.
type Answered = Result<Answer, Usage>;

impl From<baton_lab::stats::StatsError> for Usage {
    fn from(error: baton_lab::stats::StatsError) -> Usage {
        Usage(error.to_string())
    }
}

fn tell(format: FormatArg, answer: Answered) -> anyhow::Result<Exit> {
    let answer = answer?;
    match format.format {
        Format::Text => out::data(&answer.text())?,
        Format::Json => out::data(&record::pretty(&answer.json())?)?,
        Format::Jsonl => out::data(&record::line(&answer.json())?)?,
    }
    Ok(Exit::Done)
}

/// "1,2,3" as exactly so many numbers; `of` names them.
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
    Err(format!("{number} is no number of units"))
}

#[cfg(test)]
mod tests;
