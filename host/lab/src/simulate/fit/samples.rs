//! What recorded runs show of a model's numbers, one observation after the other. Estimates nothing.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::facts::{AgentEvent, CompactionTrigger};
use baton_core::input::PauseAnswer;
use baton_core::observation::PromptKind;
use baton_core::progress::ProgressEvent;
use baton_core::{
    Action, ActionId, ActionOutcome, Input, Intent, JournaledInput, ObjectiveId, Run, SessionId, UnixMs,
};

/// Observations of one number that are kept: more change the estimate no more.
const SAMPLES_MAX: usize = 100_000;
/// Reads of a session that are remembered.
const READS_MAX: usize = 4_096;
/// Bytes of a token, as everybody guesses.
const BYTES_PER_TOKEN: f64 = 4.0;

/// Everything that was observed.
#[derive(Debug, Default)]
pub(super) struct FitSamples {
    sizes: BTreeMap<&'static str, Vec<f64>>,
    shares: BTreeMap<&'static str, (u64, u64)>,
    /// Time at work.
    pub(super) active_ms: u64,
}

impl FitSamples {
    pub(super) fn sizes(&self, key: &str) -> &[f64] {
        self.sizes.get(key).map_or(&[], Vec::as_slice)
    }

    /// How often it happened, of how many times that it could have.
    pub(super) fn share(&self, key: &str) -> (u64, u64) {
        self.shares.get(key).copied().unwrap_or_default()
    }

    fn size(&mut self, key: &'static str, size: f64) {
        let sizes = self.sizes.entry(key).or_default();
        if sizes.len() < SAMPLES_MAX {
            sizes.push(size);
        }
    }

    fn count(&mut self, key: &'static str, hits: u64, of: u64) {
        let share = self.shares.entry(key).or_default();
        *share = (share.0 + hits, share.1 + of);
    }
}

/// A session, as far as the next observation depends on it.
#[derive(Debug, Default)]
struct SessionSamples {
    continuation: u32,
    spawned_at: UnixMs,
    start: Option<f64>,
    window: Option<f64>,
    used: f64,
    prompts: u32,
    prompt: Option<PromptSample>,
    last_turn_at: Option<UnixMs>,
    compacting_at: Option<UnixMs>,
    writing: BTreeSet<String>,
    reads: BTreeSet<String>,
    last_reason_is_error: bool,
}

#[derive(Debug)]
struct PromptSample {
    /// It is the first one ever about one objective, so that its turns are those of the objective.
    is_whole: Option<ObjectiveId>,
    bytes: u64,
    turns: u32,
}

/// One run, from its first input on.
#[derive(Debug, Default)]
pub(super) struct RunSamples {
    sessions: BTreeMap<SessionId, SessionSamples>,
    begun: BTreeMap<ActionId, UnixMs>,
    spawning: BTreeMap<ActionId, SessionId>,
    asked_at: BTreeMap<ActionId, UnixMs>,
    worked: BTreeSet<ObjectiveId>,
    says: bool,
    has_turns: bool,
    last: UnixMs,
}

impl RunSamples {
    pub(super) fn take(&mut self, all: &mut FitSamples, stamped: &JournaledInput, intents: &[Intent]) {
        let at = stamped.at;
        self.last = at;
        match &stamped.input {
            Input::Agent { session, event } => self.on_agent_event(all, session, event, at),
            Input::SessionEnded { session, exit } => {
                let of = self.sessions.entry(session.clone()).or_default();
                of.prompt = None;
                if !exit.by_host && exit.code != Some(0) {
                    all.count("trouble.crashes", 1, 0);
                }
            }
            Input::Outcome { action, outcome } => self.on_outcome(all, *action, outcome, at),
            Input::Answered { question, choice, .. } => {
                if let Some(asked) = self.asked_at.remove(question) {
                    all.size("person.minutes", at.since(asked).0 as f64 / 60_000.0);
                    all.count("person.answers", 1, 0);
                    all.count(
                        "person.retries",
                        u64::from(matches!(choice, PauseAnswer::Retry | PauseAnswer::Raise)),
                        1,
                    );
                }
            }
            _ => {}
        }
        for intent in intents {
            self.wanted(all, intent, at);
        }
    }

