//! Sessions and their prompts: the recorded agent's events, in their order, and its recorded end. A run leaves the recording if
//! core ends a session that continues in the recording.

use baton_core::facts::{AgentEvent, ChangedFile, ProcessExit};
use baton_core::input::PauseAnswer;
use baton_core::{ActionId, ActionOutcome, Input, SessionId};

use super::ImportPlayer;
use crate::import::ImportError;
use crate::import::timeline::{TimelineEvent, TimelineSession};

/// Maximum number of files that the facts name; of further ones only the count is given, as in a real workspace.
const FILES_NAMED: usize = 500;

/// Exit of a process whose end is not recorded.
const UNKNOWN_EXIT: ProcessExit = ProcessExit { code: None, signal: None, by_host: false };

impl ImportPlayer<'_> {
    /// Begins the next session of the recording, if there is one.
    pub(super) fn spawn(&mut self, action: ActionId, id: &SessionId) -> Result<(), ImportError> {
        let Some(session) =
            self.script.sessions.get(self.sessions_started).filter(|_| !self.is_off_recording)
        else {
            let error = match self.is_off_recording {
                true => "the recorded agent goes on in the session that the run has ended",
                false => "the recording has no further session",
            };
            if !self.is_off_recording {
                self.set_stop_reason("the recording has no further session".to_owned());
            }
            return self.outcome(action, ActionOutcome::Unstartable { error: error.to_owned() });
        };
        self.sessions_started += 1;
        self.prompt = 0;
        self.at_work = Some(id.clone());
        self.played.sessions += 1;
        self.place = (session.file, session.startup.first().map_or(self.place.1, |told| told.line));
        let capabilities = self.setting.format.capabilities();
        self.outcome(action, ActionOutcome::Spawned { group: 0, started: 0, capabilities })?;
        self.emit_events(session, &session.startup)?;
        if !session.was_ready() {
            return self.end(session, id);
        }
        if !session.has_ready_event {
            let event = AgentEvent::Ready { agent_session: None, model: None, version: None };
            self.take(Input::Agent { session: id.clone(), event })?;
            self.answer_questions()?;
        }
        Ok(())
    }

    /// What came of the prompt: the next one of the recording. With the last one the process ends as it did.
    pub(super) fn prompt(&mut self, action: ActionId, id: &SessionId) -> Result<(), ImportError> {
        let next = self.pending_prompts().and_then(<[_]>::first);
        let (Some(told), Some(session)) =
            (next, self.sessions_started.checked_sub(1).map(|at| &self.script.sessions[at]))
        else {
            let error = "the recording shows no further prompt in this session".to_owned();
            return self.outcome(action, ActionOutcome::Failed { error });
        };
        self.prompt += 1;
        self.played.prompts += 1;
        self.outcome(action, ActionOutcome::Delivered)?;
        self.emit_events(session, told)?;
        if self.prompt == session.prompts.len() {
            self.end(session, id)?;
        }
        Ok(())
    }

    fn emit_events(&mut self, session: &TimelineSession, told: &[TimelineEvent]) -> Result<(), ImportError> {
        let Some(id) = self.at_work.clone() else { return Ok(()) };
        for one in told {
            self.place = (session.file, one.line);
            self.advance_time(one.at);
            self.note_tool_writes(&one.event);
            self.played.events += 1;
            self.take(Input::Agent { session: id.clone(), event: one.event.clone() })?;
            self.answer_questions()?;
        }
        Ok(())
    }

    fn end(&mut self, session: &TimelineSession, id: &SessionId) -> Result<(), ImportError> {
        self.place = (session.file, session.last_line);
        if session.exit.is_none() {
            self.note(
                "nothing says how the process ended; it counts as ended without an exit code".to_owned(),
            );
        }
        let exit = session.exit.unwrap_or(UNKNOWN_EXIT);
        self.take(Input::SessionEnded { session: id.clone(), exit })?;
        self.answer_questions()
    }

    /// Core ends a session. If the session continues in the recording, the run leaves the recording here.
    pub(super) fn on_end_request(
        &mut self,
        action: ActionId,
        id: &SessionId,
        reason: &str,
    ) -> Result<(), ImportError> {
        self.outcome(action, ActionOutcome::Delivered)?;
        if !self.played.run.live_sessions().contains(&id) {
            return Ok(());
        }
        if let Some([next, ..]) = self.pending_prompts() {
            let judged = self.played.verdicts.last();
            let judged =
                judged.map(|last| format!(" ({}: {})", last.verdict, last.reason)).unwrap_or_default();
            self.is_off_recording = true;
            self.place.1 = next.first().map_or(self.place.1, |told| told.line);
            self.set_stop_reason(format!(
                "the recorded agent goes on in the same session, and the run has ended it: {reason}{judged}"
            ));
        }
        let exit = ProcessExit { by_host: true, ..UNKNOWN_EXIT };
        self.take(Input::SessionEnded { session: id.clone(), exit })
    }

    /// Core asks the user. If the recording continues, the answer is to retry; else it is to stop.
    pub(super) fn on_user_question(
        &mut self,
        action: ActionId,
        question: &str,
        choices: &[PauseAnswer],
    ) -> Result<(), ImportError> {
        self.outcome(action, ActionOutcome::Announced)?;
        let goes_on = self.has_more() && choices.contains(&PauseAnswer::Retry);
        let choice = match goes_on {
            true => PauseAnswer::Retry,
            false => PauseAnswer::Stop,
        };
        if goes_on {
            self.note(format!("a person would have been asked: {question} The recording goes on."));
        } else if self.played.stopped.is_none() {
            self.set_stop_reason(format!("a person would have been asked: {question}"));
        }
        self.take(Input::Answered { question: action, choice, message: None })
    }

    /// Records the files that tools report as written. A tool without such a report may have changed anything.
    fn note_tool_writes(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::ToolCall { writes: Some(path), .. } => {
                let is_named = self.facts.changed.len() < FILES_NAMED && self.written.insert(path.clone());
                if is_named {
                    let file = ChangedFile {
                        path: path.clone(),
                        bytes: 0,
                        exists: true,
                        digest: None,
                        is_new: false,
                    };
                    self.facts.changed.push(file);
                } else {
                    self.facts.changed_beyond = self.facts.changed_beyond.saturating_add(1);
                }
            }
            AgentEvent::ToolCall { reads: None, .. } => {
                self.facts.changed_beyond = self.facts.changed_beyond.saturating_add(1);
            }
            _ => {}
        }
    }
}
