//! Agent Client Protocol: JSON-RPC lines of an agent. Says what they say; whether a session is exhausted is not judged.
//!
//! What the protocol leaves open, and how it is read here:
//! - It knows no turns. A turn ends where the model speaks again after a tool returned, or with another message id,
//!   or with the prompt.
//! - It knows no stop reason for exhaustion. Errors keep their kind and text; codex-acp answers `end_turn` without
//!   usage where it gave up, with the error as its last words.
//! - Costs are cumulative per process, tokens in an answer are those of the prompt.
//! - A compaction is a prompt. One that was asked for ends in [`AgentEvent::Compacted`] or
//!   [`AgentEvent::CompactionFailed`] when that prompt ends, and in no [`AgentEvent::PromptEnded`].

mod compaction;
mod tools;

use std::collections::VecDeque;

use baton_core::facts::{
    AgentEvent, Billed, Channel, CompactionTrigger, OccupancySource, SIGNAL_TEXT_BYTES, Signal,
};
use baton_core::time::UnixMs;
use serde_json::Value;

use self::compaction::Compaction;
use self::tools::Tools;
use crate::Decoder;
use crate::cut::{cut, cut_owned, cut_tail};
use crate::json::{Growth, kind, microusd, number, owned, status, text};
use crate::terminal::{TerminalText, terminal};

/// Requests under way at a time are one or two; an agent that asks for permission without end must not grow the list.
const KEPT_REQUESTS: usize = 64;

/// Epochs below this are seconds: as milliseconds it would be the year 1973.
const SECONDS_BELOW: u64 = 100_000_000_000;

/// Decodes one process's stdout. Fed with what the host sends as well ([`AcpDecoder::sent`]), it can tell a
/// compaction that was asked for from a prompt.
#[derive(Debug, Default)]
pub struct AcpDecoder {
    requests: VecDeque<(Value, Request)>,
    agent: String,
    version: Option<String>,
    used_tokens: Option<u64>,
    turn: Turn,
    tools: Tools,
    compaction: Option<Compaction>,
    last_words: String,
    cost: Growth,
    garbage: TerminalText,
}

/// What a request is for, by the id under which it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    /// Of the host: a prompt.
    Prompt,
    /// Of the host: a prompt that asks for a compaction.
    Compaction,
    /// Of the host: anything else.
    Other,
    /// Of the agent: may it do this?
    Permission,
}

/// What the model did since the last turn ended.
#[derive(Debug, Default)]
struct Turn {
    spoke: bool,
    tool_returned: bool,
    message: Option<String>,
}

impl AcpDecoder {
    /// At the start of a process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a line that the host sends.
    pub fn sent(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
        let Some(id) = message.get("id").filter(|id| !id.is_null()) else { return };
        match text(&message, "/method") {
            Some("session/prompt") => {
                let prompt = text(&message, "/params/prompt/0/text").unwrap_or_default();
                let asks = prompt == "/compact" || prompt.starts_with("/compact ");
                self.remember(id, if asks { Request::Compaction } else { Request::Prompt });
                self.last_words.clear();
            }
            Some(_) => self.remember(id, Request::Other),
            None if self.take(id) == Some(Request::Permission) => {
                let kind = text(&message, "/result/outcome/optionId").unwrap_or_default();
                let selected = text(&message, "/result/outcome/outcome") == Some("selected");
                out.push(AgentEvent::ApprovalResolved { allowed: selected && !kind.contains("reject") });
            }
            None => {}
        }
    }

    fn remember(&mut self, id: &Value, request: Request) {
        if self.requests.len() == KEPT_REQUESTS {
            self.requests.pop_front();
        }
        self.requests.push_back((id.clone(), request));
    }

    fn take(&mut self, id: &Value) -> Option<Request> {
        let at = self.requests.iter().position(|(known, _)| known == id)?;
        self.requests.remove(at).map(|(_, request)| request)
    }

    fn value(&mut self, message: &Value, out: &mut Vec<AgentEvent>) {
        match (text(message, "/method"), message.get("id")) {
            (Some("session/update"), _) => {
                self.update(message.pointer("/params/update").unwrap_or(&Value::Null), out);
            }
            (Some("session/request_permission"), Some(id)) => {
                self.remember(id, Request::Permission);
                let title = text(message, "/params/toolCall/title").unwrap_or("a tool call");
                out.push(AgentEvent::ApprovalRequested { title: cut(title, SIGNAL_TEXT_BYTES).to_owned() });
            }
            // Extensions of one vendor, by the protocol's own rule.
            (Some(method), _) if method.starts_with('_') || method.starts_with('$') => {}
            (Some(method), _) => out.push(AgentEvent::Unknown { kind: kind(&[method]) }),
            (None, id) => {
                let request = id.and_then(|id| self.take(id));
                match (message.get("result"), message.get("error")) {
                    (_, Some(error)) => self.error(error, request, out),
                    (Some(result), None) => self.result(result, request, out),
                    (None, None) => out.push(AgentEvent::Unknown { kind: kind(&["no method, no result"]) }),
                }
            }
        }
    }

