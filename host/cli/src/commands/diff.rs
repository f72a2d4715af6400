//! `baton diff`: what a run, or a phase of it, changed in the workspace. Changes nothing.

use baton_runtime::core::{PhaseId, RunId};
use baton_runtime::store::secrets::mask;
use baton_runtime::{RunDiff, WhatChanged, diff as compare};
use clap::Args;
use serde_json::json;

use super::{block_on, meant};
use crate::args::{Format, FormatArg, PlaceArgs};
use crate::exit::Exit;
use crate::out;
use crate::place::Place;
use crate::render::look::{self, Look, Tone};
use crate::render::{record, words};

/// Show what a run changed, as a patch
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton diff                    what the newest run of this folder changed
  baton diff build              what its phase build changed
  baton diff --stat             the files alone, with lines that came and went
  baton diff build -- src/a.rs  in this file
  baton diff --run 20260212-103000

It compares how the files were when the run (or the phase) began with how they were when it ended, uncommitted work of before
included. Where phases work at the same time, a phase is shown with what others changed beside it. Without git, only names are known.")]
pub(crate) struct DiffArgs {
    /// Of this phase alone [default: the whole run]; or a run
    #[arg(value_name = "PHASE")]
    of: Option<String>,
    /// Only these files
    #[arg(value_name = "FILE", last = true)]
    files: Vec<String>,
    /// Which run [default: the newest]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Files and lines alone
    #[arg(long)]
    stat: bool,
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    format: FormatArg,
}

pub(crate) fn diff(args: DiffArgs) -> anyhow::Result<Exit> {
    let run = args.run.map(RunId::new);
    let place = Place::to_read(&args.place, run.as_ref())?;
    let mut of = args.of;
    let run = meant(&place, run, &mut of);
    let phase = of.map(PhaseId::new);
    let is_text = args.format.format == Format::Text;
    let colour = is_text && look::stdout().colour;
    let found = compare(&place.config, run.as_ref(), phase.as_ref(), &args.files, !args.stat, colour);
    let found = block_on(found)??;
    match args.format.format {
        Format::Text => out::data(&mask(&text(&look::stdout(), &found, args.stat)))?,
        Format::Json => out::data(&mask(&record::pretty(&json(&found, phase.as_ref()))?))?,
        Format::Jsonl => out::data(&mask(&record::line(&json(&found, phase.as_ref()))?))?,
    }
    Ok(Exit::Done)
}

fn text(look: &Look, found: &RunDiff, stat: bool) -> String {
    match &found.what {
        WhatChanged::Lines(lines) if lines.files.is_empty() => format!("run {} changed nothing\n", found.run),
        WhatChanged::Lines(lines) if stat => {
            let width = lines.files.iter().map(|file| file.path.chars().count()).max().unwrap_or_default();
            let mut text: String = lines
                .files
                .iter()
                .map(|file| {
                    let (added, removed) = match (file.added, file.removed) {
                        (Some(added), Some(removed)) => (format!("+{added}"), format!("−{removed}")),
                        _ => ("no text".to_owned(), String::new()),
                    };
                    let (added, removed) = (look.paint(Tone::Good, &added), look.paint(Tone::Bad, &removed));
                    format!("{:width$}  {added} {removed}", file.path).trim_end().to_owned() + "\n"
                })
                .collect();
            text.push_str(&format!("{}\n", sum(found)));
            text
        }
        WhatChanged::Lines(lines) => String::from_utf8_lossy(&lines.patch).into_owned(),
        WhatChanged::Names { files, why } => {
            let mut text: String = files
                .iter()
                .map(|file| {
                    let word = match (file.exists, file.is_new) {
                        (false, _) => "gone",
                        (true, true) => "new",
                        (true, false) => "changed",
                    };
                    format!("{word:8} {}\n", file.path)
                })
                .collect();
            text.push_str(&format!("\n{}: {why}\n", sum(found)));
            text
        }
    }
}

/// "3 files, +120 −7".
pub(crate) fn sum(found: &RunDiff) -> String {
    let count = |n: usize| words::counted(n, "file");
    match &found.what {
        WhatChanged::Lines(lines) => {
            let added: u64 = lines.files.iter().filter_map(|file| file.added).sum();
            let removed: u64 = lines.files.iter().filter_map(|file| file.removed).sum();
            format!("{}, +{added} −{removed}", count(lines.files.len()))
        }
        WhatChanged::Names { files, .. } => count(files.len()),
    }
}

fn json(found: &RunDiff, phase: Option<&PhaseId>) -> serde_json::Value {
    let (files, patch, why) = match &found.what {
        WhatChanged::Lines(lines) => {
            let file = |file: &baton_runtime::DifferingFile| json!({ "path": file.path, "added": file.added, "removed": file.removed });
            let files: Vec<_> = lines.files.iter().map(file).collect();
            (files, Some(String::from_utf8_lossy(&lines.patch).into_owned()), None)
        }
        WhatChanged::Names { files, why } => {
            let files = files
                .iter()
                .map(|file| json!({ "path": file.path, "exists": file.exists, "new": file.is_new }));
            (files.collect(), None, Some(why))
        }
    };
    json!({
        "schema": record::SCHEMA,
        "record": "diff",
        "run": found.run,
        "phase": phase,
        "files": files,
        "patch": patch,
        "why_names_only": why,
    })
}
