//! The line by which an agent answers that it is done (A11), as every prompt asks for it, and the lines of metadata in which it says
//! that it is not.

use baton_sdk::types::Objective;

use super::lexicon::Work;
use super::plain::has;
use super::words::words;

/// Statuses of work that is not done.
const OPEN_STATUSES: [&str; 9] = [
    "partial",
    "in progress",
    "incomplete",
    "failed",
    "blocked",
    "not started",
    "pending",
    "open",
    "deferred",
];
/// The kind of error of a session that ended for want of context.
const EXHAUSTION: &str = "context exhaustion";
/// What such lines count.
const FOOTERS: [&str; 6] = ["token", "cost", "duration", "time", "usage", "elapsed"];
/// What a sentence calls the line that it announces, and how it does.
const ANNOUNCED: [&str; 2] = ["line", "following"];
const MODALS: [&str; 8] = ["will", "would", "shall", "should", "once", "when", "if", "until"];
const NOT_DONE: &str = "not done";
/// Behind [`NOT_DONE`], what leaves nothing.
const NOTHING: [&str; 4] = ["", "nothing", "none", "n/a"];
const DONE_LINE: &str = "done:";
/// What stands in place of the reason in the line that `reporting.rs` asks for.
const PLACEHOLDER: &str = "what is missing";

/// What the last line answers that `reporting.rs` asks for.
pub(super) enum AnswerLine<'t> {
    /// "Done: parser", with the names of all these objectives; what else it says.
    Done(String),
    /// "Not done: the tests", the whole line.
    NotDone(&'t str),
}

/// The last line that answers; "Not done: nothing" is none, and neither is a courtesy behind it. It may name others of the phase too:
/// what it says of those is not asked.
pub(super) fn answer_line<'t>(
    text: &'t str,
    open: &[&Objective],
    others: &[String],
    work: &Work,
) -> Option<AnswerLine<'t>> {
    let plain = |part: &str| part.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    // Quoted, or behind an empty box, it is not said.
    let is_said = |line: &&str| {
        let mark = line.trim_start();
        !mark.starts_with('>') && !mark.trim_start_matches(['-', '*', '+', ' ']).starts_with(['[', '<', '~'])
    };
    let lines = text.lines().filter(is_said);
    let lines = lines.map(|line| line.trim_start_matches(|c: char| !c.is_alphanumeric()));
    let lines: Vec<&str> = lines.filter(|line| !line.trim().is_empty() && !is_footer(line)).collect();
    let denies = |line: &&&str| {
        let rest = starts_with(line, NOT_DONE).map(|rest| plain(rest.trim_start_matches(['*', '`', ':'])));
        rest.is_some_and(|rest| !NOTHING.contains(&rest.as_str()))
    };
    if let Some(line) = lines.iter().rev().find(denies) {
        return Some(AnswerLine::NotDone(line));
    }
    let is_answer =
        |line: &str| starts_with(line, NOT_DONE).is_none() && work.courtesy.at(&words(line), 0).is_none();
    let last = lines.iter().rposition(|line| is_answer(line))?;
    let line = lines[last];
    if plain(line).contains(&format!("{NOT_DONE}:")) {
        return Some(AnswerLine::NotDone(line));
    }
    // One line, or one for each objective.
    let is_done = |line: &&&str| starts_with(line, DONE_LINE).is_some();
    let first = last + 1 - lines[..=last].iter().rev().take_while(is_done).count();
    if first > 0 && first <= last && announces(lines[first - 1]) {
        return None;
    }
    let done: Vec<&str> =
        lines[first..=last].iter().filter_map(|line| starts_with(line, DONE_LINE)).collect();
    let rest = Some(done.join(",")).filter(|rest| !done.is_empty() && !rest.contains('?'))?;
    let ids: Vec<String> = open.iter().map(|objective| plain(&objective.id)).collect();
    let other_ids: Vec<String> = others.iter().map(|id| plain(id)).collect();
    // An agent that repeats an id may leave its last words out.
    let meant = |part: &str| {
        let said = plain(part);
        if ids.contains(&said) || other_ids.contains(&said) {
            return Some(said);
        }
        let begins = |id: &&String| begins_id(id, &said);
        let mut meant = ids.iter().chain(&other_ids).filter(begins);
        meant.next().filter(|_| meant.next().is_none()).cloned()
    };
    let is_id = |part: &&str| meant(part).is_some();
    let parts = || rest.split([',', ' ', ':']).filter(|part| !plain(part).is_empty());
    let is_all = parts().next().is_some_and(|first| ["all", "everything"].contains(&plain(first).as_str()));
    let named: Vec<String> = parts().filter_map(meant).collect();
    let names_all = ids.iter().all(|id| named.contains(id));
    let remark: Vec<&str> = parts().filter(|part| !is_id(part)).collect();
    (is_all || names_all).then(|| AnswerLine::Done(remark.join(" ")))
}

/// Whether an id begins with these words: two at least, since one is a word of any sentence.
fn begins_id(id: &str, words: &str) -> bool {
    let is_mark = |c: char| c.is_ascii_punctuation();
    words.contains(is_mark) && id.strip_prefix(words).is_some_and(|rest| rest.starts_with(is_mark))
}

