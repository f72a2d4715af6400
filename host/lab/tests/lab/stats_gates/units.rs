//! Who gets which arm: alarms of the sample ratio, for sound and for broken randomisers.

use baton_lab::stats::srm::{DEFAULT_ALPHA, chi_square, sequential};

use super::calibration_rng::CalibrationRng;
use super::claim::{CalibrationCheck, RateClaim};

/// Units of an experiment.
const UNITS: u64 = 1_000;

pub(crate) fn gates() -> Vec<CalibrationCheck> {
    let gate = |what, claim, quick, full, world| CalibrationCheck { what, claim, quick, full, world };
    vec![
        gate(
            "sample ratio 50/50 as claimed, e-value at every 20th of 1,000 units: an alarm",
            RateClaim::AtMost(0.0025),
            8_000,
            80_000,
            |rng| mismatch(rng, [0.5, 0.5], [0.5, 0.5], 20, UNITS),
        ),
        gate(
            "three arms 10/20/70 as claimed, likewise: an alarm",
            RateClaim::AtMost(0.0025),
            8_000,
            80_000,
            |rng| mismatch(rng, [0.1, 0.2, 0.7], [0.1, 0.2, 0.7], 20, UNITS),
        ),
        gate(
            "the same 50/50, χ² at 5 % at every 20th: an alarm (negative control)",
            RateClaim::AtLeast(0.15),
            1_000,
            20_000,
            |rng| {
                let mut counts = [0_u64; 2];
                (1..=UNITS).any(|unit| {
                    counts[usize::from(rng.happens(0.5))] += 1;
                    unit.is_multiple_of(20) && chi_square(&counts, &[0.5, 0.5]).unwrap().p < 0.05
                })
            },
        ),
        gate(
            "sample ratio 60/40 instead of 50/50: an alarm within 500 units",
            RateClaim::AtLeast(0.5),
            1_000,
            20_000,
            |rng| mismatch(rng, [0.6, 0.4], [0.5, 0.5], 1, 500),
        ),
        gate(
            "sample ratio 60/40 instead of 50/50: an alarm within 1,000 units",
            RateClaim::AtLeast(0.94),
            1_000,
            20_000,
            |rng| mismatch(rng, [0.6, 0.4], [0.5, 0.5], 20, UNITS),
        ),
    ]
}

/// Whether the alarm is ever raised, with a look after every `every` units.
fn mismatch<const ARMS: usize>(
    rng: &mut CalibrationRng,
    truth: [f64; ARMS],
    weights: [f64; ARMS],
    every: u64,
    units: u64,
) -> bool {
    let mut counts = [0_u64; ARMS];
    (1..=units).any(|unit| {
        let mut left = rng.share();
        let arm = truth.iter().position(|share| {
            left -= share;
            left < 0.0
        });
        counts[arm.unwrap_or(ARMS - 1)] += 1;
        unit.is_multiple_of(every) && sequential(&counts, &weights).unwrap().rejects(DEFAULT_ALPHA)
    })
}
