//! Decodes `gemini -o stream-json`. Core decides whether a session is exhausted.
//!
//! What the format leaves out, as was observed on recordings of real runs:
//! - There is no fill level: the tokens in `stats` are the sum over the process. They are a bill and nothing else.
//! - Retries are reported on stderr alone.
//! - An error of the provider comes as the raw body in the message of the result.

use baton_core::facts::{AgentEvent, ErrorSignal, SignalSource, TokenUsage};

use crate::Decoder;
use crate::cumulative::CumulativeCounter;
use crate::signal::{provider_error, signal, too_long};
use crate::terminal::TerminalText;
use crate::truncate::command_line;
use crate::turns::TurnTracker;
use crate::wire::{Count, MeasuredOutput, Text, TextOrNumber, kind, read, wire};

wire! {
    /// One line of any kind: `kind` determines its fields.
    struct GeminiLine<'a> {
        kind: Text<'a> = "type",
        session: Text<'a> = "session_id",
        model: Text<'a> = "model",
        role: Text<'a> = "role",
        content: Text<'a> = "content",
        tool: Text<'a> = "tool_name",
        call: Text<'a> = "tool_id",
        parameters: GeminiToolInput<'a> = "parameters",
        output: MeasuredOutput = "output",
        severity: Text<'a> = "severity",
        message: Text<'a> = "message",
        status: Text<'a> = "status",
        error: GeminiError<'a> = "error",
        stats: GeminiStats = "stats",
    }

    /// The input of a tool, as far as it names what is read or written.
    struct GeminiToolInput<'a> {
        file_path: Text<'a> = "file_path",
        absolute_path: Text<'a> = "absolute_path",
        command: Text<'a> = "command",
        offset: Count = "offset",
        limit: Count = "limit",
        start_line: Count = "start_line",
    }

    /// The error of a tool or of the prompt.
    struct GeminiError<'a> {
        kind: Text<'a> = "type",
        code: TextOrNumber<'a> = "code",
        message: Text<'a> = "message",
    }

    /// The usage of the process.
    struct GeminiStats {
        input: Count = "input_tokens",
        output: Count = "output_tokens",
    }
}

/// Decodes one process's stdout.
#[derive(Debug, Default)]
pub struct GeminiDecoder {
    ready: bool,
    turns: TurnTracker,
    input: CumulativeCounter,
    output: CumulativeCounter,
    garbage: TerminalText,
}

impl GeminiDecoder {
    /// At the start of a process.
    pub fn new() -> Self {
        Self::default()
    }

    fn take(&mut self, line: GeminiLine<'_>, out: &mut Vec<AgentEvent>) {
        match line.kind.str() {
            "init" if !std::mem::replace(&mut self.ready, true) => {
                let (agent_session, model) = (line.session.into_nonempty(), line.model.into_nonempty());
                out.push(AgentEvent::Ready { agent_session, model, version: None });
            }
            "init" => {}
            "message" if line.role.str() == "assistant" => {
                self.turns.speaks_into(out);
                out.extend(line.content.into_nonempty().map(|text| AgentEvent::Text { text }));
            }
            "message" => {}
            "tool_use" => {
                self.turns.speaks_into(out);
                out.push(tool_call(line));
            }
            "tool_result" => {
                self.turns.tool_returned();
                let mut output = line.output;
                output.add(line.error.message.str());
                let id = line.call.into_nonempty().unwrap_or_default();
                // A failed command is a success of the tool, so only a failure of the tool is certain.
                let failed = (line.status.str() == "error").then_some(true);
                out.push(AgentEvent::ToolOutput { id, bytes: output.bytes, text: output.beginning, failed });
            }
            // A warning comes from the command line program itself: it does not end the prompt, or a result reports the end.
            "error" if line.severity.str() == "warning" => {
                out.push(AgentEvent::Signal(signal(
                    SignalSource::AgentEvent,
                    "warning",
                    None,
                    line.message.str(),
                )));
            }
            "error" => out.push(AgentEvent::Signal(provider_error(None, line.message.str()))),
            "result" => self.result(line, out),
            other => out.push(AgentEvent::Unknown { kind: kind(&[other]) }),
        }
    }

    fn result(&mut self, line: GeminiLine<'_>, out: &mut Vec<AgentEvent>) {
        self.turns.end_into(out);
        let billed = TokenUsage {
            input_tokens: self.input.advance_to(line.stats.input.or_zero()),
            output_tokens: self.output.advance_to(line.stats.output.or_zero()),
            cost_microusd: None,
        };
        if billed.tokens() > 0 {
            out.push(AgentEvent::Billing(billed));
        }
        let GeminiError { kind: error, code, message } = line.error;
        if !message.is_empty() {
            let told = provider_error(code.number.status(), message.str());
            let code = Some(told.code).filter(|code| !code.is_empty()).or(code.text.into_nonempty());
            out.push(AgentEvent::Signal(ErrorSignal { code: kind(&[&code.unwrap_or_default()]), ..told }));
        }
        let is_error = line.status.str() != "success";
        // The error is more specific than the mere status.
        let stop_reason = error.into_nonempty().or(line.status.into_nonempty()).unwrap_or_default();
        out.push(AgentEvent::PromptEnded { stop_reason, is_error });
    }
}

impl Decoder for GeminiDecoder {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        match read::<GeminiLine<'_>>(line, &mut String::new()) {
            Some(line) => {
                self.garbage.flush(out);
                self.take(line, out);
            }
            None => self.garbage.line(line, out),
        }
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        out.push(too_long(beginning));
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        self.turns.end_into(out);
        self.garbage.end(out);
    }
}

fn tool_call(line: GeminiLine<'_>) -> AgentEvent {
    let (name, input) = (line.tool.str(), &line.parameters);
    let path = input.file_path.nonempty().or(input.absolute_path.nonempty());
    let reads = path.filter(|_| name == "read_file").map(|path| {
        match (input.offset.0.or(input.start_line.0), input.limit.0) {
            (None, None) => path.to_owned(),
            // A targeted read of another part of a file is not a repeated read, so the part belongs to the name of the read.
            (offset, limit) => format!("{path}:{}+{}", offset.unwrap_or(0), limit.unwrap_or(0)),
        }
    });
    let writes = path.filter(|_| matches!(name, "write_file" | "replace")).map(str::to_owned);
    let command = input.command.nonempty().filter(|_| name == "run_shell_command").and_then(command_line);
    let id = line.call.into_nonempty().unwrap_or_default();
    AgentEvent::ToolCall { id, name: line.tool.into_nonempty().unwrap_or_default(), reads, writes, command }
}
