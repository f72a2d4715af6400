//! Decodes Claude Code's `stream-json`. Core decides whether a session is exhausted.
//!
//! The following was observed on recordings of real runs:
//! - Occupancy is the prompt of the *last* call (input, cache read and cache creation of `assistant.message.usage`
//!   whose `parent_tool_use_id` is null). Totals in `result` are cumulative and never a fill level.
//! - The outcome is `is_error` and `terminal_reason`; `subtype` is `success` even for an API failure.
//! - One model call prints one `assistant` line for each block of its answer, all with the same message id and usage.
//! - A requested compaction ends in [`AgentEvent::Compacted`] or [`AgentEvent::CompactionFailed`] when the agent takes prompts
//!   again, and not in an [`AgentEvent::PromptEnded`].

mod tools;
mod wire;

use baton_core::facts::{
    AgentEvent, CompactionTrigger, ErrorSignal, OccupancySource, SIGNAL_TEXT_BYTES, SignalSource, TokenUsage,
};

use baton_core::time::DurationMs;

use self::tools::tool_call;
use self::wire::{ClaudeControlResponse, ClaudeLine, ClaudeMessage, ClaudeModelUsage, ClaudeRateLimit};
use crate::Decoder;
use crate::cumulative::CumulativeCounter;
use crate::message_separator::MessageSeparator;
use crate::signal::{signal, too_long};
use crate::terminal::TerminalText;
use crate::truncate::cut;
use crate::wire::{BoundedMap, Count, kind, read};

/// The model that Claude Code names if it answers itself.
const SYNTHETIC: &str = "<synthetic>";

/// Decodes one process's stdout.
#[derive(Debug, Default)]
pub struct ClaudeDecoder {
    ready: bool,
    session: Option<String>,
    /// Model of the main conversation, to find its window in `modelUsage`.
    model: Option<String>,
    /// The model call whose blocks are arriving.
    call: Option<ClaudeModelCall>,
    used_tokens: Option<u64>,
    window_tokens: Option<u64>,
    /// Billed by calls since the last `result`, to be set off against its total.
    billed: TokenUsage,
    input: CumulativeCounter,
    output: CumulativeCounter,
    cost: CumulativeCounter,
    /// The bill of the conversation before this process, until its first `result`.
    before: TokenUsage,
    /// A `/compact` has worked; it is reported when its prompt ends.
    asked: Option<RequestedCompaction>,
    /// The agent's own messages in this prompt: the reason why it did not compact.
    own_words: String,
    separator: MessageSeparator,
    garbage: TerminalText,
}

/// A model call whose blocks are arriving.
#[derive(Debug)]
struct ClaudeModelCall {
    id: String,
    used_tokens: u64,
    billed: TokenUsage,
}

/// A compaction that the host asked for, and that is done.
#[derive(Debug)]
struct RequestedCompaction {
    before_tokens: Option<u64>,
}

impl ClaudeDecoder {
    /// At the start of a process.
    pub fn new() -> Self {
        Self::default()
    }

    /// At the start of a process that was given its session id (`--session-id`). Claude Code reports the id only with the first
    /// prompt; if it is ready before that, [`AgentEvent::Ready`] carries this id.
    pub fn of_session(id: impl Into<String>) -> Self {
        Self { session: Some(id.into()), ..Self::default() }
    }

    /// The process continues a conversation (`--resume`) in which this amount was billed before. The totals of Claude Code continue from
    /// there, unless the process before was killed: then they begin at zero.
    #[must_use]
    pub fn resuming(self, before: TokenUsage) -> Self {
        Self { before, ..self }
    }

