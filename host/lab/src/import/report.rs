//! The report of an import: what was played, what the recording decided itself, which facts were missing, and where the run
//! ends.

use baton_core::SessionId;
use baton_core::view::RunStatus;
use baton_core::workflow::ImportedRecording;
use serde::Serialize;

/// Notes that are kept to be shown; the rest is counted.
pub const NOTES_KEPT: usize = 20;

/// What an import came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportReport {
    /// From which files.
    pub imported: ImportedRecording,
    /// Status of the run.
    pub status: RunStatus,
    /// Sessions of the run.
    pub sessions: u32,
    /// Sessions of the recording.
    pub sessions_recorded: u32,
    /// Prompts of the run.
    pub prompts: u32,
    /// Prompts of the recording.
    pub prompts_recorded: u32,
    /// What the recorded agents said that is in the run.
    pub events: u64,
    /// Rows of its journal.
    pub entries: u64,
    /// Questions that were answered.
    pub decisions: u64,
    /// Those of them that the recording answered, since a policy would have gone another way.
    pub decisions_of_the_recording: u64,
    /// Lines in which a secret was masked.
    pub masked_lines: u64,
    /// What the policy says of each prompt and session that ended.
    pub verdicts: Vec<ImportedVerdict>,
    /// Notes to the user, in the order of the recording.
    pub notes: Vec<ImportNote>,
    /// How many more notes there are.
    pub notes_beyond: u64,
    /// Where the run ends before its work is done, and why.
    pub stopped: Option<ImportNote>,
}

/// A verdict on what ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ImportedVerdict {
    /// In which file.
    pub file: String,
    /// Line in the file, from 1.
    pub line: u64,
    /// The session in the run.
    pub session: Option<SessionId>,
    /// Number of the prompt in its session, from 1; 0 if the session got none.
    pub prompt: u32,
    /// The verdict by its name; `completed` or `unfinished` of a prompt that was answered.
    pub verdict: &'static str,
    /// The policy's reason.
    pub reason: String,
}

/// A note to the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportNote {
    /// About which file.
    pub file: String,
    /// Line in the file, from 1.
    pub line: u64,
    /// Text of the note.
    pub what: String,
}

/// Notes as they are collected.
#[derive(Clone, Debug, Default)]
pub(super) struct ImportNotes {
    pub(super) notes: Vec<ImportNote>,
    pub(super) omitted: u64,
}

impl ImportNotes {
    /// One more; one that was made before at the same place is not made again.
    pub(super) fn add(&mut self, note: ImportNote) {
        if self.notes.contains(&note) {
            return;
        }
        match self.notes.len() < NOTES_KEPT {
            true => self.notes.push(note),
            false => self.omitted += 1,
        }
    }
}
