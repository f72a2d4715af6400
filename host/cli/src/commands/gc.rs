//! `baton gc`: removes whole runs from the state directory. Never touches the workspace.

use baton_runtime::core::{DurationMs, RunId};
use baton_runtime::{GcResult, RemovedRun, RetentionRule};
use clap::{ArgGroup, Args};
use serde_json::{Value, json};

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::location::RunLocation;
use crate::render::terminal_style::{self, TerminalStyle, Tone};
use crate::render::{json_record, text_format};
use crate::stdio;

/// Remove old runs: their journal, artifacts and transcripts
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").args(["older_than", "keep", "run"]).required(true).multiple(true))]
#[command(after_help = "\
Examples:
  baton gc --older-than 30d --dry-run     what would be removed, and how much space that frees
  baton gc --older-than 30d --keep 5      but keep the newest five
  baton gc --run 20260212-103000          this one
  baton gc --run 20260212-103000 --force  even though it has not ended

Runs are removed as a whole. Data that another run refers to stays. A run that has not ended (paused, interrupted) \
is removed only with --run and --force. The next `baton gc` finishes a removal that was interrupted. The workspace \
is not touched.")]
pub(crate) struct GcArgs {
    /// Remove runs that have been idle for longer than TIME: 90d, 12h, 30m
    #[arg(long, value_name = "TIME")]
    older_than: Option<String>,
    /// Keep the N most recent runs
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Remove this run
    #[arg(long, value_name = "RUN", conflicts_with_all = ["older_than", "keep"])]
    run: Option<String>,
    /// With --run: remove it even if it has not ended
    #[arg(long, requires = "run", conflicts_with_all = ["older_than", "keep"])]
    force: bool,
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn gc(args: GcArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_writing(&args.location, run.as_ref())?;
    let leave = RetentionRule {
        younger_than: args.older_than.as_deref().map(age).transpose()?,
        newest: args.keep,
        all_but: run,
        force: args.force,
    };
    let collected = baton_runtime::gc(&location.config, &leave, args.dry_run)?;
    let rows = || collected.removed.iter().map(|run| record(run, args.dry_run));
    match args.format.format {
        OutputFormat::Text => {
            stdio::data(&list(&terminal_style::stdout(), &collected))?;
            stdio::progress(&summary_line(&collected, args.dry_run));
        }
        OutputFormat::Json => {
            let document = json!({
                "schema": json_record::SCHEMA,
                "record": "gc",
                "dry_run": args.dry_run,
                "runs": rows().collect::<Vec<_>>(),
                "left": collected.left,
                "unfinished": collected.unfinished,
            });
            stdio::data(&json_record::pretty(&document)?)?;
        }
        OutputFormat::Jsonl => {
            for row in rows() {
                stdio::data(&json_record::line(&row)?)?;
            }
        }
    }
    Ok(CliExit::Done)
}

/// "30d" in milliseconds.
fn age(text: &str) -> Result<DurationMs, UsageError> {
    let unit_ms: u64 = match text.chars().last() {
        Some('d') => 24 * 60 * 60 * 1000,
        Some('h') => 60 * 60 * 1000,
        Some('m') => 60 * 1000,
        _ => 0,
    };
    let number = text.get(..text.len().saturating_sub(1)).and_then(|number| number.parse::<u64>().ok());
    match number {
        Some(number) if unit_ms > 0 => Ok(DurationMs(number.saturating_mul(unit_ms))),
        _ => Err(UsageError(format!("{text:?} is not a time: write a number and d, h or m, as in 30d"))),
    }
}

fn record(run: &RemovedRun, dry_run: bool) -> Value {
    json!({
        "schema": json_record::SCHEMA,
        "record": "gc-run",
        "run": run.run,
        "workflow": run.workflow,
        "last_at_ms": run.last_at,
        "ended": run.ended,
        "removed": !dry_run,
        "journal_bytes": run.journal_bytes,
        "artifact_bytes": run.artifact_bytes,
        "session_bytes": run.session_bytes,
    })
}

/// "20260212-103000  2026-02-12 10:30  1.2 MB  quickstart".
fn list(look: &TerminalStyle, collected: &GcResult) -> String {
    let width = collected.removed.iter().map(|run| run.run.as_str().len()).max().unwrap_or_default();
    let row = |run: &RemovedRun| {
        let name = look.paint(Tone::Strong, &format!("{:width$}", run.run.as_str()));
        let note = if run.half_removed { "  an earlier removal was interrupted" } else { "" };
        let line = format!(
            "{name}  {}  {:>8}  {}{note}",
            look.day_and_time(run.last_at),
            text_format::bytes(run.bytes()),
            run.workflow
        );
        format!("{}\n", line.trim_end())
    };
    collected.removed.iter().map(row).collect()
}

fn summary_line(collected: &GcResult, dry_run: bool) -> String {
    let runs = |n: usize| if n == 1 { "1 run".to_owned() } else { format!("{n} runs") };
    let bytes = collected.removed.iter().map(RemovedRun::bytes).sum();
    let did = if dry_run { "would be removed" } else { "removed" };
    let removed = match collected.removed.len() {
        0 => "nothing to remove".to_owned(),
        n => format!("{} {did}, {}", runs(n), text_format::bytes(bytes)),
    };
    let stay = match collected.unfinished.as_slice() {
        [] => String::new(),
        unfinished => {
            let names: Vec<&str> = unfinished.iter().map(RunId::as_str).collect();
            format!("; not ended, so they stay: {} (--run RUN --force removes one)", names.join(", "))
        }
    };
    format!("{removed}; {} left{stay}", runs(collected.left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_runtime::core::UnixMs;

    #[test]
    fn what_goes_is_listed_with_its_size() {
        let run = |name: &str, half_removed| RemovedRun {
            run: RunId::new(name),
            workflow: "quickstart".into(),
            last_at: UnixMs(1_770_892_200_000),
            ended: true,
            half_removed,
            journal_bytes: 81_920,
            artifact_bytes: 1_200_000,
            session_bytes: 44,
        };
        let collected = GcResult {
            removed: vec![run("20260212-103000", false), run("20260212-1", true)],
            left: 2,
            unfinished: vec![RunId::new("20260213-1")],
        };
        let text = list(&TerminalStyle::bare(100), &collected);
        insta::assert_snapshot!(format!(
            "{text}{}\n{}",
            summary_line(&collected, true),
            summary_line(&GcResult::default(), false)
        ));
    }

    #[test]
    fn ages_are_numbers_with_a_unit() {
        assert_eq!(age("30d").unwrap(), DurationMs(30 * 86_400_000));
        assert_eq!(age("12h").unwrap(), DurationMs(12 * 3_600_000));
        for bad in ["", "d", "30", "-1d", "3 d", "1w", "ä"] {
            assert!(age(bad).is_err(), "{bad}");
        }
    }
}
