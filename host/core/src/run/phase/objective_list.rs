//! The objectives of a phase, and the places that they have in it.

use std::ops::{Index, IndexMut};

use super::ObjectiveState;

/// The place of an objective among those of its phase. It is the same as long as the phase exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::run) struct ObjectiveIndex(usize);

/// The objectives of a phase, in the order of the workflow.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct ObjectiveList {
    objectives: Vec<ObjectiveState>,
}

impl ObjectiveIndex {
    /// The one objective of a phase that the host made.
    pub(in crate::run) const FIRST: Self = Self(0);

    #[cfg(test)]
    pub(in crate::run) const fn at(g: usize) -> Self {
        Self(g)
    }
}

impl ObjectiveList {
    pub(in crate::run) fn len(&self) -> usize {
        self.objectives.len()
    }

    pub(in crate::run) fn iter(&self) -> std::slice::Iter<'_, ObjectiveState> {
        self.objectives.iter()
    }

    pub(in crate::run) fn iter_mut(&mut self) -> std::slice::IterMut<'_, ObjectiveState> {
        self.objectives.iter_mut()
    }

    pub(in crate::run) fn indices(&self) -> impl DoubleEndedIterator<Item = ObjectiveIndex> + use<> {
        (0..self.objectives.len()).map(ObjectiveIndex)
    }

    pub(in crate::run) fn indexed(&self) -> impl Iterator<Item = (ObjectiveIndex, &ObjectiveState)> {
        self.objectives.iter().enumerate().map(|(g, objective)| (ObjectiveIndex(g), objective))
    }

    pub(in crate::run) fn indexed_mut(
        &mut self,
    ) -> impl Iterator<Item = (ObjectiveIndex, &mut ObjectiveState)> {
        self.objectives.iter_mut().enumerate().map(|(g, objective)| (ObjectiveIndex(g), objective))
    }

    /// The first objective of which this is true.
    pub(in crate::run) fn position(
        &self,
        is_it: impl FnMut(&ObjectiveState) -> bool,
    ) -> Option<ObjectiveIndex> {
        self.objectives.iter().position(is_it).map(ObjectiveIndex)
    }
}

impl FromIterator<ObjectiveState> for ObjectiveList {
    fn from_iter<I: IntoIterator<Item = ObjectiveState>>(objectives: I) -> Self {
        Self { objectives: objectives.into_iter().collect() }
    }
}

impl Index<ObjectiveIndex> for ObjectiveList {
    type Output = ObjectiveState;

    fn index(&self, g: ObjectiveIndex) -> &ObjectiveState {
        &self.objectives[g.0]
    }
}

impl IndexMut<ObjectiveIndex> for ObjectiveList {
    fn index_mut(&mut self, g: ObjectiveIndex) -> &mut ObjectiveState {
        &mut self.objectives[g.0]
    }
}

impl<'a> IntoIterator for &'a ObjectiveList {
    type Item = &'a ObjectiveState;
    type IntoIter = std::slice::Iter<'a, ObjectiveState>;

    fn into_iter(self) -> Self::IntoIter {
        self.objectives.iter()
    }
}

impl<'a> IntoIterator for &'a mut ObjectiveList {
    type Item = &'a mut ObjectiveState;
    type IntoIter = std::slice::IterMut<'a, ObjectiveState>;

    fn into_iter(self) -> Self::IntoIter {
        self.objectives.iter_mut()
    }
}
