//! `baton experiment list` and `show`: which experiments there are, and what one of them is. Counts runs, compares nothing.

use std::path::PathBuf;

use baton_lab::experiment::{Definition, Experiments, collect};
use clap::{Args, ValueHint};

use super::{at, experiments, said};
use crate::args::FormatArg;
use crate::exit::Exit;
use crate::render::experiment::{self as render, Counts};
use crate::{enrolment, out, place};

/// List the experiments
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton experiment list
  baton experiment list --format json")]
pub(crate) struct ListArgs {
    /// Folder that keeps journals and artifacts [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArg,
}

/// Show what an experiment is, version by version
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton experiment show split-v2
  baton experiment show split-v2 --format json")]
pub(crate) struct ShowArgs {
    /// Which experiment
    #[arg(value_name = "NAME")]
    name: String,
    /// Folder that keeps journals and artifacts [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) fn list(args: ListArgs) -> anyhow::Result<Exit> {
    let experiments = experiments(args.state_dir.as_deref())?;
    let root = place::state_root(&at(args.state_dir.as_deref()))?;
    let mut rows = Vec::new();
    for (name, read) in experiments.all() {
        match read {
            Ok(definition) => {
                let counts = counts(&root, &experiments, &definition)?;
                let overlaps = enrolment::overlaps(&experiments, &definition);
                rows.push((definition, counts, overlaps));
            }
            Err(error) => out::progress(&format!("experiment {name}: {error}")),
        }
    }
    render::list(&rows, args.format.format)?;
    if rows.is_empty() {
        out::progress("no experiment was started here; `baton experiment start --help` shows how");
    }
    Ok(Exit::Done)
}

pub(super) fn show(args: ShowArgs) -> anyhow::Result<Exit> {
    let experiments = experiments(args.state_dir.as_deref())?;
    let root = place::state_root(&at(args.state_dir.as_deref()))?;
    let definition = experiments.read(&args.name).map_err(said)?;
    let counts = counts(&root, &experiments, &definition)?;
    render::show(&definition, &counts, args.format.format)?;
    enrolment::overlaps(&experiments, &definition).iter().for_each(|line| out::progress(line));
    Ok(Exit::Done)
}

fn counts(
    root: &std::path::Path,
    experiments: &Experiments,
    definition: &Definition,
) -> anyhow::Result<Counts> {
    let mut counts = Counts::new();
    for record in collect(root, experiments, &definition.name).map_err(said)?.records {
        *counts.entry((record.assignment.version, record.assignment.arm)).or_default() += 1;
    }
    Ok(counts)
}
