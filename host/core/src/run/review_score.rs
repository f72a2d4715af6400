//! The score of a review.

/// What a reviewer said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReviewScore {
    pub(super) score: u32,
    pub(super) summary: String,
    pub(super) findings: Vec<String>,
}
