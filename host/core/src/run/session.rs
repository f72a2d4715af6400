//! One agent process with one context window: folds an agent's events into the facts that decisions rest on.
//! It judges nothing and emits nothing; the phase machine does.

#[cfg(test)]
mod tests;

mod prompt_usage;

use std::collections::{BTreeSet, VecDeque};

use crate::facts::{
    AgentEvent, Capabilities, CompactionTrigger, ErrorSignal, OccupancySource, ProcessExit, Refusal,
    RefusalKind, SignalSource, TokenUsage,
};
use crate::ids::{Digest, RoleName, Seq, SessionId};
use crate::observation::{OccupancyView, PastCompaction, PastTurn, SessionState, TurnView};
use crate::time::{DurationMs, UnixMs};
use crate::view::QuotaSummary;
use crate::workflow::AgentKind;

use super::phase_activity::{end_of, line_of};
use super::query_facts::{PAST_COMPACTIONS, TURNS_TAKEN, push_bounded};
use super::text_format::cut;
use super::verdicts::SessionQueries;
use prompt_usage::PromptBill;

/// Turns a policy sees: enough to see growth, small enough to copy on every decision.
const RECENT_TURNS: usize = 32;
/// Bytes of what an agent calls its session.
const NAME_BYTES: usize = 256;
/// Bytes of the name of a model.
const MODEL_BYTES: usize = 64;
/// Signals a policy sees.
const RECENT_SIGNALS: usize = 32;
/// Bytes of signal text a policy sees; the oldest signals go first.
const SIGNAL_WINDOW_BYTES: usize = 8 * 1024;
/// Tail of the answer that is kept: what an exhausted agent said last fits, its essays do not.
pub(super) const ANSWER_TAIL_BYTES: usize = 4 * 1024;
/// Distinct things read that are remembered for counting re-reads (C12).
const READS: usize = 1024;
/// What a session did last is a word in a table, and a path in it may be of any length (D1).
pub(super) const LAST_BYTES: usize = 200;
/// A path or address that is read is remembered as it is up to here, and by its digest beyond (D1).
const READ_BYTES: usize = 128;
/// Refusals that are kept for each session.
const MAX_REFUSALS: usize = 20;

/// A signal with its place in time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TimedSignal {
    pub(super) seq: Seq,
    pub(super) at: UnixMs,
    pub(super) prompt: u32,
    pub(super) signal: ErrorSignal,
}

