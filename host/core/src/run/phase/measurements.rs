//! What was measured of the work of a phase, and what measurements are compared with.

use std::collections::BTreeSet;

use crate::facts::WorkspaceFacts;
use crate::ids::ActionId;

use super::super::past_measurements::PastMeasurements;
use super::ObjectiveIndex;

/// What was measured of the work of a phase, and what that is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run) struct PhaseMeasurements {
    /// What the newest measurement found.
    pub(in crate::run) facts: WorkspaceFacts,
    /// When that was, and what the measurements before it found.
    pub(in crate::run) past: PastMeasurements,
    /// Files that its objectives name and that phases before it have changed.
    pub(in crate::run) changed_earlier: BTreeSet<String>,
    /// What was changed when the objectives in focus were first given.
    pub(in crate::run) focus_baseline: (Vec<ObjectiveIndex>, WorkspaceFacts),
    /// Another phase worked in the same folder since then.
    pub(in crate::run) has_company: bool,
    /// What was changed when the newest session began.
    pub(in crate::run) session_baseline: WorkspaceFacts,
    /// Its newest session has called a tool that may change files, or runs an agent that does not show its calls. Otherwise what
    /// changed meanwhile is the work of others, such as the user's own edits.
    pub(in crate::run) session_may_have_written: bool,
    /// The measuring of what its session left when the host stopped, until it is done.
    pub(in crate::run) after_stop: Option<ActionId>,
}

impl Default for PhaseMeasurements {
    fn default() -> Self {
        Self {
            facts: WorkspaceFacts::default(),
            past: PastMeasurements::default(),
            changed_earlier: BTreeSet::new(),
            focus_baseline: Default::default(),
            has_company: false,
            session_baseline: WorkspaceFacts::default(),
            session_may_have_written: true,
            after_stop: None,
        }
    }
}

impl PhaseMeasurements {
    /// Files that differ from the start of the phase, by whichever session.
    pub(in crate::run) fn files_changed(&self) -> u32 {
        self.facts.changed.len() as u32 + self.facts.changed_beyond
    }

    /// Files that its newest session changed; 0 if it called nothing that may change one, or if others work in the same folder.
    pub(in crate::run) fn changed_by_session(&self) -> u32 {
        match self.session_may_have_written && !self.has_company {
            true => self.facts.changed_since(&self.session_baseline),
            false => 0,
        }
    }

    /// A session begins: what changes from now on is compared with what the newest measurement found.
    pub(in crate::run) fn begin_session(&mut self, may_write_unseen: bool) {
        self.session_baseline = self.facts.clone();
        self.session_may_have_written = may_write_unseen;
    }

    /// The prompt is about these objectives. What is changed for them counts from now, if they or the session are new.
    pub(in crate::run) fn set_focus(&mut self, focus: &[ObjectiveIndex], is_new_session: bool) {
        if is_new_session || self.focus_baseline.0 != focus {
            self.focus_baseline = (focus.to_vec(), self.facts.clone());
            self.has_company = false;
        }
    }

    /// The prompt is about these objectives now, and what was changed since the one before it counts for them.
    pub(in crate::run) fn extend_focus(&mut self, focus: &[ObjectiveIndex]) {
        focus.clone_into(&mut self.focus_baseline.0);
    }

    /// Whether the session was prompted for this objective.
    pub(in crate::run) fn is_in_focus(&self, g: ObjectiveIndex) -> bool {
        self.focus_baseline.0.contains(&g)
    }
}
