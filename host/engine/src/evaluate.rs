//! One question, one fresh instance, one answer or one fault. Who is asked next after a fault is the router's.

use baton_core::decision::{Decision, Fault};
use baton_core::observation::{Ask, Question};
use baton_core::{Digest, Text};
use std::sync::Arc;

use crate::convert;
use crate::exports::Exports;
use crate::instance::Instance;
use crate::limits::Limits;
use crate::settings::Configured;
use crate::shape;
use crate::state::LogLine;

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The answer, of a shape that the contract allows; core judges whether it makes sense. Or why there is none.
    pub result: Result<Decision, Fault>,
    /// Fuel used, the same for the same question under the same engine digest.
    pub fuel: u64,
    /// What the policy wrote, bounded.
    pub logs: Vec<LogLine>,
    /// Messages beyond the bound.
    pub logs_dropped: u32,
    /// The artifacts that it was shown, by name and digest; empty where it asked for none.
    pub artifacts: Vec<(String, Digest)>,
}

impl From<Fault> for Evaluation {
    fn from(fault: Fault) -> Self {
        Self { result: Err(fault), fuel: 0, logs: Vec::new(), logs_dropped: 0, artifacts: Vec::new() }
    }
}

impl Configured {
    /// Asks the policy. Waits while as many decisions are made as the engine allows at a time; blocks for the some
    /// µs a decision takes, and at most for the watchdog's limit.
    pub fn evaluate(&self, question: &Question) -> Evaluation {
        let policy = &*self.policy.0;
        if let Err(fault) = askable(question, policy.engine.limits()) {
            return fault.into();
        }
        let mut instance = match Instance::start(policy, question.texts.clone(), Arc::clone(&self.settings)) {
            Ok(instance) => instance,
            Err(fault) => {
                policy.share.set_back();
                return fault.into();
            }
        };
        let result = ask(&mut instance, &policy.exports, &question.ask).and_then(shape::check);
        let fuel = instance.fuel_used();
        let (log, artifacts) = instance.into_records();
        if result.is_err() {
            policy.share.set_back();
        }
        Evaluation { result, fuel, logs: log.lines, logs_dropped: log.dropped, artifacts }
    }
}

/// Whether a question can be put at all: every text it refers to is at hand, and all of them fit.
pub(crate) fn askable(question: &Question, limits: &Limits) -> Result<(), Fault> {
    let invalid = |message| Err(Fault::Invalid { message });
    if let Some(place) = question.texts.iter().position(|text| text.body().is_none()) {
        return invalid(format!("the question cannot be put: its text {place} is not at hand"));
    }
    let bytes = question.texts.iter().map(Text::len_bytes).fold(0, u64::saturating_add);
    if bytes > limits.input_bytes {
        let most = limits.input_bytes;
        return invalid(format!(
            "the question cannot be put: its texts have {bytes} bytes, at most {most} are read"
        ));
    }
    Ok(())
}

pub(crate) fn ask(instance: &mut Instance<'_>, exports: &Exports, ask: &Ask) -> Result<Decision, Fault> {
    let capability = ask.capability();
    let function = exports
        .answering(capability)
        .ok_or_else(|| Fault::Unloadable { message: format!("it does not export {}", capability.name()) })?;
    Ok(match ask {
        Ask::Assess(seen) => {
            let answer = convert::exhaustion(seen, |seen| instance.call(function, (seen,)))?;
            Decision::Assess(convert::assessment(answer))
        }
        Ask::Compaction(seen) => {
            let answer = convert::compaction(seen, |seen| instance.call(function, (seen,)))?;
            Decision::Compaction(convert::compaction_decision(answer))
        }
        Ask::Split(seen) => {
            let answer = convert::splitting(seen, |seen| instance.call(function, (seen,)))?;
            Decision::Split(convert::split_decision(answer))
        }
        Ask::Budget(seen, base_turns) => {
            let answer = convert::splitting(seen, |seen| instance.call(function, (seen, *base_turns)))?;
            Decision::Budget(convert::turn_budget(answer))
        }
        Ask::Brief(seen) => {
            let answer = convert::handoff(seen, |seen| instance.call(function, (seen,)))?;
            Decision::Brief(convert::brief(answer))
        }
        Ask::Compose(seen) => {
            let answer = convert::handoff(seen, |seen| instance.call(function, (seen,)))?;
            Decision::Compose(convert::composition(answer))
        }
        Ask::Review(seen) => {
            let answer = convert::review(seen, |seen| instance.call(function, (seen,)))?;
            Decision::Review(convert::review_result(answer))
        }
    })
}
