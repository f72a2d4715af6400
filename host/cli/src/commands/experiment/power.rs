//! `baton experiment power`: how many runs it takes to find an effect that is worth having, in words. Starts nothing.

use std::path::{Path, PathBuf};

use baton_lab::experiment::power::{PastRuns, PowerQuestion, SampleSize, needed, past};
use baton_lab::run_metrics::{RunMetrics, measure};
use baton_lab::stats::StatsError;
use baton_lab::stats::power::PowerGoal;
use baton_runtime::core::RunId;
use baton_runtime::journal_of;
use baton_runtime::store::{Journal, StateDir, StoreError};
use clap::{Args, ValueHint};
use serde_json::json;

use super::at;
use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::experiment_assignment::percent;
use crate::location::{self, RunLocation};
use crate::render::json_record;
use crate::stdio;

/// Version of the records of `--format json`.
const SCHEMA: u32 = 1;

/// How many runs it takes to find an effect
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton experiment power --baseline 0.6 --effect 0.1       from 60 % of runs finished to 70 %
  baton experiment power --sd 2.5 --effect 1               one objective more, deviation 2.5
  baton experiment power --all --effect 0.1                10 % of the means of your runs
  baton experiment power --from 20260212-103000 --from 20260213-090000
  baton experiment power --baseline 0.6 --effect 0.1 --power 0.9 --format json

Give the smallest effect that is worth having, not one that was observed. The second number allows looking as often \
as you like, as `baton experiment report` does; if you look often, you find a large effect much earlier.")]
pub(crate) struct ExperimentPowerArgs {
    /// The rate of control (0–1)
    #[arg(long, value_name = "SHARE", conflicts_with_all = ["sd", "from", "all"])]
    baseline: Option<f64>,
    /// Standard deviation between units
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["from", "all"])]
    sd: Option<f64>,
    /// Smallest effect worth finding: a difference of rates or of means; with --from or --all, relative to the runs'
    /// mean
    #[arg(long, value_name = "NUMBER", default_value_t = 0.1, allow_hyphen_values = true)]
    effect: f64,
    /// Estimate the standard deviation from this run; may be given several times
    #[arg(long, value_name = "RUN", num_args = 1.., conflicts_with = "all")]
    from: Vec<String>,
    /// Estimate it from every run below the state directory
    #[arg(long)]
    all: bool,
    /// False-positive rate
    #[arg(long, value_name = "SHARE", default_value_t = PowerGoal::default().alpha)]
    alpha: f64,
    /// Probability of finding an effect that exists
    #[arg(long, value_name = "SHARE", default_value_t = PowerGoal::default().power)]
    power: f64,
    /// Folder of the runs [default: the current folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    workspace: Option<PathBuf>,
    /// Folder that keeps journals and artifacts [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// One answer: the effect, and the number of runs to find it.
struct PowerEstimate {
    what: String,
    needed: Result<SampleSize, String>,
}

pub(super) fn power(args: ExperimentPowerArgs) -> anyhow::Result<CliExit> {
    let goal = PowerGoal { alpha: args.alpha, power: args.power };
    let wrong = |error: StatsError| UsageError(error.to_string());
    let ask = |what: String, sought: PowerQuestion| -> Result<PowerEstimate, UsageError> {
        Ok(PowerEstimate { what, needed: Ok(needed(sought, goal).map_err(wrong)?) })
    };
    let mut known = None;
    let answers = match (args.baseline, args.sd) {
        (Some(baseline), _) => {
            let effect = args.effect;
            let what =
                format!("a share that goes from {} to {}", percent(baseline), percent(baseline + effect));
            let asked = ask(what, PowerQuestion::Share { baseline, effect });
            let hint = "--baseline and --effect are fractions, 0.6 for 60 %; for other units give the deviation with --sd";
            vec![asked.map_err(|UsageError(why)| UsageError(format!("{why} ({hint})")))?]
        }
        (None, Some(sd)) => {
            let effect = args.effect;
            vec![ask(
                format!("a mean that changes by {effect}, of values that differ by {sd}"),
                PowerQuestion::Mean { sd, effect },
            )?]
        }
        (None, None) if args.all || !args.from.is_empty() => {
            let runs = runs(&args)?;
            let found = past(&runs).map_err(wrong)?.ok_or_else(|| {
                UsageError(format!(
                    "{} of these runs are over; an estimate of the deviation needs two. Name more with --from, or give it with --sd",
                    runs.iter().filter(|run| run.standing.is_final()).count()
                ))
            })?;
            known = Some(found);
            of_past(&found, args.effect, goal)
        }
        (None, None) => {
            return Err(UsageError(
                "give --baseline SHARE, --sd NUMBER, or runs to estimate it from: --from RUN, --all"
                    .to_owned(),
            )
            .into());
        }
    };
    match args.format.format {
        OutputFormat::Text => stdio::data(&text(&answers, known.as_ref(), goal)),
        OutputFormat::Json => stdio::data(&json_record::pretty(&document(&answers, known.as_ref(), goal))?),
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document(&answers, known.as_ref(), goal))?),
    }?;
    Ok(CliExit::Done)
}

