//! The format for those who have logs of their own: JSONL, one object a line, every key optional. A key that is not known
//! is an error: a log that is misread would be a run that never was.

use baton_core::UnixMs;
use baton_core::facts::{
    AgentEvent, CompactionTrigger, ErrorSignal, OccupancySource, ProcessExit, SIGNAL_TEXT_BYTES,
    SignalSource, TokenUsage,
};
use baton_streams::cut;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::recorded_lines::{self, LogTimestamp, RecordedLine};
use super::timeline::{TimelineEvent, TimelineSession};
use super::{ImportError, RecordedFile};
use crate::json_error_message;

/// One line of a log of turns. A line that has text, a tool or tokens is a turn of the model; lines with the same `turn`
/// are one.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "A line of a log of turns, for `baton import --as turns`")]
struct TurnLogEntry {
    /// Number of the turn in its session. It never goes back; lines with the same number are one turn. Where it is absent,
    /// every line is a turn of its own.
    turn: Option<u32>,
    /// When: RFC 3339 ("2026-02-12T10:30:00Z") or milliseconds since 1970. As for the line before where it is absent; where
    /// no line has one, times are made up, evenly spaced.
    at: Option<LogTimestamp>,
    /// Name of the session. With another one a new session begins; as for the line before where it is absent.
    session: Option<String>,
    /// A prompt was sent before this turn; what it said is not used, and may be empty. Without it a session has one prompt,
    /// and another begins where the agent is at work again after a `stop`.
    prompt: Option<String>,
    /// Model in use; only on the first line of a session.
    model: Option<String>,
    /// What the agent wrote.
    text: Option<String>,
    /// Name of a tool that was called.
    tool: Option<String>,
    /// What the tool read: a path, a URL.
    reads: Option<String>,
    /// The path that the tool wrote.
    writes: Option<String>,
    /// Size of what the tool returned.
    tool_output_bytes: Option<u64>,
    /// Tokens in the window after this turn.
    used_tokens: Option<u64>,
    /// Size of the window.
    window_tokens: Option<u64>,
    /// Input tokens billed by this turn.
    input_tokens: Option<u64>,
    /// Output tokens billed by this turn.
    output_tokens: Option<u64>,
    /// Cost of this turn in US dollars.
    cost_usd: Option<f64>,
    /// An error, or a limit of the provider.
    error: Option<TurnError>,
    /// The context was made shorter after this turn.
    compacted: Option<TurnCompaction>,
    /// The prompt was answered or broken off: the agent's own reason ("end_turn"). With `error` on the same line it is an
    /// error.
    stop: Option<String>,
    /// The process ended with this exit code; a negative one is a signal. The session is over.
    exit: Option<i32>,
}

/// An error, as the agent or its provider told it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TurnError {
    /// The agent's or provider's own code ("context_length_exceeded").
    #[serde(default)]
    code: String,
    /// HTTP status.
    status: Option<u16>,
    /// What was said.
    #[serde(default)]
    text: String,
    /// The agent retries by itself.
    #[serde(default)]
    retrying: bool,
    /// When the limit resets.
    resets_at: Option<LogTimestamp>,
    /// Who said it: `provider-error` where it is absent.
    channel: Option<SignalSource>,
}

/// A compaction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TurnCompaction {
    /// Tokens before.
    before_tokens: Option<u64>,
    /// Tokens after.
    after_tokens: Option<u64>,
    /// Somebody asked for it; otherwise the agent did it by itself.
    #[serde(default)]
    asked: bool,
}

/// The JSON Schema of a line.
pub fn schema() -> Value {
    schemars::schema_for!(TurnLogEntry).to_value()
}

/// Whether the first line has a key of this format, and none by which other formats are known.
pub(super) fn looks_like_turns(bytes: &[u8]) -> bool {
    let first = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    let Some(Value::Object(keys)) = first.and_then(|line| serde_json::from_slice(line).ok()) else {
        return false;
    };
    let has = |names: &[&str]| names.iter().any(|name| keys.contains_key(*name));
    has(&["turn", "used_tokens", "text", "tool", "prompt", "session"])
        && !has(&["type", "jsonrpc", "method", "id", "event"])
}

