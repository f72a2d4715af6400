//! The phases of a run, and the places that they have in it.

use std::ops::{Index, IndexMut};

use super::phase::Phase;

/// The place of a phase among the phases of its run. It holds until phases are put before it: what lasts longer keeps the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PhaseIndex(usize);

/// The phases of a run in the order of the workflow. What belongs to a phase comes after it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PhaseList {
    phases: Vec<Phase>,
}

impl PhaseIndex {
    /// The places from this one to the last, both of them included.
    pub(super) fn up_to(self, last: Self) -> impl Iterator<Item = Self> + use<> {
        (self.0..=last.0).map(Self)
    }
}

#[cfg(test)]
impl PhaseIndex {
    /// The n-th place, from 0.
    pub(super) const fn at(n: usize) -> Self {
        Self(n)
    }
}

impl PhaseList {
    pub(super) fn new(phases: Vec<Phase>) -> Self {
        Self { phases }
    }

    pub(super) fn len(&self) -> usize {
        self.phases.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.phases.is_empty()
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Phase> {
        self.phases.iter()
    }

    pub(super) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Phase> {
        self.phases.iter_mut()
    }

    pub(super) fn indices(&self) -> impl Iterator<Item = PhaseIndex> + use<> {
        (0..self.phases.len()).map(PhaseIndex)
    }

    pub(super) fn indexed(&self) -> impl Iterator<Item = (PhaseIndex, &Phase)> {
        self.phases.iter().enumerate().map(|(p, phase)| (PhaseIndex(p), phase))
    }

    /// The first phase of which this is true.
    pub(super) fn position(&self, is_it: impl FnMut(&Phase) -> bool) -> Option<PhaseIndex> {
        self.phases.iter().position(is_it).map(PhaseIndex)
    }

    /// The last phase of which this is true.
    pub(super) fn rposition(&self, is_it: impl FnMut(&Phase) -> bool) -> Option<PhaseIndex> {
        self.phases.iter().rposition(is_it).map(PhaseIndex)
    }

    /// The phases after this one; its parts are among them.
    pub(super) fn after_mut(&mut self, p: PhaseIndex) -> impl Iterator<Item = &mut Phase> {
        self.phases[p.0 + 1..].iter_mut()
    }

    /// Puts phases that belong to another after everything that belongs to it already.
    pub(super) fn insert_below(&mut self, p: PhaseIndex, below: impl IntoIterator<Item = Phase>) {
        let depth = self[p].lineage.depth;
        let after = self.phases[p.0 + 1..].iter().position(|phase| phase.lineage.depth <= depth);
        let at = after.map_or(self.phases.len(), |after| p.0 + 1 + after);
        self.phases.splice(at..at, below);
    }
}

impl Index<PhaseIndex> for PhaseList {
    type Output = Phase;

    fn index(&self, p: PhaseIndex) -> &Phase {
        &self.phases[p.0]
    }
}

impl IndexMut<PhaseIndex> for PhaseList {
    fn index_mut(&mut self, p: PhaseIndex) -> &mut Phase {
        &mut self.phases[p.0]
    }
}

impl<'a> IntoIterator for &'a PhaseList {
    type Item = &'a Phase;
    type IntoIter = std::slice::Iter<'a, Phase>;

    fn into_iter(self) -> Self::IntoIter {
        self.phases.iter()
    }
}

impl<'a> IntoIterator for &'a mut PhaseList {
    type Item = &'a mut Phase;
    type IntoIter = std::slice::IterMut<'a, Phase>;

    fn into_iter(self) -> Self::IntoIter {
        self.phases.iter_mut()
    }
}
