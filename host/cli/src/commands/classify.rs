//! `baton classify`: why did this agent stop? Reads a recorded stream and prints the verdict of the policy. Starts no agent and
//! needs no workspace; the decoders, the fold and the policy are those of a live run.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use baton_lab::{Classification, RecordingTime, StreamFormat, classify, classify_remark};
use baton_runtime::core::UnixMs;
use baton_runtime::core::decision::Verdict;
use baton_runtime::core::facts::{ProcessExit, SignalSource};
use baton_runtime::core::observation::{Capability, OccupancyView};
use baton_runtime::engine::Router;
use clap::{Args, ValueHint};
use jiff::{Timestamp, Zoned};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::args::{LocationArgs, OutputFormat};
use crate::exit_status::{CliExit, UsageError};
use crate::render::json_record;
use crate::{policies, stdio};

/// A line of remarks is a text with its channel; no provider writes errors longer than this.
const MAX_REMARK_BYTES: u64 = 1 << 20;

/// SIGKILL.
const KILLED: i32 = 9;

/// Classify why a recorded agent stopped, as a live run would
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  baton classify --agent claude session.jsonl --exit 1
  codex exec --json 'Fix the tests' | baton classify --agent codex-exec -
  baton classify --agent gemini out.jsonl --stderr err.txt --exit 144
  baton classify --agent claude session.jsonl --exit 1 --format text
  echo '{\"text\": \"prompt is too long\", \"channel\": \"provider-error\"}' |
    baton classify --agent text -

Prints one JSON record a line: verdict, cause (of a quota), evidence, occupancy, until (when a limit resets, if anything \
says so) and the policy that decided. With --agent text, each line of the input is classified on its own and gives \
one record; its channel is agent-event, provider-error, agent-text, terminal or tool-output.")]
pub(crate) struct ClassifyArgs {
    /// What printed the stream: claude, codex-exec, codex-app-server, acp, opencode, gemini, or text
    #[arg(long, value_name = "KIND")]
    agent: StreamFormat,
    /// The recorded standard output, `-` for standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// The recorded standard error
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    stderr: Option<PathBuf>,
    /// Exit code of the process; negative for the signal that ended it
    #[arg(long, value_name = "CODE", allow_negative_numbers = true)]
    exit: Option<i32>,
    /// The process was killed, whatever its exit code says
    #[arg(long)]
    killed: bool,
    /// When the recording was made, as 2026-02-12T15:30:00Z: what "resets 3:45pm" is counted from [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
    /// The component that decides
    #[arg(long, value_name = "POLICY", default_value = "builtin:resilience", value_hint = ValueHint::FilePath)]
    policy: String,
    /// Folder that keeps compiled policies [default: $XDG_STATE_HOME/baton or ~/.local/state/baton]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    state_dir: Option<PathBuf>,
    /// How to write the data on standard output
    #[arg(long, value_enum, default_value = "jsonl", value_name = "FORMAT")]
    format: OutputFormat,
}

pub(crate) fn run(args: ClassifyArgs) -> anyhow::Result<CliExit> {
    let moment = moment(args.at);
    let mut input = open(&args.file)?;
    let router = router(&args)?;
    if args.agent == StreamFormat::Text {
        return remarks(&router, moment, &args, input);
    }
    let mut stderr = args.stderr.as_deref().map(open).transpose()?;
    let exit = match (args.killed, args.exit) {
        (true, _) => Some(process_exit(None, Some(KILLED))),
        (false, Some(code @ ..0)) => Some(process_exit(None, Some(code.saturating_neg()))),
        (false, Some(code)) => Some(process_exit(Some(code), None)),
        (false, None) => None,
    };
    let classified = classify(
        &router,
        args.agent,
        moment,
        &mut input,
        stderr.as_mut().map(|stderr| stderr as &mut dyn Read),
        exit,
    )?;
    if !classified.recognised {
        let file = args.file.display();
        stdio::progress(&format!("{file} has no line of the format {}: is --agent right?", args.agent));
    }
    show(args.format, &classified)?;
    Ok(CliExit::Done)
}

/// Writes one judgment.
fn show(format: OutputFormat, classified: &Classification) -> anyhow::Result<()> {
    if !json_record::write(format, &document(classified))? {
        stdio::data(&sentence(classified))?;
    }
    Ok(())
}

/// "exhausted: the context window is used up", and below it until when, and who decided.
fn sentence(classified: &Classification) -> String {
    let Classification { assessment, label, .. } = classified;
    let mut text = format!("{}: {}\n", assessment.verdict.name(), assessment.reason);
    if let Verdict::Quota { resets_at_ms: Some(until), .. } = &assessment.verdict
        && let Some(until) = in_utc(*until).as_str()
    {
        text.push_str(&format!("  until {until}\n"));
    }
    text.push_str(&format!("  decided by {}\n", label.policy));
    text
}

