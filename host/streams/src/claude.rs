//! Claude Code's `stream-json`. Says what the stream says; whether a session is exhausted is not judged here.
//!
//! What is trusted, and why, was observed on recordings of real runs:
//! - Occupancy is the prompt of the *last* call (input, cache read and cache creation of `assistant.message.usage`
//!   whose `parent_tool_use_id` is null). Totals in `result` are cumulative and never a fill level.
//! - The outcome is `is_error` and `terminal_reason`; `subtype` says `success` for an API failure.
//! - One model call prints one `assistant` line for each block of its answer, all with the same message id and usage.
//! - A compaction that was asked for ends in [`AgentEvent::Compacted`] or [`AgentEvent::CompactionFailed`] when the
//!   agent takes prompts again, and in no [`AgentEvent::PromptEnded`].

mod tools;

use baton_core::facts::{
    AgentEvent, Billed, Channel, CompactionTrigger, OccupancySource, SIGNAL_TEXT_BYTES, Signal,
};
use baton_core::time::UnixMs;
use serde_json::Value;

use self::tools::{tool_call, tool_output};
use crate::Decoder;
use crate::cut::{cut, cut_owned};
use crate::json::{Growth, kind, microusd, number, owned, status, text};
use crate::terminal::{TerminalText, terminal};

/// The model that Claude Code names where it answers by itself.
const SYNTHETIC: &str = "<synthetic>";

/// Decodes one process's stdout.
#[derive(Debug, Default)]
pub struct ClaudeDecoder {
    ready: bool,
    /// Model of the main conversation, to find its window in `modelUsage`.
    model: Option<String>,
    /// The model call whose blocks are arriving.
    call: Option<Call>,
    used_tokens: Option<u64>,
    window_tokens: Option<u64>,
    /// Billed by calls since the last `result`, to be set off against its total.
    billed: Billed,
    input: Growth,
    output: Growth,
    cost: Growth,
    /// A `/compact` has worked; it is told when its prompt ends.
    asked: Option<Asked>,
    /// What the agent said by itself in this prompt: why it did not compact.
    own_words: String,
    garbage: TerminalText,
}

/// A model call whose blocks are arriving.
#[derive(Debug)]
struct Call {
    id: String,
    used_tokens: u64,
    billed: Billed,
}

/// A compaction that the host asked for, and that is done.
#[derive(Debug)]
struct Asked {
    before_tokens: Option<u64>,
}

impl ClaudeDecoder {
    /// At the start of a process.
    pub fn new() -> Self {
        Self::default()
    }

    fn value(&mut self, line: &Value, out: &mut Vec<AgentEvent>) {
        let what = text(line, "/type").unwrap_or_default();
        if what != "assistant" && what != "stream_event" {
            self.end_call(out);
        }
        match what {
            "system" => self.system(line, out),
            "assistant" => self.assistant(line, out),
            "user" => self.user(line, out),
            "result" => self.result(line, out),
            "control_response" => self.control_response(line, out),
            "rate_limit_event" => rate_limit(line, out),
            // Pieces of messages that come whole as well, and requests that only a host that asked for them gets.
            "stream_event" | "control_request" | "control_cancel_request" | "keep_alive" => {}
            _ => out.push(AgentEvent::Unknown { kind: kind(&[what]) }),
        }
    }

