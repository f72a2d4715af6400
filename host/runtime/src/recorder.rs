//! Holds the run and its journal together: every input is stamped, applied and journaled with the intents that follow from it,
//! in one transaction. Performs nothing; intents may be performed only after [`RunRecorder::commit`].

use baton_core::progress::ProgressEvent;
use baton_core::run::IllegalInput;
use baton_core::{Action, Input, Intent, JournaledInput, Run, RunId, Seq};
use baton_store::{Durability, Journal, JournalEntry, StoreError};
use tokio::sync::{mpsc, oneshot};

use crate::clock::InputClock;
use crate::error::RuntimeError;
use crate::projection::RunTimeline;
use crate::recovery::RecoveredRun;

/// What is to be done after the next commit.
#[derive(Debug, Default)]
pub(crate) struct PendingEffects {
    /// To be performed, in order. Questions to a policy are among them.
    pub(crate) intents: Vec<Intent>,
    /// Notices to be sent, in order.
    pub(crate) notices: Vec<ProgressEvent>,
    /// Something happened that matters beyond an agent's stream.
    pub(crate) has_significant_input: bool,
}

/// A run with its place in the journal.
pub(crate) struct RunRecorder {
    run: Run,
    id: RunId,
    journal: Journal,
    clock: InputClock,
    seq: Seq,
    timeline: RunTimeline,
    batch: Vec<JournalEntry>,
    is_durable: bool,
    due: PendingEffects,
    /// The first error of an append that was not awaited. One place is enough: the first one ends the run.
    refused: (mpsc::Sender<StoreError>, mpsc::Receiver<StoreError>),
}

impl RunRecorder {
    /// Goes on after the last entry of a run as folded from the journal. A new run begins with the default.
    pub(crate) fn new(folded: RecoveredRun, id: RunId, journal: Journal) -> Self {
        Self {
            run: folded.run,
            id,
            journal,
            clock: InputClock::after(folded.last.1),
            seq: folded.last.0,
            timeline: folded.timeline,
            batch: Vec::new(),
            is_durable: false,
            due: PendingEffects::default(),
            refused: mpsc::channel(1),
        }
    }

    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    pub(crate) fn id(&self) -> &RunId {
        &self.id
    }

    pub(crate) fn timeline(&self) -> &RunTimeline {
        &self.timeline
    }

    pub(crate) fn clock(&mut self) -> &mut InputClock {
        &mut self.clock
    }

    /// Something waits for a commit.
    pub(crate) fn has_batch(&self) -> bool {
        !self.batch.is_empty()
    }

    /// The run as it would be after an input; none if core refuses the input.
    pub(crate) fn preview(&mut self, input: Input) -> Option<Run> {
        let mut run = self.run.clone();
        let stamped = JournaledInput { seq: self.seq.next(), at: self.clock.now(), input };
        run.apply(&stamped).ok()?;
        Some(run)
    }

    /// Stamps an input, applies it, and puts it with its intents into the batch. On an error nothing has changed.
    pub(crate) fn record(&mut self, input: Input) -> Result<(), IllegalInput> {
        let seq = self.seq.next();
        let stamped = JournaledInput { seq, at: self.clock.now(), input };
        let intents = self.run.apply(&stamped)?;
        self.timeline.note(&self.run, &stamped, &intents);
        self.seq = seq;
        let at = stamped.at;
        self.is_durable |= matters(&stamped.input);
        self.batch.push(JournalEntry::Input(stamped));
        for intent in intents {
            match intent.action {
                Action::Notify(notice) => {
                    // A finished objective is on disk before any notice of it, whatever reported it.
                    self.is_durable |= RunTimeline::matters(&notice);
                    self.due.notices.push(notice);
                }
                _ => {
                    self.is_durable |= intent.action.is_durable();
                    self.seq = self.seq.next();
                    self.batch.push(JournalEntry::Intent { seq: self.seq, at, intent: intent.clone() });
                    self.due.intents.push(intent);
                }
            }
        }
        Ok(())
    }

    /// Appends the batch in one transaction. If the batch holds a significant input, returns only when it is on disk; only then
    /// may the returned effects be performed.
    pub(crate) async fn commit(&mut self) -> Result<PendingEffects, RuntimeError> {
        if let Ok(error) = self.refused.1.try_recv() {
            return Err(self.stopped(error));
        }
        if self.batch.is_empty() {
            return Ok(std::mem::take(&mut self.due));
        }
        let batch = std::mem::take(&mut self.batch);
        if std::mem::take(&mut self.is_durable) {
            let (done, committed) = oneshot::channel();
            self.journal.append(&self.id, batch, Durability::Durable, |result| {
                // The receiver is gone only if the host is ending anyway.
                let _ = done.send(result);
            });
            match committed.await {
                Ok(Ok(())) => self.due.has_significant_input = true,
                Ok(Err(error)) => return Err(self.stopped(error)),
                Err(_) => {
                    return Err(self.stopped(StoreError::Closed { path: self.journal.path().to_owned() }));
                }
            }
        } else {
            let refused = self.refused.0.clone();
            self.journal.append(&self.id, batch, Durability::Telemetry, move |result| {
                if let Err(error) = result {
                    let _ = refused.try_send(error);
                }
            });
        }
        Ok(std::mem::take(&mut self.due))
    }

