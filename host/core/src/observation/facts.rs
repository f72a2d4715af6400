//! The host's facts that accompany a question: the facts of `wit/facts.wit`, one to one.

use serde::{Deserialize, Serialize};

use crate::decision::{QuotaCause, Staleness};
use crate::time::{DurationMs, UnixMs};

/// The facts that go with a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryFacts {
    /// The sessions of the phase before the present one, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_sessions: Vec<PastSession>,
    /// What the turns of the present session took, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns_taken: Vec<PastTurn>,
    /// The compactions of the phase's sessions, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_compactions: Vec<PastCompaction>,
    /// The waits of the phase for a provider, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_waits: Vec<PastWait>,
    /// The handoffs that the phase's sessions left, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_handoffs: Vec<PastHandoff>,
}

/// `facts-history.past-session`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastSession {
    pub id: String,
    pub agent: String,
    pub role: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<String>,
    pub objectives_done: u32,
    pub turns: u32,
    pub compactions: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u64>,
}

/// `facts-turns.turn-taken`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastTurn {
    pub ordinal: u32,
    pub ended_at_ms: UnixMs,
    pub took_ms: DurationMs,
    pub billed_input_tokens: u64,
    pub billed_output_tokens: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// `facts-compactions.past-compaction`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastCompaction {
    pub session: String,
    pub turn: u32,
    pub ended_at_ms: UnixMs,
    pub by_host: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_tokens: Option<u64>,
}

/// `facts-waits.past-wait`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastWait {
    pub cause: QuotaCause,
    pub began_at_ms: UnixMs,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<UnixMs>,
}

/// `facts-handoffs.past-handoff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PastHandoff {
    pub path: String,
    pub session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staleness: Option<Staleness>,
}
