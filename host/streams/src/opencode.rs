//! Decodes `opencode run --format json`. Core decides whether a session is exhausted.
//!
//! What the format leaves out, as was observed on recordings of real runs:
//! - Nothing says that the prompt is over: OpenCode exits. So the end of the stream ends it, where the last thing told
//!   was a finished step or an error; a stream that breaks off elsewhere has no end.
//! - The fill is reported with each step (`tokens.total`), the window never.
//! - A compaction is seen by a message that OpenCode writes to itself afterwards; the step before it is the summary.
//! - Retries are silent.

use baton_core::facts::{AgentEvent, CompactionTrigger, ErrorSignal, SignalSource, TokenUsage};
use baton_core::time::UnixMs;
use serde::de::MapAccess;

use crate::Decoder;
use crate::message_separator::MessageSeparator;
use crate::signal::{provider_error, signal, too_long};
use crate::terminal::TerminalText;
use crate::truncate::command_line;
use crate::wire::{Amount, Count, Flag, Lenient, LenientValue, MeasuredOutput, Text, kind, read, wire};

wire! {
    /// One line of any kind: `kind` determines its fields.
    struct OpencodeLine<'a> {
        kind: Text<'a> = "type",
        timestamp: Count = "timestamp",
        session: Text<'a> = "sessionID",
        part: OpencodePart<'a> = "part",
        error: OpencodeError<'a> = "error",
    }

    /// A part of a message.
    struct OpencodePart<'a> {
        text: Text<'a> = "text",
        synthetic: Flag = "synthetic",
        metadata: OpencodeMetadata = "metadata",
        tool: Text<'a> = "tool",
        call: Text<'a> = "callID",
        state: OpencodeToolState<'a> = "state",
        reason: Text<'a> = "reason",
        tokens: OpencodeTokens = "tokens",
        cost: Amount = "cost",
    }

    /// OpenCode's note on a text of its own.
    struct OpencodeMetadata {
        after_compaction: Flag = "compaction_continue",
    }

    /// A call that is over.
    struct OpencodeToolState<'a> {
        status: Text<'a> = "status",
        metadata: OpencodeCommandMetadata = "metadata",
        input: OpencodeToolInput<'a> = "input",
        output: MeasuredOutput = "output",
        error: MeasuredOutput = "error",
    }

    /// OpenCode's note on a command.
    struct OpencodeCommandMetadata {
        exit: Count = "exit",
    }

    /// The input of a tool, as far as it names what is read or written.
    struct OpencodeToolInput<'a> {
        path: Text<'a> = "filePath",
        url: Text<'a> = "url",
        command: Text<'a> = "command",
        offset: Count = "offset",
        limit: Count = "limit",
    }

    /// Tokens of a step; `total` is prompt and answer together.
    struct OpencodeTokens {
        total: Count = "total",
        input: Count = "input",
        output: Count = "output",
        reasoning: Count = "reasoning",
        cache: OpencodeCacheTokens = "cache",
    }

    /// Tokens of the prompt that were cached.
    struct OpencodeCacheTokens {
        read: Count = "read",
        write: Count = "write",
    }

    /// An error by its name.
    struct OpencodeError<'a> {
        name: Text<'a> = "name",
        data: OpencodeErrorData<'a> = "data",
    }

    /// The details of an error.
    struct OpencodeErrorData<'a> {
        message: Text<'a> = "message",
        status: Count = "statusCode",
        retryable: Flag = "isRetryable",
        headers: RetryAfterHeaders = "responseHeaders",
        body: Text<'a> = "responseBody",
    }
}

/// How long the provider asks to wait.
#[derive(Debug, Default)]
pub(crate) struct RetryAfterHeaders {
    retry_after_ms: Option<f64>,
}

