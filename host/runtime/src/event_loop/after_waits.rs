//! What a person may have changed: files of the workspace are restored while a run waits for hours, or while agents are at work (A11).

use crate::error::RuntimeError;
use crate::lost_work::IdleTime;

use super::EventLoop;

impl EventLoop {
    /// Before the wait is over for core. An agent that goes on, or a run that ends by what comes next, may not be ahead of it: the loop
    /// waits for this look, which is short where every file is as work left it.
    pub(super) async fn note_lost_work(&mut self) -> Result<(), RuntimeError> {
        let now = self.recorder.clock().now();
        let Some(idle) = IdleTime::of_wait(self.recorder.run(), now) else { return Ok(()) };
        for input in self.lost_work.find(self.recorder.run(), idle).await {
            self.record_input(input)?;
        }
        Ok(())
    }
}
