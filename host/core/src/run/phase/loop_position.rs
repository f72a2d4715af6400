//! Which walk of its loop a phase is in (B10).

/// Which walk of its loop a phase is in.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run) struct LoopPosition {
    /// Which time the loop walks through it, from 1.
    pub(in crate::run) iteration: u32,
    /// Iterations before a person granted the loop a fresh start.
    pub(in crate::run) iterations_before_reset: u32,
    /// Sessions that the phase had when this iteration began.
    pub(in crate::run) sessions_before: usize,
}

impl LoopPosition {
    /// Before the loop was walked once.
    pub(in crate::run) fn first() -> Self {
        Self { iteration: 1, iterations_before_reset: 0, sessions_before: 0 }
    }

    /// Iterations that count against the bound of the loop.
    pub(in crate::run) fn iterations_counted(&self) -> u32 {
        self.iteration - self.iterations_before_reset
    }

    /// The next walk begins.
    pub(in crate::run) fn advance(&mut self, sessions: usize) {
        self.iteration += 1;
        self.sessions_before = sessions;
    }
}
