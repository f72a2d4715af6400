//! From the outcomes of each arm's runs to a verdict with an advice. One value, [`Comparison`], has everything that a report
//! says, so that text, JSON and HTML cannot differ. Pure and deterministic: reads no journal, draws nothing, and does no
//! statistics of its own; those are in [`crate::stats`].
//!
//! Every effect is *candidate minus control*. Runs count for the arm that they were assigned to, however they ended (intention
//! to treat). An unfinished run is listed as not yet known, or counts with its values so far ([`CompareOptions::unfinished`]);
//! no run is dropped silently.

mod analysis;
mod arms;
mod effects;
mod mean_discrepancy;
mod metrics;
mod notes;
mod number_format;
mod options;
mod recommendation;
mod verdict;

use std::collections::BTreeMap;

use baton_core::Digest;
use serde::{Deserialize, Serialize};

pub use analysis::compare;
pub use options::{
    AnalysisSchedule, ArmSample, CompareOptions, ComparisonDesign, InvalidUnit, UnfinishedHandling,
};

use crate::run_metrics::{CompletionBasis, PolicyFailures, RunResult};
pub use crate::stats::sequential::SequencePoint;

/// Two arms or more, compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What was compared.
    pub title: String,
    /// What to do; of several candidates the one that there is most to say of.
    pub verdict: Recommendation,
    /// The verdict on each candidate, if the experiment has more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<Recommendation>,
    /// What objectives count: those that were checked, or, in a workflow without a check, those that were claimed.
    pub completion: CompletionBasis,
    /// How units were matched: independent, paired or clustered.
    pub design: ComparisonDesign,
    /// Whether anyone may look as often as they like.
    pub looks: AnalysisSchedule,
    /// False-positive rate.
    pub alpha: f64,
    /// The arms, control first.
    pub arms: Vec<ArmSummary>,
    /// Whether the arms got the shares that they were to get.
    pub allocation: Allocation,
    /// Whether outcomes are missing in one arm more than in another.
    pub attrition: Attrition,
    /// Primary outcomes, then secondary ones, then guardrails.
    pub metrics: Vec<Metric>,
    /// What must not get worse.
    pub guardrails: Vec<Guardrail>,
    /// What the pairing gained for each metric; empty in designs without pairs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairings: Vec<PairingGain>,
    /// What a reader has to know besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// The numbers cannot be read.
    StopBroken,
    /// The candidate is better.
    Ship,
    /// It is better in a simulation; no real run has shown that yet.
    Try,
    /// It is not.
    KeepControl,
    /// Nobody can say yet.
    KeepRunning,
}

impl Advice {
    /// In two or three words.
    pub const fn name(self) -> &'static str {
        match self {
            Advice::StopBroken => "stop: broken",
            Advice::Ship => "ship",
            Advice::Try => "try it",
            Advice::KeepControl => "keep control",
            Advice::KeepRunning => "keep running",
        }
    }
}

/// A decision, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recommendation {
    /// The candidate that the verdict is about; none if there is no candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// What to do.
    pub decision: Advice,
    /// Whole sentences; the first has the result.
    pub words: Vec<String>,
    /// Units, all arms together, that would probably settle it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_units: Option<u64>,
}

/// One arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmSummary {
    /// Its name.
    pub name: String,
    /// The policy that decides in it.
    pub policy: String,
    /// The component of that policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<Digest>,
    /// Its share of the units, of 1 together.
    pub share: f64,
    /// Units that got it.
    pub assigned: u64,
    /// Units that are over, or that count with their values so far.
    pub known: u64,
    /// Units whose outcome is not known yet.
    pub not_yet_known: u64,
    /// Units by status.
    pub standings: BTreeMap<RunResult, u64>,
    /// Ids of runs that wait for the user's answer, and have no outcome until they get it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<String>,
    /// Units that have no outcome and never will, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<InvalidUnit>,
    /// Objectives of the known units.
    pub objectives: u64,
    /// Those of them that are done and checked.
    pub checked: u64,
    /// Those of them that are done and were claimed only.
    pub claimed: u64,
    /// Units in which the component of the arm was asked at least once; none if the component is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exposed: Option<u64>,
    /// Questions that the component of the arm was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<u64>,
    /// Those of them that it decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided: Option<u64>,
    /// Questions that it did not answer; none if it answered all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<PolicyFailures>,
    /// Units whose policy the user changed during the run. They count all the same.
    pub swapped: u64,
}

/// A word that says how a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckResult {
    /// Nothing to see.
    Ok,
    /// Too little to say.
    TooEarly,
    /// It does not apply.
    NotChecked,
    /// Something is wrong.
    Alarm,
}

