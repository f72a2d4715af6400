//! Limits of the account that Codex runs under, as `codex app-server` reports them.

use baton_core::facts::{AgentEvent, ErrorSignal, SignalSource};
use baton_core::time::UnixMs;

use super::rpc::CodexRateLimits;
use crate::signal::signal;
use crate::wire::kind;

/// The limit that was reached, if there is one.
#[derive(Debug, Default)]
pub(super) struct CodexAccountLimit {
    reached: Option<ReachedAccountLimit>,
}

#[derive(Debug, PartialEq, Eq)]
struct ReachedAccountLimit {
    code: String,
    resets_at: Option<UnixMs>,
}

impl CodexAccountLimit {
    /// When the limit ends that was reached.
    pub(super) fn resets_at(&self) -> Option<UnixMs> {
        self.reached.as_ref()?.resets_at
    }

    /// Takes a report, which comes with every model call. A limit is reported once, when it has been reached: how far it is
    /// used before that needs no action.
    pub(super) fn update(&mut self, limits: &CodexRateLimits<'_>, out: &mut Vec<AgentEvent>) {
        let full = [&limits.primary, &limits.secondary];
        let full = full.into_iter().filter(|limit| limit.used_percent.0.is_some_and(|used| used >= 100.0));
        // If both are used up, the later reset counts.
        let full = full.max_by_key(|limit| limit.resets_at.or_zero());
        let (code, text) = match (limits.reached.nonempty(), full) {
            (Some(reached), _) => (reached, "a limit of the account has been reached".to_owned()),
            (None, _) if limits.spend_reached.is_true() => {
                ("spendControlReached", "a limit of spending has been reached".to_owned())
            }
            // The prompt that used up the rest may still be answered: this gives the reset time, and does not end anything.
            (None, Some(limit)) => {
                ("usedPercent", format!("all of a window of {} minutes is used", limit.minutes.or_zero()))
            }
            (None, None) => return self.reached = None,
        };
        let resets_at = full.and_then(|limit| limit.resets_at.time());
        let reached = Some(ReachedAccountLimit { code: kind(&[code]), resets_at });
        if reached != self.reached {
            self.reached = reached;
            let told = signal(SignalSource::AgentEvent, code, None, &text);
            out.push(AgentEvent::Signal(ErrorSignal { resets_at, ..told }));
        }
    }
}
