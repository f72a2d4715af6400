//! A recorded run from its first entry to its last: what was asked and answered, and what became of each context. Keeps the
//! state of the run and what is under way, however long the run was. Asks nobody.

use baton_core::action::Action;
use baton_core::observation::Ask;
use baton_core::{Input, PhaseId, Run, RunId};
use baton_store::Entry;

use super::course::Met;
use super::fate::{ContextId, Fates, Moment, Over};
use crate::LabError;
use crate::pairing::Pairing;

/// What comes next in a run.
pub(crate) enum Event {
    /// A question with its recorded answer; where it was about a context that is not over, with that and the moment at which it
    /// was put.
    Met(Box<Met>, Option<(ContextId, Moment)>),
    /// A context is over.
    Over(Over),
}

/// Where a question was put.
#[derive(Default)]
struct Put {
    about: Vec<PhaseId>,
    context: Option<(ContextId, Moment)>,
}

pub(crate) struct Walk {
    pairing: Pairing<Put>,
    run: Run,
    fates: Fates,
}

impl Walk {
    pub(crate) fn new(run: RunId) -> Self {
        Self { pairing: Pairing::new(run), run: Run::new(), fates: Fates::default() }
    }

    /// Takes the next entry, and tells what came of it. Fails for a decision without a question, and where core refuses what it
    /// took then.
    pub(crate) fn take(&mut self, entry: Entry, mut tell: impl FnMut(Event)) -> Result<(), LabError> {
        let stamped = match entry {
            Entry::Intent { intent, .. } => {
                if let Action::RequestDecision { request, question, .. } = intent.action {
                    let about: Vec<_> = self.run.asked_about(request).into_iter().cloned().collect();
                    let context = match question.ask {
                        Ask::Assess(_) => about.first().and_then(|phase| self.fates.of_phase(phase)),
                        _ => None,
                    };
                    self.pairing.put(request, question, Put { about, context });
                }
                return Ok(());
            }
            Entry::Input(stamped) => stamped,
        };
        let intents = self.run.apply(&stamped).map_err(|why| LabError::Refused {
            run: self.pairing.run().clone(),
            seq: stamped.seq,
            why: why.to_string(),
        });
        // An answer without a question is the plainer reason for which core refuses it.
        if let Input::Decided { request, .. } = &stamped.input {
            let (question, Put { about, context }) = self.pairing.answered(*request, stamped.seq)?;
            let context = context.filter(|(context, _)| self.fates.is_open(context));
            self.fates.take(&stamped, intents.as_deref().unwrap_or_default());
            let seq = stamped.seq;
            if let Input::Decided { result, label, .. } = stamped.input {
                let met = Met { seq, about, question, recorded: result, label };
                tell(Event::Met(Box::new(met), context));
            }
        } else {
            self.fates.take(&stamped, intents.as_deref().unwrap_or_default());
        }
        self.fates.over().for_each(|over| tell(Event::Over(over)));
        intents.map(drop)
    }

    /// The record ends here.
    pub(crate) fn end(mut self, mut tell: impl FnMut(Event)) {
        self.fates.end().for_each(|over| tell(Event::Over(over)));
    }
}
