//! Pages with an end, and words of others as quotes on one line. It knows nothing of handoffs.

/// Bytes of a prompt or a document: half of what the contract allows, and four screens.
const PAGE_BYTES: usize = 16 << 10;
/// Bytes of one line of somebody's words, and of a path.
const LINE_BYTES: usize = 200;

/// Text under way.
pub(crate) struct Page(String);

impl Page {
    pub(crate) fn new(title: &str) -> Self {
        Self(format!("{title}\n"))
    }

    pub(crate) fn heading(&mut self, heading: &str) {
        self.line(&format!("\n## {heading}"));
    }

    /// A line, where there is room.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        let fits = self.0.len() + line.len() < PAGE_BYTES;
        if fits {
            self.0.push_str(line);
            self.0.push('\n');
        }
        fits
    }

    /// The first so many, and how many there are beyond; "none" where there are none at all.
    pub(crate) fn list(&mut self, lines: impl ExactSizeIterator<Item = String>, most: usize, none: &str) {
        let all = lines.len();
        let mut listed = 0;
        for line in lines.take(most) {
            listed += usize::from(self.line(&line));
        }
        match all - listed {
            0 if all == 0 => self.line(none),
            0 => true,
            beyond => self.line(&format!("- and {beyond} more")),
        };
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

/// Words of an agent or a tool: data. Nothing in them can end the quote or begin a line, so they cannot pass for the page.
pub(crate) fn quote(words: &str) -> String {
    let plain = words.chars().map(|c| if c == '"' || c == '`' { '\'' } else { c });
    format!("\"{}\"", squeezed(plain))
}

/// A path or a name, on one line.
pub(crate) fn name(words: &str) -> String {
    squeezed(words.chars())
}

/// One line of at most [`LINE_BYTES`]; it reads no further than that.
fn squeezed(chars: impl Iterator<Item = char>) -> String {
    let mut line = String::new();
    for c in chars.map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }) {
        if c != ' ' || !(line.is_empty() || line.ends_with(' ')) {
            line.push(c);
        }
        if line.len() >= LINE_BYTES {
            line.push('…');
            break;
        }
    }
    line.trim_end().to_owned()
}
