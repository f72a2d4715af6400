//! Masks secrets in agents' text before anything is journaled, so that neither the journal nor a document made of it contains
//! one, and the successor gets the rest of the text (C25).

use std::borrow::Cow;

use baton_core::facts::AgentEvent;
use baton_core::input::AgentReport;
use baton_inbox::ToolCall;
use baton_store::secrets::{mask, mask_line};

/// The report of a call, if it makes one, with its secrets masked.
pub(crate) fn mask_report(call: &ToolCall) -> Option<AgentReport> {
    let report = call.report()?;
    let masked = serde_json::to_string(&report).ok().and_then(|text| match mask_line(&text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(masked) => serde_json::from_str(&masked).ok(),
    });
    Some(masked.unwrap_or(report))
}

/// What an agent did or said. Names by which host and agent know things stay as they are.
pub(crate) fn mask_event(mut event: AgentEvent) -> AgentEvent {
    let words = match &mut event {
        AgentEvent::Text { text } | AgentEvent::ToolOutput { text, .. } => Some(text),
        AgentEvent::ToolCall { command, .. } => command.as_mut(),
        AgentEvent::Signal(signal) => Some(&mut signal.text),
        _ => None,
    };
    if let Some(words) = words
        && let Cow::Owned(masked) = mask(words)
    {
        *words = masked;
    }
    event
}

#[cfg(test)]
mod tests {
    use baton_inbox::GotchaRecord;

    use super::*;

    /// In two pieces, so that no scanner takes this file for a leak.
    fn key() -> String {
        ["AKIA", "Q3J7XWZ2LMNB4VTR"].concat()
    }

    // C25
    #[test]
    fn words_stay_and_secrets_do_not() {
        let said = AgentEvent::Text { text: format!("Log in with {}, then print.", key()) };
        let AgentEvent::Text { text } = mask_event(said) else { panic!("it is still what was said") };
        assert_eq!(text, "Log in with [secret: aws-access-token], then print.");
        let plain = AgentEvent::Text { text: "All is well.".to_owned() };
        assert_eq!(mask_event(plain.clone()), plain);

        let gotcha = format!("\"{}\" is the key", key());
        let Some(AgentReport::GotchaRecord { gotcha }) =
            mask_report(&ToolCall::GotchaRecord(GotchaRecord { gotcha }))
        else {
            panic!("it is still a report")
        };
        assert_eq!(gotcha, "\"[secret: aws-access-token]\" is the key");
    }
}
