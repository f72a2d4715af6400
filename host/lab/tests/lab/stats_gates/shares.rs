//! Two arms with a look after every pair, up to 200 units an arm: objectives done or not, and tokens as logarithms.

use baton_lab::stats::betting::BettingMartingale;
use baton_lab::stats::fixed::WelchTest;
use baton_lab::stats::mixture::bernoulli;
use baton_lab::stats::sequential::ConfidenceSequence;
use baton_lab::stats::{DataRequirements, EffectScale, Estimate, MethodResult, Moments, RunningMoments};

use super::calibration_rng::CalibrationRng;
use super::claim::{AT_MOST_6, CalibrationCheck, RateClaim};

/// Units an arm.
const UNITS: u64 = 200;
const ALPHA: f64 = 0.05;

pub(crate) fn gates() -> Vec<CalibrationCheck> {
    let gate = |what, claim, quick, full, world| CalibrationCheck { what, claim, quick, full, world };
    vec![
        gate(
            "A/A, Welch's t at every pair: an alarm (negative control)",
            RateClaim::AtLeast(0.15),
            400,
            8_000,
            |rng| seen_at_any_look(rng, 0.5, 0.5, |a, b| alarm(WelchTest::default().two_sample(a, b))),
        ),
        gate("A/A, confidence sequence at every pair: an alarm", AT_MOST_6, 2_000, 40_000, |rng| {
            seen_at_any_look(rng, 0.5, 0.5, |a, b| alarm(ConfidenceSequence::default().two_sample(a, b)))
        }),
        gate("A/A, betting at every pair: an alarm", AT_MOST_6, 2_000, 40_000, |rng| bets(rng, 0.5, 0.5)),
        gate("A/A of a rare event (5 %), confidence sequence: an alarm", AT_MOST_6, 1_000, 40_000, |rng| {
            seen_at_any_look(rng, 0.05, 0.05, |a, b| alarm(ConfidenceSequence::default().two_sample(a, b)))
        }),
        gate("A/A of a rare event (5 %), betting: an alarm", AT_MOST_6, 1_000, 40_000, |rng| {
            bets(rng, 0.05, 0.05)
        }),
        gate(
            "A/A, 10/90, rare event, no guard: an alarm (negative control)",
            RateClaim::AtLeast(0.25),
            1_000,
            20_000,
            |rng| tenth(rng, 0.05, DataRequirements::BARE),
        ),
        gate("A/A, 10/90, rare event, guarded: an alarm", AT_MOST_6, 1_000, 20_000, |rng| {
            tenth(rng, 0.05, DataRequirements::default())
        }),
        // The sequence is asymptotic, and the small arm is at its guard: about as bad as it gets.
        gate("A/A, 10/90, of 20 %, guarded: an alarm", RateClaim::AtMost(0.07), 4_000, 20_000, |rng| {
            tenth(rng, 0.2, DataRequirements::default())
        }),
        gate("A/A of log tokens, confidence sequence: an alarm", AT_MOST_6, 2_000, 40_000, |rng| {
            tokens(rng, 0.0)
        }),
        gate(
            "log tokens 1.3 times, confidence sequence: the truth is ever outside",
            AT_MOST_6,
            2_000,
            40_000,
            |rng| tokens(rng, 1.3_f64.ln()),
        ),
        gate(
            "43 % against 63 %, confidence sequence: the truth is ever outside",
            AT_MOST_6,
            2_000,
            40_000,
            |rng| {
                seen_at_any_look(rng, 0.43, 0.63, |a, b| {
                    misses(ConfidenceSequence::default().two_sample(a, b), 0.63 - 0.43)
                })
            },
        ),
        gate("the same, relative to control: the truth is ever outside", AT_MOST_6, 4_000, 40_000, |rng| {
            let relative =
                ConfidenceSequence { scale: EffectScale::Relative, ..ConfidenceSequence::default() };
            seen_at_any_look(rng, 0.43, 0.63, |a, b| misses(relative.two_sample(a, b), 0.63 / 0.43 - 1.0))
        }),
        gate("a mean of 30 %, betting: the truth is ever outside", AT_MOST_6, 2_000, 40_000, |rng| {
            let mut truth = BettingMartingale::new(0.3, ALPHA).unwrap();
            (0..UNITS).any(|_| {
                truth.push(rng.one(0.3)).unwrap();
                truth.rejects(ALPHA)
            })
        }),
        gate(
            "a share of 30 %, Bernoulli sequence, every 25th of 500: the truth is ever outside",
            AT_MOST_6,
            600,
            8_000,
            share,
        ),
        gate(
            "43 % against 63 %, confidence sequence: found",
            RateClaim::Between(0.87, 0.94),
            4_000,
            20_000,
            |rng| {
                seen_at_any_look(rng, 0.43, 0.63, |a, b| {
                    alarm(ConfidenceSequence::default().two_sample(a, b))
                })
            },
        ),
        gate("43 % against 63 %, betting: found", RateClaim::Between(0.76, 0.86), 4_000, 20_000, |rng| {
            bets(rng, 0.43, 0.63)
        }),
        gate(
            "43 % against 63 %, Welch's t at the end: found",
            RateClaim::AtLeast(0.96),
            4_000,
            20_000,
            |rng| at_the_end(rng, 0.43, 0.63),
        ),
        gate("A/A, Welch's t at the end: an alarm", RateClaim::AtMost(0.065), 8_000, 40_000, |rng| {
            at_the_end(rng, 0.5, 0.5)
        }),
    ]
}