/// A session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Session {
    pub(super) id: SessionId,
    pub(super) role: RoleName,
    pub(super) agent: AgentKind,
    /// What the agent calls its session, where it said so.
    pub(super) agent_session: Option<String>,
    /// It continues the conversation of the session before.
    pub(super) is_resumed: bool,
    pub(super) continuation: u32,
    /// It finishes the rest as the lead (C18).
    pub(super) lead: bool,
    pub(super) max_turns: u32,
    pub(super) state: SessionState,
    pub(super) capabilities: Capabilities,
    pub(super) used_tokens: Option<u64>,
    /// The most that there were.
    pub(super) peak_tokens: Option<u64>,
    pub(super) window_tokens: Option<u64>,
    pub(super) source: OccupancySource,
    pub(super) used_at: UnixMs,
    pub(super) prompts: u32,
    pub(super) turns: u32,
    pub(super) recent: VecDeque<TurnView>,
    pub(super) signals: VecDeque<TimedSignal>,
    pub(super) answer_bytes: u64,
    pub(super) answer_tail: String,
    /// Something came since its last words, so that what it says next is another message.
    starts_new_message: bool,
    pub(super) billed: TokenUsage,
    /// Tokens since its agent last named a price.
    pub(super) unpriced_tokens: u64,
    /// Prompts that were cut off before the agent had said what they took.
    pub(super) cut_prompts: u32,
    /// Its prompt, and what it has said that this took.
    prompt_bill: PromptBill,
    pub(super) compactions: u32,
    pub(super) refilled_within_turns: u32,
    pub(super) last_event_at: UnixMs,
    pub(super) next_heartbeat: UnixMs,
    /// What the clock of its phase showed when it began.
    pub(super) active_before: DurationMs,
    pub(super) exit: Option<ProcessExit>,
    /// The wait for a provider that the agent does by itself.
    pub(super) quota: Option<QuotaSummary>,
    pub(super) warned: bool,
    pub(super) done: u32,
    pub(super) nudges: u32,
    /// Calls that it was not allowed.
    pub(super) refused: u32,
    /// Retries that its agent has made by itself since its prompt began.
    pub(super) retries: u32,
    /// Splits that it asked for and did not get.
    pub(super) declined: u32,
    /// Its next prompt says that it got none.
    pub(super) is_split_declined: bool,
    /// The agent compacted its context by itself since its last prompt began (B11).
    pub(super) lost_context: bool,
    pub(super) last: String,
    pub(super) ending: String,
    /// What is asked about it while it works.
    pub(super) at_work: SessionQueries,
    /// Tokens in the window when that question was put.
    pub(super) used_at_last_query: Option<u64>,
    turn: TurnView,
    /// The model that it named.
    model: Option<String>,
    turns_taken: VecDeque<PastTurn>,
    /// When its turn under way began.
    turn_began: UnixMs,
    pub(super) past_compactions: VecDeque<PastCompaction>,
    /// What its sandbox, its role and the host refused it, the first of it.
    pub(super) refusals: Vec<Refusal>,
    compacted_at_turn: Option<u32>,
    used_before_compaction: Option<u64>,
    reads: BTreeSet<String>,
}

impl Session {
    pub(super) fn new(
        id: SessionId,
        role: RoleName,
        agent: AgentKind,
        continuation: u32,
        max_turns: u32,
        window_tokens: Option<u64>,
        at: UnixMs,
    ) -> Self {
        Self {
            id,
            role,
            agent,
            agent_session: None,
            is_resumed: false,
            continuation,
            lead: false,
            max_turns,
            state: SessionState::Starting,
            capabilities: Capabilities::default(),
            used_tokens: None,
            peak_tokens: None,
            window_tokens,
            source: OccupancySource::Unknown,
            used_at: at,
            prompts: 0,
            turns: 0,
            recent: VecDeque::new(),
            signals: VecDeque::new(),
            answer_bytes: 0,
            answer_tail: String::new(),
            starts_new_message: false,
            billed: TokenUsage::default(),
            unpriced_tokens: 0,
            cut_prompts: 0,
            prompt_bill: PromptBill::default(),
            compactions: 0,
            refilled_within_turns: 0,
            last_event_at: at,
            next_heartbeat: at,
            active_before: DurationMs(0),
            exit: None,
            quota: None,
            warned: false,
            done: 0,
            nudges: 0,
            refused: 0,
            retries: 0,
            declined: 0,
            is_split_declined: false,
            lost_context: false,
            last: String::new(),
            ending: String::new(),
            at_work: SessionQueries::default(),
            used_at_last_query: None,
            turn: TurnView::default(),
            model: None,
            turns_taken: VecDeque::new(),
            turn_began: at,
            past_compactions: VecDeque::new(),
            refusals: Vec::new(),
            compacted_at_turn: None,
            used_before_compaction: None,
            reads: BTreeSet::new(),
        }
    }

    /// Whether its agent has done or said anything.
    pub(super) fn has_worked(&self) -> bool {
        self.turns > 0 || self.answer_bytes > 0
    }

    /// Whether it came to nothing: its agent answered no prompt, and called nothing.
    pub(super) fn never_began(&self) -> bool {
        self.prompts <= 1 && !self.has_worked() && self.turn.tool_calls == 0 && self.done == 0
    }

    /// Whether its agent said last that it tries a request again.
    pub(super) fn retries_by_itself(&self) -> bool {
        self.signals.back().is_some_and(|newest| newest.signal.retrying)
    }

    pub(super) fn is_alive(&self) -> bool {
        self.state != SessionState::Ended
    }

