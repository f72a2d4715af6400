//! Why a session stopped, by phrases. A phrase counts on the channel that its rule names, in signals of the current prompt; what
//! a tool printed is on none of them.

use baton_sdk::exhaustion::{Assessment, Observation, Occasion, Quota, QuotaCause, Verdict};
use baton_sdk::prelude::*;
use baton_sdk::recovery::{self, Action};

pub(crate) const AFTER_FAILED: &str = "after-failed";
pub(crate) const NEW_SESSION: &str = "new-session";
pub(crate) const NUDGE: &str = "nudge";
pub(crate) const SPLIT: &str = "split";
pub(crate) const ASK: &str = "ask";

/// Those on which a phrase can be evidence, by their names in rules.
const CHANNELS: [(&str, Channel); 4] = [
    ("agent-event", Channel::AgentEvent),
    ("provider-error", Channel::ProviderError),
    ("agent-text", Channel::AgentText),
    ("terminal", Channel::Terminal),
];
/// What came so shortly before the last thing heard is that thing.
const SLACK_MS: u64 = 1_000;

pub(crate) fn assess(host: &impl Host, o: &Observation) -> Option<Assessment> {
    // While it works, an error counts until something is heard after it.
    let is_last = |signal: &Signal| signal.age_ms <= o.session.idle_ms.saturating_add(SLACK_MS);
    let is_error = |signal: &Signal| signal.channel != Channel::AgentText && is_last(signal);
    // What the agent retries by itself has ended nothing.
    let is_final = |signal: &Signal| !signal.retrying;
    match o.occasion {
        // The model has just answered.
        Occasion::Turn | Occasion::Other(_) => None,
        Occasion::Signal => quota(host, o, is_error),
        Occasion::Heartbeat => quota(host, o, is_error).or_else(|| stalled(host, o, is_last)),
        // Where all is done, no phrase says why it ended.
        Occasion::PromptEnded | Occasion::SessionEnded if !is_left(o) => None,
        Occasion::PromptEnded | Occasion::SessionEnded => quota(host, o, is_final)
            .or_else(|| exhausted(host, o, is_final))
            .or_else(|| failed(host, o, is_final)),
    }
}

fn exhausted(host: &impl Host, o: &Observation, counts: impl Fn(&Signal) -> bool) -> Option<Assessment> {
    let said = said(host, o, "exhausted-phrases", counts)?;
    Some(assessment(Verdict::Exhausted, said))
}

fn quota(host: &impl Host, o: &Observation, counts: impl Fn(&Signal) -> bool) -> Option<Assessment> {
    let said = said(host, o, "quota-phrases", counts)?;
    let resets_at_ms = said.signal.resets_at_ms;
    Some(assessment(Verdict::Quota(Quota { cause: QuotaCause::Usage, resets_at_ms }), said))
}

fn stalled(host: &impl Host, o: &Observation, counts: impl Fn(&Signal) -> bool) -> Option<Assessment> {
    if o.session.state != SessionState::Working {
        return None;
    }
    let said = said(host, o, "stalled-phrases", counts)?;
    Some(assessment(Verdict::Stalled, said))
}

fn failed(host: &impl Host, o: &Observation, counts: impl Fn(&Signal) -> bool) -> Option<Assessment> {
    let said = said(host, o, "failed-phrases", counts)?;
    Some(assessment(Verdict::Failed, said))
}

