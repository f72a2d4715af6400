//! The facts that go with a generated question (`wit/facts.wit`), in every shape that the host could give them.

use baton_core::observation::{PastCompaction, PastHandoff, PastSession, PastTurn, PastWait, QueryFacts};
use baton_core::{DurationMs, UnixMs};

use super::generate::{LATEST_MS, QUOTA_CAUSES, STALENESS};
use super::question_rng::QuestionRng;
use super::views;

/// Of core: as many of each kind as a question has.
const PAST_SESSIONS: usize = 16;
const TURNS_TAKEN: usize = 8;
const PAST_COMPACTIONS: usize = 16;
const PAST_WAITS: usize = 16;
const PAST_HANDOFFS: usize = 8;
/// Bytes of the name of a model, and of a path that the host gives.
const MODEL_BYTES: usize = 64;
const PATH_BYTES: usize = 300;

pub(super) fn facts(rng: &mut QuestionRng) -> QueryFacts {
    QueryFacts {
        past_sessions: rng.list(PAST_SESSIONS, past_session),
        turns_taken: rng.list(TURNS_TAKEN, turn_taken),
        past_compactions: rng.list(PAST_COMPACTIONS, past_compaction),
        past_waits: rng.list(PAST_WAITS, past_wait),
        past_handoffs: rng.list(PAST_HANDOFFS, past_handoff),
    }
}

fn past_session(rng: &mut QuestionRng) -> PastSession {
    PastSession {
        id: "s1".to_owned(),
        agent: rng.line(40),
        role: rng.line(40),
        ended_by: rng.maybe(|_| "exhausted".to_owned()),
        objectives_done: rng.number32(u32::MAX),
        turns: rng.number32(u32::MAX),
        compactions: rng.number32(u32::MAX),
        peak_tokens: rng.maybe(|rng| rng.number(u64::MAX)),
        window_tokens: rng.maybe(views::window),
    }
}

fn turn_taken(rng: &mut QuestionRng) -> PastTurn {
    PastTurn {
        ordinal: rng.number32(u32::MAX),
        ended_at_ms: UnixMs(rng.number(LATEST_MS)),
        took_ms: DurationMs(rng.number(LATEST_MS)),
        billed_input_tokens: rng.number(u64::MAX),
        billed_output_tokens: rng.number(u64::MAX),
        cost_microusd: rng.maybe(|rng| rng.number(u64::MAX)),
        model: rng.maybe(|rng| rng.line(MODEL_BYTES)),
    }
}

fn past_compaction(rng: &mut QuestionRng) -> PastCompaction {
    PastCompaction {
        session: "s1".to_owned(),
        turn: rng.number32(u32::MAX),
        ended_at_ms: UnixMs(rng.number(LATEST_MS)),
        by_host: rng.coin(),
        before_tokens: rng.maybe(|rng| rng.number(u64::MAX)),
        after_tokens: rng.maybe(|rng| rng.number(u64::MAX)),
    }
}

fn past_wait(rng: &mut QuestionRng) -> PastWait {
    PastWait {
        cause: rng.pick(QUOTA_CAUSES),
        began_at_ms: UnixMs(rng.number(LATEST_MS)),
        ended_at_ms: rng.maybe(|rng| UnixMs(rng.number(LATEST_MS))),
    }
}

fn past_handoff(rng: &mut QuestionRng) -> PastHandoff {
    PastHandoff {
        path: rng.line(PATH_BYTES),
        session: "s1".to_owned(),
        score: rng.maybe(|rng| rng.number32(100)),
        staleness: rng.maybe(|rng| rng.pick(STALENESS)),
    }
}
