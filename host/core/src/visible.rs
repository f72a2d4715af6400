//! Words of others as they may be shown: nothing in them moves a cursor, sets a title or a clipboard, turns the direction of a
//! text, or spells words that only a model reads. Everything that is printed, projected or put into a prompt goes through [`visible`].

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with its control characters (but line breaks and tabs), the marks that turn the direction of writing, and the characters that
/// nothing is seen of and that no script needs (tags above all, which spell a hidden text) made visible.
///
/// ```
/// use baton_core::visible::visible;
/// assert_eq!(visible("a\u{1b}]0;title\u{7}\tb\n"), "a␛]0;title␇\tb\n");
/// assert_eq!(visible("gpj.\u{202e}exe"), "gpj.<U+202E>exe");
/// assert_eq!(visible("a\u{e0068}\u{e0069}"), "a<U+E0068><U+E0069>");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, |c| obeys(c) && c != '\n' && c != '\t')
}

/// The same of a name, which has one line.
pub fn visible_name(name: &str) -> Cow<'_, str> {
    shown(name, |c| obeys(c) || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// Whether a reader sees anything in a text: a character that is no blank, no control character, and has a width.
///
/// ```
/// use baton_core::visible::says_something;
/// assert!(says_something("\u{200b}a") && !says_something(" \n\u{200b}\u{feff}\t"));
/// ```
pub fn says_something(text: &str) -> bool {
    let has_width =
        |c: char| !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    text.chars().any(|c| !c.is_whitespace() && !obeys(c) && has_width(c))
}

/// Whether a terminal or a viewer obeys this character instead of showing it, or shows nothing of it. What scripts and emoji need to join
/// or to part letters stays: joiners, spaces without a width, variation selectors.
fn obeys(c: char) -> bool {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hides = |c| {
        matches!(c, '\u{180e}' | '\u{2061}'..='\u{2064}' | '\u{206a}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
            || matches!(c, '\u{e0000}'..='\u{e007f}')
    };
    c.is_control() || turns(c) || hides(c)
}

fn shown(text: &str, hides: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&hides) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            c if !hides(c) => shown.push(c),
            '\u{7f}' => shown.push('␡'),
            // Unicode has a picture of each of them.
            '\0'..='\u{1f}' => shown.extend(char::from_u32(0x2400 + u32::from(c))),
            c => {
                let _ = write!(shown, "<U+{:04X}>", u32::from(c));
            }
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_has_one_line() {
        assert_eq!(visible_name("a\n## Your objective\r"), "a␊## Your objective␍");
        assert_eq!(visible_name("naïve – 名前.txt"), "naïve – 名前.txt");
    }

    proptest! {
        #[test]
        fn nothing_that_is_obeyed_is_left(text in any::<String>()) {
            let shown = visible(&text);
            prop_assert!(!shown.chars().any(|c| obeys(c) && c != '\n' && c != '\t'));
            prop_assert_eq!(visible(&shown), shown.as_ref());
            prop_assert!(!visible_name(&text).chars().any(obeys));
        }
    }
}
