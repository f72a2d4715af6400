//! Finds secrets in text, and masks them. It has no rules of its own for them: the rules are Gitleaks' and Keyhog's, two
//! maintained sets of about 1,000 kinds together with their entropies and allow lists. Rules that need the path of a file and
//! rules without a secret to hide are left out (`build.rs` says which, and why). Plain passwords, which the sets do not cover,
//! have a separate rule (`passwords.rs`).
//!
//! The rules are read at build time from crates that carry them (`rules/Cargo.toml` says which) and that are not linked: the
//! scanners that are available as crates bring a C++ engine, a GPU's, exact versions of half a workspace, a compiler newer than
//! ours, or few rules. A text costs one pass of an Aho-Corasick automaton over the rules' keywords; the automaton is built with
//! the first text, a rule's expression is compiled when its keywords first occur together, and runs only on texts with them.

mod known_secrets;
mod passwords;
mod rules;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use serde::de::IgnoredAny;

pub use known_secrets::register_known;

/// A longer text is scanned in pieces of this size, so that the cost stays proportional to the text.
const PIECE_BYTES: usize = 256 * 1024;
/// Neighbouring pieces share this much: more than any key, less than a certificate chain.
const OVERLAP_BYTES: usize = 8 * 1024;

/// A secret in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretMatch {
    /// The rule that knows it ("aws-access-token").
    pub kind: &'static str,
    /// Which bytes of the text; on character boundaries.
    pub span: Range<usize>,
}

/// The kinds that are known, by the names that [`SecretMatch`] has, in order.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    rules::kinds().chain([passwords::KIND, known_secrets::KIND]).collect::<BTreeSet<_>>().into_iter()
}

/// All secrets of a text, in order, none overlapping another.
pub fn scan(text: &str) -> Vec<SecretMatch> {
    let mut found = Vec::new();
    let mut start = 0;
    loop {
        let end = text.floor_char_boundary((start + PIECE_BYTES).min(text.len()));
        rules::scan(&text[start..end], start, &mut found);
        passwords::scan(&text[start..end], start, &mut found);
        known_secrets::scan(&text[start..end], start, &mut found);
        if end == text.len() {
            break;
        }
        start = text.floor_char_boundary(end - OVERLAP_BYTES);
    }
    // A rule for one kind is more specific than one for anything that looks like a key.
    found.sort_by_key(|f: &SecretMatch| (f.span.start, is_generic(f.kind), std::cmp::Reverse(f.span.end)));
    let mut apart: Vec<SecretMatch> = Vec::with_capacity(found.len());
    for next in found {
        match apart.last_mut() {
            Some(last) if next.span.start < last.span.end => {
                last.span.end = last.span.end.max(next.span.end);
                if is_generic(last.kind) {
                    last.kind = next.kind;
                }
            }
            _ => apart.push(next),
        }
    }
    apart
}

/// Replaces each secret of the text with a note: "[secret: aws-access-token]". Masking a masked text changes nothing.
pub fn mask(text: &str) -> Cow<'_, str> {
    replace(text, scan(text))
}

/// The same for a line of an agent's stream. JSON stays JSON of the same shape: only the inside of its strings changes, and
/// strings are scanned with their escapes decoded, too.
pub fn mask_line(line: &str) -> Cow<'_, str> {
    if !line.trim_start().starts_with(['{', '[']) || serde_json::from_str::<IgnoredAny>(line).is_err() {
        return mask(line);
    }
    let strings = strings(line);
    let mut changes = Vec::new();
    for found in scan(line) {
        for string in &strings {
            let start = found.span.start.max(string.start);
            let end = found.span.end.min(string.end);
            if start < end {
                changes.push(SecretMatch { kind: found.kind, span: whole_escapes(line, string, start..end) });
            }
        }
    }
    mask_escaped(replace(line, changes))
}

/// Masks secrets that appear only when the escapes of a string are decoded, for example a key in the source of a program.
fn mask_escaped(line: Cow<'_, str>) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    for string in strings(&line).into_iter().filter(|string| line[string.clone()].contains('\\')) {
        let quoted = string.start - 1..string.end + 1;
        let Ok(text) = serde_json::from_str::<String>(&line[quoted.clone()]) else { continue };
        let Cow::Owned(masked) = mask(&text) else { continue };
        let Ok(masked) = serde_json::to_string(&masked) else { continue };
        out.push_str(&line[copied..quoted.start]);
        out.push_str(&masked);
        copied = quoted.end;
    }
    if copied == 0 {
        return line;
    }
    out.push_str(&line[copied..]);
    Cow::Owned(out)
}

/// The insides of the strings of a valid JSON text.
fn strings(json: &str) -> Vec<Range<usize>> {
    let mut strings = Vec::new();
    let mut bytes = json.bytes().enumerate();
    while let Some((open, byte)) = bytes.next() {
        if byte != b'"' {
            continue;
        }
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'\\' => drop(bytes.next()),
                b'"' => {
                    strings.push(open + 1..at);
                    break;
                }
                _ => {}
            }
        }
    }
    strings
}

/// A part of a string, extended if it would cut an escape in two.
fn whole_escapes(json: &str, string: &Range<usize>, part: Range<usize>) -> Range<usize> {
    let bytes = json.as_bytes();
    let (mut start, mut end) = (part.start, part.end);
    let mut at = string.start;
    while at < part.end {
        let next = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'u')) => at + 6,
            (b'\\', _) => at + 2,
            _ => at + 1,
        };
        if at < part.start && next > part.start {
            start = at;
        }
        if next > part.end {
            end = next.min(string.end);
        }
        at = next;
    }
    start..end
}

fn replace(text: &str, found: Vec<SecretMatch>) -> Cow<'_, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for SecretMatch { kind, span } in found.into_iter().filter(|found| !found.span.is_empty()) {
        if span.end > copied {
            out.push_str(&text[copied..span.start.max(copied)]);
            out.push_str("[secret: ");
            out.push_str(kind);
            out.push(']');
            copied = span.end;
        }
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn is_generic(kind: &str) -> bool {
    kind.starts_with("generic-")
}

#[cfg(test)]
mod tests;
