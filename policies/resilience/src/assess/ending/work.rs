//! What the last words of an agent say of its work (A11, A12): that it is done, that some is left, or what comes next.

use baton_sdk::Host;
use baton_sdk::types::{Objective, Signal};

use super::beside::unclear;
use super::claim::is_mark;
use super::flat::says_not_done;
use super::harmless::{
    is_aside, is_dealt_with, is_left_at_end, is_mended, is_none_left, is_of_a_case, is_of_the_work,
    is_plain_no, is_wanted,
};
use super::ids::{as_names, ids_of};
use super::lexicon::{Lexicon, Work};
use super::line::{AnswerLine, answer_line, is_exhausted, open_status, without_others};
use super::plain::{claims_all, has, is, is_all_plain};
use super::topic::Topic;
use super::words::{Sentence, words};
use super::{Answer, DONE, Heard, NONE, newest, part_of, stretch};

/// Bytes at the beginning and at the end of a long answer that say what became of the work.
const HEAD_BYTES: usize = 1 << 10;
const TAIL_BYTES: usize = 3 << 10;
/// "No" at the beginning of an answer. A check that follows lets any other wording stand, so this one is heard in more languages.
const NO: [&str; 8] = ["no", "nope", "nein", "non", "nej", "não", "нет", "いいえ"];
/// Words from "no" to what there is none of.
const NONE_WORDS: usize = 2;
/// Words from "fixed" to what is gone.
const RID_WORDS: usize = 4;
/// What is done behind the work: "all tests are written" is not all of it.
const CHECKS: [&str; 4] = ["test", "tests", "check", "checks"];
const PASSED: [&str; 5] = ["pass", "passes", "passed", "passing", "green"];
/// Who restricts what is done to their own part.
const SPEAKERS: [&str; 3] = ["i", "we", "have"];
/// Words by which the whole is done, and not only something of it.
const COMPLETE: [&str; 4] = ["done", "complete", "completed", "finished"];
/// Verbs right before "the rest", by which there is none any more.
const MADE: [&str; 6] = ["wrote", "written", "implemented", "made", "built", "did"];
/// Where work that is left is written about.
const TOLD_IN: [&str; 8] = ["down", "up", "handoff", "handover", "notes", "list", "plan", "todo"];
/// "The second half": parts behind which nothing comes.
const LAST_PARTS: [&str; 3] = ["second", "other", "last"];
/// Words of a clause that say what became of such a part.
const CLAUSE_WORDS: usize = 6;
/// Words of what is left by which it is still to be made.
const TO_COME: [&str; 5] = ["will", "shall", "follow", "later", "tomorrow"];
/// What an agent does with a fault that is not there.
const SOUGHT: [&str; 5] = ["reproduce", "find", "trigger", "see", "observe"];
/// Words of what is not there yet.
const STATES: [&str; 7] = ["not", "unfinish", "incomplet", "unimplement", "unwritten", "missing", "open"];
/// Words of a sentence that says a share and nothing else: "Printer: 60 percent".
const SHARE_WORDS: usize = 3;
/// What an agent uses up: a part of it says nothing of the work.
const SPENT: [&str; 8] = ["turn", "turns", "run", "runs", "token", "tokens", "context", "window"];
/// The first words of how much an agent managed, whatever verb stands before them.
const MEASURES: [&str; 2] = ["as", "what"];
/// Sentences at the end among which a question stands that somebody is to answer: "I need to know that before I write anything."
const ASKING_SENTENCES: usize = 3;
/// Lines of an answer that are shown to a person.
const LAST_LINES: usize = 2;
const DENIALS: [&str; 11] =
    ["not", "before", "let", "to", "should", "would", "will", "when", "if", "until", "once"];

