//! Testing by betting, for values between known ends (win, tie, loss; done or not): a gambler who cannot win money if the mean
//! is what the null says bets on every value, and being rich is evidence. Exact at any time and for any number of units, also
//! for rare events, for which the asymptotic sequence has too little data.
//!
//! I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", JRSS B 86 (2024), arXiv 2010.09686:
//! the hedged capital process with predictable plug-in bets.

use serde::{Deserialize, Serialize};

use super::preconditions::{finite, level};
use super::sequential::SequencePoint;
use super::{ArmSide, Estimate, InsufficientData, MethodResult, StatsError};

/// The part of the wealth that is at stake at most: a half, so that no single value can ruin.
const AT_STAKE: f64 = 0.5;

/// Cells of the grid on which the interval is searched; its ends are as exact as a cell, and rounded outwards.
const CELLS: u16 = 1000;

/// The bets: λ_t = √(2 ln(2/α) / (σ²_{t−1} t ln(1 + t))), from the values before t.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BettingFractions {
    twice_ln: f64,
    t: f64,
    sum: f64,
    deviations: f64,
}

impl BettingFractions {
    fn new(alpha: f64) -> MethodResult<BettingFractions> {
        let twice_ln = 2.0 * (2.0 / level("alpha", alpha)?).ln();
        Ok(BettingFractions { twice_ln, t: 0.0, sum: 0.5, deviations: 0.25 })
    }

    /// The bet on the next value; the value itself only affects later bets.
    fn next(&mut self, value: f64) -> MethodResult<f64> {
        finite("a value", value)?;
        if !(0.0..=1.0).contains(&value) {
            return Err(StatsError::OutOfRange { what: "a value", value, must: "from 0 to 1" });
        }
        let variance = self.deviations / (self.t + 1.0);
        self.t += 1.0;
        let bet = (self.twice_ln / (variance * self.t * self.t.ln_1p())).sqrt();
        self.sum += value;
        self.deviations += (value - self.sum / (self.t + 1.0)).powi(2);
        Ok(bet)
    }
}

/// The wealth of two gamblers, one who bets on more than the null's mean and one who bets on less, each with half of the money.
#[derive(Clone, Copy, Debug, PartialEq)]
struct BettingCapital {
    ln_more: f64,
    ln_less: f64,
}

impl BettingCapital {
    const START: BettingCapital = BettingCapital { ln_more: 0.0, ln_less: 0.0 };

    fn take(&mut self, value: f64, bet: f64, mean: f64) {
        // At mean 0 or 1 the stake is not limited: the quotient is infinite, so the bet is not reduced.
        self.ln_more += (bet.min(AT_STAKE / mean) * (value - mean)).ln_1p();
        self.ln_less += (-bet.min(AT_STAKE / (1.0 - mean)) * (value - mean)).ln_1p();
    }

    /// ln of the larger of the two capitals, from which the paper's interval is made.
    fn ln_hedged(&self) -> f64 {
        self.ln_more.max(self.ln_less) - std::f64::consts::LN_2
    }
}

/// The evidence against one mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BettingMartingale {
    mean: f64,
    bets: BettingFractions,
    capital: BettingCapital,
    ln_peak: f64,
}

impl BettingMartingale {
    /// Against the mean `mean`, between 0 and 1; bets that do best at level `alpha`.
    pub fn new(mean: f64, alpha: f64) -> MethodResult<BettingMartingale> {
        level("the mean of the null", mean)?;
        Ok(BettingMartingale {
            mean,
            bets: BettingFractions::new(alpha)?,
            capital: BettingCapital::START,
            ln_peak: f64::NEG_INFINITY,
        })
    }

    /// Takes one value from 0 to 1.
    pub fn push(&mut self, value: f64) -> MethodResult<()> {
        let bet = self.bets.next(value)?;
        self.capital.take(value, bet, self.mean);
        self.ln_peak = self.ln_peak.max(self.capital.ln_hedged());
        Ok(())
    }

    /// Values so far.
    pub fn n(&self) -> u64 {
        self.bets.t as u64
    }

    /// ln of the hedged capital max(½K⁺, ½K⁻), of 1 put in: above ln(1/α), the mean is rejected at level α.
    pub fn ln_capital(&self) -> f64 {
        self.capital.ln_hedged()
    }

    /// The hedged capital.
    pub fn capital(&self) -> f64 {
        self.ln_capital().exp().min(f64::MAX)
    }

    /// ½K⁺ + ½K⁻: what both have. An e-value, 1 before the first value.
    pub fn e_value(&self) -> f64 {
        let both = 0.5 * self.capital.ln_more.exp() + 0.5 * self.capital.ln_less.exp();
        both.min(f64::MAX)
    }

    /// Level at which the mean was rejected so far: 1 / the largest capital there ever was.
    pub fn p(&self) -> f64 {
        (-self.ln_peak).exp().min(1.0)
    }

    /// Whether it was ever rejected at level `alpha`.
    pub fn rejects(&self, alpha: f64) -> bool {
        self.ln_peak > -alpha.ln()
    }
}

