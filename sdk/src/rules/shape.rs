//! Whether an answer is one that the host reads at all: how long its texts and lists are, and its score.

use crate::caps::{ITEMS, REASON_BYTES, TEXT_BYTES};
use crate::compaction::Action as Room;
use crate::recovery::Action as Course;
use crate::splitting::Action as Scope;
use crate::{Answer, review};

/// The parts of an answer that have a cap.
#[derive(Default)]
struct Parts<'a> {
    short: Vec<&'a str>,
    long: Vec<&'a str>,
    lists: Vec<usize>,
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
            Room::Compact(instructions) => parts.long.extend(instructions.as_deref()),
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
            parts.long.push(&answer.prompt);
            parts.list(&answer.left_out);
        }
        Answer::Compose(answer) => {
            parts.long.extend([answer.document.as_str(), &answer.index]);
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
    fn list(&mut self, texts: &'a [String]) {
        self.lists.push(texts.len());
        self.short.extend(texts.iter().map(String::as_str));
    }
}

/// A text over its cap.
pub(super) fn too_long(answer: &Answer) -> Option<String> {
    let Parts { short, long, .. } = parts(answer);
    let over = |texts: Vec<&str>, cap: usize| {
        let text = texts.into_iter().find(|text| text.len() > cap)?;
        let beginning = crate::caps::cut(text, 40);
        Some(format!("a text has {} bytes, at most {cap} are taken: {beginning:?}…", text.len()))
    };
    over(short, REASON_BYTES).or_else(|| over(long, TEXT_BYTES))
}

/// A list or a score that is none.
pub(super) fn malformed(answer: &Answer) -> Option<String> {
    if let Some(count) = parts(answer).lists.into_iter().find(|count| *count > ITEMS) {
        return Some(format!("a list of {count} entries, at most {ITEMS} are read"));
    }
    match answer {
        Answer::Review(review) if review.score > 100 => Some(format!("a score of {} of 100", review.score)),
        _ => None,
    }
}
