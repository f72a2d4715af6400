//! `baton runs`: every run of this folder, or of all, the newest first. Reads journals; changes nothing.

use std::path::{Path, PathBuf};

use baton_runtime::core::view::{RunView, SourceSummary};
use baton_runtime::store::StateDir;
use baton_runtime::{HostConfig, RuntimeError, runs as rows_of, view_of};
use clap::Args;
use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::CliExit;
use crate::host_client::current;
use crate::location::{RunLocation, state_root};
use crate::render::terminal_style::{self, TerminalStyle};
use crate::render::{json_record, text_format};
use crate::stdio;
use crate::undo_marker::is_undone;

/// Characters of a run's source.
const TASK_CHARS: usize = 48;

/// List the runs of this folder, the newest first
#[derive(Debug, Args)]
#[command(aliases = ["list", "ls", "history"], after_help = "\
Examples:
  baton runs                    of this folder
  baton runs --all              of every folder
  baton runs --all -n 5         the newest five
  baton runs --format jsonl     for programs")]
pub(crate) struct RunsArgs {
    /// Of every folder that Baton has worked in
    #[arg(long, conflicts_with = "workspace")]
    all: bool,
    /// Only the newest
    #[arg(long, short = 'n', value_name = "NUMBER")]
    newest: Option<usize>,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// A run, and its location.
struct ListedRun {
    view: RunView,
    folder: PathBuf,
    live: Option<bool>,
    /// `baton undo` reverted its changes.
    is_undone: bool,
}

pub(crate) fn runs(args: RunsArgs) -> anyhow::Result<CliExit> {
    let (mut listed, unreadable) = match args.all {
        true => of_all(&args.location)?,
        false => (of(&RunLocation::nearest_with_runs(&args.location)?)?, Vec::new()),
    };
    listed.sort_by_key(|run| std::cmp::Reverse(run.view.started_at));
    listed.truncate(args.newest.unwrap_or(usize::MAX));
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match args.format.format {
        OutputFormat::Text if listed.is_empty() => {
            let location = RunLocation::here(&args.location)?;
            stdio::data(&format!(
                "nothing has run in {}; `baton runs --all` lists the runs of every folder\n",
                location.config.workspace.display()
            ))?;
        }
        OutputFormat::Text => {
            stdio::data(&text(&terminal_style::stdout(), &listed, args.all, home.as_deref()))?
        }
        OutputFormat::Json => {
            let rows: Vec<Value> = listed.iter().map(row).collect();
            let mut record = json!({ "schema": json_record::SCHEMA, "record": "runs", "runs": rows });
            if args.all {
                record["unreadable"] = unreadable.iter().map(unreadable_row).collect();
            }
            stdio::data(&json_record::pretty(&record)?)?;
        }
        OutputFormat::Jsonl => {
            listed.iter().try_for_each(|run| stdio::data(&json_record::line(&row(run))?))?
        }
    }
    Ok(CliExit::Done)
}

/// A folder whose runs cannot be read, and why.
struct UnreadableFolder {
    folder: PathBuf,
    reason: String,
}

fn unreadable_row(found: &UnreadableFolder) -> Value {
    json!({ "workspace": found.folder.to_string_lossy(), "reason": found.reason })
}

/// The runs of every folder, and the folders whose runs are left out. These are named on standard error.
fn of_all(args: &LocationArgs) -> anyhow::Result<(Vec<ListedRun>, Vec<UnreadableFolder>)> {
    let found = StateDir::find_all(&state_root(args)?)?;
    let unreadable = found.unreadable.into_iter();
    let mut unreadable: Vec<UnreadableFolder> =
        unreadable.map(|(folder, error)| UnreadableFolder { folder, reason: error.to_string() }).collect();
    let mut listed = Vec::new();
    for state in found.states {
        let folder = state.workspace().to_owned();
        // Its state is found by its folder; one that is gone cannot be asked for its runs.
        if !folder.is_dir() {
            continue;
        }
        let location = LocationArgs { workspace: Some(folder.clone()), ..args.clone() };
        match RunLocation::here(&location).and_then(|location| of(&location)) {
            Ok(runs) => listed.extend(runs),
            // It has disappeared in the meantime.
            Err(_) if !folder.is_dir() || !state.journal().exists() => {}
            Err(error) => unreadable.push(UnreadableFolder { folder, reason: format!("{error:#}") }),
        }
    }
    for UnreadableFolder { folder, reason } in &unreadable {
        stdio::progress(&format!("the runs of {} are left out: {reason}", folder.display()));
    }
    Ok((listed, unreadable))
}

/// The runs of a folder; none if nothing has run.
fn of(location: &RunLocation) -> anyhow::Result<Vec<ListedRun>> {
    let config: &HostConfig = &location.config;
    let rows = match rows_of(config) {
        Err(RuntimeError::NoRuns { .. }) => return Ok(Vec::new()),
        rows => rows?,
    };
    let live = current(location).ok().map(|(view, live)| live.then_some(view.run));
    rows.iter()
        .map(|row| {
            let view = view_of(config, Some(&row.run))?;
            let live = live.as_ref().map(|live| live.as_ref() == Some(&row.run));
            let is_undone = is_undone(location, &row.run);
            Ok(ListedRun { view, folder: config.workspace.clone(), live, is_undone })
        })
        .collect()
}

fn row(run: &ListedRun) -> Value {
    let (done, objectives) = run.view.objectives();
    json!({
        "schema": json_record::SCHEMA,
        "record": "run-row",
        "run": run.view.run,
        "workflow": run.view.workflow,
        "source": run.view.source,
        "workspace": run.folder.to_string_lossy(),
        "started_at_ms": run.view.started_at,
        "active_ms": run.view.active_ms,
        "status": run.view.status,
        "live": run.live,
        "done": done,
        "objectives": objectives,
        "billed": run.view.billed,
        "billed_at_least": run.view.billed_at_least,
        "set_aside": run.view.set_aside,
        "imported": run.view.imported.is_some(),
        "undone": run.is_undone,
    })
}

fn text(look: &TerminalStyle, runs: &[ListedRun], with_folder: bool, home: Option<&Path>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty().set_width(look.width);
    table.set_content_arrangement(ContentArrangement::Disabled);
    let mut header = vec!["RUN", "BEGAN", "STATUS", "DONE", "TIME", "BILLED", "WHAT"];
    if with_folder {
        header.push("FOLDER");
    }
    table.set_header(header);
    for run in runs {
        let (word, _) = text_format::run(text_format::found(run.view.status, run.live));
        let (done, objectives) = run.view.objectives();
        let mut status = word.to_owned();
        if run.view.set_aside {
            status.push_str(", set aside");
        }
        if run.is_undone {
            status.push_str(", undone");
        }
        if run.view.imported.is_some() {
            "imported".clone_into(&mut status);
        }
        let mut cells = vec![
            run.view.run.to_string(),
            look.day_and_time(run.view.started_at),
            status,
            format!("{done}/{objectives}"),
            run.view.active_ms.to_string(),
            text_format::billed_of_run(&run.view),
            task(&run.view),
        ];
        if with_folder {
            cells.push(short(&run.folder, home));
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// The sentence, or the file that it was made from.
fn task(view: &RunView) -> String {
    let text = match &view.source {
        Some(SourceSummary::Sentence { text }) => text.lines().next().unwrap_or_default().to_owned(),
        Some(SourceSummary::Plan { path } | SourceSummary::File { path }) => {
            let name = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
            name.unwrap_or_else(|| view.workflow.clone())
        }
        None => view.workflow.clone(),
    };
    match text.chars().count() > TASK_CHARS {
        true => format!("{}…", text.chars().take(TASK_CHARS).collect::<String>().trim_end()),
        false => text,
    }
}

fn short(folder: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| folder.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => folder.display().to_string(),
    }
}
