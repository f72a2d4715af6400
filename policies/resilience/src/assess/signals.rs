//! The signals of the current prompt, and which of them still count. What their texts say is `phrases.rs`'s.

use std::cell::OnceCell;

use baton_sdk::Host;
use baton_sdk::exhaustion::{Observation, Occasion, QuotaCause};
use baton_sdk::types::{Channel, Evidence, Signal, Span};

use super::codes::{Class, class_of, class_of_status};
use super::phrases::{Match, Phrases};
use super::reset::{Clock, reset_ms};
use super::setup::is_note;
use crate::is_program;

/// Bytes of a piece of evidence (`wit/types.wit`).
pub(super) const EVIDENCE_BYTES: usize = 200;
/// Journal rows between an error and the end of the prompt that it ended: the error, its detail, the bill.
const ADJACENT_ROWS: u64 = 4;
/// While an agent waits for a provider, a line on its stderr is no sign of recovery.
const WAITING_SLACK_MS: u64 = 60_000;
/// What came so shortly before the last thing heard is that thing.
const SLACK_MS: u64 = 1_000;

/// A signal that says something.
pub(crate) struct Found<'o> {
    pub(crate) class: Class,
    pub(crate) signal: &'o Signal,
    /// Where its text says it; absent where the code or status does.
    at: Option<Match>,
}

/// The signals of one observation.
pub(crate) struct Signals<'o, H: Host> {
    host: &'o H,
    observation: &'o Observation,
    phrases: OnceCell<Phrases<'o, H>>,
}

impl<'o, H: Host> Signals<'o, H> {
    pub(crate) fn new(host: &'o H, observation: &'o Observation) -> Self {
        Self { host, observation, phrases: OnceCell::new() }
    }

