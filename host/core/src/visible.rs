//! Untrusted text in a form that may be shown: nothing in it moves a cursor, sets a title or a clipboard, changes the direction
//! of a text, makes two names look alike, or contains words that only a model reads. Everything that is printed, projected or
//! put into a prompt goes through [`visible`].

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with its control characters (except line breaks and tabs), the marks that change the direction of writing, and all
/// invisible characters made visible: spaces without a width, soft hyphens, fillers, tags. Joiners and variation selectors stay
/// if a script or an emoji uses them: a selector after a character that takes it, a joiner after one that joins, and no more
/// than two in a row.
///
/// ```
/// use baton_core::visible::visible;
/// assert_eq!(visible("a\u{1b}]0;title\u{7}\tb\n"), "a␛]0;title␇\tb\n");
/// assert_eq!(visible("gpj.\u{202e}exe"), "gpj.<U+202E>exe");
/// assert_eq!(visible("a\u{e0068}\u{e0069}"), "a<U+E0068><U+E0069>");
/// assert_eq!(visible("a\u{e0158}"), "a<U+E0158>");
/// assert_eq!(visible("READ\u{200b}ME\u{ad}.md"), "READ<U+200B>ME<U+00AD>.md");
/// assert_eq!(visible("\u{2764}\u{fe0f}\u{200d}\u{1f525}"), "\u{2764}\u{fe0f}\u{200d}\u{1f525}");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    shown(text, |c| obeys(c) && c != '\n' && c != '\t')
}

/// The same of a name, which has one line.
pub fn visible_name(name: &str) -> Cow<'_, str> {
    shown(name, obeys)
}

/// Whether a reader sees anything in a text: a character that is not a blank or a control character, and has a width.
///
/// ```
/// use baton_core::visible::has_visible_text;
/// assert!(has_visible_text("\u{200b}a") && !has_visible_text(" \n\u{200b}\u{feff}\t"));
/// ```
pub fn has_visible_text(text: &str) -> bool {
    text.chars().any(|c| !c.is_whitespace() && !c.is_control() && !is_blank(c))
}

/// The invisible characters that make no text. The SDK has the same list (`sdk/src/rules/sense.rs`), and it decides which
/// answers a policy may give.
fn is_blank(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}')
        || matches!(c, '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a terminal or a viewer obeys this character instead of showing it, or shows nothing of it. The preceding text
/// decides about the characters of scripts and emoji: joiners and variation selectors.
fn obeys(c: char) -> bool {
    let breaks_lines = matches!(c, '\u{2028}' | '\u{2029}');
    // Interlinear annotations: a viewer may show only the text that they are about.
    let annotates = matches!(c, '\u{fff9}'..='\u{fffb}');
    c.is_control() || breaks_lines || annotates || is_ignorable(c) && !is_joiner(c) && !is_selector(c)
}

/// Whether a viewer shows nothing for it: the property Default_Ignorable_Code_Point of Unicode 17 (`DerivedCoreProperties.txt`), which has the
/// marks of direction, invisible operators, fillers of Hangul, shorthand and musical controls, and tags in it.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// The text before a character, as far as it determines whether the character is visible.
#[derive(Default)]
struct PrecedingText {
    /// The last character that has a width.
    base: Option<char>,
    /// Characters without one behind it.
    behind: u32,
}

impl PrecedingText {
    /// Whether the next character spells something invisible: 256 variation selectors are an alphabet, and so are runs of joiners.
    fn hides(&mut self, c: char) -> bool {
        if is_selector(c) {
            let is_taken = self.behind == 0 && self.base.is_some_and(|base| takes(base, c));
            self.behind += 1;
            !is_taken
        } else if is_joiner(c) {
            self.behind += 1;
            self.behind > INVISIBLE_IN_A_ROW || !self.base.is_some_and(joins)
        } else {
            *self = Self { base: Some(c), behind: 0 };
            false
        }
    }
}

/// As in an emoji of several: a selector and a joiner.
const INVISIBLE_IN_A_ROW: u32 = 2;

/// Whether a joiner can have a meaning after a character: a letter or mark of a script whose letters join (Arabic to Mongolian,
/// and those of South and Southeast Asia elsewhere), or a part of an emoji. Latin, Greek, Cyrillic and Chinese text has none.
fn joins(base: char) -> bool {
    let is_emoji = matches!(base, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}');
    let is_joined = matches!(base, '\u{600}'..='\u{109f}' | '\u{1700}'..='\u{1cff}' | '\u{a840}'..='\u{abff}')
        || matches!(base, '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10a00}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}');
    is_emoji || is_joined
}

/// Whether a variation selector has a meaning after a character, by the blocks in which Unicode's lists of variation sequences
/// have any.
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
        // Both functions examine each character.
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
        // N6: each byte of a hidden text as a variation selector, in a row or one after each letter.
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
        let heart = "\u{2764}\u{fe0f}\u{200d}\u{1f525}";
        for fine in [keycap, family, heart, "葛\u{e0100}城", "می\u{200c}خواهم", "क\u{94d}\u{200d}ष"]
        {
            assert_eq!(visible(fine), fine);
            assert_eq!(visible_name(fine), fine);
        }
    }

    #[test]
    fn what_nothing_is_seen_of_is_made_visible() {
        // N6: two names that look alike, and words that people do not see.
        let unseen = "\u{ad}\u{34f}\u{115f}\u{1160}\u{17b4}\u{180e}\u{200b}\u{200c}\u{200d}\u{2028}\u{2029}\u{2060}\u{2065}\u{3164}\
            \u{feff}\u{ffa0}\u{fff9}\u{fffa}\u{fffb}\u{1d173}\u{e0001}\u{e0041}\u{e0fff}";
        for c in unseen.chars() {
            let expected = format!("a<U+{:04X}>b", u32::from(c));
            assert_eq!(visible(&format!("a{c}b")), expected);
            assert_eq!(visible_name(&format!("a{c}b")), expected);
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
