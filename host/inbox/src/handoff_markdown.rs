//! A handoff in the usual form of agents: Markdown, by its headings. Text under no known heading becomes part of the state.

use crate::tool_definitions::ArgumentError;
use crate::tool_requests::{AttemptRecord, DecisionRecord, HandoffWrite, ToolCall};
use crate::validation::{FACTS_MAX, FILES_MAX};

/// The next step of a document that names none: nothing is invented for it.
pub(crate) const NO_NEXT: &str = "Go on with what the current state leaves open: no next step was named.";

/// The rationale of a decision or an attempt that gives none.
const NO_RATIONALE: &str = "as its handoff says";
const NO_OUTCOME: &str = "not to be tried again, as its handoff says";

/// The reports of a document.
#[derive(Debug)]
pub(crate) struct ParsedHandoff {
    pub(crate) handoff: ToolCall,
    /// The decisions and failed attempts that it lists.
    pub(crate) records: Vec<ToolCall>,
}

/// The state of a document that has no other content.
pub(crate) const NO_STATE: &str = "As the next step says.";

/// A heading with the lines below it.
struct MarkdownSection<'t> {
    /// The heading as it was written; empty before the first one.
    heading: &'t str,
    lines: Vec<&'t str>,
}

/// Reads a handoff. The next step, the facts, the decisions and the failed attempts are taken out by their headings, the paths
/// of files are listed separately as well, and all the rest is the state.
///
/// # Errors
/// An [`ArgumentError`] if it is empty, or longer than a report may be.
pub(crate) fn handoff(text: &str) -> Result<ParsedHandoff, ArgumentError> {
    if text.trim().is_empty() {
        return Err(ArgumentError { field: None, message: "it is empty".to_owned() });
    }
    let (mut state, mut next) = (String::new(), String::new());
    let (mut context, mut files, mut records) = (Vec::new(), Vec::new(), Vec::new());
    for section in sections(text) {
        let items = || section.lines.iter().filter_map(|line| item(line));
        if next.is_empty() && section.is_about(&["next action", "next step"]) {
            next = section.lines.join("\n").trim().to_owned();
            continue;
        }
        if section.is_about(&["critical context"]) && context.len() + items().count() <= FACTS_MAX {
            context.extend(items().map(str::to_owned));
            continue;
        }
        let record: Option<fn(&str) -> ToolCall> = match () {
            () if section.is_about(&["decision"]) => Some(decision),
            () if section.is_about(&["not to try", "failed approach", "failed attempt"]) => Some(attempt),
            () => None,
        };
        if let Some(record) = record {
            records.extend(items().map(record));
            continue;
        }
        if section.is_about(&["critical files"]) {
            files.extend(items().filter_map(path).map(str::to_owned));
        }
        for line in std::iter::once(section.heading).chain(section.lines) {
            state.push_str(line);
            state.push('\n');
        }
    }
    files.truncate(FILES_MAX);
    let or = |text: &str, otherwise: &str| match text.trim() {
        "" => otherwise.to_owned(),
        text => text.to_owned(),
    };
    let handoff = ToolCall::HandoffWrite(HandoffWrite {
        current_state: or(&state, NO_STATE),
        immediate_next_action: or(&next, NO_NEXT),
        critical_context: context,
        critical_files: files,
        open: Vec::new(),
    });
    records.iter().chain([&handoff]).try_for_each(ToolCall::check)?;
    Ok(ParsedHandoff { handoff, records })
}

/// "SQLite: it is one file".
fn decision(item: &str) -> ToolCall {
    let (decision, rationale) = halves(item, NO_RATIONALE);
    ToolCall::DecisionRecord(DecisionRecord { decision, rationale })
}

fn attempt(item: &str) -> ToolCall {
    let (approach, outcome) = halves(item, NO_OUTCOME);
    ToolCall::AttemptRecord(AttemptRecord { approach, outcome })
}

/// The text before a colon or a dash, and the text after it.
fn halves(item: &str, otherwise: &str) -> (String, String) {
    let found = [": ", " - ", " – ", " — "].iter().filter_map(|mark| item.split_once(mark));
    let first = found.min_by_key(|(before, _)| before.len());
    let (what, why) =
        first.filter(|(what, why)| !what.is_empty() && !why.is_empty()).unwrap_or((item, otherwise));
    (what.trim_matches('*').to_owned(), why.trim().to_owned())
}

