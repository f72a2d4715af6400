//! The turns of a phase: how many it may use, and what came of those that it was given.

use crate::facts::ChangedFile;

/// The turns of a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct PhaseTurns {
    /// Turns for the whole phase; 0 if unlimited.
    pub(in crate::run) max: u32,
    /// What came of the turns so far.
    pub(in crate::run) grant: TurnGrant,
    /// Turns by sessions that are gone.
    pub(in crate::run) before: u32,
    /// Turns that were used when a person granted the phase a fresh start.
    pub(in crate::run) before_reset: u32,
}

/// What is known of the turns that a phase was given.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct TurnGrant {
    /// The turns that it began with.
    pub(in crate::run) first: u32,
    /// Objectives that were done when it was last given some.
    pub(in crate::run) done: u32,
    /// What was changed then.
    pub(in crate::run) changed: Vec<ChangedFile>,
    /// How often it was given some since anything moved.
    pub(in crate::run) idle: u32,
    /// Compactions of its session when it was last given some.
    pub(in crate::run) compactions: u32,
    /// Turns that were used when it was last refused more.
    pub(in crate::run) refused_at: Option<u32>,
}

impl PhaseTurns {
    /// Turns as they are counted from the beginning of the phase; 0 for no cap.
    pub(in crate::run) fn in_all(&self) -> u32 {
        if self.max == 0 { 0 } else { self.max.saturating_add(self.before_reset) }
    }

    /// Of the turns that were used, those that count against the budget.
    pub(in crate::run) fn counted(&self, used: u32) -> u32 {
        used.saturating_sub(self.before_reset)
    }

    /// Whether the phase has no turns left after it has used these, which count against the budget.
    pub(in crate::run) fn are_used_up(&self, counted: u32) -> bool {
        self.max > 0 && counted >= self.max
    }

    /// The phase begins with these, or begins with them once more; `done` and `changed` are its state now.
    pub(in crate::run) fn begin_with(&mut self, turns: u32, done: u32, changed: Vec<ChangedFile>) {
        self.max = turns;
        self.grant = TurnGrant { first: turns, done, changed, ..TurnGrant::default() };
    }

    /// The phase may use this many in all. `idle` is how often it was given some since anything moved.
    pub(in crate::run) fn raise_to(&mut self, turns: u32, idle: u32, done: u32, changed: Vec<ChangedFile>) {
        self.max = turns;
        self.grant = TurnGrant { first: self.grant.first, idle, done, changed, ..TurnGrant::default() };
    }

    /// It gets no more, after it has used these.
    pub(in crate::run) fn refuse(&mut self, counted: u32) {
        self.grant.refused_at = Some(counted);
    }

    /// Whether it was refused more when it had used these.
    pub(in crate::run) fn is_refused(&self, counted: u32) -> bool {
        self.grant.refused_at == Some(counted)
    }
}