    /// What decides at the end of a prompt or session: the highest rung, and on it the newest signal.
    pub(crate) fn strongest(&self) -> Option<Found<'o>> {
        const LADDER: [Channel; 4] =
            [Channel::AgentEvent, Channel::ProviderError, Channel::AgentText, Channel::Terminal];
        let completed = self.completed();
        let mut cut_off = None;
        for channel in LADDER {
            if channel == Channel::Terminal && completed {
                break;
            }
            let found =
                self.of(channel).filter(|signal| self.is_final(signal)).find_map(|signal| self.read(signal));
            match found {
                // An agent that is out of room or of quota says at times only that its answer ended early.
                Some(found) if found.class == Class::Truncated => cut_off = cut_off.or(Some(found)),
                Some(found) => return Some(self.refined(found)),
                None => {}
            }
        }
        cut_off
    }

    /// What the newest signals say, as long as nothing was heard since; for a session at work.
    pub(crate) fn latest(&self) -> Option<Found<'o>> {
        let idle_ms = self.observation.session.idle_ms;
        let stalled = self.observation.occasion == Occasion::Heartbeat
            && idle_ms >= self.host.integer("stall-ms") as u64;
        let slack_ms = if stalled { WAITING_SLACK_MS } else { SLACK_MS };
        // All that a program has to say stands on its terminal or in its answer.
        let is_read = stalled
            || is_program(&self.observation.session) && self.observation.occasion == Occasion::Heartbeat;
        self.current()
            .filter(|signal| {
                matches!(signal.channel, Channel::AgentEvent | Channel::ProviderError) || is_read
            })
            .filter(|signal| signal.age_ms <= idle_ms.saturating_add(slack_ms))
            .find_map(|signal| self.read(signal))
            .map(|found| self.refined(found))
    }

    /// Agents call every limit a rate limit, and some an unpaid bill a usage limit; the provider's own words tell
    /// whether it is a longer one.
    fn refined(&self, found: Found<'o>) -> Found<'o> {
        let rank = |class| match class {
            Class::Quota(QuotaCause::Rate) => 1,
            Class::Quota(QuotaCause::Usage) => 2,
            Class::Quota(QuotaCause::Billing) => 3,
            _ => 0,
        };
        let coded = rank(found.class);
        if found.at.is_some() || coded == 0 {
            return found;
        }
        let longer = |signal: &'o Signal| {
            let at = self.phrases().read(signal)?;
            (rank(at.class) > coded).then_some(Found { class: at.class, signal, at: Some(at) })
        };
        let mut words = std::iter::once(found.signal).chain(self.of(Channel::ProviderError));
        words.find_map(longer).unwrap_or(found)
    }

    /// What the agent wrote as its answer to the current prompt.
    pub(crate) fn answer(&self) -> Option<&'o Signal> {
        self.of(Channel::AgentText).next()
    }

    /// The agent's newest word on the prompt is that it is done.
    pub(crate) fn completed(&self) -> bool {
        self.completion().is_some()
    }

    /// The newest error that does not say why.
    pub(crate) fn failed(&self) -> Option<Found<'o>> {
        let signal = self.current().find(|signal| {
            matches!(signal.channel, Channel::AgentEvent | Channel::ProviderError)
                && coded(signal) == Some(Class::Failed)
        })?;
        Some(Found { class: Class::Failed, signal, at: None })
    }

    /// The prompt ended with a code that its agent calls an error, whatever the code says.
    pub(crate) fn called_error(&self) -> bool {
        self.outcome().is_some_and(|signal| self.says_error(signal))
    }

    /// The code that the agent's newest event has: "exit 3".
    pub(crate) fn ended_with(&self) -> Option<&'o str> {
        self.outcome().and_then(|signal| signal.code.as_deref())
    }

    /// The last line on its terminal, where a program that fails says why.
    pub(crate) fn last_printed(&self) -> Option<Evidence> {
        let signal = self.of(Channel::Terminal).next()?;
        let text = self.phrases().slice(signal.text);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty())?;
        let text = line[..line.floor_char_boundary(EVIDENCE_BYTES)].to_owned();
        Some(Evidence { channel: Channel::Terminal, seq: Some(signal.seq), text })
    }

    /// Errors of the agent and its provider, newest first, and then what stands on the terminal.
    pub(crate) fn errors(&self) -> impl Iterator<Item = &'o Signal> {
        let said =
            self.current().filter(|s| matches!(s.channel, Channel::AgentEvent | Channel::ProviderError));
        said.chain(self.of(Channel::Terminal))
    }

    /// The newest words that say why it failed: of the agent, of its provider, or the last on its terminal.
    pub(crate) fn explained(&self) -> Option<Evidence> {
        let mut errors = self.errors().filter(|signal| signal.channel != Channel::Terminal);
        let said = errors.find(|signal| self.has_words(signal));
        said.map(|signal| self.evidence(signal)).or_else(|| self.last_printed())
    }

    /// The words of an agent's event or of its provider's error that came right beside a signal: the nearest, and of two the newer.
    fn words_beside(&self, signal: &Signal) -> Option<&'o Signal> {
        let distance = |other: &Signal| other.seq.abs_diff(signal.seq);
        let beside = self.current().filter(|other| {
            matches!(other.channel, Channel::AgentEvent | Channel::ProviderError)
                && !other.retrying
                && other.seq != signal.seq
                && distance(other) <= ADJACENT_ROWS
                && self.has_words(other)
        });
        beside.min_by_key(|other| distance(other))
    }

    /// The first line of a text that says something, cut.
    fn first_line(&self, text: Span) -> String {
        let line = self.phrases().slice(text).trim().lines().next().unwrap_or_default().trim();
        line[..line.floor_char_boundary(EVIDENCE_BYTES)].to_owned()
    }

    /// Whether it says more than its code: the note that a code is an error is the host's.
    fn has_words(&self, signal: &Signal) -> bool {
        let text = self.phrases().slice(signal.text);
        !text.trim().is_empty() && !is_note(signal.channel, text)
    }

    /// A signal as evidence: its words, or else its code.
    pub(crate) fn evidence(&self, signal: &Signal) -> Evidence {
        let text = self.phrases().slice(signal.text).trim();
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        let text = line.or(signal.code.as_deref()).unwrap_or_default();
        let text = text[..text.floor_char_boundary(EVIDENCE_BYTES)].to_owned();
        Evidence { channel: signal.channel, seq: Some(signal.seq), text }
    }

    fn completion(&self) -> Option<&'o Signal> {
        self.outcome().filter(|signal| coded(signal) == Some(Class::Completed) && !self.says_error(signal))
    }

    /// The agent's newest event with a code.
    fn outcome(&self) -> Option<&'o Signal> {
        self.of(Channel::AgentEvent).find(|signal| signal.code.is_some())
    }

    /// The host puts a note beside the code of a prompt that its agent calls an error.
    fn says_error(&self, signal: &Signal) -> bool {
        signal.text.start < signal.text.end
            && !self.host.find_any(self.observation.window, signal.text, &["error".to_owned()], 1).is_empty()
    }

    /// Whether a signal is about how the prompt ended, and not about something that the agent got over.
    fn is_final(&self, signal: &Signal) -> bool {
        let Some(completion) = self.completion().filter(|completion| completion.seq > signal.seq) else {
            return true;
        };
        let text_bytes = u64::from(signal.text.end.saturating_sub(signal.text.start));
        let enough = self.host.integer("min-answer-bytes") as u64;
        let substance = self.observation.answer_bytes >= text_bytes.saturating_add(enough)
            || self.observation.files_changed > 0;
        !signal.retrying && (completion.seq - signal.seq <= ADJACENT_ROWS || !substance)
    }

    /// Signals of the current prompt that may be evidence, newest first.
    fn current(&self) -> impl Iterator<Item = &'o Signal> {
        let prompt = self.observation.session.prompts;
        let signals = self.observation.signals.iter().rev();
        signals.filter(move |signal| signal.prompt == prompt && signal.channel != Channel::ToolOutput)
    }

    fn of(&self, channel: Channel) -> impl Iterator<Item = &'o Signal> {
        self.current().filter(move |signal| signal.channel == channel)
    }

    /// What one signal says, where it says more than "done" or "failed".
    fn read(&self, signal: &'o Signal) -> Option<Found<'o>> {
        let weak = |class: &Class| matches!(class, Class::Completed | Class::Failed);
        let coded = coded(signal);
        if let Some(class) = coded.filter(|class| !weak(class)) {
            return Some(Found { class, signal, at: None });
        }
        let status = signal.status.and_then(class_of_status);
        let at = if coded == Some(Class::Completed) { None } else { self.phrases().read(signal) };
        match (status, at) {
            // The text may say why there is a quota, but not that there is none.
            (Some(_), Some(at)) if matches!(at.class, Class::Quota(_)) => {
                Some(Found { class: at.class, signal, at: Some(at) })
            }
            (Some(class), _) => Some(Found { class, signal, at: None }),
            (None, Some(at)) => Some(Found { class: at.class, signal, at: Some(at) }),
            (None, None) => None,
        }
    }

    fn phrases(&self) -> &Phrases<'o, H> {
        self.phrases.get_or_init(|| Phrases::new(self.host, self.observation))
    }
}

