//! Four runs of each task: taken for independent, by task, and in pairs on the same task. And many questions at once.

use baton_lab::stats::clustered::{ClusterRow, means, robust};
use baton_lab::stats::fixed::WelchTest;
use baton_lab::stats::sequential::ConfidenceSequence;
use baton_lab::stats::{ArmSide, Moments, RunningMoments, holm};

use super::calibration_rng::CalibrationRng;
use super::claim::{AT_MOST_6, CalibrationCheck, RateClaim};
use super::shares::alarm;

/// Tasks an arm, runs a task, and the part of the variance that is between tasks.
const TASKS: u32 = 60;
const RUNS: u32 = 4;
const BETWEEN: f64 = 0.4;

pub(crate) fn gates() -> Vec<CalibrationCheck> {
    let gate = |what, claim, quick, full, world| CalibrationCheck { what, claim, quick, full, world };
    vec![
        gate(
            "A/A, 4 runs a task taken for independent, Welch's t at the end: an alarm (negative control)",
            RateClaim::Between(0.15, 0.25),
            2_000,
            20_000,
            |rng| {
                let rows = rows(rng);
                let arm = |side| {
                    let values: Vec<f64> =
                        rows.iter().filter(|row| row.side == side).map(|row| row.value).collect();
                    Moments::of(&values).unwrap()
                };
                alarm(WelchTest::default().two_sample(&arm(ArmSide::Control), &arm(ArmSide::Candidate)))
            },
        ),
        gate(
            "the same by task, Welch's t at the end: an alarm",
            RateClaim::AtMost(0.07),
            4_000,
            40_000,
            |rng| {
                let (control, candidate) = means(&rows(rng)).unwrap();
                alarm(WelchTest::default().two_sample(&control, &candidate))
            },
        ),
        gate("the same, variance of tasks (CR1): an alarm", RateClaim::AtMost(0.07), 4_000, 40_000, |rng| {
            alarm(robust(&rows(rng), 0.05, 20))
        }),
        gate(
            "A/A on the same tasks, confidence sequence of differences: an alarm",
            AT_MOST_6,
            1_000,
            20_000,
            |rng| {
                let mut differences = RunningMoments::default();
                (0..200).any(|_| {
                    let task = rng.normal();
                    let (a, b) = (task + 0.5 * rng.normal(), task + 0.5 * rng.normal());
                    differences.push(b - a).unwrap();
                    alarm(ConfidenceSequence::default().one_sample(&differences.moments()))
                })
            },
        ),
        gate(
            "five questions without an effect, Holm: any alarm",
            RateClaim::AtMost(0.06),
            20_000,
            100_000,
            |rng| {
                let levels: Vec<f64> = (0..5).map(|_| rng.share()).collect();
                holm::adjust(&levels).unwrap().iter().any(|level| *level <= 0.05)
            },
        ),
    ]
}

/// An A/A test in which each task is in one arm.
fn rows(rng: &mut CalibrationRng) -> Vec<ClusterRow<u32>> {
    let mut rows = Vec::new();
    for task in 0..2 * TASKS {
        let side = if task < TASKS { ArmSide::Control } else { ArmSide::Candidate };
        let of_task = BETWEEN.sqrt() * rng.normal();
        for _ in 0..RUNS {
            let value = of_task + (1.0 - BETWEEN).sqrt() * rng.normal();
            rows.push(ClusterRow { cluster: task, side, value });
        }
    }
    rows
}
