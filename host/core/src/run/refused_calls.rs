//! Calls that an agent was not allowed: shown, counted, and seen by the policy.

use crate::facts::{ErrorSignal, PERMISSION_REFUSED, Refusal, RefusalKind, SignalSource};
use crate::progress::ProgressEvent;

use super::Run;
use super::phase_list::PhaseIndex;
use super::session::{LAST_BYTES, Session};
use super::text_format::cut;

impl Run {
    /// The agent heard of it as of what its call returned, so it is not evidence of how the session is.
    pub(super) fn on_call_refused(&mut self, p: PhaseIndex) {
        let (seq, now) = (self.seq, self.now);
        let phase = self.phases[p].spec.id.clone();
        let Some(session) = self.session_mut(p) else { return };
        let text = session.last.strip_prefix("asks: ").unwrap_or(&session.last).to_owned();
        let signal = ErrorSignal {
            channel: SignalSource::ToolOutput,
            code: PERMISSION_REFUSED.to_owned(),
            status: None,
            resets_at: None,
            retrying: false,
            text: text.clone(),
        };
        session.notice(seq, now, signal);
        session.count_refused(&text);
        let refusal = Refusal { kind: RefusalKind::Call, target: text };
        session.record_refusal(&refusal);
        let session = session.id.clone();
        self.notify(ProgressEvent::Refused { phase, session, refusal });
    }
}

impl Session {
    /// One more call was not allowed; the table says so until the agent does something else.
    pub(super) fn count_refused(&mut self, call: &str) {
        self.refused += 1;
        self.last = match self.refused {
            1 => format!("refused: {call}"),
            times => format!("refused ({times} so far): {call}"),
        };
        cut(&mut self.last, LAST_BYTES);
    }
}
