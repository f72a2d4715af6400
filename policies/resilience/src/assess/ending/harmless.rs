//! Words of open work that leave none (A11): there is no such thing, it is meant to be so, it is what the work deals with, or it was
//! so before.

use super::claim::is_mark;
use super::plain::{has, is};
use super::words::Sentence;
use super::work::clause_before;
use super::{DONE, NONE};

/// Joints behind which another clause begins.
const JOINTS: [&str; 10] =
    ["but", "and", "so", "because", "since", "though", "although", "while", "however", "still"];
/// What there can be none of: what becomes of it, and what stands for it.
const NONE_OF: [&str; 18] = [
    "left",
    "remain",
    "open",
    "missing",
    "skipped",
    "skipping",
    "need",
    "omitted",
    "todo",
    "fixme",
    "placeholder",
    "stub",
    "dummy",
    "unfinish",
    "incomplet",
    "fail",
    "broken",
    "outstanding",
];
/// Verbs of work between "no" and such a word: "no test was written for the remaining cases".
const WORKED: [&str; 7] = ["written", "wrote", "made", "done", "implemented", "added", "covers"];
/// Who wanted it so, and the verbs of that.
const WANTED: [&str; 9] =
    ["asked", "asks", "asking", "requested", "wanted", "wants", "requires", "required", "specified"];
const AS_IS_WANTED: [&str; 6] = ["should", "expected", "intended", "planned", "says", "agreed"];
const ON_PURPOSE: [&str; 5] = ["deliberately", "intentionally", "purposely", "purpose", "design"];
/// Words of "as the description of the task asks".
const AS_WORDS: usize = 6;
/// What stayed as it was is no work.
const KEPT: [&str; 5] = ["unchanged", "intact", "alone", "same", "kept"];
const KEEPS: [&str; 6] = ["left", "leave", "leaves", "keep", "keeps", "kept"];
/// What an agent leaves alone or to others, and says so: beginnings of verbs.
const ASIDE: [&str; 19] = [
    "touch", "chang", "modif", "alter", "edit", "commit", "push", "stag", "refactor", "reformat", "renam",
    "remov", "delet", "break", "broke", "affect", "introduc", "upgrad", "install",
];
/// What shows whether the work is good: not to have run it is no aside.
const RUN: [&str; 9] = ["test", "tests", "suite", "check", "checks", "it", "them", "build", "anything"];
/// What work is called in its parts: "unfinished parts" are left, "unfinished games" are what a program knows.
const PARTS: [&str; 18] = [
    "work",
    "part",
    "parts",
    "case",
    "cases",
    "section",
    "sections",
    "implementation",
    "implementations",
    "version",
    "code",
    "file",
    "files",
    "task",
    "tasks",
    "item",
    "items",
    "draft",
];
const BE: [&str; 5] = ["is", "are", "was", "were", "be"];
const SMALL: [&str; 14] =
    ["and", "or", "but", "in", "on", "at", "for", "because", "since", "so", "yet", "still", "as", "to"];
/// Beside "now", by which what was amiss is mended.
const MENDED: [&str; 18] = [
    "pass",
    "passes",
    "passed",
    "passing",
    "work",
    "works",
    "compiles",
    "builds",
    "written",
    "wrote",
    "fixed",
    "there",
    "green",
    "exists",
    "done",
    "complete",
    "implemented",
    "added",
];
/// What a part of work is called at its beginning: "first half", "half of it", "partly".
const BEGINNINGS: [&str; 4] = ["first", "half", "partly", "partially"];
const PAST: [&str; 12] = [
    "had",
    "was",
    "were",
    "did",
    "failed",
    "before",
    "earlier",
    "previously",
    "initially",
    "originally",
    "formerly",
    "first",
];

/// Whether there is none of what stands there: "no TODO or FIXME is left", "none of the old placeholders remain".
pub(super) fn is_none_left(words: &[String], at: usize) -> bool {
    let is_such = NONE_OF.iter().any(|such| words[at].starts_with(such));
    let joins = |word: &String| is_mark(word) || is(word, &JOINTS);
    let start = words[..at].iter().rposition(joins).map_or(0, |joint| joint + 1);
    let clause = &words[start..at];
    let begins = clause.first().is_some_and(|first| NONE.contains(&first.as_str()) && first != "without");
    is_such && begins && !has(clause, &WORKED) && !clause.iter().any(|word| word == "not")
}

