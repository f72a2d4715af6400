//! The handoffs of a phase: those that were written, the one that it began with, and what its agent wrote for the next one.

use crate::facts::ChangedFile;
use crate::ids::SessionId;
use crate::input::ReportedHandoff;
use crate::text::TextBlob;
use crate::view::HandoffSummary;

use super::super::handoff_state::HandoffCheck;

/// The handoffs of a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::run) struct PhaseHandoffs {
    /// Those from which its own sessions start, oldest first.
    pub(in crate::run) written: Vec<HandoffSummary>,
    /// What the phase that it was split from left to it, if a session had worked there.
    pub(in crate::run) inherited: Option<Box<InheritedState>>,
    /// What the phase left to those after it, once for each walk of its loop (C23). None of its own sessions starts from them.
    pub(in crate::run) closing: Vec<HandoffSummary>,
    /// The document of the newest handoff.
    pub(in crate::run) newest_text: TextBlob,
    /// Something happened that is not in a handoff yet.
    pub(in crate::run) has_unrecorded_progress: bool,
    /// Time passed since the newest handoff in which the workspace may have been changed by others.
    pub(in crate::run) may_be_stale: bool,
    /// What the newest check of the newest handoff found.
    pub(in crate::run) check: Option<HandoffCheck>,
    /// What an agent wrote for its successor, and which one.
    pub(in crate::run) reported: Option<(Option<SessionId>, ReportedHandoff)>,
    /// No objective was reported as done behind it.
    pub(in crate::run) is_latest_report: bool,
}

/// What a phase leaves to one of its parts, which continues from there (C23).
#[derive(Clone, Debug, PartialEq)]
pub(in crate::run) struct InheritedState {
    /// Its newest handoff; absent if none could be written.
    pub(in crate::run) handoff: Option<HandoffSummary>,
    /// Its newest session, whose last words may be quoted.
    pub(in crate::run) session: SessionId,
    /// What its sessions changed: in the state that the part starts from it is not a change any more.
    pub(in crate::run) changed: Vec<ChangedFile>,
    /// How many more there are.
    pub(in crate::run) changed_beyond: u32,
}

impl PhaseHandoffs {
    /// The handoff that the next session starts from: its own, or that of the phase that it was split from.
    pub(in crate::run) fn newest(&self) -> Option<&HandoffSummary> {
        self.written.last().or_else(|| self.inherited.as_ref()?.handoff.as_ref())
    }

    pub(in crate::run) fn newest_mut(&mut self) -> Option<&mut HandoffSummary> {
        self.written.last_mut().or_else(|| self.inherited.as_mut()?.handoff.as_mut())
    }

    /// Keeps one that was written, with its document.
    pub(in crate::run) fn add(&mut self, handoff: HandoffSummary, document: TextBlob) {
        self.written.push(handoff);
        self.newest_text = document;
        self.may_be_stale = false;
        self.check = None;
    }

    /// The newest one was looked at again.
    pub(in crate::run) fn set_check(&mut self, found: HandoffCheck) {
        self.check = Some(found);
        self.may_be_stale = false;
    }

    /// An agent wrote one for its successor.
    pub(in crate::run) fn report(&mut self, by: Option<SessionId>, handoff: ReportedHandoff) {
        (self.reported, self.is_latest_report) = (Some((by, handoff)), true);
    }

    /// The handoff that this session wrote for a successor.
    pub(in crate::run) fn reported_by(
        &self,
        session: Option<&SessionId>,
    ) -> Option<&(Option<SessionId>, ReportedHandoff)> {
        self.reported.as_ref().filter(|(by, _)| by.is_none() || by.as_ref() == session)
    }

    /// Whether this session wrote the handoff that waits for a successor (C23).
    pub(in crate::run) fn is_reported_by(&self, session: Option<&SessionId>) -> bool {
        self.reported_by(session).is_some()
    }
}
