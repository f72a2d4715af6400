//! Agent Client Protocol: decodes the JSON-RPC lines of an agent. Core decides whether a session is exhausted.
//!
//! Facts that the protocol leaves open, and how they are read here:
//! - It has no turns. A turn ends when the model speaks again after a tool returned, or with another message id, or with the
//!   prompt.
//! - It has no stop reason for exhaustion. Errors keep their kind and text; codex-acp answers `end_turn` without usage if it
//!   gave up, with the error as its last message.
//! - Costs are cumulative per process; the tokens in an answer are those of the prompt.
//! - A compaction is a prompt. A compaction that the host asked for ends in [`AgentEvent::Compacted`] or
//!   [`AgentEvent::CompactionFailed`] when that prompt ends, and not in an [`AgentEvent::PromptEnded`].

mod compaction;
mod tools;
mod wire;

use baton_core::facts::{
    AgentEvent, CompactionTrigger, ErrorSignal, OccupancySource, SIGNAL_TEXT_BYTES, TokenUsage,
};

use self::compaction::AcpCompaction;
use self::tools::AcpToolCalls;
use self::wire::{AcpError, AcpMessage, AcpResult, AcpUpdate};
use crate::Decoder;
use crate::cumulative::CumulativeCounter;
use crate::pending_requests::PendingRequests;
use crate::signal::{provider_error, too_long};
use crate::terminal::TerminalText;
use crate::truncate::{cut, cut_tail};
use crate::turns::TurnTracker;
use crate::wire::{kind, read, truncate_name};

/// JSON-RPC, as the protocol uses it: the agent wants a login first. And the name that other agents have for it.
const AUTH_REQUIRED: &str = "-32000";
const UNAUTHENTICATED: &str = "authentication_failed";

/// Decodes one process's stdout. It also takes the host's messages ([`AcpDecoder::sent`]), and so distinguishes a requested
/// compaction from a prompt.
#[derive(Debug, Default)]
pub struct AcpDecoder {
    requests: PendingRequests<AcpRequestKind>,
    agent: String,
    version: Option<String>,
    ready: bool,
    /// The session that the agent was asked to resume; until it answers, it repeats the earlier messages of the session.
    resuming_session: Option<String>,
    used_tokens: Option<u64>,
    /// The fill when the host sent its last prompt.
    used_at_prompt: Option<u64>,
    turns: TurnTracker,
    tools: AcpToolCalls,
    compaction: Option<AcpCompaction>,
    last_message: String,
    cost: CumulativeCounter,
    /// A price has come since the prompt began; it is that of the tokens in its answer.
    cost_reported: bool,
    garbage: TerminalText,
}

/// The kind of an open request; its answer has the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AcpRequestKind {
    /// Of the host: a prompt.
    Prompt,
    /// Of the host: a prompt that asks for a compaction.
    Compaction,
    /// Of the host: an earlier session is resumed.
    Resume,
    /// Of the host: anything else.
    Other,
    /// Of the agent: may it do this?
    Permission,
}

impl AcpDecoder {
    /// At the start of a process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a line that the host sends.
    pub fn sent(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        let mut repaired = String::new();
        let Some(message) = read::<AcpMessage<'_>>(line, &mut repaired) else { return };
        if message.id.0.is_none() {
            return;
        }
        match message.method.str() {
            "session/prompt" => {
                let prompt = message.params.prompt.0.first().map_or("", |chunk| chunk.text.str());
                let asks = prompt == "/compact" || prompt.starts_with("/compact ");
                self.requests.insert(
                    message.id,
                    if asks { AcpRequestKind::Compaction } else { AcpRequestKind::Prompt },
                );
                self.last_message.clear();
                self.cost_reported = false;
                self.used_at_prompt = self.used_tokens;
            }
            "session/load" | "session/resume" => {
                self.requests.insert(message.id, AcpRequestKind::Resume);
                self.resuming_session = message.params.session.into_nonempty();
            }
            "" => {
                if self.requests.remove(message.id) == Some(AcpRequestKind::Permission) {
                    let outcome = message.result.unwrap_or_default().outcome;
                    let selected = outcome.outcome.str() == "selected";
                    let allowed = selected && !outcome.option.str().contains("reject");
                    out.push(AgentEvent::ApprovalResolved { allowed });
                }
            }
            _ => self.requests.insert(message.id, AcpRequestKind::Other),
        }
    }