/// What its code says.
fn coded(signal: &Signal) -> Option<Class> {
    signal.code.as_deref().and_then(class_of)
}

impl Found<'_> {
    /// What decides, and where that is a bare code, the words that came beside it.
    pub(crate) fn evidence(&self, signals: &Signals<'_, impl Host>) -> Vec<Evidence> {
        let evidence =
            |signal: &Signal, text: String| Evidence { channel: signal.channel, seq: Some(signal.seq), text };
        let is_bare = self.at.is_none() && !signals.has_words(self.signal);
        let beside = signals.words_beside(self.signal).filter(|_| is_bare);
        let words = beside.map(|signal| evidence(signal, signals.first_line(signal.text)));
        std::iter::once(evidence(self.signal, self.said(signals))).chain(words).collect()
    }

    /// What was seen, in the signal's own words where it has some.
    fn said(&self, signals: &Signals<'_, impl Host>) -> String {
        let text = signals.first_line(self.at.map_or(self.signal.text, |at| at.at));
        let text = if is_note(self.signal.channel, &text) { "" } else { &text };
        let mut said = match (self.signal.code.as_deref().unwrap_or_default(), self.signal.status, text) {
            ("", Some(status), "") => format!("status {status}"),
            (code, _, "") => code.to_owned(),
            ("", _, text) => text.to_owned(),
            (code, _, text) if self.at.is_none() && code != text => format!("{code} ({text})"),
            (_, _, text) => text.to_owned(),
        };
        said.truncate(said.floor_char_boundary(EVIDENCE_BYTES));
        said
    }

    /// When the limit resets: a structured field of any signal of the prompt, or the words of this one, or those of an
    /// event or error beside it.
    pub(crate) fn resets_at_ms(&self, signals: &Signals<'_, impl Host>) -> Option<u64> {
        let of_prompt = || signals.current().filter(|signal| signal.prompt == self.signal.prompt);
        let clock = |signal: &Signal| Clock {
            said_ms: signals.observation.asked_at_ms.saturating_sub(signal.age_ms),
            now_ms: signals.observation.asked_at_ms,
            utc_offset_minutes: signals.observation.utc_offset_minutes,
        };
        let said = |signal: &Signal, at: Span| reset_ms(signals.phrases().slice(at), clock(signal));
        let structured = of_prompt().find_map(|signal| signal.resets_at_ms);
        // What an agent wrote before its error is not about the error.
        let own =
            Span { start: self.at.map_or(self.signal.text.start, |at| at.at.start), ..self.signal.text };
        let beside = || {
            of_prompt()
                .filter(|signal| matches!(signal.channel, Channel::AgentEvent | Channel::ProviderError))
                .find_map(|signal| said(signal, signal.text))
        };
        structured.or_else(|| said(self.signal, own)).or_else(beside)
    }
}
