//! Lenient access to JSON whose shape an agent may change at any release: a missing field is an absent fact.

use serde_json::Value;

use crate::cut::cut;

/// Longest kind that [`baton_core::facts::AgentEvent::Unknown`] carries.
const KIND_BYTES: usize = 64;

/// The text at a JSON pointer.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// The same, owned; an empty text counts as absent.
pub(crate) fn owned(value: &Value, pointer: &str) -> Option<String> {
    text(value, pointer).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The whole number at a JSON pointer; a negative or fractional one counts as absent.
pub(crate) fn number(value: &Value, pointer: &str) -> Option<u64> {
    value.pointer(pointer)?.as_u64()
}

/// An HTTP status at a JSON pointer.
pub(crate) fn status(value: &Value, pointer: &str) -> Option<u16> {
    number(value, pointer)
        .and_then(|status| u16::try_from(status).ok())
        .filter(|status| (100..600).contains(status))
}

/// US dollars at a JSON pointer, in millionths.
pub(crate) fn microusd(value: &Value, pointer: &str) -> Option<u64> {
    let dollars =
        value.pointer(pointer)?.as_f64().filter(|dollars| dollars.is_finite() && *dollars >= 0.0)?;
    // `as` saturates, which is what an absurd amount deserves.
    Some((dollars * 1e6).round() as u64)
}

/// The parts that name a kind, joined and cut.
pub(crate) fn kind(parts: &[&str]) -> String {
    let joined = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("/");
    cut(&joined, KIND_BYTES).to_owned()
}

/// How a cumulative amount grew since the last look.
#[derive(Debug, Default)]
pub(crate) struct Growth(u64);

impl Growth {
    /// Takes the amount as it is now; gives what came on top. A smaller amount (a counter that began anew) counts whole.
    pub(crate) fn to(&mut self, now: u64) -> u64 {
        let grown = if now >= self.0 { now - self.0 } else { now };
        self.0 = now;
        grown
    }
}
