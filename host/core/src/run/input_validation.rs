//! Which inputs can happen in which state. Looks, and changes nothing.

use crate::ids::Seq;
use crate::input::{Input, JournaledInput, PauseAnswer};

use super::Run;

/// An input that cannot happen in this state: a broken journal or a mistake of the host, never of an agent or a
/// policy. The state is unchanged.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("entry {seq}: {input} cannot happen here: {why}")]
pub struct IllegalInput {
    /// Position of the input.
    pub seq: Seq,
    /// Name of the input.
    pub input: &'static str,
    /// Why not.
    pub why: String,
}

impl Run {
    /// Everything that makes an input illegal, before anything is changed.
    pub(super) fn check(&self, stamped: &JournaledInput) -> Result<(), IllegalInput> {
        let refuse = |input, why: String| Err(IllegalInput { seq: stamped.seq, input, why });
        let name = stamped.input.name();
        if stamped.seq <= self.seq {
            return refuse(name, format!("its position is not after {}", self.seq));
        }
        match &stamped.input {
            Input::Started { .. } if self.is_started() => refuse(name, "the run has started".into()),
            Input::Started { workflow, .. } if workflow.phases.is_empty() => {
                refuse(name, "the workflow has no phase".into())
            }
            Input::Started { .. } => Ok(()),
            _ if !self.is_started() => refuse(name, "the run has not started".into()),
            Input::Outcome { action, .. } if !self.open_intents.contains_key(action) => {
                refuse(name, format!("intent {action} waits for no outcome"))
            }
            Input::Agent { session, .. }
            | Input::SessionEnded { session, .. }
            | Input::ToolResultOffered { session, .. }
                if !self.sessions.contains_key(session) =>
            {
                refuse(name, format!("there is no session {session}"))
            }
            Input::Decided { request_id, .. } if *request_id > self.last_request_id => {
                refuse(name, format!("question {request_id} was never put"))
            }
            Input::Answered { question, choice, message } => match self.user_questions.get(question) {
                _ if message.is_some() && *choice != PauseAnswer::Retry => {
                    refuse(name, "a message goes to the agent that goes on: with `retry`".to_owned())
                }
                None => refuse(name, format!("there is no open question {question}")),
                Some(open) if !open.choices.contains(choice) => {
                    let words: Vec<_> = open.choices.iter().map(|c| c.name()).collect();
                    refuse(name, format!("question {question} takes {}", words.join(", ")))
                }
                Some(_) => Ok(()),
            },
            Input::WorkLost { phase, .. } if self.phase_index(phase).is_none() => {
                refuse(name, format!("there is no phase {phase}"))
            }
            _ => Ok(()),
        }
    }
}