/// The means that are not rejected: the hedged confidence sequence.
#[derive(Clone, Debug, PartialEq)]
pub struct HedgedConfidenceSequence {
    bets: BettingFractions,
    ln_threshold: f64,
    cells: Vec<BettingCapital>,
    lower: f64,
    upper: f64,
    sum: f64,
}

impl HedgedConfidenceSequence {
    /// Wrong at most as often as `alpha`, over all time.
    pub fn new(alpha: f64) -> MethodResult<HedgedConfidenceSequence> {
        let cells = vec![BettingCapital::START; usize::from(CELLS) + 1];
        let ln_threshold = -level("alpha", alpha)?.ln();
        Ok(HedgedConfidenceSequence {
            bets: BettingFractions::new(alpha)?,
            ln_threshold,
            cells,
            lower: 0.0,
            upper: 1.0,
            sum: 0.0,
        })
    }

    /// Takes one value from 0 to 1.
    pub fn push(&mut self, value: f64) -> MethodResult<()> {
        let bet = self.bets.next(value)?;
        self.sum += value;
        let step = 1.0 / f64::from(CELLS);
        let (mut first, mut last) = (None, None);
        for (index, capital) in self.cells.iter_mut().enumerate() {
            let mean = index as f64 * step;
            capital.take(value, bet, mean);
            if capital.ln_hedged() <= self.ln_threshold {
                first.get_or_insert(mean);
                last = Some(mean);
            }
        }
        // If every mean is rejected, which is an error of the sequence itself, the interval does not change.
        if let (Some(first), Some(last)) = (first, last) {
            let (lower, upper) = (self.lower.max(first - step), self.upper.min(last + step));
            if lower <= upper {
                (self.lower, self.upper) = (lower, upper);
            }
        }
        Ok(())
    }

    /// Values so far.
    pub fn n(&self) -> u64 {
        self.bets.t as u64
    }

    /// The mean of the values; ½ before the first.
    pub fn mean(&self) -> f64 {
        if self.n() == 0 { 0.5 } else { self.sum / self.bets.t }
    }

    /// The interval, cut to what held before.
    pub fn interval(&self) -> (f64, f64) {
        (self.lower, self.upper)
    }
}

/// What a sequence of bounded values says of its mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BettingEstimate {
    /// Values.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// Lower end of the mean.
    pub lower: f64,
    /// Upper end of the mean.
    pub upper: f64,
    /// The hedged capital against the null after the last value.
    pub capital: f64,
    /// The e-value against the null after the last value.
    pub e_value: f64,
    /// Level against the null, at any time.
    pub p: f64,
    /// The first value at which the null was rejected, from 1.
    pub rejected_at: Option<u64>,
}

/// Bets on values from 0 to 1 against the mean `null`.
pub fn bet(values: &[f64], null: f64, alpha: f64) -> MethodResult<BettingEstimate> {
    let (mut martingale, mut hedged) =
        (BettingMartingale::new(null, alpha)?, HedgedConfidenceSequence::new(alpha)?);
    let mut rejected_at = None;
    for value in values {
        martingale.push(*value)?;
        hedged.push(*value)?;
        if rejected_at.is_none() && martingale.rejects(alpha) {
            rejected_at = Some(martingale.n());
        }
    }
    if values.is_empty() {
        return Err(InsufficientData::TooFew { side: ArmSide::Candidate, n: 0, needed: 1 }.into());
    }
    let (lower, upper) = hedged.interval();
    Ok(BettingEstimate {
        n: hedged.n(),
        mean: hedged.mean(),
        lower,
        upper,
        capital: martingale.capital(),
        e_value: martingale.e_value(),
        p: martingale.p(),
        rejected_at,
    })
}

/// Two arms, unit for unit in the order of their arrival.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TwoArmBettingEstimate {
    /// Pairs that were bet on.
    pub pairs: u64,
    /// Units without a counterpart yet.
    pub unmatched: u64,
    /// Difference of the means, in the unit of the values.
    pub estimate: Estimate,
    /// The same over time.
    pub path: Vec<SequencePoint>,
}

