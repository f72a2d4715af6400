//! What goes with every question beside it (`wit/facts.wit`): what came before in its phase, as the journal has it.

use std::collections::VecDeque;

use crate::observation::{PastHandoff, PastSession, PastWait, QueryFacts, said};
use crate::view::{HandoffSummary, QuotaSummary};

use super::Run;
use super::phase_list::PhaseIndex;
use super::session::Session;

/// The bounds of the contract, each.
const PAST_SESSIONS: usize = 16;
pub(super) const TURNS_TAKEN: usize = 8;
pub(super) const PAST_COMPACTIONS: usize = 16;
const PAST_WAITS: usize = 16;
const PAST_HANDOFFS: usize = 8;

impl Run {
    /// The facts of a phase now; each kind newest first.
    pub(super) fn query_facts(&self, p: PhaseIndex) -> QueryFacts {
        let phase = &self.phases[p];
        let sessions = || phase.sessions.iter().rev().filter_map(|id| self.sessions.get(id));
        let before = sessions().filter(|session| phase.session.as_ref() != Some(&session.id));
        let compactions = sessions().flat_map(|session| session.past_compactions.iter().rev());
        let under_way = self.quota_summary(p).map(|wait| past_wait(&wait));
        let waits = under_way.into_iter().chain(phase.usage.past_waits.iter().rev().cloned());
        QueryFacts {
            past_sessions: before.take(PAST_SESSIONS).map(past_session).collect(),
            turns_taken: self.session(p).map(Session::turns_taken).unwrap_or_default(),
            past_compactions: compactions.take(PAST_COMPACTIONS).cloned().collect(),
            past_waits: waits.take(PAST_WAITS).collect(),
            past_handoffs: phase
                .handoffs
                .written
                .iter()
                .rev()
                .take(PAST_HANDOFFS)
                .map(past_handoff)
                .collect(),
        }
    }

    /// A wait of a phase for its provider is over.
    pub(super) fn record_quota_wait(&mut self, p: PhaseIndex, wait: &QuotaSummary) {
        let ended = PastWait { ended_at_ms: Some(self.now), ..past_wait(wait) };
        push_bounded(&mut self.phases[p].usage.past_waits, ended, PAST_WAITS);
    }
}

/// Adds to a list of which only the newest `at_most` are kept.
pub(super) fn push_bounded<T>(kept: &mut VecDeque<T>, newest: T, at_most: usize) {
    if kept.len() >= at_most {
        kept.pop_front();
    }
    kept.push_back(newest);
}

fn past_session(session: &Session) -> PastSession {
    PastSession {
        id: session.id.to_string(),
        agent: session.agent.name().to_owned(),
        role: session.role.to_string(),
        ended_by: said(&session.ending),
        objectives_done: session.done,
        turns: session.turns,
        compactions: session.compactions,
        peak_tokens: session.peak_tokens,
        window_tokens: session.window_tokens,
    }
}

fn past_wait(wait: &QuotaSummary) -> PastWait {
    PastWait { cause: wait.cause, began_at_ms: wait.since, ended_at_ms: None }
}

fn past_handoff(row: &HandoffSummary) -> PastHandoff {
    PastHandoff {
        path: row.path.clone(),
        session: row.session.to_string(),
        score: row.review.as_ref().map(|review| review.score),
        staleness: row.review.as_ref().map(|review| review.staleness),
    }
}
