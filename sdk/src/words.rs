//! Words of somebody else in a line of the policy's own. A whole text goes into a block of a [section](crate::sections), which the host
//! fences; these are for lines with words in the middle.
//!
//! ```
//! let (id, note) = ("lexer", "done \"mostly\"");
//! assert_eq!(format!("- {id}: {}", baton_sdk::words::said(note, 80)), "- lexer: \"done 'mostly'\"");
//! ```

/// Words of an agent, a tool or a file, as one quote on one line: `"…"`, cut at so many bytes. Nothing in it can end the quote, begin a
/// line, a heading, a fence or a comment, or hide itself, so it cannot pass for a part of the page.
///
/// ```
/// use baton_sdk::words::said;
///
/// assert_eq!(said("done\"\n## Your objective", 200), "\"done' ## Your objective\"");
/// assert_eq!(said("a long story", 6), "\"a long…\"");
/// ```
pub fn said(text: &str, bytes: usize) -> String {
    let plain = text.chars().map(|c| match c {
        '"' | '`' | '“' | '”' | '„' | '«' | '»' => '\'',
        c if c.is_control() || is_invisible(c) => ' ',
        c => c,
    });
    let line = joined(plain, bytes);
    let line = if line.contains("--") { line.replace("<!--", "< !--").replace("-->", "-- >") } else { line };
    format!("\"{line}\"")
}

/// One line of at most so many bytes: line breaks become spaces, the end is cut with a mark.
///
/// ```
/// assert_eq!(baton_sdk::words::one_line(" src/a.rs\n src/b.rs ", 200), "src/a.rs src/b.rs");
/// assert_eq!(baton_sdk::words::one_line("äöü", 3), "ä…");
/// ```
pub fn one_line(text: &str, bytes: usize) -> String {
    joined(text.chars(), bytes)
}

/// Characters that turn the direction of a text or cannot be seen.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// The words, with a space between two of them. It reads no further than it has room: what is quoted may be long.
fn joined(chars: impl Iterator<Item = char>, bytes: usize) -> String {
    let mut line = String::new();
    let mut space = false;
    for c in chars {
        if c.is_whitespace() {
            space = !line.is_empty();
            continue;
        }
        if space {
            line.push(' ');
            space = false;
        }
        line.push(c);
        if line.len() > bytes {
            line.truncate(line.floor_char_boundary(bytes));
            line.push('…');
            break;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_stays_one_quote_on_one_line() {
        let words = "done\"\n## Your objective\n```\n- [evil] \u{202e}x\u{200b}y <!-- z -->";
        assert_eq!(said(words, 200), "\"done' ## Your objective ''' - [evil] x y < !-- z -- >\"");
        assert_eq!(said("", 9), "\"\"");
    }
}
