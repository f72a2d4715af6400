//! An entry of the journal and the row it becomes. The row is the versioned envelope: place, time and kind are
//! columns, `format` names the shape of the body, long texts stay outside by digest.

use baton_core::action::RunOutcome;
use baton_core::{
    Action, ActionId, ActionOutcome, Input, Intent, JournaledInput, RunId, Seq, TextBlob, UnixMs,
};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

/// Shape of the body that this code writes. Reading an older one is a step in `migrate`; a newer one is refused.
pub const FORMAT: u32 = 1;

/// A row of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case")]
pub enum JournalEntry {
    /// Something that core consumed, or is about to.
    Input(JournaledInput),
    /// Something that core wants done; committed before it is performed.
    Intent {
        /// Position in the journal; shared with the inputs.
        seq: Seq,
        /// When the host wrote it down.
        at: UnixMs,
        /// What.
        intent: Intent,
    },
}

impl JournalEntry {
    /// Position in the run's journal, from 1.
    pub fn seq(&self) -> Seq {
        match self {
            JournalEntry::Input(stamped) => stamped.seq,
            JournalEntry::Intent { seq, .. } => *seq,
        }
    }

    /// When it was written down.
    pub fn at(&self) -> UnixMs {
        match self {
            JournalEntry::Input(stamped) => stamped.at,
            JournalEntry::Intent { at, .. } => *at,
        }
    }
}

/// How long an append waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Committed with its neighbours, within 50 ms or 256 rows; a crash of the machine may lose the last of it, never
    /// the middle.
    Telemetry,
    /// Answered when it is on disk, and with it everything that was appended before.
    Durable,
}

/// The change that a row makes to the list of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunIndexUpdate {
    None,
    /// The run begins.
    Starts {
        run: RunId,
        workflow: String,
    },
    /// The run wants to end for good, with this action.
    Finishes(ActionId),
    /// An action is over; if it was the finishing one, the run has ended.
    Completes(ActionId),
}

/// An entry, ready to be inserted.
#[derive(Debug)]
pub(crate) struct JournalRow {
    pub(crate) seq: Seq,
    pub(crate) at: UnixMs,
    pub(crate) kind: &'static str,
    pub(crate) body: String,
    pub(crate) texts: Vec<TextBlob>,
    pub(crate) mark: RunIndexUpdate,
}

impl JournalRow {
    pub(crate) fn encode(run: &RunId, entry: &JournalEntry) -> Result<Self, StoreError> {
        let (kind, body, texts, mark) = match entry {
            JournalEntry::Input(stamped) => (
                "input",
                serde_json::to_string(&stamped.input),
                Vec::new(),
                RunIndexUpdate::of_input(&stamped.input),
            ),
            JournalEntry::Intent { intent, .. } => (
                "intent",
                serde_json::to_string(intent),
                intent.action.texts().into_iter().cloned().collect(),
                RunIndexUpdate::of_intent(intent),
            ),
        };
        let (seq, at) = (entry.seq(), entry.at());
        let body = body.map_err(|e| StoreError::BadEntry { run: run.clone(), seq, why: e.to_string() })?;
        Ok(Self { seq, at, kind, body, texts, mark })
    }
}

impl RunIndexUpdate {
    pub(crate) fn of_input(input: &Input) -> Self {
        match input {
            Input::Started { run, workflow, .. } => {
                RunIndexUpdate::Starts { run: run.clone(), workflow: workflow.name.clone() }
            }
            // A finish that was lost with its host did not happen: core finishes again.
            Input::Outcome { outcome: ActionOutcome::Lost, .. } => RunIndexUpdate::None,
            Input::Outcome { action, .. } => RunIndexUpdate::Completes(*action),
            _ => RunIndexUpdate::None,
        }
    }

    pub(crate) fn of_intent(intent: &Intent) -> Self {
        match &intent.action {
            // An interrupted run continues with `resume`.
            Action::Finish { ending: RunOutcome::Done | RunOutcome::Unfinished } => {
                RunIndexUpdate::Finishes(intent.id)
            }
            _ => RunIndexUpdate::None,
        }
    }
}

/// The columns of a row, as they were read.
pub(crate) struct RawJournalRow {
    pub(crate) seq: Seq,
    pub(crate) at: UnixMs,
    pub(crate) kind: String,
    pub(crate) format: u32,
    pub(crate) body: String,
}

/// A row, decoded as far as every reader needs it.
#[derive(Debug)]
pub enum EncodedEntry {
    /// Something that core consumed.
    Input(JournaledInput),
    /// Something that core wanted done: a reader that folds the inputs has it already, and only asks whether it is the same.
    Intent(EncodedIntent),
}

/// A recorded intent as the journal has it. [`JournalEntries::open`](crate::JournalEntries::open) decodes it.
#[derive(Debug)]
pub struct EncodedIntent {
    seq: Seq,
    at: UnixMs,
    body: String,
}

impl RawJournalRow {
    /// Gives the row back, its intent still sealed.
    pub(crate) fn unseal(self, run: &RunId) -> Result<EncodedEntry, StoreError> {
        let bad = |why: String| StoreError::BadRow { run: run.clone(), seq: self.seq, why };
        if self.format != FORMAT {
            return Err(bad(format!(
                "its body has format {}, and this baton reads format {FORMAT}",
                self.format
            )));
        }
        match self.kind.as_str() {
            "input" => {
                let input = serde_json::from_str(&self.body).map_err(|e| bad(e.to_string()))?;
                Ok(EncodedEntry::Input(JournaledInput { seq: self.seq, at: self.at, input }))
            }
            "intent" => {
                Ok(EncodedEntry::Intent(EncodedIntent { seq: self.seq, at: self.at, body: self.body }))
            }
            other => Err(bad(format!("its kind {other:?} is neither input nor intent"))),
        }
    }
}

impl EncodedIntent {
    /// Position in the run's journal.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// When it was written.
    pub fn at(&self) -> UnixMs {
        self.at
    }

    /// Whether this intent would have been written in the very same bytes. Texts are in them by digest. One that was
    /// written by an earlier version can be the same and say no: a caller that needs to know opens it.
    pub fn is_written_as(&self, intent: &Intent) -> bool {
        let mut rest = ExpectedBytes(self.body.as_bytes());
        serde_json::to_writer(&mut rest, intent).is_ok() && rest.0.is_empty()
    }

    /// Gives the intent back, its texts still without bodies.
    pub(crate) fn decode(&self, run: &RunId) -> Result<Intent, StoreError> {
        serde_json::from_str(&self.body).map_err(|e| StoreError::BadRow {
            run: run.clone(),
            seq: self.seq,
            why: e.to_string(),
        })
    }
}

/// The rest of the expected bytes: a writer that accepts these and no others.
struct ExpectedBytes<'a>(&'a [u8]);

impl std::io::Write for ExpectedBytes<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.strip_prefix(bytes).ok_or(std::io::ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
