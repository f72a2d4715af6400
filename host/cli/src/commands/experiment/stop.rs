//! `baton experiment stop`: no more runs are taken. Runs at work continue as they began.

use std::collections::BTreeMap;
use std::path::PathBuf;

use baton_lab::experiment::VersionState;
use baton_runtime::expect_person;
use clap::{Args, ValueHint};

use super::{experiments, said};
use crate::args::OutputFormatArg;
use crate::exit_status::CliExit;
use crate::experiment_assignment::now;
use crate::render::experiment as render;
use crate::stdio;

/// Enrol no more runs; those already enrolled keep their arm
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton experiment stop split-v2
  baton experiment stop split-v2 --why \"eager is worth its price\"")]
pub(crate) struct ExperimentStopArgs {
    /// Which experiment
    #[arg(value_name = "NAME")]
    name: String,
    /// The reason, for readers of the report
    #[arg(long, value_name = "TEXT", default_value = "a person ended it")]
    why: String,
    /// Folder that keeps journals and artifacts [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(super) fn stop(args: ExperimentStopArgs) -> anyhow::Result<CliExit> {
    expect_person("ending an experiment")?;
    let experiments = experiments(args.state_dir.as_deref())?;
    // Nothing is made for one that is not there.
    experiments.read(&args.name).map_err(said)?;
    let held = experiments.hold().map_err(said)?;
    let mut definition = experiments.read(&args.name).map_err(said)?;
    match definition.versions.last_mut() {
        Some(last) if last.is_running() => {
            last.state = VersionState::Stopped { at: now(), why: args.why };
            experiments.write(&definition, &held).map_err(said)?;
        }
        _ => stdio::progress(&format!("experiment {} took no more runs already", args.name)),
    }
    render::show(&definition, &BTreeMap::new(), args.format.format)?;
    Ok(CliExit::Done)
}
