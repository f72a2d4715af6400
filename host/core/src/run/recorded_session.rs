//! A session outside of a run: what a recorded stream comes to. It is folded as in a run and seen as in a run; nothing
//! is asked of the recorded agent, and nothing is known but what its stream says.

use std::collections::BTreeSet;

use crate::facts::{AgentEvent, ProcessExit, SignalSource};
use crate::ids::{RoleName, Seq, SessionId};
use crate::observation::{
    AssessTrigger, Attributes, OccupancyView, PolicyQuery, PolicyRequest, SessionObservation, SessionState,
    TextId,
};
use crate::text::TextBlob;
use crate::time::UnixMs;
use crate::workflow::AgentKind;

use super::session::Session;
use super::session_view::placeholder_phase_view;

/// Files that are counted one by one; a session that writes more has changed enough to show for it.
const FILES: usize = 1024;

/// Folds one recorded session.
#[derive(Clone, Debug)]
pub struct RecordedSession {
    /// The agent's name, for the policy.
    agent: String,
    session: Session,
    /// Events so far; an event's number is its `seq`.
    seq: Seq,
    at: UnixMs,
    utc_offset_minutes: i32,
    /// A prompt has ended, and nothing shows yet that there is another one.
    is_between_prompts: bool,
    /// What came since then, and belongs to the next prompt if there is one.
    deferred_events: Vec<(Seq, AgentEvent)>,
    /// What was written in the current prompt, as far as the tools say.
    written: BTreeSet<String>,
    /// Calls of tools in the current prompt that may have written something and do not say.
    opaque_calls: u32,
}

impl RecordedSession {
    /// Of an agent of this name. `at` is when the recording is said to have been made: a recording has no times, and
    /// "resets 3:45pm" needs one.
    pub fn new(agent: &str, at: UnixMs, utc_offset_minutes: i32) -> Self {
        let mut session = Session::new(
            SessionId::new("recorded"),
            RoleName::new("recorded"),
            AgentKind::Rehearsal,
            0,
            0,
            None,
            at,
        );
        session.begin_prompt(at);
        Self {
            agent: agent.to_owned(),
            session,
            seq: Seq(0),
            at,
            utc_offset_minutes,
            is_between_prompts: false,
            deferred_events: Vec::new(),
            written: BTreeSet::new(),
            opaque_calls: 0,
        }
    }

    /// Takes the next event. A recording may hold several prompts: a new one begins where the agent is at work again
    /// after it had answered.
    pub fn take(&mut self, event: AgentEvent) {
        self.seq = self.seq.next();
        if !self.is_between_prompts {
            return self.fold(self.seq, &event);
        }
        let speaks_of_error = |event: &AgentEvent| {
            matches!(event, AgentEvent::Signal(signal)
                if matches!(signal.channel, SignalSource::AgentEvent | SignalSource::ProviderError))
        };
        if Session::is_output(&event) || matches!(event, AgentEvent::PromptEnded { .. }) {
            self.is_between_prompts = false;
            self.written.clear();
            self.opaque_calls = 0;
            self.session.begin_prompt(self.at);
            self.fold_deferred();
            self.fold(self.seq, &event);
        } else if speaks_of_error(&event) && self.deferred_events.len() < FILES {
            self.deferred_events.push((self.seq, event));
        } else {
            self.fold(self.seq, &event);
        }
    }

    fn fold_deferred(&mut self) {
        for (seq, event) in std::mem::take(&mut self.deferred_events) {
            self.fold(seq, &event);
        }
    }

    fn fold(&mut self, seq: Seq, event: &AgentEvent) {
        self.session.observe(seq, self.at, event);
        match event {
            AgentEvent::ToolCall { writes: Some(path), .. } if self.written.len() < FILES => {
                self.written.insert(path.clone());
            }
            AgentEvent::ToolCall { reads: None, .. } => {
                self.opaque_calls = self.opaque_calls.saturating_add(1)
            }
            AgentEvent::PromptEnded { .. } => {
                self.is_between_prompts = true;
                self.session.state = SessionState::Idle;
            }
            _ => {}
        }
    }

    /// The fill of the window at the end of the recording.
    pub fn occupancy(&self) -> OccupancyView {
        self.session.occupancy(self.at)
    }