    /// A prompt begins: what was said for the one before is not this one's answer.
    pub(super) fn begin_prompt(&mut self, at: UnixMs) {
        self.prompts += 1;
        self.prompt_bill = PromptBill::begun();
        self.retries = 0;
        self.answer_bytes = 0;
        self.answer_tail.clear();
        self.starts_new_message = false;
        self.state = SessionState::Working;
        self.last_event_at = at;
        self.turn_began = at;
    }

    /// What it has said since it had said this number of bytes; that is not part of its answer.
    pub(super) fn split_off_answer(&mut self, answer_bytes: u64) -> String {
        let new = usize::try_from(self.answer_bytes.saturating_sub(answer_bytes)).unwrap_or(usize::MAX);
        self.answer_bytes = answer_bytes.min(self.answer_bytes);
        let mut from = self.answer_tail.len().saturating_sub(new);
        while !self.answer_tail.is_char_boundary(from) {
            from += 1;
        }
        self.answer_tail.split_off(from)
    }

    /// What its newest turns took, newest first.
    pub(super) fn turns_taken(&self) -> Vec<PastTurn> {
        self.turns_taken.iter().rev().cloned().collect()
    }

    pub(super) fn end(&mut self, exit: ProcessExit, ending: &str) {
        self.state = SessionState::Ended;
        // What the call took that was under way is unknown.
        self.cut_prompts += u32::from(self.prompt_bill.end() && !self.never_began());
        self.exit = Some(exit);
        if self.ending.is_empty() {
            ending.clone_into(&mut self.ending);
        }
        self.at_work = SessionQueries::default();
    }

    /// Tokens in the window now, with source and age.
    pub(super) fn occupancy(&self, now: UnixMs) -> OccupancyView {
        OccupancyView {
            used_tokens: self.used_tokens,
            window_tokens: self.window_tokens,
            source: self.source,
            age_ms: now.since(self.used_at).0,
        }
    }

    /// Whether half of its window, or more, is known to be used.
    pub(super) fn is_half_full(&self) -> bool {
        let known = self.used_tokens.zip(self.window_tokens);
        known.is_some_and(|(used, window)| used.saturating_mul(2) >= window)
    }

    /// Whether the window has filled, or emptied, by a hundredth since a policy was asked about it at work: less than that
    /// waits for the end of the turn.
    pub(super) fn occupancy_changed(&self) -> bool {
        match (self.used_at_last_query, self.used_tokens, self.window_tokens) {
            (Some(asked), Some(used), Some(window)) => used.abs_diff(asked).saturating_mul(100) >= window,
            (asked, used, _) => used != asked,
        }
    }

    /// The end of what it said for its prompt, in a line.
    pub(super) fn last_words(&self) -> String {
        end_of(&self.answer_tail)
    }

    /// Turns since the last compaction, where there was one.
    pub(super) fn turns_since_compaction(&self) -> Option<u32> {
        self.compacted_at_turn.map(|at| self.turns - at)
    }

