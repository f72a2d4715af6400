//! The state as people and programs see it: names, counts, status, references (D1).

use crate::action::Ending;
use crate::facts::Billed;
use crate::ids::PhaseId;
use crate::input::ArtifactRef;
use crate::observation::{Attempt, Capability, SessionState};
use crate::time::UnixMs;
use crate::view::{
    HandoffRow, ObjectiveRow, PhaseRow, PhaseStatus, QuestionRow, QuotaRow, RunStatus, RunView, SessionRow,
};
use crate::workflow::{AgentKind, paths};

use super::Run;
use super::phase::Phase;
use super::session::Session;
use super::step::Step;

impl Run {
    /// The state at this time. None before `Started`.
    pub fn view(&self, now: UnixMs) -> Option<RunView> {
        if !self.is_started() {
            return None;
        }
        let now = now.max(self.now);
        let (active_ms, quota_wait_ms) = self.clock.at(now);
        let mut billed = Billed::default();
        for phase in &self.phases {
            billed.add(&phase.billed);
        }
        Some(RunView {
            schema: 1,
            run: self.id.clone(),
            workflow: self.workflow.name.clone(),
            goal: self.workflow.goal.clone(),
            status: self.status(),
            started_at: self.started_at,
            active_ms,
            quota_wait_ms,
            billed,
            phases: (0..self.phases.len()).map(|p| self.phase_row(p)).collect(),
            questions: self
                .questions
                .iter()
                .map(|(id, question)| QuestionRow {
                    id: *id,
                    phase: Some(question.phase.clone()),
                    text: question.text.clone(),
                    choices: question.choices.clone(),
                })
                .collect(),
            set_aside: self.set_aside,
            assignments: self.assignments.clone(),
            imported: self.workflow.imported.clone(),
        })
    }

    /// Where the run stands.
    pub fn status(&self) -> RunStatus {
        match self.ending {
            Some(ending) => RunStatus::Ended(ending),
            None if self.stopping => RunStatus::Ended(Ending::Interrupted),
            None if !self.questions.is_empty() && !self.phases.iter().any(Phase::is_active) => {
                RunStatus::Paused
            }
            None => RunStatus::Running,
        }
    }

    /// What was tried in a phase and did not work, oldest first (C19).
    pub fn attempts(&self, phase: &PhaseId) -> impl Iterator<Item = &Attempt> {
        self.phases.iter().filter(move |p| p.spec.id == *phase).flat_map(|p| &p.attempts)
    }

    /// The phase that holds this version of an artifact as one of its own.
    pub fn holder(&self, artifact: &ArtifactRef) -> Option<&PhaseId> {
        let is_it = |known: &ArtifactRef| known.name == artifact.name && known.version == artifact.version;
        self.phases.iter().find(|phase| phase.artifacts.iter().any(is_it)).map(|phase| &phase.spec.id)
    }

    fn phase_row(&self, p: usize) -> PhaseRow {
        let phase = &self.phases[p];
        PhaseRow {
            id: phase.spec.id.clone(),
            parent: phase.parent.clone(),
            title: phase.spec.title.clone(),
            status: self.phase_status(p),
            objectives: phase
                .goals
                .iter()
                .map(|goal| ObjectiveRow {
                    id: goal.spec.id.clone(),
                    description: goal.spec.description.clone(),
                    status: goal.status,
                    by: goal.by.clone(),
                })
                .collect(),
            sessions: phase.sessions.iter().filter_map(|id| self.sessions.get(id)).map(session_row).collect(),
            turns: self.turns_used(p),
            max_turns: phase.max_turns,
            continuation: phase.continuations,
            continuations: self.continuations_allowed(p),
            billed: phase.billed,
            policy: self.policy_of(p),
            split: phase.split,
            verified: phase.verified,
            quota: self.quota_row(p),
            handoffs: phase.handoffs.iter().rev().map(|row| handoff_row(phase, row)).collect(),
            artifacts: phase.artifacts.clone(),
            origin: phase.origin,
            score: phase.score,
            iteration: phase.iteration,
            tree: phase.tree.clone(),
        }
    }

