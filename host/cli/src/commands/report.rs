//! `baton report`: everything a run came to, at any time.

use baton_runtime::core::RunId;
use baton_runtime::view_of;
use clap::Args;

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit::CliExit;
use crate::host_client::is_live;
use crate::out;
use crate::place::RunLocation;
use crate::render::report::{self as text, ReportContext};
use crate::render::{look, record};
use crate::report_context::aside_of;

/// Show the results of a run: phases, objectives, sessions, handoffs, artifacts
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton report                    the newest run of this folder
  baton report 20260212-103000    this one
  baton report --format json      for programs")]
pub(crate) struct RunReportArgs {
    /// Which run [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    place: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn report(args: RunReportArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let place = RunLocation::to_read(&args.place, run.as_ref())?;
    let view = view_of(&place.config, run.as_ref())?;
    let live = is_live(&place, &view.run);
    let document = record::RunDocument { place: &place, view: &view, live };
    match args.format.format {
        OutputFormat::Text => out::data(&text::report(
            &look::stdout(),
            &text::found(&view, live),
            &place,
            &ReportContext { is_stopping: text::is_stopping(&view, live), ..aside_of(&place, &view) },
        ))?,
        OutputFormat::Json => out::data(&record::pretty(&document)?)?,
        OutputFormat::Jsonl => out::data(&record::line(&document)?)?,
    }
    Ok(CliExit::Done)
}
