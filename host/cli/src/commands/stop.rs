//! `baton stop`: asks the host of a run to end its agents and leave, keeping everything.

use baton_runtime::core::RunId;
use baton_runtime::{ControlMessage, RuntimeError, view_of};
use clap::Args;
use serde_json::json;

use crate::args::{LocationArgs, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::host_client::{ask_host, current};
use crate::location::RunLocation;
use crate::render::json_record;
use crate::stdio;

/// Stop a running run; its state is kept
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton stop                   the running run of this folder
  baton stop 20260212-103000   this one
  baton resume                 continues it later")]
pub(crate) struct RunStopArgs {
    /// Which run [default: the running one]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn stop(args: RunStopArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_writing(&args.location, run.as_ref())?;
    let (view, live) = current(&location)?;
    if let Some(other) = run.filter(|run| live && *run != view.run) {
        let other = view_of(&location.config, Some(&other))?.run;
        return Err(
            UsageError(format!("run {other} is not running; Baton works on {} here", view.run)).into()
        );
    }
    if !live {
        return Err(RuntimeError::NoHost { workspace: location.config.workspace, what: "stop" }.into());
    }
    ask_host(&location, ControlMessage::Stop)?;
    let next = format!("baton resume {}{}", view.run, location.flags);
    let document = json!({ "schema": json_record::SCHEMA, "record": "stop", "run": view.run, "stopping": true, "next": next });
    if !json_record::write(args.format.format, &document)? {
        stdio::progress(&format!("stopping run {}; `{next}` continues it", view.run));
    }
    Ok(CliExit::Done)
}
