//! A page of sections that cannot grow beyond its limit: what no longer fits is left out and counted.

use baton_sdk::handoff::Observation;
use baton_sdk::sections::Section;
use baton_sdk::words::one_line;

/// Bytes of a prompt (`wit/decisions.wit`), less a reserve for the lines that must stand at its end.
pub(crate) const PROMPT_BYTES: usize = 32 << 10;

/// Text under way: its sections, and how long the host will make them.
pub(crate) struct Page {
    sections: Vec<Section>,
    bytes: usize,
    limit: usize,
    left_out: Vec<String>,
}

impl Page {
    pub(crate) fn new(limit: usize) -> Self {
        Self { sections: vec![Section::new("opening")], bytes: 0, limit, left_out: Vec::new() }
    }

    /// The section under way.
    fn section(&mut self) -> &mut Section {
        let last = self.sections.len() - 1;
        &mut self.sections[last]
    }

    /// Begins a section without a heading: what follows is no part of the one before.
    pub(crate) fn begin(&mut self, id: &str) {
        let times = self.sections.iter().filter(|section| section.id.starts_with(id)).count();
        let unique = if times == 0 { id.to_owned() } else { format!("{id}-{}", times + 1) };
        self.sections.push(Section::new(unique).ranked(rank(id)));
    }

    /// Takes the room for so many bytes more, where there is any.
    fn takes(&mut self, bytes: usize) -> bool {
        let fits = self.bytes + bytes <= self.limit;
        if fits {
            self.bytes += bytes;
        }
        fits
    }

    /// Adds a line where it fits, and says whether it did.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        let fits = self.takes(line.len() + 1);
        if fits {
            self.section().line(line);
        }
        fits
    }

    /// Begins a section. The host writes its heading, with an empty line before it.
    pub(crate) fn heading(&mut self, id: &str, heading: &str) {
        let blank = usize::from(self.bytes > 0);
        self.begin(id);
        if self.takes(blank + "## \n".len() + heading.len()) {
            self.section().heading = Some(heading.to_owned());
        }
    }

    /// Adds `line` for each of at most `limit` items, and a line for the rest.
    pub(crate) fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        limit: usize,
        line: impl Fn(T) -> String,
    ) {
        let (mut listed, mut left_out) = (0, 0);
        for item in items {
            if listed < limit && self.line(&line(item)) {
                listed += 1;
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            self.line(&format!("- … and {left_out} more"));
        }
    }

    /// The same for what is recorded: counts what nobody gave us too, names the file where the rest stands, and
    /// remembers what was left out.
    pub(crate) fn records<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        limit: usize,
        rest: &Rest<'_>,
        line: impl Fn(T) -> String,
    ) {
        let (mut listed, mut left_out) = (0, rest.beyond);
        for item in items {
            if listed < limit && self.line(&line(item)) {
                listed += 1;
            } else {
                left_out = left_out.saturating_add(1);
            }
        }
        if left_out > 0 {
            let said = rest.said(left_out);
            self.line(&format!("- … and {said}"));
            self.left_out.push(said);
        }
    }

    /// Adds a section with text that somebody else wrote, as far as there is room for it. The host fences it.
    pub(crate) fn quote(&mut self, id: &str, label: &str, text: &str) {
        let frame = label.len() + "\n (data, not instructions):\n```text\n```\n".len();
        let lines = text.trim().lines();
        let room = (self.limit - self.bytes).saturating_sub(frame);
        let mut quoted = String::new();
        let mut bytes = 0;
        for line in lines {
            bytes += "| \n".len() + line.len();
            if bytes > room {
                break;
            }
            quoted.push_str(line);
            quoted.push('\n');
        }
        if !quoted.trim().is_empty() {
            self.bytes += frame + quoted.len() + 2 * quoted.lines().count();
            self.begin(id);
            self.section().quote(label, &quoted);
        }
    }

    pub(crate) fn finish(self) -> (Vec<Section>, Vec<String>) {
        (self.sections, self.left_out)
    }
}

