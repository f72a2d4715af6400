//! Plain sentences that say by themselves that work is not done (A11): tests that fail, what does not compile or exist, a part of an
//! amount, what is to follow. What stands under a condition, or in the past, is none of them.

use super::claim::is_mark;
use super::harmless::{is_over, is_wanted};
use super::plain::{has, is};
use super::topic::Topic;
use super::{NONE, part_of};

/// Joints between clauses.
const JOINTS: [&str; 7] = ["but", "so", "because", "since", "though", "although", "while"];
/// What makes a clause no plain fact.
const CONDITIONS: [&str; 14] = [
    "if", "when", "whenever", "unless", "once", "until", "whether", "should", "would", "may", "might",
    "could", "let", "case",
];
const RELATIVES: [&str; 7] = ["that", "which", "who", "where", "what", "whose", "how"];
/// Before "that", by which it says a fact.
const FACTS: [&str; 9] = ["note", "found", "see", "saw", "know", "afraid", "means", "fact", "is"];
/// Words of what was so, and is no longer.
const PAST: [&str; 12] = [
    "before",
    "earlier",
    "previously",
    "initially",
    "originally",
    "formerly",
    "had",
    "used",
    "longer",
    "anymore",
    "were",
    "was",
];
const CHECKED: [&str; 18] = [
    "test",
    "tests",
    "check",
    "checks",
    "build",
    "builds",
    "suite",
    "ci",
    "pipeline",
    "lint",
    "linter",
    "compilation",
    "compile",
    "compiler",
    "typecheck",
    "assertion",
    "assertions",
    "one",
];
const BE: [&str; 4] = ["is", "are", "am", "be"];
const DO: [&str; 3] = ["do", "does", "did"];
/// What can not be said of work that is done.
const FULLY: [&str; 6] = ["quite", "entirely", "fully", "completely", "wholly", "yet"];
const NEARLY: [&str; 5] = ["almost", "nearly", "mostly", "largely", "partly"];
const WHOLE: [&str; 3] = ["all", "every", "everything"];
/// Beside a share or an amount.
const STATES: [&str; 16] = [
    "complete",
    "completed",
    "done",
    "finished",
    "written",
    "implemented",
    "there",
    "exist",
    "exists",
    "ready",
    "pass",
    "passes",
    "work",
    "works",
    "covered",
    "converted",
];
const SPENT: [&str; 10] =
    ["turn", "turns", "run", "runs", "token", "tokens", "context", "window", "coverage", "budget"];
/// What a program does with a share or a word.
const SHOWS: [&str; 8] = ["shows", "show", "displays", "prints", "reports", "bar", "says", "logs"];
/// What is a part of a work by its name.
const PARTS: [&str; 22] = [
    "appendix",
    "last",
    "first",
    "second",
    "third",
    "rest",
    "other",
    "others",
    "part",
    "parts",
    "section",
    "sections",
    "half",
    "chapter",
    "tests",
    "docs",
    "documentation",
    "case",
    "cases",
    "function",
    "functions",
    "conclusion",
];
const PART_WORDS: usize = 3;
/// Before "to follow", where it is somebody who follows.
const FOLLOWED: [&str; 12] = [
    "easy",
    "easier",
    "hard",
    "harder",
    "simple",
    "rule",
    "rules",
    "steps",
    "how",
    "convention",
    "conventions",
    "able",
];
const TASKS: [&str; 10] =
    ["replace", "finish", "complete", "write", "do", "add", "fix", "implement", "wire", "fill"];
const STOPS: [&str; 5] = ["stop", "stopped", "stopping", "halted", "quit"];
const STOPPED_AT: [&str; 11] =
    ["here", "now", "there", "after", "before", "because", "for", "since", "halfway", "midway", "early"];
/// Words of a sentence that is an answer by itself.
const SHORT: usize = 4;

