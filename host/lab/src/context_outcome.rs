//! The outcome of each context of a recorded run: it was used up, its session ended before that, or neither can be known.
//! Derived from what agents, providers and the host did; no candidate is asked, so that every candidate is measured against the
//! same facts.
//!
//! A context begins with its session, and each compaction begins a new one. It counts as *exhausted* if the session stopped
//! with a full window, or after a code of the agent's own protocol or of the provider that says so, regardless of the verdict
//! of the recorded policy. If only that policy says so, that is a judgment and not a fact.

mod limit_codes;

use std::collections::BTreeMap;

use baton_core::action::Action;
use baton_core::facts::AgentEvent;
use baton_core::progress::ProgressEvent;
use baton_core::{Input, Intent, JournaledInput, PhaseId, SessionId, UnixMs};
use serde::Serialize;

use limit_codes::reports_full_window;

/// A moment in the life of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SessionMoment {
    /// Time of the moment.
    pub at: UnixMs,
    /// Turns that had ended.
    pub turns: u32,
    /// Tokens in the window, if known.
    pub used_tokens: Option<u64>,
}

/// What became of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "fate", rename_all = "kebab-case")]
pub enum ContextOutcome {
    /// It was used up.
    Exhausted,
    /// Its session ended before it was used up, without an intervention.
    Ended,
    /// An intervention or the end of the record hides the outcome.
    Censored {
        /// Why not.
        because: Censoring,
    },
}

/// Why it cannot be known whether a context would have been used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Censoring {
    /// It was compacted.
    Compacted,
    /// The session handed over before.
    HandedOff,
    /// Its phase was split.
    Split,
    /// Its turns or its money were used up before.
    Capped,
    /// It was interrupted, or was silent and was ended.
    Interrupted,
    /// A provider's limit ended it.
    Quota,
    /// The user ended it.
    Stopped,
    /// Its host died.
    HostLost,
    /// Only the recorded policy says that it was used up.
    OnlyWords,
    /// The record ends before.
    EndOfRecord,
}

/// Names a context of a run: a session, and which of its contexts, from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ContextId {
    /// Whose.
    pub session: SessionId,
    /// From 1; one more with each compaction.
    pub context: u32,
}

/// A context that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClosedContext {
    pub(crate) context: ContextId,
    pub(crate) phase: PhaseId,
    pub(crate) outcome: ContextOutcome,
    /// When its outcome came to be.
    pub(crate) then: SessionMoment,
}

/// A session that is not over.
#[derive(Debug)]
struct OpenSession {
    phase: PhaseId,
    context: u32,
    now: SessionMoment,
    window_tokens: Option<u64>,
    /// When a code or an error said that the window is used up, and the agent has made no other turn since.
    reported_full_at: Option<SessionMoment>,
    outcome: Option<(ContextOutcome, SessionMoment)>,
    /// Somebody did something about it.
    intervened: Option<Censoring>,
    waits_for_quota: bool,
    /// Its process is gone.
    has_exited: bool,
}

/// Takes what core took and wanted, in order. Keeps a few numbers for each session that is not over.
#[derive(Debug, Default)]
pub(crate) struct ContextTracker {
    open: BTreeMap<SessionId, OpenSession>,
    active_sessions: BTreeMap<PhaseId, SessionId>,
    over: Vec<ClosedContext>,
}

impl ContextTracker {
    /// Takes an input, and what `Run::apply` gave for it.
    pub(crate) fn take(&mut self, stamped: &JournaledInput, intents: &[Intent]) {
        self.on_input(stamped);
        let by_a_person = matches!(stamped.input, Input::Answered { .. } | Input::StopRequested);
        for intent in intents {
            match &intent.action {
                Action::Notify(notice) => self.on_event(notice, stamped),
                Action::EndSession { session, .. } if by_a_person => {
                    self.intervened(session, Censoring::Stopped)
                }
                Action::Interrupt { session } => self.intervened(session, Censoring::Interrupted),
                _ => {}
            }
        }
    }

    /// The context that a phase is in, and the moment.
    pub(crate) fn of_phase(&self, phase: &PhaseId) -> Option<(ContextId, SessionMoment)> {
        let session = self.active_sessions.get(phase)?;
        let open = self.open.get(session)?;
        Some((ContextId { session: session.clone(), context: open.context }, open.now))
    }

    /// Whether a context is not over.
    pub(crate) fn is_open(&self, context: &ContextId) -> bool {
        self.open.get(&context.session).is_some_and(|open| open.context == context.context)
    }