/// The difference of two means of values between `least` and `most`: the i-th unit of one arm meets the i-th of the other, and
/// ½ + (candidate − control) / (2 (most − least)) is bet on against ½. `points` is the largest number of points in the path.
pub fn two_arms(
    control: &[f64],
    candidate: &[f64],
    (least, most): (f64, f64),
    alpha: f64,
    points: usize,
) -> MethodResult<TwoArmBettingEstimate> {
    let range = finite("the range of the values", most - least)?;
    if range <= 0.0 {
        return Err(StatsError::OutOfRange {
            what: "the range of the values",
            value: range,
            must: "above 0",
        });
    }
    let pairs = control.len().min(candidate.len());
    if pairs == 0 {
        let side = if control.is_empty() { ArmSide::Control } else { ArmSide::Candidate };
        return Err(InsufficientData::TooFew { side, n: 0, needed: 1 }.into());
    }
    for value in control.iter().chain(candidate) {
        finite("a value", *value)?;
        if !(least..=most).contains(value) {
            return Err(StatsError::OutOfRange { what: "a value", value: *value, must: "within its range" });
        }
    }
    let (mut martingale, mut hedged) =
        (BettingMartingale::new(0.5, alpha)?, HedgedConfidenceSequence::new(alpha)?);
    let every = pairs.div_ceil(points.max(1));
    let of = |mean: f64| (2.0 * mean - 1.0) * range;
    let point = |hedged: &HedgedConfidenceSequence| {
        let (lower, upper) = hedged.interval();
        SequencePoint { n: 2 * hedged.n(), value: of(hedged.mean()), lower: of(lower), upper: of(upper) }
    };
    let mut path = Vec::new();
    for (index, (a, b)) in control.iter().zip(candidate).enumerate() {
        let value = (0.5 + (b - a) / (2.0 * range)).clamp(0.0, 1.0);
        martingale.push(value)?;
        hedged.push(value)?;
        if (pairs - 1 - index).is_multiple_of(every) {
            path.push(point(&hedged));
        }
    }
    let SequencePoint { n, value, lower, upper } = point(&hedged);
    let estimate = Estimate::new(n, value, [lower, upper], martingale.p())?;
    let unmatched = control.len().abs_diff(candidate.len()) as u64;
    Ok(TwoArmBettingEstimate { pairs: pairs as u64, unmatched, estimate, path })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::approx::{near, same};

    /// Wins, ties and losses.
    const OUTCOMES: [f64; 20] =
        [1.0, 0.0, 1.0, 1.0, 0.5, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0];

    #[test]
    fn known_answers() {
        let found = bet(&OUTCOMES, 0.5, 0.05).unwrap();
        near(found.capital, 27.022028, 6);
        assert_eq!(found.rejected_at, Some(20));
        near(found.lower, 0.514, 9);
        near(found.upper, 0.962, 9);
        same(found.p, 1.0 / found.capital);
        near(bet(&OUTCOMES[..19], 0.5, 0.05).unwrap().capital, 18.18368008, 8);
    }

    #[test]
    fn the_gamblers_begin_with_one() {
        let martingale = BettingMartingale::new(0.3, 0.05).unwrap();
        assert_eq!((martingale.e_value(), martingale.p(), martingale.n()), (1.0, 1.0, 0));
        assert_eq!(martingale.capital(), 0.5);
    }

    #[test]
    fn no_single_value_ruins_or_breaks_the_gambler() {
        let mut hedged = HedgedConfidenceSequence::new(0.05).unwrap();
        let mut martingale = BettingMartingale::new(0.5, 0.05).unwrap();
        for value in std::iter::repeat_n(1.0, 5_000).chain(std::iter::repeat_n(0.0, 5_000)) {
            hedged.push(value).unwrap();
            martingale.push(value).unwrap();
            let (lower, upper) = hedged.interval();
            assert!(lower <= upper && martingale.ln_capital().is_finite());
        }
        assert!(martingale.capital().is_finite() && martingale.p() >= 0.0);
    }

    #[test]
    fn two_arms_meet_in_the_order_of_their_arrival() {
        let control = [0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0];
        let candidate = [1.0, 1.0, 1.0, 1.0, 1.0, 0.0];
        let found = two_arms(&control, &candidate, (0.0, 1.0), 0.05, 3).unwrap();
        assert_eq!((found.pairs, found.unmatched, found.estimate.n), (6, 2, 12));
        same(found.estimate.value, 0.5);
        assert_eq!(found.path.last().unwrap().n, 12);
        assert!(found.path.len() <= 3 && found.estimate.lower < 0.5 && found.estimate.upper > 0.5);
        // The same in other units.
        let times = |values: &[f64]| values.iter().map(|value| value * 10.0 - 5.0).collect::<Vec<_>>();
        let scaled = two_arms(&times(&control), &times(&candidate), (-5.0, 5.0), 0.05, 3).unwrap();
        same(scaled.estimate.value, 5.0);
        same(scaled.estimate.upper, 10.0 * found.estimate.upper);
        same(scaled.estimate.p, found.estimate.p);
    }

    #[test]
    fn values_beyond_their_ends_are_refused() {
        assert!(matches!(bet(&[1.5], 0.5, 0.05), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(bet(&[f64::NAN], 0.5, 0.05), Err(StatsError::NotFinite { .. })));
        assert!(bet(&[], 0.5, 0.05).unwrap_err().not_yet().is_some());
        assert!(matches!(bet(&[1.0], 1.0, 0.05), Err(StatsError::OutOfRange { .. })));
        assert!(matches!(bet(&[1.0], 0.5, 0.0), Err(StatsError::OutOfRange { .. })));
        let found = two_arms(&[1.0], &[2.0], (0.0, 1.0), 0.05, 10);
        assert!(matches!(found, Err(StatsError::OutOfRange { .. })));
        assert!(two_arms(&[1.0], &[1.0], (1.0, 1.0), 0.05, 10).is_err());
        assert!(two_arms(&[], &[1.0], (0.0, 1.0), 0.05, 10).unwrap_err().not_yet().is_some());
    }
}
