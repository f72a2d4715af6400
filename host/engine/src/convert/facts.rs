//! Facts that a component can read in addition to a question: those of `wit/facts.wit`.

use baton_core::decision as core;
use baton_core::observation as see;

use crate::bindings::facts::{facts_compactions, facts_handoffs, facts_history, facts_turns, facts_waits};
use crate::bindings::questions;

pub(crate) fn past_session(session: &see::PastSession) -> facts_history::PastSession {
    facts_history::PastSession {
        id: session.id.clone(),
        agent: session.agent.clone(),
        role: session.role.clone(),
        ended_by: session.ended_by.clone(),
        objectives_done: session.objectives_done,
        turns: session.turns,
        compactions: session.compactions,
        peak_tokens: session.peak_tokens,
        window_tokens: session.window_tokens,
    }
}

pub(crate) fn turn_taken(turn: &see::PastTurn) -> facts_turns::TurnTaken {
    facts_turns::TurnTaken {
        ordinal: turn.ordinal,
        ended_at_ms: turn.ended_at_ms.0,
        took_ms: turn.took_ms.0,
        billed_input_tokens: turn.billed_input_tokens,
        billed_output_tokens: turn.billed_output_tokens,
        cost_microusd: turn.cost_microusd,
        model: turn.model.clone(),
    }
}

pub(crate) fn past_compaction(compaction: &see::PastCompaction) -> facts_compactions::PastCompaction {
    facts_compactions::PastCompaction {
        session: compaction.session.clone(),
        turn: compaction.turn,
        ended_at_ms: compaction.ended_at_ms.0,
        by_host: compaction.by_host,
        before_tokens: compaction.before_tokens,
        after_tokens: compaction.after_tokens,
    }
}

pub(crate) fn past_wait(wait: &see::PastWait) -> facts_waits::PastWait {
    facts_waits::PastWait {
        cause: same!(wait.cause, core::QuotaCause => questions::QuotaCause: Usage, Billing, Rate, Overload),
        began_at_ms: wait.began_at_ms.0,
        ended_at_ms: wait.ended_at_ms.map(|at| at.0),
    }
}

pub(crate) fn past_handoff(handoff: &see::PastHandoff) -> facts_handoffs::PastHandoff {
    facts_handoffs::PastHandoff {
        path: handoff.path.clone(),
        session: handoff.session.clone(),
        score: handoff.score,
        staleness: handoff.staleness.map(super::staleness),
    }
}
