//! `baton experiment`: compares policies on real runs (M5). Each command is in a file of its own; `experiment_assignment.rs`
//! assigns new runs.

mod list;
mod power;
mod report;
mod start;
mod stop;

use baton_lab::experiment::{ExperimentError, ExperimentStore};
use clap::Subcommand;

use crate::args::LocationArgs;
use crate::exit_status::{CliExit, UsageError};
use crate::location;

/// Run A/B experiments on policies in real runs, and report the results
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  baton experiment start split-v2 --control resilience --arm eager=eager.wasm:50 --unit run
  baton run workflow.toml              is enrolled; its arm is drawn when it begins
  baton experiment report split-v2     the results so far; look whenever you like
  baton experiment power --baseline 0.6 --effect 0.1
                                       the number of runs that you need, before you start
  baton experiment list                the running ones, and how the others ended
  baton experiment stop split-v2       enrols no new runs; running ones keep their arm

An experiment enrols every matching new run below its state directory. The arm's policy then decides in the whole \
run and overrides the files of user, workspace and workflow. A workflow that configures by role or phase what the \
arms decide is not enrolled; nor is `baton run --no-experiment`.")]
pub(crate) enum ExperimentCommand {
    Start(start::ExperimentStartArgs),
    Stop(stop::ExperimentStopArgs),
    List(list::ExperimentListArgs),
    Show(list::ExperimentShowArgs),
    Report(report::ExperimentReportArgs),
    Power(power::ExperimentPowerArgs),
}

pub(crate) fn experiment(command: ExperimentCommand) -> anyhow::Result<CliExit> {
    match command {
        ExperimentCommand::Start(args) => start::start(args),
        ExperimentCommand::Stop(args) => stop::stop(args),
        ExperimentCommand::List(args) => list::list(args),
        ExperimentCommand::Show(args) => list::show(args),
        ExperimentCommand::Report(args) => report::report(args),
        ExperimentCommand::Power(args) => power::power(args),
    }
}

/// The store of experiments.
fn experiments(state_dir: Option<&std::path::Path>) -> anyhow::Result<ExperimentStore> {
    Ok(ExperimentStore::below(&location::state_root(&at(state_dir))?))
}

/// The location of a command that has no workspace.
fn at(state_dir: Option<&std::path::Path>) -> LocationArgs {
    LocationArgs { workspace: None, state_dir: state_dir.map(std::path::Path::to_owned) }
}

/// A user's mistake is wrong usage; any other error is a failure.
fn said(error: ExperimentError) -> anyhow::Error {
    match error {
        ExperimentError::UnknownExperiment { .. }
        | ExperimentError::Refused(_)
        | ExperimentError::Broken { .. } => UsageError(error.to_string()).into(),
        error => error.into(),
    }
}
