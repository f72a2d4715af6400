//! Pages with an end, and words of others as quotes on one line. It knows nothing of handoffs.

use baton_sdk::sections::Section;

/// Bytes of a prompt or a document: half of what the contract allows, and four screens.
const PAGE_BYTES: usize = 16 << 10;
/// Bytes of one line of somebody's words, and of a path.
const LINE_BYTES: usize = 200;

/// Text under way.
pub(crate) struct Page {
    sections: Vec<Section>,
    bytes: usize,
}

impl Page {
    pub(crate) fn new(title: &str) -> Self {
        let mut page = Self { sections: vec![Section::new("title")], bytes: 0 };
        page.line(title);
        page
    }

    /// Begins a section; its id is its place.
    pub(crate) fn heading(&mut self, heading: &str) {
        let id = format!("section-{}", self.sections.len());
        self.bytes += heading.len() + "\n## \n".len();
        self.sections.push(Section::new(id).headed(heading));
    }

    /// A line, where there is room.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        let fits = self.bytes + line.len() < PAGE_BYTES;
        if let (true, Some(section)) = (fits, self.sections.last_mut()) {
            self.bytes += line.len() + 1;
            section.line(line);
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

    pub(crate) fn finish(self) -> Vec<Section> {
        self.sections
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