impl<'de> LenientValue<'de> for RetryAfterHeaders {
    fn map<A: MapAccess<'de>>(&mut self, mut entries: A) -> Result<(), A::Error> {
        while let Some((Lenient(name), Lenient(value))) =
            entries.next_entry::<Lenient<Text<'de>>, Lenient<Text<'de>>>()?
        {
            let number = || value.str().trim().parse::<f64>().ok();
            match name.str() {
                name if name.eq_ignore_ascii_case("retry-after-ms") => self.retry_after_ms = number(),
                name if name.eq_ignore_ascii_case("retry-after") && self.retry_after_ms.is_none() => {
                    self.retry_after_ms = number().map(|seconds| seconds * 1000.0);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Decodes one process's stdout.
#[derive(Debug, Default)]
pub struct OpencodeDecoder {
    ready: bool,
    used_tokens: Option<u64>,
    /// The fill before the last step: the fill before a compaction, if that step turns out to be its summary.
    used_before: Option<u64>,
    /// How the prompt ends if nothing more comes: stop reason, and whether it is an error.
    end: Option<(String, bool)>,
    separator: MessageSeparator,
    garbage: TerminalText,
}

impl OpencodeDecoder {
    /// At the start of a process.
    pub fn new() -> Self {
        Self::default()
    }

    fn take(&mut self, line: OpencodeLine<'_>, out: &mut Vec<AgentEvent>) {
        if !std::mem::replace(&mut self.ready, true) {
            let agent_session = line.session.nonempty().map(str::to_owned);
            out.push(AgentEvent::Ready { agent_session, model: None, version: None });
        }
        self.end = None;
        match line.kind.str() {
            "step_start" | "reasoning" => {}
            "text" if line.part.metadata.after_compaction.is_true() => self.compacted(out),
            // Not the agent's words either.
            "text" if line.part.synthetic.is_true() => {}
            "text" => out.extend(line.part.text.into_nonempty().map(|text| AgentEvent::Text { text })),
            "tool_use" => tool(line.part, out),
            "step_finish" => self.step(line.part, out),
            "error" => self.error(&line, out),
            other => out.push(AgentEvent::Unknown { kind: kind(&[other]) }),
        }
    }

    fn compacted(&mut self, out: &mut Vec<AgentEvent>) {
        let before_tokens = self.used_before.take();
        self.used_tokens = None;
        let trigger = CompactionTrigger::Auto;
        out.push(AgentEvent::Compacted { trigger, before_tokens, after_tokens: None });
    }

    fn step(&mut self, part: OpencodePart<'_>, out: &mut Vec<AgentEvent>) {
        let OpencodeTokens { total, input, output, reasoning, cache } = part.tokens;
        let sum = |counts: &[Count]| counts.iter().map(|count| count.or_zero()).fold(0, u64::saturating_add);
        let billed = TokenUsage {
            input_tokens: sum(&[input, cache.read, cache.write]),
            output_tokens: sum(&[output, reasoning]),
            cost_microusd: part.cost.microusd().filter(|cost| *cost > 0),
        };
        let used_tokens = total.0.or(Some(billed.tokens())).filter(|used| *used > 0);
        out.push(AgentEvent::Turn { used_tokens, billed });
        self.used_before = std::mem::replace(&mut self.used_tokens, used_tokens);
        // With these the next step follows.
        let reason = part.reason.into_nonempty().filter(|reason| reason != "tool-calls");
        self.end = reason.map(|reason| (reason, false));
    }

    /// The name is OpenCode's own judgment; status, code and message are its provider's.
    fn error(&mut self, line: &OpencodeLine<'_>, out: &mut Vec<AgentEvent>) {
        let (name, data) = (line.error.name.str(), &line.error.data);
        let status = data.status.status();
        out.push(AgentEvent::Signal(signal(SignalSource::AgentEvent, name, status, "")));
        let body = provider_error(status, data.body.str());
        let told = if body.code.is_empty() { provider_error(status, data.message.str()) } else { body };
        let wait =
            line.timestamp.0.zip(data.headers.retry_after_ms.filter(|wait| wait.is_finite() && *wait >= 0.0));
        // `as` saturates, which is right for an absurd wait.
        let after = wait.map(|(now, wait_ms)| UnixMs(now.saturating_add(wait_ms as u64)));
        let resets_at = told.resets_at.or(after);
        out.push(AgentEvent::Signal(ErrorSignal { resets_at, ..told }));
        self.end = Some((kind(&[name]), true));
    }
}

impl Decoder for OpencodeDecoder {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        match read::<OpencodeLine<'_>>(line, &mut String::new()) {
            Some(line) => {
                self.garbage.flush(out);
                let from = out.len();
                self.take(line, out);
                self.separator.separate_messages(from, out);
            }
            None => self.garbage.line(line, out),
        }
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        out.push(too_long(beginning));
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        self.garbage.end(out);
        if let Some((stop_reason, is_error)) = self.end.take() {
            out.push(AgentEvent::PromptEnded { stop_reason, is_error });
        }
    }
}

/// A call arrives complete, with its output.
fn tool(part: OpencodePart<'_>, out: &mut Vec<AgentEvent>) {
    let (name, input) = (part.tool.str(), &part.state.input);
    let reads = match name {
        "read" => input.path.nonempty().map(|path| match (input.offset.0, input.limit.0) {
            (None, None) => path.to_owned(),
            // A targeted read of another part of a file is not a repeated read, so the part belongs to the name of the read.
            (offset, limit) => format!("{path}:{}+{}", offset.unwrap_or(0), limit.unwrap_or(0)),
        }),
        "webfetch" => input.url.nonempty().map(str::to_owned),
        _ => None,
    };
    let writes = input.path.nonempty().filter(|_| matches!(name, "write" | "edit" | "multiedit" | "patch"));
    let writes = writes.map(str::to_owned);
    let command = input.command.nonempty().filter(|_| name == "bash").and_then(command_line);
    let failed = match (part.state.metadata.exit.0, part.state.status.str()) {
        (Some(code), _) => Some(code != 0),
        (None, "error") => Some(true),
        (None, "completed") => Some(false),
        _ => None,
    };
    let id = part.call.into_nonempty().unwrap_or_default();
    let mut output = part.state.output;
    output.append(&part.state.error);
    let name = part.tool.into_nonempty().unwrap_or_default();
    out.push(AgentEvent::ToolCall { id: id.clone(), name, reads, writes, command });
    out.push(AgentEvent::ToolOutput { id, bytes: output.bytes, text: output.beginning, failed });
}
