//! Whether a handoff document is fit to start a successor (C8), and how old it is (C9). Reads any markdown with headings;
//! of documents that `compose` made it knows more: which lines name files and objectives, and which are quotes.

mod content;
mod names;
mod placeholder;

use std::collections::{BTreeMap, BTreeSet};

use baton_sdk::Host;
use baton_sdk::review::{Finding, Observation, Review, Staleness};
use baton_sdk::types::Span;

use content::Content;
use names::{Names, is_word};

/// Costs in points of 100. Each of these alone refuses a document at the default of 70: a secret, a placeholder, a
/// section that is required or empty, a file that is not there, an open objective that is not named.
const SECRET: u32 = 100;
const PLACEHOLDER: u32 = 35;
const REQUIRED_SECTION: u32 = 35;
const EMPTY_SECTION: u32 = 35;
const EXPECTED_SECTION: u32 = 5;
const MISSING_FILE: u32 = 35;
const DROPPED_OBJECTIVE: u32 = 35;
const TOO_LONG: u32 = 10;
/// A file that is not there, in the words of an agent: it may be one that is still to be made. The words of an agent are not what a
/// document claims, and a successor loses more by losing them.
const MISSING_IN_QUOTE: u32 = 5;
/// How a line of quoted words begins: "- agent s1: ", or "- agent: " where nobody knows which.
const QUOTED: &str = "- agent";
/// A line of what the host saw an agent do: no place to fill in, and a command may well look for such words.
const SEEN: &str = "- host: ";
/// Findings of one kind that are named; one is enough to refuse.
const NAMED: usize = 9;
/// A handoff that names so many files that are gone describes another tree.
const VERY_STALE_FILES: usize = 5;
/// Bytes of a path or id in a finding.
const NAME_BYTES: usize = 200;

pub(crate) fn review(host: &impl Host, o: &Observation) -> Review {
    let text = host.text_slice(o.document, Span { start: 0, end: u32::MAX });
    let page = Document::read(&text);
    let mut findings = Vec::new();
    let mut cost = |cost: u32, line: usize, text: String| {
        findings.push(Finding { cost, line: u32::try_from(line).ok().filter(|line| *line > 0), text });
    };
    for kind in &o.secrets {
        cost(SECRET, 0, format!("it has a secret in it ({}); take it out", cut(kind)));
    }
    for (line, what) in placeholder::find(host, o.document, &page).into_iter().take(NAMED) {
        cost(PLACEHOLDER, line, format!("a placeholder ({what}); fill it in"));
    }
    let mut required: Vec<usize> = Vec::new();
    for section in host.texts("required-sections") {
        match page.section(&section) {
            Some(place) => required.push(place),
            None => cost(REQUIRED_SECTION, 0, format!("the section \"{}\" is missing", first_of(&section))),
        }
    }
    for section in host.texts("expected-sections") {
        if page.section(&section).is_none() {
            cost(EXPECTED_SECTION, 0, format!("the section \"{}\" is missing", first_of(&section)));
        }
    }
    let empty = |place: &usize| page.is_empty(*place, required.contains(place));
    for heading in (0..page.headings.len()).filter(empty).take(NAMED).map(|place| &page.headings[place]) {
        cost(EMPTY_SECTION, heading.at + 1, format!("the section \"{}\" is empty", cut(heading.title)));
    }
    let claims = page.claims(host, &o.missing_files);
    let missing: Vec<(usize, &String)> =
        claims.into_iter().zip(&o.missing_files).filter_map(|(line, path)| Some((line?, path))).collect();
    for (line, path) in missing.iter().take(NAMED) {
        let points = if page.is_quoted(*line) { MISSING_IN_QUOTE } else { MISSING_FILE };
        cost(points, *line, format!("it names {}, which does not exist", cut(path)));
    }
    for id in page.dropped(&o.open_objectives).into_iter().take(NAMED) {
        cost(DROPPED_OBJECTIVE, 0, format!("the objective {} is open and is not named", cut(id)));
    }
    let (lines, most) = (page.lines.len(), host.integer("document-lines"));
    if lines as i64 > most {
        cost(TOO_LONG, 0, format!("it has {lines} lines; one screen is {most}"));
    }
    let content = Content::of(&page);
    let wants = content.wants();
    let wanting = wants.iter().map(|(cost, _)| cost).sum::<u32>();
    for (points, text) in wants {
        cost(points, 0, text.to_owned());
    }
    let score =
        100u32.saturating_sub(findings.iter().fold(0, |sum, finding| sum.saturating_add(finding.cost)));
    let needed = host.integer("accept-score") as u32;
    let stands = content.is_all_there_is() && score.saturating_add(wanting) >= needed;
    let accepted = (score >= needed || stands) && o.secrets.is_empty();
    let reason = match findings.iter().max_by_key(|finding| finding.cost) {
        None => "nothing is missing".to_owned(),
        Some(worst) if accepted && score < needed => {
            format!("{score} of 100 points; the host has put into it all that it knows: {}", worst.text)
        }
        Some(worst) => format!("{score} of 100 points, {needed} are needed; {}", worst.text),
    };
    let gone = missing.iter().filter(|(line, _)| !page.is_quoted(*line)).count();
    Review { score, findings, staleness: staleness(host, o, gone), accepted, reason }
}

