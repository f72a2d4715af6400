//! How long an answer may be. The host throws an answer away whole that passes a cap, so a policy that may have much to say
//! looks at these first.
//!
//! ```
//! use baton_sdk::caps::{CappedText, TEXT_BYTES};
//!
//! let mut document = CappedText::up_to(TEXT_BYTES);
//! document.line("# Handoff");
//! assert!(document.text().len() <= TEXT_BYTES);
//! ```

/// Bytes of a prompt, a document, an index, and of the instructions of a compaction.
///
/// ```
/// assert_eq!(baton_sdk::caps::TEXT_BYTES, 32_768);
/// ```
pub const TEXT_BYTES: usize = 32 << 10;

/// Bytes of a reason, and of every other short text: a question, a title, an id, a warning, a finding.
///
/// ```
/// assert_eq!(baton_sdk::caps::REASON_BYTES, 1_024);
/// ```
pub const REASON_BYTES: usize = 1 << 10;

/// Entries of a list.
///
/// ```
/// assert_eq!(baton_sdk::caps::ITEMS, 256);
/// ```
pub const ITEMS: usize = 256;

/// Bytes of a piece of evidence; the host cuts what is longer.
///
/// ```
/// assert_eq!(baton_sdk::caps::EVIDENCE_BYTES, 200);
/// ```
pub const EVIDENCE_BYTES: usize = 200;

/// The beginning of a text, at most so many bytes, of whole characters.
///
/// ```
/// use baton_sdk::caps::cut;
///
/// assert_eq!(cut("größer", 3), "gr");
/// assert_eq!(cut("größer", 99), "größer");
/// ```
pub fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// A text that grows by lines as long as there is room; the lines that have none are counted.
///
/// ```
/// use baton_sdk::caps::CappedText;
///
/// let mut document = CappedText::up_to(40);
/// for line in ["# Handoff", "- the lexer is done", "- the parser is open"] {
///     document.line(line);
/// }
/// assert_eq!(document.text(), "# Handoff\n- the lexer is done\n");
/// assert_eq!(document.left_out(Some("facts.md")), ["1 line; see facts.md"]);
/// ```
#[derive(Clone, Debug)]
pub struct CappedText {
    text: String,
    bytes_max: usize,
    lines_beyond: usize,
}

impl CappedText {
    /// An empty one, with room for so many bytes.
    ///
    /// ```
    /// assert_eq!(baton_sdk::caps::CappedText::up_to(40).text(), "");
    /// ```
    pub fn up_to(bytes_max: usize) -> Self {
        Self { text: String::new(), bytes_max, lines_beyond: 0 }
    }

    /// Adds a line and its end, where there is room for both.
    ///
    /// ```
    /// let mut text = baton_sdk::caps::CappedText::up_to(6);
    /// text.line("first");
    /// text.line("second");
    /// assert_eq!(text.text(), "first\n");
    /// ```
    pub fn line(&mut self, line: &str) {
        if self.text.len() + line.len() < self.bytes_max {
            self.text.push_str(line);
            self.text.push('\n');
        } else {
            self.lines_beyond += 1;
        }
    }

    /// What it has so far.
    ///
    /// ```
    /// let mut text = baton_sdk::caps::CappedText::up_to(40);
    /// text.line("one");
    /// assert_eq!(text.text(), "one\n");
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it leaves out, and where that stands: as prompts and handoffs say it.
    ///
    /// ```
    /// let mut text = baton_sdk::caps::CappedText::up_to(2);
    /// text.line("one");
    /// assert_eq!(text.left_out(Some("facts.md")), ["1 line; see facts.md"]);
    /// ```
    pub fn left_out(&self, path: Option<&str>) -> Vec<String> {
        let place = path.map(|path| format!("; see {path}")).unwrap_or_default();
        match self.lines_beyond {
            0 => Vec::new(),
            1 => vec![format!("1 line{place}")],
            beyond => vec![format!("{beyond} lines{place}")],
        }
    }
}