    fn take(&mut self, line: ClaudeLine<'_>, out: &mut Vec<AgentEvent>) {
        if !matches!(line.kind.str(), "assistant" | "stream_event") {
            self.end_call(out);
        }
        match line.kind.str() {
            "system" => self.system(line, out),
            "assistant" => self.assistant(line, out),
            // The results of a sub-agent's tools fill its own window.
            "user" if line.parent.is_empty() => tool_outputs(line.message.unwrap_or_default(), out),
            "user" => {}
            "result" => self.result(line, out),
            "control_response" => self.control_response(line.response.unwrap_or_default(), out),
            "rate_limit_event" => rate_limit(&line.limit.unwrap_or_default(), out),
            // Pieces of messages that come whole as well, and requests that only a host that asked for them gets.
            "stream_event" | "control_request" | "control_cancel_request" | "keep_alive" => {}
            other => out.push(AgentEvent::Unknown { kind: kind(&[other]) }),
        }
    }

    fn system(&mut self, line: ClaudeLine<'_>, out: &mut Vec<AgentEvent>) {
        match line.subtype.str() {
            // Comes again with every prompt.
            "init" => {
                self.model = line.model.into_nonempty().or(self.model.take());
                self.session = line.session_id.into_nonempty().or(self.session.take());
                self.ready(line.version.into_nonempty(), out);
            }
            "status" if line.status.str() == "compacting" => out.push(AgentEvent::Compacting),
            "status" if line.compact_result.nonempty().is_some_and(|result| result != "success") => {
                let text = line.compact_error.nonempty().unwrap_or("the compaction failed");
                push(out, signal(SignalSource::AgentEvent, "compact_failed", None, text));
            }
            "compact_boundary" => {
                let boundary = line.compaction.unwrap_or_default();
                let before_tokens = boundary.pre_tokens.0;
                // The remaining tokens are unknown: `post_tokens` counts messages only and `used_tokens` is of the past.
                self.used_tokens = None;
                if boundary.trigger.str() == "manual" {
                    self.asked = Some(RequestedCompaction { before_tokens });
                } else {
                    let trigger = CompactionTrigger::Auto;
                    out.push(AgentEvent::Compacted { trigger, before_tokens, after_tokens: None });
                }
            }
            "api_retry" => {
                let (attempt, of) = (line.attempt.or_zero(), line.max_retries.or_zero());
                let delay_ms = line.retry_delay_ms.or_zero();
                let delay = DurationMs(delay_ms.div_ceil(1000) * 1000);
                let text = format!("the agent retries by itself: {attempt} of {of}, in {delay}");
                let status = line.error_status.status();
                let retry = signal(SignalSource::ProviderError, line.error.str(), status, &text);
                push(out, ErrorSignal { retrying: true, ..retry });
            }
            "status" | "ui_invalidate" | "hook_started" | "hook_progress" | "hook_response" => {}
            "task_started" | "task_progress" | "task_notification" | "files_persisted" => {}
            other => out.push(AgentEvent::Unknown { kind: kind(&["system", other]) }),
        }
    }

    fn ready(&mut self, version: Option<String>, out: &mut Vec<AgentEvent>) {
        if !std::mem::replace(&mut self.ready, true) {
            let (agent_session, model) = (self.session.clone(), self.model.clone());
            out.push(AgentEvent::Ready { agent_session, model, version });
        }
    }

    fn assistant(&mut self, mut line: ClaudeLine<'_>, out: &mut Vec<AgentEvent>) {
        let message = line.message.take().unwrap_or_default();
        let main = line.parent.is_empty();
        if message.model.str() == SYNTHETIC {
            self.end_call(out);
            self.own_words = synthetic(&line, &message, out);
            return;
        }
        if main {
            self.call(&message, out);
        }
        for block in message.content.0 {
            match block.kind.str() {
                // The messages and reads of a sub-agent fill its own window, not this one.
                "text" if main => {
                    out.extend(block.text.into_nonempty().map(|text| AgentEvent::Text { text }))
                }
                "tool_use" => out.push(tool_call(block, main)),
                "text" | "thinking" | "redacted_thinking" | "server_tool_use" | "web_search_tool_result" => {}
                other => out.push(AgentEvent::Unknown { kind: kind(&["assistant", other]) }),
            }
        }
        if let Some(code) = line.error.nonempty() {
            push(out, signal(SignalSource::AgentEvent, code, line.api_error_status.status(), ""));
        }
    }

