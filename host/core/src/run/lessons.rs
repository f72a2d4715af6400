//! What phases that are over learnt, and what they handed off at last, for those that come after them (C22): a line each, and where more stands. Lessons are words of
//! agents; a phase whose handoff was refused with these words in it passes none of them on.

use std::collections::{BTreeSet, HashSet, VecDeque};

use crate::ids::PhaseId;
use crate::observation::{Attempt, LessonKind, LessonView, said};
use crate::view::HandoffRepair;
use crate::workflow::{leading_to, paths};

use super::Run;
use super::phase::Phase;
use super::phase_list::PhaseIndex;
use super::text_format::{cut, one_line};

/// Lessons of one question: the bound of the contract.
const LESSONS: usize = 32;
/// Bytes of a lesson.
const LESSON_BYTES: usize = 200;

/// A record of a phase that may teach another one something.
type LessonRecord<'a> = (&'a Phase, LessonKind, &'a str, &'a str);

impl Run {
    /// Lessons for a phase: those of the phases that it depends on come first, then those of the others; the newest first.
    pub(super) fn lessons(&self, p: PhaseIndex) -> Vec<LessonView> {
        let leading = self.leading_to(p);
        let own = &self.phases[p].spec.id;
        // Records go to and fro between a phase and its parts, so what one of them withholds all do.
        let withheld: BTreeSet<&PhaseId> = self
            .phases
            .iter()
            .filter(|phase| phase.withholds_lessons())
            .map(|phase| self.root_of(phase))
            .collect();
        // In a further round of a loop also those that come later in it: they were over once.
        let was_over = |phase: &Phase| phase.is_over() || phase.loop_position.iteration > 1;
        let is_other = |phase: &&Phase| {
            was_over(phase) && phase.spec.id != *own && !withheld.contains(self.root_of(phase))
        };
        let (near, far): (Vec<&Phase>, Vec<&Phase>) = (self.phases.iter().rev().filter(is_other))
            .partition(|phase| leading.contains(self.root_of(phase)));
        let records = [near, far].into_iter().flat_map(|phases| {
            interleave(phases.into_iter().map(|phase| phase.lesson_records().into_iter()).collect())
        });
        let mut known = HashSet::new();
        let mut lessons = Vec::new();
        for (phase, kind, what, why) in records {
            let text = lesson_text(what, why);
            if lessons.len() < LESSONS && !text.is_empty() && known.insert(text.clone()) {
                lessons.push(LessonView {
                    phase: phase.spec.id.clone(),
                    kind,
                    text,
                    path: said(&self.lesson_source_path(phase)),
                });
            }
        }
        lessons
    }

    /// The phases of the workflow that this one depends on, directly or not, and its own.
    fn leading_to(&self, p: PhaseIndex) -> BTreeSet<&PhaseId> {
        leading_to(self.root_of(&self.phases[p]), |id| {
            self.phase_index(id).map(|q| &self.phases[q].spec.depends_on[..])
        })
    }

    /// Where more stands: the complete facts beside its newest handoff, or its summary, or its results.
    fn lesson_source_path(&self, phase: &Phase) -> String {
        let facts =
            phase.handoffs.written.last().map(|handoff| &handoff.facts).filter(|facts| !facts.is_empty());
        let below = |path: String| format!("{}/{path}", self.task_folder);
        let id = phase.spec.id.as_str();
        match facts {
            Some(facts) => paths::archived(facts),
            None if phase.has_summary() => below(self.workflow.paths.summary(self.names(), id)),
            None => below(self.workflow.paths.results(self.names(), id)),
        }
    }
}

impl Phase {
    /// A document with the words of its agents was refused.
    fn withholds_lessons(&self) -> bool {
        self.handoffs.written.iter().any(|handoff| handoff.repair != HandoffRepair::None)
    }

    /// The newest records of a kind.
    fn newest<'a, T>(
        &'a self,
        records: &'a VecDeque<T>,
        of: impl Fn(&'a T) -> (LessonKind, &'a str, &'a str),
    ) -> std::vec::IntoIter<LessonRecord<'a>> {
        let newest = records.iter().rev().take(LESSONS);
        let records: Vec<LessonRecord<'a>> =
            newest.map(of).map(|(kind, what, why)| (self, kind, what, why)).collect();
        records.into_iter()
    }

    /// What its last agent left, for those that come after the phase.
    fn last_handoff(&self) -> Vec<LessonRecord<'_>> {
        let Some((_, handoff)) = &self.handoffs.reported else { return Vec::new() };
        let told = [("next", &*handoff.immediate_next_action), ("state", &*handoff.current_state)];
        let facts = handoff.critical_context.iter().map(|fact| (fact.as_str(), ""));
        let words = told.into_iter().chain(facts);
        words.map(|(what, why)| (self, LessonKind::Handoff, what, why)).collect()
    }

    /// Its records, the newest of each kind first, and no more of them than one question takes.
    fn lesson_records(&self) -> Vec<LessonRecord<'_>> {
        interleave(vec![
            self.last_handoff().into_iter(),
            self.newest(&self.records.decisions, |record| pair(decision(record), record)),
            self.newest(&self.records.gotchas, |gotcha| (LessonKind::Gotcha, gotcha, "")),
            self.newest(&self.records.attempts, |record| pair(LessonKind::FailedApproach, record)),
            self.newest(&self.records.patterns, |pattern| (LessonKind::Pattern, pattern, "")),
        ])
    }
}

fn decision(record: &Attempt) -> LessonKind {
    if record.by_person { LessonKind::Answer } else { LessonKind::Decision }
}

fn pair(kind: LessonKind, record: &Attempt) -> (LessonKind, &str, &str) {
    (kind, &record.approach, &record.outcome)
}

/// The first of each list, then the second of each, until all are used up.
fn interleave<T>(mut lists: Vec<impl Iterator<Item = T>>) -> Vec<T> {
    let mut taken = Vec::new();
    while !lists.is_empty() {
        lists.retain_mut(|list| match list.next() {
            Some(item) => {
                taken.push(item);
                true
            }
            None => false,
        });
    }
    taken
}

/// What was recorded, with its reason or outcome.
fn lesson_text(what: &str, why: &str) -> String {
    let mut text = match (one_line(what), one_line(why)) {
        (what, why) if why.is_empty() => what,
        (what, why) => format!("{what}: {why}"),
    };
    cut(&mut text, LESSON_BYTES);
    text
}
