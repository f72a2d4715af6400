//! A compaction of an ACP agent: some agents show it as a tool call, others report it in the protocol's own form.

use baton_core::facts::{AgentEvent, CompactionTrigger, SIGNAL_TEXT_BYTES};

use super::wire::{AcpRawOutput, AcpUpdate};
use crate::truncate::cut;

/// A compaction under way.
#[derive(Debug, Default)]
pub(super) struct AcpCompaction {
    pub(super) call: String,
    pub(super) asked: bool,
    pub(super) done: bool,
    pub(super) failed: Option<String>,
    pub(super) before_tokens: Option<u64>,
    pub(super) after_tokens: Option<u64>,
}

impl AcpCompaction {
    /// Takes an update of the tool call that shows it.
    pub(super) fn shown(&mut self, update: &AcpUpdate<'_>) {
        match update.status.str() {
            "completed" => self.done = true,
            "failed" => self.failed = Some("the agent says that the compaction failed".to_owned()),
            _ => {}
        }
        let AcpRawOutput { trigger, pre_tokens, post_tokens, .. } = update.output.get();
        self.asked |= trigger.str() == "manual";
        self.before_tokens = pre_tokens.0.or(self.before_tokens);
        self.after_tokens = post_tokens.0.or(self.after_tokens);
    }

    /// Takes a `compaction_update`.
    pub(super) fn on_compaction_update(&mut self, update: &AcpUpdate<'_>) {
        match update.status.str() {
            "completed" => self.done = true,
            "failed" | "cancelled" => {
                self.failed = Some(update.error.nonempty().unwrap_or("the compaction failed").to_owned());
            }
            _ => {}
        }
    }

    /// The event at its end; `used_tokens` is the latest reported fill.
    pub(super) fn ended(self, trigger: CompactionTrigger, used_tokens: Option<u64>) -> AgentEvent {
        let Self { done, failed, before_tokens, after_tokens, .. } = self;
        if done && failed.is_none() {
            // An agent that does not report the remaining tokens may have reported a lower fill in the meantime.
            let lower = used_tokens.filter(|used| before_tokens.is_some_and(|before| *used < before));
            return AgentEvent::Compacted { trigger, before_tokens, after_tokens: after_tokens.or(lower) };
        }
        let text = failed.unwrap_or_else(|| "the agent did not compact".to_owned());
        AgentEvent::CompactionFailed { text: cut(&text, SIGNAL_TEXT_BYTES).to_owned() }
    }
}
