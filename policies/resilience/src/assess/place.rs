//! Where an error may stand in a text. What it says is `phrases.rs`'s.
//!
//! An event and an error of the provider are errors as a whole. In the agent's own words, where people discuss errors
//! all day, an error is one of the last lines, with nothing but hints behind it; it is no quotation, no item of a list
//! and no code; and it is an error object, or has an error's label before it, or says it at its very start.

use baton_sdk::types::{Channel, Signal, Span};

/// How far the words of a stretch are believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    /// Anything in it counts.
    Error,
    /// What stands behind the label counts, so many bytes from the start.
    Labelled(usize),
    /// Only what it says at its start, after at most so many bytes.
    Plain(usize),
}

/// What follows the line of a final error is at most this: a blank line, a hint.
const TAIL_BYTES: usize = 400;
/// An error stands in one of so many last lines.
const LAST_LINES: usize = 12;
/// An answer of at most this many bytes may be an error message as a whole.
const SHORT_BYTES: usize = 400;
/// In a short answer, this much may stand before the phrase ("Your group's ", "Selected ").
const SHORT_PREFIX_BYTES: usize = 24;
/// What stands before an error as its label is not longer.
const LABEL_BYTES: usize = 90;
/// A text of several lines that is one error object is not longer.
const OBJECT_BYTES: usize = 2048;
/// What the label of an error has in it.
const LABELS: [&str; 12] = [
    "error",
    "exception",
    "fail",
    "fatal",
    "reject",
    "disconnect",
    "abort",
    "warn",
    "denied",
    "exceed",
    "overflow",
    "exhaust",
];
/// What a line that reports something bad on a terminal has in it.
const BAD_WORDS: [&str; 10] =
    ["error", "fail", "warn", "exceed", "fatal", "reject", "exhaust", "reached", "too ", "limit"];
/// So many of a terminal's last bad lines are looked at.
const TERMINAL_LINES: usize = 32;
/// Levels at which a log reports nothing bad.
const CALM_LEVELS: [&str; 4] = ["info", "debug", "trace", "notice"];
/// The level of a line of a log stands in its first bytes.
const LEVEL_BYTES: usize = 60;
/// Words that an error goes on with, where other words show that it is the subject or the object of a sentence: "Rate
/// limit exceeded for this model", but "Rate limit exceeded errors are retried".
const CONTINUING: [&str; 26] = [
    "for", "of", "by", "on", "at", "in", "due", "with", "to", "the", "this", "your", "even", "after",
    "because", "during", "that", "than", "from", "or", "per", "until", "today", "tokens", "limit", "token",
];
/// What "You've hit your" may hit, within so many words.
const LIMITS: [&str; 5] = ["limit", "quota", "allowance", "cap", "budget"];
const LIMIT_NAME_WORDS: usize = 5;

impl Place {
    /// Whether a word counts here wherever it stands.
    pub(crate) fn takes(self, text: &str, start: usize) -> bool {
        match self {
            Self::Error => true,
            Self::Labelled(label) => start >= label,
            Self::Plain(_) => text.trim().len() <= 1,
        }
    }

    /// Whether a word here begins what the line says.
    pub(crate) fn begins(self, text: &str, start: usize) -> bool {
        let prefix = match self {
            Self::Error | Self::Labelled(_) => SHORT_PREFIX_BYTES,
            Self::Plain(prefix) => prefix,
        };
        let lead = text.get(..start).unwrap_or_default();
        let quoted = lead.ends_with(['`', '"', '\'', '“', '‘', '«', '(']);
        !quoted && lead.trim_start_matches(|c: char| !c.is_alphanumeric()).len() <= prefix
    }

    /// From where on codes and statuses count.
    pub(crate) fn machine_from(self, text: &str) -> usize {
        match self {
            Self::Error => 0,
            // A code may be the label, or the whole line.
            Self::Labelled(label) if is_identifier(text.get(..label).unwrap_or_default()) => 0,
            Self::Labelled(label) => label.min(text.len()),
            Self::Plain(_) if is_identifier(text) => 0,
            Self::Plain(_) => text.len(),
        }
    }
}

/// The stretches of a signal's text that may be errors, the last first. `discusses` tells whether a line talks about
/// errors.
pub(crate) fn errors_at(signal: &Signal, text: &str, discusses: impl Fn(Span) -> bool) -> Vec<(Span, Place)> {
    let whole = (signal.text, Place::Error);
    match signal.channel {
        Channel::AgentEvent | Channel::ProviderError => vec![whole],
        Channel::AgentText if is_object(text) => vec![whole],
        Channel::AgentText => spoken(signal.text.start, text, discusses),
        Channel::Terminal => {
            let lines = lines(signal.text.start, text).filter(|(at, line)| is_bad(line) && !discusses(*at));
            let mut errors: Vec<_> = lines.map(|(at, _)| (at, Place::Error)).collect();
            errors.reverse();
            errors.truncate(TERMINAL_LINES);
            errors
        }
        Channel::ToolOutput => Vec::new(),
    }
}

