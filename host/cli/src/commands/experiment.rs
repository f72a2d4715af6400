//! `baton experiment`: policies tried against each other on real runs (M5). Each command is in a file of its own; what a new run has
//! to do with it is in `enrolment.rs`.

mod list;
mod power;
mod report;
mod start;
mod stop;

use baton_lab::experiment::{ExperimentError, Experiments};
use clap::Subcommand;

use crate::args::PlaceArgs;
use crate::exit::{Exit, Usage};
use crate::place;

/// Try policies against each other on real runs, and read what came of it
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  baton experiment start split-v2 --control resilience --arm eager=eager.wasm:50 --unit run
  baton run workflow.toml              takes part: which arm it gets is drawn when it begins
  baton experiment report split-v2     what can be said so far, whenever you like
  baton experiment power --baseline 0.6 --effect 0.1
                                       how many runs it takes, before you start
  baton experiment list                what is running, and what became of the others
  baton experiment stop split-v2       new runs are as they were; runs at work go on as they began

An experiment takes every new run below its state directory that fits: the arm's policy decides in the whole run, whatever the \
files of user, workspace and workflow choose for the run. A workflow that chooses by role or phase what the arms decide is left \
alone, and so is `baton run --no-experiment`.")]
pub(crate) enum ExperimentCommand {
    Start(start::StartArgs),
    Stop(stop::StopArgs),
    List(list::ListArgs),
    Show(list::ShowArgs),
    Report(report::ReportArgs),
    Power(power::PowerArgs),
}

pub(crate) fn experiment(command: ExperimentCommand) -> anyhow::Result<Exit> {
    match command {
        ExperimentCommand::Start(args) => start::start(args),
        ExperimentCommand::Stop(args) => stop::stop(args),
        ExperimentCommand::List(args) => list::list(args),
        ExperimentCommand::Show(args) => list::show(args),
        ExperimentCommand::Report(args) => report::report(args),
        ExperimentCommand::Power(args) => power::power(args),
    }
}

/// Where experiments are kept.
fn experiments(state_dir: Option<&std::path::Path>) -> anyhow::Result<Experiments> {
    Ok(Experiments::below(&place::state_root(&at(state_dir))?))
}

/// The place of a command that has no workspace.
fn at(state_dir: Option<&std::path::Path>) -> PlaceArgs {
    PlaceArgs { workspace: None, state_dir: state_dir.map(std::path::Path::to_owned) }
}

/// What a person mistyped is wrong usage; the rest is a failure.
fn said(error: ExperimentError) -> anyhow::Error {
    match error {
        ExperimentError::NoSuch { .. } | ExperimentError::Refused(_) | ExperimentError::Broken { .. } => {
            Usage(error.to_string()).into()
        }
        error => error.into(),
    }
}