    fn system(&mut self, line: &Value, out: &mut Vec<AgentEvent>) {
        match text(line, "/subtype").unwrap_or_default() {
            // Comes again with every prompt.
            "init" => {
                self.model = owned(line, "/model").or(self.model.take());
                self.ready(owned(line, "/session_id"), owned(line, "/claude_code_version"), out);
            }
            "status" if text(line, "/status") == Some("compacting") => out.push(AgentEvent::Compacting),
            "status" if text(line, "/compact_result").is_some_and(|result| result != "success") => {
                let text =
                    owned(line, "/compact_error").unwrap_or_else(|| "the compaction failed".to_owned());
                out.push(signal(Channel::AgentEvent, "compact_failed", None, &text));
            }
            "compact_boundary" => {
                let before_tokens = number(line, "/compact_metadata/pre_tokens");
                // What is left cannot be told: `post_tokens` counts messages only and `used_tokens` is of the past.
                self.used_tokens = None;
                if text(line, "/compact_metadata/trigger") == Some("manual") {
                    self.asked = Some(Asked { before_tokens });
                } else {
                    let trigger = CompactionTrigger::Auto;
                    out.push(AgentEvent::Compacted { trigger, before_tokens, after_tokens: None });
                }
            }
            "api_retry" => {
                let attempt = number(line, "/attempt").unwrap_or(0);
                let of = number(line, "/max_retries").unwrap_or(0);
                let delay_ms = number(line, "/retry_delay_ms").unwrap_or(0);
                out.push(AgentEvent::Signal(Signal {
                    channel: Channel::ProviderError,
                    code: code(line, "/error"),
                    status: status(line, "/error_status"),
                    resets_at: None,
                    retrying: true,
                    text: format!("the agent retries by itself: {attempt} of {of}, in {delay_ms} ms"),
                }));
            }
            "status" | "ui_invalidate" | "hook_started" | "hook_progress" | "hook_response" => {}
            "task_started" | "task_progress" | "task_notification" | "files_persisted" => {}
            other => out.push(AgentEvent::Unknown { kind: kind(&["system", other]) }),
        }
    }

    fn ready(&mut self, agent_session: Option<String>, version: Option<String>, out: &mut Vec<AgentEvent>) {
        if !std::mem::replace(&mut self.ready, true) {
            out.push(AgentEvent::Ready { agent_session, model: self.model.clone(), version });
        }
    }

    fn assistant(&mut self, line: &Value, out: &mut Vec<AgentEvent>) {
        let main = line.pointer("/parent_tool_use_id").is_none_or(Value::is_null);
        if text(line, "/message/model") == Some(SYNTHETIC) {
            self.end_call(out);
            self.own_words = synthetic(line, out);
            return;
        }
        if main {
            self.call(line, out);
        }
        for block in blocks(line) {
            match text(block, "/type").unwrap_or_default() {
                // What a sub-agent says and reads fills its own window, not this one.
                "text" if main => {
                    if let Some(text) = owned(block, "/text") {
                        out.push(AgentEvent::Text { text });
                    }
                }
                "tool_use" => out.push(tool_call(block, main)),
                "text" | "thinking" | "redacted_thinking" | "server_tool_use" | "web_search_tool_result" => {}
                other => out.push(AgentEvent::Unknown { kind: kind(&["assistant", other]) }),
            }
        }
        if let Some(code) = owned(line, "/error") {
            out.push(signal(Channel::AgentEvent, &code, status(line, "/api_error_status"), ""));
        }
    }

    /// Takes the usage of a line of the main conversation.
    fn call(&mut self, line: &Value, out: &mut Vec<AgentEvent>) {
        let id = text(line, "/message/id").unwrap_or_default();
        let count = |name: &str| number(line, &format!("/message/usage/{name}")).unwrap_or(0);
        let cached = count("cache_read_input_tokens").saturating_add(count("cache_creation_input_tokens"));
        let input_tokens = count("input_tokens").saturating_add(cached);
        let billed = Billed { input_tokens, output_tokens: count("output_tokens"), cost_microusd: None };
        if self.call.as_ref().is_some_and(|call| call.id != id) {
            self.end_call(out);
        }
        self.call = Some(Call { id: id.to_owned(), used_tokens: input_tokens, billed });
    }

