//! The last words of an agent that stops because its own context is used up (A12).
//!
//! Source A finds exhaustion in what an agent writes, by "context limit" and "context window". People and agents also
//! discuss contexts all day, so `place.rs` takes no error from a line that begins with "I". Here such lines are read for
//! what they say: the agent, or a status line without a subject, says that its context is used up (`ending/claim.rs`),
//! and the text says that the agent stops or that work is left, and not afterwards that all is finished.

mod beside;
mod claim;
mod classes;
mod flat;
mod handoff;
mod harmless;
mod ids;
mod lexicon;
mod line;
mod plain;
mod topic;
mod words;
mod work;

use std::ops::RangeInclusive;

use baton_sdk::Host;
use baton_sdk::exhaustion::Observation;
use baton_sdk::types::{Channel, Evidence, Objective, Signal, Span};

use super::signals::EVIDENCE_BYTES;
use claim::{Claim, Claimed, claims, is_mark};
use classes::{CONDITIONS, NUMBERS, SELVES};
pub(super) use handoff::{left_by_answer, left_by_handoff, left_by_split};
use lexicon::{Lexicon, List};
pub(super) use line::{names, why_not, without_answer};
use words::{Sentence, sentences};
pub(super) use work::{Said, last_words, says};

/// Words between the numbers of a part and of its whole.
const OF_PARTS: [&str; 5] = ["the", "out", "its", "their", "all"];
/// Bytes at the end of an answer that are its last words.
const LAST_WORDS_BYTES: usize = 2 << 10;
/// What is longer is noise, and must not cost more fuel than a decision has.
const SENTENCE_WORDS: usize = 120;
const SENTENCES: usize = 80;
/// Sentences at the end that may say it, items of lists not counted.
const LAST_SENTENCES: usize = 16;
/// Sentences between a claim and a stop.
const STOP_SENTENCES: usize = 2;
/// Words before a stop that has no subject: "so stopping".
const BARE_WORDS: usize = 2;
/// Words between "nothing" and what it denies.
const NEGATION_WORDS: usize = 3;
/// Words from "all" to "done".
const ALL_DONE_WORDS: usize = 8;
const ALL: [&str; 7] = ["all", "everything", "every", "both", "whole", "entire", "each"];
const DONE: [&str; 10] = [
    "place",
    "done",
    "complete",
    "completed",
    "finished",
    "finish",
    "wrote",
    "written",
    "converted",
    "implemented",
];
const NONE: [&str; 7] = ["nothing", "none", "no", "without", "0", "zero", "never"];
/// A stop behind these is a rule, and did not come.
const TOLD: [&str; 4] = ["told", "asked", "supposed", "instructed"];
/// What takes back that all is done.
const EXCEPTIONS: [&str; 14] = [
    "except",
    "but",
    "apart",
    "besides",
    "other",
    "far",
    "until",
    "up",
    "else",
    "excluding",
    "remaining",
    "remain",
    "not",
    "though",
];

/// What is read, and when. What it insists on is looked for once it was asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Heard {
    Unasked,
    /// The answer to the question.
    Answer,
    /// The note of a report, after the question: what it does not name is the work itself.
    Note,
}

impl Heard {
    pub(super) fn answer(was_asked: bool) -> Self {
        if was_asked { Self::Answer } else { Self::Unasked }
    }
}

/// What the agent's last words say of its context.
pub(super) struct Ending {
    pub(super) said: Evidence,
    /// They also say that it stops or that work is left, or they are the very last ones.
    pub(super) unmistakable: bool,
}

/// The last words, where they say that the agent stops because its context is used up.
pub(super) fn out_of_context(host: &impl Host, o: &Observation, answer: &Signal) -> Option<Ending> {
    ending_of(host, o, answer, false)
}

/// The same beside the line that an agent is asked for: that the line says "done" does not take it back.
pub(super) fn out_of_context_beside_line(
    host: &impl Host,
    o: &Observation,
    answer: &Signal,
) -> Option<Ending> {
    ending_of(host, o, answer, true)
}

