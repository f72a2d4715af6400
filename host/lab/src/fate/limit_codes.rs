//! The codes by which agents and providers say that a context window is used up.

use baton_core::facts::{AgentEvent, Channel};

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
/// Longer is none of them, however it is written.
const LONGEST_CODE_BYTES: usize = 64;

/// Whether an event of an agent says so by a code of its protocol or of its provider. Its words are none.
pub(super) fn says_full(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::PromptEnded { stop_reason, .. } => is_limit(stop_reason),
        AgentEvent::Signal(signal) => {
            let is_fact = matches!(signal.channel, Channel::AgentEvent | Channel::ProviderError);
            is_fact && !signal.retrying && is_limit(&signal.code)
        }
        _ => false,
    }
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
    use baton_core::run::Recording;
    use baton_core::time::UnixMs;
    use baton_engine::{Engine, EngineConfig, Router};

    use super::*;

    fn ended(stop_reason: &str) -> AgentEvent {
        AgentEvent::PromptEnded { stop_reason: stop_reason.to_owned(), is_error: true }
    }

    #[test]
    fn the_built_in_policy_reads_every_code_as_exhaustion() {
        let engine = Engine::new(EngineConfig::default()).unwrap();
        let router = Router::new(&engine, BTreeMap::new()).unwrap();
        for code in LIMIT_CODES {
            let mut recording = Recording::new("claude", UnixMs(1), 0);
            recording.take(ended(code));
            let (decision, _) = router.decide(&recording.question(None));
            let Ok(Decision::Assess(assessment)) = decision else { panic!("{code}: {decision:?}") };
            assert_eq!(assessment.verdict, Verdict::Exhausted, "{code}");
        }
    }

    #[test]
    fn spelling_does_not_matter_and_other_codes_say_nothing() {
        for code in ["prompt_too_long", "PromptTooLongError", "context-window-exceeded"] {
            assert!(says_full(&ended(code)), "{code}");
        }
        for code in ["end_turn", "max_tokens", "rate_limit", "error", "", &"x".repeat(10_000)] {
            assert!(!says_full(&ended(code)), "{code}");
        }
    }
}
