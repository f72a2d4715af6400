//! Trial of a candidate: every recorded question of a run is put to it, and its answer is compared with the recorded one. The
//! trial does not guess how the run would have continued: questions that came after an answer that would have made the host act
//! differently are counted separately, as off the candidate's course.

use baton_core::observation::{Capability, PolicyRequest};
use baton_core::{Run, RunId};
use baton_engine::PolicyAnswer;
use baton_store::{Journal, JournalEntry};

use crate::LabError;
use crate::replay::on_policy::{OnPolicyTracker, QueryContext, RecordedQuery, TrialResult};
use crate::request_matching::{AnsweredRequest, RequestMatcher};

/// Takes the entries of one run in order, and asks as it goes. Keeps the state of the run and some differences, however
/// long the run was.
pub struct CandidateTrial<A> {
    pairing: RequestMatcher,
    /// The recorded run: gives the phase that a question was about, and the parent of each phase.
    recorded: Run,
    course: OnPolicyTracker,
    ask: A,
}

impl<A: FnMut(&PolicyRequest) -> PolicyAnswer> CandidateTrial<A> {
    /// Before the first entry. Only questions of `decides` are put; at most `differences_max` differences are kept for the
    /// report.
    pub fn new(
        run: RunId,
        decides: impl IntoIterator<Item = Capability>,
        differences_max: usize,
        ask: A,
    ) -> Self {
        let course = OnPolicyTracker::new(decides, differences_max);
        Self { pairing: RequestMatcher::new(run), recorded: Run::new(), course, ask }
    }

    /// Takes the next entry. Fails for a decision without a question, and if core refuses an input that it accepted when the
    /// run was recorded.
    pub fn take(&mut self, entry: &JournalEntry) -> Result<(), LabError> {
        if let Some(paired) = self.pairing.take(entry)? {
            self.compare_answer(paired);
        }
        if let JournalEntry::Input(stamped) = entry {
            self.recorded.apply(stamped).map_err(|why| LabError::Refused {
                run: self.pairing.run().clone(),
                seq: stamped.seq,
                why: why.to_string(),
            })?;
        }
        Ok(())
    }

    /// What came of it.
    pub fn finish(self) -> TrialResult {
        self.course.finish()
    }

    fn compare_answer(&mut self, paired: AnsweredRequest<'_>) {
        let AnsweredRequest { seq, request, question, recorded, label } = paired;
        if !self.course.is_for(&question) {
            return self.course.not_asked(&question);
        }
        let about = QueryContext::of(&self.recorded, request);
        let candidate = (self.ask)(&question);
        let (recorded, label) = (recorded.clone(), Box::new(label.clone()));
        self.course.compare_answer(RecordedQuery { seq, about, question, recorded, label }, candidate);
    }
}

/// Puts every question of a recorded run to a candidate.
pub fn try_candidate(
    journal: &Journal,
    run: &RunId,
    decides: impl IntoIterator<Item = Capability>,
    differences_max: usize,
    ask: impl FnMut(&PolicyRequest) -> PolicyAnswer,
) -> Result<TrialResult, LabError> {
    let mut trial = CandidateTrial::new(run.clone(), decides, differences_max, ask);
    let mut rows = 0_u64;
    for entry in journal.read(run)? {
        trial.take(&entry?)?;
        rows += 1;
    }
    if rows == 0 {
        return Err(LabError::RunNotFound { run: run.clone(), journal: journal.path().to_owned() });
    }
    Ok(trial.finish())
}
