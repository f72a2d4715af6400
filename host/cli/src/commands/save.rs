//! `baton save`: saves the source of a run as a workflow file. Starts nothing.

use std::path::PathBuf;

use baton_runtime::core::RunId;
use baton_runtime::core::workflow::RunSource;
use baton_runtime::{view_of, workflow_of};
use clap::{Args, ValueHint};
use serde_json::json;

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::files::write_new;
use crate::location::{RunLocation, shell_quoted};
use crate::render::json_record;
use crate::stdio;
use crate::task::workflow_draft::with_flags;

/// Keep what a run was made from as a workflow file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton save                          the newest run of this folder, as workflow.toml
  baton save port.toml --run 20260212-103000
  baton save - | less                 to standard output")]
pub(crate) struct SaveArgs {
    /// The file to write; - for standard output
    #[arg(value_name = "WORKFLOW.toml", default_value = "workflow.toml", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Which run [default: the newest]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn save(args: SaveArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_reading(&args.location, run.as_ref())?;
    let run = view_of(&location.config, run.as_ref())?.run;
    let began_with = workflow_of(&location.config, &run)?;
    let text = match began_with.as_ref().and_then(|workflow| Some((workflow.source.clone()?, workflow))) {
        Some((RunSource::Plan { workflow: text, .. } | RunSource::Sentence { workflow: text, .. }, run)) => {
            with_flags(&text, run)
        }
        Some((RunSource::File { path }, _)) => {
            return Err(UsageError(format!("run {run} was made from a workflow file already: {path}")).into());
        }
        None => return Err(UsageError(format!("the source of run {run} is unknown")).into()),
    };
    if args.file.as_os_str() == "-" {
        stdio::data(&text)?;
        return Ok(CliExit::Done);
    }
    write_new(&args.file, text.as_bytes(), args.force)?;
    let file = args.file.display();
    let next = format!("baton run {}", shell_quoted(&args.file.to_string_lossy()));
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "saved",
        "run": run,
        "file": std::path::absolute(&args.file)?.to_string_lossy(),
        "next": next,
    });
    match args.format.format {
        OutputFormat::Text => stdio::data(&format!("{file} has the task of run {run}\nNext       {next}\n"))?,
        OutputFormat::Json => stdio::data(&json_record::pretty(&document)?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?)?,
    }
    Ok(CliExit::Done)
}