    pub(super) fn finish(self, all: &mut FitSamples, run: &Run) {
        if self.has_turns {
            all.count("context.says", u64::from(self.says), 1);
        }
        if let Some(view) = run.view(self.last) {
            all.active_ms += view.active_ms.0;
        }
    }

    fn wanted(&mut self, all: &mut FitSamples, intent: &Intent, at: UnixMs) {
        match &intent.action {
            Action::Spawn(spec) => {
                let of = SessionSamples {
                    continuation: spec.continuation,
                    spawned_at: at,
                    ..SessionSamples::default()
                };
                self.sessions.insert(spec.session.clone(), of);
                self.spawning.insert(intent.id, spec.session.clone());
            }
            Action::Prompt { session, kind, focus, text, .. } => {
                let first = focus.iter().all(|objective| self.worked.insert(objective.clone()));
                let of = self.sessions.entry(session.clone()).or_default();
                of.prompts += 1;
                let is_plain = matches!(kind, PromptKind::First | PromptKind::Next);
                let follows = of.continuation > 0 && of.prompts == 1;
                let is_whole = match focus.as_slice() {
                    [one] if first && is_plain && !follows => Some(one.clone()),
                    _ => None,
                };
                of.prompt = Some(PromptSample { is_whole, bytes: text.len_bytes(), turns: 0 });
                of.last_turn_at = None;
            }
            Action::Interrupt { .. } => all.count("trouble.stalls", 1, 0),
            Action::Verify { .. } => {
                self.begun.insert(intent.id, at);
            }
            Action::AskUser { .. } => {
                self.asked_at.insert(intent.id, at);
                all.count("person.answers", 0, 1);
            }
            Action::Notify(notice) => self.on_event(all, notice),
            _ => {}
        }
    }

    fn on_event(&mut self, all: &mut FitSamples, notice: &ProgressEvent) {
        match notice {
            ProgressEvent::Stopped { session, verdict, .. } => {
                let of = self.sessions.entry(session.clone()).or_default();
                match verdict.as_str() {
                    "exhausted" => {
                        if let Some(window) = of.window.filter(|window| of.used > 0.0 && *window > 0.0) {
                            all.size("exhaustion.full_at", (of.used / window).min(1.0));
                        }
                        let key =
                            if of.last_reason_is_error { "exhaustion.error" } else { "exhaustion.text" };
                        all.count(key, 1, 0);
                    }
                    "failed" if of.last_reason_is_error => all.count("trouble.errors", 1, 0),
                    _ => {}
                }
            }
            ProgressEvent::QuotaWait { until, .. } => {
                all.count("quota.says_when", u64::from(until.is_some()), 1)
            }
            ProgressEvent::QuotaOver { waited, .. } => all.size("quota.minutes", waited.0 as f64 / 60_000.0),
            ProgressEvent::CompactionFailed { .. } => all.count("compaction.fails", 1, 1),
            _ => {}
        }
    }

    fn on_outcome(&mut self, all: &mut FitSamples, action: ActionId, outcome: &ActionOutcome, at: UnixMs) {
        if let Some(begun) = self.begun.remove(&action) {
            all.size("verification.seconds", at.since(begun).0 as f64 / 1000.0);
        }
        if self.spawning.remove(&action).is_some() {
            let failed = matches!(outcome, ActionOutcome::Failed { .. } | ActionOutcome::Unstartable { .. });
            all.count("trouble.starts_fail", u64::from(failed), 1);
        }
        match outcome {
            ActionOutcome::Merged { .. } => all.count("merge.conflicts", 0, 1),
            ActionOutcome::Conflicted { .. } => all.count("merge.conflicts", 1, 1),
            _ => {}
        }
    }