fn ending_of(host: &impl Host, o: &Observation, answer: &Signal, beside_line: bool) -> Option<Ending> {
    let whole = host.text_slice(o.window, answer.text);
    let from = whole.ceil_char_boundary(whole.len().saturating_sub(LAST_WORDS_BYTES));
    let text = match beside_line {
        true => line::before_line(&whole[from..]),
        false => &whole[from..],
    };
    let tail = Span { start: answer.text.start + from as u32, end: answer.text.end };
    // Most answers name no context at all.
    if host.find_any(o.window, tail, &mentions(host), 1).is_empty() {
        return None;
    }
    let (lexicon, sentences) = (Lexicon::of(host), newest(text));
    let (at, unmistakable) = Answer::new(&sentences, &lexicon).ending()?;
    Some(Ending { said: quoted(answer, stretch(text, &sentences[at])), unmistakable })
}

/// The sentence of a note by which the agent stops for want of context.
pub(super) fn out_of_context_in(host: &impl Host, note: &str) -> Option<String> {
    let from = note.ceil_char_boundary(note.len().saturating_sub(LAST_WORDS_BYTES));
    let text = &note[from..];
    let said = text.to_lowercase();
    if !mentions(host).iter().any(|mention| said.contains(mention.as_str())) {
        return None;
    }
    let (lexicon, sentences) = (Lexicon::of(host), newest(text));
    let (at, _) = Answer::new(&sentences, &lexicon).ending()?;
    Some(stretch(text, &sentences[at]))
}

/// Whether the last words name the agent's own context, whatever they say of it. Work that is about contexts says nothing of the agent's.
pub(super) fn names_context(host: &impl Host, o: &Observation, answer: &Signal, open: &[&Objective]) -> bool {
    let whole = host.text_slice(o.window, answer.text);
    let from = whole.ceil_char_boundary(whole.len().saturating_sub(LAST_WORDS_BYTES));
    let tail = Span { start: answer.text.start + from as u32, end: answer.text.end };
    if host.find_any(o.window, tail, &mentions(host), 1).is_empty() {
        return false;
    }
    let lexicon = Lexicon::of(host);
    let names =
        |text: &str| newest(text).iter().any(|sentence| claim::names_context(&sentence.words, &lexicon));
    names(&whole[from..]) && !open.iter().any(|objective| names(&objective.description))
}

/// The last sentences of a text.
fn newest(text: &str) -> Vec<Sentence> {
    let mut sentences = sentences(text);
    sentences.retain(|sentence| sentence.words.len() <= SENTENCE_WORDS);
    sentences.split_off(sentences.len().saturating_sub(SENTENCES))
}

/// A sentence as it stands in the text, cut.
fn stretch(text: &str, sentence: &Sentence) -> String {
    let said = text[sentence.start..sentence.end].trim();
    said[..said.floor_char_boundary(EVIDENCE_BYTES)].to_owned()
}

/// Words of an answer.
pub(super) fn quoted(answer: &Signal, text: String) -> Evidence {
    Evidence { channel: Channel::AgentText, seq: Some(answer.seq), text }
}

/// The names of a context as they are looked for in the text as it stands: by their first word.
fn mentions(host: &impl Host) -> Vec<String> {
    let mut mentions: Vec<String> = Vec::new();
    for name in host.texts("own-context-names") {
        let word = name.split_whitespace().next_back().unwrap_or_default().trim_end_matches('*').to_owned();
        if !word.is_empty() && !mentions.contains(&word) {
            mentions.push(word);
        }
    }
    mentions
}

struct Answer<'s> {
    sentences: &'s [Sentence],
    lexicon: &'s Lexicon,
    stopping: Vec<Phrase>,
    left: Vec<Phrase>,
    successors: Vec<Phrase>,
    finished: Option<Place>,
}

/// Places in the answer: a sentence and a word of it.
type Place = (usize, usize);

/// A phrase of a list: a sentence, and its words from and to.
type Phrase = (usize, usize, usize);