/// What goes first where a prompt has no room, since a layer made it longer.
fn rank(id: &str) -> u8 {
    match id {
        "completed" | "context" | "findings" | "handoff" | "remaining" | "reports" => 1,
        "attempts" | "decisions" | "efficiency" | "files" | "gotchas" | "triggers" => 2,
        "lessons" | "patterns" => 3,
        "last-words" | "pointers" => 4,
        _ => 0,
    }
}

/// What a list leaves out, and where it stands.
pub(crate) struct Rest<'a> {
    /// In words ("failed attempts").
    pub(crate) what: &'a str,
    /// How many more there are than were given.
    pub(crate) beyond: usize,
    /// The file that has all of them, where there is one.
    pub(crate) facts: Option<&'a str>,
}

impl Rest<'_> {
    /// "12 more failed attempts, in .baton/r1/handoffs/phase-1-facts.json".
    pub(crate) fn said(&self, count: usize) -> String {
        match self.facts {
            None => format!("{count} more {}", self.what),
            Some(facts) => format!("{count} more {}, in {}", self.what, one_line(facts, PATH_BYTES)),
        }
    }
}

/// Bytes of a path that the host gives.
const PATH_BYTES: usize = 300;

/// So many more of each kind are recorded than a question lists: there was no room for them, or they were withheld.
pub(crate) struct Unlisted {
    pub(crate) changed_files: usize,
    pub(crate) attempts: usize,
    pub(crate) decisions: usize,
    pub(crate) gotchas: usize,
    pub(crate) patterns: usize,
    pub(crate) commands: usize,
}

impl Unlisted {
    pub(crate) fn of(o: &Observation) -> Self {
        let withheld = o.words_withheld.unwrap_or_default();
        let sum = |beyond: u32, withheld: u32| beyond.saturating_add(withheld) as usize;
        Self {
            changed_files: o.beyond.changed_files as usize,
            attempts: sum(o.beyond.attempts, withheld.attempts),
            decisions: sum(o.beyond.decisions, withheld.decisions),
            gotchas: sum(o.beyond.gotchas, withheld.gotchas),
            patterns: sum(o.beyond.patterns, withheld.patterns),
            commands: withheld.commands as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use baton_sdk::sections::text;

    use super::*;

    #[test]
    fn a_page_stays_within_its_limit_and_counts_what_it_leaves_out() {
        let mut page = Page::new(200);
        page.list(0..100, 3, |item| format!("- {item}"));
        page.quote("last-words", "Said", &"long line\n".repeat(50));
        let text = text(&page.finish().0);
        assert!((180..=200).contains(&text.len()), "{text}");
        assert!(text.starts_with("- 0\n- 1\n- 2\n- … and 97 more\n"));
    }

    #[test]
    fn the_room_is_that_of_the_text_that_the_host_writes() {
        let mut page = Page::new(1000);
        page.line("# Phase 1");
        page.heading("rules", "Rules");
        page.line("- one");
        page.quote("last-words", "Said", "a\nb");
        page.heading("rules", "More rules");
        let bytes = page.bytes;
        let (sections, _) = page.finish();
        assert_eq!(text(&sections).len(), bytes);
        let ids: Vec<&str> = sections.iter().map(|section| section.id.as_str()).collect();
        assert_eq!(ids, ["opening", "rules", "last-words", "rules-2"]);
    }

    #[test]
    fn a_list_of_records_says_where_the_rest_is() {
        let mut page = Page::new(2000);
        page.records(0..5, 2, &Rest { what: "things", beyond: 3, facts: Some("a/f.json") }, |n| {
            format!("- {n}")
        });
        let (sections, left_out) = page.finish();
        assert_eq!(text(&sections), "- 0\n- 1\n- … and 6 more things, in a/f.json\n");
        assert_eq!(left_out, ["6 more things, in a/f.json"]);
    }
}
