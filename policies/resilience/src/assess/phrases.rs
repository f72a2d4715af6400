//! What the text of a signal says, and whether it says it in a place where an error stands.
//!
//! A phrase counts anywhere in an error of the provider. In the agent's own words, where people discuss errors all day,
//! it counts only as an error message stands there: at the start of one of the last lines and followed by no more of a
//! sentence, or behind an error's label, and unquoted. The window is searched once a list, by the host.

use std::cell::OnceCell;

use baton_sdk::exhaustion::{Observation, QuotaCause};
use baton_sdk::types::{Channel, Signal, Span};
use baton_sdk::{Hit, Host};

use super::codes::Class;

/// The lists, and what a hit means, in the order in which they are asked: limits of a provider first, because their
/// messages often speak of tokens and prompts too, and must never be taken for exhaustion.
const LISTS: [(Class, &str); 7] = [
    (Class::Quota(QuotaCause::Billing), "billing-phrases"),
    (Class::Quota(QuotaCause::Usage), "usage-phrases"),
    (Class::Quota(QuotaCause::Rate), "rate-phrases"),
    (Class::Quota(QuotaCause::Overload), "overload-phrases"),
    (Class::TurnLimit, "turn-limit-phrases"),
    (Class::Truncated, "truncated-phrases"),
    (Class::Exhausted, "exhausted-phrases"),
];
const NOUNS: &str = "context-nouns";
const VERBS: &str = "overflow-verbs";
const INNOCENT: &str = "innocent-phrases";
const DISCUSSION: &str = "discussion-phrases";

/// Hits of one list that are looked at; an error message has one or two.
const HITS: u32 = 64;
/// A noun and a verb further apart than this are of different sentences.
const SENTENCE_BYTES: u32 = 160;
/// A line is looked at so far to both sides of a hit.
const LINE_BYTES: u32 = 240;
/// What follows the line of a final error is at most this: a blank line, a hint.
const TAIL_BYTES: u32 = 400;
/// An answer of at most this many bytes may be an error message as a whole.
const SHORT_BYTES: u32 = 240;
/// In a short answer, this much may stand before the phrase ("Your group's ", "Selected ").
const SHORT_PREFIX_BYTES: usize = 24;
/// Words in the name of a limit ("5-hour usage").
const LIMIT_NAME_WORDS: usize = 3;
/// What stands before an error behind its label is not longer.
const LABEL_BYTES: usize = 90;
/// Phrases that name a limit without saying that it was reached. In an error of the provider that is enough.
const NAMES: [&str; 8] = [
    "rate limit",
    "rate-limit",
    "rate_limit",
    "ratelimit",
    "usage limit",
    "per_minute",
    "tokens per min",
    "requests per min",
];
/// What a line that reports something bad on a terminal has in it.
const BAD_WORDS: [&str; 9] =
    ["error", "fail", "warn", "exceed", "fatal", "reject", "exhaust", "reached", "too "];

/// A phrase, where it counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Match {
    pub(crate) class: Class,
    /// The line it stands in.
    pub(crate) line: Span,
}

/// The searches of one window, each made when it is first needed.
pub(crate) struct Phrases<'o, H: Host> {
    host: &'o H,
    observation: &'o Observation,
    lists: [OnceCell<Vec<Hit>>; LISTS.len()],
    nouns: OnceCell<Vec<Hit>>,
    verbs: OnceCell<Vec<Hit>>,
    innocent: OnceCell<Vec<Hit>>,
}

impl<'o, H: Host> Phrases<'o, H> {
    pub(crate) fn new(host: &'o H, observation: &'o Observation) -> Self {
        Self {
            host,
            observation,
            lists: Default::default(),
            nouns: OnceCell::new(),
            verbs: OnceCell::new(),
            innocent: OnceCell::new(),
        }
    }

    /// What the text of a signal says, if anything.
    pub(crate) fn read(&self, signal: &Signal) -> Option<Match> {
        if signal.text.start >= signal.text.end || signal.channel == Channel::ToolOutput {
            return None;
        }
        let within = |hits: &[Hit]| hits.iter().any(|hit| inside(hit, signal));
        if within(self.hits(&self.innocent, INNOCENT)) {
            return None;
        }
        for (place, (class, list)) in LISTS.iter().enumerate() {
            let hits = self.hits(&self.lists[place], list).iter().filter(|hit| inside(hit, signal));
            // The last one: an error that ends a prompt is at its end.
            let found = hits.rev().find_map(|hit| self.counts(signal, hit.at));
            if let Some(line) = found {
                return Some(Match { class: *class, line });
            }
        }
        self.overflow(signal)
    }

    /// A noun of the context beside a verb of too much, in an error: most vendors' wording, known or not.
    fn overflow(&self, signal: &Signal) -> Option<Match> {
        let nouns = self.hits(&self.nouns, NOUNS).iter().filter(|hit| inside(hit, signal));
        let verbs = self.hits(&self.verbs, VERBS);
        for noun in nouns {
            let near = |verb: &&Hit| {
                inside(verb, signal)
                    && verb.at.start < noun.at.end.saturating_add(SENTENCE_BYTES)
                    && noun.at.start < verb.at.end.saturating_add(SENTENCE_BYTES)
            };
            if verbs.iter().any(|verb| near(&verb)) {
                let line = match signal.channel {
                    Channel::AgentText => self.machine_line(signal, noun.at),
                    _ => self.counts(signal, noun.at),
                };
                if let Some(line) = line {
                    return Some(Match { class: Class::Exhausted, line });
                }
            }
        }
        None
    }

