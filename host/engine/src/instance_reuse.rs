//! One instance kept for many questions, for replays that ask a million of them. A live decision always has its own instance
//! ([`ConfiguredPolicy::evaluate`]), since a kept instance could carry state from one question to the next. So every answer up
//! to [`COMPARED_FIRST`], and one of [`COMPARED_EVERY`] after that, is compared with the answer of a fresh instance. That finds
//! a stateful policy; it does not prove that the questions that were not compared have the same answer. At the first difference
//! the whole series is refused, and the caller starts again with fresh instances.

use std::sync::Arc;

use baton_core::decision::Decision;
use baton_core::observation::PolicyRequest;

use crate::evaluate::{PolicyAnswer, ask, askable, checked};
use crate::instance::Instance;
use crate::settings::ConfiguredPolicy;

/// Questions at the beginning that are all compared: a policy that counts, or keeps its last input, shows it within a few.
pub const COMPARED_FIRST: u64 = 256;

/// Of the later questions, one in this many is compared. Not a power of two and not a round number, so that it does not
/// coincide with a rhythm of the questions.
pub const COMPARED_EVERY: u64 = 61;

/// Questions after which an instance is replaced in any case, so that memory that the guest does not free does not accumulate.
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
    /// How many instances may be kept at a time; 0 for a layer, which asks other policies. Each takes a place of the pool while
    /// it is kept, and another place must remain for a fresh instance. All policies of an engine share that number; if none is
    /// left, a policy is asked with fresh instances. For more, create an engine for more decisions at a time.
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

    /// The answer of the kept instance. None if it failed, in which case the instance is dropped.
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
