//! `baton diff`: the changes of a run, or a phase of it, in the workspace. Changes nothing.

use baton_runtime::core::visible::visible_name;
use baton_runtime::core::{PhaseId, RunId};
use baton_runtime::store::secrets::mask;
use baton_runtime::{RunChanges, RunDiff, diff as compare};
use clap::Args;
use serde_json::json;

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::CliExit;
use crate::host_client::{block_on, meant};
use crate::location::RunLocation;
use crate::render::changes::change_totals;
use crate::render::json_record;
use crate::render::terminal_style::{self, TerminalStyle, Tone};
use crate::stdio;

/// Show what a run changed, as a patch
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton diff                    what the newest run of this folder changed
  baton diff build              what its phase build changed
  baton diff --stat             only the files, with numbers of lines added and removed
  baton diff build -- src/a.rs  in this file
  baton diff --run 20260212-103000

It compares the files at the start of the run (or the phase) with those at its end, including earlier uncommitted \
work. If phases work at the same time, the diff of one also has what the others changed meanwhile. Without git, only \
file names are known.")]
pub(crate) struct DiffArgs {
    /// Only this phase [default: the whole run]; or a run
    #[arg(value_name = "PHASE")]
    of: Option<String>,
    /// Only these files
    #[arg(value_name = "FILE", last = true)]
    files: Vec<String>,
    /// Which run [default: the newest]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Only files and numbers of lines
    #[arg(long)]
    stat: bool,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn diff(args: DiffArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_reading(&args.location, run.as_ref())?;
    let mut of = args.of;
    let run = meant(&location, run, &mut of);
    let phase = of.map(PhaseId::new);
    let found = compare(&location.config, run.as_ref(), phase.as_ref(), &args.files, !args.stat);
    let found = block_on(found)??;
    match args.format.format {
        OutputFormat::Text => stdio::data(&text(&terminal_style::stdout(), &found, args.stat))?,
        OutputFormat::Json => stdio::data(&mask(&json_record::pretty(&json(&found, phase.as_ref()))?))?,
        OutputFormat::Jsonl => stdio::data(&mask(&json_record::line(&json(&found, phase.as_ref()))?))?,
    }
    Ok(CliExit::Done)
}

fn text(look: &TerminalStyle, found: &RunDiff, stat: bool) -> String {
    match &found.what {
        RunChanges::Lines(lines) if lines.files.is_empty() => format!("run {} changed nothing\n", found.run),
        RunChanges::Lines(lines) if stat => {
            let names: Vec<_> = lines.files.iter().map(|file| name(&file.path)).collect();
            let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
            let mut text: String = lines
                .files
                .iter()
                .zip(&names)
                .map(|(file, name)| {
                    let (added, removed) = match (file.added, file.removed) {
                        (Some(added), Some(removed)) => (format!("+{added}"), format!("−{removed}")),
                        _ => ("no text".to_owned(), String::new()),
                    };
                    let (added, removed) = (look.paint(Tone::Good, &added), look.paint(Tone::Bad, &removed));
                    format!("{name:width$}  {added} {removed}").trim_end().to_owned() + "\n"
                })
                .collect();
            text.push_str(&format!("{}\n", change_totals(found)));
            text
        }
        RunChanges::Lines(lines) => colourize_patch(look, &mask(&String::from_utf8_lossy(&lines.patch))),
        RunChanges::Names { files, why } => {
            let mut text: String = files
                .iter()
                .map(|file| {
                    let word = match (file.exists, file.is_new) {
                        (false, _) => "gone",
                        (true, true) => "new",
                        (true, false) => "changed",
                    };
                    format!("{word:8} {}\n", name(&file.path))
                })
                .collect();
            text.push_str(&format!("\n{}: {why}\n", change_totals(found)));
            text
        }
    }
}

/// A file's name on one line, without a secret.
fn name(path: &str) -> String {
    mask(&visible_name(path)).into_owned()
}

/// A patch with the colours that git gives it.
fn colourize_patch(look: &TerminalStyle, patch: &str) -> String {
    let mut in_hunk = false;
    let lines = patch.split_inclusive('\n').map(|line| {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        in_hunk = line.starts_with("@@") || (in_hunk && line.starts_with(['+', '-', ' ', '\\']));
        let tone = match (line.chars().next(), in_hunk) {
            (_, false) => Tone::Strong,
            (Some('@'), true) => Tone::Handoff,
            (Some('+'), true) => Tone::Good,
            (Some('-'), true) => Tone::Bad,
            _ => Tone::Plain,
        };
        look.paint(tone, line) + end
    });
    lines.collect()
}

fn json(found: &RunDiff, phase: Option<&PhaseId>) -> serde_json::Value {
    let (files, patch, why) = match &found.what {
        RunChanges::Lines(lines) => {
            let file = |file: &baton_runtime::StateDiffFile| json!({ "path": file.path, "added": file.added, "removed": file.removed });
            let files: Vec<_> = lines.files.iter().map(file).collect();
            (files, Some(String::from_utf8_lossy(&lines.patch).into_owned()), None)
        }
        RunChanges::Names { files, why } => {
            let files = files
                .iter()
                .map(|file| json!({ "path": file.path, "exists": file.exists, "new": file.is_new }));
            (files.collect(), None, Some(why))
        }
    };
    json!({
        "schema": json_record::SCHEMA,
        "record": "diff",
        "run": found.run,
        "phase": phase,
        "files": files,
        "patch": patch,
        "why_names_only": why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_has_colours_of_our_own() {
        let look = TerminalStyle { colour: true, ..TerminalStyle::bare(80) };
        let patch = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n--- b\n+c\n d\n";
        let expected = "\u{1b}[1mdiff --git a/x b/x\u{1b}[0m\n\u{1b}[1m--- a/x\u{1b}[0m\n\u{1b}[1m+++ b/x\u{1b}[0m\n\
                        \u{1b}[36m@@ -1 +1,2 @@\u{1b}[0m\n\u{1b}[31m-a\u{1b}[0m\n\u{1b}[31m--- b\u{1b}[0m\n\u{1b}[32m+c\u{1b}[0m\n d\n";
        assert_eq!(colourize_patch(&look, patch), expected);
        // All other escapes are removed from the output.
        assert_eq!(stdio::cleaned(expected, true), expected);
    }

    #[test]
    fn a_name_stays_on_its_line() {
        // N6
        assert_eq!(name("a\nb done").lines().count(), 1);
    }
}