    fn take(&mut self, message: AcpMessage<'_>, out: &mut Vec<AgentEvent>) {
        match message.method.str() {
            "session/update"
                if self.resuming_session.is_some() && message.params.update.what.str() != "usage_update" => {}
            "session/update" => self.update(message.params.update, out),
            "session/request_permission" if message.id.0.is_some() => {
                self.requests.insert(message.id, AcpRequestKind::Permission);
                let call = message.params.tool_call;
                let title = call.title.nonempty().unwrap_or("a tool call");
                // A command is named as every agent's is, so that the user can be shown how to allow it.
                let command = call.input.command.0.as_str();
                let title = match call.kind.str() == "execute" && !command.is_empty() {
                    true => format!("Bash {command}"),
                    false => title.to_owned(),
                };
                out.push(AgentEvent::ApprovalRequested { title: cut(&title, SIGNAL_TEXT_BYTES).to_owned() });
            }
            "" if message.id.0.is_none() && message.error.is_none() => {
                out.push(AgentEvent::Unknown { kind: kind(&["no method, no id"]) });
            }
            "" => {
                let request = self.requests.remove(message.id);
                match (message.error, message.result) {
                    (Some(error), _) => self.error(&error, request, out),
                    (None, answer) if request == Some(AcpRequestKind::Resume) => {
                        let model = answer.and_then(|answer| answer.models.current.into_nonempty());
                        self.on_session_opened(self.resuming_session.clone(), model, out);
                    }
                    (None, Some(answer)) => self.answer(answer, request, out),
                    (None, None) => {}
                }
            }
            // Extensions of one vendor, by the protocol's own rule.
            method if method.starts_with(['_', '$']) => {}
            method => out.push(AgentEvent::Unknown { kind: kind(&[method]) }),
        }
    }

    fn answer(&mut self, answer: AcpResult<'_>, request: Option<AcpRequestKind>, out: &mut Vec<AgentEvent>) {
        if let Some(stop_reason) = answer.stop_reason.nonempty() {
            let gave_up = answer.usage.is_null && self.agent.ends_with("codex-acp");
            let is_error = gave_up && stop_reason == "end_turn";
            if is_error {
                let words = std::mem::take(&mut self.last_message);
                let said = provider_error(None, &words);
                let code = if said.code.is_empty() { "end_turn without usage".to_owned() } else { said.code };
                out.push(AgentEvent::Signal(ErrorSignal { code, ..said }));
            }
            let cost_microusd = std::mem::take(&mut self.cost_reported).then_some(0);
            push_billing(&answer, cost_microusd, out);
            self.end_prompt(stop_reason.to_owned(), is_error, request, out);
        } else if let Some(agent_session) = answer.session_id.into_nonempty() {
            self.on_session_opened(Some(agent_session), answer.models.current.into_nonempty(), out);
        } else if answer.capabilities.0 {
            self.agent = answer.agent.name.into_nonempty().unwrap_or_default();
            self.version = answer.agent.version.into_nonempty();
        }
    }

    /// A session takes prompts from now on.
    fn on_session_opened(
        &mut self,
        agent_session: Option<String>,
        model: Option<String>,
        out: &mut Vec<AgentEvent>,
    ) {
        self.resuming_session = None;
        let version = self.version.take();
        if !std::mem::replace(&mut self.ready, true) {
            out.push(AgentEvent::Ready { agent_session, model, version });
        }
    }

    fn error(&mut self, error: &AcpError<'_>, request: Option<AcpRequestKind>, out: &mut Vec<AgentEvent>) {
        let (data, message) = (&error.data, error.message.str());
        let fields = &data.fields;
        let said = match data.text.nonempty().or(fields.details.nonempty()).or(fields.message.nonempty()) {
            Some(detail) => format!("{message}: {detail}"),
            None => message.to_owned(),
        };
        // The codes of JSON-RPC are negative; a number that looks like an HTTP status is one.
        let status = fields.status.status().or(fields.codex.status()).or(error.code.number.status());
        let found = provider_error(status, &said);
        let codex = fields.codex.name().unwrap_or_default();
        // The protocol has no name for this code, and servers use the number for other errors, too.
        let wants_login =
            error.code.name().as_deref() == Some(AUTH_REQUIRED) && said.to_lowercase().contains("auth");
        // The agent's text before it is more specific: "Invalid API key".
        let said = match self.last_message.trim() {
            words if wants_login && !words.is_empty() => words.to_owned(),
            _ => said,
        };
        let found = if wants_login { provider_error(status, &said) } else { found };
        let login = if wants_login { UNAUTHENTICATED } else { "" };
        let named = [fields.kind.str(), codex, login, &found.code, fields.name.str()];
        let named = named.into_iter().find(|code| !code.is_empty());
        let code = named.map(str::to_owned).or_else(|| error.code.name()).unwrap_or_else(|| "0".to_owned());
        let resets_at = fields.resets_at.time().or(found.resets_at);
        out.push(AgentEvent::Signal(ErrorSignal { code: kind(&[&code]), resets_at, ..found }));
        match request {
            Some(AcpRequestKind::Resume) => self.resuming_session = None,
            Some(AcpRequestKind::Other | AcpRequestKind::Permission) => {}
            Some(AcpRequestKind::Compaction) => {
                self.compaction.get_or_insert_default().failed = Some(said);
                self.end_prompt(code, true, request, out);
            }
            Some(AcpRequestKind::Prompt) => self.end_prompt(code, true, request, out),
            // Whose answer it is was not recorded. Before there is a session it cannot be a prompt's.
            None if self.ready => self.end_prompt(code, true, request, out),
            None => {}
        }
    }

