//! Trial of a candidate: every recorded question of a run is put to it, and its answer is set beside the recorded one.
//! It does not guess how the run would have gone on: what came after an answer that would have made the host do
//! something else is counted apart, as off the candidate's course.

use std::collections::{BTreeMap, BTreeSet};

use baton_core::agreement::Agreement;
use baton_core::decision::{Decision, Fault, Label, Verdict};
use baton_core::observation::{Capability, Question};
use baton_core::{PhaseId, Run, RunId, Seq};
use baton_store::{Entry, Journal};

use crate::LabError;
use crate::pairing::{Paired, Pairing};

/// What came of the questions of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The same answer, to the letter.
    pub same: u64,
    /// The same answer with another reason.
    pub other_words: u64,
    /// Another answer.
    pub differs: u64,
    /// No answer.
    pub faults: u64,
}

impl Tally {
    /// Questions that were put.
    pub fn asked(&self) -> u64 {
        self.same + self.other_words + self.differs + self.faults
    }

    /// One more.
    pub fn count(&mut self, agreement: Agreement) {
        *match agreement {
            Agreement::Same => &mut self.same,
            Agreement::OtherWords => &mut self.other_words,
            Agreement::Differs => &mut self.differs,
            Agreement::Fault => &mut self.faults,
        } += 1;
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |sum, one| Self {
            same: sum.same + one.same,
            other_words: sum.other_words + one.other_words,
            differs: sum.differs + one.differs,
            faults: sum.faults + one.faults,
        })
    }
}

/// The questions of one function, by whether they came on the candidate's course.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Before the candidate would have made the host do something else in the phase.
    pub on_course: Tally,
    /// After it. The question is a real one all the same, but not one that this candidate would have met.
    pub off_course: Tally,
    /// Not put: the candidate was not to be asked this.
    pub not_asked: u64,
}

/// A question that the candidate answers otherwise, or not at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The recorded decision.
    pub seq: Seq,
    /// About which phase; absent where nobody waited for the answer any more.
    pub phase: Option<PhaseId>,
    /// What was asked.
    pub question: Question,
    /// The recorded answer.
    pub recorded: Result<Decision, Fault>,
    /// Who gave it.
    pub label: Label,
    /// The candidate's.
    pub candidate: Result<Decision, Fault>,
    /// It came after the candidate had left the course of the run.
    pub off_course: bool,
}

/// What came of a trial.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tried {
    /// By `interface.function`.
    pub functions: BTreeMap<&'static str, Function>,
    /// The first differences, in the order of the run; one on the candidate's course is kept rather than one off it.
    pub differences: Vec<Difference>,
    /// How many more there are.
    pub differences_beyond: u64,
}

/// Takes the entries of one run in order, and asks as it goes. Keeps the state of the run and some differences, however
/// long the run was.
pub struct Trial<A> {
    pairing: Pairing,
    /// The run as it was: it knows what a question was about, and what is a part of what.
    recorded: Run,
    decides: BTreeSet<Capability>,
    differences_kept: usize,
    ask: A,
    /// Phases in which the candidate would have made the host do something else.
    left: BTreeSet<PhaseId>,
    found: Tried,
}

impl<A: FnMut(&Question) -> Result<Decision, Fault>> Trial<A> {
    /// Before the first entry. Questions of `decides` alone are put; so many differences are kept to be shown.
    pub fn new(
        run: RunId,
        decides: impl IntoIterator<Item = Capability>,
        differences_kept: usize,
        ask: A,
    ) -> Self {
        Self {
            pairing: Pairing::new(run),
            recorded: Run::new(),
            decides: decides.into_iter().collect(),
            differences_kept,
            ask,
            left: BTreeSet::new(),
            found: Tried::default(),
        }
    }

    /// Takes the next entry. Fails for a decision without a question, and where core refuses what it took then.
    pub fn take(&mut self, entry: &Entry) -> Result<(), LabError> {
        if let Some(paired) = self.pairing.take(entry)? {
            self.set_beside(paired);
        }
        if let Entry::Input(stamped) = entry {
            self.recorded.apply(stamped).map_err(|why| LabError::Refused {
                run: self.pairing.run().clone(),
                seq: stamped.seq,
                why: why.to_string(),
            })?;
        }
        Ok(())
    }

    /// What came of it.
    pub fn finish(self) -> Tried {
        self.found
    }

