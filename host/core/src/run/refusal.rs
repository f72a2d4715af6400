//! Calls that an agent was not allowed: shown, counted, and seen by the policy.

use crate::facts::{Channel, Refusal, RefusalKind, Signal};
use crate::notice::Notice;

use super::Run;

/// The code of their signals.
const REFUSED: &str = "permission-refused";

impl Run {
    /// The agent heard of it as of what its call returned, so it is no evidence of how the session is.
    pub(super) fn call_refused(&mut self, p: usize) {
        let (seq, now) = (self.seq, self.now);
        let phase = self.phases[p].spec.id.clone();
        let Some(session) = self.session_mut(p) else { return };
        session.refused += 1;
        let text = session.last.strip_prefix("asks: ").unwrap_or(&session.last).to_owned();
        let signal = Signal {
            channel: Channel::ToolOutput,
            code: REFUSED.to_owned(),
            status: None,
            resets_at: None,
            retrying: false,
            text: text.clone(),
        };
        session.notice(seq, now, signal);
        session.last = match session.refused {
            1 => format!("refused: {text}"),
            times => format!("refused ({times} so far): {text}"),
        };
        let refusal = Refusal { kind: RefusalKind::Call, target: text };
        if !session.refusals.contains(&refusal) {
            session.keep_refusal(&refusal);
        }
        let session = session.id.clone();
        self.notify(Notice::Refused { phase, session, refusal });
    }
}
