//! Signals, and the facts in a provider's error: its own code, status and reset time. Decides nothing by them.

use baton_core::facts::{AgentEvent, ErrorSignal, SIGNAL_TEXT_BYTES, SignalSource};
use baton_core::time::UnixMs;

use crate::truncate::{cut, cut_owned};
use crate::wire::{Count, Lenient, Text, TextOrNumber, kind, wire};

/// How often the body of an error may hold another as its message: Gemini's command line wraps it twice.
const NESTED: usize = 3;

/// A signal with neither reset time nor retry.
pub(crate) fn signal(channel: SignalSource, code: &str, status: Option<u16>, text: &str) -> ErrorSignal {
    let (code, text) = (kind(&[code]), cut(text, SIGNAL_TEXT_BYTES).to_owned());
    ErrorSignal { channel, code, status, resets_at: None, retrying: false, text }
}

/// The part of its provider's error that an agent passes on. If the text contains the body that the provider sent, code, status
/// and reset time are the body's, and the text is its message.
pub(crate) fn provider_error(status: Option<u16>, text: &str) -> ErrorSignal {
    let plain = signal(SignalSource::ProviderError, "", status, text);
    match ApiError::find(text, NESTED) {
        Some(found) => ErrorSignal {
            code: kind(&[found.code.as_deref().unwrap_or_default()]),
            status: status.or(found.status),
            resets_at: found.resets_at,
            text: found.message.map_or(plain.text, |message| cut(&message, SIGNAL_TEXT_BYTES).to_owned()),
            ..plain
        },
        None => plain,
    }
}

/// A line that was too long to read, as a signal of the terminal.
pub(crate) fn too_long(beginning: &[u8]) -> AgentEvent {
    let text = cut_owned(beginning, SIGNAL_TEXT_BYTES);
    AgentEvent::Signal(signal(SignalSource::Terminal, "line-too-long", None, &text))
}

/// The body of an error as Anthropic, OpenAI and Google write it, and those that speak like them.
#[derive(Debug, Default)]
struct ApiError {
    code: Option<String>,
    status: Option<u16>,
    message: Option<String>,
    resets_at: Option<UnixMs>,
}

wire! {
    struct ApiErrorBody<'a> {
        error: Option<ApiErrorFields<'a>> = "error",
    }

    struct ApiErrorFields<'a> {
        code: TextOrNumber<'a> = "code",
        kind: Text<'a> = "type",
        status: TextOrNumber<'a> = "status",
        message: Text<'a> = "message",
        resets_at: Count = "resets_at",
    }
}

impl ApiError {
    /// Reads the body that begins at the first brace of a text.
    fn find(text: &str, nested: usize) -> Option<Self> {
        let json = &text[text.find('{')?..];
        let Lenient(body) =
            serde::Deserialize::deserialize(&mut serde_json::Deserializer::from_str(json)).ok()?;
        let ApiErrorBody { error } = body;
        let ApiErrorFields { code, kind, status, message, resets_at } = error?;
        let named = [code.text, kind, status.text].into_iter().find_map(Text::into_nonempty);
        let outer = Self {
            code: named,
            status: code.number.status().or(status.number.status()),
            message: message.into_nonempty(),
            resets_at: resets_at.time(),
        };
        let held =
            outer.message.as_deref().filter(|message| nested > 1 && message.trim_start().starts_with('{'));
        match held.and_then(|message| Self::find(message, nested - 1)) {
            // The inner one is the provider's; a library made the outer one of it.
            Some(inner) => Some(Self {
                code: inner.code.or(outer.code),
                status: inner.status.or(outer.status),
                message: inner.message.or(outer.message),
                resets_at: inner.resets_at.or(outer.resets_at),
            }),
            None => Some(outer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Option<u16>, String) {
        let signal = provider_error(None, text);
        (signal.code, signal.status, signal.text)
    }

    #[test]
    fn codes_and_statuses_of_each_vendor_are_found_in_the_text_of_an_error() {
        // B4
        let anthropic = r#"API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}} (request x)"#;
        assert_eq!(read(anthropic), ("invalid_request_error".into(), None, "prompt is too long".into()));
        let openai = r#"{"error":{"message":"too large","type":"invalid_request_error","code":"context_length_exceeded"}}"#;
        assert_eq!(read(openai), ("context_length_exceeded".into(), None, "too large".into()));
        let google =
            r#"[{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED"}}]"#;
        assert_eq!(read(google), ("RESOURCE_EXHAUSTED".into(), Some(429), "Resource exhausted".into()));
        let wrapped =
            serde_json::json!({ "error": { "message": google, "code": 429, "status": "Too Many Requests" } });
        assert_eq!(read(&wrapped.to_string()), ("Too Many Requests".into(), Some(429), google.into()));
        let wrapped = serde_json::json!({ "error": { "message": google.trim_matches(['[', ']']), "code": 429, "status": "Too Many Requests" } });
        assert_eq!(
            read(&wrapped.to_string()),
            ("RESOURCE_EXHAUSTED".into(), Some(429), "Resource exhausted".into())
        );
    }

    #[test]
    fn a_reset_time_of_the_body_is_kept() {
        // B4
        let body = r#"{"error":{"type":"usage_limit_reached","message":"reached","resets_at":4102444800}}"#;
        assert_eq!(provider_error(None, body).resets_at, Some(UnixMs(4_102_444_800_000)));
    }

    #[test]
    fn a_text_without_a_body_stays_as_it_is() {
        for text in ["rate limit {x", "{\"error\":\"plain\"}", "{}", "Reconnecting... 1/5"] {
            assert_eq!(read(text), (String::new(), None, text.to_owned()));
        }
    }
}
