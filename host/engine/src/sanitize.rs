//! What a stranger's component wrote, for people to read: one line, of a bounded length, with nothing in it that a terminal
//! would obey.

/// Maximum bytes of a message of a component, or of the compiler about a component.
pub(crate) const MESSAGE_BYTES: usize = 300;

/// The text as one line, cut to `bytes_max` bytes.
pub(crate) fn line(text: &str, bytes_max: usize) -> String {
    let cut = &text[..text.floor_char_boundary(bytes_max)];
    let end = if cut.len() < text.len() { "…" } else { "" };
    let mut line: String = cut.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    line.push_str(end);
    line
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_line_is_short_and_harmless() {
        assert_eq!(line("as it is", 99), "as it is");
        assert_eq!(line("\u{1b}[2Jgone\r\n", 99), " [2Jgone  ");
        assert_eq!(line("aéb", 2), "a…");
    }
}
