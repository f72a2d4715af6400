//! Decodes `codex app-server`: JSON-RPC on stdio. Core decides whether a session is exhausted.
//!
//! What Codex calls a thread is a session here, and its turn a prompt. As was observed on recordings of real runs:
//! - The fill is `tokenUsage.last`, never `total`. `total` grows with every model call, and with nothing else: that is
//!   how a call is distinguished from a mere correction of the fill, which Codex makes after a compaction.
//! - A compaction that was asked for is a turn of its own, begun by the answer `{}` to `thread/compact/start`. It ends in
//!   [`AgentEvent::Compacted`] or [`AgentEvent::CompactionFailed`], and in no [`AgentEvent::PromptEnded`].
//! - Sub-agents are threads too. What they say and fill is not this session's; what they bill is.

use baton_core::facts::{
    AgentEvent, CompactionTrigger, ErrorSignal, OccupancySource, SIGNAL_TEXT_BYTES, TokenUsage,
};

use super::CodexError;
use super::account_limit::CodexAccountLimit;
use super::rpc::{
    CodexRpcResult, CodexThread, CodexThreadItem, CodexThreadUsage, CodexTurn, RpcError, RpcMessage,
    RpcParams, is_known,
};
use super::tools::CodexToolCalls;
use crate::Decoder;
use crate::cumulative::CumulativeCounter;
use crate::message_separator::MessageSeparator;
use crate::pending_requests::PendingRequests;
use crate::signal::{provider_error, too_long};
use crate::terminal::TerminalText;
use crate::truncate::cut;
use crate::wire::{RawJson, kind, read};

/// Decodes one process's stdout. It also takes the host's messages ([`CodexAppServerDecoder::sent`]), and so knows which
/// request an error belongs to, and how a request for approval was answered.
#[derive(Debug, Default)]
pub struct CodexAppServerDecoder {
    requests: PendingRequests<CodexRequestKind>,
    thread: Option<String>,
    version: Option<String>,
    prompt: CodexPromptState,
    /// `thread/compact/start` was answered: the next turn is its.
    next_turn_is_compaction: bool,
    compaction: Option<CodexCompaction>,
    calls: CodexToolCalls,
    used_tokens: Option<u64>,
    window_tokens: Option<u64>,
    input: CumulativeCounter,
    output: CumulativeCounter,
    account: CodexAccountLimit,
    separator: MessageSeparator,
    garbage: TerminalText,
}

/// The kind of an open request; its answer has the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CodexRequestKind {
    /// Of the host: a thread is started, resumed or forked.
    Thread,
    /// Of the host: a prompt.
    Prompt,
    /// Of the host: a compaction.
    Compaction,
    /// Of the host: anything else.
    Other,
    /// Of the agent: may it do this?
    Approval,
}

/// The state of a prompt (Codex's turn).
#[derive(Debug, Default, PartialEq, Eq)]
enum CodexPromptState {
    #[default]
    None,
    /// In progress; whether its error has been reported.
    Turn { failed: bool },
    /// Under way, and there only to compact; the error that it met.
    Compaction { failed: Option<String> },
}

/// A compaction under way, or done in a turn that is not over.
#[derive(Debug, Default)]
struct CodexCompaction {
    done: bool,
    before_tokens: Option<u64>,
    after_tokens: Option<u64>,
}

impl CodexAppServerDecoder {
    /// At the start of a process.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a line that the host sends.
    pub fn sent(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        let mut repaired = String::new();
        let Some(message) = read::<RpcMessage<'_>>(line, &mut repaired) else { return };
        if message.id.0.is_none() {
            return;
        }
        let request = match message.method.str() {
            "" => {
                if self.requests.remove(message.id) == Some(CodexRequestKind::Approval) {
                    let answer: CodexRpcResult<'_> = message.result.get();
                    let said = answer.decision.name().or(answer.action.nonempty()).unwrap_or_default();
                    let allowed = said.starts_with("accept") || said.starts_with("approved");
                    out.push(AgentEvent::ApprovalResolved { allowed });
                }
                return;
            }
            "thread/start" | "thread/resume" | "thread/fork" => CodexRequestKind::Thread,
            "turn/start" => CodexRequestKind::Prompt,
            "thread/compact/start" => CodexRequestKind::Compaction,
            _ => CodexRequestKind::Other,
        };
        self.requests.insert(message.id, request);
    }

