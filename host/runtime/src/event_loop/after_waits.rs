//! Changes by the user: files of the workspace may be restored while a run waits for hours, or while agents work (A11).

use crate::error::RuntimeError;
use crate::lost_work::IdleTime;

use super::EventLoop;

impl EventLoop {
    /// Looks for lost work before the wait is over for core, so that no agent continues and no run ends before it is known. The
    /// loop waits for this look, which is short if every file is as the work left it.
    pub(super) async fn note_lost_work(&mut self) -> Result<(), RuntimeError> {
        let now = self.recorder.clock().now();
        let Some(idle) = IdleTime::of_wait(self.recorder.run(), now) else { return Ok(()) };
        for input in self.lost_work.find(self.recorder.run(), idle).await {
            self.record_input(input)?;
        }
        Ok(())
    }
}