impl<'s> Answer<'s> {
    fn new(sentences: &'s [Sentence], lexicon: &'s Lexicon) -> Self {
        let all = |list: &List| {
            let sentences = sentences.iter().enumerate();
            let phrases = sentences.flat_map(|(at, sentence)| {
                list.all(&sentence.words).map(|(start, end)| (at, start, end)).collect::<Vec<Phrase>>()
            });
            phrases.collect::<Vec<Phrase>>()
        };
        let mut answer = Self {
            sentences,
            lexicon,
            stopping: all(&lexicon.stopping),
            left: all(&lexicon.left),
            successors: all(&lexicon.successors),
            finished: None,
        };
        answer.stopping.retain(|phrase| answer_stops(sentences, *phrase));
        answer.left.retain(|phrase| answer_leaves(sentences, *phrase, lexicon));
        let parts = sentences.iter().enumerate().filter_map(|(at, sentence)| {
            let start = part_of(&sentence.words)?;
            Some((at, start, start + 1))
        });
        answer.left.extend(parts);
        answer.successors.retain(|phrase| answer_leaves(sentences, *phrase, lexicon));
        answer.finished = answer.last_finished();
        answer
    }

    /// Where it says last that it stops, that work is left, or that somebody else goes on.
    fn left_to_do(&self) -> Option<Place> {
        let phrases = [&self.stopping, &self.left, &self.successors].into_iter().flatten();
        let last = phrases.map(|(at, start, _)| (*at, *start)).max()?;
        (Some(last) > self.finished).then_some(last)
    }

    /// Whether somebody else is to go on, and nothing says behind it that all is done.
    fn hands_over(&self) -> bool {
        self.successors.iter().any(|(at, start, _)| Some((*at, *start)) > self.finished)
    }

    /// Words of a sentence by which it leaves work, or leaves it to somebody.
    fn leaves_in(&self, sentence: usize) -> impl Iterator<Item = usize> {
        let phrases = [&self.left, &self.successors].into_iter().flatten();
        phrases
            .filter(move |phrase| phrase.0 == sentence && Some((phrase.0, phrase.1)) > self.finished)
            .map(|phrase| phrase.1)
    }

    /// The last sentence that says it, and whether unmistakably.
    fn ending(&self) -> Option<(usize, bool)> {
        let spoken = self.sentences.iter().enumerate().rev().filter(|(_, sentence)| !sentence.listed);
        let last = spoken.clone().next().map(|(at, _)| at)?;
        let listed = self.sentences.iter().enumerate().rev().filter(|(_, sentence)| sentence.listed);
        let mut candidates = spoken.take(LAST_SENTENCES).chain(listed.take(LAST_SENTENCES));
        candidates.find_map(|(at, sentence)| {
            let claims = claims(&sentence.words, self.lexicon);
            let claimed = claims.iter().max_by_key(|claimed| claimed.claim)?;
            self.judge(at, claimed, at >= last).map(|unmistakable| (at, unmistakable))
        })
    }

    /// Whether a claim is an ending, by what stands around it.
    fn judge(&self, at: usize, claimed: &Claimed, is_last: bool) -> Option<bool> {
        let stops = self.last_stop(at, claimed).or_else(|| claimed.stops.then_some((at, claimed.words.0)));
        let left = self.last_left(at, claimed, 0..=self.sentences.len());
        let stops_here = stops.is_some_and(|stop| stop.0 == at);
        let over =
            self.finished.max(self.carried_on(at, claimed).filter(|_| !stops_here && !claimed.interrupts));
        if over > stops.max(left) {
            return None;
        }
        let near = at.saturating_sub(1)..=at + 1;
        let undone = || {
            let sentences = self.sentences.iter().enumerate().filter(|(place, _)| near.contains(place));
            let mut rest = sentences.map(|(place, sentence)| match place == at {
                true => &sentence.words[claimed.words.1.min(sentence.words.len())..],
                false => &sentence.words[..],
            });
            rest.any(says_undone)
        };
        let more = stops.max(left).is_some() || !self.successors.is_empty() || claimed.interrupts || undone();
        // Beside something that is done, a claim without more may be a remark.
        let from = if claimed.claim == Claim::Own { at } else { 0 };
        if !more && self.sentences[from..].iter().any(|sentence| says_done(&sentence.words)) {
            return None;
        }
        let close = || {
            stops.is_some_and(|stop| near.contains(&stop.0))
                || self.last_left(at, claimed, near.clone()).is_some()
                || last_beside(&self.successors, at, claimed, near.clone()).is_some()
                || claimed.own && undone()
        };
        match claimed.claim {
            _ if claimed.close => close().then_some(true),
            Claim::Scarce => more.then_some(true),
            Claim::Near => (more || claimed.own && is_last).then_some(more),
            Claim::Bare => (more || is_last).then_some(more),
            Claim::Own => Some(more || is_last),
        }
    }