/// Adds the sessions of a file; says in how many lines a secret was masked.
pub(super) fn sessions(
    file: &RecordedFile<'_>,
    index: usize,
    sessions: &mut Vec<TimelineSession>,
) -> Result<u64, ImportError> {
    let mut reader = TurnLogReader { file: index, at: None, sessions, open: None };
    let (mut masked, mut last) = (0, 0);
    for line in recorded_lines::lines(file.name, file.bytes)? {
        let RecordedLine { number, text, was_masked } = line?;
        let broken = |why: String| ImportError::Broken { file: file.name.to_owned(), line: number, why };
        let mut json = serde_json::Deserializer::from_str(&text);
        let entry: TurnLogEntry = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let at = error.path().to_string();
            let at = if at == "." { String::new() } else { format!("{at}: ") };
            broken(format!("{at}{}", json_error_message(&error.into_inner())))
        })?;
        json.end()
            .map_err(|error| broken(format!("expected one object a line: {}", json_error_message(&error))))?;
        reader.take(number, entry).map_err(broken)?;
        masked += u64::from(was_masked);
        last = number;
    }
    if last == 0 {
        return Err(ImportError::Empty { file: file.name.to_owned() });
    }
    // The exit given on the command line is that of the last session, which has no other record of its end.
    reader.finish(last, file.exit);
    Ok(masked)
}

/// A session that is being read.
#[derive(Default)]
struct OpenTurnSession {
    name: Option<String>,
    told: Vec<TimelineEvent>,
    turn_number: Option<u32>,
    /// The turn so far.
    turn: Option<(Option<u64>, TokenUsage)>,
    /// A prompt was begun and not ended.
    is_prompted: bool,
    /// The newest line of the prompt told of an error.
    failed: bool,
    calls: u64,
}

struct TurnLogReader<'s> {
    file: usize,
    at: Option<UnixMs>,
    sessions: &'s mut Vec<TimelineSession>,
    open: Option<OpenTurnSession>,
}

impl TurnLogReader<'_> {
    fn take(&mut self, line: u64, entry: TurnLogEntry) -> Result<(), String> {
        self.at = entry.at.map(UnixMs::from).or(self.at);
        let is_another = match (&self.open, &entry.session) {
            (Some(open), Some(name)) => open.name.as_ref() != Some(name),
            _ => false,
        };
        if is_another {
            self.finish(line.saturating_sub(1), None);
        }
        let (at, exit) = (self.at, entry.exit);
        let open = self.open.get_or_insert_with(|| OpenTurnSession {
            name: entry.session.clone(),
            ..OpenTurnSession::default()
        });
        open.take(line, at, entry)?;
        if let Some(code) = exit {
            let exit = match code {
                ..0 => ProcessExit { code: None, signal: Some(code.saturating_neg()), by_host: false },
                code => ProcessExit { code: Some(code), signal: None, by_host: false },
            };
            self.finish(line, Some(exit));
        }
        Ok(())
    }

    /// The session is over.
    fn finish(&mut self, line: u64, exit: Option<ProcessExit>) {
        let Some(mut open) = self.open.take() else { return };
        let at = self.at;
        open.end_turn(line, at);
        // A process that ends says of the prompt that it worked on how it went, as with any program.
        if let (true, Some(ProcessExit { code: Some(code), .. })) = (open.is_prompted, exit) {
            let (stop_reason, is_error) = match code {
                0 => ("completed".to_owned(), false),
                code => (format!("exit {code}"), true),
            };
            open.push_event(line, at, AgentEvent::PromptEnded { stop_reason, is_error });
        }
        self.sessions.push(TimelineSession::new(self.file, open.told, exit, line));
    }
}

