//! What the agents of a phase recorded for those that come after them, and what the host saw them do.

use std::collections::VecDeque;

use crate::observation::Attempt;

use super::super::phase_activity::PhaseActivity;

/// Attempts, decisions, gotchas and patterns of a phase that are kept, each. All of them reach the facts beside a handoff; a phase
/// that records more has an agent in a loop. The oldest then go first, and are counted: the journal has every one.
const RECORDS: usize = 10_000;
/// All of their words together, for each kind: what no successor could read anyway (D1).
const RECORDS_BYTES: usize = 256 << 10;

/// The records of a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct PhaseRecords {
    pub(in crate::run) attempts: VecDeque<Attempt>,
    pub(in crate::run) decisions: VecDeque<Attempt>,
    pub(in crate::run) gotchas: VecDeque<String>,
    pub(in crate::run) patterns: VecDeque<String>,
    /// Records that were dropped for newer ones.
    pub(in crate::run) dropped: u32,
    /// What its agents did, as the host saw it.
    pub(in crate::run) activity: PhaseActivity,
}

impl PhaseRecords {
    /// An agent recorded something that a successor should know.
    pub(in crate::run) fn has_any(&self) -> bool {
        let pairs = [&self.attempts, &self.decisions];
        let lines = [&self.gotchas, &self.patterns];
        pairs.iter().any(|list| !list.is_empty()) || lines.iter().any(|list| !list.is_empty())
    }

    pub(in crate::run) fn add_attempt(&mut self, attempt: Attempt) {
        add(&mut self.attempts, attempt, &mut self.dropped);
    }

    pub(in crate::run) fn add_decision(&mut self, decision: Attempt) {
        add(&mut self.decisions, decision, &mut self.dropped);
    }

    pub(in crate::run) fn add_gotcha(&mut self, gotcha: String) {
        add(&mut self.gotchas, gotcha, &mut self.dropped);
    }

    pub(in crate::run) fn add_pattern(&mut self, pattern: String) {
        add(&mut self.patterns, pattern, &mut self.dropped);
    }

    /// Adds what another phase recorded.
    pub(in crate::run) fn add_all(&mut self, from: &PhaseRecords) {
        from.attempts.iter().for_each(|attempt| self.add_attempt(attempt.clone()));
        from.decisions.iter().for_each(|decision| self.add_decision(decision.clone()));
        from.gotchas.iter().for_each(|gotcha| self.add_gotcha(gotcha.clone()));
        from.patterns.iter().for_each(|pattern| self.add_pattern(pattern.clone()));
    }

    /// What a part of the phase begins with: the records, and nothing of what the host saw.
    pub(in crate::run) fn for_part(&self) -> Self {
        let Self { attempts, decisions, gotchas, patterns, .. } = self.clone();
        Self { attempts, decisions, gotchas, patterns, ..Self::default() }
    }
}

/// Appends to a list of records, and counts in `dropped` what had to go for it.
fn add<T: RecordSize>(list: &mut VecDeque<T>, entry: T, dropped: &mut u32) {
    if list.contains(&entry) {
        return;
    }
    let mut bytes = entry.bytes() + list.iter().map(RecordSize::bytes).sum::<usize>();
    while list.len() >= RECORDS || bytes > RECORDS_BYTES {
        let Some(oldest) = list.pop_front() else { break };
        bytes -= oldest.bytes();
        *dropped += 1;
    }
    list.push_back(entry);
}

/// A record, by what it weighs.
trait RecordSize: PartialEq {
    fn bytes(&self) -> usize;
}

impl RecordSize for Attempt {
    fn bytes(&self) -> usize {
        self.approach.len() + self.outcome.len()
    }
}

impl RecordSize for String {
    fn bytes(&self) -> usize {
        self.len()
    }
}