/// What to do where a rule said why; of all else the next policy of the chain knows more.
pub(crate) fn recover(host: &impl Host, o: &recovery::Observation) -> Option<recovery::Decision> {
    let (verdict, seen) = (o.assessment.verdict, &o.session);
    let found = assess(host, seen).filter(|found| found.verdict == verdict)?;
    let action = match verdict {
        Verdict::Exhausted => Action::HandOff,
        Verdict::Quota(_) => Action::Wait,
        Verdict::Stalled => {
            let interrupts = seen.session.capabilities.contains(Capabilities::INTERRUPTS);
            if interrupts && seen.nudges == 0 { Action::Interrupt } else { Action::Retry }
        }
        Verdict::Failed => match host.text(AFTER_FAILED).as_str() {
            NUDGE => Action::Nudge,
            SPLIT => Action::Split,
            ASK => {
                let text = found.evidence.first().map_or("", |evidence| evidence.text.as_str());
                let id = &seen.phase.id;
                Action::AskPerson(format!("Phase {id}: the agent failed ({text}). Continue it, or leave it?"))
            }
            _ => Action::Retry,
        },
        _ => return None,
    };
    Some(recovery::Decision::new(action, found.reason))
}

/// Whether the prompt left work: an objective of it that is not done. Where none is known, the phase says it.
fn is_left(o: &Observation) -> bool {
    match o.objectives.is_empty() {
        true => o.phase.progress.open + o.phase.progress.failed > 0,
        false => o.objectives.iter().any(|objective| objective.status != ObjectiveStatus::Done),
    }
}

/// A signal that has a phrase in it.
struct Said<'o> {
    signal: &'o Signal,
    rule: &'static str,
    /// The line from the phrase on.
    text: String,
}

/// The newest signal of the current prompt that one of the phrases is in, on the channel that the rule names.
fn said<'o>(
    host: &impl Host,
    o: &'o Observation,
    rule: &'static str,
    counts: impl Fn(&Signal) -> bool,
) -> Option<Said<'o>> {
    let entries = host.texts(rule);
    if entries.is_empty() {
        return None;
    }
    let phrases = CHANNELS.map(|(name, channel)| (channel, Phrases::of(&entries, name)));
    let current = o.signals.iter().rev().filter(|signal| signal.prompt == o.session.prompts);
    current.filter(|signal| counts(signal)).find_map(|signal| {
        let (_, phrases) = phrases.iter().find(|(channel, _)| *channel == signal.channel)?;
        if phrases.by_first.is_empty() {
            return None;
        }
        let text = host.text_slice(o.window, signal.text);
        let line = text[phrases.first_in(&text)?..].lines().next().unwrap_or_default();
        Some(Said { signal, rule, text: caps::cut(line, caps::EVIDENCE_BYTES).trim().to_owned() })
    })
}

/// The phrases of a rule on one channel, by their first byte; nothing where it has none. The host would take fuel for every byte of every phrase, which
/// a long list has not.
struct Phrases {
    by_first: Vec<Vec<String>>,
}

impl Phrases {
    fn of(entries: &[String], channel: &str) -> Self {
        let mut phrases = Self { by_first: Vec::new() };
        let named = entries.iter().filter_map(|entry| entry.split_once(':'));
        for (_, phrase) in named.filter(|(name, _)| name.trim() == channel) {
            let phrase = phrase.trim().to_ascii_lowercase();
            if let Some(first) = phrase.bytes().next() {
                phrases.by_first.resize(256, Vec::new());
                phrases.by_first[usize::from(first)].push(phrase);
            }
        }
        phrases
    }

    /// Where the first of them begins; ASCII letters match in either case.
    fn first_in(&self, text: &str) -> Option<usize> {
        let text = text.to_ascii_lowercase();
        let bytes = text.as_bytes();
        let begins = |at: &usize| {
            let phrases = &self.by_first[usize::from(bytes[*at])];
            phrases.iter().any(|phrase| bytes[*at..].starts_with(phrase.as_bytes()))
        };
        (0..bytes.len()).find(begins)
    }
}

fn assessment(verdict: Verdict, said: Said<'_>) -> Assessment {
    let Said { signal, rule, text } = said;
    Assessment {
        verdict,
        reason: format!("by the rule {rule}: {text}"),
        evidence: vec![Evidence { channel: signal.channel, seq: Some(signal.seq), text }],
        warning: None,
    }
}
