//! Replay of policies: every question that a component answered is put to it again, and must get the same answer for
//! the same fuel. How a component is run is the caller's closure; which questions are asked again is decided here.

use baton_core::decision::{DecidedBy, Decision, Fault, Label};
use baton_core::observation::Question;
use baton_core::{RequestId, RunId, Seq};
use baton_store::Entry;

use crate::LabError;
use crate::pairing::{Paired, Pairing};

/// Differences that are kept to be shown; the rest is counted. A person reads the first few.
pub const DIFFERENCES_KEPT: usize = 20;

/// What the closure found.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The component was asked.
    Given {
        /// Its answer or fault.
        result: Result<Decision, Fault>,
        /// What it used.
        fuel: u64,
    },
    /// The component, its settings or its engine are not at hand.
    Unavailable {
        /// Why, for a person.
        why: String,
    },
}

/// A decision that came out differently.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// The recorded decision.
    pub seq: Seq,
    /// Which question.
    pub request: RequestId,
    /// `interface.function`, as in the contract.
    pub function: &'static str,
    /// Who decided, and under which digests.
    pub label: Label,
    /// The answer then; its fuel is in the label.
    pub recorded: Result<Decision, Fault>,
    /// The answer now.
    pub replayed: Result<Decision, Fault>,
    /// The fuel now.
    pub replayed_fuel: u64,
}

impl Changed {
    /// The answer is the same, and only the fuel differs: another engine, or another build of the component.
    pub fn is_fuel_only(&self) -> bool {
        self.recorded == self.replayed
    }
}

/// The count.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reevaluated {
    /// Decisions with the same answer for the same fuel.
    pub same: u64,
    /// Decisions that came out differently.
    pub differences: u64,
    /// The first of them.
    pub changed: Vec<Changed>,
    /// Decisions that no component made: there is nobody to ask again.
    pub native: u64,
    /// Ends by the watchdog: the host's doing and no property of the policy, so they are replayed as recorded.
    pub watchdog: u64,
    /// Decisions whose component was not at hand.
    pub unavailable: u64,
    /// Why the first of those was not.
    pub unavailable_because: Option<String>,
}

/// Takes the entries of one run in order and asks again as it goes.
pub struct Reevaluation<E> {
    pairing: Pairing,
    evaluate: E,
    found: Reevaluated,
}

impl<E: FnMut(&Question, &Label) -> Answer> Reevaluation<E> {
    /// Before the first entry.
    pub fn new(run: RunId, evaluate: E) -> Self {
        Self { pairing: Pairing::new(run), evaluate, found: Reevaluated::default() }
    }

    /// Takes the next entry. Fails for a decision without a question.
    pub fn take(&mut self, entry: &Entry) -> Result<(), LabError> {
        if let Some(paired) = self.pairing.take(entry)? {
            self.ask_again(paired);
        }
        Ok(())
    }

    /// What came of it.
    pub fn finish(self) -> Reevaluated {
        self.found
    }

    fn ask_again(&mut self, paired: Paired<'_>) {
        let Paired { seq, request, question, recorded, label } = paired;
        let found = &mut self.found;
        if label.by == DecidedBy::Native || label.component.is_none() {
            found.native += 1;
            return;
        }
        if matches!(recorded, Err(Fault::Watchdog { .. })) {
            found.watchdog += 1;
            return;
        }
        match (self.evaluate)(&question, label) {
            Answer::Given { result, fuel } if result == *recorded && fuel == label.fuel => found.same += 1,
            Answer::Given { result, fuel } => {
                found.differences += 1;
                if found.changed.len() < DIFFERENCES_KEPT {
                    found.changed.push(Changed {
                        seq,
                        request,
                        function: question.ask.function(),
                        label: label.clone(),
                        recorded: recorded.clone(),
                        replayed: result,
                        replayed_fuel: fuel,
                    });
                }
            }
            Answer::Unavailable { why } => {
                found.unavailable += 1;
                found.unavailable_because.get_or_insert(why);
            }
        }
    }
}