/// What the last words say of the work, whatever the reason.
pub(in crate::assess) struct Said {
    /// The last sentence by which the agent stops, or leaves work to somebody; nothing where it says behind it that all is done.
    pub(in crate::assess) leaves: Option<String>,
    /// Somebody else is to go on with the work.
    pub(in crate::assess) hands_over: bool,
    /// The last sentence that contradicts that all is done, however plainly that is said beside it.
    pub(in crate::assess) contradicts: Option<String>,
    /// The last sentence that does so of the agent's own doing, or of what the objectives are about: however often it says so, work is left.
    pub(in crate::assess) insists: Option<String>,
    /// What it says of what comes next, behind everything that it claims is done.
    pub(in crate::assess) ahead: Option<String>,
    /// The first sentence that says of something that it is not done, or that it failed, or that asks.
    pub(in crate::assess) trouble: Option<String>,
    /// It is the claim, in plain words and no others, that all of it is done.
    pub(in crate::assess) claims: bool,
    /// It begins with yes or is "done", as an answer to the question whether all is done, and says nothing else but plain words.
    pub(in crate::assess) affirms: bool,
    /// It says in English that something was done.
    pub(in crate::assess) tells: bool,
    /// There is a word in it, and not only a sign.
    pub(in crate::assess) has_words: bool,
    /// It begins with a plain no.
    pub(in crate::assess) refuses: bool,
    /// Its last line answers that all of it is done, as `reporting.rs` asks for: as good as a report.
    pub(in crate::assess) answers: bool,
    /// Where it does so, the first words beside it that leave open whether all is done.
    pub(in crate::assess) unclear: Option<String>,
    /// Its last line does so, and says more than that: words that may take it back.
    pub(in crate::assess) said_more: bool,
    /// Its last line, where that answers that it is not done.
    pub(in crate::assess) denied: Option<String>,
    /// Its last sentence is a question, and nothing says that anything was done.
    pub(in crate::assess) asks: Option<String>,
    /// The last question close to its end, where nothing says that anything was made: an agent that changed nothing wants to know it.
    pub(in crate::assess) wants_to_know: Option<String>,
    /// A line of metadata says that the context is exhausted.
    pub(in crate::assess) is_exhausted: bool,
}

