//! What the host knows beside a question: the facts of `wit/facts.wit`, one to one.

use serde::{Deserialize, Serialize};

/// The facts that go with a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The sessions of the phase before the present one, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_sessions: Vec<PastSession>,
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
