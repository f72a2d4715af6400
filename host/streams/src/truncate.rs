//! Cuts text to a size without breaking a character.

use baton_core::facts::COMMAND_BYTES;

/// The longest beginning of `text` that has at most `max_bytes` and ends on a character boundary.
pub fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// A command line as an event carries it.
pub(crate) fn command_line(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| cut(text, COMMAND_BYTES).to_owned())
}

/// The longest end of `text` that has at most `max_bytes` and begins on a character boundary.
pub fn cut_tail(text: &str, max_bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max_bytes))..]
}

/// As [`cut`], from any bytes: bytes that are not UTF-8 become U+FFFD.
pub fn cut_owned(bytes: &[u8], max_bytes: usize) -> String {
    let head = &bytes[..bytes.len().min(max_bytes)];
    let text = match std::str::from_utf8(head) {
        Ok(text) => return text.to_owned(),
        // The limit cut the last character in two: leave it out.
        Err(error) if error.error_len().is_none() && head.len() < bytes.len() => {
            String::from_utf8_lossy(&head[..error.valid_up_to()])
        }
        Err(_) => String::from_utf8_lossy(head),
    };
    // The replacement characters can triple the size, so cut once more.
    cut(&text, max_bytes).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn characters_stay_whole() {
        assert_eq!(cut("grün", 3), "gr");
        assert_eq!(cut_tail("grün", 2), "n");
        assert_eq!(cut_owned("grün".as_bytes(), 3), "gr");
        assert_eq!(cut_owned(b"a\xffb", 9), "a\u{fffd}b");
    }

    proptest! {
        #[test]
        fn never_longer_than_asked(bytes in proptest::collection::vec(any::<u8>(), 0..64), max in 0usize..70) {
            prop_assert!(cut_owned(&bytes, max).len() <= max);
            let text = String::from_utf8_lossy(&bytes);
            prop_assert!(cut(&text, max).len() <= max && text.starts_with(cut(&text, max)));
            prop_assert!(cut_tail(&text, max).len() <= max && text.ends_with(cut_tail(&text, max)));
        }
    }
}