    fn result(&mut self, result: &Value, request: Option<Request>, out: &mut Vec<AgentEvent>) {
        if let Some(stop_reason) = owned(result, "/stopReason") {
            let gave_up =
                result.get("usage").is_some_and(Value::is_null) && self.agent.ends_with("codex-acp");
            let is_error = gave_up && stop_reason == "end_turn";
            if is_error {
                let words = std::mem::take(&mut self.last_words);
                out.push(signal("end_turn without usage", None, None, &words));
            }
            self.bill(result, out);
            self.end_prompt(stop_reason, is_error, request, out);
        } else if let Some(agent_session) = owned(result, "/sessionId") {
            let model = owned(result, "/models/currentModelId");
            let version = self.version.take();
            out.push(AgentEvent::Ready { agent_session: Some(agent_session), model, version });
        } else if result.get("agentCapabilities").is_some() {
            self.agent = owned(result, "/agentInfo/name").unwrap_or_default();
            self.version = owned(result, "/agentInfo/version");
        }
    }

    fn error(&mut self, error: &Value, request: Option<Request>, out: &mut Vec<AgentEvent>) {
        let number_code = error.pointer("/code").and_then(Value::as_i64).unwrap_or(0).to_string();
        let code = owned(error, "/data/errorKind").unwrap_or(number_code);
        let mut said = text(error, "/message").unwrap_or_default().to_owned();
        if let Some(detail) = text(error, "/data") {
            said = format!("{said}: {detail}");
        }
        let resets_at =
            number(error, "/data/resetsAt").map(|at| UnixMs(if at < SECONDS_BELOW { at * 1000 } else { at }));
        out.push(signal(&code, status(error, "/data/status"), resets_at, &said));
        match request {
            Some(Request::Other | Request::Permission) => {}
            Some(Request::Compaction) => {
                self.compaction.get_or_insert_default().failed = Some(said);
                self.end_prompt(code, true, request, out);
            }
            Some(Request::Prompt) | None => self.end_prompt(code, true, request, out),
        }
    }

    fn end_prompt(
        &mut self,
        stop_reason: String,
        is_error: bool,
        request: Option<Request>,
        out: &mut Vec<AgentEvent>,
    ) {
        self.end_turn(out);
        let asked = request == Some(Request::Compaction);
        match self.compaction.take() {
            Some(compaction) if compaction.asked || asked => {
                out.push(compaction.ended(CompactionTrigger::Asked, self.used_tokens))
            }
            None if asked => {
                let text = cut_tail(&self.last_words, SIGNAL_TEXT_BYTES).to_owned();
                let text = if text.is_empty() { "the agent did not compact".to_owned() } else { text };
                out.push(AgentEvent::CompactionFailed { text });
            }
            compaction => {
                if let Some(compaction) = compaction {
                    out.push(compaction.ended(CompactionTrigger::Auto, self.used_tokens));
                }
                out.push(AgentEvent::PromptEnded { stop_reason, is_error });
            }
        }
    }

    fn bill(&mut self, result: &Value, out: &mut Vec<AgentEvent>) {
        let count = |name: &str| number(result, &format!("/usage/{name}")).unwrap_or(0);
        let cached = count("cachedReadTokens").saturating_add(count("cachedWriteTokens"));
        let input_tokens = count("inputTokens").saturating_add(cached);
        let billed = Billed { input_tokens, output_tokens: count("outputTokens"), cost_microusd: None };
        if billed.tokens() > 0 {
            out.push(AgentEvent::Billing(billed));
        }
    }

    fn update(&mut self, update: &Value, out: &mut Vec<AgentEvent>) {
        let what = text(update, "/sessionUpdate").unwrap_or_default();
        self.settle_compaction(update, what, out);
        match what {
            "agent_message_chunk" => {
                self.speaks(owned(update, "/messageId"), out);
                if let Some(text) = owned(update, "/content/text") {
                    self.last_words.push_str(&text);
                    self.last_words = cut_tail(&self.last_words, SIGNAL_TEXT_BYTES).to_owned();
                    out.push(AgentEvent::Text { text });
                }
            }
            "agent_thought_chunk" => self.speaks(owned(update, "/messageId"), out),
            "tool_call" if is_compaction(update) => {
                out.push(AgentEvent::Compacting);
                self.compaction = Some(Compaction {
                    call: owned(update, "/toolCallId").unwrap_or_default(),
                    before_tokens: self.used_tokens,
                    ..Compaction::default()
                });
            }
            "tool_call" => {
                self.speaks(None, out);
                self.turn.tool_returned |= self.tools.update(update, out);
            }
            "tool_call_update" if self.is_of_compaction(update) => {
                if let Some(compaction) = &mut self.compaction {
                    compaction.shown(update);
                }
            }
            "tool_call_update" => self.turn.tool_returned |= self.tools.update(update, out),
            "usage_update" => self.usage(update, out),
            "compaction_update" => self.standard_compaction(update, out),
            "session_info_update" => retry(update, out),
            "user_message_chunk" | "plan" | "plan_update" | "plan_removed" | "available_commands_update" => {}
            "current_mode_update" | "config_option_update" | "compaction_summary_chunk" | "notice" => {}
            other => out.push(AgentEvent::Unknown { kind: kind(&["session/update", other]) }),
        }
    }