/// Whether no effect is outside of the interval.
pub(crate) fn alarm(found: MethodResult<Estimate>) -> bool {
    misses(found, 0.0)
}

/// Whether the truth is outside of the interval; false if there is no estimate yet.
pub(crate) fn misses(found: MethodResult<Estimate>, truth: f64) -> bool {
    match found {
        Ok(found) => found.lower > truth || found.upper < truth,
        Err(error) => {
            assert!(error.not_yet().is_some(), "{error}");
            false
        }
    }
}

/// Whether something is seen at any pair.
fn seen_at_any_look(
    rng: &mut CalibrationRng,
    control: f64,
    candidate: f64,
    seen: impl Fn(&Moments, &Moments) -> bool,
) -> bool {
    let (mut a, mut b) = (RunningMoments::default(), RunningMoments::default());
    (0..UNITS).any(|_| {
        a.push(rng.one(control)).unwrap();
        b.push(rng.one(candidate)).unwrap();
        seen(&a.moments(), &b.moments())
    })
}

fn at_the_end(rng: &mut CalibrationRng, control: f64, candidate: f64) -> bool {
    let arm = |rng: &mut CalibrationRng, chance| (0..UNITS).filter(|_| rng.happens(chance)).count() as u64;
    let (control, candidate) = (arm(rng, control), arm(rng, candidate));
    let arm = |successes| Moments::of_proportion(successes, UNITS).unwrap();
    alarm(WelchTest::default().two_sample(&arm(control), &arm(candidate)))
}

/// Whether equal shares are ever rejected by betting on pairs.
fn bets(rng: &mut CalibrationRng, control: f64, candidate: f64) -> bool {
    let mut equal = BettingMartingale::new(0.5, ALPHA).unwrap();
    (0..UNITS).any(|_| {
        let (a, b) = (rng.one(control), rng.one(candidate));
        equal.push((1.0 + b - a) / 2.0).unwrap();
        equal.rejects(ALPHA)
    })
}

/// Whether equal shares ever look different if the candidate gets only a tenth of the units.
fn tenth(rng: &mut CalibrationRng, chance: f64, guard: DataRequirements) -> bool {
    let sequence = ConfidenceSequence { guard, ..ConfidenceSequence::default() };
    let (mut a, mut b) = (RunningMoments::default(), RunningMoments::default());
    (0..2 * UNITS).any(|_| {
        let arm = if rng.happens(0.1) { &mut b } else { &mut a };
        arm.push(rng.one(chance)).unwrap();
        alarm(sequence.two_sample(&a.moments(), &b.moments()))
    })
}

/// Whether the truth is ever outside of the interval of log tokens, which are as skewed as those of agents.
fn tokens(rng: &mut CalibrationRng, effect: f64) -> bool {
    const SPREAD: f64 = 0.8;
    let (mut a, mut b) = (RunningMoments::default(), RunningMoments::default());
    (0..UNITS).any(|_| {
        a.push(11.0 + SPREAD * rng.normal()).unwrap();
        b.push(11.0 + effect + SPREAD * rng.normal()).unwrap();
        misses(ConfidenceSequence::default().two_sample(&a.moments(), &b.moments()), effect)
    })
}

fn share(rng: &mut CalibrationRng) -> bool {
    let mut successes = 0;
    (1..=500_u64).any(|trials| {
        successes += u64::from(rng.happens(0.3));
        trials.is_multiple_of(25) && {
            let found = bernoulli(successes, trials, ALPHA, 100.0).unwrap();
            found.lower > 0.3 || found.upper < 0.3
        }
    })
}
