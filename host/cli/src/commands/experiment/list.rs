//! `baton experiment list` and `show`: the experiments, and the details of one. Counts runs, compares nothing.

use std::path::PathBuf;

use baton_lab::experiment::{ExperimentDefinition, ExperimentStore, collect};
use clap::{Args, ValueHint};

use super::{at, experiments, said};
use crate::args::OutputFormatArg;
use crate::exit_status::CliExit;
use crate::render::experiment::{self as render, ArmRunCounts};
use crate::{experiment_assignment, location, stdio};

/// List the experiments
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton experiment list
  baton experiment list --format json")]
pub(crate) struct ExperimentListArgs {
    /// Folder that keeps journals and artifacts [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// Show the definition of an experiment, version by version
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton experiment show split-v2
  baton experiment show split-v2 --format json")]
pub(crate) struct ExperimentShowArgs {
    /// Which experiment
    #[arg(value_name = "NAME")]
    name: String,
    /// Folder that keeps journals and artifacts [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(super) fn list(args: ExperimentListArgs) -> anyhow::Result<CliExit> {
    let experiments = experiments(args.state_dir.as_deref())?;
    let root = location::state_root(&at(args.state_dir.as_deref()))?;
    let mut rows = Vec::new();
    for (name, read) in experiments.all() {
        match read {
            Ok(definition) => {
                let counts = counts(&root, &experiments, &definition)?;
                let overlaps = experiment_assignment::overlaps(&experiments, &definition);
                rows.push((definition, counts, overlaps));
            }
            Err(error) => stdio::progress(&format!("experiment {name}: {error}")),
        }
    }
    render::list(&rows, args.format.format)?;
    if rows.is_empty() {
        stdio::progress("no experiment was started here; `baton experiment start --help` shows how");
    }
    Ok(CliExit::Done)
}

pub(super) fn show(args: ExperimentShowArgs) -> anyhow::Result<CliExit> {
    let experiments = experiments(args.state_dir.as_deref())?;
    let root = location::state_root(&at(args.state_dir.as_deref()))?;
    let definition = experiments.read(&args.name).map_err(said)?;
    let counts = counts(&root, &experiments, &definition)?;
    render::show(&definition, &counts, args.format.format)?;
    experiment_assignment::overlaps(&experiments, &definition).iter().for_each(|line| stdio::progress(line));
    Ok(CliExit::Done)
}

fn counts(
    root: &std::path::Path,
    experiments: &ExperimentStore,
    definition: &ExperimentDefinition,
) -> anyhow::Result<ArmRunCounts> {
    let mut counts = ArmRunCounts::new();
    for record in collect(root, experiments, &definition.name).map_err(said)?.records {
        *counts.entry((record.assignment.version, record.assignment.arm)).or_default() += 1;
    }
    Ok(counts)
}
