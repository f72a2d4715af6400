//! Reports of agents count: no objective is done against the last report of the session that did it, and every handoff is read
//! by the next session (A11, C23).

use std::collections::BTreeMap;

use baton_core::input::AgentReport;
use baton_core::observation::{HandoffObservation, ObjectiveStatus, PolicyQuery};
use baton_core::view::{HandoffRepair, PhaseSummary};
use baton_core::{ObjectiveId, PhaseId, SessionId};

use super::PhaseRows;

/// The reports of agents about objectives, and their handoffs.
#[derive(Debug, Default)]
pub(super) struct Reports {
    /// The last word on each objective, by a session of the phase that held it then.
    last: BTreeMap<ObjectiveId, (SessionId, ObjectiveStatus)>,
    /// Handoffs that no session has read yet, by phase.
    unread: BTreeMap<PhaseId, SessionId>,
    /// The session that wrote the newest handoff of each phase.
    written: BTreeMap<PhaseId, SessionId>,
}

impl Reports {
    pub(super) fn heard(&mut self, session: &SessionId, report: &AgentReport, rows: &PhaseRows) {
        let Some(row) = rows.values().find(|row| row.sessions.iter().any(|known| known.id == *session))
        else {
            return;
        };
        match report {
            AgentReport::ObjectiveUpdate { objective, status, .. } => {
                _ = self.last.insert(objective.clone(), (session.clone(), *status));
            }
            AgentReport::HandoffWrite(handoff) => {
                let open = handoff.open.iter();
                self.last.extend(open.map(|id| (id.clone(), (session.clone(), ObjectiveStatus::InProgress))));
                self.unread.insert(row.id.clone(), session.clone());
                self.written.insert(row.id.clone(), session.clone());
            }
            _ => {}
        }
    }

    /// A document or a prompt is written from the agent's handoff.
    pub(super) fn asked(&mut self, query: &PolicyQuery) {
        let (PolicyQuery::Prompting(seen) | PolicyQuery::Handoff(seen)) = query else { return };
        let HandoffObservation { reported: Some(reported), phase, .. } = &**seen else { return };
        if self.unread.get(&phase.id).is_some_and(|by| Some(by.as_str()) == reported.session.as_deref()) {
            self.unread.remove(&phase.id);
        }
    }

    /// A phase is split: its last session's handoff is for each of its parts, unless the agents' texts were withheld.
    pub(super) fn split(&mut self, phase: &PhaseSummary, parts: impl Iterator<Item = PhaseId>) {
        let last = phase.sessions.last().map(|session| &session.id);
        let is_withheld = phase.handoffs.first().is_some_and(|handoff| handoff.repair != HandoffRepair::None);
        let by = self.written.get(&phase.id).filter(|by| last == Some(*by) && !is_withheld);
        if let Some(by) = by.cloned() {
            self.unread.extend(parts.map(|part| (part, by.clone())));
        }
    }

    /// A session is prompted for these objectives: earlier reports of "in progress" are outdated.
    pub(super) fn asked_for(&mut self, session: &SessionId, focus: &[ObjectiveId]) {
        let is_before =
            |by: &SessionId, status: ObjectiveStatus| by == session && status == ObjectiveStatus::InProgress;
        self.last.retain(|objective, (by, status)| !(focus.contains(objective) && is_before(by, *status)));
    }

    /// A session is given work: its prompt, or the document that the prompt names, contains another session's handoff.
    pub(super) fn is_read_by(&self, session: &SessionId, phase: &PhaseId) -> Result<(), String> {
        match self.unread.get(phase).filter(|by| *by != session) {
            Some(by) => Err(format!("{session} works on {phase}, and what {by} left for it was not read")),
            None => Ok(()),
        }
    }

    /// No objective is done by a session whose last word on it was another.
    pub(super) fn none_is_denied(&self, rows: &PhaseRows) -> Result<(), String> {
        for objective in rows.values().flat_map(|row| &row.objectives) {
            let Some((by, status)) = self.last.get(&objective.id) else { continue };
            let is_done = objective.status == ObjectiveStatus::Done;
            if is_done && objective.by.as_ref() == Some(by) && *status != ObjectiveStatus::Done {
                return Err(format!("{} is done by {by}, which last said {status:?}", objective.id));
            }
        }
        Ok(())
    }
}
