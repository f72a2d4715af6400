//! `baton handoff`: the handoffs of sessions, and whether a document can start one. Changes nothing. `render/handoff.rs`
//! renders it.

mod facts;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use baton_lab::{ReviewedDocumentFacts, review};
use baton_runtime::core::decision::{Decision, ReviewDecision};
use baton_runtime::core::observation::Capability;
use baton_runtime::core::view::RunView;
use baton_runtime::core::workflow::BUILTIN;
use baton_runtime::core::{ObjectiveId, PhaseId, RunId};
use baton_runtime::engine::Router;
use baton_runtime::{Author, HandoffEntry, Inspection, handoffs, inspect_document, view_of};
use clap::{Args, Subcommand, ValueHint};
use serde_json::{Value, json};

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::location::RunLocation;
use crate::render::handoff::{BuiltInTextFn, record_of, text_of, verdict_of, verdict_record};
use crate::render::{json_record, terminal_style};
use crate::{policies, stdio};
use facts::HandoffFactsFile;

/// No handoff that people or agents write is longer; the policy reads 64 KiB of it.
const DOCUMENT_BYTES_MAX: u64 = 1 << 20;
/// Show the handoffs between sessions, and check a handoff document
#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  baton handoff show build
  baton handoff check handoff.md")]
pub(crate) enum HandoffCommand {
    Show(HandoffShowArgs),
    Check(HandoffCheckArgs),
}

/// Show the handoffs of a phase, newest first: document, packet, review, age
#[derive(Debug, Args)]
#[command(allow_missing_positional = true)]
#[command(after_help = "\
Examples:
  baton handoff show                            the phase with the newest handoff, of the newest run
  baton handoff show build                      of this phase
  baton handoff show 20260212-103000 build      of this run
  baton handoff show build --format json         for programs
  baton handoff show build --diff                next to what the built-in policy writes