/// What the last words say of the work, which is what these objectives are about.
pub(in crate::assess) fn says(
    host: &impl Host,
    whole: &str,
    open: &[&Objective],
    others: &[String],
    heard: Heard,
) -> Said {
    let whole = &without_others(whole, open, others);
    // What is read has the same length as what was said, which is quoted.
    let said = &both_ends(whole);
    let text = &as_names(said, ids_of(open, others));
    let (lexicon, work, all) = (Lexicon::without_context(host), Work::of(host), newest(text));
    let topic = Topic::of(open);
    // What an agent did not do beside its work leaves none of it.
    let is_spoken = |sentence: &Sentence| !is_aside(&sentence.words, |words| topic.is_meant(words));
    let sentences: Vec<Sentence> = all.iter().filter(|sentence| is_spoken(sentence)).cloned().collect();
    let troubled = |sentence: &Sentence| {
        work.is_in_trouble(&sentence.words, &lexicon)
            || topic.counts_short(&sentence.words)
            || is_share(&sentence.words)
    };
    let is_plain = |remark: &str| work.is_plain(&words(remark), &topic) && topic.names_all_code(remark);
    let answered = answer_line(whole, open, others, &work);
    let is_remark = |remark: &str| {
        let words = words(remark);
        // "Done: parser tests" names what is done, "the cases I wrote" a part of it; "(its tests pass)" says how.
        is_plain(remark) && !has(&words, &SPEAKERS) && (!has(&words, &CHECKS) || has(&words, &PASSED))
    };
    let answers = matches!(&answered, Some(AnswerLine::Done(remark)) if is_remark(remark));
    let first = all.first().map_or(&[][..], |first| &first.words[..]);
    let begins_with = |word: &str| first.first().is_some_and(|first| first == word);
    let asks = |sentence: &Sentence| text[..sentence.end].trim_end().ends_with('?');
    let trouble = sentences.iter().find(|sentence| troubled(sentence) || asks(sentence));
    let status = open_status(said);
    // Nothing but what claims are made of: one more word could take it back.
    let is_plain =
        trouble.is_none() && status.is_none() && said == whole && is_all_plain(text, &all, &work, &topic);
    let is_claimed = |sentence: &Sentence| claims_all(&sentence.words, &topic);
    let claims = is_plain && sentences.iter().any(is_claimed);
    let ahead = sentences.iter().rev().find(|sentence| work.looks_ahead(sentence));
    let ahead = ahead.filter(|_| !answers && !claims);
    let tells = sentences.iter().flat_map(|sentence| &sentence.words).any(|word| is_deed(word));
    let asked = sentences.last().filter(|sentence| asks(sentence) && !tells && !answers);
    let makes = sentences.iter().flat_map(|sentence| &sentence.words).any(|word| is_made_word(word));
    let mut near_end = sentences.iter().rev().take(ASKING_SENTENCES);
    let wants_to_know = near_end.find(|sentence| asks(sentence) && !makes && !answers);
    let answer = Answer::new(&sentences, &lexicon);
    let left = answer.left_to_do();
    let is_note = heard == Heard::Note;
    let is_flat =
        |at: usize| says_not_done(&sentences[at].words, &topic, is_note) && !is_mended(&sentences, at);
    let insists = |at: usize, sentence: &Sentence| {
        let words = &sentence.words;
        if is_mended(&sentences, at) {
            return false;
        }
        let is_meant = topic.is_meant(words);
        let is_wanted = is_wanted(words);
        let contrary = || {
            let contrary = work.contradiction.all(words).filter(|_| !is_wanted);
            contrary.filter(|(at, _)| {
                let is_of_now = !is_dealt_with(words, *at) && !is_of_a_case(words, *at);
                is_of_now && work.contradicts_at(words, *at, &topic, &lexicon)
            })
        };
        let leaves = |at: usize| {
            let is_own = is_own_doing(words, at) && !is_made_by(words, at);
            let is_said = is_meant || is_own || has(words, &TO_COME) || is_note && is_left_at_end(words, at);
            is_said && !is_made_behind(words, at) && !is_wanted && !is_dealt_with(words, at)
        };
        is_plain_share(words)
            || topic.counts_short(words) && !answer.leaves_in(at).any(|at| is_made_behind(words, at))
            || tells_a_part(words)
            || is_flat(at)
            || answer.leaves_in(at).any(leaves)
            || contrary().any(|(at, end)| {
                is_meant
                    || is_own_doing(words, at)
                    || is_state(&words[at..end])
                    || is_note && is_of_the_work(words, at)
            })
    };
    let mut asked_about = sentences.iter().enumerate().rev().filter(|_| heard != Heard::Unasked);
    let insisted = asked_about.find(|(at, sentence)| insists(*at, sentence));
    let insisted = insisted.map(|(_, sentence)| stretch(said, sentence));
    let is_troubled = trouble.is_some() || status.is_some();
    let unclear = answers.then(|| unclear((said, text), &work, &topic, is_troubled)).flatten();
    Said {
        leaves: left.map(|(at, _)| stretch(said, &sentences[at])),
        hands_over: answer.hands_over(),
        contradicts: sentences
            .iter()
            .enumerate()
            .rev()
            .find(|(at, sentence)| {
                let words = &sentence.words;
                topic.counts_short(words)
                    || has(words, &COMPLETE) && is_share(words)
                    || is_flat(*at)
                    || work.contradicts(words, &topic, &lexicon)
            })
            .map(|(_, sentence)| stretch(said, sentence))
            .or_else(|| status.map(str::to_owned)),
        insists: insisted.or_else(|| status.map(str::to_owned)),
        ahead: ahead.map(|sentence| stretch(said, sentence)),
        trouble: trouble
            .map(|sentence| stretch(said, sentence))
            .or_else(|| status.map(str::to_owned))
            .filter(|_| !answers),
        claims,
        affirms: (begins_with("yes") || is_done_alone(first)) && is_plain,
        tells,
        has_words: !all.is_empty(),
        refuses: is_plain_no(text, &NO),
        answers,
        unclear,
        said_more: !answers && matches!(answered, Some(AnswerLine::Done(_))),
        denied: match answered {
            Some(AnswerLine::NotDone(line)) => Some(line.trim().to_owned()),
            _ => None,
        },
        asks: asked.map(|sentence| stretch(said, sentence)),
        wants_to_know: wants_to_know.map(|sentence| stretch(said, sentence)),
        is_exhausted: status.is_some_and(is_exhausted),
    }
}

