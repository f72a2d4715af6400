//! The plain claim that all of the work is done (A11): the only one of an agent that reported nothing that is believed unasked.
//!
//! A list of harmless words is not enough: "everything is to finish" has no others. So every clause has to have the shape of a
//! claim ("all five cases are written", "I finished the task") or of a remark beside one ("its tests pass"), and nothing may
//! stand in the answer that was not read: a box to tick, a sign, a quotation, a block of code.

use super::claim::is_mark;
use super::lexicon::Work;
use super::topic::Topic;
use super::words::{QUOTE, Sentence};
use super::{ALL, DONE};

/// What the work is called as a whole.
const WHOLE: [&str; 8] =
    ["work", "task", "objective", "job", "implementation", "feature", "request", "assignment"];
/// Words between the parts of "all of the five cases".
const LINKS: [&str; 7] = ["the", "of", "it", "its", "them", "this", "that"];
/// Verbs of work that is over, beside [`DONE`], where all of it is named.
const MADE_ALL: [&str; 6] = ["added", "built", "created", "fixed", "made", "updated"];
/// What became of the work as a whole: "the task was created" is no such word.
const OVER: [&str; 5] = ["done", "complete", "completed", "finished", "implemented"];
/// Orders: "finish all five cases" is no claim.
const ORDERS: [&str; 3] = ["complete", "finish", "place"];
const BE: [&str; 5] = ["is", "are", "was", "were", "been"];
const HAVE: [&str; 2] = ["have", "has"];
const ADVERBS: [&str; 8] = ["now", "also", "all", "both", "fully", "completely", "entirely", "successfully"];
/// What more there could be to do, how it is called, and that it is to be done.
const MORE: [&str; 6] = ["further", "more", "other", "else", "additional", "remaining"];
const TO_DO: [&str; 12] = [
    "work", "change", "changes", "step", "steps", "action", "task", "tasks", "point", "points", "item",
    "items",
];
const NEEDED: [&str; 9] =
    ["needed", "required", "necessary", "left", "remains", "missing", "outstanding", "open", "pending"];
const SUBJECTS: [&str; 4] = ["i", "we", "it", "they"];
/// What is done behind the work: "all tests are written" is not all of it.
const CHECKS: [&str; 4] = ["test", "tests", "check", "checks"];
/// Signs that say the same as the claim itself.
const TICKS: [char; 4] = ['✅', '✔', '✓', '\u{fe0f}'];
/// Marks that take nothing back.
const MARKS: &str = ".,:;!-–—()*_#`'’/&";

/// Whether the answer says nothing but what plain claims are made of, and nothing in it was left unread.
pub(super) fn is_all_plain(text: &str, sentences: &[Sentence], work: &Work, topic: &Topic) -> bool {
    is_all_read(text, sentences)
        && sentences.iter().all(|sentence| {
            work.is_plain(&sentence.words, topic) && topic.names_all_code(&text[sentence.start..sentence.end])
        })
}

/// Whether every letter is in one of the sentences, and no sign stands beside them.
pub(super) fn is_all_read(text: &str, sentences: &[Sentence]) -> bool {
    let mut previous = ' ';
    let mut is_known = |c: char| {
        let is_quotation = matches!(c, '\'' | '’') && !previous.is_alphanumeric();
        previous = c;
        !is_quotation && (c.is_alphanumeric() || c.is_whitespace() || MARKS.contains(c) || TICKS.contains(&c))
    };
    let mut between = 0;
    let mut is_silent = |sentence: &Sentence| {
        let gap = text.get(between..sentence.start).unwrap_or_default();
        between = sentence.end;
        !gap.contains(char::is_alphanumeric)
    };
    text.chars().all(&mut is_known)
        && sentences.iter().all(&mut is_silent)
        && !text[between..].contains(char::is_alphanumeric)
}

impl Work {
    /// Whether it says nothing but what plain claims are made of, and words of the work itself.
    pub(super) fn is_plain(&self, words: &[String], topic: &Topic) -> bool {
        clauses(words).all(|clause| {
            // "All five cases" are all, "all empty cases" are some: one word of the work, where the clause claims all of it.
            let most = usize::from(claims_all_of_it(clause, topic));
            // "The task: all five cases are written" says what is wanted.
            let is_heading = has(clause, &WHOLE) && !clause.iter().any(|word| is_verb(word));
            !is_heading && self.own_words(clause, topic).is_some_and(|own| own <= most)
        })
    }

    /// How many words of a clause are the work's own; nothing where one is of neither kind.
    fn own_words(&self, clause: &[String], topic: &Topic) -> Option<usize> {
        let (mut at, mut own) = (0, 0);
        while let Some(word) = clause.get(at) {
            // "Fix the failing test": what is failing is no less so because the objective says it.
            let is_named = || {
                topic.ids.contains(word)
                    || topic.is_named(&clause[at..=at]) && self.trouble.at(clause, at).is_none()
            };
            // "I have written it", not "I have it to write"; "in parser.txt", not "in part".
            let next = clause.get(at + 1).map(String::as_str).unwrap_or_default();
            let is_auxiliary =
                || is(word, &HAVE) && (is_verb(next) || next.ends_with("ed") || is(next, &ADVERBS));
            let is_place = || is(word, &["in", "into"]) && next == QUOTE;
            match self.plain.at(clause, at) {
                Some(length) => at += length,
                None if word == QUOTE || topic.is_amount(word) || is_auxiliary() || is_place() => at += 1,
                None if is_named() => (at, own) = (at + 1, own + 1),
                None => return None,
            }
        }
        Some(own)
    }
}

