//! Chance for a simulated world. Each random quantity has its own stream, named by its subject: the difficulty of an objective
//! is the same in every arm of one seed, regardless of the arm's other events (common random numbers).
//!
//! The same seed gives the same numbers on every machine whose `f64` logarithms agree.

use std::f64::consts::TAU;

use baton_core::{Digest, DurationMs};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

/// A stream of chance.
#[derive(Debug)]
pub(super) struct SimRng(ChaCha8Rng);

impl SimRng {
    /// The stream of one concern about one thing.
    pub(super) fn of(seed: u64, concern: &str, about: &str) -> Self {
        let name = Digest::of(format!("baton simulate 1\n{seed}\n{concern}\n{about}"));
        let mut key = [0; 32];
        for (byte, pair) in key.iter_mut().zip(name.hex().as_bytes().chunks(2)) {
            *byte = hex(pair[0]) << 4 | hex(pair[1]);
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// From 0 to 1, without 1.
    pub(super) fn uniform(&mut self) -> f64 {
        (self.0.random::<u64>() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True in this share of the cases. Takes one number from the stream for every share.
    pub(super) fn chance(&mut self, share: f64) -> bool {
        self.uniform() < share
    }

    /// Of the standard normal distribution (Box and Muller, 1958).
    pub(super) fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (TAU * angle).cos()
    }

    /// Lognormal, by its median and the standard deviation of its logarithm.
    pub(super) fn lognormal(&mut self, median: f64, spread: f64) -> f64 {
        median * (spread * self.normal()).exp()
    }

    /// The same as whole units, at least one.
    pub(super) fn amount(&mut self, median: f64, spread: f64) -> u64 {
        (self.lognormal(median, spread).round() as u64).max(1)
    }

    /// The same in seconds, as a span of time.
    pub(super) fn seconds(&mut self, median: f64, spread: f64) -> DurationMs {
        DurationMs((self.lognormal(median, spread) * 1000.0).round() as u64)
    }

    /// Time until the next event at an average rate of `per_hour` events an hour, in milliseconds.
    pub(super) fn next_event_ms(&mut self, per_hour: f64) -> f64 {
        -(1.0 - self.uniform()).ln() / per_hour * 3_600_000.0
    }

    /// A whole number with this mean: its whole part, and one more as often as its fraction says.
    pub(super) fn count(&mut self, mean: f64) -> u32 {
        let whole = mean.floor();
        whole as u32 + u32::from(self.chance(mean - whole))
    }

    /// The index of one of them, by weight; the first if all weights are 0.
    pub(super) fn by_weight(&mut self, weights: &[f64]) -> usize {
        let mut rest = self.uniform() * weights.iter().sum::<f64>();
        for (n, weight) in weights.iter().enumerate() {
            if rest < *weight {
                return n;
            }
            rest -= weight;
        }
        0
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => digit.wrapping_sub(b'a') + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_what_their_names_say() {
        let draw = |seed, concern, about| SimRng::of(seed, concern, about).uniform();
        assert_eq!(draw(1, "work", "a"), draw(1, "work", "a"));
        assert_ne!(draw(1, "work", "a"), draw(2, "work", "a"));
        assert_ne!(draw(1, "work", "a"), draw(1, "works", "a"));
        assert_ne!(draw(1, "work", "a"), draw(1, "work", "b"));
    }

    #[test]
    fn distributions_have_the_moments_that_they_say() {
        let mut rng = SimRng::of(7, "moments", "");
        let n = 20_000;
        let logs: Vec<f64> = (0..n).map(|_| rng.lognormal(100.0, 0.5).ln()).collect();
        let mean = logs.iter().sum::<f64>() / f64::from(n);
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / f64::from(n);
        // Five standard errors: 5·0.5/√20000 and 5·0.25·√(2/20000).
        assert!((mean - 100.0_f64.ln()).abs() < 0.018, "{mean}");
        assert!((variance - 0.25).abs() < 0.0125, "{variance}");
        let counted: u32 = (0..n).map(|_| rng.count(2.25)).sum();
        assert!((f64::from(counted as i32) / f64::from(n) - 2.25).abs() < 0.016, "{counted}");
        let third = (0..n).filter(|_| rng.by_weight(&[1.0, 0.0, 2.0]) == 2).count();
        assert!((third as f64 / f64::from(n) - 2.0 / 3.0).abs() < 0.017, "{third}");
        let hours = (0..n).map(|_| rng.next_event_ms(4.0)).sum::<f64>() / f64::from(n) / 3_600_000.0;
        assert!((hours - 0.25).abs() < 0.009, "{hours}");
    }
}
