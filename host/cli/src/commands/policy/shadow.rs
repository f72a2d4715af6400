//! `baton policy shadow`: what the shadows of a run would have decided. Reads their recorded answers; asks no policy.

use baton_runtime::core::RunId;
use baton_runtime::shadows_of;
use clap::Args;

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::CliExit;
use crate::location::RunLocation;
use crate::render::shadow::ShadowResults;
use crate::render::{json_record, terminal_style};
use crate::stdio;

/// Show the decisions of a run's shadow policies
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton policy shadow                      of the newest run of this folder, also while it runs
  baton policy shadow 20260212-103000 --differences 100

You name shadows in a workflow, in a workspace's baton.toml or in your own config:
  [policies]
  shadow = [\"candidate.wasm\", { component = \"builtin:resilience\", settings = { compact-percent = 50 } }]

A shadow gets every question that the deciding policies get, on its own thread and engine, with a tenth of a core. \
It decides nothing, and the run never waits for it; questions beyond its share are left out and counted.")]
pub(crate) struct ShadowArgs {
    /// Which run [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Differences to show
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(..=1000))]
    differences: u16,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(super) fn shadow(args: ShadowArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_reading(&args.location, run.as_ref())?;
    let (run, story) = shadows_of(&location.config, run.as_ref())?;
    let found = ShadowResults { run: &run, story: &story, differences: usize::from(args.differences) };
    match args.format.format {
        OutputFormat::Text => stdio::data(&found.text(&terminal_style::stdout()))?,
        OutputFormat::Json => stdio::data(&json_record::pretty(&found.json())?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&found.json())?)?,
    }
    Ok(CliExit::Done)
}
