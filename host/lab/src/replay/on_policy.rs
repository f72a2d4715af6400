//! Whether a candidate's answers would have kept a run on its course, phase by phase. Questions after an answer that would have
//! made the host act differently are counted separately: it is unknown which questions would have come instead.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::decision::{Decision, Fault, Provenance};
use baton_core::decision_diff::{DecisionMatch, same_next_step};
use baton_core::observation::{Capability, PolicyRequest};
use baton_core::{Digest, PhaseId, RequestId, Run, Seq};
use baton_engine::PolicyAnswer;

/// What came of the questions of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchCounts {
    /// The same answer, to the letter.
    pub same: u64,
    /// Another answer after which the host does the same.
    pub reason_differs: u64,
    /// Another answer after which the host does something else.
    pub differs: u64,
    /// No answer.
    pub faults: u64,
    /// Left to the fallback policy, which decides as recorded.
    pub abstained: u64,
}

impl MatchCounts {
    /// Questions that were put.
    pub fn asked(&self) -> u64 {
        self.same + self.reason_differs + self.differs + self.faults + self.abstained
    }

    /// One more.
    pub fn count(&mut self, agreement: DecisionMatch) {
        *match agreement {
            DecisionMatch::Same => &mut self.same,
            DecisionMatch::OtherWords => &mut self.reason_differs,
            DecisionMatch::Differs => &mut self.differs,
            DecisionMatch::Fault => &mut self.faults,
            DecisionMatch::Abstained => &mut self.abstained,
        } += 1;
    }
}

impl std::iter::Sum for MatchCounts {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |sum, one| Self {
            same: sum.same + one.same,
            reason_differs: sum.reason_differs + one.reason_differs,
            differs: sum.differs + one.differs,
            faults: sum.faults + one.faults,
            abstained: sum.abstained + one.abstained,
        })
    }
}

/// The questions of one function, by whether they came on the candidate's course.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionMatches {
    /// Before the candidate would have made the host do something else in the phase.
    pub on_course: MatchCounts,
    /// After it. The question is a real one all the same, but not one that this candidate would have met.
    pub off_course: MatchCounts,
    /// Not put: the candidate was not to be asked this.
    pub not_asked: u64,
}

impl FunctionMatches {
    /// Adds the counts of the same function in another run.
    pub(crate) fn add(&mut self, other: &Self) {
        self.on_course = [self.on_course, other.on_course].into_iter().sum();
        self.off_course = [self.off_course, other.off_course].into_iter().sum();
        self.not_asked += other.not_asked;
    }
}

/// A question after which the candidate makes the host do something else, or that it does not answer.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionDifference {
    /// The recorded decision.
    pub seq: Seq,
    /// The phase of the question; absent if core no longer waited for the answer.
    pub phase: Option<PhaseId>,
    /// What was asked.
    pub question: PolicyRequest,
    /// The recorded answer.
    pub recorded: Result<Decision, Fault>,
    /// Who gave it.
    pub label: Provenance,
    /// The candidate's.
    pub candidate: Result<Decision, Fault>,
    /// It came after the candidate had left the course of the run.
    pub off_course: bool,
}

/// The first point in a phase at which the candidate would have made the host act differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstDivergence {
    /// In which phase.
    pub phase: PhaseId,
    /// The recorded decision.
    pub seq: Seq,
    /// `interface.function`, as in the contract.
    pub function: &'static str,
    /// The recorded reason.
    pub recorded: String,
    /// The candidate's.
    pub candidate: String,
}

/// What came of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialResult {
    /// By `interface.function`.
    pub functions: BTreeMap<&'static str, FunctionMatches>,
    /// The first differences, in the order of the run; one on the candidate's course is kept rather than one off it.
    pub differences: Vec<DecisionDifference>,
    /// How many more there are.
    pub differences_beyond: u64,
    /// The points at which the candidate leaves the course of a phase, at most as many as `differences` may hold.
    pub departures: Vec<FirstDivergence>,
    /// How many more phases it leaves.
    pub departures_beyond: u64,
    /// Questions on its course from which it abstained, by the component that had decided them.
    pub abstained_from: BTreeMap<Digest, u64>,
}

/// What a question was about.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryContext {
    /// The phase, then those that it is a part of, from the inside out.
    pub(crate) phases: Vec<PhaseId>,
    /// The phase reviews or brings together what others made.
    pub(crate) is_review_or_merge: bool,
}

impl QueryContext {
    /// Of an open question of a run.
    pub(crate) fn of(run: &Run, request: RequestId) -> Self {
        Self {
            phases: run.asked_about(request).into_iter().cloned().collect(),
            is_review_or_merge: run.is_review_or_merge(request),
        }
    }
}

/// A recorded question with its answer and its context.
#[derive(Clone, Debug)]
pub(crate) struct RecordedQuery {
    /// Journal entry of the answer.
    pub(crate) seq: Seq,
    /// What it was about.
    pub(crate) about: QueryContext,
    /// What was asked.
    pub(crate) question: PolicyRequest,
    /// What was answered.
    pub(crate) recorded: Result<Decision, Fault>,
    /// By whom.
    pub(crate) label: Box<Provenance>,
}

/// Compares a candidate with a recorded run. Keeps a bounded number of differences for a run of any length.
pub(crate) struct OnPolicyTracker {
    decides: BTreeSet<Capability>,
    differences_max: usize,
    /// Phases in which the candidate would have made the host do something else.
    left: BTreeSet<PhaseId>,
    /// Those, and all that they are a part of.
    diverged_subtree: BTreeSet<PhaseId>,
    /// The outermost of them.
    diverged_roots: BTreeSet<PhaseId>,
    found: TrialResult,
}

