//! One question, one fresh instance, and one answer, abstention or fault. Who is asked next is the router's.

use baton_core::decision::{Decision, Fault, LinkRecord};
use baton_core::observation::{PolicyQuery, PolicyRequest};
use baton_core::{Digest, TextBlob};
use std::sync::Arc;

use crate::answer_limits;
use crate::bindings::questions;
use crate::convert;
use crate::exports::Exports;
use crate::host_state::PolicyLogLine;
use crate::instance::Instance;
use crate::layer::NextPolicies;
use crate::limits::DecisionLimits;
use crate::settings::ConfiguredPolicy;

/// A decision, `None` where the policy abstains, or why there is neither.
pub type PolicyAnswer = Result<Option<Decision>, Fault>;

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The answer, of a shape that the contract allows; core judges whether it makes sense.
    pub result: PolicyAnswer,
    /// Fuel used, the same for the same question under the same engine digest.
    pub fuel: u64,
    /// What the policy wrote, bounded.
    pub logs: Vec<PolicyLogLine>,
    /// Messages beyond the bound.
    pub logs_dropped: u32,
    /// The artifacts that it was shown, by name and digest; empty where it asked for none.
    pub artifacts: Vec<(String, Digest)>,
    /// What it asked of the policies behind it, if it is a layer, in order.
    pub nested: Vec<LinkRecord>,
}

impl From<Fault> for Evaluation {
    fn from(fault: Fault) -> Self {
        Self {
            result: Err(fault),
            fuel: 0,
            logs: Vec::new(),
            logs_dropped: 0,
            artifacts: Vec::new(),
            nested: Vec::new(),
        }
    }
}

impl ConfiguredPolicy {
    /// Asks the policy. Waits while as many decisions are made as the engine allows at a time; blocks for the some
    /// µs a decision takes, and at most for the watchdog's limit.
    pub fn evaluate(&self, question: &PolicyRequest) -> Evaluation {
        self.evaluate_over(question, Arc::clone(&self.next))
    }

    /// The same with these policies behind it, whom it asks in turn if it is a layer.
    pub(crate) fn evaluate_over(
        &self,
        question: &PolicyRequest,
        next: Arc<[ConfiguredPolicy]>,
    ) -> Evaluation {
        let policy = &*self.policy.0;
        if let Err(fault) = askable(question, policy.engine.limits()) {
            return fault.into();
        }
        let settings = Arc::clone(&self.settings);
        let mut instance = match Instance::start(policy, question.into(), settings, NextPolicies::new(next)) {
            Ok(instance) => instance,
            Err(fault) => {
                policy.share.deprioritise();
                return fault.into();
            }
        };
        let result = ask(&mut instance, &policy.exports, &question.query).and_then(checked);
        let fuel = instance.fuel_used();
        let (log, artifacts, next_policies) = instance.into_records();
        if result.is_err() {
            policy.share.deprioritise();
        }
        Evaluation {
            result,
            fuel,
            logs: [next_policies.logs, log.lines].concat(),
            logs_dropped: next_policies.logs_dropped.saturating_add(log.dropped),
            artifacts,
            nested: next_policies.records,
        }
    }
}

/// Whether a question can be put at all: every text it refers to is at hand, and all of them fit.
pub(crate) fn askable(question: &PolicyRequest, limits: &DecisionLimits) -> Result<(), Fault> {
    let invalid = |message| Err(Fault::Invalid { message });
    if let Some(place) = question.texts.iter().position(|text| text.body().is_none()) {
        return invalid(format!("the question cannot be put: its text {place} is not at hand"));
    }
    let bytes = question.texts.iter().map(TextBlob::len_bytes).fold(0, u64::saturating_add);
    if bytes > limits.input_bytes {
        let most = limits.input_bytes;
        return invalid(format!(
            "the question cannot be put: its texts have {bytes} bytes, at most {most} are read"
        ));
    }
    Ok(())
}

/// The answer, of a shape that the contract allows.
pub(crate) fn checked(answer: Option<Decision>) -> PolicyAnswer {
    answer.map(answer_limits::check).transpose()
}

pub(crate) fn ask(instance: &mut Instance<'_>, exports: &Exports, query: &PolicyQuery) -> PolicyAnswer {
    let capability = query.capability();
    let function = exports
        .answering(capability)
        .ok_or_else(|| Fault::Unloadable { message: format!("it does not export {}", capability.name()) })?;
    Ok(match query {
        PolicyQuery::Exhaustion(seen) => {
            let answer: Option<questions::AssessmentResult> =
                convert::session_observation(seen, |seen| instance.call(function, (seen,)))?;
            answer.map(convert::assessment).map(Decision::Exhaustion)
        }
        PolicyQuery::Completion(seen) => {
            let answer: Option<questions::CompletionDecisionResult> =
                convert::completion(seen, |seen| instance.call(function, (seen,)))?;
            answer.map(convert::completion_decision).map(Decision::Completion)
        }
        PolicyQuery::Recovery(seen) => {
            let answer: Option<questions::RecoveryDecision> =
                convert::recovery(seen, |seen| instance.call(function, (seen,)))?;
            answer.map(convert::recovery_decision).map(Decision::Recovery)
        }
        PolicyQuery::Compaction(seen) => {
            let answer: Option<questions::CompactionDecision> =
                convert::compaction(seen, |seen| instance.call(function, (seen,)))?;
            answer.map(convert::compaction_decision).map(Decision::Compaction)
        }
        PolicyQuery::Offloading(seen) => {
            let answer: Option<questions::OffloadingDecision> =
                convert::offloading(seen, |seen| instance.call(function, (seen,)))?;
            answer.map(convert::offloading_decision).map(Decision::Offloading)
        }
        PolicyQuery::Splitting(seen) => {
            let answer: Option<questions::SplitDecision> =
                convert::splitting(seen, |seen| instance.call(function, (seen,)))?;
            answer.map(convert::split_decision).map(Decision::Splitting)
        }
        PolicyQuery::Budgeting(seen) => {
            let answer: Option<questions::TurnBudget> =
                convert::budgeting(seen, |seen| instance.call(function, (seen,)))?;
            answer.map(convert::turn_budget).map(Decision::Budgeting)
        }
        PolicyQuery::Prompting(seen) => {
            let answer: Option<questions::Prompt> =
                convert::handoff(seen, |seen| instance.call(function, (seen,)))?;
            answer.map(convert::brief).transpose()?.map(Decision::Prompting)
        }
        PolicyQuery::Handoff(seen) => {
            let answer: Option<questions::Composition> =
                convert::handoff(seen, |seen| instance.call(function, (seen,)))?;
            answer.map(convert::composition).transpose()?.map(Decision::Handoff)
        }
        PolicyQuery::Review(seen) => {
            let answer: Option<questions::Review> =
                convert::review(seen, |seen| instance.call(function, (seen,)))?;
            answer.map(convert::review_result).map(Decision::Review)
        }
    })
}