    fn take(&mut self, message: RpcMessage<'_>, out: &mut Vec<AgentEvent>) {
        let RpcMessage { id, method, params, result, error } = message;
        match method.str() {
            "" => {
                let request = self.requests.remove(id);
                match error {
                    Some(error) => self.refused(&error, request, out),
                    None if id.0.is_some() => self.answer(result, request, out),
                    None => out.push(AgentEvent::Unknown { kind: kind(&["no method, no id"]) }),
                }
            }
            method if id.0.is_some() => self.request(method, id, &params, out),
            _ if self.is_foreign(&params) => {
                if method.str() == "thread/tokenUsage/updated" {
                    let last = &params.usage.last;
                    push_billing(last.input.or_zero(), last.output.or_zero(), out);
                }
            }
            method => self.on_notification(method, params, out),
        }
    }

    /// Whether this is about a thread that is not the session's.
    fn is_foreign(&self, params: &RpcParams<'_>) -> bool {
        params.thread_id.nonempty().is_some_and(|id| self.thread.as_deref().is_some_and(|own| own != id))
    }

    fn answer(&mut self, result: RawJson<'_>, request: Option<CodexRequestKind>, out: &mut Vec<AgentEvent>) {
        // If the host's messages were not recorded: no other request that begins a turn has an empty answer.
        self.next_turn_is_compaction = match request {
            Some(request) => {
                request == CodexRequestKind::Compaction
                    || self.next_turn_is_compaction && request != CodexRequestKind::Prompt
            }
            None => result.is_empty_object(),
        };
        if self.next_turn_is_compaction {
            return;
        }
        let answer: CodexRpcResult<'_> = result.get();
        if let Some((_, version)) = answer.user_agent.str().split_once('/') {
            self.version = version.split_whitespace().next().map(str::to_owned);
        }
        if let Some(thread) =
            answer.thread.filter(|_| matches!(request, None | Some(CodexRequestKind::Thread)))
        {
            let model = answer.model.into_nonempty();
            self.thread(thread, model, out);
        }
    }

    fn thread(&mut self, thread: CodexThread<'_>, model: Option<String>, out: &mut Vec<AgentEvent>) {
        let Some(id) = thread.id.into_nonempty() else { return };
        if self.thread.replace(id.clone()).is_none() {
            let version = thread.version.into_nonempty().or(self.version.take());
            let model = model.or(thread.model.into_nonempty());
            out.push(AgentEvent::Ready { agent_session: Some(id), model, version });
        }
    }

    /// An error in place of an answer.
    fn refused(
        &mut self,
        error: &RpcError<'_>,
        request: Option<CodexRequestKind>,
        out: &mut Vec<AgentEvent>,
    ) {
        let told = provider_error(None, error.message.str());
        let code = error.code.name().unwrap_or_default();
        let named = if told.code.is_empty() { code.clone() } else { told.code };
        out.push(AgentEvent::Signal(ErrorSignal { code: named, ..told }));
        match request {
            Some(CodexRequestKind::Compaction) => out.push(failed(error.message.str())),
            Some(CodexRequestKind::Prompt) => {
                out.push(AgentEvent::PromptEnded { stop_reason: code, is_error: true })
            }
            // If the request was not recorded: it belongs to a prompt, if there can be one and none is in progress.
            None if self.thread.is_some() && self.prompt == CodexPromptState::None => {
                out.push(AgentEvent::PromptEnded { stop_reason: code, is_error: true });
            }
            _ => {}
        }
    }

