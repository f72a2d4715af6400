//! A run with its journal, as the recorder of the runtime holds them: stamped, applied, written down with what follows, in one
//! transaction. That one is private to the runtime; this one has no timeline.

use std::time::{SystemTime, UNIX_EPOCH};

use baton_core::{Action, Input, Intent, JournaledInput, Run, RunId, Seq, UnixMs};
use baton_store::{Durability, Journal, JournalEntry};
use tokio::sync::oneshot;

/// Holds a run and its journal together, as the recorder of the runtime does.
pub(crate) struct BenchRecorder {
    run: Run,
    pub(crate) id: RunId,
    journal: Journal,
    seq: Seq,
    pub(crate) batch: Vec<JournalEntry>,
    is_durable: bool,
    due: Vec<Intent>,
}

impl BenchRecorder {
    pub(crate) fn new(id: &RunId, journal: Journal) -> Self {
        let (run, batch, due) = (Run::new(), Vec::new(), Vec::new());
        Self { run, id: id.clone(), journal, seq: Seq(0), batch, is_durable: false, due }
    }

    pub(crate) fn take(&mut self, input: Input) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seq, at) = (self.seq.next(), UnixMs(since.as_millis() as u64));
        let stamped = JournaledInput { seq, at, input };
        let intents = self.run.apply(&stamped).expect("an input that can happen");
        self.seq = seq;
        self.is_durable |=
            !matches!(stamped.input, Input::Agent { .. } | Input::Decided { .. } | Input::Tick);
        self.batch.push(JournalEntry::Input(stamped));
        for intent in intents {
            if !matches!(intent.action, Action::Notify(_)) {
                self.is_durable |= intent.action.is_durable();
                self.seq = self.seq.next();
                self.batch.push(JournalEntry::Intent { seq: self.seq, at, intent: intent.clone() });
                self.due.push(intent);
            }
        }
    }

    /// What is due once the batch is on disk; where nothing in it matters, that is at once.
    pub(crate) async fn commit(&mut self) -> Vec<Intent> {
        let batch = std::mem::take(&mut self.batch);
        if std::mem::take(&mut self.is_durable) {
            let (done, committed) = oneshot::channel();
            self.journal.append(&self.id, batch, Durability::Durable, |result| _ = done.send(result));
            committed.await.expect("an answer").expect("a commit");
        } else if !batch.is_empty() {
            self.journal.append(&self.id, batch, Durability::Telemetry, |result| result.expect("a commit"));
        }
        std::mem::take(&mut self.due)
    }
}
