//! Checks a policy against the contract: puts generated questions to it and checks the answers against rules that hold for
//! every policy. A pass means that the policy keeps the contract, not that its decisions are good.
//!
//! | file | part |
//! |---|---|
//! | `conformance/generate.rs`, `conformance/views.rs`, `conformance/question_rng.rs` | the questions |
//! | `conformance/rules.rs`, `conformance/mutations.rs` | the rules that answers must keep |
//! | `conformance/report.rs` | the findings, and their report |

mod facts;
mod generate;
mod injected_text;
mod mutations;
mod question_rng;
mod report;
mod rules;
mod views;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering};

use baton_core::decision::Fault;
use baton_core::observation::{Capability, PolicyRequest};
use baton_engine::{ConfiguredPolicy, Engine, Evaluation};

use question_rng::QuestionRng;
use report::ConformanceTally;
pub use report::{
    ConformanceReport, Counterexample, FunctionReport, InlineQuestion, QuestionResult, ReportedLimits,
    RuleReport,
};
use rules::{RULES, RuleResult, RuleTest};

/// Enough for every rule to be asked some hundred times with every size and occasion, and done in a minute.
pub const QUESTIONS: u64 = 10_000;

/// Questions between two checks for the stop condition.
const ROUND: u64 = 64;

/// A policy with this many unanswered questions fails the check. Each of them may have used up its whole time limit, so no more
/// are put.
const FAULTS_ENOUGH: u64 = 20;

/// The sentence of a rule, by its name.
pub fn rule_says(name: &str) -> Option<&'static str> {
    RULES.iter().find(|rule| rule.name == name).map(|rule| rule.says)
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConformancePlan {
    /// The same seed gives the same questions.
    pub seed: u64,
    /// How many.
    pub questions: u64,
}

impl Default for ConformancePlan {
    fn default() -> Self {
        Self { seed: 1, questions: QUESTIONS }
    }
}

/// Asks a policy on one thread per core, and reports the rules that it broke. `progress` is called with the number of questions
/// put so far.
pub fn check(
    engine: &Engine,
    policy: &ConfiguredPolicy,
    plan: ConformancePlan,
    progress: impl FnMut(u64),
) -> ConformanceReport {
    let ask = |question: &PolicyRequest| policy.evaluate(question);
    let tally = check_with(&ask, policy.policy().decides(), plan, progress);
    tally.into_report(
        plan,
        ReportedLimits::from(policy.policy().limits()),
        policy.policy().digest(),
        policy.settings_digest(),
        engine.digest(),
    )
}

/// The policy that answers questions.
trait PolicyUnderTest: Fn(&PolicyRequest) -> Evaluation + Sync {}
impl<F: Fn(&PolicyRequest) -> Evaluation + Sync> PolicyUnderTest for F {}

/// The same for any [`PolicyUnderTest`]. The result depends on the answers alone, not on the timing of the threads.
fn check_with(
    ask: &impl PolicyUnderTest,
    decides: &[Capability],
    plan: ConformancePlan,
    mut progress: impl FnMut(u64),
) -> ConformanceTally {
    let mut tally = ConformanceTally::default();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut begin = 0;
    while begin < plan.questions && !decides.is_empty() && tally.faults < FAULTS_ENOUGH {
        let end = plan.questions.min(begin + ROUND);
        let next = &AtomicU64::new(begin);
        let work = || {
            let mut tally = ConformanceTally::default();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= end {
                    return tally;
                }
                ask_and_record(ask, plan.seed, index, decides, &mut tally);
            }
        };
        std::thread::scope(|scope| {
            let working: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            for worker in working {
                match worker.join() {
                    Ok(found) => tally.merge(found),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        begin = end;
        progress(begin);
    }
    tally
}

/// Puts one question, and those that the rules make of it.
fn ask_and_record(
    ask: &impl PolicyUnderTest,
    seed: u64,
    index: u64,
    decides: &[Capability],
    tally: &mut ConformanceTally,
) {
    let capability = decides[(index % decides.len() as u64) as usize];
    let question = generate::question(seed, index, capability);
    let first = ask(&question);
    tally.answered(index, &question, &first);
    for (place, rule) in RULES.iter().enumerate() {
        match &rule.test {
            RuleTest::One(holds) => {
                let held = holds(&question, &first.result);
                tally.record_rule_result(place, held, |why| {
                    Counterexample::new(index, why, &question, &first)
                });
            }
            // What the watchdog ended is the machine's doing as well, and takes its time.
            RuleTest::Repeat if matches!(first.result, Err(Fault::Watchdog { .. })) => {}
            RuleTest::Repeat => {
                let second = ask(&question);
                let held = same(&first, &second);
                tally.record_rule_result(place, held, |why| {
                    Counterexample::new(index, why, &question, &first).with_second_answer(None, &second)
                });
            }
            RuleTest::Changed { change, holds, counts_abstention } => {
                let Ok(before) = &first.result else { continue };
                let rng = &mut QuestionRng::new(seed, index, 1 + place as u64);
                let Some(changed) = change(&question, rng) else { continue };
                let second = ask(&changed);
                tally.count_work(index, &changed, &second);
                let held = match (before, &second.result) {
                    (Some(before), Ok(Some(after))) => holds(&changed, before, after),
                    (None, Ok(Some(_))) if *counts_abstention => {
                        RuleResult::Violated("it decides now, and abstained before".to_owned())
                    }
                    (Some(_), Ok(None)) if *counts_abstention => {
                        RuleResult::Violated("it abstains now, and decided before".to_owned())
                    }
                    (_, Ok(_)) => RuleResult::NotApplicable,
                    (_, Err(fault)) => RuleResult::Violated(format!("it was not decided: it {fault}")),
                };
                tally.record_rule_result(place, held, |why| {
                    Counterexample::new(index, why, &question, &first)
                        .with_second_answer(Some(&changed), &second)
                });
            }
        }
    }
}

fn same(first: &Evaluation, second: &Evaluation) -> RuleResult {
    if first.result != second.result {
        RuleResult::Violated("its decision is another one".to_owned())
    } else if first.fuel != second.fuel {
        RuleResult::Violated(format!("it used {} units of fuel, and then {}", first.fuel, second.fuel))
    } else {
        RuleResult::Holds
    }
}