impl OpenTurnSession {
    fn take(&mut self, line: u64, at: Option<UnixMs>, entry: TurnLogEntry) -> Result<(), String> {
        let TurnLogEntry { turn, prompt, model, text, tool, reads, writes, tool_output_bytes, error, .. } =
            entry;
        if let (Some(number), Some(before)) = (turn, self.turn_number)
            && number < before
        {
            return Err(format!(
                "turn: {number} comes after {before}; name another `session` where one begins"
            ));
        }
        if turn.is_none() || turn != self.turn_number {
            self.end_turn(line, at);
        }
        self.turn_number = turn.or(self.turn_number);
        if self.told.is_empty() {
            self.push_event(line, at, AgentEvent::Ready { agent_session: None, model, version: None });
        } else if model.is_some() {
            return Err("model: only the first line of a session names it".to_owned());
        }
        if prompt.is_some() {
            self.end_turn(line, at);
            if self.is_prompted {
                let (stop_reason, is_error) = ("end_turn".to_owned(), self.failed);
                self.push_event(line, at, AgentEvent::PromptEnded { stop_reason, is_error });
            }
            (self.is_prompted, self.failed) = (true, false);
        }
        let is_turn = turn.is_some()
            || text.is_some()
            || tool.is_some()
            || entry.used_tokens.or(entry.input_tokens).or(entry.output_tokens).is_some();
        self.is_prompted |= is_turn || error.is_some();
        self.failed = error.is_some();
        if let Some(text) = text {
            self.push_event(line, at, AgentEvent::Text { text });
        }
        match tool {
            Some(name) => {
                self.calls += 1;
                let id = format!("call-{}", self.calls);
                self.push_event(
                    line,
                    at,
                    AgentEvent::ToolCall { id: id.clone(), name, reads, writes, command: None },
                );
                if let Some(bytes) = tool_output_bytes {
                    self.push_event(
                        line,
                        at,
                        AgentEvent::ToolOutput { id, bytes, text: String::new(), failed: None },
                    );
                }
            }
            None if reads.is_some() || writes.is_some() || tool_output_bytes.is_some() => {
                return Err(
                    "tool: a line that tells what a tool read, wrote or returned names the tool".to_owned()
                );
            }
            None => {}
        }
        if entry.window_tokens.is_some() {
            let (used_tokens, source) = (entry.used_tokens, OccupancySource::Agent);
            self.push_event(
                line,
                at,
                AgentEvent::Occupancy { used_tokens, window_tokens: entry.window_tokens, source },
            );
        }
        let cost_microusd = entry.cost_usd.map(microusd).transpose()?;
        let billed = TokenUsage {
            input_tokens: entry.input_tokens.unwrap_or_default(),
            output_tokens: entry.output_tokens.unwrap_or_default(),
            cost_microusd,
        };
        if is_turn {
            let turn = self.turn.get_or_insert_default();
            turn.0 = entry.used_tokens.or(turn.0);
            turn.1.add(&billed);
        } else if cost_microusd.is_some() {
            self.push_event(line, at, AgentEvent::Billing(billed));
        }
        if let Some(error) = error {
            self.push_event(line, at, AgentEvent::Signal(error.into()));
        }
        if let Some(TurnCompaction { before_tokens, after_tokens, asked }) = entry.compacted {
            self.end_turn(line, at);
            let trigger = if asked { CompactionTrigger::Asked } else { CompactionTrigger::Auto };
            self.push_event(line, at, AgentEvent::Compacted { trigger, before_tokens, after_tokens });
        }
        if let Some(stop_reason) = entry.stop {
            self.end_turn(line, at);
            let is_error = self.failed;
            self.push_event(line, at, AgentEvent::PromptEnded { stop_reason, is_error });
            self.is_prompted = false;
        }
        Ok(())
    }

    fn end_turn(&mut self, line: u64, at: Option<UnixMs>) {
        if let Some((used_tokens, billed)) = self.turn.take() {
            // It ended before the line that tells so.
            let (line, at) = self.told.last().map_or((line, at), |told| (told.line, told.at));
            self.push_event(line, at, AgentEvent::Turn { used_tokens, billed });
        }
    }

    fn push_event(&mut self, line: u64, at: Option<UnixMs>, event: AgentEvent) {
        self.told.push(TimelineEvent { line, at, event });
    }
}

impl From<TurnError> for ErrorSignal {
    fn from(failure: TurnError) -> Self {
        ErrorSignal {
            channel: failure.channel.unwrap_or(SignalSource::ProviderError),
            code: failure.code,
            status: failure.status,
            resets_at: failure.resets_at.map(UnixMs::from),
            retrying: failure.retrying,
            text: cut(&failure.text, SIGNAL_TEXT_BYTES).to_owned(),
        }
    }
}

/// What a turn costs at most: no number beyond it is a bill.
const DOLLARS_MAX: f64 = 1e9;

fn microusd(dollars: f64) -> Result<u64, String> {
    match (0.0..=DOLLARS_MAX).contains(&dollars) {
        // Within the bound nothing is lost but fractions of a millionth.
        true => Ok((dollars * 1e6).round() as u64),
        false => Err(format!("cost_usd: {dollars} is no cost")),
    }
}