    /// The blocks of a call are all here: that was a turn.
    fn end_call(&mut self, out: &mut Vec<AgentEvent>) {
        if let Some(call) = self.call.take() {
            // A call without usage (an older or a foreign provider) says nothing about the fill.
            let used_tokens = Some(call.used_tokens).filter(|used| *used > 0);
            self.used_tokens = used_tokens.or(self.used_tokens);
            self.billed.add(&call.billed);
            out.push(AgentEvent::Turn { used_tokens, billed: call.billed });
        }
    }

    fn user(&mut self, line: &Value, out: &mut Vec<AgentEvent>) {
        if line.pointer("/parent_tool_use_id").is_some_and(|id| !id.is_null()) {
            return;
        }
        for block in blocks(line) {
            if text(block, "/type") == Some("tool_result") {
                let (bytes, text) = tool_output(block.pointer("/content").unwrap_or(&Value::Null));
                out.push(AgentEvent::ToolOutput {
                    id: owned(block, "/tool_use_id").unwrap_or_default(),
                    bytes,
                    text,
                });
            }
        }
    }

    fn result(&mut self, line: &Value, out: &mut Vec<AgentEvent>) {
        self.bill(line, out);
        self.window(line, out);
        let is_error = line.pointer("/is_error").and_then(Value::as_bool).unwrap_or(false);
        let own_words = std::mem::take(&mut self.own_words);
        if self.asked.is_some() || text(line, "/local_command") == Some("compact") {
            if let Some(Asked { before_tokens }) = self.asked.take() {
                let trigger = CompactionTrigger::Asked;
                out.push(AgentEvent::Compacted { trigger, before_tokens, after_tokens: None });
            } else {
                let text = owned(line, "/result").unwrap_or(own_words);
                let text = if text.is_empty() { "the agent did not compact".to_owned() } else { text };
                out.push(AgentEvent::CompactionFailed { text: cut(&text, SIGNAL_TEXT_BYTES).to_owned() });
            }
            return;
        }
        let errors: Vec<&str> = line
            .pointer("/errors")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if !errors.is_empty() {
            out.push(signal(Channel::AgentEvent, &code(line, "/subtype"), None, &errors.join("\n")));
        }
        let stop_reason =
            owned(line, "/terminal_reason").or_else(|| owned(line, "/subtype")).unwrap_or_default();
        out.push(AgentEvent::PromptEnded { stop_reason, is_error });
    }

    /// What the process billed in total, less what its turns said: compactions, sub-agents and the rest of the output.
    fn bill(&mut self, line: &Value, out: &mut Vec<AgentEvent>) {
        let models = line.pointer("/modelUsage").and_then(Value::as_object);
        let sum = |names: &[&str]| {
            let models = models.into_iter().flat_map(|models| models.values());
            let counts = models.flat_map(|model| names.iter().filter_map(|name| model.get(name)?.as_u64()));
            counts.fold(0u64, u64::saturating_add)
        };
        let said = std::mem::take(&mut self.billed);
        if models.is_none_or(|models| models.is_empty()) {
            return;
        }
        let input = self.input.to(sum(&["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"]));
        let output = self.output.to(sum(&["outputTokens"]));
        let cost_microusd = microusd(line, "/total_cost_usd").map(|total| self.cost.to(total));
        let billed = Billed {
            input_tokens: input.saturating_sub(said.input_tokens),
            output_tokens: output.saturating_sub(said.output_tokens),
            cost_microusd,
        };
        if billed.tokens() > 0 || cost_microusd.is_some_and(|cost| cost > 0) {
            out.push(AgentEvent::Billing(billed));
        }
    }

    /// The window, where a result is the first to tell it.
    fn window(&mut self, line: &Value, out: &mut Vec<AgentEvent>) {
        let models = line.pointer("/modelUsage").and_then(Value::as_object);
        let window = |model: &Value| model.get("contextWindow")?.as_u64();
        let own = self.model.as_deref().and_then(|name| models?.get(name)).and_then(window);
        let window_tokens = own.or_else(|| models?.values().filter_map(window).max());
        if let Some(window_tokens) = window_tokens.filter(|_| self.window_tokens.is_none()) {
            self.window_tokens = Some(window_tokens);
            out.push(AgentEvent::Occupancy {
                used_tokens: self.used_tokens,
                window_tokens: self.window_tokens,
                source: OccupancySource::LastCall,
            });
        }
    }

