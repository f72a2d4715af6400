//! A recorded run from its first entry to its last: its questions and answers, and the outcome of each context. Keeps the state
//! of the run and the open questions, for a run of any length. Asks no policy. The questions are taken from the fold: a
//! recorded question with the same bytes is the same, and need not be decoded.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use baton_core::action::Action;
use baton_core::observation::PolicyQuery;
use baton_core::{Input, Intent, JournaledInput, Run, RunId};
use baton_store::{EncodedEntry, EncodedIntent, Journal, JournalEntries};

use super::on_policy::{QueryContext, RecordedQuery};
use crate::LabError;
use crate::context_outcome::{ClosedContext, ContextId, ContextTracker, SessionMoment};
use crate::request_matching::RequestMatcher;

/// What comes next in a run.
pub(crate) enum RunEvent {
    /// A question with its recorded answer; if it was about a context that is not over, with that context and the moment of the
    /// question.
    Query(Box<RecordedQuery>, Option<(ContextId, SessionMoment)>),
    /// A context is over.
    Over(ClosedContext),
}

/// A question without an answer yet, and the moment at which it was put.
#[derive(Default)]
struct PendingQuery {
    about: QueryContext,
    context: Option<(ContextId, SessionMoment)>,
}

struct RunReader {
    pairing: RequestMatcher<PendingQuery>,
    run: Run,
    /// What core wanted after the last input, as far as the journal has not come to it.
    wanted: VecDeque<Intent>,
    context_tracker: ContextTracker,
}

/// Walks through a run and passes each event to `tell`, until that breaks.
///
/// # Errors
/// Errors of reading, an unknown run, a decision without a question, and an input that core refuses.
pub(crate) fn walk(
    journal: &Journal,
    run: &RunId,
    mut tell: impl FnMut(RunEvent) -> ControlFlow<()>,
) -> Result<(), LabError> {
    let mut entries = journal.read(run)?;
    let mut walk = RunReader::new(run.clone());
    let mut is_empty = true;
    while let Some(sealed) = entries.next_sealed() {
        is_empty = false;
        match sealed? {
            EncodedEntry::Intent(sealed) => walk.intent(&sealed, &mut entries)?,
            EncodedEntry::Input(stamped) => {
                if let Some(met) = walk.input(stamped)?
                    && tell(met).is_break()
                {
                    return Ok(());
                }
                if walk.context_tracker.over().try_for_each(|over| tell(RunEvent::Over(over))).is_break() {
                    return Ok(());
                }
            }
        }
    }
    if is_empty {
        return Err(LabError::RunNotFound { run: run.clone(), journal: journal.path().to_owned() });
    }
    // No policy is asked after this: it makes no difference which has had enough.
    let _ = walk.context_tracker.end().try_for_each(|over| tell(RunEvent::Over(over)));
    Ok(())
}

impl RunReader {
    fn new(run: RunId) -> Self {
        Self {
            pairing: RequestMatcher::new(run),
            run: Run::new(),
            wanted: VecDeque::new(),
            context_tracker: ContextTracker::default(),
        }
    }

    fn intent(&mut self, sealed: &EncodedIntent, entries: &mut JournalEntries) -> Result<(), LabError> {
        let intent = match self.wanted.pop_front().filter(|wanted| sealed.is_written_as(wanted)) {
            Some(wanted) => wanted,
            // An earlier version wrote it, or wanted something else: the journal has the word.
            None => entries.open(sealed)?,
        };
        let Action::RequestDecision { request_id, request, .. } = intent.action else { return Ok(()) };
        let about = QueryContext::of(&self.run, request_id);
        let context = match request.query {
            PolicyQuery::Exhaustion(_) => {
                about.phases.first().and_then(|phase| self.context_tracker.of_phase(phase))
            }
            _ => None,
        };
        self.pairing.put(request_id, request, PendingQuery { about, context });
        Ok(())
    }

    /// Gives back the question that it answers.
    fn input(&mut self, stamped: JournaledInput) -> Result<Option<RunEvent>, LabError> {
        let intents = self.run.apply(&stamped).map_err(|why| LabError::Refused {
            run: self.pairing.run().clone(),
            seq: stamped.seq,
            why: why.to_string(),
        });
        let answered = match &stamped.input {
            // An answer without a question is the plainer reason for which core refuses it.
            Input::Decided { request_id, .. } => Some(self.pairing.answered(*request_id, stamped.seq)?),
            _ => None,
        };
        let intents = intents?;
        let answered = answered.map(|(question, PendingQuery { about, context })| {
            (question, about, context.filter(|(context, _)| self.context_tracker.is_open(context)))
        });
        self.context_tracker.take(&stamped, &intents);
        // Notices to the user are not journaled.
        self.wanted = intents.into_iter().filter(|i| !matches!(i.action, Action::Notify(_))).collect();
        let seq = stamped.seq;
        let (Some((question, about, context)), Input::Decided { result: recorded, label, .. }) =
            (answered, stamped.input)
        else {
            return Ok(None);
        };
        Ok(Some(RunEvent::Query(Box::new(RecordedQuery { seq, about, question, recorded, label }), context)))
    }
}
