//! Retries that an agent makes by itself: told as they happen, since nothing else is heard of it meanwhile.

use crate::facts::ErrorSignal;
use crate::progress::ProgressEvent;

use super::Run;
use super::phase_list::PhaseIndex;
use super::session::{LAST_BYTES, Session};
use super::text_format::{cut, one_line};

/// Retries of a prompt that are reported one by one; of an agent that retries for longer, the wait or its end is reported.
const TOLD: u32 = 20;
/// Before what the table says of a session that retries.
const RETRIES: &str = "retries: ";

impl Run {
    /// What it means is the policy's to say.
    pub(super) fn on_agent_retry(&mut self, p: PhaseIndex, signal: &ErrorSignal) {
        let phase = self.phases[p].spec.id.clone();
        let Some(session) = self.session_mut(p) else { return };
        session.retries += 1;
        session.show_retry(signal);
        if session.retries > TOLD {
            return;
        }
        let session = session.id.clone();
        let ErrorSignal { code, status, text, .. } = signal.clone();
        self.notify(ProgressEvent::AgentRetries { phase, session, code, status, text });
    }
}

impl Session {
    /// The table says so until its provider answers, or the agent does something else.
    pub(super) fn show_retry(&mut self, signal: &ErrorSignal) {
        let why = signal.status.map_or_else(|| signal.code.clone(), |status| status.to_string());
        self.last = match why.as_str() {
            "" => format!("{RETRIES}{}", one_line(&signal.text)),
            why => format!("{RETRIES}{why} {}", one_line(&signal.text)),
        };
        cut(&mut self.last, LAST_BYTES);
    }

    /// Its provider has answered.
    pub(super) fn clear_retry(&mut self) {
        if self.last.starts_with(RETRIES) {
            self.last.clear();
        }
    }
}
