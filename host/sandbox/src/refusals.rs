//! What was refused, reported once each. A confined program can ask for anything as often as it likes; the host gets a
//! bounded number of different things.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::facts::{Refusal, RefusalKind};
use tokio::sync::mpsc;

/// Different refusals that are reported of one boundary.
const TOLD_MAX: usize = 200;
/// Most bytes of a refused target.
const TARGET_BYTES: usize = 512;

/// Receives the refusals.
pub type RefusalReceiver = mpsc::UnboundedReceiver<Refusal>;

/// Sends refusals. Clones send to the same receiver.
#[derive(Clone, Debug)]
pub(crate) struct RefusalSender {
    told: Arc<Mutex<HashSet<Refusal>>>,
    // Bounded by what is reported.
    listener: mpsc::UnboundedSender<Refusal>,
}

impl RefusalSender {
    pub(crate) fn new() -> (Self, RefusalReceiver) {
        let (listener, refused) = mpsc::unbounded_channel();
        (Self { told: Arc::default(), listener }, refused)
    }

    pub(crate) fn tell(&self, kind: RefusalKind, target: &str) {
        let mut target = target.to_owned();
        target.truncate(target.floor_char_boundary(TARGET_BYTES));
        let refusal = Refusal { kind, target };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.len() < TOLD_MAX && told.insert(refusal.clone()) {
            if told.len() == TOLD_MAX {
                let target =
                    format!("{} (the last that is told of {TOLD_MAX} different ones)", refusal.target);
                let _ = self.listener.send(Refusal { kind, target });
                return;
            }
            tracing::info!("the sandbox refused to {refusal}");
            // The receiver may have ended, with the session.
            let _ = self.listener.send(refusal);
        }
    }
}