    fn control_response(&mut self, line: &Value, out: &mut Vec<AgentEvent>) {
        let Some(response) = line.pointer("/response/response") else {
            if text(line, "/response/subtype") == Some("error") {
                let text = text(line, "/response/error").unwrap_or_default();
                out.push(signal(Channel::AgentEvent, "control_error", None, text));
            }
            return;
        };
        if let Some(version) = owned(response, "/claude_code_version") {
            self.ready(None, Some(version), out);
        } else if response.get("commands").is_some() {
            self.ready(None, None, out);
        }
        if let (Some(used), Some(window)) = (number(response, "/totalTokens"), number(response, "/maxTokens"))
        {
            self.used_tokens = Some(used);
            self.window_tokens = Some(window);
            out.push(AgentEvent::Occupancy {
                used_tokens: Some(used),
                window_tokens: Some(window),
                source: OccupancySource::Agent,
            });
        }
    }
}

impl Decoder for ClaudeDecoder {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        match serde_json::from_slice::<Value>(line) {
            Ok(value) if value.is_object() => {
                self.garbage.flush(out);
                self.value(&value, out);
            }
            _ => self.garbage.line(line, out),
        }
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        out.push(AgentEvent::Signal(terminal(
            "line-too-long".to_owned(),
            cut_owned(beginning, SIGNAL_TEXT_BYTES),
        )));
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        self.end_call(out);
        self.garbage.end(out);
    }
}

fn blocks(line: &Value) -> impl Iterator<Item = &Value> {
    line.pointer("/message/content").and_then(Value::as_array).into_iter().flatten()
}

/// A message that Claude Code wrote in place of the model's: an error of the API, or of its own. Gives its text.
fn synthetic(line: &Value, out: &mut Vec<AgentEvent>) -> String {
    let status = status(line, "/api_error_status");
    let said = blocks(line).filter_map(|block| text(block, "/text")).collect::<Vec<_>>().join("\n");
    if let Some(code) = owned(line, "/error") {
        out.push(signal(Channel::AgentEvent, &code, status, ""));
        let detail = owned(line, "/api_error_type").or_else(|| owned(line, "/api_error")).unwrap_or(code);
        out.push(signal(Channel::ProviderError, &detail, status, &said));
    } else if !said.is_empty() {
        out.push(AgentEvent::Text { text: said.clone() });
    }
    said
}

fn rate_limit(line: &Value, out: &mut Vec<AgentEvent>) {
    let limit = text(line, "/rate_limit_info/rateLimitType").unwrap_or("unnamed");
    let resets_at =
        number(line, "/rate_limit_info/resetsAt").map(|seconds| UnixMs(seconds.saturating_mul(1000)));
    let (code, resets_at) = match text(line, "/rate_limit_info/status").unwrap_or_default() {
        "" | "allowed" => return,
        // Still allowed: nothing waits for a reset.
        "allowed_warning" => ("rate_limit_warning", None),
        _ => ("rate_limit", resets_at),
    };
    out.push(AgentEvent::Signal(Signal {
        channel: Channel::AgentEvent,
        code: code.to_owned(),
        status: None,
        resets_at,
        retrying: false,
        text: format!("{limit} limit"),
    }));
}

fn code(line: &Value, pointer: &str) -> String {
    kind(&[text(line, pointer).unwrap_or_default()])
}

fn signal(channel: Channel, code: &str, status: Option<u16>, text: &str) -> AgentEvent {
    AgentEvent::Signal(Signal {
        channel,
        code: kind(&[code]),
        status,
        resets_at: None,
        retrying: false,
        text: cut(text, SIGNAL_TEXT_BYTES).to_owned(),
    })
}
