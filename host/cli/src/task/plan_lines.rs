//! What a line of a plan begins with: a bullet, a number, a word with a colon, brackets that are nearly a box. And ranges of a text.

use std::ops::Range;

/// What a line says after a word and a colon; nothing where it begins with another word, or says nothing.
pub(super) fn value_after<'l>(word: &str, line: &'l str) -> Option<&'l str> {
    let (_, rest) = split_label(word, line)?;
    (!rest.is_empty()).then_some(rest)
}

/// The word with which a line begins, where a colon follows it, and what stands behind the colon.
pub(super) fn split_label<'l>(word: &str, line: &'l str) -> Option<(&'l str, &'l str)> {
    let line = line.trim().trim_start_matches(['-', '+', '>', ' ']);
    let line = strip_number(line).unwrap_or(line).trim_start_matches(['*', '_', ' ']);
    let begin = line.get(..word.len()).filter(|begin| begin.eq_ignore_ascii_case(word))?;
    let rest = line[begin.len()..].trim_start_matches(['*', '_']).strip_prefix(':')?;
    Some((begin, rest.trim_start_matches(['*', '_']).trim()))
}

/// Whether a line that begins with no check says one to a reader all the same: `verify:` within one code span, or written with an escape.
pub(super) fn is_disguised_check(line: &str) -> bool {
    let plain: String =
        line.trim_start_matches('\u{feff}').chars().filter(|c| !matches!(c, '`' | '\\')).collect();
    let label = plain.trim_start().trim_start_matches(['-', '+', '*', '>', ' ']);
    let own = ["[ ]", "[x]", "[X]"].iter().find_map(|mark| label.strip_prefix(mark)).unwrap_or(&plain);
    let is_code =
        line.trim().ends_with('`') || !line.trim_start_matches(['-', '+', '*', '>', ' ']).starts_with('`');
    is_code && split_label("verify", line).is_none() && split_label("verify", own).is_some()
}

/// A command as one of several that must all exit 0: in a shell of its own, so that comments, `cd`, `exit`, `||` and `;` in it do not reach
/// the others.
pub(super) fn as_operand(command: &str) -> String {
    match command.contains(['#', '\\', '<', '(', '\n']) {
        true => format!("(\n{command}\n)"),
        false => format!("({command})"),
    }
}

/// Where a part of a text begins in it.
pub(super) fn place_in(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// What stands behind the bullet or the number of a list, where a line begins with one.
pub(super) fn strip_bullet(line: &str) -> Option<&str> {
    let line = line.trim_start();
    match line.starts_with(|c: char| c.is_ascii_digit()) {
        true => strip_number(line),
        false => line.strip_prefix(['-', '*', '+']),
    }
}

/// What stands behind the number of a list, where a line begins with one.
fn strip_number(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < line.len()).then(|| rest.strip_prefix(['.', ')']))?
}

/// Whether a line begins with brackets around nothing or an x. What is a link is none.
pub(super) fn is_nearly_box(line: &str) -> bool {
    let line = strip_bullet(line).unwrap_or(line).trim_start();
    let Some((inside, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) else {
        return false;
    };
    matches!(inside.trim(), "" | "x" | "X") && !rest.trim().is_empty() && !rest.starts_with(['(', '[', ':'])
}

/// Whether one of these ranges, which are in the order of the text, holds a place.
pub(super) fn holds(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).is_some_and(|range| range.contains(&at))
}

/// What begins a text between lines `---`.
pub(super) fn front_matter(text: &str) -> Option<Range<usize>> {
    let mut lines = text.split_inclusive('\n');
    lines.next().filter(|first| first.trim_end() == "---")?;
    let last = lines.find(|line| matches!(line.trim_end(), "---" | "..."))?;
    Some(0..place_in(text, last))
}

/// A range without others.
pub(super) fn without(whole: Range<usize>, mut holes: Vec<Range<usize>>) -> Vec<Range<usize>> {
    holes.sort_by_key(|hole| hole.start);
    let mut left = Vec::new();
    let mut at = whole.start;
    for hole in holes {
        if hole.start > at && hole.start < whole.end {
            left.push(at..hole.start);
        }
        at = at.max(hole.end);
    }
    if at < whole.end {
        left.push(at..whole.end);
    }
    left
}
