//! Whether a handoff document is fit to start a successor (C8), and how old it is (C9). Reads any markdown with headings;
//! of documents that `compose` made it knows more: which lines name files and objectives, and which are quotes.

mod placeholder;

use baton_sdk::Host;
use baton_sdk::handoff::{Finding, ReviewObservation, ReviewResult, Staleness};
use baton_sdk::types::Span;

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
/// Findings of one kind that are named; one is enough to refuse.
const NAMED: usize = 9;
/// A handoff that names so many files that are gone describes another tree.
const VERY_STALE_FILES: usize = 5;
/// Bytes of a path or id in a finding.
const NAME_BYTES: usize = 200;

pub(crate) fn review(host: &impl Host, o: &ReviewObservation) -> ReviewResult {
    let text = host.text_slice(o.document, Span { start: 0, end: u32::MAX });
    let page = Document::read(&text);
    let mut findings = Vec::new();
    let mut cost = |cost: u32, line: usize, text: String| {
        findings.push(Finding { cost, line: u32::try_from(line).unwrap_or(0), text });
    };
    for kind in &o.secrets {
        cost(SECRET, 0, format!("it has a secret in it ({}); take it out", cut(kind)));
    }
    for (line, what) in placeholder::find(host, o.document, &page).into_iter().take(NAMED) {
        cost(PLACEHOLDER, line, format!("a placeholder ({what}); fill it in"));
    }
    for section in host.texts("required-sections") {
        if page.section(&section).is_none() {
            cost(REQUIRED_SECTION, 0, format!("the section \"{}\" is missing", first_of(&section)));
        }
    }
    for section in host.texts("expected-sections") {
        if page.section(&section).is_none() {
            cost(EXPECTED_SECTION, 0, format!("the section \"{}\" is missing", first_of(&section)));
        }
    }
    let required: Vec<usize> =
        host.texts("required-sections").iter().filter_map(|section| page.section(section)).collect();
    for heading in page.headings().filter(|at| page.is_empty(*at, required.contains(at))).take(NAMED) {
        cost(EMPTY_SECTION, heading + 1, format!("the section \"{}\" is empty", cut(page.title(heading))));
    }
    let missing: Vec<(usize, &String)> =
        o.missing_files.iter().filter_map(|path| Some((page.claims(host, path)?, path))).collect();
    for (line, path) in missing.iter().take(NAMED) {
        cost(MISSING_FILE, *line, format!("it names {}, which does not exist", cut(path)));
    }
    for id in page.dropped(&o.open_objectives).into_iter().take(NAMED) {
        cost(DROPPED_OBJECTIVE, 0, format!("the objective {} is open and is not named", cut(id)));
    }
    let (lines, most) = (page.lines.len(), host.integer("document-lines"));
    if lines as i64 > most {
        cost(TOO_LONG, 0, format!("it has {lines} lines; one screen is {most}"));
    }
    let score =
        100u32.saturating_sub(findings.iter().fold(0, |sum, finding| sum.saturating_add(finding.cost)));
    let needed = host.integer("accept-score") as u32;
    let accepted = score >= needed && o.secrets.is_empty();
    let reason = match findings.iter().max_by_key(|finding| finding.cost) {
        None => "nothing is missing".to_owned(),
        Some(worst) => format!("{score} of 100 points, {needed} are needed; {}", worst.text),
    };
    ReviewResult { score, findings, staleness: staleness(host, o, missing.len()), accepted, reason }
}

/// A document by its lines.
struct Document<'t> {
    lines: Vec<&'t str>,
}

impl<'t> Document<'t> {
    fn read(text: &'t str) -> Self {
        Self { lines: text.lines().collect() }
    }

