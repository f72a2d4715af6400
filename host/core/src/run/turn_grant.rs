//! The turns that a phase was given.

use crate::facts::ChangedFile;

/// What is known of the turns that a phase was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TurnGrant {
    /// So many it began with.
    pub(super) first: u32,
    /// Objectives that were done when it was last given some.
    pub(super) done: u32,
    /// What was changed then.
    pub(super) changed: Vec<ChangedFile>,
    /// How often it was given some since anything moved.
    pub(super) idle: u32,
    /// Compactions of its session when it was last given some.
    pub(super) compactions: u32,
    /// Turns that were used when it was last refused more.
    pub(super) refused_at: Option<u32>,
}
