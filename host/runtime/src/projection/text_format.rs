//! Words that the projected files share. Text of agents and tools comes through here before it enters a file of one line an
//! event: no control character, no line break, no essay.

use std::fmt::Display;

/// A line is for a person's eye and for an agent's small context.
const LINE_CHARS: usize = 240;

/// The text on one line, without control characters, cut.
pub(super) fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let words: String = text.chars().take(4 * LINE_CHARS).map(plain).collect();
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LINE_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// "a, b", or "nothing".
pub(super) fn list<T: Display>(items: &[T]) -> String {
    if items.is_empty() {
        return "nothing".to_owned();
    }
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_and_short() {
        assert_eq!(one_line("a\n\tb\u{1b}[31mc"), "a b [31mc");
        assert_eq!(one_line(&"x".repeat(5000)).chars().count(), LINE_CHARS + 1);
        assert_eq!(list::<u32>(&[]), "nothing");
    }
}