    fn hits<'s>(&'s self, cell: &'s OnceCell<Vec<Hit>>, list: &str) -> &'s [Hit] {
        let whole = Span { start: 0, end: u32::MAX };
        cell.get_or_init(|| self.host.find_setting(self.observation.window, whole, list, HITS))
    }

    /// The line of a hit, if the hit counts there.
    fn counts(&self, signal: &Signal, at: Span) -> Option<Span> {
        let line = self.line(signal, at);
        let counts = match signal.channel {
            Channel::AgentEvent | Channel::ProviderError => true,
            Channel::AgentText => self.stands_as_error(signal, &line, (at.end - at.start) as usize),
            Channel::Terminal => {
                let lower = (line.before.clone() + &line.from_hit).to_ascii_lowercase();
                BAD_WORDS.iter().any(|word| lower.contains(word)) && !self.discusses(line.at)
            }
            Channel::ToolOutput => false,
        };
        counts.then_some(line.at)
    }

    /// The line of a hit in an answer that is an error object, as some adapters pass it on.
    fn machine_line(&self, signal: &Signal, at: Span) -> Option<Span> {
        let line = self.line(signal, at);
        (line.is_machine() && line.is_last(signal)).then_some(line.at)
    }

    fn stands_as_error(&self, signal: &Signal, line: &Line, hit_bytes: usize) -> bool {
        if !line.is_last(signal) {
            return false;
        }
        if line.is_machine() {
            return true;
        }
        let before = line.before.as_str();
        let quoted = before.ends_with(['`', '"', '\'', '“', '‘', '«']);
        if quoted || before.trim_start().starts_with(['>', '|', '│', '-', '*', '+', '#']) {
            return false;
        }
        let lead = before.trim_matches(|c: char| !c.is_alphanumeric() && c != ':');
        let labelled = lead.len() <= LABEL_BYTES
            && lead.split_once(':').is_some_and(|(label, _)| {
                let label = label.to_ascii_lowercase();
                BAD_WORDS.iter().any(|word| label.contains(word))
            });
        let short = signal.text.end - signal.text.start <= SHORT_BYTES && before.len() <= SHORT_PREFIX_BYTES;
        let hit = line.from_hit.get(..hit_bytes).unwrap_or_default();
        let says = !NAMES.iter().any(|name| name.eq_ignore_ascii_case(hit)) && line.ends_there(hit_bytes);
        let placed = labelled || ((lead.is_empty() || short) && says);
        placed && !self.discusses(line.at)
    }

    fn discusses(&self, line: Span) -> bool {
        !self.host.find_setting(self.observation.window, line, DISCUSSION, 1).is_empty()
    }

    /// The line around a hit, within its signal.
    fn line(&self, signal: &Signal, at: Span) -> Line {
        let window = self.observation.window;
        let start = at.start.saturating_sub(LINE_BYTES).max(signal.text.start);
        let end = at.end.saturating_add(LINE_BYTES).min(signal.text.end);
        let before = self.host.text_slice(window, Span { start, end: at.start });
        let before = before.rsplit('\n').next().unwrap_or_default().to_owned();
        let from_hit = self.host.text_slice(window, Span { start: at.start, end });
        let from_hit = from_hit.split('\n').next().unwrap_or_default().to_owned();
        let at = Span { start: at.start - before.len() as u32, end: at.start + from_hit.len() as u32 };
        Line { at, before, from_hit }
    }
}

/// A line with a hit in it.
struct Line {
    at: Span,
    before: String,
    /// The hit and what follows it.
    from_hit: String,
}

impl Line {
    /// It is among the last of its signal.
    fn is_last(&self, signal: &Signal) -> bool {
        signal.text.end.saturating_sub(self.at.end) <= TAIL_BYTES
    }

    /// What the hit says ends with it, as in "Prompt is too long · run /compact", and is not the subject or object of a
    /// sentence, as in "The rate limit middleware works". A limit may be named first: "You've hit your weekly limit".
    fn ends_there(&self, hit_bytes: usize) -> bool {
        let after = self.from_hit.get(hit_bytes..).unwrap_or_default();
        let ends = |after: &str| {
            !after.trim_start().starts_with(|c: char| c.is_alphabetic() || c == '?' || c == '`')
        };
        let names_a_limit = || {
            let (name, rest) = ["limit", "allowance"].iter().find_map(|word| after.split_once(word))?;
            Some(name.split_whitespace().count() <= LIMIT_NAME_WORDS && ends(rest))
        };
        ends(after) || names_a_limit() == Some(true)
    }

    /// It is an error object, not prose.
    fn is_machine(&self) -> bool {
        let begins = if self.before.trim().is_empty() { &self.from_hit } else { &self.before };
        begins.trim_start().starts_with(['{', '['])
            && (self.before.contains("rror") || self.from_hit.contains("rror"))
            && (self.before.contains('"') || self.from_hit.contains('"'))
    }
}

fn inside(hit: &Hit, signal: &Signal) -> bool {
    signal.text.start <= hit.at.start && hit.at.end <= signal.text.end
}
