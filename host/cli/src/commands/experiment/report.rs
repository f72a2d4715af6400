//! `baton experiment report`: the results so far. Reads the journals of all workspaces; the comparison is the lab's. An alarm
//! has an exit code of its own, so that a script sees it.

use std::path::PathBuf;

use baton_lab::experiment::{GuardrailReport, collect, report as compare};
use clap::{Args, ValueEnum, ValueHint};

use super::{at, experiments, said};
use crate::exit_status::{CliExit, UsageError};
use crate::render::{comparison, json_record, terminal_style};
use crate::{location, stdio};

/// Report the results of an experiment so far
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton experiment report split-v2
  baton experiment report split-v2 --format html > split-v2.html    one file, with pictures
  baton experiment report split-v2 --format json
  baton experiment report split-v2 --version 1                       the runs of an earlier version

Look as often as you like: the intervals hold at all times at once. Every run counts for its assigned arm, however \
it ended; runs that cannot be counted are listed with the reason. Exit code 4 means that something is wrong: the \
arms did not get their planned shares, outcomes are missing in one of them, or an arm does harm.")]
pub(crate) struct ExperimentReportArgs {
    /// Which experiment
    #[arg(value_name = "NAME")]
    name: String,
    /// Which version of it [default: the newest]
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// How to write the report on standard output
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: ExperimentReportFormat,
    /// Folder that keeps journals and artifacts [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
}

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ExperimentReportFormat {
    /// For people
    #[default]
    Text,
    /// One JSON document
    Json,
    /// One JSON record a line
    Jsonl,
    /// One self-contained HTML file
    Html,
    /// The verdict as a picture
    Svg,
}

pub(super) fn report(args: ExperimentReportArgs) -> anyhow::Result<CliExit> {
    let experiments = experiments(args.state_dir.as_deref())?;
    let root = location::state_root(&at(args.state_dir.as_deref()))?;
    let definition = experiments.read(&args.name).map_err(said)?;
    let version = match args.version {
        Some(number) => definition.version(number),
        None => definition.current(),
    };
    let version = version.ok_or_else(|| {
        UsageError(format!("experiment {} has the versions 1 to {}", args.name, definition.versions.len()))
    })?;
    let collected = collect(&root, &experiments, &definition.name).map_err(said)?;
    let GuardrailReport { comparison, alarms } = compare(&definition, version, &collected);
    match args.format {
        ExperimentReportFormat::Text => {
            stdio::data(&comparison::text(&comparison, &terminal_style::stdout()))?
        }
        ExperimentReportFormat::Json => stdio::data(&json_record::pretty(&comparison::json(&comparison))?)?,
        ExperimentReportFormat::Jsonl => stdio::data(&json_record::line(&comparison::json(&comparison))?)?,
        ExperimentReportFormat::Html => stdio::data(&comparison::html(&comparison))?,
        ExperimentReportFormat::Svg => stdio::data(&comparison::svg(&comparison))?,
    }
    for alarm in &alarms {
        stdio::progress(&format!("alarm: {alarm}"));
    }
    Ok(if alarms.is_empty() { CliExit::Done } else { CliExit::ExperimentAlarm })
}
