//! `baton report`: everything a run came to, at any time.

use baton_runtime::core::RunId;
use baton_runtime::view_of;
use clap::Args;

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::CliExit;
use crate::host_client::is_live;
use crate::location::RunLocation;
use crate::render::report::{self as text, ReportContext};
use crate::render::{json_record, terminal_style};
use crate::report_context::collect_report_context;
use crate::stdio;

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
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn report(args: RunReportArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_reading(&args.location, run.as_ref())?;
    let view = view_of(&location.config, run.as_ref())?;
    let live = is_live(&location, &view.run);
    let document = json_record::RunDocument { location: &location, view: &view, live };
    match args.format.format {
        OutputFormat::Text => stdio::data(&text::report(
            &terminal_style::stdout(),
            &text::found(&view, live),
            &location,
            &ReportContext {
                is_stopping: text::is_stopping(&view, live),
                ..collect_report_context(&location, &view)
            },
        ))?,
        OutputFormat::Json => stdio::data(&json_record::pretty(&document)?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?)?,
    }
    Ok(CliExit::Done)
}