impl CheckResult {
    /// "no alarm", "too early", "not checked", "alarm".
    pub const fn name(self) -> &'static str {
        match self {
            CheckResult::Ok => "no alarm",
            CheckResult::TooEarly => "too early",
            CheckResult::NotChecked => "not checked",
            CheckResult::Alarm => "alarm",
        }
    }
}

/// Sample ratio mismatch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Allocation {
    /// How it came out.
    pub checked: CheckResult,
    /// In a sentence.
    pub words: String,
    /// Units of each arm, in its order.
    pub observed: Vec<u64>,
    /// Units that each arm was to get.
    pub expected: Vec<f64>,
    /// Level of the χ² test, for one look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chi_square_p: Option<f64>,
    /// ln of the evidence against the shares, for any number of looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ln_e_value: Option<f64>,
}

/// Whether outcomes are missing evenly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attrition {
    /// How it came out.
    pub checked: CheckResult,
    /// In a sentence.
    pub words: String,
}

/// What is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BetterDirection {
    /// More.
    Up,
    /// Less.
    Down,
    /// Neither in itself.
    Neither,
}

/// What a metric is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricRole {
    /// The verdict rests on it.
    Primary,
    /// It explains.
    Secondary,
    /// It must not get worse.
    Guardrail,
}

/// How an effect on a metric is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricScale {
    /// Difference of means, and as a share of the control's mean.
    Mean,
    /// Ratio of geometric means.
    LogRatio,
    /// Difference of shares, in points.
    Proportion,
}

/// An outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// A stable word for programs.
    pub id: String,
    /// What people read.
    pub name: String,
    /// Of the means: "objectives a run", "tokens a run". Shares are of 1.
    pub unit: String,
    /// What is better.
    pub better: BetterDirection,
    /// What it is for.
    pub role: MetricRole,
    /// How its effect is measured.
    pub scale: MetricScale,
    /// Each arm, in its order.
    pub arms: Vec<ArmValue>,
    /// Each candidate against control, in the order of the arms.
    pub effects: Vec<Effect>,
}

/// A metric in an arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArmValue {
    /// The arm.
    pub arm: String,
    /// Units with a value.
    pub n: u64,
    /// Their mean; of a log ratio the geometric one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Their standard deviation, in the unit of the mean; none of a log ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd: Option<f64>,
    /// Of a log ratio, the standard deviation of their natural logarithms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sd_log: Option<f64>,
}

/// A number with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfidenceInterval {
    /// The number.
    pub value: f64,
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
}

impl ConfidenceInterval {
    /// Whether no effect is outside of it.
    pub fn excludes_zero(&self) -> bool {
        self.lower > 0.0 || self.upper < 0.0
    }

    /// With every number changed alike, by something that grows.
    #[must_use]
    pub fn map(self, of: impl Fn(f64) -> f64) -> ConfidenceInterval {
        ConfidenceInterval { value: of(self.value), lower: of(self.lower), upper: of(self.upper) }
    }
}

/// A candidate against control, on one metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The candidate.
    pub arm: String,
    /// Units that the estimate rests on: of both arms, or pairs. 0 if there is no estimate.
    #[serde(default)]
    pub n: u64,
    /// By which method.
    pub method: String,
    /// In the unit of the metric; none of a log ratio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute: Option<ConfidenceInterval>,
    /// As a share of control: 0.06 is 6 % more. None of a proportion, nor where control has nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<ConfidenceInterval>,
    /// Level against no effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p: Option<f64>,
    /// The same, with all primary (or all secondary) outcomes of all candidates looked at at once (Holm).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p_adjusted: Option<f64>,
    /// Why there is no estimate yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_yet: Option<String>,
    /// Why there is no estimate, in cases in which more units like these would not give one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_judge: Option<String>,
    /// The interval as units came in, on the scale of `relative` if there is one, else of `absolute`. Primary outcomes only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<SequencePoint>,
}

impl Effect {
    /// The effect as it is shown: as a share of control if that can be computed, else in the metric's unit.
    pub fn shown(&self) -> Option<ConfidenceInterval> {
        self.relative.or(self.absolute)
    }
}

/// A guardrail, for one candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Guardrail {
    /// The metric.
    pub metric: String,
    /// The candidate.
    pub arm: String,
    /// How it came out.
    pub checked: CheckResult,
    /// In a sentence.
    pub words: String,
}

/// What pairs are worth: measured, not assumed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairingGain {
    /// The candidate.
    pub arm: String,
    /// The metric.
    pub metric: String,
    /// Pairs.
    pub pairs: u64,
    /// Correlation within the pairs; none if an arm does not vary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<f64>,
    /// How much of the variance of the effect the pairing takes away; below 0 it does harm.
    pub saving: f64,
}

#[cfg(test)]
mod tests;
