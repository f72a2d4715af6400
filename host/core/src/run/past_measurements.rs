//! When a phase was last measured, and what of its files earlier measurements found: work that is lost comes back as one of these.

use std::collections::{BTreeMap, BTreeSet};

use crate::facts::{ChangedFile, WorkspaceFacts};
use crate::ids::Digest;
use crate::time::UnixMs;

use super::accepted_files::LostFiles;
use super::claim_status::ClaimStatus;
use super::phase::Phase;
use super::step::PhaseStep;

/// Files whose earlier contents are known, and contents of each: more than a phase changes over and over.
const FILES: usize = 2_000;
const CONTENTS: usize = 16;
/// Files that are kept of what changed during the prompts for one objective: with these gone, nothing is left that shows it.
const FILES_OF_OBJECTIVE: usize = 20;

/// The measurements of a phase so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PastMeasurements {
    /// When the newest was taken; 0 before the first.
    pub(super) newest_at: UnixMs,
    /// It looked at the workspace itself, and names every file that differs.
    pub(super) newest_is_whole: bool,
    /// What earlier ones found in files that differ by now, the newest last.
    pub(super) contents: BTreeMap<String, Vec<Digest>>,
    /// What the phase left in earlier walks of its loop, the newest last: no file is in two of them.
    pub(super) iterations: Vec<PastIteration>,
    /// Files that differed from the start of the phase once, and no longer do. Each is taken out once its objective has been opened again.
    pub(super) restored: BTreeSet<String>,
    /// What a host found lost since the newest.
    pub(super) lost_since: LostFiles,
}

/// What the last measurement of an earlier walk of a loop found.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PastIteration {
    pub(super) files: Vec<ChangedFile>,
    pub(super) measured_at: UnixMs,
    /// As [`PastMeasurements::newest_is_whole`].
    pub(super) is_whole: bool,
}

impl PastMeasurements {
    /// The phase begins once more: what it has left so far is not a change any more.
    fn end_iteration(&mut self, changed: &[ChangedFile]) {
        for iteration in &mut self.iterations {
            iteration.files.retain(|old| changed.iter().all(|file| file.path != old.path));
        }
        let files = changed.to_vec();
        self.iterations.push(PastIteration {
            files,
            measured_at: self.newest_at,
            is_whole: self.newest_is_whole,
        });
        self.iterations.retain(|iteration| !iteration.files.is_empty());
        while self.iterations.iter().map(|iteration| iteration.files.len()).sum::<usize>() > FILES {
            self.iterations.remove(0);
        }
    }
}

impl Phase {
    /// Takes what a measurement found.
    pub(super) fn set_facts(&mut self, facts: &WorkspaceFacts, at: UnixMs) {
        let before = std::mem::replace(&mut self.measurements.facts, facts.clone());
        self.note_files_of_objectives(&before);
        self.settle_claims(&before);
        self.restore_accepted_files(facts);
        // Another work tree is measured while parts come together.
        let is_comparable = self.split.is_untouched();
        // What objectives name is listed if it differs, and of other files that is known if all are listed.
        let is_listed = |path: &String| {
            facts.changed_beyond == 0
                || self.objectives.iter().any(|objective| objective.spec.files.contains(path))
        };
        let by_now: BTreeMap<&str, Option<&Digest>> =
            facts.changed.iter().map(|file| (file.path.as_str(), file.digest.as_ref())).collect();
        let is_gone = |file: &&ChangedFile| !by_now.contains_key(file.path.as_str()) && is_listed(&file.path);
        let gone: Vec<String> = before.changed.iter().filter(is_gone).map(|file| file.path.clone()).collect();
        let measurements = &mut self.measurements.past;
        measurements.lost_since = LostFiles::default();
        if matches!(self.step, PhaseStep::Baseline { .. }) {
            measurements.end_iteration(&before.changed);
        }
        (measurements.newest_at, measurements.newest_is_whole) =
            (at, facts.changed_beyond == 0 && self.tree.is_workspace());
        match (&self.step, is_comparable) {
            (PhaseStep::Baseline { .. }, _) => measurements.restored.clear(),
            (_, true) => measurements.restored.extend(gone),
            _ => {}
        }
        measurements.restored.retain(|path| !by_now.contains_key(path.as_str()));
        for file in before.changed {
            let now = by_now.get(file.path.as_str()).copied().flatten();
            let Some(digest) = file.digest.filter(|digest| Some(digest) != now) else { continue };
            if measurements.contents.len() >= FILES && !measurements.contents.contains_key(&file.path) {
                continue;
            }
            let known = measurements.contents.entry(file.path).or_default();
            known.retain(|known| *known != digest);
            known.push(digest);
            if known.len() > CONTENTS {
                known.remove(0);
            }
        }
    }

    /// Keeps which files changed during the prompt that was measured, for the objectives that it was about and that name none.
    fn note_files_of_objectives(&mut self, before: &WorkspaceFacts) {
        if matches!(self.step, PhaseStep::Baseline { .. }) {
            self.objectives.iter_mut().for_each(|objective| objective.changed_files.clear());
            return;
        }
        if self.measurements.has_company || !self.measurements.session_may_have_written {
            return;
        }
        let focus = self.step.measured_focus().unwrap_or_default();
        let is_new = |file: &&ChangedFile| !before.changed.contains(file);
        for (g, objective) in self.objectives.indexed_mut() {
            let is_meant = focus.contains(&g) || objective.claim == ClaimStatus::Reported;
            if !is_meant || !objective.spec.files.is_empty() {
                continue;
            }
            let room = FILES_OF_OBJECTIVE.saturating_sub(objective.changed_files.len());
            let new = self.measurements.facts.changed.iter().filter(is_new).take(room);
            objective.changed_files.extend(new.map(|file| file.path.clone()));
        }
    }
}