    fn end_prompt(
        &mut self,
        stop_reason: String,
        is_error: bool,
        request: Option<AcpRequestKind>,
        out: &mut Vec<AgentEvent>,
    ) {
        self.end_turn(out);
        let asked = request == Some(AcpRequestKind::Compaction);
        match self.compaction.take() {
            Some(compaction) if compaction.asked || asked => {
                out.push(compaction.ended(CompactionTrigger::Asked, self.used_tokens))
            }
            None if asked => out.push(self.unseen_compaction()),
            compaction => {
                if let Some(compaction) = compaction {
                    out.push(compaction.ended(CompactionTrigger::Auto, self.used_tokens));
                }
                out.push(AgentEvent::PromptEnded { stop_reason, is_error });
            }
        }
    }

    /// A compaction was asked for and the agent showed none. OpenCode shows none ever, and answers once it is done; of
    /// any other agent a lower fill is the proof.
    fn unseen_compaction(&self) -> AgentEvent {
        let before_tokens = self.used_at_prompt;
        let after_tokens =
            self.used_tokens.filter(|after| before_tokens.is_some_and(|before| *after < before));
        if after_tokens.is_some() || self.agent == "OpenCode" {
            return AgentEvent::Compacted { trigger: CompactionTrigger::Asked, before_tokens, after_tokens };
        }
        let said = Some(&*self.last_message).filter(|said| !said.is_empty());
        let text = cut_tail(said.unwrap_or("the agent did not compact"), SIGNAL_TEXT_BYTES).to_owned();
        AgentEvent::CompactionFailed { text }
    }

    fn update(&mut self, update: AcpUpdate<'_>, out: &mut Vec<AgentEvent>) {
        self.settle_compaction(&update, out);
        match update.what.str() {
            "agent_message_chunk" => {
                self.speaks(update.message_id.nonempty(), out);
                if let Some(text) = update.content.text.into_nonempty() {
                    self.last_message.push_str(cut_tail(&text, SIGNAL_TEXT_BYTES));
                    self.last_message = cut_tail(&self.last_message, SIGNAL_TEXT_BYTES).to_owned();
                    out.push(AgentEvent::Text { text });
                }
            }
            "agent_thought_chunk" => self.speaks(update.message_id.nonempty(), out),
            "tool_call" if is_compaction(&update) => {
                out.push(AgentEvent::Compacting);
                self.compaction = Some(AcpCompaction {
                    call: truncate_name(update.call.str()).to_owned(),
                    before_tokens: self.used_tokens,
                    ..AcpCompaction::default()
                });
            }
            "tool_call_update" if self.is_of_compaction(&update) => {
                if let Some(compaction) = &mut self.compaction {
                    compaction.shown(&update);
                }
            }
            "tool_call" => {
                self.speaks(None, out);
                self.tool(&update, out);
            }
            "tool_call_update" => self.tool(&update, out),
            "usage_update" => self.usage(&update, out),
            "compaction_update" => self.standard_compaction(&update, out),
            // codex-acp reports its retries in a field of its own.
            "session_info_update" => {
                out.extend(update.meta.codex.error.map(|error| AgentEvent::Signal(error.signal(None))));
            }
            "user_message_chunk" | "plan" | "plan_update" | "plan_removed" | "available_commands_update" => {}
            "current_mode_update" | "config_option_update" | "compaction_summary_chunk" | "notice" => {}
            other => out.push(AgentEvent::Unknown { kind: kind(&["session/update", other]) }),
        }
    }

    fn tool(&mut self, update: &AcpUpdate<'_>, out: &mut Vec<AgentEvent>) {
        if self.tools.update(update, out) {
            self.turns.tool_returned();
        }
    }

