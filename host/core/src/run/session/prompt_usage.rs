//! Whether an agent has said what a prompt took. Where it has not, what a session billed is a lower bound.

use crate::facts::AgentEvent;

/// The stop reasons of prompts that were broken off, as agents name them.
const CANCELLED_STOP_REASONS: [&str; 4] = ["interrupted", "cancelled", "canceled", "aborted"];

/// The newest prompt of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PromptBill {
    /// Its agent works on it.
    is_open: bool,
    /// Its agent has said something, or called something.
    has_work: bool,
    /// Tokens that its agent has named for it.
    tokens: u64,
    /// Nothing came since its agent named them.
    is_settled: bool,
}

impl PromptBill {
    /// Of a prompt that was just sent.
    pub(super) fn begun() -> Self {
        Self { is_open: true, ..Self::default() }
    }

    /// Takes in what the agent said.
    pub(super) fn take(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Billing(billed) => {
                self.tokens = self.tokens.saturating_add(billed.tokens());
                // Some agents name a price as they go, and tokens with their answer alone.
                self.is_settled = self.tokens > 0;
            }
            AgentEvent::Turn { billed, .. } => {
                self.tokens = self.tokens.saturating_add(billed.tokens());
                self.has_work = true;
                self.is_settled &= billed.tokens() == 0;
            }
            AgentEvent::Text { .. } | AgentEvent::ToolCall { .. } | AgentEvent::ToolOutput { .. } => {
                (self.has_work, self.is_settled) = (true, false);
            }
            _ => {}
        }
    }

    /// Whether its agent has named all that it took, where it ends so. The last call of a prompt that was broken off is missing, unless
    /// tokens came with its end. A call that a provider refused took nothing, so of a prompt that failed only one without any tokens
    /// is not whole.
    pub(super) fn is_whole(&self, stop_reason: &str, is_error: bool) -> bool {
        match CANCELLED_STOP_REASONS.contains(&stop_reason) {
            true => self.is_settled,
            false => !is_error || !self.has_work || self.tokens > 0,
        }
    }

    /// It is over, or cut off; tells whether it was open until now.
    pub(super) fn end(&mut self) -> bool {
        std::mem::take(&mut self.is_open)
    }
}