    /// Takes the usage of a line of the main conversation.
    fn call(&mut self, message: &ClaudeMessage<'_>, out: &mut Vec<AgentEvent>) {
        let (id, usage) = (message.id.str(), &message.usage);
        let input_tokens = sum([usage.input, usage.cache_read, usage.cache_creation]);
        let billed = TokenUsage { input_tokens, output_tokens: usage.output.or_zero(), cost_microusd: None };
        if self.call.as_ref().is_some_and(|call| call.id != id) {
            self.end_call(out);
        }
        self.call = Some(ClaudeModelCall { id: id.to_owned(), used_tokens: input_tokens, billed });
    }

    /// The blocks of a call are all here: that was a turn.
    fn end_call(&mut self, out: &mut Vec<AgentEvent>) {
        if let Some(call) = self.call.take() {
            // A call without usage (an older or a foreign provider) does not change the fill.
            let used_tokens = Some(call.used_tokens).filter(|used| *used > 0);
            self.used_tokens = used_tokens.or(self.used_tokens);
            self.billed.add(&call.billed);
            out.push(AgentEvent::Turn { used_tokens, billed: call.billed });
        }
    }

    fn result(&mut self, line: ClaudeLine<'_>, out: &mut Vec<AgentEvent>) {
        self.push_billing(&line, out);
        self.window(&line.models, out);
        let own_words = std::mem::take(&mut self.own_words);
        if self.asked.is_some() || line.local_command.str() == "compact" {
            if let Some(RequestedCompaction { before_tokens }) = self.asked.take() {
                let trigger = CompactionTrigger::Asked;
                out.push(AgentEvent::Compacted { trigger, before_tokens, after_tokens: None });
            } else {
                let said = [line.result.str(), &own_words].into_iter().find(|said| !said.is_empty());
                let text = cut(said.unwrap_or("the agent did not compact"), SIGNAL_TEXT_BYTES).to_owned();
                out.push(AgentEvent::CompactionFailed { text });
            }
            return;
        }
        let errors: Vec<&str> = line.errors.0.iter().filter_map(|error| error.nonempty()).collect();
        if !errors.is_empty() {
            push(out, signal(SignalSource::AgentEvent, line.subtype.str(), None, &errors.join("\n")));
        }
        let stop_reason =
            line.terminal_reason.into_nonempty().or(line.subtype.into_nonempty()).unwrap_or_default();
        out.push(AgentEvent::PromptEnded { stop_reason, is_error: line.is_error.is_true() });
    }

    /// The total bill of the process, without the part that its turns reported: compactions, sub-agents and the rest of the
    /// output.
    fn push_billing(&mut self, line: &ClaudeLine<'_>, out: &mut Vec<AgentEvent>) {
        let models = || line.models.0.iter().map(|(_, model)| model);
        let said = std::mem::take(&mut self.billed);
        if line.models.0.is_empty() {
            return;
        }
        let input = models().map(|model| sum([model.input, model.cache_read, model.cache_creation]));
        let input = input.fold(0, u64::saturating_add);
        let output = models().map(|model| model.output.or_zero()).fold(0, u64::saturating_add);
        let cost = line.cost_usd.microusd();
        let before = std::mem::take(&mut self.before);
        // The total is near the sum of this process's calls, or near that sum plus the earlier bill. The middle between the two
        // decides.
        if before.input_tokens > 0 && input >= said.input_tokens.saturating_add(before.input_tokens / 2) {
            self.input = CumulativeCounter::from(before.input_tokens.min(input));
            self.output = CumulativeCounter::from(before.output_tokens.min(output));
            self.cost = CumulativeCounter::from(before.cost_microusd.unwrap_or(0).min(cost.unwrap_or(0)));
        }
        let (input, output) = (self.input.advance_to(input), self.output.advance_to(output));
        let cost_microusd = cost.map(|total| self.cost.advance_to(total));
        let billed = TokenUsage {
            input_tokens: input.saturating_sub(said.input_tokens),
            output_tokens: output.saturating_sub(said.output_tokens),
            cost_microusd,
        };
        if billed.tokens() > 0 || cost_microusd.is_some_and(|cost| cost > 0) {
            out.push(AgentEvent::Billing(billed));
        }
    }