    /// The model speaks: if that begins another turn, the previous one is over.
    fn speaks(&mut self, message: Option<&str>, out: &mut Vec<AgentEvent>) {
        if self.turns.speaks(message) {
            self.push_turn(out);
        }
    }

    fn end_turn(&mut self, out: &mut Vec<AgentEvent>) {
        if self.turns.end() {
            self.push_turn(out);
        }
    }

    fn push_turn(&self, out: &mut Vec<AgentEvent>) {
        out.push(AgentEvent::Turn { used_tokens: self.used_tokens, billed: TokenUsage::default() });
    }

    fn usage(&mut self, update: &AcpUpdate<'_>, out: &mut Vec<AgentEvent>) {
        // OpenCode reports zero tokens for a failed call.
        let (used_tokens, window_tokens) = (update.used.0.filter(|used| *used > 0), update.size.0);
        if used_tokens.is_some() || window_tokens.is_some() {
            self.used_tokens = used_tokens.or(self.used_tokens);
            out.push(AgentEvent::Occupancy { used_tokens, window_tokens, source: OccupancySource::Agent });
        }
        if update.cost.currency.str() == "USD" {
            let total = update.cost.amount.microusd();
            let grown = total.map(|total| self.cost.advance_to(total)).filter(|grown| *grown > 0);
            if grown.is_some() {
                self.cost_reported = true;
                out.push(AgentEvent::Billing(TokenUsage { cost_microusd: grown, ..TokenUsage::default() }));
            }
        }
    }

    fn is_of_compaction(&self, update: &AcpUpdate<'_>) -> bool {
        let call = update.call.nonempty();
        self.compaction.as_ref().is_some_and(|compaction| call.map(truncate_name) == Some(&*compaction.call))
    }

    /// The protocol's own form, from agents that have it.
    fn standard_compaction(&mut self, update: &AcpUpdate<'_>, out: &mut Vec<AgentEvent>) {
        let before_tokens = self.used_tokens;
        let compaction = self.compaction.get_or_insert_with(|| {
            out.push(AgentEvent::Compacting);
            AcpCompaction { before_tokens, ..AcpCompaction::default() }
        });
        compaction.on_compaction_update(update);
    }

    /// A compaction of the agent's own accord is reported as soon as another update comes; one that was asked for at the
    /// end of its prompt, when the agent can take the next.
    fn settle_compaction(&mut self, update: &AcpUpdate<'_>, out: &mut Vec<AgentEvent>) {
        let asked = self.requests.any(AcpRequestKind::Compaction);
        let own = self.compaction.as_ref().is_some_and(|compaction| {
            !asked && !compaction.asked && (compaction.done || compaction.failed.is_some())
        });
        let about_it = matches!(update.what.str(), "compaction_update" | "usage_update");
        if own
            && !about_it
            && !self.is_of_compaction(update)
            && let Some(compaction) = self.compaction.take()
        {
            out.push(compaction.ended(CompactionTrigger::Auto, self.used_tokens));
        }
    }
}

impl Decoder for AcpDecoder {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        match read::<AcpMessage<'_>>(line, &mut String::new()) {
            Some(message) => {
                self.garbage.flush(out);
                self.take(message, out);
            }
            None => self.garbage.line(line, out),
        }
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        out.push(too_long(beginning));
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        self.end_turn(out);
        self.garbage.end(out);
    }
}

/// claude-agent-acp and codex-acp both show a compaction as a tool call.
fn is_compaction(update: &AcpUpdate<'_>) -> bool {
    update.title.str() == "Compact conversation" || update.meta.claude.tool.str() == "compact"
}

/// The tokens that the prompt billed, with a price that arrived before. Gemini has its own form for them.
fn push_billing(answer: &AcpResult<'_>, cost_microusd: Option<u64>, out: &mut Vec<AgentEvent>) {
    let (own, tokens) = (&answer.meta.quota.tokens, &answer.usage.tokens);
    let counts = [tokens.input, tokens.cached_read, tokens.cached_write];
    let input_tokens = counts.iter().map(|count| count.or_zero()).fold(0, u64::saturating_add);
    let output_tokens = tokens.output.or_zero();
    let billed = match input_tokens.saturating_add(output_tokens) {
        0 => TokenUsage {
            input_tokens: own.input.or_zero(),
            output_tokens: own.output.or_zero(),
            cost_microusd,
        },
        _ => TokenUsage { input_tokens, output_tokens, cost_microusd },
    };
    if billed.tokens() > 0 {
        out.push(AgentEvent::Billing(billed));
    }
}
