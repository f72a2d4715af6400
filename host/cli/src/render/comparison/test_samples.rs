//! Sample comparisons for the tests of text, JSON and page. Used only by tests.

use baton_lab::compare::{
    AnalysisSchedule, ArmSample, CompareOptions, Comparison, ComparisonDesign, InvalidUnit, compare,
};
use baton_lab::run_metrics::{PolicyCounts, PolicyFailures, RunMetrics, RunResult};
use baton_runtime::core::observation::Capability;
use baton_runtime::core::{Digest, RunId, UnixMs};

/// How the runs of an arm are to come out.
#[derive(Clone, Copy)]
struct SampleArmShape {
    /// Chance of each of six objectives, in hundredths.
    done: u64,
    /// Tokens of a run, about.
    tokens: u64,
    wasted_turns: u64,
}

const CONTROL: SampleArmShape = SampleArmShape { done: 80, tokens: 210_000, wasted_turns: 4 };

/// SplitMix64: always the same numbers, on every machine.
fn split_mix(of: u64) -> u64 {
    let mut z = of.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn run(arm: &str, index: u64, seed: u64, kind: SampleArmShape) -> RunMetrics {
    let roll = |what: u64, below: u64| split_mix(seed ^ (index << 20) ^ (what << 40)) % below;
    let completed = (0..6).filter(|objective| roll(*objective, 100) < kind.done).count() as u32;
    RunMetrics {
        run: RunId::new(format!("{arm}-{index}")),
        workflow: "backlog".to_owned(),
        task: Digest::of(format!("task {index}")),
        assignments: Vec::new(),
        started_at: UnixMs(1_770_892_200_000 + index * 60_000),
        standing: if completed == 6 { RunResult::Done } else { RunResult::Unfinished },
        objectives: 6,
        checkable: 6,
        completed,
        claimed: 0,
        tokens: kind.tokens * (60 + roll(10, 80)) / 100,
        cost_microusd: None,
        active_ms: 600_000 + roll(11, 900_000),
        quota_wait_ms: 0,
        turns: 40,
        wasted_turns: roll(12, 2 * kind.wasted_turns + 1) as u32,
        sessions: 3,
        handoffs: roll(13, 3) as u32,
        compactions: 0,
        splits: 0,
        rework_files: roll(14, 4) as u32,
        exhaustions: 0,
        missed: 0,
        false_alarms: 0,
        lead_turns: Vec::new(),
        retries: 0,
        decisions: 12,
        faults: u64::from(roll(15, 100) == 0),
        timeouts: 0,
        policies: vec![PolicyCounts {
            component: Digest::of(arm),
            settings: None,
            decision: Capability::Splitting,
            arm: Some(String::new()),
            decided: 12,
            abstained: 0,
            failures: PolicyFailures::default(),
        }],
        swapped: false,
    }
}

fn arm(name: &str, policy: &str, runs: u64, seed: u64, kind: SampleArmShape) -> ArmSample {
    ArmSample {
        arm: name.to_owned(),
        policy: policy.to_owned(),
        component: Some(Digest::of(name)),
        weight: 50.0,
        measures: (0..runs).map(|index| run(name, index, seed, kind)).collect(),
        invalid: Vec::new(),
    }
}

fn options() -> CompareOptions {
    CompareOptions { title: "split-v2".to_owned(), ..CompareOptions::default() }
}

/// One arm finishes more, for more tokens; some runs are not over, and one is lost.
pub(super) fn trade_off() -> Comparison {
    let control = arm("control", "resilience", 240, 1, CONTROL);
    let eager = SampleArmShape { done: 88, tokens: 270_000, wasted_turns: 2 };
    let mut eager = arm("eager", "eager-splitter", 236, 2, eager);
    eager.measures[235].standing = RunResult::Running;
    eager.measures[234].standing = RunResult::Waiting;
    eager.measures[0].swapped = true;
    eager.measures[7].policies.clear();
    let reason = "its journal is damaged at entry 41".to_owned();
    eager.invalid.push(InvalidUnit { unit: "eager-300".to_owned(), reason });
    compare(&[control, eager], &options())
}

/// Three arms that do not differ.
pub(super) fn three() -> Comparison {
    let arms = [
        arm("control", "resilience", 90, 3, CONTROL),
        arm("eager", "eager-splitter", 88, 4, CONTROL),
        arm("calm", "conservative-splitter", 93, 5, CONTROL),
    ];
    compare(&arms, &options())
}

/// Hardly begun.
pub(super) fn early() -> Comparison {
    compare(
        &[arm("control", "resilience", 8, 6, CONTROL), arm("eager", "eager-splitter", 7, 7, CONTROL)],
        &options(),
    )
}

/// The randomiser is broken.
pub(super) fn broken() -> Comparison {
    let arms =
        [arm("control", "resilience", 300, 8, CONTROL), arm("eager", "eager-splitter", 150, 9, CONTROL)];
    compare(&arms, &options())
}

/// A simulation: the same seeds for both.
pub(super) fn simulated() -> Comparison {
    let better = SampleArmShape { done: 86, ..CONTROL };
    let arms =
        [arm("control", "resilience", 400, 10, CONTROL), arm("eager", "eager-splitter", 400, 10, better)];
    let options = CompareOptions {
        design: ComparisonDesign::PairedBySeed,
        looks: AnalysisSchedule::Once,
        randomised: false,
        ..options()
    };
    compare(&arms, &options)
}

/// Names as users may have them.
pub(super) fn named(title: &str, name: &str, policy: &str, reason: &str) -> Comparison {
    let mut other = arm("other", policy, 25, 11, CONTROL);
    name.clone_into(&mut other.arm);
    other.invalid.push(InvalidUnit { unit: name.to_owned(), reason: reason.to_owned() });
    compare(
        &[arm("control", policy, 25, 12, CONTROL), other],
        &CompareOptions { title: title.to_owned(), ..options() },
    )
}
