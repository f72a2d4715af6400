//! What a handoff says of work that its session reported as done (A11, C23). A session may hand over once it has finished one
//! objective while others are open: so only words about what it finished count, and not those about the others.

use std::collections::BTreeSet;
use std::ops::Range;

use baton_sdk::Host;
use baton_sdk::handoff::ReportedHandoff;
use baton_sdk::splitting::Request;
use baton_sdk::types::Objective;

use super::ids::{as_name, as_names, ids_of};
use super::lexicon::{Lexicon, Work};
use super::line::{AnswerLine, answer_line, is_of_others, open_status, without_answer, without_others};
use super::plain::has;
use super::topic::{Topic, base_name, code_in};
use super::words::{QUOTE, Sentence, words};
use super::work::both_ends;
use super::{Answer, newest, part_of, stretch};

/// A shorter id is too likely to be a part of another name.
const ID_BYTES: usize = 3;
/// What all of a phase is made of: "2 of 5 objectives are done" says nothing of one of them.
const PLANNED: [&str; 6] = ["objective", "objectives", "task", "tasks", "phase", "phases"];

/// Words by which a clause goes on with a thing, and not with another step.
const THINGS: [&str; 5] = ["the", "its", "their", "a", "an"];
/// Words between clauses that speak of different things.
const JOINTS: [&str; 5] = ["and", "but", "while", "–", "—"];
/// Bytes of each text of a handoff that are read, and how many of its facts.
const TEXT_BYTES: usize = 1 << 10;
const FACTS: usize = 5;

/// What a stretch of words is about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum About {
    /// What was reported as done, or what nothing names.
    Done { is_named: bool },
    /// Another objective, or another file.
    Other,
}

/// The words by which a handoff leaves work of these objectives, which are reported as done. Where they are not `is_all` that its
/// prompt was about, words that name nothing are about the rest.
pub(in crate::assess) fn left_by_handoff(
    host: &impl Host,
    handoff: &ReportedHandoff,
    done: &[&Objective],
    others: &[String],
    is_all: bool,
) -> Option<String> {
    let mut reader = Reader::new(host, done, others);
    if !is_all {
        reader.unnamed = About::Other;
    }
    let told = std::iter::once(&handoff.current_state).chain(handoff.critical_context.iter().take(FACTS));
    let left = told.into_iter().find_map(|text| reader.left_in(beginning(text), false));
    left.or_else(|| reader.left_in(beginning(&handoff.immediate_next_action), true))
}

/// The words by which it does so where it asks for the phase to be split. What is not named is what it asks for.
pub(in crate::assess) fn left_by_split(
    host: &impl Host,
    request: &Request,
    done: &[&Objective],
    others: &[String],
) -> Option<String> {
    let reader = Reader { unnamed: About::Other, ..Reader::new(host, done, others) };
    reader.left_in(beginning(&request.rationale), false)
}

/// The words by which an answer does so.
pub(in crate::assess) fn left_by_answer(
    host: &impl Host,
    answer: &str,
    done: &[&Objective],
    others: &[String],
) -> Option<String> {
    let reader = Reader::new(host, done, others);
    let answer = &without_others(answer, done, others);
    let denied = match answer_line(answer, done, others, &reader.work) {
        Some(AnswerLine::NotDone(line)) => Some(line.trim().to_owned()),
        _ => None,
    };
    denied
        .or_else(|| open_status(answer).map(str::to_owned))
        .or_else(|| reader.left_in(&without_answer(answer), false))
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES)]
}

struct Reader<'o> {
    lexicon: Lexicon,
    work: Work,
    topic: Topic,
    done: Vec<&'o Objective>,
    others: &'o [String],
    /// Those in lower case as `ids.rs` writes them, each once.
    other_names: BTreeSet<String>,
    /// What a text is about before it names anything: what was reported as done, where nothing else was asked for.
    unnamed: About,
}