    /// Takes in what the agent said. Lifecycle changes (`Ready`, `PromptEnded`) are the phase machine's.
    pub(super) fn observe(&mut self, seq: Seq, at: UnixMs, event: &AgentEvent) {
        self.last_event_at = at;
        self.starts_new_message |= event.separates_messages();
        self.prompt_bill.take(event);
        match event {
            AgentEvent::Text { text } => {
                self.answer_bytes += text.len() as u64;
                self.turn.text_bytes += text.len() as u64;
                // A line that the host asked for begins where the message begins. The break is not the agent's, and not counted.
                if std::mem::take(&mut self.starts_new_message)
                    && !ends_a_line(&self.answer_tail)
                    && !text.is_empty()
                {
                    self.answer_tail.push('\n');
                }
                self.answer_tail.push_str(text);
                truncate_to_tail(&mut self.answer_tail, ANSWER_TAIL_BYTES);
            }
            AgentEvent::ToolCall { name, reads, writes, command, .. } => {
                self.turn.tool_calls += 1;
                if let Some(target) = reads {
                    self.count_read(target);
                }
                self.last = match (command, writes.as_ref().or(reads.as_ref())) {
                    (Some(command), _) => format!("$ {}", line_of(command)),
                    (None, Some(target)) => format!("{name} {target}"),
                    (None, None) => name.clone(),
                };
                cut(&mut self.last, LAST_BYTES);
            }
            AgentEvent::ToolOutput { bytes, .. } => self.turn.tool_output_bytes += bytes,
            AgentEvent::Turn { used_tokens, billed } => {
                self.end_turn(at, *used_tokens, billed);
                self.clear_retry();
            }
            AgentEvent::Occupancy { used_tokens, window_tokens, source } => {
                self.window_tokens = window_tokens.or(self.window_tokens);
                if let Some(used) = used_tokens {
                    self.fill(at, *used, *source);
                }
            }
            AgentEvent::Billing(billed) => self.add_usage(billed),
            AgentEvent::Signal(signal) => self.notice(seq, at, signal.clone()),
            AgentEvent::Compacted { trigger, before_tokens, after_tokens } => {
                self.compactions += 1;
                let before_tokens = before_tokens.or(self.used_tokens);
                let compaction = PastCompaction {
                    session: self.id.to_string(),
                    turn: self.turns,
                    ended_at_ms: at,
                    by_host: *trigger == CompactionTrigger::Asked,
                    before_tokens,
                    after_tokens: *after_tokens,
                };
                push_bounded(&mut self.past_compactions, compaction, PAST_COMPACTIONS);
                self.compacted_at_turn = Some(self.turns);
                self.used_before_compaction = before_tokens;
                self.refilled_within_turns = 0;
                self.warned = false;
                self.reads.clear();
                if let Some(after) = after_tokens {
                    self.fill(at, *after, self.source);
                }
            }
            AgentEvent::PromptEnded { stop_reason, is_error } => {
                let is_whole = self.prompt_bill.is_whole(stop_reason, *is_error);
                self.cut_prompts += u32::from(self.prompt_bill.end() && !is_whole);
                let text = if *is_error { "the agent calls it an error" } else { "" };
                self.notice(
                    seq,
                    at,
                    ErrorSignal {
                        channel: SignalSource::AgentEvent,
                        code: stop_reason.clone(),
                        status: None,
                        resets_at: None,
                        retrying: false,
                        text: text.to_owned(),
                    },
                );
            }
            AgentEvent::Refused(refusal) => {
                self.record_refusal(refusal);
                if refusal.kind == RefusalKind::Own {
                    self.count_refused(&refusal.target);
                }
                self.notice(seq, at, refusal.signal());
            }
            AgentEvent::ApprovalRequested { title } => {
                self.state = SessionState::WaitingApproval;
                self.last = format!("asks: {title}");
                cut(&mut self.last, LAST_BYTES);
            }
            AgentEvent::ApprovalResolved { .. } => {
                if self.state == SessionState::WaitingApproval {
                    self.state = SessionState::Working;
                }
            }
            AgentEvent::Capabilities(told) => self.capabilities = *told,
            AgentEvent::Ready { model, agent_session, .. } => {
                self.agent_session = agent_session.clone().or(self.agent_session.take());
                self.agent_session.iter_mut().for_each(|name| cut(name, NAME_BYTES));
                self.model = model.clone().or(self.model.take());
                self.model.iter_mut().for_each(|model| cut(model, MODEL_BYTES));
            }
            AgentEvent::Compacting
            | AgentEvent::CompactionFailed { .. }
            | AgentEvent::Omitted { .. }
            | AgentEvent::Unknown { .. } => {}
        }
    }

    /// Whether this event shows that the agent is at work again (B8).
    pub(super) fn is_output(event: &AgentEvent) -> bool {
        matches!(
            event,
            AgentEvent::Text { .. }
                | AgentEvent::ToolCall { .. }
                | AgentEvent::ToolOutput { .. }
                | AgentEvent::Turn { .. }
        )
    }