/// A document by its lines and headings.
struct Document<'t> {
    text: &'t str,
    lines: Vec<&'t str>,
    /// Where each line begins, in bytes of the text.
    starts: Vec<usize>,
    headings: Vec<Heading<'t>>,
}

/// A line that is a heading.
struct Heading<'t> {
    /// Index of the line.
    at: usize,
    /// How deep: 1 to 6.
    level: usize,
    title: &'t str,
}

impl<'t> Document<'t> {
    /// What is fenced is no heading.
    fn read(text: &'t str) -> Self {
        let (mut starts, mut lines, mut headings) = (Vec::new(), Vec::new(), Vec::new());
        let mut start = 0;
        let mut fenced = false;
        for whole in text.split_inclusive('\n') {
            let line = whole.strip_suffix('\n').map_or(whole, |line| line.strip_suffix('\r').unwrap_or(line));
            if is_fence(line) {
                fenced = !fenced;
            }
            let level = level(line);
            if !fenced && level > 0 {
                headings.push(Heading { at: lines.len(), level, title: line[level..].trim() });
            }
            starts.push(start);
            start += whole.len();
            lines.push(line);
        }
        Self { text, lines, starts, headings }
    }

    /// The index of the line in which a byte of the text stands.
    fn line_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// The first heading with one of these names, apart by `|`. A heading may go on after the name ("References (read…").
    fn section(&self, names: &str) -> Option<usize> {
        let names: Vec<&str> = names.split('|').map(str::trim).collect();
        let is_named = |title: &str, name: &str| {
            title.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        self.headings.iter().position(|heading| names.iter().any(|name| is_named(heading.title, name)))
    }

    /// The lines below a heading, up to the next one that is not below it.
    fn below(&self, place: usize) -> &[&'t str] {
        let own = &self.headings[place];
        let next = self.headings[place + 1..].iter().find(|next| next.level <= own.level);
        &self.lines[own.at + 1..next.map_or(self.lines.len(), |next| next.at)]
    }

    /// Nothing stands below a heading. That there is none is an answer, but not to what has to be done next.
    fn is_empty(&self, place: usize, required: bool) -> bool {
        let mut filled =
            self.below(place).iter().filter(|line| line.chars().any(char::is_alphanumeric)).peekable();
        let nothing = |line: &&&str| {
            placeholder::says(line).all(|said| {
                let words = said.trim_matches(|c: char| !c.is_alphanumeric());
                ["none", "n/a", "nothing", "na"].iter().any(|word| words.eq_ignore_ascii_case(word))
            })
        };
        // Of the required sections, only decisions may be none.
        let may_be_none = || self.headings[place].title.to_ascii_lowercase().contains("decision");
        match filled.peek() {
            None => true,
            Some(_) => required && !may_be_none() && filled.all(|line| nothing(&line)),
        }
    }

    /// For each path, the first line, from 1, that claims that it is there. One that says it was deleted, is to be made, or
    /// did not work, claims nothing. A path that is in no line (it was written in another way) counts for the whole: 0.
    fn claims(&self, host: &impl Host, paths: &[String]) -> Vec<Option<usize>> {
        let mut named: BTreeMap<usize, Vec<Named>> = BTreeMap::new();
        Names::new(paths.iter().map(String::as_str)).find(self.text, |from, to, path| {
            let line = self.line_of(from);
            let start = self.starts[line];
            named.entry(line).or_default().push(Named { path, from: from - start, to: to - start });
        });
        let lower = |words: Vec<String>| words.iter().map(|word| word.to_ascii_lowercase()).collect();
        let mut words: Vec<String> = lower(host.texts("gone-words"));
        let gone = words.len();
        words.extend::<Vec<String>>(lower(host.texts("to-come-words")));
        let words = Names::new(words.iter().map(String::as_str));
        let mut claims: Vec<Option<usize>> = vec![Some(0); paths.len()];
        for (line, named) in named {
            let (is_gone, is_to_come) = excuses(self.lines[line], &named, &words, gone);
            let excused = is_gone || self.is_excused(line, is_to_come);
            for Named { path, .. } in named {
                claims[path] = match claims[path] {
                    Some(0) | None if !excused => Some(line + 1),
                    Some(0) | None => None,
                    // What the document says itself counts for more than what it quotes.
                    Some(at) if !excused && self.is_quoted(at) && !self.is_quoted(line + 1) => Some(line + 1),
                    claimed => claimed,
                };
            }
        }
        claims
    }

    /// Whether a line, from 1, holds words of an agent.
    fn is_quoted(&self, line: usize) -> bool {
        let said = line.checked_sub(1).and_then(|at| self.lines[at].strip_prefix(QUOTED));
        said.is_some_and(|said| said.starts_with([' ', ':', ',']))
    }

    /// Whether the section of a line says that what it names need not be there.
    fn is_excused(&self, line: usize, is_to_come: bool) -> bool {
        let above = self.headings.partition_point(|heading| heading.at <= line).checked_sub(1);
        let section = above.map_or("", |place| self.headings[place].title).to_ascii_lowercase();
        // What the host saw an agent run and read is of the past.
        self.lines[line].starts_with(SEEN)
            || section.starts_with("what not")
            || section.starts_with("do not")
            || (is_to_come && (section.contains("next") || section.contains("pending")))
    }

    /// Open objectives that it does not name. Where it lists them behind "open:", that list counts; an id may be a word
    /// that stands everywhere. A list that says how many more there are may leave out as many.
    fn dropped<'o>(&self, open: &'o [String]) -> Vec<&'o String> {
        let mut lists: Vec<&str> = Vec::new();
        for (at, open) in self.text.match_indices("open: ") {
            let line = self.line_of(at);
            let (label, ids) = self.lines[line].split_at(at - self.starts[line]);
            let label = label.trim_start_matches(['-', '*', ' ']);
            if ["", "journal: ", "journal: failed, so still "].contains(&label) {
                lists.push(&ids[open.len()..]);
            }
        }
        if lists.is_empty() {
            let named = self.named(open);
            return open.iter().zip(named).filter_map(|(id, named)| (!named).then_some(id)).collect();
        }
        let wanted: BTreeSet<&str> = open.iter().map(|id| id.trim()).collect();
        let mut named: BTreeSet<&str> = BTreeSet::new();
        let mut elsewhere: usize = 0;
        for id in lists.iter().flat_map(|ids| ids.split(", ")).map(str::trim) {
            if wanted.contains(id) {
                named.insert(id);
            } else if let Some(more) = id.strip_prefix("… and ").and_then(|more| more.split(' ').next()) {
                elsewhere = elsewhere.saturating_add(more.parse().unwrap_or(0));
            }
        }
        let dropped: Vec<&String> = open.iter().filter(|id| !named.contains(id.trim())).collect();
        if dropped.len() <= elsewhere { Vec::new() } else { dropped }
    }

    /// For each id, whether it stands somewhere as a word.
    fn named(&self, ids: &[String]) -> Vec<bool> {
        let text = self.text.to_ascii_lowercase();
        let lower: Vec<String> = ids.iter().map(|id| id.to_ascii_lowercase()).collect();
        let mut named = vec![false; ids.len()];
        Names::new(lower.iter().map(String::as_str)).find(&text, |from, to, id| {
            if !named[id] && is_word(&text, from, to) {
                named[id] = true;
            }
        });
        named
    }
}