    /// The last place that says that work is left, in some of the sentences and not in the words of the claim.
    fn last_left(&self, claim: usize, claimed: &Claimed, within: RangeInclusive<usize>) -> Option<Place> {
        last_beside(&self.left, claim, claimed, within)
    }

    /// The last place that says, close to the claim, that the agent stops.
    fn last_stop(&self, claim: usize, claimed: &Claimed) -> Option<Place> {
        let within = claim.saturating_sub(STOP_SENTENCES)..=claim + STOP_SENTENCES;
        last_beside(&self.stopping, claim, claimed, within)
    }

    /// Where the text says that all is done, last.
    fn last_finished(&self) -> Option<Place> {
        self.sentences.iter().enumerate().rev().find_map(|(at, sentence)| {
            let words = &sentence.words;
            let listed = self.lexicon.finished.all(words).last().map(|(start, _)| start);
            let start = listed.or_else(|| all_done(words))?;
            let excepted = words[start..].iter().any(|word| EXCEPTIONS.contains(&word.as_str()));
            let denied = words[start.saturating_sub(1)..start].iter().any(|word| word == "not");
            (!excepted && !denied).then_some((at, start))
        })
    }

    /// Where the agent says, behind the claim, how it went on.
    fn carried_on(&self, claim: usize, claimed: &Claimed) -> Option<Place> {
        let next = self.sentences.get(claim + 1).map(|sentence| (claim + 1, &sentence.words[..]));
        let here = (claim, &self.sentences[claim].words[..]);
        let places = [Some(here), next].into_iter().flatten().flat_map(|(at, words)| {
            let phrases = self.lexicon.carried_on.all(words);
            // "Instead of continuing" is the contrary.
            let phrases = phrases.filter(|(_, end)| words.get(*end).is_none_or(|word| word != "of"));
            phrases.map(move |(start, _)| (at, start)).collect::<Vec<Place>>()
        });
        places.filter(|place| *place >= (claim, claimed.words.1)).max()
    }
}

/// That something was not done: "no fix has been written", "is not verified", "untested".
fn says_undone(words: &[String]) -> bool {
    const AUXILIARIES: [&str; 12] =
        ["is", "are", "was", "were", "be", "been", "has", "have", "had", "did", "does", "do"];
    let verb = |word: &String| word.ends_with("ed") || word.ends_with("en");
    let auxiliary = |word: &String| AUXILIARIES.contains(&word.as_str());
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        let mut after = words[at + 1..].iter().take(3);
        match word.as_str() {
            "not" | "never" => before.is_some_and(auxiliary) || after.next().is_some_and(verb),
            "no" => after.any(auxiliary),
            "without" => after.next().is_some_and(|word| word.ends_with("ing")),
            "nothing" => {
                before.is_some_and(|word| ["wrote", "changed", "did", "written"].contains(&word.as_str()))
            }
            "unchanged" | "unlimited" | "unexpected" | "undefined" | "unused" => false,
            other => other.starts_with("un") && verb(word),
        }
    })
}

fn says_done(words: &[String]) -> bool {
    words.iter().any(|word| DONE.contains(&word.as_str()))
}

/// What may stand before a stop without a subject: "so stopping", "task aborted".
fn is_lead(word: &str) -> bool {
    const LEADS: [&str; 20] = [
        "so",
        "and",
        "but",
        "then",
        "now",
        "must",
        "had",
        "have",
        "to",
        "has",
        "was",
        "task",
        "work",
        "session",
        "execution",
        "run",
        "therefore",
        "the",
        "please",
        "am",
    ];
    LEADS.contains(&word) || word.ends_with("ly")
}