impl<'o> Reader<'o> {
    fn new(host: &impl Host, done: &[&'o Objective], others: &'o [String]) -> Self {
        let (lexicon, work) = (Lexicon::without_context(host), Work::of(host));
        let unnamed = About::Done { is_named: false };
        let other_names = others.iter().map(|id| as_name(id)).collect();
        Self { lexicon, work, topic: Topic::of(done), done: done.to_vec(), others, other_names, unnamed }
    }

    /// The first sentence of a text that leaves work. `is_next` where it is what is to be done next.
    fn left_in(&self, text: &str, is_next: bool) -> Option<String> {
        let shown = &both_ends(text);
        let text = &as_names(shown, ids_of(&self.done, self.others));
        // What is not named is what was spoken of before.
        let mut about = self.unnamed;
        let is_others = |sentence: &Sentence| {
            // "Append cases 4 and 5 to printer.txt" is the next step of another one.
            is_next && is_of_others(&shown[sentence.start..sentence.end], &self.done, self.others)
        };
        newest(text).iter().filter(|sentence| !is_others(sentence)).find_map(|sentence| {
            let mut leaves = false;
            for (stretch, of) in self.stretches(&text[sentence.start..sentence.end], about, is_next) {
                about = of;
                leaves |= self.leaves(stretch, of, is_next);
            }
            leaves.then(|| stretch(shown, sentence))
        })
    }

    /// A sentence, cut where it begins to speak of something else.
    fn stretches<'t>(&self, sentence: &'t str, before: About, is_next: bool) -> Vec<(&'t str, About)> {
        let mut stretches: Vec<(usize, About)> = vec![(0, before)];
        for (at, clause) in clauses(sentence) {
            // "Write tests.txt for the parser and the printer" is one step.
            let said = words(clause);
            let goes_on = at > 0
                && is_next
                && said.first().is_some_and(|word| THINGS.contains(&word.as_str()) || self.is_thing(word));
            let Some(of) = self.about(clause, &said, is_next).filter(|_| !goes_on) else { continue };
            match stretches.last_mut() {
                Some((start, last)) if *start == at => *last = of,
                Some((_, last)) if *last == of => {}
                _ => stretches.push((at, of)),
            }
        }
        let ends = stretches.iter().skip(1).map(|(start, _)| *start).chain([sentence.len()]);
        stretches.iter().zip(ends).map(|((start, of), end)| (&sentence[*start..end], *of)).collect()
    }

    /// Whether a word is the name of an objective, or of a file.
    fn is_thing(&self, word: &String) -> bool {
        word == QUOTE || self.topic.ids.contains(word) || self.other_names.contains(word)
    }

    /// What a clause names. "Write tests.txt for the parser" is the next step of the tests.
    fn about(&self, clause: &str, said: &[String], is_next: bool) -> Option<About> {
        let of_id = |id: &String, word: &str| id.len() >= ID_BYTES && word.contains(id.as_str());
        let is_own = |word: &str| {
            self.topic.code.iter().any(|own| own == word) || self.topic.ids.iter().any(|id| of_id(id, word))
        };
        let named: Vec<String> = code_in(clause).map(base_name).collect();
        let ids = Ids::of(clause);
        let is_done = self.topic.ids.iter().any(|id| ids.have(id));
        let is_other = self.other_names.iter().any(|id| ids.have(id))
            || has(said, &PLANNED)
            || named.iter().any(|word| !is_own(word));
        let is_done = is_done || named.iter().any(|word| is_own(word));
        if is_done && !(is_next && is_other) {
            return Some(About::Done { is_named: true });
        }
        is_other.then_some(About::Other)
    }

