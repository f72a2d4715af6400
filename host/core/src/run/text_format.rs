//! Parts of sentences that several transitions use.

use crate::input::ActionOutcome;
use crate::observation::ObjectiveStatus;

/// Characters of what a reviewer or a verification found that a notice quotes.
const TOLD_CHARS: usize = 200;
/// Bytes of a note that goes into a question, a prompt or a reason.
const NOTE_BYTES: usize = 300;
/// Files that a question or a finding names.
const NAMED: usize = 10;

pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cuts a text to its first `limit` bytes, on a character boundary.
pub(super) fn cut(text: &mut String, limit: usize) {
    text.truncate(text.floor_char_boundary(limit));
}

/// The last line that says something, cut for a person.
pub(super) fn tail_line(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
    line.trim().chars().take(TOLD_CHARS).collect()
}

/// A status, for people.
pub(super) fn words_of(status: ObjectiveStatus) -> &'static str {
    match status {
        ObjectiveStatus::Open => "open",
        ObjectiveStatus::InProgress => "in progress",
        ObjectiveStatus::Done => "done",
        ObjectiveStatus::Failed => "failed",
    }
}

pub(super) fn excerpt(note: &str) -> String {
    note[..note.floor_char_boundary(NOTE_BYTES)].to_owned()
}

/// What to tell of an outcome that is not the one that was hoped for.
pub(super) fn failure_text(outcome: &ActionOutcome) -> &str {
    match outcome {
        ActionOutcome::Failed { error } | ActionOutcome::Unstartable { error } => error,
        ActionOutcome::Lost => "it was broken off",
        _ => "the host answered something else",
    }
}

/// The first of these paths, and how many more there are.
pub(super) fn named(paths: &[String]) -> String {
    let first = paths.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(NAMED) {
        0 => first,
        beyond => format!("{first} and {beyond} more"),
    }
}

/// A number of which 0 means that there is none.
pub(super) fn counted(number: u32) -> Option<u32> {
    (number > 0).then_some(number)
}
