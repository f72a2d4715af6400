//! What shows that somebody forgot to fill something in (C8): the phrases of the settings, and the forms of templates
//! (`{name}`, `<what to do>`, `[Describe …]`, `___`). A quote may speak of such things ("replace every TODO"): in one, only
//! what stands at its beginning counts.

use std::collections::BTreeMap;

use baton_sdk::Host;
use baton_sdk::types::{Span, TextId};

use super::{Document, NAMED, SEEN, is_fence};

/// Hits of phrases that are looked at.
const HITS: u32 = 64;
/// Longest name of a blank; between two braces further apart stands code.
const BLANK_BYTES: usize = 80;

/// Words that stand for what is missing if an item says nothing else, in any letters.
const MISSING: [&str; 5] = ["tbd", "tba", "todo", "fixme", "xxx"];
/// Words of a list in braces that is a sentence: code names one thing after the other.
const SENTENCE_WORDS: usize = 4;

/// The first lines, from 1, each once, with what was found.
pub(super) fn find(host: &impl Host, text: TextId, page: &Document<'_>) -> Vec<(usize, String)> {
    let mut found: BTreeMap<usize, String> = BTreeMap::new();
    let whole = Span { start: 0, end: u32::MAX };
    let phrases = host.texts("placeholder-phrases");
    let mut here: Option<(usize, Quotes<'_>)> = None;
    for hit in host.find_setting(text, whole, "placeholder-phrases", HITS) {
        let at = page.line_of(hit.at.start as usize);
        let Some(line) = page.lines.get(at).filter(|line| !line.starts_with(SEEN)) else { continue };
        let from = (hit.at.start as usize).saturating_sub(page.starts[at]).min(line.len());
        let to = (hit.at.end as usize).saturating_sub(page.starts[at]).min(line.len());
        let phrase = phrases.get(hit.pattern as usize).map_or("", String::as_str);
        let (_, quotes) = match here.take().filter(|(known, _)| *known == at) {
            Some(same) => here.insert(same),
            None => here.insert((at, Quotes::of(line))),
        };
        let meant = !is_capital(phrase) || stands_for_words(line, phrase, from, to);
        if meant
            && !found.contains_key(&at)
            && is_whole(line, from, to)
            && quotes.count(from)
            && let Some(words) = line.get(from..to)
        {
            found.insert(at, words.to_owned());
        }
    }
    let mut fenced = false;
    let mut blanks = 0;
    for (at, line) in page.lines.iter().enumerate() {
        if is_fence(line) {
            fenced = !fenced;
        }
        if !fenced
            && !found.contains_key(&at)
            && !line.starts_with(SEEN)
            && let Some(blank) = blank(line).or_else(|| whole_blank(line))
        {
            found.insert(at, blank.to_owned());
            blanks += 1;
            if blanks == NAMED {
                break;
            }
        }
    }
    found.into_iter().take(NAMED).map(|(at, what)| (at + 1, what)).collect()
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

/// Quotes and code in a line, read on from place to place.
struct Quotes<'l> {
    line: &'l str,
    read: usize,
    quoted: bool,
    code: bool,
}

impl<'l> Quotes<'l> {
    fn of(line: &'l str) -> Self {
        Self { line, read: 0, quoted: false, code: false }
    }

    /// Whether a place, behind those asked for before, is outside of quotes and code, or at the beginning of a quote.
    fn count(&mut self, at: usize) -> bool {
        let at = self.line.floor_char_boundary(at).max(self.read);
        for byte in self.line[self.read..at].bytes() {
            self.quoted ^= byte == b'"';
            self.code ^= byte == b'`';
        }
        self.read = at;
        let begins =
            || self.line[..at].trim_end_matches(['[', '(', '<', '{', ' ', '*', '_']).ends_with(['"', '`']);
        (!self.quoted && !self.code) || begins()
    }
}

/// A blank of a template in a line, outside of quotes and code, or as all that a quote says.
fn blank(line: &str) -> Option<&str> {
    let content = line.trim().trim_start_matches(['-', '*', '#', '>', ' ']);
    let only = content.trim_matches(|c: char| !c.is_alphanumeric() && c != '_' && c != '.' && c != '…');
    if !only.is_empty() && only.len() >= 3 && only.chars().all(|c| matches!(c, '_' | '.' | '…')) {
        return Some(only);
    }
    // Most lines have nothing of it, and end here.
    if !line.bytes().any(|byte| matches!(byte, b'_' | b'{' | b'<' | b'[' | b'(')) {
        return None;
    }
    let has = |mark: char| line.contains(mark);
    if has('_') && content.contains("____") {
        return Some("____");
    }
    for (mark, open, close) in
        [('{', "{{", "}}"), ('{', "{", "}"), ('<', "<", ">"), ('[', "[", "]"), ('(', "((", "))")]
    {
        if !has(mark) {
            continue;
        }
        let mut from = 0;
        let mut quotes = Quotes::of(line);
        while let Some(start) = line[from..].find(open).map(|at| from + at) {
            let inside = start + open.len();
            let Some(end) = line[inside..].find(close).map(|at| inside + at) else { break };
            let name = line[inside..end].trim();
            let behind = line[end + close.len()..].chars().next();
            let before = line[..start].chars().next_back();
            if is_blank(open, name, before, behind) && quotes.count(start) {
                return line.get(start..end + close.len());
            }
            from = end + close.len();
        }
    }
    None
}

/// What an item says: its quotes, or what stands behind its label.
pub(super) fn says(line: &str) -> impl Iterator<Item = &str> {
    let content = line.trim().trim_start_matches(['-', '*', '>', ' ']);
    let quotes = content.contains('"');
    let pieces = content.split('"').skip(1).step_by(2).take_while(move |_| quotes);
    let plain = content.rsplit(": ").next().filter(|_| !quotes);
    pieces.chain(plain).map(str::trim)
}

/// An item, or one of its quotes, that is nothing but a word for what is missing, or dots.
fn whole_blank(line: &str) -> Option<&str> {
    says(line).find(|said| {
        let word = said.trim_matches(|c: char| !c.is_alphanumeric());
        let dots = said.trim_matches(['(', ')', '[', ']', '.']).is_empty() && said.contains("...");
        dots || *said == "…" || MISSING.iter().any(|missing| word.eq_ignore_ascii_case(missing))
    })
}

/// "Single specific step, not a list": a sentence, where code would be names: `a, b`, `read as r, write`.
fn is_sentence(name: &str) -> bool {
    let words = |text: &str| text.split_whitespace().count();
    let plain = |c: char| c.is_alphabetic() || matches!(c, ' ' | ',' | '\'' | '-' | '/');
    let keywords = ["as", "type", "ref", "mut", "let", "const", "in", "return"];
    name.chars().all(plain)
        && words(name) >= SENTENCE_WORDS
        && name.split(',').any(|part| words(part) > 2)
        && !name.split([' ', ',']).any(|word| keywords.contains(&word))
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
        "{{" | "{" => wordy && !glued && (!name.contains([',', ':']) || is_sentence(name)),
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
