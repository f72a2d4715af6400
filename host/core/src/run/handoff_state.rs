//! A handoff while it is written: what the host found of it, and why it was refused.

use crate::decision::{Finding, Staleness};
use crate::text::TextBlob;
use crate::view::{HandoffRepair, ReviewSummary};

/// What the host found when it held a document to the world.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HandoffCheck {
    pub(super) missing_files: Vec<String>,
    pub(super) secrets: Vec<String>,
    pub(super) commits_since: u32,
    pub(super) diverged: bool,
}

/// Why a document was refused: the review, and what could not even be asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HandoffRefusal {
    pub(super) review: ReviewSummary,
    /// The document was read at all, so that its score means something.
    pub(super) scored: bool,
}

/// A handoff under way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PendingHandoff {
    /// Where it will lie.
    pub(super) path: String,
    pub(super) document: TextBlob,
    pub(super) index: TextBlob,
    pub(super) left_out: Vec<String>,
    pub(super) lead: bool,
    pub(super) repair: HandoffRepair,
    pub(super) refused: Option<HandoffRefusal>,
    pub(super) review: Option<ReviewSummary>,
    pub(super) found: HandoffCheck,
}

impl PendingHandoff {
    /// The host's own words, which are not reviewed.
    pub(super) fn plain(path: String, document: TextBlob, index: TextBlob) -> Self {
        Self {
            path,
            document,
            index,
            left_out: Vec::new(),
            lead: false,
            repair: HandoffRepair::None,
            refused: None,
            review: None,
            found: HandoffCheck::default(),
        }
    }
}

impl HandoffRefusal {
    /// Without a review that read it.
    pub(super) fn without_review(why: &str) -> Self {
        let finding = Finding { cost: 100, line: None, text: why.to_owned() };
        let review = ReviewSummary {
            score: 0,
            accepted: false,
            findings: vec![finding],
            staleness: Staleness::Fresh,
            by: None,
        };
        Self { review, scored: false }
    }
}
