//! `baton attach`: looks on while a host works on a run, from any terminal and any number of them.

use baton_runtime::core::RunId;
use clap::Args;

use crate::args::{LocationArgs, ViewArgs};
use crate::exit_status::CliExit;
use crate::location::RunLocation;
use crate::run_ui::watch_run;

/// Watch a run until it ends: its table and its events
#[derive(Debug, Args)]
#[command(
    alias = "watch",
    after_help = "\
Examples:
  baton attach                     the running run of this folder, else the newest
  baton attach 20260212-103000     this one
  baton attach --format jsonl      the latest and all further events, one JSON record a line

Ctrl-C leaves and the run continues; `baton stop` ends it. When the run ends, its report is shown, and the exit code \
is the run's."
)]
pub(crate) struct AttachArgs {
    /// Which run [default: the running one, else the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    view: ViewArgs,
}

pub(crate) fn attach(args: AttachArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_reading(&args.location, run.as_ref())?;
    watch_run(&location, run, args.view)
}
