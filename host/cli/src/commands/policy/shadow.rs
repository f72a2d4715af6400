//! `baton policy shadow`: what the shadows of a run would have decided. Reads what they said; asks nobody.

use baton_runtime::core::RunId;
use baton_runtime::shadows_of;
use clap::Args;

use crate::args::{Format, FormatArg, PlaceArgs};
use crate::exit::Exit;
use crate::out;
use crate::place::Place;
use crate::render::shadow::Shadows;
use crate::render::{look, record};

/// Show what the shadows of a run would have decided
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy shadow                      of the newest run of this folder, while it goes on too
  baton policy shadow 20260212-103000 --differences 100

A workflow, a workspace or a user names shadows:
  [policies]
  shadow = [\"candidate.wasm\", { component = \"builtin:resilience\", settings = { compact-percent = 50 } }]

A shadow is asked everything that is asked of those who decide, on a thread, an engine and a tenth of a core of its own. \
It decides nothing, and a run goes on whether it answers or not; what is beyond its share is left out and counted.")]
pub(crate) struct ShadowArgs {
    /// Which run [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Differences to show
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(..=1000))]
    differences: u16,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    format: FormatArg,
}

pub(super) fn shadow(args: ShadowArgs) -> anyhow::Result<Exit> {
    let run = args.run.map(RunId::new);
    let place = Place::to_read(&args.place, run.as_ref())?;
    let (run, story) = shadows_of(&place.config, run.as_ref())?;
    let found = Shadows { run: &run, story: &story, differences: usize::from(args.differences) };
    match args.format.format {
        Format::Text => out::data(&found.text(&look::stdout()))?,
        Format::Json => out::data(&record::pretty(&found.json())?)?,
        Format::Jsonl => out::data(&record::line(&found.json())?)?,
    }
    Ok(Exit::Done)
}