    fn on_agent_event(&mut self, all: &mut FitSamples, session: &SessionId, event: &AgentEvent, at: UnixMs) {
        let of = self.sessions.entry(session.clone()).or_default();
        match event {
            AgentEvent::Ready { .. } => {
                all.size("work.start_seconds", at.since(of.spawned_at).0 as f64 / 1000.0);
            }
            AgentEvent::ToolCall { id, reads, writes, .. } => {
                if writes.is_some() {
                    of.writing.insert(id.clone());
                }
                if let Some(path) = reads {
                    let again = of.reads.contains(path);
                    if of.reads.len() < READS_MAX {
                        of.reads.insert(path.clone());
                    }
                    all.count("context.rereads", u64::from(again), 1);
                }
            }
            AgentEvent::ToolOutput { id, bytes, .. } => {
                let tokens = *bytes as f64 / BYTES_PER_TOKEN;
                of.used += tokens;
                if !of.writing.remove(id) {
                    all.size("context.tool_tokens", tokens);
                    all.count("context.tools_per_turn", 1, 0);
                }
            }
            AgentEvent::Turn { used_tokens, billed } => {
                self.has_turns = true;
                self.says |= used_tokens.is_some();
                for key in ["context.tools_per_turn", "trouble.stalls", "trouble.crashes", "trouble.errors"] {
                    all.count(key, 0, 1);
                }
                if billed.output_tokens > 0 {
                    all.size("context.turn_tokens", billed.output_tokens as f64);
                }
                if let Some(used) = used_tokens {
                    of.used = *used as f64;
                }
                let Some(prompt) = &mut of.prompt else { return };
                prompt.turns += 1;
                if of.start.is_none() && of.prompts == 1 && prompt.turns == 1 && billed.input_tokens > 0 {
                    let start = (billed.input_tokens as f64 - prompt.bytes as f64 / BYTES_PER_TOKEN).max(1.0);
                    of.start = Some(start);
                    all.size("context.start_tokens", start);
                }
                if let Some(before) = of.last_turn_at.replace(at) {
                    all.size("work.turn_seconds", at.since(before).0 as f64 / 1000.0);
                }
            }
            AgentEvent::Occupancy { used_tokens, window_tokens, .. } => {
                self.says |= used_tokens.is_some();
                if let (None, Some(window)) = (of.window, window_tokens) {
                    of.window = Some(*window as f64);
                    all.size("context.window_tokens", *window as f64);
                }
                if let Some(used) = used_tokens {
                    of.used = *used as f64;
                }
            }
            AgentEvent::Compacting => of.compacting_at = Some(at),
            AgentEvent::Compacted { trigger, before_tokens, after_tokens } => {
                if let Some(begun) = of.compacting_at.take() {
                    all.size("compaction.seconds", at.since(begun).0 as f64 / 1000.0);
                }
                match trigger {
                    CompactionTrigger::Asked => all.count("compaction.fails", 0, 1),
                    CompactionTrigger::Auto => all.count("exhaustion.compacts", 1, 0),
                }
                // The time of a compaction does not count as a turn's time.
                of.last_turn_at = None;
                let (Some(before), Some(after)) = (before_tokens, after_tokens) else { return };
                let (before, after, start) = (*before as f64, *after as f64, of.start.unwrap_or(0.0));
                of.used = after;
                if before > start && after > start {
                    all.size("compaction.remains", ((after - start) / (before - start)).min(1.0));
                }
                if let (CompactionTrigger::Auto, Some(window)) = (trigger, of.window) {
                    all.size("exhaustion.compacts_at", (before / window).min(1.0));
                }
            }
            AgentEvent::PromptEnded { stop_reason, is_error } => {
                of.last_reason_is_error = *is_error;
                let Some(prompt) = of.prompt.take() else { return };
                if prompt.is_whole.is_some() && prompt.turns > 0 && !is_error && stop_reason == "end_turn" {
                    all.size("work.turns", f64::from(prompt.turns));
                }
            }
            _ => {}
        }
    }
}
