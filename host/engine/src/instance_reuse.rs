//! One instance kept for many questions, for replays that ask a million of them. A decision that counts always has an instance
//! of its own ([`ConfiguredPolicy::evaluate`]): what is kept here could carry something over from one question to the next. So
//! every answer up to a bound, and one of so many after it, is held to that of a fresh instance. That finds a policy that
//! remembers; it does not prove of a question that was not compared that it would have come out the same. At the first
//! difference the whole series is refused, and whoever asked begins anew with fresh instances.

use std::sync::Arc;

use baton_core::decision::Decision;
use baton_core::observation::PolicyRequest;

use crate::evaluate::{PolicyAnswer, ask, askable, checked};
use crate::instance::Instance;
use crate::settings::ConfiguredPolicy;

/// Questions compared one and all at the beginning: a policy that counts, or keeps what it saw last, shows it within a few.
pub const COMPARED_FIRST: u64 = 256;

/// Of those after, one of so many is compared. No power of two and no round number, so that no rhythm of the questions
/// hides from it.
pub const COMPARED_EVERY: u64 = 61;

/// Questions after which an instance is replaced all the same: what a guest does not free does not pile up.
const ASKED_OF_ONE: u64 = 4_096;

/// The policy answers otherwise when its instance is kept.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "policy {policy} answers otherwise when its instance is kept from question to question: it was asked {asked} questions, \
     and is asked with fresh instances instead"
)]
pub struct StatefulPolicyError {
    /// Its name.
    pub policy: String,
    /// Questions until it showed.
    pub asked: u64,
}

/// A policy whose instance is kept. Not to be shared: each thread has its own.
pub struct ReusedInstance<'p> {
    configured: &'p ConfiguredPolicy,
    kept: Option<Instance<'p>>,
    asked_of_kept: u64,
    asked: u64,
    compared: u64,
}

impl ConfiguredPolicy {
    /// How many instances may be kept at a time, none of a layer (it asks others): each has a place of the pool for as long, and
    /// beside it there must be one for a fresh instance. All policies of an engine share that number; whoever finds none left is
    /// asked with fresh instances. Whoever wants more makes an engine for more decisions at a time.
    pub fn most_kept(&self) -> usize {
        match self.policy.asks_next().is_empty() {
            true => self.policy.0.engine.0.permits.most_kept() as usize,
            false => 0,
        }
    }

    /// The same policy with an instance that is kept from question to question.
    pub fn reusing(&self) -> ReusedInstance<'_> {
        ReusedInstance { configured: self, kept: None, asked_of_kept: 0, asked: 0, compared: 0 }
    }
}

impl<'p> ReusedInstance<'p> {
    /// Asks. A fault is never taken from an instance that was used before: a fresh one has the word.
    pub fn evaluate(&mut self, question: &PolicyRequest) -> Result<PolicyAnswer, StatefulPolicyError> {
        if let Err(fault) = askable(question, self.configured.policy.0.engine.limits()) {
            return Ok(Err(fault));
        }
        self.asked += 1;
        let Some(kept) = self.of_kept(question) else { return Ok(self.configured.evaluate(question).result) };
        let compares = self.asked <= COMPARED_FIRST || self.asked.is_multiple_of(COMPARED_EVERY);
        if compares {
            self.compared += 1;
            if self.configured.evaluate(question).result.as_ref() != Ok(&kept) {
                self.kept = None;
                let policy = self.configured.policy().name().to_owned();
                return Err(StatefulPolicyError { policy, asked: self.asked });
            }
        }
        Ok(Ok(kept))
    }

    /// How many answers were held to those of a fresh instance.
    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// The answer of the kept instance. None where it gave none: it is gone then.
    fn of_kept(&mut self, question: &PolicyRequest) -> Option<Option<Decision>> {
        let policy = &*self.configured.policy.0;
        let settings = Arc::clone(&self.configured.settings);
        if self.asked_of_kept >= ASKED_OF_ONE {
            self.kept = None;
        }
        let mut instance = match self.kept.take() {
            Some(mut instance) => {
                instance.renew(policy, question.into(), settings).ok()?;
                instance
            }
            None => {
                self.asked_of_kept = 0;
                Instance::to_keep(policy, question.into(), settings)?
            }
        };
        let answer = ask(&mut instance, &policy.exports, &question.query).and_then(checked).ok()?;
        self.asked_of_kept += 1;
        self.kept = Some(instance);
        Some(answer)
    }
}
