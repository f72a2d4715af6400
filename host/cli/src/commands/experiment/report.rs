//! `baton experiment report`: what can be said so far. Reads the journals of all workspaces, and the comparison says the rest. An alarm
//! is an exit code of its own, so that a script sees it.

use std::path::PathBuf;

use baton_lab::experiment::{Guarded, collect, report as compare};
use clap::{Args, ValueEnum, ValueHint};

use super::{at, experiments, said};
use crate::exit::{Exit, Usage};
use crate::render::{comparison, look, record};
use crate::{out, place};

/// Say what came of an experiment so far
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton experiment report split-v2
  baton experiment report split-v2 --format html > split-v2.html    one file, with pictures
  baton experiment report split-v2 --format json
  baton experiment report split-v2 --version 1                       the runs of an earlier version

Look as often as you like: the intervals hold at all times at once. Every run counts for the arm that it was given, whatever became \
of it; what cannot count is listed with its reason. Exit code 4 says that something is wrong: the arms did not get the shares that they \
were to get, outcomes are missing in one of them, or it does harm.")]
pub(crate) struct ReportArgs {
    /// Which experiment
    #[arg(value_name = "NAME")]
    name: String,
    /// Which version of it [default: the newest]
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// How to write it on standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Written,
    /// Folder that keeps journals and artifacts [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Written {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// One JSON record a line
    Jsonl,
    /// One HTML file that needs no other
    Html,
    /// The verdict as a picture
    Svg,
}

pub(super) fn report(args: ReportArgs) -> anyhow::Result<Exit> {
    let experiments = experiments(args.state_dir.as_deref())?;
    let root = place::state_root(&at(args.state_dir.as_deref()))?;
    let definition = experiments.read(&args.name).map_err(said)?;
    let version = match args.version {
        Some(number) => definition.version(number),
        None => definition.current(),
    };
    let version = version.ok_or_else(|| {
        Usage(format!("experiment {} has the versions 1 to {}", args.name, definition.versions.len()))
    })?;
    let collected = collect(&root, &experiments, &definition.name).map_err(said)?;
    let Guarded { comparison, alarms } = compare(&definition, version, &collected);
    match args.format {
        Written::Text => out::data(&comparison::text(&comparison, &look::stdout()))?,
        Written::Json => out::data(&record::pretty(&comparison::json(&comparison))?)?,
        Written::Jsonl => out::data(&record::line(&comparison::json(&comparison))?)?,
        Written::Html => out::data(&comparison::html(&comparison))?,
        Written::Svg => out::data(&comparison::svg(&comparison))?,
    }
    for alarm in &alarms {
        out::progress(&format!("alarm: {alarm}"));
    }
    Ok(if alarms.is_empty() { Exit::Done } else { Exit::ExperimentAlarm })
}