/// Whether it says of itself that it is wanted so: "as asked", "as the description asks", "on purpose".
pub(super) fn is_wanted(words: &[String]) -> bool {
    let is_denied = |at: usize| words[at.saturating_sub(2)..at].iter().any(|word| word == "not");
    (0..words.len()).filter(|at| !is_denied(*at)).any(|at| {
        let clause = || words[at + 1..].iter().take_while(|word| !is_mark(word)).take(AS_WORDS);
        let says = |list: &[&str]| clause().any(|word| list.contains(&word.as_str()));
        match words[at].as_str() {
            "as" => says(&WANTED) || says(&AS_IS_WANTED),
            "what" => says(&WANTED),
            word => ON_PURPOSE.contains(&word),
        }
    })
}

/// Whether an agent says of something beside its work that it did not do it: "I did not touch anything else", "I have not committed the
/// change", "I didn't run the linter, as there is none". `is_meant`: words that name what the work is about.
pub(super) fn is_aside(words: &[String], is_meant: impl Fn(&[String]) -> bool) -> bool {
    let Some(at) = words.iter().position(|word| word == "not") else { return false };
    let is_small = |word: &&String| is(word, &["also", "been", "be", "to", "even", "otherwise"]);
    let behind: Vec<String> = words[at + 1..].iter().skip_while(is_small).cloned().collect();
    let Some((verb, of)) = behind.split_first() else { return false };
    let is_run = is(verb, &["run", "ran", "running"]) && !has(of, &RUN);
    let is_beside = ASIDE.iter().any(|aside| verb.starts_with(aside)) || is_run;
    let is_more = of
        .iter()
        .any(|word| word == "not" || is(word, &["yet", "left", "missing", "todo", "remain", "remains"]));
    is_beside && !is_more && !is_meant(of) && !is_meant(&words[..at])
}

/// Whether it stayed as it was: "the rest of the file is unchanged", "I left the public API as it was".
pub(super) fn is_kept(words: &[String], at: usize) -> bool {
    let start = words[..at].iter().rposition(|word| is_mark(word)).map_or(0, |mark| mark + 1);
    let end = words[at..].iter().position(|word| is_mark(word)).map_or(words.len(), |mark| at + mark);
    let clause = &words[start..end];
    let behind = &words[at + 1..end];
    let as_it_was =
        behind.windows(2).any(|pair| pair[0] == "as" && ["it", "they", "is"].contains(&pair[1].as_str()));
    has(behind, &KEPT) || as_it_was || has(clause, &KEEPS) && has(&words[at..end], &["untouched"])
}

/// Whether it is said of a thing that the work deals with: "unfinished games are saved", "handles incomplete frames",
/// "raises NotImplementedError for unknown operators".
pub(super) fn is_dealt_with(words: &[String], at: usize) -> bool {
    const UNKNOWN: [&str; 6] = ["unknown", "unsupported", "invalid", "unrecognized", "unexpected", "other"];
    const OF_TODO: [&str; 6] = ["list", "lists", "app", "application", "item", "items"];
    let word = &words[at];
    if word == "todo" || word == "todos" {
        return words.get(at + 1).is_some_and(|of| OF_TODO.contains(&of.as_str()));
    }
    if word.starts_with("notimplemented") {
        return has(&words[at + 1..], &["for", "on"]) && has(&words[at + 1..], &UNKNOWN);
    }
    let is_quality = ["unfinish", "incomplet", "partial"].iter().any(|quality| word.starts_with(quality));
    let is_predicate = at > 0 && (has(&words[at - 1..at], &BE) || has(&words[at - 1..at], &["still", "yet"]));
    let of = words.get(at + 1).filter(|of| !is_mark(of));
    is_quality
        && !is_predicate
        && of.is_some_and(|of| !PARTS.contains(&of.as_str()) && !SMALL.contains(&of.as_str()))
}

