//! Why the newest session of a phase ended, and how many sessions may follow it.

use super::super::end_cause::EndCause;

/// The sessions of a phase, as far as they decide whether another one follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct SuccessionState {
    pub(in crate::run) continuations: u32,
    pub(in crate::run) retries: u32,
    /// Objectives that were done at the last of them.
    pub(in crate::run) done_at_retry: u32,
    /// Objectives that the newest session finished (A8).
    pub(in crate::run) objectives_done_by_session: u32,
    /// Why its newest session or prompt ended.
    pub(in crate::run) end_cause: EndCause,
}

impl SuccessionState {
    /// Retries since something was last finished. What was reported as done and did not hold is not progress.
    pub(in crate::run) fn retries_used(&self, done: u32) -> u32 {
        if done > self.done_at_retry { 0 } else { self.retries }
    }

    /// A new walk of the loop of its phase: nothing was continued or retried yet.
    pub(in crate::run) fn reset_for_iteration(&mut self) {
        (self.continuations, self.retries, self.done_at_retry) = (0, 0, 0);
        self.end_cause = EndCause::default();
    }
}