    /// The window, if a result is the first to report it.
    fn window(&mut self, models: &BoundedMap<'_, ClaudeModelUsage>, out: &mut Vec<AgentEvent>) {
        let of_session = models.0.iter().find(|(name, _)| self.model.as_deref() == Some(name.str()));
        let own = of_session.and_then(|(_, model)| model.window.0);
        let window_tokens = own.or_else(|| models.0.iter().filter_map(|(_, model)| model.window.0).max());
        if let Some(window_tokens) = window_tokens.filter(|_| self.window_tokens.is_none()) {
            self.window_tokens = Some(window_tokens);
            out.push(AgentEvent::Occupancy {
                used_tokens: self.used_tokens,
                window_tokens: self.window_tokens,
                source: OccupancySource::LastCall,
            });
        }
    }

    fn control_response(&mut self, response: ClaudeControlResponse<'_>, out: &mut Vec<AgentEvent>) {
        let Some(answer) = response.response else {
            if response.subtype.str() == "error" {
                push(out, signal(SignalSource::AgentEvent, "control_error", None, response.error.str()));
            }
            return;
        };
        if !answer.version.is_empty() || answer.commands.0 {
            self.ready(answer.version.into_nonempty(), out);
        }
        if let (Some(used), Some(window)) = (answer.total_tokens.0, answer.max_tokens.0) {
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
        match read::<ClaudeLine<'_>>(line, &mut String::new()) {
            Some(read) => {
                self.garbage.flush(out);
                let from = out.len();
                self.take(read, out);
                self.separator.separate_messages(from, out);
            }
            None => self.garbage.line(line, out),
        }
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        out.push(too_long(beginning));
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        self.end_call(out);
        self.garbage.end(out);
    }
}

fn tool_outputs(message: ClaudeMessage<'_>, out: &mut Vec<AgentEvent>) {
    let results = message.content.0.into_iter().filter(|block| block.kind.str() == "tool_result");
    out.extend(results.map(|block| AgentEvent::ToolOutput {
        id: block.tool_use_id.into_nonempty().unwrap_or_default(),
        bytes: block.content.bytes,
        text: block.content.beginning,
        failed: block.is_error.0,
    }));
}

/// A message that Claude Code wrote in place of the model's: an error of the API, or of its own. Gives its text.
fn synthetic(line: &ClaudeLine<'_>, message: &ClaudeMessage<'_>, out: &mut Vec<AgentEvent>) -> String {
    let status = line.api_error_status.status();
    let texts: Vec<&str> = message.content.0.iter().map(|block| block.text.str()).collect();
    let said = texts.join("\n");
    if let Some(code) = line.error.nonempty() {
        push(out, signal(SignalSource::AgentEvent, code, status, ""));
        let detail = line.api_error_type.nonempty().or(line.api_error.nonempty()).unwrap_or(code);
        push(out, signal(SignalSource::ProviderError, detail, status, &said));
    } else if !said.is_empty() {
        out.push(AgentEvent::Text { text: said.clone() });
    }
    said
}

fn rate_limit(limit: &ClaudeRateLimit<'_>, out: &mut Vec<AgentEvent>) {
    let (code, resets_at) = match limit.status.str() {
        "" | "allowed" => return,
        // Still allowed: nothing waits for a reset.
        "allowed_warning" => ("rate_limit_warning", None),
        _ => ("rate_limit", limit.resets_at.time()),
    };
    let text = format!("{} limit", limit.kind.nonempty().unwrap_or("unnamed"));
    push(out, ErrorSignal { resets_at, ..signal(SignalSource::AgentEvent, code, None, &text) });
}

fn sum(counts: [Count; 3]) -> u64 {
    counts.into_iter().map(Count::or_zero).fold(0, u64::saturating_add)
}

fn push(out: &mut Vec<AgentEvent>, signal: ErrorSignal) {
    out.push(AgentEvent::Signal(signal));
}