fn of_past(past: &PastRuns, effect: f64, goal: PowerGoal) -> Vec<PowerEstimate> {
    let baseline = past.finished;
    // If nearly all runs finish, the rate cannot rise by the effect; then the estimate is for a fall of the same size.
    let points = if baseline + effect > 1.0 { -effect } else { effect };
    let asked = [
        (
            format!("{} more objectives", percent(effect)),
            PowerQuestion::Mean { sd: past.objectives_sd, effect: past.objectives * effect },
        ),
        (
            format!("{} fewer tokens", percent(effect)),
            PowerQuestion::Mean { sd: past.ln_tokens_sd, effect: -(1.0 - effect).ln() },
        ),
        (
            format!("finished runs from {} to {}", percent(baseline), percent(baseline + points)),
            PowerQuestion::Share { baseline, effect: points },
        ),
    ];
    let answer = |(what, sought): (String, PowerQuestion)| {
        // A run that is like every other gives no standard deviation; that is an answer for this outcome alone.
        let needed = needed(sought, goal).map_err(|error| error.to_string());
        PowerEstimate { what, needed }
    };
    asked.into_iter().map(answer).collect()
}

/// The runs that were named, or all.
fn runs(args: &ExperimentPowerArgs) -> anyhow::Result<Vec<RunMetrics>> {
    let mut found = Vec::new();
    if args.all {
        let root = location::state_root(&at(args.state_dir.as_deref()))?;
        let states = StateDir::find_all(&root)?;
        let skipped = |folder: &Path, error: &StoreError| {
            stdio::progress(&format!("the runs of {} are left out: {error}", folder.display()));
        };
        states.unreadable.iter().for_each(|(folder, error)| skipped(folder, error));
        for state in states.states {
            let opened = Journal::open_read_only(&state).and_then(|journal| Ok((journal.runs()?, journal)));
            let (runs, journal) = match opened {
                Ok(opened) => opened,
                Err(error) => {
                    skipped(state.workspace(), &error);
                    continue;
                }
            };
            for run in runs {
                match measure(&journal, &run.run) {
                    Ok(measures) => found.push(measures),
                    Err(error) => stdio::progress(&format!("run {} is skipped: {error}", run.run)),
                }
            }
        }
        return Ok(found);
    }
    let location = LocationArgs { workspace: args.workspace.clone(), state_dir: args.state_dir.clone() };
    for run in &args.from {
        let run = RunId::new(run.as_str());
        let location = RunLocation::for_reading(&location, Some(&run))?;
        let (journal, run) = journal_of(&location.config, Some(&run))?;
        found.push(measure(&journal, &run)?);
    }
    Ok(found)
}

fn text(answers: &[PowerEstimate], past: Option<&PastRuns>, goal: PowerGoal) -> String {
    let mut text = String::new();
    if let Some(past) = past {
        text.push_str(&format!(
            "{} runs so far: {} finished, {:.1} objectives each (they differ by {:.1}), tokens differ by a factor of {:.2}.\n",
            past.runs,
            percent(past.finished),
            past.objectives,
            past.objectives_sd,
            past.ln_tokens_sd.exp()
        ));
    }
    let often = percent(goal.power);
    for PowerEstimate { what, needed } in answers {
        match needed {
            Ok(needed) => text.push_str(&format!(
                "To find {what}, {often} of the time: {} runs in each arm ({} in all) if you look once, at the end; \
                 about {} in all if you want to look whenever you like.\n",
                needed.one_look_per_arm, needed.one_look_in_all, needed.any_time_in_all
            )),
            Err(why) => text.push_str(&format!("To find {what}: not known from these runs: {why}.\n")),
        }
    }
    text.push_str(&format!(
        "If there is no difference, one is reported {} of the time.\n",
        percent(goal.alpha)
    ));
    text
}

fn document(answers: &[PowerEstimate], past: Option<&PastRuns>, goal: PowerGoal) -> serde_json::Value {
    let answers: Vec<_> = answers
        .iter()
        .map(|answer| match &answer.needed {
            Ok(needed) => json!({ "what": answer.what, "needed": needed }),
            Err(why) => json!({ "what": answer.what, "why_not": why }),
        })
        .collect();
    json!({
        "schema": SCHEMA,
        "record": "power",
        "alpha": goal.alpha,
        "power": goal.power,
        "past": past,
        "answers": answers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    // M5: .4 against .5 takes 387.17 an arm.
    #[test]
    fn the_answer_is_in_words() {
        let goal = PowerGoal::default();
        let sought = PowerQuestion::Share { baseline: 0.4, effect: 0.1 };
        let answer = PowerEstimate { what: "a share".to_owned(), needed: Ok(needed(sought, goal).unwrap()) };
        let said = text(&[answer], None, goal);
        assert!(said.contains("388 runs in each arm (776 in all)"), "{said}");
        let sought = PowerQuestion::Mean { sd: 1.0, effect: 0.5 };
        assert_eq!(needed(sought, goal).unwrap().one_look_per_arm, 64);
    }
}