/// An answer, or of a long one its beginning and its end: what stands between says little of what became of the work.
pub(super) fn both_ends(whole: &str) -> String {
    if whole.len() <= HEAD_BYTES + TAIL_BYTES {
        return whole.to_owned();
    }
    let head = &whole[..whole.floor_char_boundary(HEAD_BYTES)];
    let tail = &whole[whole.ceil_char_boundary(whole.len() - TAIL_BYTES)..];
    format!("{head}\n\n{tail}")
}

/// The end of an answer, for a person who has to decide.
pub(in crate::assess) fn last_words(host: &impl Host, window: u32, answer: &Signal) -> String {
    let whole = host.text_slice(window, answer.text);
    let lines: Vec<&str> = whole.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join(" / ")
}

impl Work {
    /// "Now on to the parser", "Continuing with the tests".
    fn looks_ahead(&self, sentence: &Sentence) -> bool {
        self.ahead.at(&sentence.words, 0).is_some() || self.comes_next.all(&sentence.words).next().is_some()
    }

    /// "Cases 4 and 5 are stubs", but not "replaced the stubs", or where the work is about stubs.
    pub(super) fn contradicts(&self, words: &[String], topic: &Topic, lexicon: &Lexicon) -> bool {
        self.contradiction.all(words).any(|(at, _)| self.contradicts_at(words, at, topic, lexicon))
    }

    fn contradicts_at(&self, words: &[String], at: usize, topic: &Topic, lexicon: &Lexicon) -> bool {
        let end = at + self.contradiction.at(words, at).unwrap_or_default();
        let is_denied = clause_before(words, at).take(NONE_WORDS).any(|word| word == "not");
        // "I could not reproduce the crash" is what it found.
        let is_sought =
            clause_before(words, at).chain(words.get(end)).any(|word| SOUGHT.contains(&word.as_str()));
        // "Not done: nothing", but not "blocked: no permission".
        let behind = words[end..].iter().take(NONE_WORDS);
        let is_marked = words.get(end).is_some_and(|word| is_mark(word));
        let is_of_nothing =
            behind.filter(|word| !is_marked || is_nothing(word)).any(|word| NONE.contains(&word.as_str()));
        !is_denied
            && !is_of_nothing
            && !is_none_left(words, at)
            && !is_sought
            && !is_none(words, at)
            && !topic.is_named(&words[at..end])
            && !is_rid_of(words, at, lexicon)
    }

    /// What a person would ask about, before they believe that all is done; but "fixed the remaining failing test" is done.
    fn is_in_trouble(&self, words: &[String], lexicon: &Lexicon) -> bool {
        self.trouble.all(words).any(|(at, _)| {
            let is_last = at > 0 && LAST_PARTS.contains(&words[at - 1].as_str()) && is_made(words, at - 1);
            words[at] == "not"
                // "Completed what I could".
                || is(&words[at], &MEASURES)
                || !is_last
                    && !is_none(words, at)
                    && !is_none_left(words, at)
                    && !is_rid_of(words, at, lexicon)
        })
    }
}

/// Whether the agent says it of itself: "I skipped", "I have left".
fn is_own_doing(words: &[String], at: usize) -> bool {
    clause_before(words, at)
        .last()
        .or(words.get(at))
        .is_some_and(|first| ["i", "we"].contains(&first.as_str()))
}

/// "Done", "It is done": no claim where nothing was asked, and an answer to the question whether all is done.
fn is_done_alone(words: &[String]) -> bool {
    matches!(
        words.iter().map(String::as_str).collect::<Vec<_>>()[..],
        ["done"] | ["it" | "all", "is", "done"] | ["all", "done"]
    )
}

fn is_nothing(word: &str) -> bool {
    ["nothing", "none"].contains(&word)
}

/// Whether the agent made what stands there: "I added the open objectives".
fn is_made_by(words: &[String], at: usize) -> bool {
    // "I did not finish it".
    let is_denied = words[at] == "not" && at > 0 && words[at - 1] == "did";
    !is_denied && clause_before(words, at).any(|word| is_deed(word))
}