    /// What has come to its end since it was last asked.
    pub(crate) fn over(&mut self) -> impl Iterator<Item = ClosedContext> + '_ {
        self.over.drain(..)
    }

    /// The record ends here.
    pub(crate) fn end(&mut self) -> impl Iterator<Item = ClosedContext> + '_ {
        for session in self.open.keys().cloned().collect::<Vec<_>>() {
            self.close(&session, ContextOutcome::Censored { because: Censoring::EndOfRecord });
        }
        self.over()
    }

    fn on_input(&mut self, stamped: &JournaledInput) {
        match &stamped.input {
            Input::Agent { session, event } => {
                let Some(open) = self.open.get_mut(session) else { return };
                open.now.at = stamped.at;
                match event {
                    AgentEvent::Turn { used_tokens, .. } => {
                        open.now.turns += 1;
                        // The turn that failed ends as well; one more was got over.
                        let turns = open.now.turns;
                        open.reported_full_at = open.reported_full_at.filter(|then| turns <= then.turns + 1);
                        open.now.used_tokens = used_tokens.or(open.now.used_tokens);
                    }
                    AgentEvent::Occupancy { used_tokens, window_tokens, .. } => {
                        open.now.used_tokens = used_tokens.or(open.now.used_tokens);
                        open.window_tokens = window_tokens.or(open.window_tokens);
                    }
                    event if reports_full_window(event) => {
                        open.reported_full_at = open.reported_full_at.or(Some(open.now));
                    }
                    _ => {}
                }
            }
            Input::SessionEnded { session, .. } => {
                if let Some(open) = self.open.get_mut(session) {
                    open.has_exited = true;
                    if open.outcome.is_some() {
                        self.close(session, ContextOutcome::Ended);
                    }
                }
            }
            _ => {}
        }
    }

    fn on_event(&mut self, notice: &ProgressEvent, stamped: &JournaledInput) {
        match notice {
            ProgressEvent::SessionStarted { phase, session, .. } => {
                if let Some(before) = self.active_sessions.insert(phase.clone(), session.clone()) {
                    self.close(&before, ContextOutcome::Ended);
                }
                let now = SessionMoment { at: stamped.at, ..SessionMoment::default() };
                let open = OpenSession {
                    phase: phase.clone(),
                    context: 1,
                    now,
                    window_tokens: None,
                    reported_full_at: None,
                    outcome: None,
                    intervened: None,
                    waits_for_quota: false,
                    has_exited: false,
                };
                self.open.insert(session.clone(), open);
            }
            ProgressEvent::Compacted { session, after, .. } => {
                let Some(open) = self.open.get_mut(session) else { return };
                let context = ContextId { session: session.clone(), context: open.context };
                let outcome = ContextOutcome::Censored { because: Censoring::Compacted };
                self.over.push(ClosedContext { context, phase: open.phase.clone(), outcome, then: open.now });
                open.context += 1;
                open.reported_full_at = None;
                open.now.used_tokens = after.or(open.now.used_tokens);
                open.intervened = None;
            }
            ProgressEvent::Stopped { session, verdict, .. } => {
                let Some(open) = self.open.get_mut(session) else { return };
                open.outcome = open.outcome_of_stop(verdict);
                if open.has_exited && open.outcome.is_some() {
                    self.close(session, ContextOutcome::Ended);
                }
            }
            ProgressEvent::HandedOff { session, .. } => {
                self.close(session, ContextOutcome::Censored { because: Censoring::HandedOff });
            }
            ProgressEvent::Split { phase, .. } => {
                self.close_at_work(phase, ContextOutcome::Censored { because: Censoring::Split });
            }
            ProgressEvent::PhaseDone { phase } => self.close_at_work(phase, ContextOutcome::Ended),
            ProgressEvent::Resumed { lost } => {
                for session in lost {
                    self.close(session, ContextOutcome::Censored { because: Censoring::HostLost });
                }
            }
            ProgressEvent::QuotaWait { session, .. } => self.waits(session, true),
            ProgressEvent::QuotaOver { session, .. } => self.waits(session, false),
            _ => {}
        }
    }

    fn waits(&mut self, session: &SessionId, waits: bool) {
        if let Some(open) = self.open.get_mut(session) {
            open.waits_for_quota = waits;
        }
    }

    fn intervened(&mut self, session: &SessionId, how: Censoring) {
        if let Some(open) = self.open.get_mut(session) {
            open.intervened = Some(how);
        }
    }

    fn close_at_work(&mut self, phase: &PhaseId, outcome: ContextOutcome) {
        if let Some(session) = self.active_sessions.remove(phase) {
            self.close(&session, outcome);
        }
    }

    /// `otherwise` is the outcome if nothing else is known.
    fn close(&mut self, session: &SessionId, otherwise: ContextOutcome) {
        let Some(open) = self.open.remove(session) else { return };
        let censored = |because| Some((ContextOutcome::Censored { because }, open.now));
        let quota = if open.waits_for_quota { censored(Censoring::Quota) } else { None };
        let (outcome, then) = open
            .outcome
            .or_else(|| open.reported_full_at.map(|then| (ContextOutcome::Exhausted, then)))
            .or_else(|| open.intervened.and_then(censored))
            .or(quota)
            .unwrap_or((otherwise, open.now));
        let context = ContextId { session: session.clone(), context: open.context };
        self.over.push(ClosedContext { context, phase: open.phase, outcome, then });
    }
}

impl OpenSession {
    /// Its outcome if the run stopped it with this verdict. None if the verdict says nothing about the context.
    fn outcome_of_stop(&self, verdict: &str) -> Option<(ContextOutcome, SessionMoment)> {
        let is_full =
            self.window_tokens.zip(self.now.used_tokens).is_some_and(|(window, used)| used >= window);
        if let Some(then) = self.reported_full_at {
            return Some((ContextOutcome::Exhausted, then));
        }
        let outcome = match verdict {
            _ if is_full => ContextOutcome::Exhausted,
            "exhausted" => ContextOutcome::Censored { because: Censoring::OnlyWords },
            "turn-limit" | "budget-limit" => ContextOutcome::Censored { because: Censoring::Capped },
            "stalled" | "interrupted" => ContextOutcome::Censored { because: Censoring::Interrupted },
            "quota" => ContextOutcome::Censored { because: Censoring::Quota },
            // The session failed, or its answer was cut off. An earlier intervention still counts.
            _ => return None,
        };
        Some((outcome, self.now))
    }
}