fn sections(text: &str) -> Vec<MarkdownSection<'_>> {
    let mut sections = vec![MarkdownSection { heading: "", lines: Vec::new() }];
    for line in text.lines() {
        match (is_heading(line), sections.last_mut()) {
            (false, Some(section)) => section.lines.push(line),
            _ => sections.push(MarkdownSection { heading: line, lines: Vec::new() }),
        }
    }
    sections
}

impl MarkdownSection<'_> {
    fn is_about(&self, words: &[&str]) -> bool {
        let heading = self.heading.to_lowercase();
        words.iter().any(|words| heading.contains(words))
    }
}

/// "## Current State".
fn is_heading(line: &str) -> bool {
    let title = line.trim_start_matches('#');
    title.len() < line.len() && title.starts_with(' ')
}

/// A line without the mark of its list; nothing for an empty one.
fn item(line: &str) -> Option<&str> {
    let line = line.trim();
    let numbered = || {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = rest.strip_prefix(['.', ')'])?;
        (rest.len() + 1 < line.len()).then_some(rest)
    };
    let bare = line.strip_prefix(['-', '*', '+']).or_else(numbered).unwrap_or(line).trim();
    (!bare.is_empty()).then_some(bare)
}

/// The path at the beginning of an item: "`src/a.rs:4` (the parser)". None if it begins with a word.
fn path(item: &str) -> Option<&str> {
    let first = match item.strip_prefix('`') {
        Some(quoted) => quoted.split('`').next()?,
        None => item.split_whitespace().next()?.trim_end_matches([':', ',', ';']),
    };
    let is_path =
        first.contains(['/', '.']) && !first.contains("://") && !first.contains(char::is_whitespace);
    is_path.then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> HandoffWrite {
        match handoff(text).map(|reported| reported.handoff) {
            Ok(ToolCall::HandoffWrite(handoff)) => handoff,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_template_of_a_handoff_is_read_by_its_headings() {
        let read = read(
            "# Phase build Handoff\n\n## Immediate Next Action\n\nWrite case 2 in src/one.rs.\n\n\
             ## Current State\n- [x] case 1\n- [ ] case 2\n\n## Critical Context\n- cases share a lexer\n\
             1. the lexer counts lines\n\n## Critical Files\n- `src/one.rs:40` (the cases)\n- src/lexer.rs: lines\n\
             - all tests of it\n",
        );
        assert_eq!(read.immediate_next_action, "Write case 2 in src/one.rs.");
        assert_eq!(read.critical_context, ["cases share a lexer", "the lexer counts lines"]);
        assert_eq!(read.critical_files, ["src/one.rs:40", "src/lexer.rs"]);
        let state = read.current_state;
        assert!(state.starts_with("# Phase build Handoff\n\n## Current State\n- [x] case 1\n"), "{state}");
        assert!(
            state.contains("- src/lexer.rs: lines\n- all tests of it") && !state.contains("share"),
            "{state}"
        );
    }

    #[test]
    fn decisions_and_failed_attempts_are_records_of_their_own() {
        let text = "## Key Decisions Made\n- **SQLite**: it is one file\n\n## What NOT to Try\n1. regular expressions\n";
        let reported = handoff(text).unwrap();
        let decided =
            DecisionRecord { decision: "SQLite".to_owned(), rationale: "it is one file".to_owned() };
        let tried =
            AttemptRecord { approach: "regular expressions".to_owned(), outcome: NO_OUTCOME.to_owned() };
        assert_eq!(reported.records, [ToolCall::DecisionRecord(decided), ToolCall::AttemptRecord(tried)]);
        let ToolCall::HandoffWrite(handoff) = reported.handoff else { panic!("it is a handoff") };
        assert_eq!(handoff.current_state, NO_STATE);
    }

    #[test]
    fn words_without_headings_are_the_state() {
        let read = read("Case 1 is done. Cases 2 and 3 are left.\n");
        assert_eq!(read.current_state, "Case 1 is done. Cases 2 and 3 are left.");
        assert_eq!(read.immediate_next_action, NO_NEXT);
    }

    #[test]
    fn more_facts_than_five_stay_in_the_state() {
        let facts: Vec<String> = (1..=7).map(|n| format!("- fact {n}")).collect();
        let read = read(&format!("## Critical context\n{}\n", facts.join("\n")));
        assert!(read.critical_context.is_empty() && read.current_state.ends_with("- fact 6\n- fact 7"));
    }

    #[test]
    fn nothing_and_too_much_are_refused() {
        assert_eq!(handoff(" \n\n").unwrap_err().to_string(), "it is empty");
        assert!(handoff(&"words\n".repeat(2_000)).unwrap_err().to_string().contains("current_state: it has"));
    }
}