    /// The recording is over: the question that a run would put now. `exit` is how the process ended, where that is
    /// known; without it a stream that breaks off in the middle of a prompt counts as ended.
    pub fn question(mut self, exit: Option<ProcessExit>) -> PolicyRequest {
        self.fold_deferred();
        let broke_off =
            (!self.is_between_prompts).then_some(ProcessExit { code: None, signal: None, by_host: false });
        let occasion = match exit.or(broke_off) {
            Some(exit) => {
                self.session.end(exit, "");
                AssessTrigger::SessionEnded
            }
            None => AssessTrigger::PromptEnded,
        };
        self.ask(
            occasion,
            u32::try_from(self.written.len()).unwrap_or(u32::MAX).saturating_add(self.opaque_calls),
        )
    }

    /// One remark in a session that has otherwise something to show: what follows from it alone?
    pub fn question_after_signal(self) -> PolicyRequest {
        self.ask(AssessTrigger::PromptEnded, 1)
    }

    fn ask(&self, occasion: AssessTrigger, files_changed: u32) -> PolicyRequest {
        let (signals, window) = self.session.signals(self.seq, self.at);
        let mut session = self.session.view(self.at, 0);
        session.agent.clone_from(&self.agent);
        let observation = SessionObservation {
            occasion,
            session,
            phase: placeholder_phase_view("recorded"),
            signals,
            window: TextId(0),
            answer_bytes: self.session.answer_bytes,
            files_changed,
            phase_files_changed: files_changed,
            files_missing: 0,
            objectives: Vec::new(),
            others_open: Vec::new(),
            handoff_reported: false,
            handoff: None,
            nudges: 0,
            asked_at_ms: self.at,
            utc_offset_minutes: self.utc_offset_minutes,
            git: None,
            split_request: None,
            review_missing: false,
            report_not_taken: None,
            imported: false,
            attributes: Attributes::default(),
        };
        PolicyRequest::new(PolicyQuery::Exhaustion(Box::new(observation)), vec![TextBlob::new(window)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::ErrorSignal;

    fn text(text: &str) -> AgentEvent {
        AgentEvent::Text { text: text.into() }
    }

    fn ended(stop_reason: &str, is_error: bool) -> AgentEvent {
        AgentEvent::PromptEnded { stop_reason: stop_reason.into(), is_error }
    }

    fn error(code: &str) -> AgentEvent {
        AgentEvent::Signal(ErrorSignal {
            channel: SignalSource::ProviderError,
            code: code.into(),
            status: None,
            resets_at: None,
            retrying: false,
            text: String::new(),
        })
    }

    fn observation(events: Vec<AgentEvent>, exit: Option<ProcessExit>) -> SessionObservation {
        let mut recording = RecordedSession::new("acp", UnixMs(1), 0);
        events.into_iter().for_each(|event| recording.take(event));
        match recording.question(exit).query {
            PolicyQuery::Exhaustion(observation) => *observation,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_last_prompt_is_judged_by_its_own_signals() {
        // A4
        let seen = observation(
            vec![
                text("one"),
                ended("end_turn", false),
                error("context_length_exceeded"),
                ended("error", true),
            ],
            None,
        );
        assert_eq!(
            (seen.occasion, seen.session.prompts, seen.answer_bytes),
            (AssessTrigger::PromptEnded, 2, 0)
        );
        let of_it: Vec<_> =
            seen.signals.iter().filter(|s| s.prompt == 2).filter_map(|s| s.code.as_deref()).collect();
        assert_eq!(of_it, ["context_length_exceeded", "error"]);
    }

    #[test]
    fn what_comes_after_an_answer_does_not_make_a_prompt() {
        let seen =
            observation(vec![text("one"), ended("end_turn", false), error("rate_limit_warning")], None);
        assert_eq!((seen.session.prompts, seen.answer_bytes, seen.signals.len()), (1, 3, 3));
    }

    #[test]
    fn a_stream_that_breaks_off_has_ended() {
        let seen = observation(vec![text("half an ans")], None);
        assert_eq!((seen.occasion, seen.session.state), (AssessTrigger::SessionEnded, SessionState::Ended));
    }

    #[test]
    fn a_tool_that_does_not_say_what_it_writes_may_have_written() {
        let call = |reads: Option<&str>, writes: Option<&str>| AgentEvent::ToolCall {
            id: "1".into(),
            name: "tool".into(),
            reads: reads.map(Into::into),
            writes: writes.map(Into::into),
            command: None,
        };
        let calls =
            vec![call(Some("a"), None), call(None, Some("b")), call(None, Some("b")), call(None, None)];
        assert_eq!(observation(calls, None).files_changed, 2);
    }
}
