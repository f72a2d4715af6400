//! What was found out about a policy, and the report of it, bound to the digests of what was asked. Asks nothing.

use std::collections::BTreeMap;

use baton_core::Digest;
use baton_core::decision::{Decision, Fault};
use baton_core::observation::{PolicyQuery, PolicyRequest, QueryFacts};
use baton_engine::{DecisionLimits, Evaluation};
use serde::{Deserialize, Serialize};

use super::ConformancePlan;
use super::rules::{RULES, RuleResult};

/// What a policy was found to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConformanceReport {
    /// Digest of the component.
    pub component: Digest,
    /// Digest of its settings.
    pub settings: Digest,
    /// Digest of the engine: under another one it may use other fuel.
    pub engine: Digest,
    /// Of the questions.
    pub seed: u64,
    /// Questions that were to be put.
    pub wanted: u64,
    /// Questions that were put; fewer where too many were left unanswered.
    pub asked: u64,
    /// What had to hold.
    pub rules: Vec<RuleReport>,
    /// What was asked.
    pub functions: Vec<FunctionReport>,
    /// What one decision may use.
    pub limits: ReportedLimits,
}

impl ConformanceReport {
    /// It was asked everything and broke nothing.
    pub fn passed(&self) -> bool {
        self.broken().next().is_none() && self.asked == self.wanted
    }

    /// The functions of which it decided nothing: it abstained each time, so that no rule says anything of a decision.
    pub fn mute(&self) -> impl Iterator<Item = &FunctionReport> {
        self.functions.iter().filter(|function| function.abstained == function.questions)
    }

    /// The rules that say something of this policy.
    pub fn applied(&self) -> impl Iterator<Item = &RuleReport> {
        self.rules.iter().filter(|rule| rule.asked > 0)
    }

    /// The rules about its decisions that no answer was held to.
    pub fn untested(&self) -> impl Iterator<Item = &RuleReport> {
        self.rules.iter().filter(|rule| rule.untested)
    }

    /// The rules that it broke.
    pub fn broken(&self) -> impl Iterator<Item = &RuleReport> {
        self.rules.iter().filter(|rule| rule.broken > 0)
    }
}

/// A rule, and how often it was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleReport {
    /// For programs.
    pub name: String,
    /// The sentence that holds.
    pub says: String,
    /// What goes wrong where it does not.
    pub because: String,
    /// Answers that were held to it.
    pub asked: u64,
    /// Answers that broke it.
    pub broken: u64,
    /// It is about a decision of this policy, and no answer was held to it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untested: bool,
    /// The smallest question with such an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counterexample: Option<Counterexample>,
}

/// A function of the contract, and what answering it took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionReport {
    /// `interface.function`.
    pub function: String,
    /// Questions put, those that rules made of others included.
    pub questions: u64,
    /// How many of them it abstained from.
    #[serde(default)]
    pub abstained: u64,
    /// The most fuel that one took.
    pub worst_fuel: u64,
    /// Which question of the seed that was, or was made of.
    pub worst_question: u64,
}

/// What one decision may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedLimits {
    /// Fuel.
    pub fuel: u64,
    /// Linear memory.
    pub memory_bytes: u64,
    /// Bytes of one answer.
    pub output_bytes: u64,
    /// Wall time after which the host ends it.
    pub watchdog_ms: u64,
}

impl From<&DecisionLimits> for ReportedLimits {
    fn from(limits: &DecisionLimits) -> Self {
        let DecisionLimits { fuel, memory_bytes, output_bytes, watchdog_ms, .. } = *limits;
        Self { fuel, memory_bytes, output_bytes, watchdog_ms }
    }
}

/// A question whose answer broke a rule, with everything that is needed to put it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counterexample {
    /// Which question of the seed it is, or was made of.
    pub index: u64,
    /// How the rule was broken.
    pub why: String,
    /// The question.
    pub question: InlineQuestion,
    /// Its answer.
    pub answer: QuestionResult,
    /// The question that differs in one thing, where the rule compares two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<InlineQuestion>,
    /// The second answer, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub second_answer: Option<QuestionResult>,
}

impl Counterexample {
    pub(super) fn new(index: u64, why: String, question: &PolicyRequest, answer: &Evaluation) -> Self {
        let (question, answer) = (InlineQuestion::from(question), QuestionResult::from(answer));
        Self { index, why, question, answer, changed: None, second_answer: None }
    }

    pub(super) fn with_second_answer(mut self, changed: Option<&PolicyRequest>, second: &Evaluation) -> Self {
        self.changed = changed.map(InlineQuestion::from);
        self.second_answer = Some(QuestionResult::from(second));
        self
    }

    /// How much a person has to read.
    fn bytes(&self) -> usize {
        // A question is made of texts and numbers, which cannot fail to be written.
        serde_json::to_string(&self.question).map_or(usize::MAX, |text| text.len())
    }
}

/// A question with its texts in it: a [`PolicyRequest`] itself keeps them by reference alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InlineQuestion {
    /// What is asked.
    #[serde(rename = "ask")]
    pub query: PolicyQuery,
    /// The texts that it names.
    pub texts: Vec<String>,
    /// What the host knows beside it.
    #[serde(default)]
    pub facts: QueryFacts,
}

impl From<&PolicyRequest> for InlineQuestion {
    fn from(question: &PolicyRequest) -> Self {
        let texts = question.texts.iter().map(|text| text.body().unwrap_or_default().to_owned());
        Self { query: question.query.clone(), texts: texts.collect(), facts: question.facts.clone() }
    }
}

