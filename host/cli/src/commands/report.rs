//! `baton report`: everything a run came to, at any time.

use baton_runtime::core::RunId;
use baton_runtime::view_of;
use clap::Args;

use crate::args::{Format, FormatArg, PlaceArgs};
use crate::exit::Exit;
use crate::host_client::is_live;
use crate::out;
use crate::place::Place;
use crate::render::report::{self as text, Aside};
use crate::render::{look, record};
use crate::report_context::aside_of;

/// Show what a run came to: phases, objectives, sessions, handoffs, artifacts
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton report                    the newest run of this folder
  baton report 20260212-103000    this one
  baton report --format json      for programs")]
pub(crate) struct ReportArgs {
    /// Which run [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    format: FormatArg,
}

pub(crate) fn report(args: ReportArgs) -> anyhow::Result<Exit> {
    let run = args.run.map(RunId::new);
    let place = Place::to_read(&args.place, run.as_ref())?;
    let view = view_of(&place.config, run.as_ref())?;
    let live = is_live(&place, &view.run);
    let document = record::Run { place: &place, view: &view, live };
    match args.format.format {
        Format::Text => out::data(&text::report(
            &look::stdout(),
            &text::found(&view, live),
            &place,
            &Aside { is_stopping: text::is_stopping(&view, live), ..aside_of(&place, &view) },
        ))?,
        Format::Json => out::data(&record::pretty(&document)?)?,
        Format::Jsonl => out::data(&record::line(&document)?)?,
    }
    Ok(Exit::Done)
}
