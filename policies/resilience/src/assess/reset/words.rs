//! A text in words, numbers and marks. What they mean is decided elsewhere.

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Word<'t> {
    /// Letters: "pm", "oct".
    Name(&'t str),
    /// A number without sign: "12.345" is 12 and 345 thousandths.
    Number { whole: u64, thousandths: u64, digits: usize },
    /// Anything else but space.
    Mark(char),
}

/// More words than this never belong to one time.
const WORDS: usize = 40;

/// The pieces of a text. A number that is too large for 64 bits is a mark, so that no time is read from it.
pub(super) fn words(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next().filter(|_| words.len() < WORDS) {
        let (word, bytes) = if first.is_ascii_digit() {
            number(rest)
        } else if first.is_alphabetic() {
            let bytes = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
            (Some(Word::Name(&rest[..bytes])), bytes)
        } else {
            let mark = (!first.is_whitespace()).then_some(Word::Mark(first));
            (mark, first.len_utf8())
        };
        words.extend(word);
        rest = &rest[bytes..];
    }
    words
}

fn number(text: &str) -> (Option<Word<'_>>, usize) {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let whole_bytes = digits(text);
    let Ok(whole) = text[..whole_bytes].parse() else {
        return (Some(Word::Mark('#')), whole_bytes);
    };
    let fraction =
        text[whole_bytes..].strip_prefix('.').map(|after| &after[..digits(after)]).unwrap_or_default();
    let mut thousandths = 0;
    for place in 0..3 {
        let digit = fraction.as_bytes().get(place).map_or(0, |digit| u64::from(digit - b'0'));
        thousandths = thousandths * 10 + digit;
    }
    let fraction_bytes = if fraction.is_empty() { 0 } else { 1 + fraction.len() };
    (Some(Word::Number { whole, thousandths, digits: whole_bytes }), whole_bytes + fraction_bytes)
}
