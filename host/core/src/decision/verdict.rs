//! How a session is, or why it stopped.

use serde::{Deserialize, Serialize};

use crate::time::UnixMs;

/// `questions.quota-cause`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QuotaCause {
    /// An allowance over hours or days is used up.
    Usage,
    /// Credit, payment or plan: no time will heal it.
    Billing,
    /// Too many requests or tokens a minute.
    Rate,
    /// The provider is overloaded.
    Overload,
}

impl std::fmt::Display for QuotaCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            QuotaCause::Usage => "usage limit",
            QuotaCause::Billing => "billing",
            QuotaCause::Rate => "rate limit",
            QuotaCause::Overload => "provider overloaded",
        })
    }
}

/// `questions.verdict`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// Nothing wrong; continue.
    Healthy,
    /// The prompt was answered.
    Answered,
    /// The agent wrote a handoff and stopped.
    HandedOff,
    /// The context window is used up.
    Exhausted,
    /// A provider's limit.
    Quota {
        /// Why.
        cause: QuotaCause,
        /// When it resets, where anything said so.
        resets_at_ms: Option<UnixMs>,
    },
    /// The cap of turns was reached.
    TurnLimit,
    /// The cap of cost was reached.
    BudgetLimit,
    /// The answer was cut off, or is empty where substance was expected.
    Truncated,
    /// Silent for too long.
    Stalled,
    /// It was interrupted.
    Interrupted,
    /// The agent is not logged in, or its key is not accepted.
    Unauthenticated,
    /// The agent asks the user something, and cannot continue without an answer.
    NeedsInput,
    /// The model or its provider declined the work.
    Refused,
    /// It broke for another reason.
    Failed,
}

impl Verdict {
    /// The word of the contract.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Healthy => "healthy",
            Verdict::Answered => "answered",
            Verdict::HandedOff => "handed-off",
            Verdict::Exhausted => "exhausted",
            Verdict::Quota { .. } => "quota",
            Verdict::TurnLimit => "turn-limit",
            Verdict::BudgetLimit => "budget-limit",
            Verdict::Truncated => "truncated",
            Verdict::Stalled => "stalled",
            Verdict::Interrupted => "interrupted",
            Verdict::Unauthenticated => "unauthenticated",
            Verdict::NeedsInput => "needs-input",
            Verdict::Refused => "refused",
            Verdict::Failed => "failed",
        }
    }
}