/// "parser: there is no key" of "Not done: parser: there is no key": what an agent says of these objectives, if that is more than
/// their ids. An agent may write an id with a word more or less.
pub(in crate::assess) fn why_not<'t>(line: &'t str, open: &[&Objective]) -> Option<&'t str> {
    let said = starts_with(line.trim_start_matches(|c: char| !c.is_alphanumeric()), NOT_DONE)?;
    let said = said.trim_start_matches(|c: char| c.is_whitespace() || "*`:".contains(c));
    let named = open.iter().find(|objective| names(said, &objective.id));
    let behind_id = named.and_then(|objective| said.split_once(objective.id.as_str()));
    let is_word = |head: &str| !head.trim().contains(char::is_whitespace);
    let (_, why) = behind_id.or_else(|| said.split_once(':').filter(|(head, _)| is_word(head)))?;
    let why = why.trim_matches(|c: char| !c.is_alphanumeric());
    (!why.is_empty() && !why.eq_ignore_ascii_case(PLACEHOLDER)).then_some(said.trim_end())
}

/// Whether a line is that line.
pub(super) fn is_done_line(line: &str) -> bool {
    starts_with(line.trim_start_matches(|c: char| !c.is_alphanumeric()), DONE_LINE).is_some()
}

/// Whether a line is part of the answer that was asked for, or what programs print behind it: nothing that an agent says beside it.
pub(super) fn belongs_to_it(line: &str) -> bool {
    let is_rule = line.chars().all(|c| c.is_whitespace() || "-*_=#".contains(c));
    let said = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    is_rule || is_done_line(said) || starts_with(said, NOT_DONE).is_some() || is_footer(said)
}

/// An answer without its lines of this kind, and without what programs print behind them.
pub(in crate::assess) fn without_answer(text: &str) -> String {
    text.lines().filter(|line| !belongs_to_it(line)).collect::<Vec<_>>().join("\n")
}

/// An answer without the line at its end that an agent is asked for.
pub(super) fn before_line(text: &str) -> &str {
    let said = text.trim_end();
    let start = said.rfind('\n').map_or(0, |at| at + 1);
    if is_done_line(&said[start..]) { &said[..start] } else { text }
}

/// A line of metadata, as the sources let agents return it, that says that the work is not done: `"status": "partial"`,
/// `status: in_progress`, an error of the type `context_exhaustion`; and a box that is not ticked. These stand in quotes and code,
/// where no sentence is looked for.
pub(super) fn open_status(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| {
        let line = plainly(line);
        let is_open = |rest: &str| {
            let value = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
            let is_value = rest.trim_start_matches(['"', '\'', '*', '`', ' ']).starts_with([':', '=']);
            is_value && OPEN_STATUSES.into_iter().any(|open| value.starts_with(open))
        };
        line.match_indices("status").any(|(at, status)| is_open(&line[at + status.len()..]))
            || line.contains(EXHAUSTION)
            || line.contains("[ ]")
    })
}

/// Whether such a line says that the context is exhausted.
pub(super) fn is_exhausted(line: &str) -> bool {
    plainly(line).contains(EXHAUSTION)
}

/// A line of metadata in lower case, its words apart.
fn plainly(line: &str) -> String {
    line.to_ascii_lowercase().replace(['_', '-'], " ")
}

/// "Tokens used: 12,345", "Cost: $0.12": what programs print by themselves behind the words of an agent.
fn is_footer(line: &str) -> bool {
    let Some((label, value)) = line.split_once(':') else { return false };
    let is_counter = |c: char| c.is_ascii_digit() || ",.%$€ ksm".contains(c);
    let says = |word: &str| label.to_ascii_lowercase().contains(word);
    let is_counted = value.chars().any(|c| c.is_ascii_digit()) && value.trim().chars().all(is_counter);
    is_counted && FOOTERS.into_iter().any(says)
}

/// "I will end with:", "The line you want once it is finished would be": the next line is announced, and not given.
fn announces(line: &str) -> bool {
    let line = line.trim_end();
    let last = words(line.rsplit_terminator(['.', '!', '?']).next().unwrap_or_default());
    let goes_on = !line.ends_with(['.', '!', '?', ')', '`']);
    line.ends_with([':', ',', '…']) || has(&last, &ANNOUNCED) || goes_on && has(&last, &MODALS)
}

/// Whether a line names an objective by its id, as a word of its own, or as that of a file: "printer.txt".
pub(in crate::assess) fn names(line: &str, id: &str) -> bool {
    let plain = |part: &str| part.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let id = plain(id);
    line.split([',', ' ', ':', ';', '/']).any(|part| {
        let part = plain(part);
        part == id || part.split_once('.').is_some_and(|(stem, _)| stem == id)
    })
}

/// A text without the lines that say of others alone that they are not done.
pub(super) fn without_others(text: &str, of: &[&Objective], others: &[String]) -> String {
    let said = |line: &str| line.trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let is_denial =
        |line: &&str| starts_with(&said(line), NOT_DONE).is_some() && is_of_others(line, of, others);
    text.split_inclusive('\n').filter(|line| !is_denial(line)).collect()
}

/// "Not done: printer" says nothing of the parser.
pub(super) fn is_of_others(line: &str, of: &[&Objective], others: &[String]) -> bool {
    others.iter().any(|id| names(line, id)) && !of.iter().any(|objective| names(line, &objective.id))
}

/// What is behind the beginning, in either case.
fn starts_with<'t>(line: &'t str, beginning: &str) -> Option<&'t str> {
    let head = line.get(..beginning.len())?;
    head.eq_ignore_ascii_case(beginning).then(|| &line[beginning.len()..])
}
