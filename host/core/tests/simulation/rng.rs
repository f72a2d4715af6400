//! Chance from a seed: SplitMix64, written out so that a published seed always means the same run. Not for secrets.

/// A source of chance.
#[derive(Clone, Debug)]
pub(crate) struct SimulationRng(u64);

impl SimulationRng {
    /// The same numbers for the same seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Self(seed ^ 0x5851_f42d_4c95_7f2d);
        rng.next();
        rng
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from `from` to `to`, both included.
    pub(crate) fn within(&mut self, from: u64, to: u64) -> u64 {
        from + self.next() % (to - from + 1)
    }

    /// The same for counts.
    pub(crate) fn count(&mut self, from: u32, to: u32) -> u32 {
        self.within(from.into(), to.into()) as u32
    }

    /// True in this number of a hundred cases.
    pub(crate) fn percent(&mut self, chance: u32) -> bool {
        self.next() % 100 < u64::from(chance)
    }

    /// One of them.
    pub(crate) fn one_of<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[(self.next() % of.len() as u64) as usize]
    }

    /// The index of one of them, by weight.
    pub(crate) fn by_weight(&mut self, weights: &[u32]) -> usize {
        let mut rest = self.within(1, weights.iter().map(|weight| u64::from(*weight)).sum());
        for (i, weight) in weights.iter().enumerate() {
            if rest <= u64::from(*weight) {
                return i;
            }
            rest -= u64::from(*weight);
        }
        weights.len() - 1
    }
}
