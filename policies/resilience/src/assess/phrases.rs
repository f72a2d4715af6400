//! What the text of a signal says.
//!
//! A text says something by a phrase ("too many requests"), by the name of a limit and a verb in the same sentence ("the
//! input … exceeds"), by a code or by an HTTP status. Where an error may stand in a text is `place.rs`'s. The window is
//! searched once a list, by the host.

use std::cell::OnceCell;

use baton_sdk::exhaustion::{Observation, QuotaCause};
use baton_sdk::types::{Channel, Signal, Span};
use baton_sdk::{Hit, Host};

use super::codes::{Class, codes_in, statuses_in};
use super::place::{Place, ends_well, errors_at};

/// The settings that a class is recognised by.
struct Words {
    class: Class,
    phrases: Option<&'static str>,
    /// Names of what is limited, and the verbs beside them.
    pair: Option<(&'static str, &'static str)>,
}

const REACHED: &str = "reached-verbs";

/// In the order in which they are asked: limits of a provider first, because their messages often speak of tokens and
/// prompts too, and must never be taken for exhaustion; last a limit that nothing is said about.
const WORDS: [Words; 11] = [
    words(Class::Quota(QuotaCause::Billing), Some("billing-phrases"), Some(("billing-names", REACHED))),
    words(Class::Quota(QuotaCause::Usage), Some("usage-phrases"), Some(("usage-names", REACHED))),
    words(Class::Quota(QuotaCause::Rate), Some("rate-phrases"), Some(("rate-names", REACHED))),
    words(Class::Quota(QuotaCause::Overload), Some("overload-phrases"), None),
    words(Class::TurnLimit, Some("turn-limit-phrases"), Some(("turn-limit-names", REACHED))),
    words(Class::BudgetLimit, None, None),
    words(Class::Truncated, Some("truncated-phrases"), None),
    words(Class::Exhausted, Some("exhausted-phrases"), None),
    words(Class::Exhausted, None, Some(("context-names", "overflow-verbs"))),
    words(Class::Interrupted, None, None),
    words(Class::Quota(QuotaCause::Usage), Some("limit-phrases"), None),
];

/// So many of them are limits of a provider.
const LIMITS: usize = 4;

const fn words(
    class: Class,
    phrases: Option<&'static str>,
    pair: Option<(&'static str, &'static str)>,
) -> Words {
    Words { class, phrases, pair }
}

/// Every list is searched at most once.
const LISTS: [&str; 17] = [
    "billing-phrases",
    "billing-names",
    "usage-phrases",
    "usage-names",
    "rate-phrases",
    "rate-names",
    REACHED,
    "overload-phrases",
    "turn-limit-phrases",
    "turn-limit-names",
    "truncated-phrases",
    "exhausted-phrases",
    "context-names",
    "overflow-verbs",
    "limit-phrases",
    "innocent-phrases",
    "discussion-phrases",
];

/// Hits of one list that are looked at: an error has one or two, and a long text is judged by its end.
const HITS: u32 = 256;
/// A name and a verb further apart than this are of different sentences.
const SENTENCE_BYTES: usize = 160;
/// Names of a stretch that are looked at, and verbs around each: an error has one or two, and noise must not cost more
/// fuel than a decision has.
const NAMES: usize = 32;
const VERBS: usize = 8;
/// Phrases that name a limit, or give advice, without saying that something is over. In an error that is enough.
const NAMING: [&str; 14] = [
    "rate limit",
    "rate-limit",
    "ratelimit",
    "usage limit",
    "_per_minute",
    "tokens per min",
    "requests per min",
    "requests per second",
    "tokens per day",
    "requests per day",
    "maximum context",
    "maximum prompt length",
    "max context length",
    " tokens > ",
];

/// What a text says, and where.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) class: Class,
    /// The line, or the whole text, that says it.
    pub(crate) at: Span,
}

/// The texts of one observation.
pub(crate) struct Phrases<'o, H: Host> {
    host: &'o H,
    observation: &'o Observation,
    window: OnceCell<String>,
    lists: [OnceCell<Vec<Hit>>; LISTS.len()],
}

/// A stretch of the window that is an error, if it says something.
struct Stretch<'w> {
    at: Span,
    text: &'w str,
    place: Place,
}

impl<'o, H: Host> Phrases<'o, H> {
    pub(crate) fn new(host: &'o H, observation: &'o Observation) -> Self {
        Self { host, observation, window: OnceCell::new(), lists: Default::default() }
    }

    /// What the text of a signal says, if anything.
    pub(crate) fn read(&self, signal: &Signal) -> Option<Match> {
        let text = self.slice(signal.text);
        if text.is_empty() || signal.channel == Channel::ToolOutput {
            return None;
        }
        let discusses = |line: Span| self.has("discussion-phrases", line);
        errors_at(signal, text, discusses).into_iter().find_map(|(at, place)| {
            let stretch = Stretch { at, text: self.slice(at), place };
            Some(Match { class: self.says(&stretch)?, at })
        })
    }