    /// The model says something: where that begins another turn, the one before is over.
    fn speaks(&mut self, message: Option<String>, out: &mut Vec<AgentEvent>) {
        let other = message.is_some() && self.turn.message.is_some() && message != self.turn.message;
        if self.turn.tool_returned || other {
            self.end_turn(out);
        }
        self.turn.spoke = true;
        if message.is_some() {
            self.turn.message = message;
        }
    }

    fn end_turn(&mut self, out: &mut Vec<AgentEvent>) {
        if std::mem::take(&mut self.turn).spoke {
            out.push(AgentEvent::Turn { used_tokens: self.used_tokens, billed: Billed::default() });
        }
    }

    fn usage(&mut self, update: &Value, out: &mut Vec<AgentEvent>) {
        let (used_tokens, window_tokens) = (number(update, "/used"), number(update, "/size"));
        if used_tokens.is_some() {
            self.used_tokens = used_tokens;
            out.push(AgentEvent::Occupancy { used_tokens, window_tokens, source: OccupancySource::Agent });
        }
        if text(update, "/cost/currency") == Some("USD") {
            let grown =
                microusd(update, "/cost/amount").map(|total| self.cost.to(total)).filter(|grown| *grown > 0);
            if grown.is_some() {
                out.push(AgentEvent::Billing(Billed { cost_microusd: grown, ..Billed::default() }));
            }
        }
    }

    fn is_of_compaction(&self, update: &Value) -> bool {
        let call = text(update, "/toolCallId");
        self.compaction.as_ref().is_some_and(|compaction| call == Some(&compaction.call))
    }

    /// The protocol's own form, from agents that have it.
    fn standard_compaction(&mut self, update: &Value, out: &mut Vec<AgentEvent>) {
        if self.compaction.is_none() {
            out.push(AgentEvent::Compacting);
            self.compaction = Some(Compaction { before_tokens: self.used_tokens, ..Compaction::default() });
        }
        if let Some(compaction) = &mut self.compaction {
            compaction.standard(update);
        }
    }

    /// A compaction of the agent's own accord is told as soon as something else comes; one that was asked for at the
    /// end of its prompt, when the agent can take the next.
    fn settle_compaction(&mut self, update: &Value, what: &str, out: &mut Vec<AgentEvent>) {
        let asked = self.requests.iter().any(|(_, request)| *request == Request::Compaction);
        let own = self.compaction.as_ref().is_some_and(|compaction| {
            !asked && !compaction.asked && (compaction.done || compaction.failed.is_some())
        });
        let about_it = what == "compaction_update" || what == "usage_update" || self.is_of_compaction(update);
        if own
            && !about_it
            && let Some(compaction) = self.compaction.take()
        {
            out.push(compaction.ended(CompactionTrigger::Auto, self.used_tokens));
        }
    }
}

impl Decoder for AcpDecoder {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        match serde_json::from_slice::<Value>(line) {
            Ok(message) if message.is_object() => {
                self.garbage.flush(out);
                self.value(&message, out);
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
        self.end_turn(out);
        self.garbage.end(out);
    }
}

/// claude-agent-acp and codex-acp both show a compaction as a tool call.
fn is_compaction(update: &Value) -> bool {
    text(update, "/title") == Some("Compact conversation")
        || text(update, "/_meta/claudeCode/toolName") == Some("compact")
}

/// codex-acp tells of its retries in a field of its own.
fn retry(update: &Value, out: &mut Vec<AgentEvent>) {
    let Some(error) = update.pointer("/_meta/codex/error").filter(|error| error.is_object()) else { return };
    let info = error.get("codexErrorInfo");
    let named = info.and_then(Value::as_object).and_then(|info| info.iter().next());
    let code = info.and_then(Value::as_str).or(named.map(|(name, _)| name.as_str())).unwrap_or_default();
    let message = text(error, "/message").unwrap_or_default();
    let detail = text(error, "/additionalDetails").unwrap_or_default();
    out.push(AgentEvent::Signal(Signal {
        channel: Channel::ProviderError,
        code: kind(&[code]),
        status: named.and_then(|(_, detail)| status(detail, "/httpStatusCode")),
        resets_at: None,
        retrying: error.pointer("/willRetry").and_then(Value::as_bool).unwrap_or(false),
        text: cut(format!("{message} {detail}").trim(), SIGNAL_TEXT_BYTES).to_owned(),
    }));
}

fn signal(code: &str, status: Option<u16>, resets_at: Option<UnixMs>, text: &str) -> AgentEvent {
    AgentEvent::Signal(Signal {
        channel: Channel::ProviderError,
        code: kind(&[code]),
        status,
        resets_at,
        retrying: false,
        text: cut(text, SIGNAL_TEXT_BYTES).to_owned(),
    })
}
