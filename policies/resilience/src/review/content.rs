//! How much a handoff document holds (C25): points for each part with real content. Headings and the host's own counters
//! are none: a document with nothing else tells a successor no more than the workflow does.

use crate::compose::{LEGEND, WITHHELD};

use super::Document;

/// Costs in points. Together they are more than a document may lose.
const STATE: u32 = 15;
/// If changed files, commits or last words show at least a part of it.
const STATE_IN_PART: u32 = 10;
const NEXT: u32 = 10;
const DECISIONS: u32 = 5;
const LEARNT: u32 = 5;
const TRACES: u32 = 10;
/// Letters and digits of a line that says something: "ok" and "wip" do not.
const LETTERS: usize = 8;

/// What a document holds. Of a section that it does not have nothing is asked here: that it is missing costs enough.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Content {
    /// It says in words how far the work is.
    state: Option<bool>,
    /// The next step is more than the name of an objective.
    next: Option<bool>,
    decisions: Option<bool>,
    /// A failed attempt, a gotcha or a pattern.
    learnt: Option<bool>,
    /// Changed files or commits.
    files: bool,
    /// Commands, reads or a verification.
    traces: bool,
    /// The host composed it.
    composed: bool,
    /// Words of agents were kept out of it.
    withheld: bool,
    /// An agent says something in it, and be it the end of its answer.
    words: bool,
    last_words: bool,
}

/// What a section is about, by its heading.
#[derive(Clone, Copy)]
enum Part {
    Next,
    Decisions,
    Learnt,
    State,
    Commands,
    Other,
}

impl Part {
    fn of(title: &str) -> Self {
        let title = title.to_ascii_lowercase();
        let parts: [(Self, &[&str]); 5] = [
            (Self::Next, &["next"]),
            (Self::Decisions, &["decision"]),
            (Self::Learnt, &["not to try", "do not", "gotcha", "pattern"]),
            (Self::State, &["state"]),
            (Self::Commands, &["commands run"]),
        ];
        let named = parts.into_iter().find(|(_, names)| names.iter().any(|name| title.contains(name)));
        named.map_or(Self::Other, |(part, _)| part)
    }
}

/// Where a line is from.
#[derive(PartialEq)]
enum Line {
    /// The host's own counters and names.
    Counted,
    Disk,
    Git,
    Host,
    /// Words of an agent, or of another hand.
    Words,
    /// The end of an agent's answer: it may be about anything.
    LastWords,
    /// What one screen has no room for stands in another file.
    Elsewhere,
    Nothing,
}

impl Content {
    pub(super) fn of(page: &Document<'_>) -> Self {
        let mut content = Self {
            composed: page.lines.contains(&LEGEND),
            withheld: page.lines.contains(&WITHHELD),
            ..Self::default()
        };
        let mut part = Part::Other;
        let mut headings = page.headings.iter().peekable();
        for (at, line) in page.lines.iter().enumerate() {
            if let Some(heading) = headings.next_if(|heading| heading.at == at) {
                part = Part::of(heading.title);
                content.take(part, &Line::Nothing);
            } else {
                content.take(part, &kind(line, content.composed));
            }
        }
        content
    }

    fn take(&mut self, part: Part, line: &Line) {
        let holds =
            |part: &mut Option<bool>, line_holds: bool| *part = Some(*part == Some(true) || line_holds);
        let said = *line == Line::Words;
        let listed = said || *line == Line::Elsewhere;
        self.words |= said;
        self.last_words |= *line == Line::LastWords;
        self.files |= matches!(line, Line::Disk | Line::Git);
        self.traces |= *line == Line::Host;
        match part {
            Part::Next => holds(&mut self.next, said),
            Part::Decisions => holds(&mut self.decisions, listed),
            Part::Learnt => holds(&mut self.learnt, listed),
            Part::State => {
                holds(&mut self.state, said);
                self.files |= *line == Line::Elsewhere;
            }
            Part::Commands => self.traces |= *line == Line::Elsewhere,
            Part::Other => {}
        }
    }

    /// What it lacks, with its cost.
    pub(super) fn wants(self) -> Vec<(u32, &'static str)> {
        let in_part = self.files || self.last_words;
        let state = if in_part { STATE_IN_PART } else { STATE };
        let traces = self.composed.then_some(in_part || self.traces);
        let wants = [
            (self.state, state, "nothing says in words how far the work is"),
            (self.next, NEXT, "the next action only names an objective; say what to do first"),
            (self.decisions, DECISIONS, "it holds no decision"),
            (self.learnt, LEARNT, "it holds no failed attempt, no gotcha and no pattern"),
            (traces, TRACES, "it holds no changed file, no commit and no command"),
        ];
        wants
            .into_iter()
            .filter(|(has, ..)| *has == Some(false))
            .map(|(_, cost, text)| (cost, text))
            .collect()
    }

    /// The host composed it of all that it knows, and that is something: to refuse it would only take words out of it.
    pub(super) fn is_all_there_is(self) -> bool {
        let holds = self.words || self.last_words || self.files || self.traces;
        self.composed && (holds || self.withheld)
    }
}

fn kind(line: &str, composed: bool) -> Line {
    let text = line.trim().trim_start_matches(['-', '*', '>', ' ']);
    if text.starts_with("… and ") {
        return Line::Elsewhere;
    }
    let letters = text.chars().filter(|c| c.is_alphanumeric()).take(LETTERS).count();
    if letters < LETTERS {
        return Line::Nothing;
    }
    if !composed {
        return Line::Words;
    }
    let before_words = text.split('"').next().unwrap_or_default();
    match text.split([':', ' ', ',']).next().unwrap_or_default() {
        "disk" => Line::Disk,
        "git" if before_words.contains("this session committed") => Line::Git,
        "check" | "host" | "tool" => Line::Host,
        // The name of a file says nothing of the work.
        "agent" | "person" if before_words.contains(": File: ") || !says_something(text) => Line::Nothing,
        "agent" if before_words.contains("its last words") => Line::LastWords,
        "agent" | "person" => Line::Words,
        _ => Line::Counted,
    }
}

/// What an agent says stands in quotes behind the mark.
fn says_something(line: &str) -> bool {
    let Some((_, words)) = line.split_once(": ") else { return false };
    words.chars().filter(|c| c.is_alphanumeric()).take(LETTERS).count() == LETTERS
}