    /// The agent wants something of the host.
    fn request(&mut self, method: &str, id: RawJson<'_>, params: &RpcParams<'_>, out: &mut Vec<AgentEvent>) {
        let fallback = match method {
            "item/fileChange/requestApproval" | "applyPatchApproval" => "to change files",
            "item/tool/requestUserInput" | "mcpServer/elicitation/request" => "a question",
            _ if method.ends_with("Approval") => "an approval",
            _ => return out.push(AgentEvent::Unknown { kind: kind(&[method]) }),
        };
        self.requests.insert(id, CodexRequestKind::Approval);
        let named = [params.command.0.as_str(), params.reason.str(), params.message.str()];
        let title = named.into_iter().find(|title| !title.is_empty()).unwrap_or(fallback);
        out.push(AgentEvent::ApprovalRequested { title: cut(title, SIGNAL_TEXT_BYTES).to_owned() });
    }

    fn on_notification(&mut self, method: &str, params: RpcParams<'_>, out: &mut Vec<AgentEvent>) {
        match method {
            "thread/started" => {
                if let Some(thread) = params.thread.filter(|_| self.thread.is_none()) {
                    self.thread(thread, None, out);
                }
            }
            "turn/started" => {
                self.prompt = match std::mem::take(&mut self.next_turn_is_compaction) {
                    true => CodexPromptState::Compaction { failed: None },
                    false => CodexPromptState::Turn { failed: false },
                };
            }
            "turn/completed" => self.end_prompt(params.turn, out),
            "item/started" => self.item(params.item, false, out),
            "item/completed" => self.item(params.item, true, out),
            "thread/tokenUsage/updated" => self.usage(&params.usage, out),
            // An older form of the item, sent in addition to it.
            "thread/compacted" => self.compacted(out),
            "error" => {
                let error = params.error.unwrap_or_default();
                self.error(CodexError { will_retry: params.will_retry, ..error }, out);
            }
            "account/rateLimits/updated" => self.account.update(&params.limits, out),
            // This message does not contain the answer; a refused item reports the refusal itself.
            "serverRequest/resolved" => {
                if self.requests.remove(params.request) == Some(CodexRequestKind::Approval) {
                    out.push(AgentEvent::ApprovalResolved { allowed: true });
                }
            }
            other if is_known(other) => {}
            other => out.push(AgentEvent::Unknown { kind: kind(&[other]) }),
        }
    }

    fn item(&mut self, item: CodexThreadItem<'_>, completed: bool, out: &mut Vec<AgentEvent>) {
        match item.kind.str() {
            "contextCompaction" if completed => self.compacted(out),
            "contextCompaction" => {
                self.compaction =
                    Some(CodexCompaction { before_tokens: self.used_tokens, ..CodexCompaction::default() });
                out.push(AgentEvent::Compacting);
            }
            // Its pieces came before it.
            "agentMessage" if completed => {
                out.extend(item.text.into_nonempty().map(|text| AgentEvent::Text { text }));
            }
            "userMessage" | "hookPrompt" | "agentMessage" | "plan" | "reasoning" | "sleep" => {}
            "enteredReviewMode" | "exitedReviewMode" | "subAgentActivity" => {}
            "commandExecution"
            | "fileChange"
            | "mcpToolCall"
            | "dynamicToolCall"
            | "collabAgentToolCall"
            | "collabToolCall"
            | "webSearch"
            | "imageView"
            | "imageGeneration" => {
                let call = item.call();
                match completed {
                    true => self.calls.completed(&call, out),
                    false => self.calls.started(&call, out),
                }
            }
            other => out.push(AgentEvent::Unknown { kind: kind(&["item", other]) }),
        }
    }

    fn usage(&mut self, usage: &CodexThreadUsage, out: &mut Vec<AgentEvent>) {
        let (last, total) = (&usage.last, &usage.total);
        let input_tokens = self.input.advance_to(total.input.or_zero());
        let output_tokens = self.output.advance_to(total.output.or_zero());
        let called = input_tokens.saturating_add(output_tokens) > 0;
        let sum = || last.input.0.map(|input| input.saturating_add(last.output.or_zero()));
        let used_tokens = last.total.0.or_else(sum).or(self.used_tokens);
        if let Some(compaction) = self.compaction.as_mut() {
            // The call that writes the summary does not fill the session's window. A correction after it reports what is left.
            if called {
                push_billing(input_tokens, output_tokens, out);
            } else if used_tokens != self.used_tokens {
                compaction.after_tokens = used_tokens;
                self.used_tokens = used_tokens;
            }
            return;
        }
        // The first number of a thread that was resumed is not of this process.
        let turn = called && self.prompt != CodexPromptState::None;
        if turn {
            let billed = TokenUsage { input_tokens, output_tokens, cost_microusd: None };
            out.push(AgentEvent::Turn { used_tokens, billed });
        }
        let window_tokens = usage.window.0.or(self.window_tokens);
        if window_tokens != self.window_tokens || !turn && used_tokens != self.used_tokens {
            let source = if turn { OccupancySource::LastCall } else { OccupancySource::Agent };
            out.push(AgentEvent::Occupancy { used_tokens, window_tokens, source });
        }
        (self.used_tokens, self.window_tokens) = (used_tokens, window_tokens);
    }