impl OnPolicyTracker {
    /// Before the first question. Only questions of `decides` are put; at most `differences_max` differences are kept for the
    /// report.
    pub(crate) fn new(decides: impl IntoIterator<Item = Capability>, differences_max: usize) -> Self {
        let decides = decides.into_iter().collect();
        Self {
            decides,
            differences_max,
            left: BTreeSet::new(),
            diverged_subtree: BTreeSet::new(),
            diverged_roots: BTreeSet::new(),
            found: TrialResult::default(),
        }
    }

    /// Whether the candidate is to be asked this.
    pub(crate) fn is_for(&self, question: &PolicyRequest) -> bool {
        self.decides.contains(&question.query.capability())
    }

    /// Whether the candidate has left the course that led to this question: in the phase itself, in a phase that contains it,
    /// or in one whose work it builds on. A phase builds on its own parts and on what the workflow did before it; a review or a
    /// merge builds also on all parts of the parent phase. Parts do not build on each other.
    pub(crate) fn has_diverged(&self, about: &QueryContext) -> bool {
        let QueryContext { phases, is_review_or_merge } = about;
        let (Some(phase), Some(outermost)) = (phases.first(), phases.last()) else { return false };
        let parent = phases.get(1).filter(|_| *is_review_or_merge);
        phases.iter().any(|phase| self.left.contains(phase))
            || [Some(phase), parent].into_iter().flatten().any(|phase| self.diverged_subtree.contains(phase))
            || self.diverged_roots.iter().any(|left| left != outermost)
    }

    fn mark_diverged(&mut self, phases: &[PhaseId]) {
        self.left.extend(phases.first().cloned());
        self.diverged_subtree.extend(phases.iter().cloned());
        self.diverged_roots.extend(phases.last().cloned());
    }

    /// A question that was not put to it.
    pub(crate) fn not_asked(&mut self, question: &PolicyRequest) {
        self.found.functions.entry(question.query.function()).or_default().not_asked += 1;
    }

    /// Compares the candidate's answer with the recorded one.
    pub(crate) fn compare_answer(&mut self, met: RecordedQuery, candidate: PolicyAnswer) {
        let off_course = self.has_diverged(&met.about);
        let agreement = DecisionMatch::of(&met.question.query, &met.recorded, &candidate);
        let function = self.found.functions.entry(met.question.query.function()).or_default();
        if off_course { &mut function.off_course } else { &mut function.on_course }.count(agreement);
        if let (DecisionMatch::Abstained, false, Some(component)) =
            (agreement, off_course, &met.label.component)
        {
            *self.found.abstained_from.entry(component.clone()).or_default() += 1;
        }
        let phase = met.about.phases.first().cloned();
        if let (Ok(recorded), Ok(Some(candidate)), Some(phase)) = (&met.recorded, &candidate, &phase)
            && !off_course
            && !same_next_step(&met.question.query, recorded, candidate)
        {
            self.mark_diverged(&met.about.phases);
            let function = met.question.query.function();
            let (recorded, candidate) = (recorded.reason().to_owned(), candidate.reason().to_owned());
            let departure =
                FirstDivergence { phase: phase.clone(), seq: met.seq, function, recorded, candidate };
            match self.found.departures.len() < self.differences_max {
                true => self.found.departures.push(departure),
                false => self.found.departures_beyond += 1,
            }
        }
        if let Some(candidate) = candidate.transpose().filter(|_| agreement.is_otherwise()) {
            let RecordedQuery { seq, question, recorded, label, .. } = met;
            self.keep(DecisionDifference {
                seq,
                phase,
                question,
                recorded,
                label: *label,
                candidate,
                off_course,
            });
        }
    }

    /// What came of it.
    pub(crate) fn finish(self) -> TrialResult {
        self.found
    }

    /// Keeps a difference while there is room; one on course takes the place of one that is not.
    fn keep(&mut self, difference: DecisionDifference) {
        let kept = &mut self.found.differences;
        if kept.len() < self.differences_max {
            return kept.push(difference);
        }
        self.found.differences_beyond += 1;
        if difference.off_course {
            return;
        }
        if let Some(least) = kept.iter().rposition(|kept| kept.off_course) {
            kept.remove(least);
            kept.push(difference);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks on in a course that was left in the first of these: whether the second is off it.
    fn is_off_policy(left: &[&str], asked: &[&str], is_review_or_merge: bool) -> bool {
        let phases = |ids: &[&str]| ids.iter().map(|id| PhaseId::new(*id)).collect::<Vec<_>>();
        let mut course = OnPolicyTracker::new([], 0);
        course.mark_diverged(&phases(left));
        course.has_diverged(&QueryContext { phases: phases(asked), is_review_or_merge })
    }

    #[test]
    fn who_goes_on_from_the_work_of_a_phase_that_was_left_is_off_course_too() {
        let part = ["20a", "20"];
        assert!(is_off_policy(&part, &part, false), "the phase itself");
        assert!(is_off_policy(&part, &["20a-review", "20a", "20"], true), "what belongs to it");
        assert!(is_off_policy(&part, &["20"], false), "what it is a part of, which goes on when it is done");
        assert!(is_off_policy(&part, &["20-merge-20b", "20"], true), "who brings it together with others");
        assert!(is_off_policy(&part, &["30"], false), "what the workflow does next");
        assert!(is_off_policy(&part, &["30a", "30"], false));
        assert!(!is_off_policy(&part, &["20b", "20"], false), "another part began where it began");
        assert!(!is_off_policy(&part, &["20b-review", "20b", "20"], true));
        assert!(is_off_policy(&["20"], &["20b", "20"], false), "the parts of a phase that was left");
    }
}
