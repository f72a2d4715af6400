//! Randomness by seed. The seeds are part of the claim.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};

/// Every gate runs over all of them: the first eight primes above a thousand.
pub(crate) const SEEDS: [u64; 8] = [1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049];

/// A stream of random numbers.
pub(crate) struct CalibrationRng(ChaCha8Rng);

impl CalibrationRng {
    pub(crate) fn new(seed: u64) -> CalibrationRng {
        CalibrationRng(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Whether something of this chance happens.
    pub(crate) fn happens(&mut self, chance: f64) -> bool {
        self.share() < chance
    }

    /// 1 with this chance, else 0.
    pub(crate) fn one(&mut self, chance: f64) -> f64 {
        f64::from(u8::from(self.happens(chance)))
    }

    /// Uniform in [0, 1).
    pub(crate) fn share(&mut self) -> f64 {
        self.0.random()
    }

    /// Normal, with mean 0 and variance 1 (Box, Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.share()).cos()
    }
}