/// Whether it is said of a case that the work provides for: "exits 1 where one of them is wrong"; but not "it works except where the
/// input is incomplete", and not "when I run it the parser crashes".
pub(super) fn is_of_a_case(words: &[String], at: usize) -> bool {
    const CASES: [&str; 4] = ["where", "if", "whenever", "unless"];
    const OF_NOW: [&str; 10] =
        ["except", "but", "only", "not", "know", "see", "stopped", "stop", "is", "are"];
    let start = words[..at].iter().rposition(|word| is_mark(word)).map_or(0, |mark| mark + 1);
    words[start..at].windows(2).any(|pair| is(&pair[1], &CASES) && !is(&pair[0], &OF_NOW))
}

/// Whether a sentence tells of what was amiss, and it or a later one says that it is mended.
pub(super) fn is_mended(sentences: &[Sentence], at: usize) -> bool {
    let is_now = |words: &[String]| {
        words
            .split(|word| is_mark(word))
            .any(|clause| has(clause, &["now"]) && has(clause, &MENDED) && !has(clause, &["not"]))
    };
    has(&sentences[at].words, &PAST) && sentences[at..].iter().any(|sentence| is_now(&sentence.words))
}

/// Whether an answer that begins with one of these words for "no" is a plain no: the word alone, with a mark behind it, or with who or
/// what it is said of. "No TODO is left" says that there is none.
pub(super) fn is_plain_no(text: &str, no: &[&str]) -> bool {
    const OF: [&str; 12] =
        ["it", "i", "we", "they", "that", "this", "there", "not", "sorry", "unfortunately", "because", "but"];
    let said = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = said.find(|c: char| !c.is_alphanumeric()).unwrap_or(said.len());
    if !no.contains(&said[..end].to_lowercase().as_str()) {
        return false;
    }
    let line = said[end..].lines().next().unwrap_or_default().trim_start_matches(['*', '_', '`', '"']);
    let rest = line.trim_start();
    let next = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase();
    let is_joined = rest.len() == line.len() && rest.starts_with(['-', '\'', '’', '/']);
    match rest.chars().next() {
        None => true,
        // "No. of lines: 12".
        Some('.') if rest[1..].trim_start().starts_with("of ") => false,
        Some(c) if !c.is_alphanumeric() => !is_joined && !matches!(c, '`' | '"' | '\'' | '“' | '*' | '_'),
        Some(_) => OF.contains(&next.as_str()),
    }
}

/// Whether words of work are over and done in a clause.
pub(super) fn is_over(clause: &[String]) -> bool {
    has(clause, &DONE) || has(clause, &["there", "ready", "exists", "everything"])
}

/// In a note, what begins a clause without a verb is said of the work: "draft", "only the first two", "half of it"; but "skipped rows
/// are logged" is of the rows.
pub(super) fn is_of_the_work(words: &[String], at: usize) -> bool {
    let small = |word: &&String| ["only", "a", "the", "just", "all", "still", "is"].contains(&word.as_str());
    let is_first = clause_before(words, at).filter(|word| !small(word)).count() == 0;
    let behind = || words[at..].iter().skip(1).take_while(|word| !is_mark(word));
    let is_verb = |word: &String| ["is", "are", "was", "were", "get", "gets"].contains(&word.as_str());
    let is_part = BEGINNINGS.contains(&words[at].as_str());
    is_first && (is_part || !behind().any(is_verb))
}

/// In a note, what ends a clause is said of the work: "tests pending", "the rest is left"; but not "what is missing".
pub(super) fn is_left_at_end(words: &[String], at: usize) -> bool {
    let is_asked = |word: &String| ["what", "which", "that", "who"].contains(&word.as_str());
    // "14 passed, 2 skipped".
    let is_counted = words[at] == "skipped" && has(words, &["pass", "passed"]);
    !is_counted
        && words.get(at + 1).is_none_or(|word| is_mark(word) || word == "for")
        && !clause_before(words, at).any(is_asked)
}
