//! Retries that an agent makes by itself: told as they happen, since nothing else is heard of it meanwhile.

use crate::facts::Signal;
use crate::notice::Notice;

use super::Run;

/// Retries of a prompt that are told one by one; an agent that goes on for longer is told of by the wait, or by its end.
const TOLD: u32 = 20;

impl Run {
    /// What it means is the policy's to say.
    pub(super) fn agent_retries(&mut self, p: usize, signal: &Signal) {
        let phase = self.phases[p].spec.id.clone();
        let Some(session) = self.session_mut(p) else { return };
        session.retries += 1;
        if session.retries > TOLD {
            return;
        }
        let session = session.id.clone();
        let Signal { code, status, text, .. } = signal.clone();
        self.notify(Notice::AgentRetries { phase, session, code, status, text });
    }
}
