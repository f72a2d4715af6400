//! What need not lie in a context (C3): a tool result that could be replaced by a reference waits here for what the
//! compaction policy says. Keeps no content, and knows no threshold; whatever goes wrong, the result stays as it is.

use crate::action::Action;
use crate::decision::{CompactionAction, Decision, Fault};
use crate::ids::{PhaseId, RequestId, SessionId};
use crate::observation::{
    Ask, Attributes, BudgetView, CompactionObservation, ItemView, OccupancyView, PhaseView, ProgressView,
    Question, SessionState, SessionView,
};
use crate::workflow::Mode;

use super::Run;

/// Results of all sessions that wait at a time. An agent calls a few tools at once; one that offers more gets what is
/// over this as it is, and nothing grows without bound.
pub(super) const WAITING: usize = 64;

impl Run {
    /// Asks about an item, or says at once that it stays: where nobody works any more, nobody's context is spared.
    pub(super) fn offered(&mut self, session: &SessionId, item: &ItemView) {
        let phase = self.phase_of(session).filter(|p| self.has_live_session(*p));
        let known = self.offers.values().any(|waiting| waiting.id == item.id);
        match phase {
            Some(p) if !self.stopping && self.ending.is_none() && !known && self.offers.len() < WAITING => {
                let request = self.ask_compaction(p, vec![item.clone()]);
                self.offers.insert(request, item.clone());
            }
            _ => self.place(item.id.clone(), false),
        }
    }

    /// Takes the answer about an item; false where the question was about something else.
    pub(super) fn placed(&mut self, request: RequestId, result: &Result<Decision, Fault>) -> bool {
        let Some(item) = self.offers.remove(&request) else { return false };
        let offload = says_offload(&item, result);
        self.place(item.id, offload);
        true
    }

    fn place(&mut self, item: String, offload: bool) {
        self.emit(Action::Place { item, offload });
    }
}

/// Whether an answer replaces exactly this item. Another id, one more, or a fault replaces nothing.
pub fn says_offload(item: &ItemView, result: &Result<Decision, Fault>) -> bool {
    let Ok(Decision::Compaction(decision)) = result else { return false };
    matches!(&decision.action, CompactionAction::Offload { items } if items.as_slice() == [item.id.clone()])
}

/// The same question for an item of a client that works in no run: nothing is known of its context.
pub fn question_alone(item: ItemView) -> Question {
    let session = SessionView {
        agent: String::new(),
        role: String::new(),
        state: SessionState::Working,
        capabilities: Default::default(),
        occupancy: OccupancyView::default(),
        continuation: 0,
        prompts: 0,
        turns: 0,
        max_turns: 0,
        compactions: 0,
        turns_since_compaction: 0,
        billed_input_tokens: 0,
        billed_output_tokens: 0,
        idle_ms: 0,
        active_ms: 0,
        exit: None,
        recent: Vec::new(),
    };
    let phase = PhaseView {
        id: PhaseId::new("none"),
        title: String::new(),
        mode: Mode::default().name().to_owned(),
        depth: 0,
        budget: BudgetView {
            turns: 0,
            turns_used: 0,
            continuations: 0,
            continuations_used: 0,
            retries: 0,
            retries_used: 0,
        },
        progress: ProgressView { done: 0, open: 1, failed: 0, done_by_session: 0 },
        expects_files: false,
    };
    let observation = CompactionObservation {
        session,
        phase,
        refilled_within_turns: 0,
        items: vec![item],
        attributes: Attributes::default(),
    };
    Question { ask: Ask::Compaction(Box::new(observation)), texts: Vec::new() }
}
