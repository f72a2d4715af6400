//! How agents and providers say that a context window is used up: by a code, or in the text of an error.

use baton_core::facts::{AgentEvent, SignalSource};

/// As they are written once case, separators and a final "error" or "exception" are taken away: agents differ in those alone. The
/// built-in policy knows the same ones; a test holds that it does.
const LIMIT_CODES: [&str; 23] = [
    "blockinglimit",
    "contextexhausted",
    "contextexhaustion",
    "contextlengthexceeded",
    "contextlimitexceeded",
    "contextlimitreached",
    "contextoverflow",
    "contexttoolarge",
    "contexttoolong",
    "contextwindowexceeded",
    "contextwindowoverflow",
    "conversationtoolong",
    "exceedcontextsize",
    "inputtoolong",
    "maxcontextlengthexceeded",
    "modelcontextwindowexceeded",
    "modelmaxprompttokensexceeded",
    "promptistoolong",
    "prompttoolong",
    "rapidrefillbreaker",
    "requesttoolarge",
    "tokenlimitexceeded",
    "toomanyinputtokens",
];
/// In the text of an error, in lower case: the same ones that the built-in policy looks for, without those that may be said of a window that
/// still has room.
const LIMIT_PHRASES: [&str; 16] = [
    "context is full",
    "context length exceeded",
    "context limit reached",
    "context window exceeded",
    "context window is full",
    "context window limit reached",
    "conversation is too long",
    "conversation too long",
    "exceed context limit",
    "exceeds the context window",
    "input is too long",
    "maximum context length",
    "prompt is too long",
    "prompt too long",
    "ran out of room in the model's context window",
    "token limit exceeded",
];
/// Longer is none of them, however it is written.
const LONGEST_CODE_BYTES: usize = 64;

/// Whether an event of an agent says so by its protocol or for its provider. What an agent writes or prints does not count.
pub(super) fn reports_full_window(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::PromptEnded { stop_reason, .. } => is_limit(stop_reason),
        AgentEvent::Signal(signal) => {
            let is_fact = matches!(signal.channel, SignalSource::AgentEvent | SignalSource::ProviderError);
            is_fact && !signal.retrying && (is_limit(&signal.code) || has_phrase(&signal.text))
        }
        _ => false,
    }
}

fn has_phrase(text: &str) -> bool {
    let text = text.to_lowercase();
    LIMIT_PHRASES.iter().any(|phrase| text.contains(phrase))
}

fn is_limit(code: &str) -> bool {
    if code.len() > LONGEST_CODE_BYTES {
        return false;
    }
    let plain: String =
        code.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let kind = plain.strip_suffix("error").or_else(|| plain.strip_suffix("exception")).unwrap_or(&plain);
    LIMIT_CODES.contains(&kind)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use baton_core::decision::{Decision, Verdict};
    use baton_core::facts::ErrorSignal;
    use baton_core::run::RecordedSession;
    use baton_core::time::UnixMs;
    use baton_engine::{Engine, EngineConfig, Router};

    use super::*;

    fn error(text: &str) -> AgentEvent {
        AgentEvent::Signal(ErrorSignal {
            channel: SignalSource::ProviderError,
            code: String::new(),
            status: None,
            resets_at: None,
            retrying: false,
            text: text.to_owned(),
        })
    }

    fn ended(stop_reason: &str) -> AgentEvent {
        AgentEvent::PromptEnded { stop_reason: stop_reason.to_owned(), is_error: true }
    }

    #[test]
    fn the_built_in_policy_reads_each_of_them_as_exhaustion() {
        let engine = Engine::new(EngineConfig::default()).unwrap();
        let router = Router::new(&engine, BTreeMap::new()).unwrap();
        let codes = LIMIT_CODES.map(|code| vec![ended(code)]);
        let phrases = LIMIT_PHRASES.map(|phrase| vec![error(phrase), ended("error")]);
        for events in codes.into_iter().chain(phrases) {
            assert!(events.iter().any(reports_full_window), "{events:?}");
            let mut recording = RecordedSession::new("claude", UnixMs(1), 0);
            events.iter().for_each(|event| recording.take(event.clone()));
            let (decision, _) = router.decide(&recording.question(None));
            let Ok(Decision::Exhaustion(assessment)) = decision else { panic!("{events:?}: {decision:?}") };
            assert_eq!(assessment.verdict, Verdict::Exhausted, "{events:?}");
        }
    }

    #[test]
    fn spelling_does_not_matter_and_other_codes_say_nothing() {
        for code in ["prompt_too_long", "PromptTooLongError", "context-window-exceeded"] {
            assert!(reports_full_window(&ended(code)), "{code}");
        }
        for code in ["end_turn", "max_tokens", "rate_limit", "error", "", &"x".repeat(10_000)] {
            assert!(!reports_full_window(&ended(code)), "{code}");
        }
    }
}