/// "All five cases are written", "I finished the task": whether a clause says of all of the work that it is over.
pub(super) fn claims_all(words: &[String], topic: &Topic) -> bool {
    clauses(words).any(|clause| claims_all_of_it(clause, topic))
}

/// "No further work needed.", "Nothing else is left.": whether a sentence says no more than that there is nothing to do.
pub(super) fn says_nothing_left(words: &[String]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let is_known = |word: &String| is(word, &MORE) || is(word, &TO_DO) || is(word, &NEEDED) || is(word, &BE);
    let is_more = has(rest, &MORE) && rest.len() > 1 || has(rest, &NEEDED);
    is(first, &["nothing", "no"]) && is_more && rest.iter().all(is_known)
}

/// The clauses of a sentence.
pub(super) fn clauses(words: &[String]) -> impl Iterator<Item = &[String]> {
    words.split(|word| is_mark(word) || word == "and")
}

fn claims_all_of_it(clause: &[String], topic: &Topic) -> bool {
    !has(clause, &CHECKS) && (is_passive(clause, topic) || is_active(clause, topic))
}

/// "All five cases are written in parser.txt", "it is all done".
fn is_passive(clause: &[String], topic: &Topic) -> bool {
    let (mut all, mut at) = match Whole::of(clause, topic) {
        Some((whole, length)) => (whole, length),
        None if clause.first().is_some_and(|word| is(word, &SUBJECTS[2..])) => (Whole::default(), 1),
        None => return false,
    };
    while let Some(word) =
        clause.get(at).filter(|word| is(word, &BE) || is(word, &HAVE) || is(word, &ADVERBS))
    {
        all.is_all |= is(word, &ALL);
        at += 1;
    }
    let in_place = clause.get(at).is_some_and(|word| word == "in");
    at += usize::from(in_place);
    let verb = clause.get(at);
    verb.is_some_and(|verb| is_end(verb) && (in_place == (verb == "place")) && all.is_over_by(verb))
        && ends_there(&clause[at + 1..])
}

/// "I have written all five cases", "finished the whole task".
fn is_active(clause: &[String], topic: &Topic) -> bool {
    let is_before = |word: &&String| is(word, &SUBJECTS[..2]) || is(word, &HAVE) || is(word, &ADVERBS);
    let at = clause.iter().take_while(is_before).count();
    let Some(verb) = clause.get(at).filter(|verb| is_end(verb) && !is(verb, &ORDERS)) else { return false };
    let object = &clause[at + 1..];
    Whole::of(object, topic)
        .is_some_and(|(whole, length)| whole.is_over_by(verb) && ends_there(&object[length..]))
}

/// Behind a claim no other verb may stand: "everything is done that is to be written".
fn ends_there(rest: &[String]) -> bool {
    !rest.iter().any(|word| is(word, &BE) || is(word, &HAVE) || is(word, &SUBJECTS[..2]))
}

/// What a clause is about.
#[derive(Default)]
struct Whole {
    /// "All", "every".
    is_all: bool,
    /// As many as were wanted.
    is_amount: bool,
    /// "The task".
    is_called: bool,
    /// Words of the work's own, which may mean a part of it.
    named: usize,
}

impl Whole {
    /// What the clause begins with, and how many words that has.
    fn of(clause: &[String], topic: &Topic) -> Option<(Self, usize)> {
        let mut whole = Self::default();
        let mut length = 0;
        while let Some(word) = clause.get(length) {
            if let Some(asked) = wanted(&clause[length..]) {
                length += asked;
                continue;
            }
            let is_named = || topic.ids.contains(word) || topic.is_named(std::slice::from_ref(word));
            if topic.is_amount(word) {
                whole.is_amount = true;
            } else if is(word, &ALL) {
                whole.is_all = true;
            } else if is(word, &WHOLE) {
                whole.is_called = true;
            } else if !is_verb(word) && is_named() {
                whole.named += 1;
            } else if !(is(word, &LINKS) || word == QUOTE) {
                break;
            }
            length += 1;
        }
        (whole.is_all || whole.is_amount || whole.is_called).then_some((whole, length))
    }

    /// What names a thing of the work, and be it by the objective's own name, may mean a part.
    fn is_over_by(&self, verb: &str) -> bool {
        let is_whole = match self.is_amount {
            true => self.named <= 1,
            false => self.named == 0 && (self.is_all || self.is_called),
        };
        is_whole && (!self.is_called || is(verb, &OVER) || verb == "place")
    }
}

/// "Everything that you asked for": the words of what was wanted, at the beginning of these.
fn wanted(words: &[String]) -> Option<usize> {
    let is_asked = |word: &String| is(word, &["asked", "requested", "wanted"]);
    let (that, rest) = words.split_first()?;
    let who = rest.iter().take_while(|word| is(word, &["you", "was"])).count();
    let is_for = rest.get(who + 1).is_some_and(|word| word == "for");
    (that == "that" && who == 1 && rest.get(who).is_some_and(is_asked)).then_some(3 + usize::from(is_for))
}

fn is_end(word: &str) -> bool {
    (is(word, &DONE) && word != "finish") || is(word, &MADE_ALL)
}

fn is_verb(word: &str) -> bool {
    is_end(word) || is(word, &BE)
}

/// Whether one of the words is in a list.
pub(super) fn has(clause: &[String], list: &[&str]) -> bool {
    clause.iter().any(|word| is(word, list))
}

/// Whether a word is in a list.
pub(super) fn is(word: &str, list: &[&str]) -> bool {
    list.contains(&word)
}
