//! A session that ended with its host, and not for want of context, continues in the agent's own conversation, if the agent can take one
//! up again. Where it cannot, its successor starts from a handoff, as after every other end.

use crate::observation::PromptKind;
use crate::workflow::AgentKind;

use super::Run;
use super::end_cause::EndCause;
use super::phase_list::PhaseIndex;
use super::resume::LOST;
use super::session::Session;
use super::successor_reason::SuccessorReason;

/// Why there is a session after one that was to continue a conversation.
pub(super) const NOT_RESUMED: &str = "the agent could not go on in its own conversation";

impl Run {
    /// The conversation that the next session of a phase can continue. One that is half full is better left, and so is one in which
    /// nothing was said yet.
    fn conversation(&self, p: PhaseIndex) -> Option<String> {
        let session = self.session(p)?;
        let can_resume =
            matches!(session.agent, AgentKind::Claude | AgentKind::Codex | AgentKind::Acp { .. });
        let is_same_agent = self.workflow.role_of(&self.phases[p].spec).agent == session.agent;
        let is_useful =
            session.has_worked() && !session.is_half_full() && !session.lost_context && !session.lead;
        (can_resume && is_same_agent && is_useful).then(|| session.agent_session.clone()).flatten()
    }

    /// The host is there again, and the session that was at work is gone.
    pub(super) fn resume_or_replace_session(&mut self, p: PhaseIndex) {
        let conversation = self.conversation(p);
        let may_go_on = !self.phases[p].is_finished()
            && !self.is_out_of_turns(p)
            && self.phases[p].split.request.is_none();
        match conversation.filter(|_| may_go_on) {
            Some(conversation) => {
                self.phases[p].succession.end_cause = EndCause::from_host(LOST);
                if !self.pause_at_ceiling(p) {
                    self.spawn_in(p, Some(conversation));
                }
            }
            None => self.replace_session(p, SuccessorReason::Uncounted, EndCause::from_host(LOST)),
        }
    }

    /// Whether a session that has ended was to continue a conversation that its agent could not load.
    pub(super) fn could_not_resume(&self, p: PhaseIndex) -> bool {
        self.session(p).is_some_and(|session| session.is_resumed && !session.has_worked())
    }

    /// What the first prompt is for of a session that continues a conversation: the agent remembers the rest.
    pub(super) fn is_resumed_conversation(&self, p: PhaseIndex, kind: PromptKind) -> bool {
        kind == PromptKind::Continuing && self.session(p).is_some_and(|session: &Session| session.is_resumed)
    }
}
