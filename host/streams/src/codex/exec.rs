//! Decodes `codex exec --json`. Core decides whether a session is exhausted.
//!
//! Facts that the format leaves out, as observed on recordings of real runs:
//! - There is no fill level and no window: `usage` is the sum over the prompt, and only a bill.
//! - A compaction of the agent's own accord is not shown at all.
//! - Errors are texts without a code. That the agent retries is in the text too: "Reconnecting... 1/5".

use baton_core::facts::{AgentEvent, ErrorSignal, SIGNAL_TEXT_BYTES, SignalSource, TokenUsage};

use super::tools::{CodexFileChange, CodexMcpResult, CodexToolCall, CodexToolCalls, CodexToolError};
use crate::Decoder;
use crate::message_separator::MessageSeparator;
use crate::signal::{provider_error, signal, too_long};
use crate::terminal::TerminalText;
use crate::truncate::cut;
use crate::turns::TurnTracker;
use crate::wire::{BoundedList, Count, MeasuredOutput, Text, kind, read, wire};

/// The beginning of an error that Codex handles by a retry.
const RETRYING: &str = "Reconnecting...";

wire! {
    /// One line of any kind: `kind` determines its fields.
    struct CodexExecLine<'a> {
        kind: Text<'a> = "type",
        thread_id: Text<'a> = "thread_id",
        message: Text<'a> = "message",
        error: CodexToolError<'a> = "error",
        usage: CodexExecUsage = "usage",
        item: CodexExecItem<'a> = "item",
    }

    /// Tokens of the whole prompt; `input` includes the cached ones.
    struct CodexExecUsage {
        input: Count = "input_tokens",
        output: Count = "output_tokens",
    }

    /// A message or an action of the agent.
    struct CodexExecItem<'a> {
        id: Text<'a> = "id",
        kind: Text<'a> = "type",
        text: Text<'a> = "text",
        message: Text<'a> = "message",
        server: Text<'a> = "server",
        tool: Text<'a> = "tool",
        changes: BoundedList<CodexFileChange<'a>> = "changes",
        command: Text<'a> = "command",
        exit: Count = "exit_code",
        status: Text<'a> = "status",
        output: MeasuredOutput = "aggregated_output",
        result: CodexMcpResult = "result",
        error: CodexToolError<'a> = "error",
    }
}

/// Decodes one process's stdout.
#[derive(Debug, Default)]
pub struct CodexExecDecoder {
    ready: bool,
    turns: TurnTracker,
    calls: CodexToolCalls,
    last_error: String,
    separator: MessageSeparator,
    garbage: TerminalText,
}

impl CodexExecDecoder {
    /// At the start of a process.
    pub fn new() -> Self {
        Self::default()
    }

    fn take(&mut self, line: CodexExecLine<'_>, out: &mut Vec<AgentEvent>) {
        match line.kind.str() {
            "thread.started" if !std::mem::replace(&mut self.ready, true) => {
                let agent_session = line.thread_id.into_nonempty();
                out.push(AgentEvent::Ready { agent_session, model: None, version: None });
            }
            "thread.started" => {}
            "turn.started" => self.last_error.clear(),
            "item.started" => self.started(&line.item, out),
            "item.completed" => self.completed(line.item, out),
            "item.updated" => {}
            "error" => self.error(line.message.str(), out),
            "turn.completed" => {
                let billed = TokenUsage {
                    input_tokens: line.usage.input.or_zero(),
                    output_tokens: line.usage.output.or_zero(),
                    cost_microusd: None,
                };
                if billed.tokens() > 0 {
                    out.push(AgentEvent::Billing(billed));
                }
                self.end_prompt("completed", out);
            }
            "turn.failed" => {
                // A separate line has mostly reported the error already.
                if cut(line.error.message.str(), SIGNAL_TEXT_BYTES) != self.last_error {
                    self.error(line.error.message.str(), out);
                }
                self.end_prompt("failed", out);
            }
            other => out.push(AgentEvent::Unknown { kind: kind(&[other]) }),
        }
    }

    fn started(&mut self, item: &CodexExecItem<'_>, out: &mut Vec<AgentEvent>) {
        if is_tool(item.kind.str()) {
            self.turns.speaks_into(out);
            self.calls.started(&call(item), out);
        }
    }

    fn completed(&mut self, item: CodexExecItem<'_>, out: &mut Vec<AgentEvent>) {
        match item.kind.str() {
            "agent_message" => {
                self.turns.speaks_into(out);
                out.extend(item.text.into_nonempty().map(|text| AgentEvent::Text { text }));
            }
            "reasoning" => self.turns.speaks_into(out),
            "todo_list" => {}
            // A note of the agent's, by which nothing ends.
            "error" => {
                out.push(AgentEvent::Signal(signal(SignalSource::AgentEvent, "", None, item.message.str())))
            }
            tool if is_tool(tool) => {
                self.started(&item, out);
                self.calls.completed(&call(&item), out);
                self.turns.tool_returned();
            }
            other => out.push(AgentEvent::Unknown { kind: kind(&["item", other]) }),
        }
    }

    fn error(&mut self, message: &str, out: &mut Vec<AgentEvent>) {
        self.last_error = cut(message, SIGNAL_TEXT_BYTES).to_owned();
        let retrying = message.starts_with(RETRYING);
        out.push(AgentEvent::Signal(ErrorSignal { retrying, ..provider_error(None, message) }));
    }

    fn end_prompt(&mut self, stop_reason: &str, out: &mut Vec<AgentEvent>) {
        self.turns.end_into(out);
        let is_error = stop_reason == "failed";
        out.push(AgentEvent::PromptEnded { stop_reason: stop_reason.to_owned(), is_error });
    }
}

impl Decoder for CodexExecDecoder {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        match read::<CodexExecLine<'_>>(line, &mut String::new()) {
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
        self.turns.end_into(out);
        self.garbage.end(out);
    }
}

fn is_tool(kind: &str) -> bool {
    matches!(
        kind,
        "command_execution"
            | "file_change"
            | "mcp_tool_call"
            | "collab_tool_call"
            | "web_search"
            | "image_view"
    )
}

fn call<'a>(item: &'a CodexExecItem<'_>) -> CodexToolCall<'a> {
    CodexToolCall {
        id: item.id.str(),
        kind: item.kind.str(),
        server: item.server.str(),
        tool: item.tool.str(),
        actions: &[],
        changes: &item.changes,
        outputs: [&item.output, &item.result.content],
        failed: item.error.message.str(),
        command: item.command.str(),
        exit: item.exit,
        status: item.status.str(),
    }
}