    /// The first of them are kept, each once.
    pub(super) fn record_refusal(&mut self, refusal: &Refusal) {
        if self.refusals.len() < MAX_REFUSALS && !self.refusals.contains(refusal) {
            self.refusals.push(refusal.clone());
        }
    }

    fn count_read(&mut self, target: &str) {
        let key = match target.len() > READ_BYTES {
            true => Digest::of(target).to_string(),
            false => target.to_owned(),
        };
        if self.reads.contains(&key) {
            self.turn.rereads += 1;
        } else if self.reads.len() < READS {
            self.reads.insert(key);
        }
    }

    /// It is not asked any more how it went: what is shown of it stays, what decisions rested on goes (D1).
    pub(super) fn forget(&mut self) {
        self.recent = VecDeque::new();
        self.turns_taken = VecDeque::new();
        self.signals = VecDeque::new();
        self.answer_tail = String::new();
        self.reads = BTreeSet::new();
    }

    /// A price is that of all tokens since the one before.
    fn add_usage(&mut self, billed: &TokenUsage) {
        self.billed.add(billed);
        self.unpriced_tokens = match billed.cost_microusd {
            Some(_) => 0,
            None => self.unpriced_tokens.saturating_add(billed.tokens()),
        };
    }

    fn end_turn(&mut self, at: UnixMs, used_tokens: Option<u64>, billed: &TokenUsage) {
        self.turns += 1;
        self.add_usage(billed);
        // A turn may repeat what the agent itself has just reported; that is the better source.
        if let Some(used) = used_tokens.filter(|used| self.used_tokens != Some(*used)) {
            self.fill(at, used, OccupancySource::LastCall);
        }
        let turn = TurnView {
            ordinal: self.turns,
            prompt: self.prompts,
            used_tokens: self.used_tokens,
            output_tokens: billed.output_tokens,
            ..std::mem::take(&mut self.turn)
        };
        push_bounded(&mut self.recent, turn, RECENT_TURNS);
        let taken = PastTurn {
            ordinal: self.turns,
            ended_at_ms: at,
            took_ms: at.since(self.turn_began),
            billed_input_tokens: billed.input_tokens,
            billed_output_tokens: billed.output_tokens,
            cost_microusd: billed.cost_microusd,
            model: self.model.clone(),
        };
        push_bounded(&mut self.turns_taken, taken, TURNS_TAKEN);
        self.turn_began = at;
    }

    fn fill(&mut self, at: UnixMs, used: u64, source: OccupancySource) {
        self.used_tokens = Some(used);
        self.peak_tokens = self.peak_tokens.max(Some(used));
        self.used_at = at;
        self.source = source;
        let refilled = self.used_before_compaction.is_some_and(|before| used >= before);
        if refilled && self.refilled_within_turns == 0 {
            self.refilled_within_turns = self.turns_since_compaction().unwrap_or(0).max(1);
        }
    }

    pub(super) fn notice(&mut self, seq: Seq, at: UnixMs, signal: ErrorSignal) {
        self.signals.push_back(TimedSignal { seq, at, prompt: self.prompts, signal });
        let mut bytes: usize = self.signals.iter().map(|n| n.signal.text.len()).sum();
        while self.signals.len() > RECENT_SIGNALS || bytes > SIGNAL_WINDOW_BYTES {
            match self.signals.pop_front() {
                Some(oldest) => bytes -= oldest.signal.text.len(),
                None => break,
            }
        }
    }
}

/// Whether what comes behind a text begins a line by itself.
fn ends_a_line(text: &str) -> bool {
    text.is_empty() || text.ends_with('\n')
}

/// Cuts a text to its last `limit` bytes, on a character boundary.
fn truncate_to_tail(text: &mut String, limit: usize) {
    if text.len() > limit {
        let mut from = text.len() - limit;
        while !text.is_char_boundary(from) {
            from += 1;
        }
        text.drain(..from);
    }
}
