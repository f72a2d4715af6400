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

pub(super) fn facts(dice: &mut QuestionRng) -> QueryFacts {
    QueryFacts {
        past_sessions: dice.list(PAST_SESSIONS, past_session),
        turns_taken: dice.list(TURNS_TAKEN, turn_taken),
        past_compactions: dice.list(PAST_COMPACTIONS, past_compaction),
        past_waits: dice.list(PAST_WAITS, past_wait),
        past_handoffs: dice.list(PAST_HANDOFFS, past_handoff),
    }
}

fn past_session(dice: &mut QuestionRng) -> PastSession {
    PastSession {
        id: "s1".to_owned(),
        agent: dice.line(40),
        role: dice.line(40),
        ended_by: dice.maybe(|_| "exhausted".to_owned()),
        objectives_done: dice.number32(u32::MAX),
        turns: dice.number32(u32::MAX),
        compactions: dice.number32(u32::MAX),
        peak_tokens: dice.maybe(|dice| dice.number(u64::MAX)),
        window_tokens: dice.maybe(views::window),
    }
}

fn turn_taken(dice: &mut QuestionRng) -> PastTurn {
    PastTurn {
        ordinal: dice.number32(u32::MAX),
        ended_at_ms: UnixMs(dice.number(LATEST_MS)),
        took_ms: DurationMs(dice.number(LATEST_MS)),
        billed_input_tokens: dice.number(u64::MAX),
        billed_output_tokens: dice.number(u64::MAX),
        cost_microusd: dice.maybe(|dice| dice.number(u64::MAX)),
        model: dice.maybe(|dice| dice.line(MODEL_BYTES)),
    }
}

fn past_compaction(dice: &mut QuestionRng) -> PastCompaction {
    PastCompaction {
        session: "s1".to_owned(),
        turn: dice.number32(u32::MAX),
        ended_at_ms: UnixMs(dice.number(LATEST_MS)),
        by_host: dice.coin(),
        before_tokens: dice.maybe(|dice| dice.number(u64::MAX)),
        after_tokens: dice.maybe(|dice| dice.number(u64::MAX)),
    }
}

fn past_wait(dice: &mut QuestionRng) -> PastWait {
    PastWait {
        cause: dice.pick(QUOTA_CAUSES),
        began_at_ms: UnixMs(dice.number(LATEST_MS)),
        ended_at_ms: dice.maybe(|dice| UnixMs(dice.number(LATEST_MS))),
    }
}

fn past_handoff(dice: &mut QuestionRng) -> PastHandoff {
    PastHandoff {
        path: dice.line(PATH_BYTES),
        session: "s1".to_owned(),
        score: dice.maybe(|dice| dice.number32(100)),
        staleness: dice.maybe(|dice| dice.pick(STALENESS)),
    }
}