    /// The context is shorter now. One that was asked for is reported when its turn ends.
    fn compacted(&mut self, out: &mut Vec<AgentEvent>) {
        let Some(compaction) = self.compaction.as_mut() else { return };
        compaction.done = true;
        if !matches!(self.prompt, CodexPromptState::Compaction { .. })
            && let Some(compaction) = self.compaction.take()
        {
            out.push(compaction.ended(CompactionTrigger::Auto));
        }
    }

    fn error(&mut self, error: CodexError<'_>, out: &mut Vec<AgentEvent>) {
        if !error.will_retry.is_true() {
            match &mut self.prompt {
                CodexPromptState::Turn { failed } => *failed = true,
                CodexPromptState::Compaction { failed } => *failed = Some(error.message.str().to_owned()),
                CodexPromptState::None => {}
            }
        }
        out.push(AgentEvent::Signal(error.signal(self.account.resets_at())));
    }

    fn end_prompt(&mut self, turn: CodexTurn<'_>, out: &mut Vec<AgentEvent>) {
        let told = !matches!(
            self.prompt,
            CodexPromptState::Turn { failed: false } | CodexPromptState::Compaction { failed: None }
        );
        if let Some(error) = turn.error.filter(|_| !told) {
            self.error(error, out);
        }
        let compaction = self.compaction.take();
        if let Some(CodexCompaction { done: false, after_tokens: Some(used), .. }) = &compaction {
            // The compaction did not take place, so this number is the fill before it.
            let (used_tokens, window_tokens) = (Some(*used), self.window_tokens);
            out.push(AgentEvent::Occupancy { used_tokens, window_tokens, source: OccupancySource::Agent });
        }
        match (std::mem::take(&mut self.prompt), compaction) {
            (CodexPromptState::Compaction { .. }, Some(compaction)) if compaction.done => {
                out.push(compaction.ended(CompactionTrigger::Asked));
            }
            (CodexPromptState::Compaction { failed: error }, _) => {
                out.push(failed(error.as_deref().unwrap_or("the agent did not compact")));
            }
            (_, compaction) => {
                if compaction.is_some() {
                    out.push(failed("the turn ended before the compaction did"));
                }
                let stop_reason = turn.status.into_nonempty().unwrap_or_default();
                let is_error = stop_reason == "failed";
                out.push(AgentEvent::PromptEnded { stop_reason, is_error });
            }
        }
    }
}

impl CodexCompaction {
    fn ended(self, trigger: CompactionTrigger) -> AgentEvent {
        let Self { before_tokens, after_tokens, .. } = self;
        AgentEvent::Compacted { trigger, before_tokens, after_tokens }
    }
}

impl Decoder for CodexAppServerDecoder {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) {
        match read::<RpcMessage<'_>>(line, &mut String::new()) {
            Some(message) => {
                self.garbage.flush(out);
                let from = out.len();
                self.take(message, out);
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
    }
}

fn failed(text: &str) -> AgentEvent {
    AgentEvent::CompactionFailed { text: cut(text, SIGNAL_TEXT_BYTES).to_owned() }
}

fn push_billing(input_tokens: u64, output_tokens: u64, out: &mut Vec<AgentEvent>) {
    let billed = TokenUsage { input_tokens, output_tokens, cost_microusd: None };
    if billed.tokens() > 0 {
        out.push(AgentEvent::Billing(billed));
    }
}