/// "The remaining two are written".
fn is_made_behind(words: &[String], at: usize) -> bool {
    let behind = || words[at..].iter().take_while(|word| !is_mark(word));
    behind().any(|word| is(word, &MADE) || is(word, &COMPLETE)) && !behind().any(|word| is(word, &DENIALS))
}

/// "Not implemented", "unfinished", "still missing": the state of a thing, and nothing that happens to it.
fn is_state(phrase: &[String]) -> bool {
    let begins = |word: &String| STATES.iter().any(|state| word.starts_with(state));
    phrase.iter().any(begins) && phrase.first().is_some_and(|word| word != "could")
}

/// "Four of the seven modules are written": a part of something was done.
fn tells_a_part(words: &[String]) -> bool {
    part_of(words).is_some() && words.iter().any(|word| is_deed(word)) && !has(words, &SPENT)
}

/// Whether there is none of what stands there: "no failing test", "nothing is missing".
fn is_none(words: &[String], at: usize) -> bool {
    clause_before(words, at).take(NONE_WORDS).any(|word| NONE.contains(&word.as_str()))
}

/// Whether somebody did away with what stands there: "removed the TODO comments".
pub(super) fn is_rid_of(words: &[String], at: usize, lexicon: &Lexicon) -> bool {
    let joins = |word: &&String| ["and", "but", "while"].contains(&word.as_str());
    let before = clause_before(words, at).take_while(|word| !joins(word)).take(RID_WORDS);
    before.into_iter().any(|word| lexicon.rid.at(std::slice::from_ref(word), 0).is_some())
}

/// Whether the rest that stands there is made: "wrote the rest of it", "the second half is written"; not "wrote the rest down".
pub(super) fn is_made(words: &[String], at: usize) -> bool {
    if is(&words[at], &LAST_PARTS) {
        let behind = || words[at..].iter().take_while(|word| !is_mark(word)).take(CLAUSE_WORDS);
        return behind().any(|word| is(word, &MADE) || is(word, &COMPLETE))
            && !behind().any(|word| is(word, &DENIALS));
    }
    let is_wholly = |word: &&String| is(word, &["the", "all", "of", "its", "both"]);
    let before = clause_before(words, at).find(|word| !is_wholly(word)).filter(|_| words[at] != "not");
    before.is_some_and(|before| is(before, &MADE)) && !words.iter().any(|word| is(word, &TOLD_IN))
}

/// "Wrote", "described".
fn is_deed(word: &str) -> bool {
    DONE.contains(&word) || MADE.contains(&word) || word.ends_with("ed") && !word.ends_with("need")
}

/// "Wrote", "done": that something was made, and not only looked at.
fn is_made_word(word: &str) -> bool {
    DONE.contains(&word) || is(word, &MADE) || is(word, &COMPLETE)
}

/// "60% done", "60 percent".
fn is_share(words: &[String]) -> bool {
    let share = |word: &String| word.strip_suffix('%').is_some_and(|number| number != "100");
    let in_words = |pair: &[String]| {
        pair[0].parse::<u32>().is_ok_and(|number| number < 100) && is(&pair[1], &["percent", "per"])
    };
    words.iter().any(share) || words.windows(2).any(in_words)
}

/// A share that can only be one of the work: "Printer: 60 percent", "3/5"; but not "93% of the lines are covered".
fn is_plain_share(words: &[String]) -> bool {
    let said: Vec<&str> = words.iter().filter(|word| !is_mark(word)).map(String::as_str).collect();
    let number = |word: &str| word.parse::<u32>().ok();
    let is_part = match said[..] {
        [part, "of", whole] => number(part).zip(number(whole)).is_some_and(|(part, whole)| part < whole),
        _ => false,
    };
    is_part || is_share(words) && !has(words, &SPENT) && said.len() <= SHARE_WORDS
}

/// The words before a place in its clause, the nearest first.
pub(super) fn clause_before(words: &[String], at: usize) -> impl Iterator<Item = &String> {
    words[..at].iter().rev().take_while(|word| !is_mark(word))
}
