//! Whether an answer is one that the host reads at all: how long its texts and lists are, and its score.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::caps::{ITEMS, REASON_BYTES, TEXT_BYTES};
use crate::compaction::Action as Room;
use crate::recovery::Action as Course;
use crate::sections::Section;
use crate::splitting::Action as Scope;
use crate::{Answer, review};

/// Sections of a text, and bytes of the id of one.
const SECTIONS: usize = 64;
const ID_BYTES: usize = 40;

/// The parts of an answer that have a cap.
#[derive(Default)]
struct Parts<'a> {
    short: Vec<&'a str>,
    long: Vec<Cow<'a, str>>,
    lists: Vec<usize>,
    pages: Vec<&'a [Section]>,
}

fn parts(answer: &Answer) -> Parts<'_> {
    let mut parts = Parts { short: vec![answer.reason()], ..Parts::default() };
    match answer {
        Answer::Assess(answer) => {
            parts.lists.push(answer.evidence.len());
            parts.short.extend(answer.warning.as_deref());
        }
        Answer::Complete(answer) => {
            parts.lists.push(answer.evidence.len());
            parts.list(&answer.done);
        }
        Answer::Recover(answer) => match &answer.action {
            Course::AskPerson(text) | Course::OtherRole(text) => parts.short.push(text),
            Course::Wait
            | Course::Nudge
            | Course::Interrupt
            | Course::HandOff
            | Course::Retry
            | Course::Split => {}
        },
        Answer::Offload(answer) => parts.list(&answer.items),
        Answer::Compaction(answer) => match &answer.action {
            Room::Compact(instructions) => parts.long.extend(instructions.as_deref().map(Cow::Borrowed)),
            Room::Keep | Room::HandOff => {}
        },
        Answer::Split(answer) => match &answer.action {
            Scope::Split(sub_phases) => {
                parts.lists.push(sub_phases.len());
                for part in sub_phases {
                    parts.short.push(&part.title);
                    parts.list(&part.objectives);
                }
            }
            Scope::AskPerson(question) => parts.short.push(question),
            Scope::Keep => {}
        },
        Answer::Budget(_) | Answer::Abstained => {}
        Answer::Brief(answer) => {
            parts.page(&answer.sections);
            parts.list(&answer.left_out);
        }
        Answer::Compose(answer) => {
            parts.page(&answer.document);
            parts.page(&answer.index);
            parts.list(&answer.left_out);
        }
        Answer::Review(review::Review { findings, .. }) => {
            parts.lists.push(findings.len());
            parts.short.extend(findings.iter().map(|finding| finding.text.as_str()));
        }
    }
    parts
}

impl<'a> Parts<'a> {
    /// What of it has to stay is as long as a text may be.
    fn page(&mut self, sections: &'a [Section]) {
        self.lists.extend(sections.iter().map(|section| section.blocks.len()));
        let kept = sections.iter().filter(|section| section.rank == 0);
        self.long.push(Cow::Owned(kept.map(Section::text).collect()));
        self.pages.push(sections);
    }

    fn list(&mut self, texts: &'a [String]) {
        self.lists.push(texts.len());
        self.short.extend(texts.iter().map(String::as_str));
    }
}

/// A text over its cap.
pub(super) fn too_long(answer: &Answer) -> Option<String> {
    let Parts { short, long, .. } = parts(answer);
    let over = |texts: Vec<Cow<'_, str>>, cap: usize| {
        let text = texts.into_iter().find(|text| text.len() > cap)?;
        let beginning = crate::caps::cut(&text, 40);
        Some(format!("a text has {} bytes, at most {cap} are taken: {beginning:?}…", text.len()))
    };
    let short = short.into_iter().map(Cow::Borrowed).collect();
    over(short, REASON_BYTES).or_else(|| over(long, TEXT_BYTES))
}

/// Sections that the host does not write: too many, or with an id that is none.
fn badly_named(sections: &[Section]) -> Option<String> {
    if sections.len() > SECTIONS {
        return Some(format!("a text of {} sections, at most {SECTIONS} are written", sections.len()));
    }
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_id = |id: &str| !id.is_empty() && id.len() <= ID_BYTES && id.chars().all(is_plain);
    let mut known = HashSet::new();
    let wrong = sections.iter().find(|section| !is_id(&section.id) || !known.insert(&section.id))?;
    Some(format!(
        "a section is called {:?}: an id has letters a to z, digits and \"-\", and is used once",
        wrong.id
    ))
}

/// A list, a section or a score that is none.
pub(super) fn malformed(answer: &Answer) -> Option<String> {
    let Parts { lists, pages, .. } = parts(answer);
    if let Some(wrong) = pages.into_iter().find_map(badly_named) {
        return Some(wrong);
    }
    if let Some(count) = lists.into_iter().find(|count| *count > ITEMS) {
        return Some(format!("a list of {count} entries, at most {ITEMS} are read"));
    }
    match answer {
        Answer::Review(review) if review.score > 100 => Some(format!("a score of {} of 100", review.score)),
        _ => None,
    }
}
