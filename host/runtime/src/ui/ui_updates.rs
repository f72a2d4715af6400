//! Updates for the renderer: notices are kept until it takes them, views are replaced by newer ones. A slow renderer delays the
//! run only after a very large backlog, and the loop does not wait for one that is gone.

use std::time::Duration;

use baton_core::progress::ProgressEvent;
use baton_core::view::RunView;
use baton_core::{Run, UnixMs};
use tokio::sync::mpsc;

use crate::config::RunUpdate;
use crate::ui::notifier::rings_bell;

/// Beyond this many notices the host waits for the renderer: hours of work, held back by a terminal that was stopped.
const NOTICES: usize = 10_000;
/// The last news of a run is offered this long.
const FINAL_SEND_TIMEOUT: Duration = Duration::from_secs(5);

/// Keeps news until the renderer has room.
#[derive(Debug)]
pub(crate) struct UpdateQueue {
    updates: mpsc::Sender<RunUpdate>,
    notices: Vec<ProgressEvent>,
}

impl UpdateQueue {
    pub(crate) fn new(updates: mpsc::Sender<RunUpdate>) -> Self {
        Self { updates, notices: Vec::new() }
    }

    pub(crate) fn add(&mut self, notices: Vec<ProgressEvent>) {
        if !self.updates.is_closed() {
            self.notices.extend(notices);
        }
    }

    /// Something waits for the renderer.
    pub(crate) fn waits(&self) -> bool {
        !self.notices.is_empty()
    }

    /// So much waits that nothing more should be taken in.
    pub(crate) fn is_full(&self) -> bool {
        self.notices.len() >= NOTICES
    }

    /// Resolves when the renderer has room, or is gone.
    pub(crate) async fn room(&self) {
        // The permit is given back at once: there is no other sender.
        let _ = self.updates.reserve().await;
    }

    /// Hands over what waits, if the renderer has room. `always` hands over a view without news as well.
    pub(crate) fn offer(&mut self, run: &Run, at: UnixMs, always: bool) {
        if !(self.waits() || always) {
            return;
        }
        match self.updates.try_reserve() {
            Ok(permit) => {
                if let Some(view) = run.view(at) {
                    let notices = std::mem::take(&mut self.notices);
                    let bell = rings_bell(&run.workflow().notify, &notices);
                    permit.send(RunUpdate { at, notices, view, bell });
                }
            }
            Err(mpsc::error::TrySendError::Full(())) => {}
            Err(mpsc::error::TrySendError::Closed(())) => self.notices.clear(),
        }
    }

    /// Hands over the rest, and waits a while for it to be taken.
    pub(crate) async fn send_final(mut self, run: &Run, view: RunView, at: UnixMs) {
        let notices = std::mem::take(&mut self.notices);
        let bell = rings_bell(&run.workflow().notify, &notices);
        let update = RunUpdate { at, notices, view, bell };
        let _ = tokio::time::timeout(FINAL_SEND_TIMEOUT, self.updates.send(update)).await;
    }
}

#[cfg(test)]
mod tests {
    use baton_core::action::RunOutcome;
    use baton_core::{JournaledInput, RunId, Seq};

    use super::*;
    use crate::test_support;

    fn started() -> Run {
        let input = test_support::started(&RunId::new("r"));
        let mut run = Run::new();
        run.apply(&JournaledInput { seq: Seq(1), at: UnixMs(1), input }).unwrap();
        run
    }

    #[tokio::test]
    async fn a_slow_renderer_gets_every_notice_and_only_the_newest_view() {
        let run = started();
        let notice = || ProgressEvent::Finished { ending: RunOutcome::Done };
        let (updates, mut renderer) = mpsc::channel(1);
        let mut ui_updates = UpdateQueue::new(updates);
        for at in 1..=4 {
            ui_updates.add(vec![notice()]);
            ui_updates.offer(&run, UnixMs(at), false);
        }
        assert!(ui_updates.waits());
        assert_eq!(renderer.recv().await.unwrap().notices.len(), 1);
        ui_updates.room().await;
        ui_updates.offer(&run, UnixMs(9), false);
        let late = renderer.recv().await.unwrap();
        assert_eq!((late.notices.len(), late.at), (3, UnixMs(9)));

        drop(renderer);
        ui_updates.add(vec![notice()]);
        ui_updates.room().await;
        assert!(!ui_updates.waits(), "a renderer that is gone holds nothing up");
    }
}
