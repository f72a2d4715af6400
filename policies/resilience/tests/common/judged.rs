//! What the policy makes of a session by its three questions, put one after the other as the host does.

use baton_policy_resilience::Resilience;
use baton_sdk::exhaustion::{self, Observation, Quota};
use baton_sdk::prelude::*;
use baton_sdk::recovery::Action;

/// How a session is, and of a prompt that was answered, whether its objectives are done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    Healthy,
    Completed,
    Unfinished,
    HandedOff,
    Exhausted,
    Quota(Quota),
    TurnLimit,
    BudgetLimit,
    Truncated,
    Stalled,
    Interrupted,
    Unauthenticated,
    NeedsInput,
    Refused,
    Failed,
}

/// The three answers as one.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    /// Ids of the objectives that are done.
    #[allow(dead_code, reason = "not every test that has this file reads it")]
    pub(crate) done: Vec<String>,
    pub(crate) evidence: Vec<Evidence>,
    #[allow(dead_code, reason = "not every test that has this file reads it")]
    pub(crate) warning: Option<String>,
    /// What is done about it; to wait, where nothing has to be.
    pub(crate) recovery: Action,
    pub(crate) reason: String,
}

/// Asks about the session.
pub(crate) fn judge(host: &impl Host, session: Observation) -> Judged {
    let assessment = <Resilience as Exhaustion>::assess(host, session.clone()).unwrap();
    let warning = assessment.warning.clone();
    let completion = (assessment.verdict == exhaustion::Verdict::Answered).then(|| {
        let observation =
            completion::Observation { session: session.clone(), assessment: assessment.clone() };
        <Resilience as Completion>::decide(host, observation).unwrap()
    });
    let (evidence, reason) = match completion.clone() {
        Some(decision) => (decision.evidence, decision.reason),
        None => (assessment.evidence.clone(), assessment.reason.clone()),
    };
    let done = completion.as_ref().map(|decision| decision.done.clone()).unwrap_or_default();
    let is_done = completion.as_ref().is_some_and(|decision| decision.done.len() == session.objectives.len());
    if is_done || assessment.verdict == exhaustion::Verdict::Healthy {
        let verdict = if is_done { Verdict::Completed } else { Verdict::Healthy };
        return Judged { verdict, done, evidence, warning, recovery: Action::Wait, reason };
    }
    let verdict = told(assessment.verdict);
    let observation =
        recovery::Observation { session, assessment, completion, other_roles: vec!["senior".into()] };
    let recovery = <Resilience as Recovery>::decide(host, observation).unwrap().action;
    Judged { verdict, done, evidence, warning, recovery, reason }
}

/// The verdict of a session that is not well, or whose prompt left something.
fn told(verdict: exhaustion::Verdict) -> Verdict {
    match verdict {
        exhaustion::Verdict::Healthy => Verdict::Healthy,
        exhaustion::Verdict::Answered => Verdict::Unfinished,
        exhaustion::Verdict::HandedOff => Verdict::HandedOff,
        exhaustion::Verdict::Exhausted => Verdict::Exhausted,
        exhaustion::Verdict::Quota(quota) => Verdict::Quota(quota),
        exhaustion::Verdict::TurnLimit => Verdict::TurnLimit,
        exhaustion::Verdict::BudgetLimit => Verdict::BudgetLimit,
        exhaustion::Verdict::Truncated => Verdict::Truncated,
        exhaustion::Verdict::Stalled => Verdict::Stalled,
        exhaustion::Verdict::Interrupted => Verdict::Interrupted,
        exhaustion::Verdict::Unauthenticated => Verdict::Unauthenticated,
        exhaustion::Verdict::NeedsInput => Verdict::NeedsInput,
        exhaustion::Verdict::Refused => Verdict::Refused,
        exhaustion::Verdict::Failed => Verdict::Failed,
    }
}
