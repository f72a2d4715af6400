//! Before the run ends, the host checks the files of its finished phases: the user, an agent or a check may have restored them
//! at any moment (A11).

use baton_core::Input;

use crate::control::message::ControlMessage;
use crate::control::offline_answer::resolve_question;
use crate::error::RuntimeError;

use super::EventLoop;

impl EventLoop {
    /// Takes an input that may be the last one. Lost work is recorded first, so that the run asks instead of ending.
    pub(super) async fn record_last(&mut self, input: Input) -> Result<(), RuntimeError> {
        self.note_undone_work(&input).await?;
        self.record_input(input)
    }

    /// The same before an answer of the user.
    pub(super) async fn look_before_answer(&mut self, message: &ControlMessage) -> Result<(), RuntimeError> {
        let ControlMessage::Answer { question, choice, message, .. } = message else { return Ok(()) };
        // A wrong answer is refused when it is taken.
        let Ok(question) = resolve_question(self.recorder.run(), *question, *choice) else { return Ok(()) };
        self.note_undone_work(&Input::Answered { question, choice: *choice, message: message.clone() }).await
    }

    async fn note_undone_work(&mut self, input: &Input) -> Result<(), RuntimeError> {
        if !self.recorder.run().may_end_soon() {
            return Ok(());
        }
        let next = self.recorder.preview(input.clone());
        if let Some(next) = next.filter(|run| run.ending().is_some()) {
            for lost in self.lost_work.find_undone(&next).await {
                self.record_input(lost)?;
            }
        }
        Ok(())
    }
}
