//! Mends a line that is JSON but for its Unicode. Only lines that do not parse come here.

use std::borrow::Cow;

/// The same line with invalid Unicode replaced: bytes that are not UTF-8, and halves of a surrogate pair, which JavaScript
/// writes if it cut a text between the two. None if there is nothing to repair.
pub(super) fn repair(line: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    let mut mended = String::with_capacity(text.len());
    let (mut rest, mut changed) = (&*text, matches!(text, Cow::Owned(_)));
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let pair = escape.get(6..).and_then(surrogate);
        let (taken, replacement) = match (surrogate(escape), pair) {
            (Some(true), Some(false)) => (12, None),
            (Some(_), _) => (6, Some("\\ufffd")),
            // The character after a backslash may be a backslash, and of any length.
            (None, _) => (1 + escape[1..].chars().next().map_or(0, char::len_utf8), None),
        };
        changed |= replacement.is_some();
        mended.push_str(replacement.unwrap_or(&escape[..taken]));
        rest = &escape[taken..];
    }
    mended.push_str(rest);
    changed.then_some(mended)
}

/// Whether a text begins with the escape of a surrogate: true for a first half, false for a second.
fn surrogate(text: &str) -> Option<bool> {
    let unit = u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()?;
    match unit {
        0xd800..0xdc00 => Some(true),
        0xdc00..0xe000 => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_pair_and_bytes_that_are_no_text_are_replaced_and_the_rest_stays() {
        let mended = |line: &[u8]| repair(line);
        assert_eq!(mended(br#"{"a":"\\ud83d \ud83d\ude00 \n"}"#), None);
        assert_eq!(mended(br#"{"a":"x\ud83d"}"#).unwrap(), r#"{"a":"x\ufffd"}"#);
        assert_eq!(mended(br#"{"a":"\ude00\ud83dx"}"#).unwrap(), r#"{"a":"\ufffd\ufffdx"}"#);
        assert_eq!(mended(b"{\"a\":\"\xff\"}").unwrap(), "{\"a\":\"\u{fffd}\"}");
        assert_eq!(mended(b"{\"\\\xff\\u12").unwrap(), "{\"\\\u{fffd}\\u12");
    }
}
