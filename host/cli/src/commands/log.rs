//! `baton log`: the messages, commands, refusals and changes of a run's agents. Reads the journal; changes nothing.

use std::time::Duration;

use baton_runtime::core::view::RunStatus;
use baton_runtime::core::{PhaseId, RunId, SessionId};
use baton_runtime::store::secrets::mask;
use baton_runtime::{Transcript, TranscriptLine, run_folder, view_of};
use clap::Args;
use serde_json::{Value, json};

use crate::args::{LocationArgs, OutputFormat, OutputFormatArg};
use crate::exit_status::{CliExit, UsageError};
use crate::host_client::{is_live, meant};
use crate::location::RunLocation;
use crate::render::log::{LogRenderer, TerminalTails};
use crate::render::{json_record, terminal_style};
use crate::stdio;

/// How often a run at work is looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// Show what the agents said, which commands they ran, what they were denied and what changed
#[derive(Debug, Args)]
#[command(aliases = ["logs", "transcript"], after_help = "\
Examples:
  baton log                        the newest run of this folder
  baton log -f                     and new events, until it ends
  baton log build                  only phase build
  baton log s3 --prompts           session s3, with the prompts that it was given
  baton log --run 20260212-103000 --format jsonl

The output of agents on their terminals is counted, and quoted if the agent failed, with the name of its file. `--format json` has all of it.")]
pub(crate) struct LogArgs {
    /// A session (s3) or a phase [default: all of them]; or a run
    #[arg(value_name = "SESSION|PHASE")]
    of: Option<String>,
    /// Which run [default: the newest]
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// Keep printing new events until the run ends
    #[arg(long, short)]
    follow: bool,
    /// Show whole prompts
    #[arg(long)]
    prompts: bool,
    #[command(flatten)]
    location: LocationArgs,
    #[command(flatten)]
    format: OutputFormatArg,
}

/// The part of a run that is shown.
enum LogFilter {
    All,
    Session(SessionId),
    Phases(Vec<PhaseId>),
}

impl LogFilter {
    fn has(&self, line: &TranscriptLine) -> bool {
        match self {
            LogFilter::All => true,
            LogFilter::Session(session) => line.session.as_ref() == Some(session),
            LogFilter::Phases(phases) => line.phase.as_ref().is_some_and(|phase| phases.contains(phase)),
        }
    }
}

pub(crate) fn log(args: LogArgs) -> anyhow::Result<CliExit> {
    let run = args.run.map(RunId::new);
    let location = RunLocation::for_reading(&args.location, run.as_ref())?;
    let mut of = args.of;
    let run = meant(&location, run, &mut of);
    let mut transcript = Transcript::open(&location.config, run.as_ref())?;
    let run = transcript.run().clone();
    let part = of.map_or(Ok(LogFilter::All), |word| part(&location, &run, &word))?;
    let workspace = location.config.workspace.to_string_lossy().into_owned();
    let sessions = run_folder(&location.config, &run);
    let mut log = LogRenderer {
        look: terminal_style::stdout(),
        prompts: args.prompts,
        workspace,
        sessions,
        terminal_tails: TerminalTails::new(),
    };
    let mut document: Vec<Value> = Vec::new();
    loop {
        // Checked before reading, so that the last entries of a host are read after it has ended.
        let goes_on = args.follow && goes_on(&location, &run)?;
        let (lines, more) = transcript.look(!goes_on)?;
        for line in lines.iter().filter(|line| part.has(line)) {
            match args.format.format {
                OutputFormat::Text => stdio::data(&mask(&log.next(line)))?,
                OutputFormat::Jsonl => stdio::data(&mask(&json_record::line(&of_line(&run, line))?))?,
                OutputFormat::Json => document.push(serde_json::to_value(line)?),
            }
        }
        if !more && !goes_on {
            break;
        }
        if !more {
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    if args.format.format == OutputFormat::Text {
        stdio::data(&mask(&log.rest()))?;
    }
    if args.format.format == OutputFormat::Json {
        let all = json!({ "schema": json_record::SCHEMA, "record": "log", "run": run, "lines": document });
        stdio::data(&mask(&json_record::pretty(&all)?))?;
    }
    Ok(CliExit::Done)
}

fn of_line(run: &RunId, line: &TranscriptLine) -> Value {
    let mut value = serde_json::to_value(line).unwrap_or_default();
    value["schema"] = json_record::SCHEMA.into();
    value["record"] = "log-line".into();
    value["run"] = json!(run);
    value
}

/// Whether anything may still come.
fn goes_on(location: &RunLocation, run: &RunId) -> anyhow::Result<bool> {
    Ok(view_of(&location.config, Some(run))?.status == RunStatus::Running
        && is_live(location, run) == Some(true))
}

/// The meaning of a word in a run: a session, or a phase with its parts.
fn part(location: &RunLocation, run: &RunId, word: &str) -> anyhow::Result<LogFilter> {
    let view = view_of(&location.config, Some(run))?;
    let sessions = || view.phases.iter().flat_map(|phase| &phase.sessions);
    if let Some(session) = sessions().find(|session| session.id.as_str() == word) {
        return Ok(LogFilter::Session(session.id.clone()));
    }
    let mut phases: Vec<PhaseId> = Vec::new();
    // Parts come after the phase that they are parts of.
    for phase in &view.phases {
        let is_part = phase.parent.as_ref().is_some_and(|parent| phases.contains(parent));
        if phase.id.as_str() == word || is_part {
            phases.push(phase.id.clone());
        }
    }
    if !phases.is_empty() {
        return Ok(LogFilter::Phases(phases));
    }
    let known: Vec<&str> = view.phases.iter().map(|phase| phase.id.as_str()).collect();
    let sessions: Vec<&str> = sessions().map(|session| session.id.as_str()).collect();
    let sessions = if sessions.is_empty() { "none yet".to_owned() } else { sessions.join(", ") };
    Err(UsageError(format!(
        "run {run} has no session and no phase {word}; sessions: {sessions}; phases: {}",
        known.join(", ")
    ))
    .into())
}
