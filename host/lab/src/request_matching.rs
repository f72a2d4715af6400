//! Matches recorded answers to recorded questions. Asks no policy.

use std::collections::BTreeMap;

use baton_core::action::Action;
use baton_core::decision::{Decision, Fault, Provenance};
use baton_core::observation::PolicyRequest;
use baton_core::{Input, RequestId, RunId, Seq};
use baton_store::JournalEntry;

use crate::LabError;

/// Questions that wait for their answer. Core has a few under way; a journal with more is not one of this host.
const QUESTIONS_OPEN: usize = 4096;

/// The questions of one run that have no answer yet, each with the data that the reader attached when it was put.
pub(crate) struct RequestMatcher<T = ()> {
    run: RunId,
    open: BTreeMap<RequestId, (PolicyRequest, T)>,
}

/// A question with its recorded answer.
pub(crate) struct AnsweredRequest<'a> {
    /// Journal entry of the answer.
    pub(crate) seq: Seq,
    /// Which question.
    pub(crate) request: RequestId,
    /// What was asked.
    pub(crate) question: PolicyRequest,
    /// What was answered.
    pub(crate) recorded: &'a Result<Decision, Fault>,
    /// By whom.
    pub(crate) label: &'a Provenance,
}

impl<T> RequestMatcher<T> {
    /// Before the first entry.
    pub(crate) fn new(run: RunId) -> Self {
        Self { run, open: BTreeMap::new() }
    }

    /// Whose entries these are.
    pub(crate) fn run(&self) -> &RunId {
        &self.run
    }

    /// A question was put.
    pub(crate) fn put(&mut self, request: RequestId, question: PolicyRequest, moment: T) {
        self.open.insert(request, (question, moment));
        // The oldest are those that a host took with it when it died; they are put again under a new id.
        if self.open.len() > QUESTIONS_OPEN {
            self.open.pop_first();
        }
    }

    /// It was answered. Fails for an answer without a question.
    pub(crate) fn answered(&mut self, request: RequestId, seq: Seq) -> Result<(PolicyRequest, T), LabError> {
        self.open.remove(&request).ok_or_else(|| LabError::QuestionNotFound { run: self.run.clone(), seq })
    }
}

impl RequestMatcher {
    /// Takes the next entry; gives back the pair that it completes. Fails for an answer without a question.
    pub(crate) fn take<'a>(
        &mut self,
        entry: &'a JournalEntry,
    ) -> Result<Option<AnsweredRequest<'a>>, LabError> {
        match entry {
            JournalEntry::Intent { intent, .. } => {
                if let Action::RequestDecision { request_id, request, .. } = &intent.action {
                    self.put(*request_id, request.clone(), ());
                }
                Ok(None)
            }
            JournalEntry::Input(stamped) => {
                let Input::Decided { request_id: request, result, label } = &stamped.input else {
                    return Ok(None);
                };
                let (seq, request) = (stamped.seq, *request);
                let (question, ()) = self.answered(request, seq)?;
                Ok(Some(AnsweredRequest { seq, request, question, recorded: result, label }))
            }
        }
    }
}
