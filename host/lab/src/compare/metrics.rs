//! What is looked at, and how each outcome is read off what a run came to. Compares nothing.

use super::{Better, MetricScale, Role};
use crate::measure::{Completion, Measures, Standing};

const MS_PER_MINUTE: f64 = 60_000.0;
const MICROUSD_PER_DOLLAR: f64 = 1e6;

/// An outcome, before any run.
#[derive(Clone, Copy)]
pub(super) struct Spec {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) better: Better,
    pub(super) role: Role,
    pub(super) scale: MetricScale,
    /// None where the run says nothing about it. Of a log ratio it is above 0.
    pub(super) value: fn(&Measures) -> Option<f64>,
}

pub(super) const OBJECTIVES: &str = "objectives";
pub(super) const TOKENS: &str = "tokens";

/// Every outcome, primary ones first.
pub(super) fn all(completion: Completion) -> impl Iterator<Item = Spec> {
    let objectives = Spec {
        id: OBJECTIVES,
        name: match completion {
            Completion::Checked => "Objectives completed and checked",
            Completion::Claimed => "Objectives claimed, none has a check",
            Completion::Mixed => "Objectives checked, or claimed without a check",
        },
        unit: "objectives a run",
        better: Better::Up,
        role: Role::Primary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.counted())),
    };
    std::iter::once(objectives).chain(OTHERS)
}

const OTHERS: [Spec; 13] = [
    Spec {
        id: TOKENS,
        name: "Tokens",
        unit: "tokens a run",
        better: Better::Down,
        role: Role::Primary,
        scale: MetricScale::LogRatio,
        value: |run| above_zero(run.tokens as f64),
    },
    Spec {
        id: "cost",
        name: "Cost",
        unit: "dollars a run",
        better: Better::Down,
        role: Role::Secondary,
        scale: MetricScale::LogRatio,
        value: |run| above_zero(run.cost_microusd? as f64 / MICROUSD_PER_DOLLAR),
    },
    Spec {
        id: "active-time",
        name: "Wall time without quota waits",
        unit: "minutes a run",
        better: Better::Down,
        role: Role::Secondary,
        scale: MetricScale::LogRatio,
        value: |run| above_zero(run.active_ms as f64 / MS_PER_MINUTE),
    },
    Spec {
        id: "wasted-turns",
        name: "Wasted turns",
        unit: "turns a run",
        better: Better::Down,
        role: Role::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.wasted_turns)),
    },
    Spec {
        id: "rework",
        name: "Rework",
        unit: "files a run",
        better: Better::Down,
        role: Role::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.rework_files)),
    },
    Spec {
        id: "exhaustions",
        name: "Exhausted contexts",
        unit: "sessions a run",
        better: Better::Down,
        role: Role::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.exhaustions)),
    },
    Spec {
        id: "missed",
        name: "Exhaustions nobody warned of",
        unit: "sessions a run",
        better: Better::Down,
        role: Role::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.missed)),
    },
    Spec {
        id: "false-alarms",
        name: "False alarms",
        unit: "sessions a run",
        better: Better::Down,
        role: Role::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.false_alarms)),
    },
    Spec {
        id: "lead",
        name: "Lead time of warnings",
        unit: "turns before exhaustion",
        better: Better::Up,
        role: Role::Secondary,
        scale: MetricScale::Mean,
        value: |run| {
            let turns: f64 = run.lead_turns.iter().map(|turns| f64::from(*turns)).sum();
            (!run.lead_turns.is_empty()).then(|| turns / run.lead_turns.len() as f64)
        },
    },
    Spec {
        id: "handoffs",
        name: "Handoffs",
        unit: "handoffs a run",
        better: Better::Neither,
        role: Role::Secondary,
        scale: MetricScale::Mean,
        value: |run| Some(f64::from(run.handoffs)),
    },
    Spec {
        id: "completion",
        name: "Runs with every objective done",
        unit: "of runs",
        better: Better::Up,
        role: Role::Guardrail,
        scale: MetricScale::Proportion,
        value: |run| Some(share_of_one(run.standing == Standing::Done)),
    },
    Spec {
        id: "faults",
        name: "Runs with a policy fault",
        unit: "of runs",
        better: Better::Down,
        role: Role::Guardrail,
        scale: MetricScale::Proportion,
        value: |run| Some(share_of_one(run.faults > 0)),
    },
    Spec {
        id: "timeouts",
        name: "Runs with a policy that ran out of time",
        unit: "of runs",
        better: Better::Down,
        role: Role::Guardrail,
        scale: MetricScale::Proportion,
        value: |run| Some(share_of_one(run.timeouts > 0)),
    },
];

fn share_of_one(is: bool) -> f64 {
    f64::from(u8::from(is))
}

/// A logarithm has to be taken of it: what is 0 was not measured.
fn above_zero(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}
