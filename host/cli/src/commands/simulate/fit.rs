//! `baton simulate fit`: a model from the events of recorded runs.

use std::fs;
use std::path::PathBuf;

use baton_lab::simulate::fit::ModelFitter;
use baton_runtime::core::RunId;
use baton_runtime::journal_of;
use clap::{Args, ValueHint};
use serde_json::{Value, json};

use crate::args::{LocationArgs, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::location::RunLocation;
use crate::render::json_record;
use crate::render::simulation::numbers;
use crate::stdio;

/// Estimate a model from recorded runs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton simulate fit                                    from the newest run of this folder
  baton simulate fit 20260212-103000 20260213-081500 --out mine.toml
  baton simulate workflow.toml --model mine.toml

Every parameter is annotated with its number of observations. If there are too few, the default is kept, and the \
file says so. Parameters that no journal shows (whether work is right, whether an agent tells the truth) are never \
fitted.")]
pub(super) struct FitArgs {
    /// Runs [default: the newest one]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Write the model here instead of to standard output
    #[arg(long, value_name = "MODEL.toml", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(super) fn fit(args: &FitArgs) -> anyhow::Result<CliExit> {
    let mut fitter = ModelFitter::new();
    let named: Vec<Option<RunId>> = match args.runs.as_slice() {
        [] => vec![None],
        runs => runs.iter().map(|run| Some(RunId::new(run))).collect(),
    };
    for run in named {
        let location = RunLocation::for_reading(&args.location, run.as_ref())?;
        let (journal, run) = journal_of(&location.config, run.as_ref())?;
        fitter.take(&journal, &run)?;
    }
    let fitted = fitter.finish();
    let text = fitted.to_toml();
    if let Some(path) = &args.out {
        fs::write(path, &text)
            .map_err(|error| UsageError(format!("{} cannot be written: {error}", path.display())))?;
    }
    let basis: serde_json::Map<String, Value> = fitted
        .basis
        .iter()
        .map(|(key, basis)| {
            let basis = json!({ "observations": basis.n, "of": basis.what, "enough": basis.enough });
            ((*key).to_owned(), basis)
        })
        .collect();
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "simulation-fit",
        "runs": fitted.runs,
        "fitted": fitted.fitted(),
        "file": args.out.as_ref().map(|file| file.to_string_lossy()),
        "model": numbers(&fitted.model),
        "basis": basis,
    });
    if json_record::write(args.format.format, &document)? {
        return Ok(CliExit::Done);
    }
    match &args.out {
        Some(path) => {
            let (numbers, runs, s) = (fitted.fitted(), fitted.runs, if fitted.runs == 1 { "" } else { "s" });
            stdio::progress(&format!("{numbers} numbers fitted from {runs} run{s}, in {}", path.display()));
        }
        None => stdio::data(&text)?,
    }
    Ok(CliExit::Done)
}
