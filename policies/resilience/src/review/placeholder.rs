//! What shows that somebody forgot to fill something in (C8): the phrases of the settings, and the forms of templates
//! (`{name}`, `<what to do>`, `[Describe …]`, `___`). A quote may speak of such things ("replace every TODO"): in one, only
//! what stands at its beginning counts.

use baton_sdk::Host;
use baton_sdk::types::{Span, TextId};

use super::Document;

/// Hits of phrases that are looked at.
const HITS: u32 = 64;
/// Longest name of a blank; between two braces further apart stands code.
const BLANK_BYTES: usize = 80;

/// The lines, from 1, each once, with what was found.
pub(super) fn find(host: &impl Host, text: TextId, page: &Document<'_>) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let whole = Span { start: 0, end: u32::MAX };
    let starts = line_starts(host, text, page);
    let phrases = host.texts("placeholder-phrases");
    for hit in host.find_setting(text, whole, "placeholder-phrases", HITS) {
        let at = starts.partition_point(|start| *start <= hit.at.start as usize).saturating_sub(1);
        let Some(line) = page.lines.get(at) else { continue };
        let from = (hit.at.start as usize).saturating_sub(starts[at]).min(line.len());
        let to = (hit.at.end as usize).saturating_sub(starts[at]).min(line.len());
        let phrase = phrases.get(hit.pattern as usize).map_or("", String::as_str);
        let meant = !is_capital(phrase) || stands_for_words(line, phrase, from, to);
        if meant
            && counts(line, from)
            && is_whole(line, from, to)
            && !found.iter().any(|(known, _)| *known == at + 1)
        {
            found.push((at + 1, line[from..to].to_owned()));
        }
    }
    let mut fenced = false;
    for (at, line) in page.lines.iter().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if !fenced
            && !found.iter().any(|(known, _)| *known == at + 1)
            && let Some(blank) = blank(line)
        {
            found.push((at + 1, blank.to_owned()));
        }
    }
    found.sort();
    found
}

/// Where each line begins, in bytes of the text.
fn line_starts(host: &impl Host, text: TextId, page: &Document<'_>) -> Vec<usize> {
    let body = host.text_slice(text, Span { start: 0, end: u32::MAX });
    let mut starts = vec![0];
    starts.extend(body.match_indices('\n').map(|(at, _)| at + 1));
    starts.truncate(page.lines.len());
    starts
}

/// "TODO", "TBD": in other letters they are words ("a todo list").
fn is_capital(phrase: &str) -> bool {
    phrase.chars().any(char::is_alphabetic) && !phrase.chars().any(char::is_lowercase)
}

/// It begins an item, ends one, or says what is missing: "remove TODO comments" is work to do.
fn stands_for_words(line: &str, phrase: &str, from: usize, to: usize) -> bool {
    let (Some(found), Some(before), Some(behind)) = (line.get(from..to), line.get(..from), line.get(to..))
    else {
        return false;
    };
    let before = before.trim_end();
    let begins = !before.chars().any(char::is_alphanumeric)
        || before.ends_with([':', '[', '(', '<', '{', '"', '-', '=']);
    let ends = !behind.chars().any(char::is_alphanumeric) || behind.starts_with([':', ']', ')', '>', '}']);
    found == phrase && (begins || ends)
}

/// A letter does not go on before or behind: "TBD" is none in "TBDX".
fn is_whole(line: &str, from: usize, to: usize) -> bool {
    let (Some(phrase), Some(before), Some(behind)) = (line.get(from..to), line.get(..from), line.get(to..))
    else {
        return false;
    };
    let joined = |a: Option<char>, b: Option<char>| {
        a.is_some_and(char::is_alphanumeric) && b.is_some_and(char::is_alphanumeric)
    };
    !joined(before.chars().next_back(), phrase.chars().next())
        && !joined(phrase.chars().next_back(), behind.chars().next())
}

/// A place outside of quotes and code, or at the beginning of a quote.
fn counts(line: &str, at: usize) -> bool {
    let before = &line[..line.floor_char_boundary(at)];
    let inside = |mark: char| before.matches(mark).count() % 2 == 1;
    let begins = before.trim_end_matches(['[', '(', '<', '{', ' ', '*', '_']).ends_with(['"', '`']);
    (!inside('"') && !inside('`')) || begins
}

/// A blank of a template in a line, outside of quotes and code, or as all that a quote says.
fn blank(line: &str) -> Option<&str> {
    let content = line.trim().trim_start_matches(['-', '*', '#', '>', ' ']);
    let only = content.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '.' && c != '…');
    if !only.is_empty() && only.len() >= 3 && only.chars().all(|c| matches!(c, '_' | '.' | '…')) {
        return Some(only);
    }
    if content.contains("____") {
        return Some("____");
    }
    for (open, close) in [("{{", "}}"), ("{", "}"), ("<", ">"), ("[", "]"), ("((", "))")] {
        let mut from = 0;
        while let Some(start) = line[from..].find(open).map(|at| from + at) {
            let inside = start + open.len();
            let Some(end) = line[inside..].find(close).map(|at| inside + at) else { break };
            let name = line[inside..end].trim();
            let behind = line[end + close.len()..].chars().next();
            let before = line[..start].chars().next_back();
            if counts(line, start) && is_blank(open, name, before, behind) {
                return line.get(start..end + close.len());
            }
            from = end + close.len();
        }
    }
    None
}

/// Whether what stands between two brackets is a blank: words for a person, no code and no reference.
fn is_blank(open: &str, name: &str, before: Option<char>, behind: Option<char>) -> bool {
    let wordy = !name.is_empty()
        && name.len() <= BLANK_BYTES
        && name.chars().all(|c| {
            c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | ',' | '\'' | '/' | ':' | '…')
        })
        && name.chars().any(char::is_alphabetic);
    let glued = before.is_some_and(|c| c.is_alphanumeric() || c == '$' || c == '/');
    let lower = name.to_ascii_lowercase();
    let asks = [
        "insert",
        "describe",
        "fill",
        "your ",
        "add ",
        "placeholder",
        "to be ",
        "todo",
        "tbd",
        "specify",
        "enter ",
        "list ",
        "summarize",
        "summarise",
        "explain",
        "name of",
        "path to",
        "one ",
        "replace",
        "write ",
    ]
    .iter()
    .any(|start| lower.starts_with(start));
    match open {
        "{{" | "{" => wordy && !glued && !name.contains([',', ':']),
        // `Vec<u8>` is code; `<what to do next>` and `<file path>` are blanks.
        "<" => wordy && !glued && !name.starts_with('/') && (name.contains([' ', '_', '-']) || asks),
        // `[x]` is a box, `[text](link)` a link, `[README]` a reference.
        "[" => {
            wordy
                && behind != Some('(')
                && (asks || lower.ends_with(" here") || (name.contains(' ') && name.ends_with('…')))
        }
        _ => wordy && asks,
    }
}