impl From<InlineQuestion> for PolicyRequest {
    fn from(kept: InlineQuestion) -> Self {
        let texts = kept.texts.into_iter().map(Into::into).collect();
        PolicyRequest { query: kept.query, texts, facts: kept.facts }
    }
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuestionResult {
    /// The decision; absent where it abstained or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
    /// What it took.
    pub fuel: u64,
}

impl From<&Evaluation> for QuestionResult {
    fn from(evaluation: &Evaluation) -> Self {
        let (decision, fault) = match evaluation.result.clone() {
            Ok(decision) => (decision, None),
            Err(fault) => (None, Some(fault)),
        };
        Self { decision, fault, fuel: evaluation.fuel }
    }
}

/// What was found so far. Two of them merge to the same whole in whichever order.
#[derive(Default)]
pub(super) struct ConformanceTally {
    asked: u64,
    pub(super) faults: u64,
    rules: BTreeMap<usize, RuleTally>,
    functions: BTreeMap<&'static str, FunctionTally>,
}

#[derive(Default)]
struct RuleTally {
    asked: u64,
    broken: u64,
    smallest_counterexample: Option<(usize, Counterexample)>,
}

#[derive(Clone, Copy)]
struct FunctionTally {
    questions: u64,
    abstained: u64,
    worst_fuel: u64,
    worst_question: u64,
}

impl FunctionTally {
    /// Of two that took as much, the earlier question counts.
    fn merge(&mut self, other: FunctionTally) {
        self.questions += other.questions;
        self.abstained += other.abstained;
        let worse = (other.worst_fuel, std::cmp::Reverse(other.worst_question))
            > (self.worst_fuel, std::cmp::Reverse(self.worst_question));
        if worse {
            (self.worst_fuel, self.worst_question) = (other.worst_fuel, other.worst_question);
        }
    }
}

impl RuleTally {
    fn keep_smallest(&mut self, bytes: usize, example: Counterexample) {
        let smaller = self
            .smallest_counterexample
            .as_ref()
            .is_none_or(|(most, kept)| (bytes, example.index) < (*most, kept.index));
        if smaller {
            self.smallest_counterexample = Some((bytes, example));
        }
    }
}

impl ConformanceTally {
    /// A question of the seed was put.
    pub(super) fn answered(&mut self, index: u64, question: &PolicyRequest, evaluation: &Evaluation) {
        self.asked += 1;
        self.faults += u64::from(evaluation.result.is_err());
        self.count_work(index, question, evaluation);
    }

    /// A question was put, of the seed or made of one.
    pub(super) fn count_work(&mut self, index: u64, question: &PolicyRequest, evaluation: &Evaluation) {
        let abstained = u64::from(matches!(evaluation.result, Ok(None)));
        let work =
            FunctionTally { questions: 1, abstained, worst_fuel: evaluation.fuel, worst_question: index };
        self.add_work(question.query.function(), work);
    }

    /// An answer was held to the rule at this place.
    pub(super) fn record_rule_result(
        &mut self,
        place: usize,
        held: RuleResult,
        example: impl FnOnce(String) -> Counterexample,
    ) {
        if held == RuleResult::NotApplicable {
            return;
        }
        let rule = self.rules.entry(place).or_default();
        rule.asked += 1;
        if let RuleResult::Violated(why) = held {
            rule.broken += 1;
            let example = example(why);
            rule.keep_smallest(example.bytes(), example);
        }
    }

    pub(super) fn merge(&mut self, other: ConformanceTally) {
        self.asked += other.asked;
        self.faults += other.faults;
        for (place, found) in other.rules {
            let rule = self.rules.entry(place).or_default();
            rule.asked += found.asked;
            rule.broken += found.broken;
            if let Some((bytes, example)) = found.smallest_counterexample {
                rule.keep_smallest(bytes, example);
            }
        }
        for (function, work) in other.functions {
            self.add_work(function, work);
        }
    }

    fn add_work(&mut self, function: &'static str, work: FunctionTally) {
        self.functions.entry(function).and_modify(|known| known.merge(work)).or_insert(work);
    }

    pub(super) fn into_report(
        mut self,
        plan: ConformancePlan,
        limits: ReportedLimits,
        component: &Digest,
        settings: &Digest,
        engine: &Digest,
    ) -> ConformanceReport {
        let rules = RULES.iter().enumerate().map(|(place, rule)| {
            let found = self.rules.remove(&place).unwrap_or_default();
            let concerns =
                rule.about.iter().any(|capability| self.functions.contains_key(capability.function()));
            RuleReport {
                name: rule.name.to_owned(),
                says: rule.says.to_owned(),
                because: rule.because.to_owned(),
                asked: found.asked,
                broken: found.broken,
                untested: concerns && found.asked == 0,
                counterexample: found.smallest_counterexample.map(|(_, example)| example),
            }
        });
        let functions = self.functions.iter().map(|(function, work)| FunctionReport {
            function: (*function).to_owned(),
            questions: work.questions,
            abstained: work.abstained,
            worst_fuel: work.worst_fuel,
            worst_question: work.worst_question,
        });
        ConformanceReport {
            component: component.clone(),
            settings: settings.clone(),
            engine: engine.clone(),
            seed: plan.seed,
            wanted: plan.questions,
            asked: self.asked,
            functions: functions.collect(),
            rules: rules.collect(),
            limits,
        }
    }
}
