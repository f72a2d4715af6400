//! What a person accepted as it was: the files that the phase of an objective had changed when they did. If these are lost, they are asked
//! again (A11).

use std::collections::BTreeSet;

use crate::facts::WorkspaceFacts;

use super::phase::{ObjectiveIndex, ObjectiveState, Phase};

/// Files that a phase had changed when a person accepted an objective of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AcceptedFiles {
    /// Workspace-relative.
    named: BTreeSet<String>,
    /// There were more, which are only counted.
    has_more: bool,
    /// Those that were lost by then, as far as the host knew. The next measurement tells which of them are back.
    lost: BTreeSet<String>,
    /// The host knew of a loss, and has not measured the phase since.
    is_unseen: bool,
}

impl AcceptedFiles {
    /// Whether nothing that could be lost was accepted.
    pub(super) fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.has_more
    }

    /// Whether this file was accepted as it was. Of files that were only counted, each may be one.
    pub(super) fn may_include(&self, path: &str) -> bool {
        self.has_more || self.named.contains(path)
    }
}

/// Files of a phase that the host has not found since it was last measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct LostFiles {
    named: BTreeSet<String>,
    has_more: bool,
    /// A host said it that has the phase measured once a person has accepted the loss.
    is_measured_later: bool,
}

impl LostFiles {
    pub(super) fn add(&mut self, files: &[String], beyond: u32, is_measured_later: bool) {
        self.named.extend(files.iter().cloned());
        self.has_more |= beyond > 0;
        self.is_measured_later |= is_measured_later;
    }

    fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.has_more
    }

    fn may_include(&self, path: &str) -> bool {
        self.has_more || self.named.contains(path)
    }
}

impl ObjectiveState {
    /// A person accepted it after a loss, and the folder has not been measured since.
    pub(super) fn is_accepted_unseen(&self) -> bool {
        self.is_accepted() && self.accepted_files.is_unseen
    }
}

impl Phase {
    /// A person has accepted an objective as it is: with the files that the phase has changed for it, without those that are lost.
    pub(super) fn record_accepted_files(&mut self, g: ObjectiveIndex) {
        let lost = &self.measurements.past.lost_since;
        let earlier = self.measurements.past.iterations.iter().flat_map(|iteration| &iteration.files);
        let changed = self.changed_files().chain(earlier).map(|file| &file.path);
        let of_objective = changed.filter(|path| self.is_about(g, path));
        let (gone, named) = of_objective.cloned().partition(|path| lost.may_include(path));
        let takes_unnamed = self.objectives[g].spec.files.is_empty();
        let accepted = AcceptedFiles {
            named,
            has_more: takes_unnamed && self.measurements.facts.changed_beyond > 0 && lost.is_empty(),
            lost: gone,
            is_unseen: lost.is_measured_later,
        };
        self.objectives[g].accepted_files = accepted;
    }

    /// A measurement tells which of the lost files are back.
    pub(super) fn restore_accepted_files(&mut self, facts: &WorkspaceFacts) {
        for objective in &mut self.objectives {
            let accepted = &mut objective.accepted_files;
            let lost = std::mem::take(&mut accepted.lost);
            let is_back = |path: &String| facts.changed.iter().any(|file| file.path == *path);
            accepted.named.extend(lost.into_iter().filter(is_back));
            accepted.is_unseen = false;
        }
    }

    /// Whether a file that it changed is work on this objective: it names the file, or no objective does.
    fn is_about(&self, g: ObjectiveIndex, path: &String) -> bool {
        let names = |objective: &ObjectiveState| objective.spec.files.contains(path);
        let names_nothing = |objective: &ObjectiveState| objective.spec.files.is_empty();
        let objective = &self.objectives[g];
        let takes_unnamed = names_nothing(objective) || !self.objectives.iter().any(names_nothing);
        names(objective) || takes_unnamed && !self.objectives.iter().any(names)
    }

    /// Whether what a person accepted is lost, and they have not been asked about it yet.
    pub(super) fn has_lost_accepted(&self, g: ObjectiveIndex) -> bool {
        self.disputes.iter().any(|dispute| dispute.objective == g && dispute.is_of_accepted_work)
    }
}
