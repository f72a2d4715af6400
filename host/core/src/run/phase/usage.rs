//! What a phase has used of time, tokens and money, and what it waited for.

use std::collections::VecDeque;

use crate::facts::TokenUsage;
use crate::observation::PastWait;

use super::super::stopwatch::Stopwatch;

/// What a phase has used, and its waits for a provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct PhaseUsage {
    pub(in crate::run) billed: TokenUsage,
    pub(in crate::run) clock: Stopwatch,
    /// How often each ceiling was raised by a person.
    pub(in crate::run) ceiling_raises: u32,
    /// Waits for a provider since its agent last answered.
    pub(in crate::run) quota_waits: u32,
    /// Its waits for a provider that are over, oldest first.
    pub(in crate::run) past_waits: VecDeque<PastWait>,
}