The packet is the first prompt of a session that started from the handoff, byte for byte. Staleness is computed on \
demand. Text by a policy that is not built in is third-party text: its policy is named, each of its lines is marked, \
and it is at most 32 KiB long.")]
pub(crate) struct HandoffShowArgs {
    /// Which run [default: the newest]
    #[arg(value_name = "RUN")]
    run: Option<String>,
    /// Which phase of it [default: the one with the newest handoff]
    #[arg(value_name = "PHASE")]
    phase: Option<String>,
    /// The component that judges its staleness
    #[arg(long, value_name = "POLICY", default_value = "builtin:resilience", value_hint = ValueHint::FilePath)]
    policy: String,
    /// Show the documents of other policies next to those of the built-in one
    #[arg(long)]
    diff: bool,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// Check whether a session can start from a handoff document
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton handoff check handoff.md
  baton handoff check .baton/20260212-103000/handoffs/phase-build-handoff-20260212T104500Z.md
  baton handoff check - --workspace ../other < handoff.md

Looks for placeholders, missing and empty sections, secrets and missing files; if the facts file lies next to it, \
also for open objectives that it does not name and for later commits. Exits with 0 if the document is accepted, and \
with 1 if it is refused.")]
pub(crate) struct HandoffCheckArgs {
    /// The document, `-` for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// The component that judges
    #[arg(long, value_name = "POLICY", default_value = "builtin:resilience", value_hint = ValueHint::FilePath)]
    policy: String,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

pub(crate) fn handoff(command: HandoffCommand) -> anyhow::Result<CliExit> {
    match command {
        HandoffCommand::Show(args) => show(args),
        HandoffCommand::Check(args) => check(args),
    }
}

fn show(args: HandoffShowArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_reading(&args.location, run.as_ref())?;
    let phase = match args.phase {
        Some(phase) => PhaseId::new(phase),
        None => with_newest_handoff(&view_of(&location.config, run.as_ref())?)?,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let Some(entries) = runtime.block_on(handoffs(&location.config, run.as_ref(), &phase))? else {
        return Err(UsageError(format!("the run has no phase {phase}; `baton status` lists them")).into());
    };
    let router = policies::router(&args.policy, Capability::Handoff, &args.location)?;
    let shown: Vec<(HandoffEntry, ReviewDecision)> = entries
        .into_iter()
        .map(|entry| {
            let known = known(&entry.now, entry.open_objectives.clone());
            let (review, _) = review(&router, &entry.document, known).context("judging a handoff")?;
            Ok((entry, review))
        })
        .collect::<anyhow::Result<_>>()?;
    let records = || shown.iter().enumerate().map(|(n, (entry, now))| record_of(shown.len() - n, entry, now));
    match args.format.format {
        OutputFormat::Text => {
            let built_in = policies::router(BUILTIN, Capability::Handoff, &args.location)?;
            let usual = |author: &Author| usual(&built_in, author);
            let usual: Option<BuiltInTextFn<'_>> = args.diff.then_some(&usual);
            stdio::data(&text_of(&terminal_style::stdout(), &phase, &shown, usual))?;
        }
        OutputFormat::Json => {
            let handoffs: Vec<Value> = records().collect();
            let document = json!({ "schema": json_record::SCHEMA, "record": "handoffs", "phase": phase, "handoffs": handoffs });
            stdio::data(&json_record::pretty(&document)?)?;
        }
        OutputFormat::Jsonl => records().try_for_each(|entry| stdio::data(&json_record::line(&entry)?))?,
    }
    Ok(CliExit::Done)
}

/// The phase that left a handoff last.
fn with_newest_handoff(view: &RunView) -> Result<PhaseId, UsageError> {
    let rows = view.phases.iter().filter_map(|row| Some((row.handoffs.first()?, row)));
    let newest = rows.max_by_key(|(handoff, row)| {
        // Sessions are numbered in the order in which they began.
        let session = handoff.session.as_str().trim_start_matches(|c: char| !c.is_ascii_digit());
        (session.parse::<u64>().unwrap_or(0), row.handoffs.len())
    });
    newest
        .map(|(_, row)| row.id.clone())
        .ok_or_else(|| UsageError(format!("run {} has left no handoff yet", view.run)))
}

/// The text of the built-in policy, if another one was asked.
fn usual(built_in: &Router, author: &Author) -> Option<String> {
    match built_in.decide(&author.question).0.ok()? {
        Decision::Prompting(brief) => Some(brief.prompt),
        Decision::Handoff(composed) => Some(composed.document),
        _ => None,
    }
}

fn check(args: HandoffCheckArgs) -> anyhow::Result<CliExit> {
    let document = read(&args.file)?;
    let location = RunLocation::here(&args.location)?;
    let facts = HandoffFactsFile::beside(&location.config.workspace, &args.file, &document);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let made = facts.as_ref().map(|facts| (facts.head.as_str(), facts.branch.as_str()));
    let mut found = runtime.block_on(inspect_document(&location.config.workspace, &document, made))?;
    let open = facts.as_ref().map(|facts| facts.open.clone()).unwrap_or_default();
    if let Some(facts) = &facts {
        found.missing_files.retain(|path| !facts.excuses(path));
    }
    let router = policies::router(&args.policy, Capability::Handoff, &args.location)?;
    let (review, label) = review(&router, &document, known(&found, open)).context("judging the document")?;
    match args.format.format {
        OutputFormat::Text => {
            stdio::data(&verdict_of(&terminal_style::stdout(), &args.file, &found, &review))?
        }
        OutputFormat::Json => {
            stdio::data(&json_record::pretty(&verdict_record(&args.file, &found, &review, &label))?)?
        }
        OutputFormat::Jsonl => {
            stdio::data(&json_record::line(&verdict_record(&args.file, &found, &review, &label))?)?
        }
    }
    Ok(if review.accepted { CliExit::Done } else { CliExit::Unfinished })
}

fn read(file: &Path) -> anyhow::Result<String> {
    let cannot = |error: std::io::Error| UsageError(format!("cannot read {}: {error}", file.display()));
    let mut bytes = Vec::new();
    let read = match file == Path::new("-") {
        true => std::io::stdin().lock().take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes),
        false => std::fs::File::open(file)
            .and_then(|open| open.take(DOCUMENT_BYTES_MAX + 1).read_to_end(&mut bytes)),
    };
    read.map_err(cannot)?;
    if bytes.len() as u64 > DOCUMENT_BYTES_MAX {
        let why =
            format!("{} is longer than {DOCUMENT_BYTES_MAX} bytes; a handoff is one screen", file.display());
        return Err(UsageError(why).into());
    }
    let text = String::from_utf8(bytes);
    Ok(text.map_err(|_| UsageError(format!("{} is not UTF-8 text; a handoff is markdown", file.display())))?)
}

fn known(found: &Inspection, open_objectives: Vec<ObjectiveId>) -> ReviewedDocumentFacts {
    ReviewedDocumentFacts {
        missing_files: found.missing_files.clone(),
        secrets: found.secrets.clone(),
        commits_since: found.commits_since.unwrap_or(0),
        diverged: found.diverged,
        open_objectives,
    }
}
