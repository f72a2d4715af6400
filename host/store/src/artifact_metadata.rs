//! Describes an artifact without showing it: media type, preview, size in tokens. Reads only the bytes and the name, and stores
//! nothing.

use crate::secrets::mask;

/// The method of a token count that was made.
pub const TOKENS_COUNTED: &str = "tiktoken:o200k_base";
/// The method of a token count that is estimated: a quarter of the bytes.
pub const TOKENS_ESTIMATED: &str = "estimate:bytes/4";

/// A longer text is estimated: counting one takes seconds, and no decision depends on the last percent of it.
const COUNTED_BYTES: usize = 512 * 1024;
/// The tokenizer takes a word, or a stretch of blanks, in time that grows with its square; text has no such words.
const WORD_BYTES: usize = 4 * 1024;
/// Lines of a preview (C3), each cut to [`LINE_BYTES`].
const PREVIEW_LINES: usize = 10;
/// Longest line of a preview or a summary, which people read; minified files have lines of megabytes.
const LINE_BYTES: usize = 200;

/// The size of a content in tokens, and how it was found out.
pub fn tokens(bytes: &[u8]) -> (u64, &'static str) {
    match str::from_utf8(bytes) {
        Ok(text) if text.len() <= COUNTED_BYTES && longest_word(text) <= WORD_BYTES => {
            (tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len() as u64, TOKENS_COUNTED)
        }
        _ => (bytes.len().div_ceil(4) as u64, TOKENS_ESTIMATED),
    }
}

/// The longest stretch of bytes that are all blank or all not.
fn longest_word(text: &str) -> usize {
    let bytes = text.as_bytes();
    bytes
        .chunk_by(|a, b| a.is_ascii_whitespace() == b.is_ascii_whitespace())
        .map(<[u8]>::len)
        .max()
        .unwrap_or(0)
}

/// The first ten lines of a text, short and without secrets; empty if the bytes are not text.
pub fn preview(bytes: &[u8]) -> String {
    // A secret that begins in the shown part can continue after it.
    let shown = &bytes[..bytes.len().min(4 * PREVIEW_LINES * LINE_BYTES)];
    let text = match str::from_utf8(shown) {
        Ok(text) => text,
        Err(e) if e.error_len().is_none() && shown.len() < bytes.len() => {
            str::from_utf8(&shown[..e.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return String::new(),
    };
    mask(text).lines().take(PREVIEW_LINES).map(cut).collect::<Vec<_>>().join("\n")
}

/// As in HTTP: the given media type, or else a guess from the name, or else one from the content.
pub(crate) fn media_type(name: &str, said: &str, bytes: &[u8]) -> String {
    if !said.is_empty() {
        return one_line(said).to_owned();
    }
    if let Some(guess) = mime_guess::from_path(name).first_raw() {
        return guess.to_owned();
    }
    match str::from_utf8(bytes) {
        Ok(text) if text.trim_start().starts_with(['{', '[']) && is_json(text) => "application/json",
        Ok(_) => "text/plain",
        Err(_) => "application/octet-stream",
    }
    .to_owned()
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

pub(crate) fn one_line(text: &str) -> &str {
    cut(text.lines().next().unwrap_or_default())
}

pub(crate) fn cut(line: &str) -> &str {
    &line[..line.floor_char_boundary(LINE_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_ten_short_lines_of_text() {
        // C3
        let lines: Vec<String> = (0..30).map(|n| format!("{n} {}", "ä".repeat(300))).collect();
        let text = preview(lines.join("\n").as_bytes());
        assert_eq!(text.lines().count(), PREVIEW_LINES);
        assert!(text.lines().all(|line| line.len() <= LINE_BYTES && line.len() > LINE_BYTES - 2));
        assert_eq!(preview(&[0xff, 0xfe, b'\n']), "");
    }

    #[test]
    fn a_preview_shows_no_secret() {
        let key = format!("AKIA{}", "Q3J7XWZ2LMNB4VTR");
        assert_eq!(preview(format!("id {key}\nnext").as_bytes()), "id [secret: aws-access-token]\nnext");
    }

    #[test]
    fn text_is_counted_and_everything_else_estimated() {
        assert_eq!(tokens(b"hello world"), (2, TOKENS_COUNTED));
        assert_eq!(tokens(b""), (0, TOKENS_COUNTED));
        assert_eq!(tokens(&[0xff; 9]), (3, TOKENS_ESTIMATED));
        let word = "a".repeat(WORD_BYTES + 1);
        assert_eq!(tokens(word.as_bytes()).1, TOKENS_ESTIMATED);
        assert_eq!(tokens(" ".repeat(WORD_BYTES + 1).as_bytes()).1, TOKENS_ESTIMATED);
        let long = "word ".repeat(COUNTED_BYTES / 5 + 1);
        assert_eq!(tokens(long.as_bytes()), (long.len().div_ceil(4) as u64, TOKENS_ESTIMATED));
    }

    #[test]
    fn a_media_type_is_guessed_where_none_was_said() {
        assert_eq!(media_type("a.md", "", b"# A"), "text/markdown");
        assert_eq!(media_type("a.md", "text/x-mine", b"# A"), "text/x-mine");
        assert_eq!(media_type("data/a.json", "", b"{}"), "application/json");
        assert_eq!(media_type("tool-results/read-1", "", b"{\"a\": 1}"), "application/json");
        assert_eq!(media_type("tool-results/read-1", "", b"{ not json"), "text/plain");
        assert_eq!(media_type("tool-results/shot-1", "", &[0xff, 0x00]), "application/octet-stream");
    }
}
