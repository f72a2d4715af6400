//! The reviews of a phase, and what it says itself as a review of another.

/// The reviews of a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct ReviewState {
    /// The workflow names no reviewer for it, and it is reviewed all the same (D12).
    pub(in crate::run) is_default: bool,
    /// What a person said to the question whether it is good enough, for the session that reviews it next.
    pub(in crate::run) instructions: String,
    /// What it was given by its own review.
    pub(in crate::run) score: Option<u32>,
    /// Reviews of it that ended without a score, one after the other.
    pub(in crate::run) without_score: u32,
    /// Reviews of it so far.
    pub(in crate::run) rounds: u32,
    /// What it says as a review of another.
    pub(in crate::run) submitted: Option<ReviewScore>,
}

/// What a reviewer said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::run) struct ReviewScore {
    pub(in crate::run) score: u32,
    pub(in crate::run) summary: String,
    pub(in crate::run) findings: Vec<String>,
}

impl ReviewState {
    /// The workflow does not name its reviewer, and no review has given it a score.
    pub(in crate::run) fn is_default_without_score(&self) -> bool {
        self.is_default && self.score.is_none()
    }

    /// A review gave it a score.
    pub(in crate::run) fn set_score(&mut self, score: u32) {
        (self.score, self.without_score) = (Some(score), 0);
    }

    /// A new walk of the loop of its phase: it was not reviewed yet.
    pub(in crate::run) fn reset_for_iteration(&mut self) {
        (self.rounds, self.score) = (0, None);
    }
}