    fn leaves(&self, stretch: &str, of: About, is_next: bool) -> bool {
        let About::Done { is_named } = of else { return false };
        let words = words(stretch);
        let is_meant = is_named || self.topic.is_meant(&words);
        // What "is next" may be any other objective, if it does not say which.
        let is_ahead = !is_meant && self.work.comes_next.all(&words).next().is_some();
        if self.topic.counts_short(&words)
            || part_of(&words).is_some()
            || is_meant && !is_next && is_flawed(&words)
            || is_named && has(&words, &LACKS) && !has(&words, &FINISHED)
            || !is_ahead && self.work.contradicts(&words, &self.topic, &self.lexicon)
        {
            return true;
        }
        let sentence = [Sentence { start: 0, end: stretch.len(), words, listed: false }];
        let is_left = || Answer::new(&sentence, &self.lexicon).left_to_do().is_some();
        // What comes next and names no other objective is work of this one, if it speaks of its things.
        let said = &sentence[0].words;
        // "It should exercise the parser", "read parser.txt" change nothing of it.
        let verb = said.iter().find(|word| !LEADS.contains(&word.as_str()));
        let is_step = verb.is_some_and(|verb| !NO_STEPS.contains(&verb.as_str()));
        (is_meant || is_next) && is_left() || is_next && is_meant && is_step && !has(said, &FINISHED)
    }
}

/// Words of a fault, in what an agent tells of something that it had finished: a successor has to know which of them holds.
const FLAWS: [&str; 14] = [
    "fail", "fails", "failing", "bug", "bugs", "wrong", "wrongly", "drops", "repair", "repaired", "mend",
    "mended", "redo", "later",
];
const NOT_SO: [&str; 7] = ["no", "not", "never", "nothing", "none", "without", "fixed"];

/// "Two of its cases fail", "quotes are not handled yet".
fn is_flawed(words: &[String]) -> bool {
    has(words, &FLAWS) && !has(words, &NOT_SO) || has(words, &["not"]) && has(words, &["yet"])
}

/// "parser.txt still lacks lines 3 to 5".
const LACKS: [&str; 3] = ["lack", "lacks", "lacking"];
/// A next action with one of these tells that nothing is to be done.
const FINISHED: [&str; 6] = ["nothing", "none", "no", "done", "complete", "finished"];

/// Words before the verb of a step.
const LEADS: [&str; 9] = ["then", "first", "next", "and", "to", "please", "now", "finally", "also"];
/// What a step begins with that changes nothing, and what goes on with a thing.
const NO_STEPS: [&str; 18] = [
    "read", "see", "look", "use", "consult", "study", "open", "run", "keep", "compare", "start", "begin",
    "it", "which", "that", "they", "who", "with",
];

/// The clauses of a sentence, each with where it begins.
fn clauses(sentence: &str) -> Vec<(usize, &str)> {
    let (mut clauses, mut start, mut at) = (Vec::new(), 0, 0);
    for word in sentence.split_inclusive(' ') {
        at += word.len();
        let word = word.trim_end();
        if word.ends_with([',', ';', ':']) || JOINTS.contains(&word) {
            clauses.push((start, &sentence[start..at]));
            start = at;
        }
    }
    clauses.push((start, &sentence[start..]));
    clauses
}

/// What a text names objectives by.
struct Ids {
    /// In lower case.
    text: String,
    /// Where its words stand in it.
    words: Vec<Range<usize>>,
}

impl Ids {
    fn of(text: &str) -> Self {
        let text = text.to_lowercase();
        let (mut words, mut start) = (Vec::new(), 0);
        for (at, mark) in text.match_indices(|c| !is_inside(c)).chain([(text.len(), "")]) {
            if at > start {
                words.push(start..at);
            }
            start = at + mark.len();
        }
        Self { text, words }
    }

    /// Whether it names an objective. "a" and "2" are words of any sentence: such an id has to be told as one.
    fn have(&self, id: &str) -> bool {
        if id.chars().all(is_inside) && !self.words.iter().any(|word| self.text[word.clone()] == *id) {
            return false;
        }
        match id.len() < 2 || id.bytes().all(|byte| byte.is_ascii_digit()) {
            true => {
                ["objective ", "`", "\""].into_iter().any(|mark| has_word(&self.text, &format!("{mark}{id}")))
            }
            false => has_word(&self.text, id),
        }
    }
}

fn is_inside(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_')
}

/// Whether a text has this word, not as a part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + word.len()..]);
            !before.ends_with(is_inside) && !after.starts_with(is_inside)
        })
}
