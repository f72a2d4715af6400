//! Who answers the questions of a replay: a candidate with a fresh instance for each, with instances that are kept, or a
//! closure. Several threads ask at a time, each in a lane of its own.

use std::sync::{Mutex, PoisonError};

use baton_core::observation::PolicyRequest;
use baton_engine::{ConfiguredPolicy, PolicyAnswer, ReusedInstance, StatefulPolicyError, validate_answer};

/// Answers questions.
pub trait CandidateEvaluator: Sync {
    /// How many can be asked at a time.
    fn lanes(&self) -> usize;

    /// Asks in a lane.
    ///
    /// # Errors
    /// [`StatefulPolicyError`]: nothing that was answered before can be relied on either.
    fn ask(&self, lane: usize, question: &PolicyRequest) -> Result<PolicyAnswer, StatefulPolicyError>;

    /// How many answers were held to those of fresh instances; none where all instances are fresh.
    fn compared(&self) -> Option<u64> {
        None
    }
}

/// A fresh instance for each question, as in a live run.
pub struct FreshEvaluator<'p> {
    policy: &'p ConfiguredPolicy,
    lanes: usize,
}

impl<'p> FreshEvaluator<'p> {
    /// So many at a time.
    pub fn new(policy: &'p ConfiguredPolicy, lanes: usize) -> Self {
        Self { policy, lanes: lanes.max(1) }
    }
}

impl CandidateEvaluator for FreshEvaluator<'_> {
    fn lanes(&self) -> usize {
        self.lanes
    }

    fn ask(&self, _: usize, question: &PolicyRequest) -> Result<PolicyAnswer, StatefulPolicyError> {
        Ok(validate_answer(question, self.policy.evaluate(question).result))
    }
}

/// An instance a lane, kept from question to question.
pub struct ReusingEvaluator<'p> {
    lanes: Vec<Mutex<ReusedInstance<'p>>>,
}

impl<'p> ReusingEvaluator<'p> {
    /// So many instances, or as many as leave the policy places for fresh ones; none where that is none.
    pub fn new(policy: &'p ConfiguredPolicy, lanes: usize) -> Option<Self> {
        let lanes = lanes.min(policy.most_kept());
        (lanes > 0).then(|| Self { lanes: (0..lanes).map(|_| Mutex::new(policy.reusing())).collect() })
    }
}

impl CandidateEvaluator for ReusingEvaluator<'_> {
    fn lanes(&self) -> usize {
        self.lanes.len()
    }

    fn ask(&self, lane: usize, question: &PolicyRequest) -> Result<PolicyAnswer, StatefulPolicyError> {
        let lane = &self.lanes[lane % self.lanes.len()];
        let answer = lane.lock().unwrap_or_else(PoisonError::into_inner).evaluate(question)?;
        Ok(validate_answer(question, answer))
    }

    fn compared(&self) -> Option<u64> {
        let lane =
            |lane: &Mutex<ReusedInstance<'_>>| lane.lock().unwrap_or_else(PoisonError::into_inner).compared();
        Some(self.lanes.iter().map(lane).sum())
    }
}

/// A function of the question, in one lane.
impl<F: Fn(&PolicyRequest) -> PolicyAnswer + Sync> CandidateEvaluator for F {
    fn lanes(&self) -> usize {
        1
    }

    fn ask(&self, _: usize, question: &PolicyRequest) -> Result<PolicyAnswer, StatefulPolicyError> {
        Ok(self(question))
    }
}
