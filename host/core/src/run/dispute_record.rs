//! What speaks against an objective whose phase is over.

use crate::input::ReportedHandoff;

use super::phase::{ObjectiveIndex, ObjectiveReport};

/// What speaks against an objective of a phase that is over.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dispute {
    /// Index of the objective in its phase.
    pub(super) objective: ObjectiveIndex,
    /// In words for a person.
    pub(super) words: String,
    /// Absent where the disk says it.
    pub(super) reported: Option<ObjectiveReport>,
    /// A measurement at the end of the run found it: it holds until the next one.
    pub(super) is_from_last_measurement: bool,
    /// A person had accepted it, and what they accepted is gone: no agent does it again until they say so.
    pub(super) is_of_accepted_work: bool,
    /// The handoff of the same author that says it: the session that takes the objective up continues from there.
    pub(super) handoff: Option<ReportedHandoff>,
}