    fn set_beside(&mut self, paired: Paired<'_>) {
        let Paired { seq, request, question, recorded, label } = paired;
        let function = self.found.functions.entry(question.ask.function()).or_default();
        if !self.decides.contains(&question.ask.capability()) {
            function.not_asked += 1;
            return;
        }
        let about = self.recorded.asked_about(request);
        let phase = about.first().copied().cloned();
        let off_course = about.iter().any(|phase| self.left.contains(*phase));
        let candidate = (self.ask)(&question);
        let agreement = Agreement::of(recorded, &candidate);
        let tally = if off_course { &mut function.off_course } else { &mut function.on_course };
        tally.count(agreement);
        if let (Ok(recorded), Ok(candidate), Some(phase)) = (recorded, &candidate, &phase)
            && !same_effect(recorded, candidate)
        {
            self.left.insert(phase.clone());
        }
        if matches!(agreement, Agreement::Differs | Agreement::Fault) {
            let (recorded, label) = (recorded.clone(), label.clone());
            self.keep(Difference { seq, phase, question, recorded, label, candidate, off_course });
        }
    }

    /// Keeps a difference while there is room; one on course takes the place of one that is not.
    fn keep(&mut self, difference: Difference) {
        let kept = &mut self.found.differences;
        if kept.len() < self.differences_kept {
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

/// Puts every question of a recorded run to a candidate.
pub fn try_on(
    journal: &Journal,
    run: &RunId,
    decides: impl IntoIterator<Item = Capability>,
    differences_kept: usize,
    ask: impl FnMut(&Question) -> Result<Decision, Fault>,
) -> Result<Tried, LabError> {
    let mut trial = Trial::new(run.clone(), decides, differences_kept, ask);
    let mut rows = 0_u64;
    for entry in journal.read(run)? {
        trial.take(&entry?)?;
        rows += 1;
    }
    if rows == 0 {
        return Err(LabError::NoRun { run: run.clone(), journal: journal.path().to_owned() });
    }
    Ok(trial.finish())
}

/// Whether the host would have done the same after either. A warning, a piece of evidence or a point of a review more
/// is another answer, and changes nothing of what comes next. A fault is not looked at here: whoever stands behind the
/// candidate is asked then, and in a live run that is the one before it.
fn same_effect(a: &Decision, b: &Decision) -> bool {
    match (a, b) {
        (Decision::Assess(a), Decision::Assess(b)) => {
            let recovers = matches!(
                a.verdict,
                Verdict::Truncated | Verdict::Stalled | Verdict::Interrupted | Verdict::Failed
            );
            a.verdict == b.verdict && (!recovers || a.recovery == b.recovery)
        }
        (Decision::Compaction(a), Decision::Compaction(b)) => a.action == b.action,
        (Decision::Split(a), Decision::Split(b)) => a.action == b.action,
        (Decision::Budget(a), Decision::Budget(b)) => a.max_turns == b.max_turns,
        (Decision::Brief(a), Decision::Brief(b)) => a.prompt == b.prompt,
        (Decision::Compose(a), Decision::Compose(b)) => {
            (&a.document, &a.index, a.continuer) == (&b.document, &b.index, b.continuer)
        }
        (Decision::Review(a), Decision::Review(b)) => (a.accepted, a.staleness) == (b.accepted, b.staleness),
        // Answers to different functions; the engine lets no component give one.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_core::decision::{Assessment, Recovery};

    fn assessment(verdict: Verdict, recovery: Recovery, warning: Option<&str>) -> Decision {
        let warning = warning.map(str::to_owned);
        Decision::Assess(Assessment { verdict, evidence: Vec::new(), warning, recovery, reason: "so".into() })
    }

    #[test]
    fn a_warning_leaves_the_course_as_it_is_and_another_recovery_does_not() {
        let healthy = |warning| assessment(Verdict::Healthy, Recovery::Wait, warning);
        assert!(same_effect(&healthy(None), &healthy(Some("it fills up"))));
        let stalled = |recovery| assessment(Verdict::Stalled, recovery, None);
        assert!(!same_effect(&stalled(Recovery::Nudge), &stalled(Recovery::NewSession)));
        // What to do with a stall is of no account where there is none.
        let done = |recovery| assessment(Verdict::Completed, recovery, None);
        assert!(same_effect(&done(Recovery::Wait), &done(Recovery::NewSession)));
        assert!(!same_effect(&healthy(None), &done(Recovery::Wait)));
    }
}
