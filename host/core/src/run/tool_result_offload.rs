//! What need not lie in a context (C3): a tool result that could be replaced by a reference waits here for what the
//! offloading policy says. Keeps no content, and knows no threshold; whatever goes wrong, the result stays as it is.

use crate::action::Action;
use crate::decision::{Decision, Fault};
use crate::ids::{RequestId, SessionId};
use crate::observation::{
    Attributes, ContextItem, OffloadingObservation, PolicyQuery, PolicyRequest, SessionState,
};

use super::Run;
use super::session_view::{placeholder_phase_view, unknown_session_view};

/// Results of all sessions that wait at a time. An agent calls a few tools at once; one that offers more gets what is
/// over this as it is, and nothing grows without bound.
pub(super) const PENDING_OFFERS_MAX: usize = 64;

impl Run {
    /// Asks about an item, or says at once that it stays: if no agent works any more, no context is spared.
    pub(super) fn on_offered(&mut self, session: &SessionId, item: &ContextItem) {
        let phase = self.phase_of(session).filter(|p| self.has_live_session(*p));
        let known = self.offered_results.values().any(|waiting| waiting.id == item.id);
        match phase {
            Some(p)
                if !self.stopping
                    && self.ending.is_none()
                    && !known
                    && self.offered_results.len() < PENDING_OFFERS_MAX =>
            {
                let request = self.ask_offloading(p, vec![item.clone()]);
                self.offered_results.insert(request, item.clone());
            }
            _ => self.place(item.id.clone(), false),
        }
    }

    /// Takes the answer about an item; false where the question was about something else.
    pub(super) fn placed(&mut self, request: RequestId, result: &Result<Decision, Fault>) -> bool {
        let Some(item) = self.offered_results.remove(&request) else { return false };
        let offload = wants_offload(&item, result);
        self.place(item.id, offload);
        true
    }

    fn place(&mut self, item: String, offload: bool) {
        self.emit(Action::DeliverToolResult { item, offload });
    }
}

/// Whether an answer replaces exactly this item. Another id, one more, or a fault replaces nothing.
pub fn wants_offload(item: &ContextItem, result: &Result<Decision, Fault>) -> bool {
    matches!(result, Ok(Decision::Offloading(decision)) if decision.items == [item.id.clone()])
}

/// The same question for an item of a client that works in no run: nothing is known of its context.
pub fn standalone_offload_query(item: ContextItem) -> PolicyRequest {
    let session = unknown_session_view("", "", SessionState::Working);
    let phase = placeholder_phase_view("none");
    let observation =
        OffloadingObservation { session, phase, items: vec![item], attributes: Attributes::default() };
    PolicyRequest::new(PolicyQuery::Offloading(Box::new(observation)), Vec::new())
}