/// The last lines of an answer that are errors by where they stand.
fn spoken(start: u32, text: &str, discusses: impl Fn(Span) -> bool) -> Vec<(Span, Place)> {
    let prefix = if text.len() <= SHORT_BYTES { SHORT_PREFIX_BYTES } else { 0 };
    let all: Vec<(Span, &str)> = lines(start, text).filter(|(_, line)| !line.trim().is_empty()).collect();
    let mut errors = Vec::new();
    let mut behind = 0;
    let mut fenced = false;
    for (place, (at, line)) in all.iter().enumerate().rev().take(LAST_LINES) {
        if behind > TAIL_BYTES || is_first_person(line) || discusses(*at) && !is_object(line) {
            break;
        }
        behind += line.len();
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let introduced = place > 0 && all[place - 1].1.trim_end().ends_with(':');
        if fenced || introduced || is_quoted(line) {
            continue;
        }
        let kind = if is_object(line) {
            Place::Error
        } else {
            label(line).map_or(Place::Plain(prefix), Place::Labelled)
        };
        errors.push((*at, kind));
    }
    errors
}

fn lines(start: u32, text: &str) -> impl Iterator<Item = (Span, &str)> {
    text.split('\n').scan(start, |at, line| {
        let span = Span { start: *at, end: *at + line.len() as u32 };
        *at = span.end + 1;
        Some((span, line))
    })
}

/// An error object, not prose; a label may stand before it, and it may have several lines.
fn is_object(text: &str) -> bool {
    let text = text.trim_start();
    let opens = |text: &str| text.starts_with('{') || text.starts_with("[{") || text.starts_with("[\"");
    let first = text.lines().next().unwrap_or_default().trim_end();
    let labelled = first.ends_with(['{', '[']) && label(first).is_some();
    text.len() <= OBJECT_BYTES && text.contains("rror") && text.contains('"') && (opens(text) || labelled)
}

/// A quotation, an item of a list, a heading, a table or code.
fn is_quoted(line: &str) -> bool {
    let text = line.trim_start();
    let numbered = text.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("    ")
        || line.starts_with('\t')
        || text.starts_with(['>', '|', '│', '-', '*', '+', '#', '`', '"', '\'', '“'])
        || numbered.len() < text.len() && numbered.starts_with([')', '.'])
}

/// What the agent says of itself.
fn is_first_person(line: &str) -> bool {
    line.trim_start().strip_prefix('I').is_some_and(|rest| rest.starts_with([' ', '\'', '’']))
}

fn is_identifier(text: &str) -> bool {
    text.trim().chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Where an error begins behind its label: "API Error: ", "stream disconnected before completion: "; at once in "An
/// error … occurred".
fn label(line: &str) -> Option<usize> {
    if line.trim_start().starts_with("An error") && line.contains("occurred") {
        return Some(0);
    }
    let colon =
        line.find(": ").or_else(|| line.trim_end().ends_with(':').then(|| line.trim_end().len() - 1))?;
    let label = line.get(..colon).filter(|label| label.len() <= LABEL_BYTES)?;
    let names_a_file = label.split_whitespace().any(|word| {
        let ending = word.rsplit_once('.').map(|(_, ending)| ending);
        ending.is_some_and(|ending| (1..=4).contains(&ending.len()) && ending.chars().all(char::is_lowercase))
    });
    let lower = label.to_ascii_lowercase();
    let bad = |text: &str| LABELS.iter().any(|word| text.contains(word));
    // A sentence before a colon is no label, unless it begins like one.
    let sentence = lower.contains(',') && !bad(lower.split_whitespace().next().unwrap_or_default());
    let quotes = label.contains(['`', '"', '\'', '“', '?']);
    (bad(&lower) && !names_a_file && !sentence && !quotes).then_some(colon)
}

fn is_bad(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let head = &lower[..lower.floor_char_boundary(LEVEL_BYTES)];
    let mut words = head.split(|c: char| !c.is_ascii_alphanumeric());
    BAD_WORDS.iter().any(|word| lower.contains(word)) && !words.any(|word| CALM_LEVELS.contains(&word))
}

/// Whether what was said is over behind it, as in "Prompt is too long · run /compact", and goes on as a report does.
pub(crate) fn ends_well(after: &str) -> bool {
    // A verb may have an ending: "exceed" is found in "exceeded".
    let after = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    let mut words = after.split_whitespace();
    let next = words.next().unwrap_or_default();
    if after.trim_start().starts_with(['?', '`', '"', '\'', '”']) {
        return false;
    }
    if !next.starts_with(char::is_alphabetic) {
        return true;
    }
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
    CONTINUING.contains(&bare(next).as_str())
        || bare(next).ends_with("ly")
        || after.split_whitespace().take(LIMIT_NAME_WORDS).any(|word| LIMITS.contains(&bare(word).as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_an_errors_and_no_sentence() {
        assert_eq!(label("API Error: 400"), Some(9));
        assert_eq!(label("stream disconnected before completion: x"), Some(37));
        assert_eq!(label("litellm.BadRequestError: x"), Some(23));
        assert_eq!(label("Summary of errors.rs: ContextWindowExceeded"), None);
        assert_eq!(label("The error 'x: y"), None);
        assert_eq!(label("The bug: the prompt was too long"), None);
    }

    #[test]
    fn a_report_ends_or_goes_on_as_reports_do() {
        for after in
            ["", ".", " · run /compact", "ed for this request", " weekly limit", "ed even after a retry"]
        {
            assert!(ends_well(after), "{after}");
        }
        for after in ["? Split it", "ed errors are retried", " banner added", "` is the code"] {
            assert!(!ends_well(after), "{after}");
        }
    }
}