    /// A piece of the window; empty where the span is none.
    pub(crate) fn slice(&self, at: Span) -> &str {
        let whole = Span { start: 0, end: u32::MAX };
        let window = self.window.get_or_init(|| self.host.text_slice(self.observation.window, whole));
        let end = window.floor_char_boundary((at.end as usize).min(window.len()));
        let start = window.floor_char_boundary((at.start as usize).min(end));
        &window[start..end]
    }

    fn says(&self, stretch: &Stretch<'_>) -> Option<Class> {
        if self.has("innocent-phrases", stretch.at) {
            return None;
        }
        let found = self.first(stretch, &WORDS)?;
        // A line that speaks of a limit anywhere is not about the context.
        let limit = || {
            let whole = Stretch { place: Place::Error, ..*stretch };
            self.first(&whole, &WORDS[..LIMITS])
        };
        if found == Class::Exhausted && stretch.place != Place::Error {
            return limit().or(Some(found));
        }
        Some(found)
    }

    /// The first class that a stretch says.
    fn first(&self, stretch: &Stretch<'_>, asked: &[Words]) -> Option<Class> {
        let machine = &stretch.text[stretch.place.machine_from(stretch.text)..];
        let coded: Vec<Class> = codes_in(machine).chain(statuses_in(machine)).collect();
        let says = |words: &&Words| {
            coded.contains(&words.class)
                || words.phrases.is_some_and(|list| self.phrase(stretch, list))
                || words.pair.is_some_and(|(names, verbs)| self.pair(stretch, names, verbs))
        };
        asked.iter().find(says).map(|words| words.class)
    }

    fn phrase(&self, stretch: &Stretch<'_>, list: &str) -> bool {
        self.hits(list, stretch.at).any(|(start, end)| {
            let naming = NAMING.iter().any(|name| name.eq_ignore_ascii_case(&stretch.text[start..end]));
            stretch.place.takes(stretch.text, start)
                || !naming && stretch.place.begins(stretch.text, start) && ends_well(&stretch.text[end..])
        })
    }

    /// A name and a verb in one sentence.
    fn pair(&self, stretch: &Stretch<'_>, names: &str, verbs: &str) -> bool {
        let verbs: Vec<(usize, usize)> = self.hits(verbs, stretch.at).collect();
        let together = |(name, name_end): (usize, usize), (verb, verb_end): (usize, usize)| {
            let (gap, gap_end) = (name_end.min(verb_end), name.max(verb));
            if gap_end > gap + SENTENCE_BYTES {
                return false;
            }
            let (start, end) = (name.min(verb), name_end.max(verb_end));
            let between = stretch.text.get(gap..gap_end).unwrap_or_default();
            let one_sentence = !between.contains(['\n', ';']) && !between.contains(". ");
            let begins = || stretch.place.begins(stretch.text, start) && ends_well(&stretch.text[end..]);
            one_sentence && (stretch.place.takes(stretch.text, start) || begins())
        };
        self.hits(names, stretch.at).take(NAMES).any(|name| {
            let from = verbs.partition_point(|verb| verb.1 + SENTENCE_BYTES < name.0);
            verbs[from..].iter().take(VERBS).any(|verb| together(name, *verb))
        })
    }

    /// The hits of a list inside a stretch that begin a word, relative to it.
    fn hits<'s>(&'s self, list: &str, at: Span) -> impl Iterator<Item = (usize, usize)> + use<'s, 'o, H> {
        let text = self.slice(at);
        let relative =
            move |hit: &Hit| ((hit.at.start - at.start) as usize, (hit.at.end - at.start) as usize);
        let begins_word = move |hit: &(usize, usize)| {
            let word = |c: char| c.is_ascii_alphanumeric();
            text.get(hit.0..hit.1).is_some_and(|found| !found.starts_with(word))
                || text.get(..hit.0).is_some_and(|before| !before.ends_with(|c| word(c) || c == '_'))
        };
        self.within(list, at).iter().map(relative).filter(begins_word)
    }

    fn has(&self, list: &str, at: Span) -> bool {
        !self.within(list, at).is_empty()
    }

    /// The hits of a list inside a stretch. They come in order and do not overlap.
    fn within(&self, list: &str, at: Span) -> &[Hit] {
        let hits = self.list(list);
        let from = hits.partition_point(|hit| hit.at.start < at.start);
        let to = hits.partition_point(|hit| hit.at.end <= at.end);
        hits.get(from..to).unwrap_or_default()
    }

    fn list(&self, list: &str) -> &[Hit] {
        let place = LISTS.iter().position(|known| *known == list).unwrap_or_default();
        let whole = Span { start: 0, end: u32::MAX };
        self.lists[place].get_or_init(|| self.host.find_setting(self.observation.window, whole, list, HITS))
    }
}