    /// The journal; for data that must be kept before an input can name it.
    pub(crate) fn journal(&self) -> Journal {
        self.journal.clone()
    }

    /// Waits until everything that was appended is on disk. Blocking.
    pub(crate) fn flush(&self) -> Result<(), RuntimeError> {
        self.journal.flush().map_err(|error| self.stopped(error))
    }

    fn stopped(&self, source: StoreError) -> RuntimeError {
        // The last entry that the journal reports; 0 if it cannot even be read.
        let intact = self.journal.last_seq(&self.id).unwrap_or_default();
        RuntimeError::JournalStopped { run: self.id.clone(), intact, source: source.into() }
    }
}

/// Whether the host must not continue before this input is on disk. An agent's stream is telemetry: if its end is lost, the
/// agent is lost as well. Outcomes of effects, reports of agents and answers of the user are not telemetry.
fn matters(input: &Input) -> bool {
    match input {
        Input::Agent { .. } | Input::Tick | Input::Decided { .. } | Input::ToolResultOffered { .. } => false,
        Input::Started { .. }
        | Input::Resumed
        | Input::WorkLost { .. }
        | Input::ClaimsUnmeasured { .. }
        | Input::Outcome { .. }
        | Input::SessionEnded { .. }
        | Input::Reported { .. }
        | Input::Answered { .. }
        | Input::ChangeRequested { .. }
        | Input::StopRequested
        | Input::SetAside
        | Input::PolicyChanged { .. }
        | Input::PolicyRefused { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use baton_core::UnixMs;
    use baton_core::facts::AgentEvent;
    use baton_store::JournalOptions;

    use super::*;
    use crate::test_support::{TestFixture, started};

    #[tokio::test]
    async fn what_is_due_comes_after_its_commit_and_with_its_input() {
        let (place, run) = (TestFixture::new(JournalOptions::default()), RunId::new("r1"));
        let mut recorder = place.recorder(&run);
        recorder.record(started(&run)).unwrap();
        assert_eq!(place.journal.last_seq(&run).unwrap(), Seq(0), "nothing is written before the commit");
        let due = recorder.commit().await.unwrap();
        let entries: Vec<JournalEntry> = place.journal.read(&run).unwrap().map(Result::unwrap).collect();
        let written: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry {
                JournalEntry::Intent { intent, .. } => Some(intent.id),
                JournalEntry::Input(_) => None,
            })
            .collect();
        let due: Vec<_> = due.intents.iter().map(|intent| intent.id).collect();
        assert!(!due.is_empty());
        assert_eq!(written, due, "every intent that is due is on disk");
        assert_eq!(place.journal.stats().synced_commits, 1);
        assert!(entries.iter().all(|entry| entry.at() > UnixMs(0)));
    }

    #[tokio::test]
    async fn an_input_that_is_refused_leaves_no_trace() {
        let (place, run) = (TestFixture::new(JournalOptions::default()), RunId::new("r1"));
        let mut recorder = place.recorder(&run);
        let event = AgentEvent::Compacting;
        recorder.record(Input::Agent { session: "s1".into(), event }).unwrap_err();
        assert!(!recorder.has_batch());
        recorder.record(started(&run)).unwrap();
        recorder.commit().await.unwrap();
        assert!(place.journal.last_seq(&run).unwrap() >= Seq(1));
    }

    #[tokio::test]
    async fn a_journal_without_room_stops_the_run_and_says_what_is_kept() {
        let options = JournalOptions { max_pages: Some(16), ..JournalOptions::default() };
        let (place, run) = (TestFixture::new(options), RunId::new("r1"));
        let mut recorder = place.recorder(&run);
        let mut input = started(&run);
        if let Input::Started { workflow, .. } = &mut input {
            workflow.goal = "g".repeat(1 << 20);
        }
        recorder.record(input).unwrap();
        let error = recorder.commit().await.unwrap_err();
        assert!(matches!(&error, RuntimeError::JournalStopped { intact: Seq(0), .. }), "{error}");
        let told = error.to_string();
        assert!(told.contains("start it again") && !told.contains("resume"), "{told}");
    }
}
