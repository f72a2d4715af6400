//! `baton status`: the state of a run. Reads the journal, or asks the host; starts no policy engine.

use baton_runtime::core::RunId;
use baton_runtime::{RunRow, runs, view_of};
use clap::Args;
use serde_json::{Value, json};

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::CliExit;
use crate::host_client::{current, is_live, others_waiting};
use crate::location::RunLocation;
use crate::render::terminal_style::{self, TerminalStyle};
use crate::render::{json_record, report, text_format};
use crate::stdio;

/// Show the state of a run
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton status                    the newest run of this folder
  baton status 20260212-103000    this one
  baton status --all              every run of this folder
  baton status --format json      for programs")]
pub(crate) struct StatusArgs {
    /// Which run [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// List every run of the workspace
    #[arg(long, conflicts_with = "run")]
    all: bool,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn status(args: StatusArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_reading(&args.location, run.as_ref())?;
    let format = args.format.format;
    if args.all {
        let rows = runs(&location.config)?;
        // A host works on one run of a workspace, if on any.
        let live = current(&location).ok().map(|(view, live)| live.then_some(view.run));
        return all(&rows, live.as_ref(), format);
    }
    let (view, live) = match &run {
        Some(run) => (view_of(&location.config, Some(run))?, is_live(&location, run)),
        None => current(&location).map(|(view, live)| (view, Some(live)))?,
    };
    let document = json_record::RunDocument { location: &location, view: &view, live };
    match format {
        OutputFormat::Text => {
            let is_stopping = report::is_stopping(&view, live);
            let mut text = report::status(
                &terminal_style::stdout(),
                &report::found(&view, live),
                &location,
                is_stopping,
            );
            let others = if run.is_none() { others_waiting(&location, &view.run) } else { Vec::new() };
            for other in &others {
                text.push_str(&format!(
                    "\nRun {other} waits for an answer, too: baton status {other}{}\n",
                    location.flags
                ));
            }
            stdio::data(&text)?;
        }
        OutputFormat::Json => stdio::data(&json_record::pretty(&document)?)?,
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?)?,
    }
    Ok(CliExit::Done)
}

/// `live` is the run that a host works on, if it is known whether there is one.
fn all(rows: &[RunRow], live: Option<&Option<RunId>>, format: OutputFormat) -> anyhow::Result<CliExit> {
    let row = |row: &RunRow| {
        json!({
            "schema": json_record::SCHEMA,
            "record": "run-row",
            "run": row.run,
            "workflow": row.workflow,
            "started_at_ms": row.started_at,
            "status": row.status,
            "live": is(live, row),
            "done": row.done,
            "objectives": row.objectives,
            "set_aside": row.set_aside,
        })
    };
    match format {
        OutputFormat::Text => stdio::data(&list(&terminal_style::stdout(), rows, live))?,
        OutputFormat::Json => {
            let rows: Vec<Value> = rows.iter().map(row).collect();
            stdio::data(&json_record::pretty(
                &json!({ "schema": json_record::SCHEMA, "record": "runs", "runs": rows }),
            )?)?;
        }
        OutputFormat::Jsonl => {
            for one in rows {
                stdio::data(&json_record::line(&row(one))?)?;
            }
        }
    }
    Ok(CliExit::Done)
}

fn is(live: Option<&Option<RunId>>, row: &RunRow) -> Option<bool> {
    live.map(|live| live.as_ref() == Some(&row.run))
}

/// "r-7f  2026-02-12 10:30  done  8 of 8 objectives  quickstart".
fn list(look: &TerminalStyle, rows: &[RunRow], live: Option<&Option<RunId>>) -> String {
    let width = rows.iter().map(|row| row.run.as_str().len()).max().unwrap_or_default();
    rows.iter()
        .map(|row| {
            let (word, tone) = text_format::run(text_format::found(row.status, is(live, row)));
            let word = look.paint(tone, &format!("{word:11}"));
            let at = look.day_and_time(row.started_at);
            let aside = if row.set_aside { "  set aside" } else { "" };
            format!(
                "{:width$}  {at}  {word}  {:2} of {:2} objectives  {}{aside}\n",
                row.run, row.done, row.objectives, row.workflow
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_runtime::core::UnixMs;
    use baton_runtime::core::action::RunOutcome;
    use baton_runtime::core::view::RunStatus;

    #[test]
    fn runs_are_listed_one_a_line() {
        let row = |run: &str, status, done| RunRow {
            run: run.into(),
            workflow: "quickstart".into(),
            started_at: UnixMs(1_770_892_200_000),
            status,
            done,
            objectives: 8,
            set_aside: run == "r-81a",
        };
        let rows = [row("r-7f", RunStatus::Ended(RunOutcome::Done), 8), row("r-81a", RunStatus::Paused, 3)];
        insta::assert_snapshot!(list(&TerminalStyle::bare(100), &rows, Some(&None)));
        let rows = [row("r-7f", RunStatus::Running, 3), row("r-81a", RunStatus::Running, 3)];
        let listed = list(&TerminalStyle::bare(100), &rows, Some(&Some("r-81a".into())));
        let words: Vec<bool> = listed.lines().map(|line| line.contains("interrupted")).collect();
        assert_eq!(words, [true, false], "{listed}");
    }
}
