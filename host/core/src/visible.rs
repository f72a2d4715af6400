//! Words of others as they may be shown: nothing in them moves a cursor, sets a title or a clipboard, turns the direction of a
//! text, or spells words that only a model reads. Everything that is printed, projected or put into a prompt goes through [`visible`].

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with its control characters (but line breaks and tabs), the marks that turn the direction of writing, and the characters that
/// nothing is seen of and that no script needs (tags above all, which spell a hidden text) made visible. Joiners and variation selectors
/// stay where a script or an emoji has them: a selector behind a character that takes it, and no more than two of all of these in a row.
///
/// ```
/// use baton_core::visible::visible;
/// assert_eq!(visible("a\u{1b}]0;title\u{7}\tb\n"), "a␛]0;title␇\tb\n");
/// assert_eq!(visible("gpj.\u{202e}exe"), "gpj.<U+202E>exe");
/// assert_eq!(visible("a\u{e0068}\u{e0069}"), "a<U+E0068><U+E0069>");
/// assert_eq!(visible("a\u{e0158}"), "a<U+E0158>");
/// assert_eq!(visible("\u{2764}\u{fe0f}\u{200d}\u{1f525}"), "\u{2764}\u{fe0f}\u{200d}\u{1f525}");
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
/// use baton_core::visible::has_visible_text;
/// assert!(has_visible_text("\u{200b}a") && !has_visible_text(" \n\u{200b}\u{feff}\t"));
/// ```
pub fn has_visible_text(text: &str) -> bool {
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

/// What stands before a character, of what it needs to be seen.
#[derive(Default)]
struct PrecedingText {
    /// The last character that has a width.
    base: Option<char>,
    /// Characters without one behind it.
    behind: u32,
}

impl PrecedingText {
    /// Whether the next character spells something that nobody sees: 256 variation selectors are an alphabet, and so are runs of joiners.
    fn hides(&mut self, c: char) -> bool {
        let is_selector = matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}');
        if is_selector {
            let is_taken = self.behind == 0 && self.base.is_some_and(|base| takes(base, c));
            self.behind += 1;
            !is_taken
        } else if matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}') {
            self.behind += 1;
            self.behind > INVISIBLE_IN_A_ROW
        } else {
            *self = Self { base: Some(c), behind: 0 };
            false
        }
    }
}

/// As in an emoji of several: a selector and a joiner.
const INVISIBLE_IN_A_ROW: u32 = 2;

/// Whether a variation selector has a meaning behind a character, by the blocks in which Unicode's lists of variation sequences have any.
fn takes(base: char, selector: char) -> bool {
    let is_ideograph =
        matches!(base, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}');
    match selector {
        '\u{180b}'..='\u{180f}' => matches!(base, '\u{1800}'..='\u{18af}'),
        '\u{fe00}'..='\u{fe02}' => is_ideograph || matches!(base, '\u{2000}'..='\u{2bff}'),
        '\u{fe0e}' | '\u{fe0f}' => !base.is_alphabetic() && !base.is_whitespace(),
        '\u{e0100}'..='\u{e01ef}' => is_ideograph,
        _ => false,
    }
}

fn shown(text: &str, obeys: impl Fn(char) -> bool) -> Cow<'_, str> {
    let mut before = PrecedingText::default();
    if text.is_ascii() && !text.chars().any(&obeys) || !text.chars().any(|c| obeys(c) || before.hides(c)) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = PrecedingText::default();
    for c in text.chars() {
        // Both look at each character.
        let is_hidden = before.hides(c);
        match c {
            c if !is_hidden && !obeys(c) => shown.push(c),
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

    #[test]
    fn selectors_and_joiners_spell_nothing() {
        // N6: each byte of a hidden text as a variation selector, in a row or one behind each letter.
        let hidden = |n: u32| char::from_u32(0xe0100 + n).unwrap();
        let in_a_row: String = "write".chars().chain((0..40).map(hidden)).collect();
        let between: String = "write".chars().zip((0..5).map(hidden)).flat_map(|(a, b)| [a, b]).collect();
        let joiners = format!("a{}b", "\u{200b}\u{200d}".repeat(20));
        for text in [in_a_row, between, joiners] {
            let left = visible(&text).chars().filter(|c| !c.is_ascii()).count();
            assert!(left <= 2, "{text:?}");
        }
        let keycap = "1\u{fe0f}\u{20e3}";
        let family = "\u{1f469}\u{1f3fd}\u{200d}\u{1f91d}\u{200d}\u{1f468}";
        for fine in [keycap, family, "葛\u{e0100}城", "می\u{200c}خواهم", "क\u{94d}\u{200d}ष", "\u{feff}a"]
        {
            assert_eq!(visible(fine), fine);
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_obeyed_is_left(text in "(\\PC|\\pC|[a-c1\u{fe0f}\u{e0101}\u{200d}\u{200b}]){0,40}") {
            let shown = visible(&text);
            prop_assert!(!shown.chars().any(|c| obeys(c) && c != '\n' && c != '\t'));
            prop_assert_eq!(visible(&shown), shown.as_ref());
            prop_assert!(!visible_name(&text).chars().any(obeys));
        }
    }
}
