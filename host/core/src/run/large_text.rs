//! A large text that a prompt would embed, and the reference that stands in its place.

use crate::ids::ObjectiveId;
use crate::text::TextBlob;

/// A large text that the next prompt would embed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LargeText {
    pub(super) place: PromptPart,
    pub(super) text: TextBlob,
}

/// Where in the prompt it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PromptPart {
    Description(ObjectiveId),
    LastOutput,
    Findings,
}

/// What stands there instead.
pub(super) struct TextReference {
    pub(super) place: PromptPart,
    pub(super) words: String,
}