    /// Indices of the lines that are headings, first the ones that stand first. What is fenced is no heading.
    fn headings(&self) -> impl Iterator<Item = usize> + '_ {
        let mut fenced = false;
        self.lines.iter().enumerate().filter_map(move |(at, line)| {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            (!fenced && level(line) > 0).then_some(at)
        })
    }

    fn title(&self, at: usize) -> &'t str {
        self.lines[at].trim_start_matches('#').trim()
    }

    /// The first heading with one of these names, apart by `|`. A heading may go on after the name ("References (read…").
    fn section(&self, names: &str) -> Option<usize> {
        self.headings().find(|at| {
            let title = self.title(*at);
            names
                .split('|')
                .map(str::trim)
                .any(|name| title.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)))
        })
    }

    /// The lines below a heading, up to the next one that is not below it.
    fn below(&self, at: usize) -> &[&'t str] {
        let own = level(self.lines[at]);
        let end = self.headings().find(|next| *next > at && level(self.lines[*next]) <= own);
        &self.lines[at + 1..end.unwrap_or(self.lines.len())]
    }

    /// Nothing stands below a heading. That there is none is an answer, but not to what has to be done next.
    fn is_empty(&self, at: usize, required: bool) -> bool {
        let mut filled =
            self.below(at).iter().filter(|line| line.chars().any(char::is_alphanumeric)).peekable();
        let nothing = |line: &&&str| {
            let words = line.trim_matches(|c: char| !c.is_alphanumeric());
            ["none", "n/a", "nothing", "na"].iter().any(|word| words.eq_ignore_ascii_case(word))
        };
        match filled.peek() {
            None => true,
            Some(_) => required && self.is_first_required(at) && filled.all(|line| nothing(&line)),
        }
    }

    /// Of the required sections, only decisions may be none.
    fn is_first_required(&self, at: usize) -> bool {
        !self.title(at).to_ascii_lowercase().contains("decision")
    }

    /// The first line, from 1, that claims that a path is there. One that says it was deleted, is to be made, or did not
    /// work, claims nothing. A path that is in no line (it was written in another way) counts for the whole.
    fn claims(&self, host: &impl Host, path: &str) -> Option<usize> {
        let (gone, to_come) = (host.texts("gone-words"), host.texts("to-come-words"));
        let mut named = false;
        let mut section = "";
        for (at, line) in self.lines.iter().enumerate() {
            if level(line) > 0 {
                section = self.title(at);
            }
            if !line.contains(path) {
                continue;
            }
            named = true;
            let section = section.to_ascii_lowercase();
            // A path may hold any of these words itself.
            let around = line.replace(path, " ");
            let says = |words: &[String]| words.iter().any(|word| has_word(&around, word));
            let excused = section.starts_with("what not")
                || section.starts_with("do not")
                || says(&gone)
                || ((section.contains("next") || section.contains("pending")) && says(&to_come));
            if !excused {
                return Some(at + 1);
            }
        }
        (!named).then_some(0)
    }

    /// Open objectives that it does not name. Where it lists them behind "open:", that list counts; an id may be a word
    /// that stands everywhere. A list that says how many more there are may leave out as many.
    fn dropped<'o>(&self, open: &'o [String]) -> Vec<&'o String> {
        let lists: Vec<&str> = self
            .lines
            .iter()
            .filter_map(|line| {
                let (label, ids) = line.split_once("open: ")?;
                let label = label.trim_start_matches(['-', '*', ' ']);
                ["", "journal: ", "journal: failed, so still "].contains(&label).then_some(ids)
            })
            .collect();
        let ids: Vec<&str> = lists.iter().flat_map(|ids| ids.split(", ")).map(str::trim).collect();
        let elsewhere: usize = ids
            .iter()
            .filter_map(|id| id.strip_prefix("… and ")?.split(' ').next()?.parse::<usize>().ok())
            .sum();
        let named = |id: &&String| match lists.is_empty() {
            true => self.lines.iter().any(|line| has_word(line, id)),
            false => ids.contains(&id.trim()),
        };
        let dropped: Vec<&String> = open.iter().filter(|id| !named(id)).collect();
        if dropped.len() <= elsewhere { Vec::new() } else { dropped }
    }
}

/// How deep a heading is; 0 for any other line.
fn level(line: &str) -> usize {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    let is_heading = (1..=6).contains(&marks) && line[marks..].starts_with([' ', '\t']);
    if is_heading { marks } else { 0 }
}

/// The word stands in the line, by itself; ASCII letters are folded.
fn has_word(line: &str, word: &str) -> bool {
    if word.is_empty() {
        return false;
    }
    let (line, word) = (line.to_ascii_lowercase(), word.to_ascii_lowercase());
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
    line.match_indices(&word).any(|(at, _)| {
        !inside(line[..at].chars().next_back()) && !inside(line[at + word.len()..].chars().next())
    })
}

fn first_of(names: &str) -> &str {
    names.split('|').next().unwrap_or(names).trim()
}

fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME_BYTES)]
}

fn staleness(host: &impl Host, o: &ReviewObservation, missing: usize) -> Staleness {
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
