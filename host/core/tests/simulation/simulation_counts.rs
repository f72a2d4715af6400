//! Counts over many runs. Judges nothing but whether enough was seen.

/// Counts of observed events, so that a simulation that simulates nothing does not pass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SimulationCounts {
    pub(crate) runs: u64,
    pub(crate) inputs: u64,
    pub(crate) longest: u64,
    pub(crate) done: u64,
    pub(crate) unfinished: u64,
    pub(crate) paused: u64,
    pub(crate) crashes: u64,
    pub(crate) stops: u64,
    pub(crate) splits: u64,
    pub(crate) merged: u64,
    pub(crate) conflicts: u64,
    pub(crate) landed: u64,
    pub(crate) reviews: u64,
    pub(crate) iterations: u64,
    pub(crate) continuations: u64,
}

impl SimulationCounts {
    pub(crate) fn add(&mut self, other: &SimulationCounts) {
        self.longest = self.longest.max(other.longest);
        for (mine, more) in self.sums().into_iter().zip({ *other }.sums()) {
            *mine += *more;
        }
    }

    fn sums(&mut self) -> [&mut u64; 14] {
        [
            &mut self.runs,
            &mut self.inputs,
            &mut self.done,
            &mut self.unfinished,
            &mut self.paused,
            &mut self.crashes,
            &mut self.stops,
            &mut self.splits,
            &mut self.merged,
            &mut self.conflicts,
            &mut self.landed,
            &mut self.reviews,
            &mut self.iterations,
            &mut self.continuations,
        ]
    }

    /// Everything that can go wrong did, and often.
    pub(crate) fn has_seen_everything(mut self) {
        let often = self.runs / 100;
        assert!(self.sums().into_iter().all(|count| *count >= often), "{self:#?}");
    }
}
