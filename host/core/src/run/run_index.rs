//! Where things are found without looking at every phase: a run may have a thousand of them, and each of their agents says
//! something twenty times a second.

use std::collections::{BTreeMap, HashMap};

use crate::ids::{ActionId, PhaseId, RequestId, SessionId};
use crate::workflow::Workflow;

use super::Run;
use super::phase::Phase;
use super::phase_list::{PhaseIndex, PhaseList};

/// What the phases say already, the other way round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RunIndex {
    positions: HashMap<PhaseId, PhaseIndex>,
    sessions: HashMap<SessionId, PhaseId>,
    open_queries: BTreeMap<RequestId, OpenQuery>,
    /// The phase of the workflow whose `repeat` leads back over this one (B10).
    loops: HashMap<PhaseId, usize>,
}

/// What an open question to a policy is about.
#[derive(Clone, Debug, PartialEq)]
struct OpenQuery {
    phase: PhaseId,
    is_at_work: bool,
}

impl RunIndex {
    pub(super) fn spawned(&mut self, session: SessionId, phase: PhaseId) {
        self.sessions.insert(session, phase);
    }

    pub(super) fn query_opened(&mut self, request: RequestId, phase: PhaseId, is_at_work: bool) {
        self.open_queries.insert(request, OpenQuery { phase, is_at_work });
    }

    /// Every question is answered once, or never.
    pub(super) fn query_closed(&mut self, request: RequestId) {
        self.open_queries.remove(&request);
    }

    /// The policies that were asked have gone with the host.
    pub(super) fn clear_open_queries(&mut self) {
        self.open_queries.clear();
    }

    /// The phase of the workflow, by its place there, whose `repeat` leads back over this one.
    pub(super) fn loop_end(&self, phase: &PhaseId) -> Option<usize> {
        self.loops.get(phase).copied()
    }

    fn loops_of(workflow: &Workflow) -> HashMap<PhaseId, usize> {
        let mut loops = HashMap::new();
        for (last, phase) in workflow.phases.iter().enumerate() {
            let Some(repeat) = &phase.repeat else { continue };
            let first = workflow.phases.iter().position(|phase| phase.id == repeat.from);
            let walked = first.and_then(|first| workflow.phases.get(first..=last)).unwrap_or_default();
            for phase in walked {
                loops.entry(phase.id.clone()).or_insert(last);
            }
        }
        loops
    }
}

impl Run {
    /// The phases as the workflow has them.
    pub(super) fn begin_with(&mut self, phases: Vec<Phase>) {
        self.index.loops = RunIndex::loops_of(&self.workflow);
        self.phases = PhaseList::new(phases);
        self.rebuild_positions();
    }

    /// Puts phases that belong to another after everything that belongs to it already.
    pub(super) fn insert_sub_phases(&mut self, p: PhaseIndex, below: impl IntoIterator<Item = Phase>) {
        self.phases.insert_below(p, below);
        self.rebuild_positions();
    }

    fn rebuild_positions(&mut self) {
        self.index.positions = self.phases.indexed().map(|(p, phase)| (phase.spec.id.clone(), p)).collect();
    }

    pub(super) fn phase_index(&self, id: &PhaseId) -> Option<PhaseIndex> {
        self.index.positions.get(id).copied()
    }

    /// The phase that has this session now.
    pub(super) fn phase_of(&self, session: &SessionId) -> Option<PhaseIndex> {
        let p = self.phase_index(self.index.sessions.get(session)?)?;
        (self.phases[p].session.as_ref() == Some(session)).then_some(p)
    }

    /// The phase that waits for the outcome of this intent.
    pub(super) fn phase_waiting_for(&self, action: ActionId) -> Option<PhaseIndex> {
        self.phases.position(|phase| phase.step.waits_for_action(action))
    }

    /// The phase about which an open question was asked, then those that it is a part of, from the inside out.
    pub fn asked_about(&self, request: RequestId) -> Vec<&PhaseId> {
        let mut found = Vec::new();
        let mut inner = self.phase_asked_about(request);
        while let Some(p) = inner {
            found.push(&self.phases[p].spec.id);
            inner = self.phases[p].lineage.parent.as_ref().and_then(|parent| self.phase_index(parent));
        }
        found
    }

    /// Whether an open question was asked about a phase that the host made, to review its parent or to bring parts together:
    /// what it meets is the work of others.
    pub fn is_review_or_merge(&self, request: RequestId) -> bool {
        self.phase_asked_about(request).is_some_and(|p| self.phases[p].lineage.is_made_by_host())
    }

    /// The phase about which this was asked.
    pub(super) fn phase_asked_about(&self, request: RequestId) -> Option<PhaseIndex> {
        self.phase_index(&self.index.open_queries.get(&request)?.phase)
    }

    /// Whether an open question was asked about a session while it worked.
    pub(super) fn is_asked_at_work(&self, request: RequestId) -> bool {
        self.index.open_queries.get(&request).is_some_and(|asked| asked.is_at_work)
    }
}