/// Judges lines one by one, as they come.
fn remarks(
    router: &Router,
    moment: RecordingTime,
    args: &ClassifyArgs,
    input: impl Read,
) -> anyhow::Result<CliExit> {
    let file = args.file.as_path();
    let mut input = BufReader::new(input);
    let mut found = Vec::new();
    let mut line = Vec::new();
    for number in 1_u32.. {
        line.clear();
        let bytes = (&mut input)
            .take(MAX_REMARK_BYTES + 1)
            .read_until(b'\n', &mut line)
            .with_context(|| format!("reading {}", file.display()))?;
        if bytes == 0 {
            break;
        }
        let wrong = |what: String| UsageError(format!("{}:{number}: {what}", file.display()));
        if line.len() as u64 > MAX_REMARK_BYTES {
            return Err(wrong(format!(
                "is longer than {MAX_REMARK_BYTES} bytes; a remark is one error message"
            ))
            .into());
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let remark: TextSignalLine = serde_json::from_slice(&line)
            .map_err(|error| wrong(format!("expected {{\"text\": …, \"channel\": …}}: {error}")))?;
        let classified = classify_remark(router, moment, remark.channel.into(), &remark.text)?;
        match args.format {
            // One document has all of them.
            OutputFormat::Json => found.push(document(&classified)),
            format => show(format, &classified)?,
        }
    }
    if args.format == OutputFormat::Json {
        let all =
            json!({ "schema": json_record::SCHEMA, "record": "classifications", "classifications": found });
        json_record::write(args.format, &all)?;
    }
    Ok(CliExit::Done)
}

/// A line of `--agent text`. Other keys are the recorder's own business.
#[derive(Deserialize)]
struct TextSignalLine {
    text: String,
    channel: SignalSourceArg,
}

/// The channels of the contract, also by the names that collections of errors use.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SignalSourceArg {
    #[serde(alias = "agent_event")]
    AgentEvent,
    #[serde(alias = "provider_error", alias = "api_error", alias = "api-error")]
    ProviderError,
    #[serde(alias = "agent_text")]
    AgentText,
    #[serde(alias = "log")]
    Terminal,
    #[serde(alias = "tool_output")]
    ToolOutput,
}

impl From<SignalSourceArg> for SignalSource {
    fn from(name: SignalSourceArg) -> Self {
        match name {
            SignalSourceArg::AgentEvent => SignalSource::AgentEvent,
            SignalSourceArg::ProviderError => SignalSource::ProviderError,
            SignalSourceArg::AgentText => SignalSource::AgentText,
            SignalSourceArg::Terminal => SignalSource::Terminal,
            SignalSourceArg::ToolOutput => SignalSource::ToolOutput,
        }
    }
}

fn process_exit(code: Option<i32>, signal: Option<i32>) -> ProcessExit {
    ProcessExit { code, signal, by_host: false }
}

fn moment(at: Option<Timestamp>) -> RecordingTime {
    let at = at.map_or_else(Zoned::now, |at| at.to_zoned(jiff::tz::TimeZone::system()));
    let ms = u64::try_from(at.timestamp().as_millisecond()).unwrap_or_default();
    RecordingTime { at: UnixMs(ms), utc_offset_minutes: at.offset().seconds() / 60 }
}

fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock()));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(UsageError(format!("cannot read {}: {error}", path.display())).into()),
    }
}

fn router(args: &ClassifyArgs) -> anyhow::Result<Router> {
    let location = LocationArgs { state_dir: args.state_dir.clone(), workspace: None };
    policies::router(&args.policy, Capability::Exhaustion, &location)
}

fn document(classified: &Classification) -> Value {
    let Classification { assessment, occupancy, label, recognised: _ } = classified;
    let (cause, until) = match &assessment.verdict {
        Verdict::Quota { cause, resets_at_ms: until } => (Some(cause), *until),
        _ => (None, None),
    };
    let evidence = assessment.evidence.iter();
    json!({
        "schema": json_record::SCHEMA,
        "record": "classification",
        "verdict": assessment.verdict.name(),
        "cause": cause,
        "evidence": evidence
            .map(|seen| json!({ "channel": seen.channel, "text": seen.text, "seq": seen.seq }))
            .collect::<Vec<_>>(),
        "occupancy": fill(occupancy),
        "until": until.map(in_utc),
        "reason": assessment.reason,
        "policy": { "name": label.policy, "component": label.component, "by": label.by },
    })
}

/// Null if no fill was reported.
fn fill(occupancy: &OccupancyView) -> Value {
    let OccupancyView { used_tokens, window_tokens, source, age_ms: _ } = occupancy;
    if used_tokens.is_none() && window_tokens.is_none() {
        return Value::Null;
    }
    let percent = used_tokens
        .zip(window_tokens.filter(|window| *window > 0))
        .map(|(used, window)| (used as f64 * 1000.0 / window as f64).round() / 10.0);
    json!({
        "used_tokens": used_tokens,
        "window_tokens": window_tokens,
        "percent": percent,
        "source": source,
    })
}

/// ISO 8601, in UTC (B9); a time beyond the calendar as the number that it is.
fn in_utc(at: UnixMs) -> Value {
    let ms = i64::try_from(at.0).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(ms).map_or_else(|_| json!(at.0), |at| json!(at.to_string()))
}