/// "3 of 5", "two of the three", "2 of its 5": a part is done.
fn part_of(words: &[String]) -> Option<usize> {
    let number = |word: &String| {
        word.parse::<usize>().ok().or_else(|| NUMBERS.iter().position(|number| *number == word.as_str()))
    };
    (0..words.len()).rev().find(|at| {
        let rest = words[*at..].iter().filter(|word| !OF_PARTS.contains(&word.as_str()));
        let rest: Vec<&String> = rest.take(3).collect();
        let [part, of, whole] = rest[..] else { return false };
        of == "of" && number(part).zip(number(whole)).is_some_and(|(part, whole)| part < whole)
    })
}

fn last_beside(
    phrases: &[Phrase],
    claim: usize,
    claimed: &Claimed,
    within: RangeInclusive<usize>,
) -> Option<Place> {
    let claims =
        |(at, start, end): &Phrase| *at == claim && *start < claimed.words.1 && *end > claimed.words.0;
    let beside = phrases.iter().filter(|phrase| within.contains(&phrase.0) && !claims(phrase));
    beside.map(|(at, start, _)| (*at, *start)).max()
}

/// Whether it is the agent, or a line without a subject, that stops or cannot go on.
fn answer_stops(sentences: &[Sentence], (at, start, end): Phrase) -> bool {
    let before = &sentences[at].words[..start];
    let clause = before.iter().rev().take_while(|word| !is_mark(word));
    // "I was about to hand over" did not.
    let averted = before.windows(2).any(|pair| pair[0] == "was" && pair[1] == "about")
        || before.iter().rev().take(3).any(|word| TOLD.contains(&word.as_str()));
    let told = averted
        || before.iter().any(|word| word == "if")
        || clause.clone().any(|word| CONDITIONS.contains(&word.as_str()) || word == "when");
    let own = |word: &String| SELVES.contains(&word.as_str()) || word == "my";
    let own = clause.clone().chain(&sentences[at].words[start..end]).any(own);
    let bare = clause.clone().count() <= BARE_WORDS && clause.clone().all(|word| is_lead(word));
    !told && (bare || own)
}

/// Whether a phrase says that work is left, and not that context is, or that none is.
fn answer_leaves(sentences: &[Sentence], (at, start, end): Phrase, lexicon: &Lexicon) -> bool {
    let words = &sentences[at].words;
    let before = &words[start.saturating_sub(NEGATION_WORDS)..start];
    let after = &words[end..(end + 2).min(words.len())];
    let amount = |word: &String| {
        word.starts_with("context") || word.starts_with("token") || word.ends_with('%') || word == "window"
    };
    let counts = words[start].starts_with("left") || words[start].starts_with("remain");
    let room = counts && (after.first().is_some_and(amount) || before.iter().rev().take(2).any(amount));
    let none = before
        .iter()
        .chain(words[end..].iter().take(NEGATION_WORDS))
        .any(|word| NONE.contains(&word.as_str()));
    let needless = words[end..].windows(2).any(|pair| pair[0] == "not" && pair[1].starts_with("need"));
    let told = words[..start].iter().any(|word| word == "if");
    let made = work::is_made(words, start) || work::is_rid_of(words, start, lexicon);
    let harmless = harmless::is_none_left(words, start) || harmless::is_kept(words, start);
    !room && !none && !needless && !told && !made && !harmless
}

/// "All three objectives are complete", "I finished everything", "Done".
fn all_done(words: &[String]) -> Option<usize> {
    if words.len() <= 2 && words.first().is_some_and(|word| DONE.contains(&word.as_str())) {
        return Some(0);
    }
    let of = |list: &[&str], word: &String| list.contains(&word.as_str());
    words.iter().enumerate().rev().find_map(|(at, word)| {
        let ceiling = (at + ALL_DONE_WORDS).min(words.len());
        let clause = || words[at..ceiling].iter().take_while(|word| !is_mark(word));
        let (first, second) = if of(&ALL, word) { (&ALL[..], &DONE[..]) } else { (&DONE[..], &ALL[..]) };
        let both = of(first, word) && clause().any(|word| of(second, word));
        (both && !clause().any(|word| word == "not")).then_some(at)
    })
}