/// Whether a sentence says plainly that the work is not done.
pub(super) fn says_not_done(words: &[String], topic: &Topic, is_note: bool) -> bool {
    // "Everything but the appendix".
    let is_all_but = |at: usize| {
        is(&words[at - 1], &["everything", "all"])
            && words[at] == "but"
            && words.get(at + 1).is_some_and(|word| {
                is(word, &["the", "its", "a", "one", "two", "three"])
                    || topic.is_meant(std::slice::from_ref(word))
            })
    };
    !is_wanted(words)
        && ((1..words.len()).any(is_all_but)
            || clauses(words).any(|clause| {
                let clause = Clause { words: clause, sentence: words, topic };
                clause.is_contrary(is_note)
            }))
}

fn clauses(words: &[String]) -> impl Iterator<Item = &[String]> {
    words.split(|word| is_mark(word) || JOINTS.contains(&word.as_str()))
}

struct Clause<'s> {
    words: &'s [String],
    sentence: &'s [String],
    topic: &'s Topic,
}

impl Clause<'_> {
    fn is_contrary(&self, is_note: bool) -> bool {
        if self.words.is_empty() || has(self.words, &CONDITIONS) {
            return false;
        }
        let is_over = [["any", "more"], ["at", "first"]]
            .into_iter()
            .any(|over| self.words.windows(2).any(|pair| pair[0] == over[0] && pair[1] == over[1]));
        let is_present = !is_over && !has(self.words, &PAST);
        is_present
            && (self.check_fails()
                || self.does_not_work()
                || self.is_blocked()
                || self.is_a_part()
                || self.is_not_quite()
                || self.is_to_follow()
                || self.waits_for_somebody()
                || self.is_at_its_end()
                || self.stops(is_note))
            || self.lacks()
    }

    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    fn is_at(&self, at: usize, list: &[&str]) -> bool {
        is(self.word(at), list)
    }

    /// Whether what stands before a verb is a subject by itself: no part of another sentence, and not nothing.
    fn is_plain_before(&self, at: usize) -> bool {
        let before = &self.words[..at];
        let is_relative =
            |at: usize| is(&before[at], &RELATIVES) && (at == 0 || !is(&before[at - 1], &FACTS));
        !has(before, &NONE) && !has(before, &["to"]) && !(0..at).any(is_relative)
    }

    /// The word behind "not", and those that say how.
    fn behind_not(&self, not: usize) -> usize {
        let is_adverb = |word: &String| word.ends_with("ly") || is(word, &["yet", "even", "all", "quite"]);
        not + 1 + self.words[not + 1..].iter().take_while(|word| is_adverb(word)).count()
    }

    /// "The tests fail", "two of the checks do not pass yet", "9 passed, 3 failed".
    fn check_fails(&self) -> bool {
        let is_about_checks = |at: usize| has(&self.words[..at], &CHECKED) && self.is_plain_before(at);
        let counts = self.word(0).parse().is_ok_and(|count: u32| count > 0)
            && self.is_at(1, &["failed", "fail", "failing"])
            && (has(self.sentence, &["passed", "pass"]) || has(self.sentence, &CHECKED));
        let fails = |at: usize| {
            let before = at.checked_sub(1).map_or("", |before| self.word(before));
            match self.word(at) {
                "fail" | "fails" | "failed" => before != "not" && is_about_checks(at),
                "failing" | "red" | "broken" => is(before, &["is", "are", "still"]) && is_about_checks(at),
                "not" if is(before, &DO) || is(before, &BE) || before == "can" => {
                    self.is_at(self.behind_not(at), &["pass", "passing", "green", "succeed"])
                        && is_about_checks(at)
                }
                _ => false,
            }
        };
        counts || (0..self.words.len()).any(fails)
    }

    /// "It does not compile", "the second file does not exist", "the second part is not there".
    fn does_not_work(&self) -> bool {
        const ANYWHERE: [&str; 3] = ["compile", "exist", "typecheck"];
        const AT_THE_END: [&str; 6] = ["build", "work", "run", "start", "load", "link"];
        let fails = |not: usize| {
            let before = not.checked_sub(1).map_or("", |before| self.word(before));
            let at = self.behind_not(not);
            let is_end =
                self.words.len() <= at + 1 || self.is_at(at + 1, &["yet", "at", "properly", "correctly"]);
            let is_somebody = self.is_at(not.saturating_sub(2), &["i", "we", "you"]);
            let verb = self.word(at);
            let is_so = match before {
                "do" | "does" => !is_somebody && (is(verb, &ANYWHERE) || is(verb, &AT_THE_END) && is_end),
                "is" | "are" => is(verb, &["there", "working", "ready", "compiling"]) && is_end,
                "am" => verb == "there",
                "can" => verb == "be" && self.is_at(at + 1, &["compiled", "built"]),
                _ => false,
            };
            is_so && self.is_plain_before(not)
        };
        // "The appendix is missing".
        let is_last = |at: usize| at + 1 == self.words.len();
        let is_missing = |at: usize| {
            is(&self.words[at], &["missing", "absent"])
                && is_last(at)
                && (self.is_at(at - 1, &BE)
                    || at > 1 && self.is_at(at - 1, &["still"]) && self.is_at(at - 2, &BE))
                && self.is_plain_before(at)
                && !has(&self.words[..at], &["not"])
        };
        (1..self.words.len()).any(|at| self.words[at] == "not" && fails(at) || is_missing(at))
    }

    /// "I am blocked", "blocked by the missing key".
    fn is_blocked(&self) -> bool {
        let Some(at) = self.words.iter().position(|word| word == "blocked") else { return false };
        let is_alone = at == 0 && (self.words.len() == 1 || self.is_at(1, &["by", "on", "because", "for"]));
        let is_it = at == 2 && self.words.len() == 3 && self.is_at(0, &["it", "this"]);
        let is_of_work = at > 1
            && has(&self.words[..at], &["i", "we", "work", "task", "objective"])
            && has(&self.words[..at], &BE);
        is_alone
            || (is_of_work || is_it && self.is_at(1, &BE))
                && self.is_plain_before(at)
                && !has(&self.words[..at], &["not"])
    }

    /// "40% complete", "three of five functions are there".
    fn is_a_part(&self) -> bool {
        // "Done at 80%" is of something else.
        let is_share = |at: usize| {
            let share = self.words[at].strip_suffix('%').and_then(|share| share.parse::<f64>().ok());
            share.is_some_and(|share| share < 100.0) && !(at > 1 && self.is_at(at - 1, &["at", "in", "of"]))
        };
        let is_told = has(self.words, &STATES) && !has(self.words, &SPENT) && !has(self.sentence, &SHOWS);
        is_told
            && self.is_plain_before(self.words.len())
            && ((0..self.words.len()).any(is_share) || part_of(self.words).is_some())
    }

    /// "Not quite", "it is not fully done", "not all cases are written".
    fn is_not_quite(&self) -> bool {
        let is_short = self.words.len() <= SHORT;
        let starts = self.word(0) == "not";
        let is_state = |rest: &[String]| has(rest, &STATES);
        let is_answer = starts
            && (self.is_at(1, &FULLY) && is_short
                || self.is_at(1, &WHOLE) && (is_short && !has(self.words, &BE) || is_state(self.words)));
        let is_said = |at: usize| {
            at > 0
                && self.words[at] == "not"
                && (self.is_at(at - 1, &BE) || self.is_at(at - 1, &["has", "have", "been"]))
                && self.is_at(at + 1, &FULLY)
                && is_state(&self.words[at + 1..])
                && self.is_plain_before(at)
        };
        let is_nearly = |at: usize| {
            let rest = &self.words[at + 1..];
            is(&self.words[at], &NEARLY)
                && (at == 0 && rest.len() < SHORT && rest.iter().all(|word| is(word, &STATES))
                    || at > 0 && self.is_at(at - 1, &BE) && rest.len() == 1 && is_state(rest))
                && self.is_plain_before(at)
        };
        is_answer || (0..self.words.len()).any(|at| is_said(at) || is_nearly(at))
    }

    /// "The other sections are to follow", "bodies will follow".
    fn is_to_follow(&self) -> bool {
        let last = self.words.iter().rposition(|word| !is(word, &["later", "soon", "tomorrow", "next"]));
        let Some(at) = last.filter(|at| *at > 0 && is(&self.words[*at], &["follow", "follows"])) else {
            return false;
        };
        let is_later = at + 1 < self.words.len();
        let before = &self.words[..at];
        let is_somebody = has(before, &["i", "we", "you"]) || has(before, &FOLLOWED);
        let is_to = self.words[at - 1] == "to" && at > 1 && (self.is_at(at - 2, &BE) || !has(before, &BE));
        !is_somebody && (is_to || is_later || self.words[at - 1] == "will") && !has(before, &RELATIVES)
    }

    /// "Someone has to replace it".
    fn waits_for_somebody(&self) -> bool {
        let is_task = |at: usize| {
            let must = self.words[at + 1..].iter().take_while(|word| {
                is(word, &["else", "has", "needs", "to", "must", "will", "still", "have"])
            });
            let count = must.count();
            count > 0 && self.is_at(at + 1 + count, &TASKS)
        };
        let mocks = self.is_at(0, &["i", "we"])
            && has(self.words, &["mocked", "faked", "stubbed"])
            && !has(self.words, &["test", "tests", "not"]);
        mocks || (0..self.words.len()).any(|at| self.is_at(at, &["someone", "somebody"]) && is_task(at))
    }

    /// "I am stuck", "I ran out of time".
    fn is_at_its_end(&self) -> bool {
        let is_own = self.is_at(0, &["i", "we", "unfortunately"]) || self.words.len() == 1;
        let is_stuck = self.words.last().is_some_and(|word| word == "stuck");
        let is_out = self.words.windows(4).any(|words| {
            is(&words[0], &["ran", "run"]) && words[1] == "out" && is(&words[3], &["time", "room", "turns"])
        });
        is_own && (is_stuck || is_out) && self.is_plain_before(self.words.len()) && !has(self.words, &["not"])
    }

    /// "I have to stop here", and in a note "stopped for lack of context".
    fn stops(&self, is_note: bool) -> bool {
        let Some(at) = self.words.iter().position(|word| is(word, &STOPS)) else { return false };
        let is_own = has(&self.words[..at], &["i", "we"]) || is_note && at == 0;
        is_own
            && !has(&self.words[..at], &["not"])
            && (self.words.len() == at + 1 || self.is_at(at + 1, &STOPPED_AT))
    }

    /// "The file is there, minus the appendix", "everything is done except the last chapter".
    fn lacks(&self) -> bool {
        let lacks = |at: usize| {
            let end = match self.word(at) {
                "minus" | "except" | "excluding" | "without" => at + 1,
                "lack" | "lacks" => at + 1,
                "apart" if self.word(at + 1) == "from" => at + 2,
                _ => return false,
            };
            let end = end + usize::from(self.word(end) == "for");
            if !self.is_at(end, &["the", "a", "an", "its", "all"]) {
                return false;
            }
            let of = &self.words[end..self.words.len().min(end + 1 + PART_WORDS)];
            let start = self.sentence.len() - self.words.len();
            let before = &self.sentence[..start.min(self.sentence.len())];
            let is_over_before =
                is_over(&self.words[..at]) || self.word(at) != "without" && at == 0 && is_over(before);
            let is_part = has(of, &PARTS);
            if self.word(at).starts_with("lack") {
                return is_part && self.is_plain_before(at) && !has(&self.words[..at], &PAST);
            }
            !has(self.words, &["nothing", "no"])
                && (is_part || is_over_before && (self.word(at) != "without" || self.topic.is_named(of)))
        };
        (0..self.words.len()).any(lacks)
    }
}
