//! `baton simulate fit`: a model from what happened in recorded runs.

use std::fs;
use std::path::PathBuf;

use baton_lab::simulate::fit::Fitter;
use baton_runtime::core::RunId;
use baton_runtime::journal_of;
use clap::{Args, ValueHint};

use crate::args::PlaceArgs;
use crate::exit::{Exit, Usage};
use crate::out;
use crate::place::Place;

/// Estimate a model from recorded runs
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton simulate fit                                    from the newest run of this folder
  baton simulate fit 20260212-103000 20260213-081500 --out mine.toml
  baton simulate workflow.toml --model mine.toml

Beside every number stands how many observations it rests on. Where there are too few, the default is kept, and the file \
says so; what no journal shows (whether work is right, whether an agent tells the truth) is never fitted.")]
pub(super) struct FitArgs {
    /// Runs [default: the newest one]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Write the model here instead of to standard output
    #[arg(long, value_name = "MODEL.toml", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(super) fn fit(args: &FitArgs) -> anyhow::Result<Exit> {
    let mut fitter = Fitter::new();
    let named: Vec<Option<RunId>> = match args.runs.as_slice() {
        [] => vec![None],
        runs => runs.iter().map(|run| Some(RunId::new(run))).collect(),
    };
    for run in named {
        let place = Place::to_read(&args.place, run.as_ref())?;
        let (journal, run) = journal_of(&place.config, run.as_ref())?;
        fitter.take(&journal, &run)?;
    }
    let fitted = fitter.finish();
    let text = fitted.to_toml();
    match &args.out {
        Some(path) => {
            fs::write(path, text)
                .map_err(|error| Usage(format!("{} cannot be written: {error}", path.display())))?;
            let (numbers, runs, s) = (fitted.fitted(), fitted.runs, if fitted.runs == 1 { "" } else { "s" });
            out::progress(&format!("{numbers} numbers fitted from {runs} run{s}, in {}", path.display()));
        }
        None => out::data(&text)?,
    }
    Ok(Exit::Done)
}