/// A path in a line.
struct Named {
    path: usize,
    from: usize,
    to: usize,
}

/// Whether one of the first `gone` words stands in a line, and whether one of the others does. A path may hold such a word
/// itself; there it says nothing.
fn excuses(line: &str, paths: &[Named], words: &Names<'_>, gone: usize) -> (bool, bool) {
    let line = line.to_ascii_lowercase();
    let (mut is_gone, mut is_to_come) = (false, false);
    // Both come in the order of the line.
    let mut paths = paths.iter().peekable();
    let mut covered = 0;
    words.find(&line, |from, to, word| {
        while let Some(path) = paths.next_if(|path| path.from <= from) {
            covered = covered.max(path.to);
        }
        let says = if word < gone { &mut is_gone } else { &mut is_to_come };
        *says |= from >= covered && is_word(&line, from, to);
    });
    (is_gone, is_to_come)
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// How deep a heading is; 0 for any other line.
fn level(line: &str) -> usize {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    let is_heading = (1..=6).contains(&marks) && line[marks..].starts_with([' ', '\t']);
    if is_heading { marks } else { 0 }
}

fn first_of(names: &str) -> &str {
    names.split('|').next().unwrap_or(names).trim()
}

fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_BYTES)]
}

fn staleness(host: &impl Host, o: &Observation, missing: usize) -> Staleness {
    let at_least = |key: &str| i64::from(o.commits_since) >= host.integer(key);
    if at_least("very-stale-commits") || missing >= VERY_STALE_FILES || (o.diverged && missing > 0) {
        Staleness::VeryStale
    } else if at_least("stale-commits") || o.diverged || missing > 1 {
        Staleness::Stale
    } else if at_least("slightly-stale-commits") || missing == 1 {
        Staleness::SlightlyStale
    } else {
        Staleness::Fresh
    }
}
