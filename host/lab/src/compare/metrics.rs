//! The metrics of a comparison, and how the value of each is taken from the measures of a run. Compares nothing.

use super::{BetterDirection, MetricRole, MetricScale};
use crate::run_metrics::{CompletionBasis, RunMetrics, RunResult};

const MS_PER_MINUTE: f64 = 60_000.0;
const MICROUSD_PER_DOLLAR: f64 = 1e6;

/// An outcome, before any run.
#[derive(Clone, Copy)]
pub(super) struct MetricSpec {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) better: BetterDirection,
    pub(super) role: MetricRole,
    pub(super) scale: MetricScale,
    /// None if the run has no value for this metric. For a log ratio it is above 0.
    pub(super) value: fn(&RunMetrics) -> Option<f64>,
}

pub(super) const OBJECTIVES: &str = "objectives";
pub(super) const TOKENS: &str = "tokens";

/// Every outcome, primary ones first.
pub(super) fn all(completion: CompletionBasis) -> impl Iterator<Item = MetricSpec> {
    let objectives = MetricSpec {
        id: OBJECTIVES,
        name: match completion {
            CompletionBasis::Checked => "Objectives completed and checked",
            CompletionBasis::Claimed => "Objectives claimed, none has a check",
            CompletionBasis::Mixed => "Objectives checked, or claimed without a check",
        },
        unit: "objectives a run",
        better: BetterDirection::Up,
        role: MetricRole::Primary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.counted())),
    };
    std::iter::once(objectives).chain(OTHERS)
}

const OTHERS: [MetricSpec; 13] = [
    MetricSpec {
        id: TOKENS,
        name: "Tokens",
        unit: "tokens a run",
        better: BetterDirection::Down,
        role: MetricRole::Primary,
        scale: MetricScale::LogRatio,
        value: |run| above_zero(run.tokens as f64),
    },
    MetricSpec {
        id: "cost",
        name: "Cost",
        unit: "dollars a run",
        better: BetterDirection::Down,
        role: MetricRole::Secondary,
        scale: MetricScale::LogRatio,
        value: |run| above_zero(run.cost_microusd? as f64 / MICROUSD_PER_DOLLAR),
    },
    MetricSpec {
        id: "active-time",
        name: "Wall time without quota waits",
        unit: "minutes a run",
        better: BetterDirection::Down,
        role: MetricRole::Secondary,
        scale: MetricScale::LogRatio,
        value: |run| above_zero(run.active_ms as f64 / MS_PER_MINUTE),
    },
    MetricSpec {
        id: "wasted-turns",
        name: "Wasted turns",
        unit: "turns a run",
        better: BetterDirection::Down,
        role: MetricRole::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.wasted_turns)),
    },
    MetricSpec {
        id: "rework",
        name: "Rework",
        unit: "files a run",
        better: BetterDirection::Down,
        role: MetricRole::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.rework_files)),
    },
    MetricSpec {
        id: "exhaustions",
        name: "Exhausted contexts",
        unit: "sessions a run",
        better: BetterDirection::Down,
        role: MetricRole::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.exhaustions)),
    },
    MetricSpec {
        id: "missed",
        name: "Exhaustions nobody warned of",
        unit: "sessions a run",
        better: BetterDirection::Down,
        role: MetricRole::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.missed)),
    },
    MetricSpec {
        id: "false-alarms",
        name: "False alarms",
        unit: "sessions a run",
        better: BetterDirection::Down,
        role: MetricRole::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.false_alarms)),
    },
    MetricSpec {
        id: "lead",
        name: "Lead time of warnings",
        unit: "turns before exhaustion",
        better: BetterDirection::Up,
        role: MetricRole::Secondary,
        scale: MetricScale::Mean,
        value: |run| {
            let turns: f64 = run.lead_turns.iter().map(|turns| f64::from(*turns)).sum();
            (!run.lead_turns.is_empty()).then(|| turns / run.lead_turns.len() as f64)
        },
    },
    MetricSpec {
        id: "handoffs",
        name: "Handoffs",
        unit: "handoffs a run",
        better: BetterDirection::Neither,
        role: MetricRole::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.handoffs)),
    },
    MetricSpec {
        id: "completion",
        name: "Runs with every objective done",
        unit: "of runs",
        better: BetterDirection::Up,
        role: MetricRole::Guardrail,
        scale: MetricScale::Proportion,
        value: |run| Some(share_of_one(run.standing == RunResult::Done)),
    },
    MetricSpec {
        id: "faults",
        name: "Runs with a policy fault",
        unit: "of runs",
        better: BetterDirection::Down,
        role: MetricRole::Guardrail,
        scale: MetricScale::Proportion,
        value: |run| Some(share_of_one(run.faults > 0)),
    },
    MetricSpec {
        id: "timeouts",
        name: "Runs with a policy that ran out of time",
        unit: "of runs",
        better: BetterDirection::Down,
        role: MetricRole::Guardrail,
        scale: MetricScale::Proportion,
        value: |run| Some(share_of_one(run.timeouts > 0)),
    },
];

fn share_of_one(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// The logarithm of the value is taken, so it must be above 0; 0 means not measured.
fn above_zero(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}