    /// "name@digest" of the one that decides everything about a phase.
    fn policy_of(&self, p: usize) -> String {
        let mut pins = Capability::ALL.into_iter().filter_map(|capability| self.pin_for(p, capability));
        match pins.next() {
            Some(pin) if pins.all(|other| other.component == pin.component) => {
                format!("{}@{}", pin.policy, pin.component.short())
            }
            Some(_) => "several".to_owned(),
            None => String::new(),
        }
    }

    fn quota_row(&self, p: usize) -> Option<QuotaRow> {
        match self.phases[p].step {
            Step::Quota { cause, since, until, .. } => Some(QuotaRow { cause, since, until }),
            _ => self.session(p)?.quota,
        }
    }

    pub(super) fn phase_status(&self, p: usize) -> PhaseStatus {
        match self.phases[p].step {
            Step::Pending => PhaseStatus::Pending,
            Step::Baseline { .. } | Step::Budgeting { .. } => PhaseStatus::Scoping,
            Step::Scoping { .. } if self.phases[p].session.is_none() => PhaseStatus::Scoping,
            Step::Readying { .. } | Step::Branching { .. } => PhaseStatus::Starting,
            Step::Working { .. } => match self.session(p).map(|s| s.state) {
                Some(SessionState::WaitingApproval) => PhaseStatus::WaitingApproval,
                Some(SessionState::WaitingQuota) => PhaseStatus::WaitingQuota,
                _ => PhaseStatus::Working,
            },
            Step::Scoping { .. }
            | Step::Sparing { .. }
            | Step::Offloading { .. }
            | Step::Briefing { .. }
            | Step::Rechecking { .. }
            | Step::Rereading { .. }
            | Step::Measuring { .. }
            | Step::Judging { .. }
            | Step::Fitting { .. } => PhaseStatus::Working,
            Step::Summarising { .. } | Step::Compacting { .. } => PhaseStatus::Compacting,
            Step::Surveying { .. }
            | Step::Composing { .. }
            | Step::Inspecting { .. }
            | Step::Reviewing { .. }
            | Step::HandingOff { .. }
            | Step::Ending { .. } => PhaseStatus::HandingOff,
            Step::Quota { .. } => PhaseStatus::WaitingQuota,
            Step::Backoff { .. } | Step::Due => PhaseStatus::Waiting,
            Step::Verifying { .. } => PhaseStatus::Verifying,
            Step::UnderReview { .. } => PhaseStatus::UnderReview,
            Step::Merging { .. } | Step::Unmerging { .. } | Step::Landing { .. } => PhaseStatus::Merging,
            Step::Paused { .. } => PhaseStatus::Paused,
            Step::Split | Step::Checkpointing { .. } => PhaseStatus::Split,
            Step::Done => PhaseStatus::Done,
            Step::Skipped => PhaseStatus::Skipped,
        }
    }
}

/// Where a handoff lies now: those of a phase that is over are in the archive (C21).
fn handoff_row(phase: &Phase, row: &HandoffRow) -> HandoffRow {
    let mut row = row.clone();
    if phase.is_over() {
        row.path = paths::archived(&row.path);
        row.predecessor = row.predecessor.as_deref().map(paths::archived);
        row.facts = match row.facts.as_str() {
            "" => String::new(),
            facts => paths::archived(facts),
        };
    }
    row
}

/// "claude", "acp:opencode": two agents of one kind are told apart by their programs.
fn agent_label(agent: &AgentKind) -> String {
    match agent.command() {
        None => agent.name().to_owned(),
        Some(command) => {
            let program = command.program();
            format!("{}:{}", agent.name(), program.rsplit('/').next().unwrap_or(program))
        }
    }
}

fn session_row(session: &Session) -> SessionRow {
    SessionRow {
        id: session.id.clone(),
        agent: agent_label(&session.agent),
        continuation: session.continuation,
        lead: session.lead,
        ending: session.ending.clone(),
        turns: session.turns,
        used_tokens: session.used_tokens,
        window_tokens: session.window_tokens,
        source: session.source,
        warned: session.warned,
        last: session.last.clone(),
        billed: session.billed,
    }
}
