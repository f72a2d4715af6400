//! The state as people and programs see it: names, counts, status, references (D1).

use crate::action::RunOutcome;
use crate::facts::TokenUsage;
use crate::ids::PhaseId;
use crate::input::ArtifactRef;
use crate::observation::{Attempt, Capability, ObjectiveStatus, SessionState};
use crate::time::UnixMs;
use crate::view::{
    HandoffSummary, ObjectiveSummary, PhaseStatus, PhaseSummary, QuestionSummary, QuotaSummary, RunStatus,
    RunView, SessionSummary, SourceSummary,
};
use crate::workflow::paths;

use super::Run;
use super::phase::{ObjectiveIndex, ObjectiveState, Phase};
use super::phase_list::PhaseIndex;
use super::session::Session;
use super::step::{OnSummary, PhaseStep};
use super::text_format::cut;

/// What an agent said of an objective is a sentence or two; the facts beside a handoff have all of it (D1).
const NOTE_BYTES: usize = 500;

impl Run {
    /// The state at this time. None before `Started`.
    pub fn view(&self, now: UnixMs) -> Option<RunView> {
        if !self.is_started() {
            return None;
        }
        let now = now.max(self.now);
        let (active_ms, quota_wait_ms) = self.clock.at(now);
        let billed: TokenUsage = self.phases.iter().map(|phase| &phase.usage.billed).sum();
        let sessions = || self.sessions.values();
        let is_cut = sessions().any(|session| session.cut_prompts > 0);
        let is_unpriced =
            billed.cost_microusd.is_some() && sessions().any(|session| session.unpriced_tokens > 0);
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
            billed_at_least: is_cut || is_unpriced,
            phases: self.phases.indices().map(|p| self.build_phase_summary(p)).collect(),
            questions: self
                .user_questions
                .iter()
                .map(|(id, question)| QuestionSummary {
                    id: *id,
                    phase: Some(question.phase.clone()),
                    text: question.cause.user_text().to_owned(),
                    choices: question.choices.clone(),
                })
                .collect(),
            set_aside: self.set_aside,
            assignments: self.assignments.clone(),
            policy_failures: self.policy_outcomes.failures(),
            policy_decisions: self.policy_outcomes.decisions(),
            imported: self.workflow.imported.clone(),
            source: self.workflow.source.as_ref().map(SourceSummary::from),
        })
    }

    /// Where the run stands.
    pub fn status(&self) -> RunStatus {
        match self.ending {
            Some(ending) => RunStatus::Ended(ending),
            None if self.stopping => RunStatus::Ended(RunOutcome::Interrupted),
            None if !self.user_questions.is_empty() && !self.phases.iter().any(Phase::is_active) => {
                RunStatus::Paused
            }
            None => RunStatus::Running,
        }
    }

    /// What was tried in a phase and did not work, oldest first (C19).
    pub fn attempts(&self, phase: &PhaseId) -> impl Iterator<Item = &Attempt> {
        self.phases.iter().filter(move |p| p.spec.id == *phase).flat_map(|p| &p.records.attempts)
    }

    /// The phase that holds this version of an artifact as one of its own.
    pub fn holder(&self, artifact: &ArtifactRef) -> Option<&PhaseId> {
        let is_it = |known: &ArtifactRef| known.name == artifact.name && known.version == artifact.version;
        self.phases.iter().find(|phase| phase.artifacts.kept.iter().any(is_it)).map(|phase| &phase.spec.id)
    }

    fn build_phase_summary(&self, p: PhaseIndex) -> PhaseSummary {
        let phase = &self.phases[p];
        let quota = self.quota_summary(p);
        PhaseSummary {
            id: phase.spec.id.clone(),
            parent: phase.lineage.parent.clone(),
            title: phase.spec.title.clone(),
            status: self.phase_status(p),
            objectives: phase
                .objectives
                .indexed()
                .map(|(g, objective)| objective_summary(phase, g, objective, self.is_lost_since(p, g)))
                .collect(),
            sessions: phase
                .sessions
                .iter()
                .filter_map(|id| self.sessions.get(id))
                .map(session_summary)
                .collect(),
            turns: self.turns_used(p),
            max_turns: phase.turns.in_all(),
            continuation: phase.succession.continuations,
            continuations: self.continuations_allowed(p),
            billed: phase.usage.billed,
            policy: self.deciding_policies(p),
            split: phase.split.part_count,
            verified: phase.verification.passed,
            modified_checks: phase.modified_checks(),
            quota,
            quota_wait_since: quota.map(|wait| wait.since.rfc3339()),
            handoffs: self.handoff_summaries(phase),
            artifacts: phase.artifacts.kept.clone(),
            origin: phase.lineage.origin,
            score: phase.review.score,
            iteration: phase.loop_position.iteration,
            tree: phase.tree.clone(),
            commits: phase.committed_work.commits.clone(),
            commit_failed: phase.committed_work.failed.clone(),
        }
    }

    /// Whether an objective that is done there is not said to be: a person is still to be asked about what they accepted, or its work
    /// was lost by the phase that has taken what this part did.
    fn is_lost_since(&self, p: PhaseIndex, g: ObjectiveIndex) -> bool {
        let (whole, held) = self.holder_of(p, g);
        self.phases[whole].has_lost_accepted(held) || self.phases[whole].objectives[held].has_lost_work
    }

    /// Its handoffs, newest first. A phase whose loop is walked again comes to its last closing one before its own.
    fn handoff_summaries(&self, phase: &Phase) -> Vec<HandoffSummary> {
        let (newest, before) = match phase.handoffs.closing.split_last() {
            Some((newest, before)) if phase.is_over() => (Some(newest), before),
            _ => (None, &phase.handoffs.closing[..]),
        };
        let rows = newest.into_iter().chain(phase.handoffs.written.iter().rev()).chain(before.iter().rev());
        rows.map(|row| self.handoff_summary(phase, row)).collect()
    }

    /// Where a handoff lies now: those of a phase that is over are in the archive (C21). The first one of a part follows one of
    /// another phase, which may not be over yet.
    fn handoff_summary(&self, phase: &Phase, row: &HandoffSummary) -> HandoffSummary {
        let mut row = row.clone();
        if phase.is_over() {
            row.path = paths::archived(&row.path);
            row.facts = match row.facts.as_str() {
                "" => String::new(),
                facts => paths::archived(facts),
            };
        }
        row.predecessor = row.predecessor.map(|before| {
            let is_its = |other: &&Phase| other.handoffs.written.iter().any(|handoff| handoff.path == before);
            let is_archived = self.phases.iter().find(is_its).is_some_and(Phase::is_over);
            if is_archived { paths::archived(&before) } else { before }
        });
        row
    }

    /// Who decides about a phase. The policy that decides most comes last; the others say what they decide.
    fn deciding_policies(&self, p: PhaseIndex) -> String {
        let mut deciders: Vec<(String, Vec<&str>)> = Vec::new();
        for capability in Capability::ALL {
            let Some(binding) = self.binding_for(p, capability) else { continue };
            let name = format!("{}@{}", binding.policy, binding.component.short());
            match deciders.iter_mut().find(|(known, _)| *known == name) {
                Some((_, decides)) => decides.push(capability.name()),
                None => deciders.push((name, vec![capability.name()])),
            }
        }
        deciders.sort_by_key(|(_, decides)| decides.len());
        let Some((rest, _)) = deciders.pop() else { return String::new() };
        let with_capabilities =
            |(name, decides): &(String, Vec<&str>)| format!("{name} ({})", decides.join("+"));
        deciders.iter().map(with_capabilities).chain([rest]).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn quota_summary(&self, p: PhaseIndex) -> Option<QuotaSummary> {
        match self.phases[p].step {
            PhaseStep::Quota { cause, since, until, .. } => Some(QuotaSummary { cause, since, until }),
            _ => self.session(p)?.quota,
        }
    }

    pub(super) fn phase_status(&self, p: PhaseIndex) -> PhaseStatus {
        match self.phases[p].step {
            PhaseStep::Pending => PhaseStatus::Pending,
            PhaseStep::Baseline { .. } | PhaseStep::Budgeting { .. } => PhaseStatus::Scoping,
            PhaseStep::Scoping { .. } if self.phases[p].session.is_none() => PhaseStatus::Scoping,
            PhaseStep::Starting { .. } | PhaseStep::Branching { .. } => PhaseStatus::Starting,
            PhaseStep::Working { .. } => match self.session(p).map(|s| s.state) {
                Some(SessionState::WaitingApproval) => PhaseStatus::WaitingApproval,
                Some(SessionState::WaitingQuota) => PhaseStatus::WaitingQuota,
                _ => PhaseStatus::Working,
            },
            PhaseStep::Scoping { .. }
            | PhaseStep::DecidingOffload { .. }
            | PhaseStep::Offloading { .. }
            | PhaseStep::ComposingPrompt { .. }
            | PhaseStep::RevalidatingHandoff { .. }
            | PhaseStep::RereviewingHandoff { .. }
            | PhaseStep::MeasuringWorkspace { .. }
            | PhaseStep::Assessing { .. }
            | PhaseStep::DecidingCompletion { .. }
            | PhaseStep::DecidingRecovery { .. }
            | PhaseStep::DecidingCompaction { .. }
            | PhaseStep::Summarising { then: OnSummary::Boundary | OnSummary::RepeatPrompt(_), .. } => {
                PhaseStatus::Working
            }
            PhaseStep::Summarising { then: OnSummary::Compact(_), .. } | PhaseStep::Compacting { .. } => {
                PhaseStatus::Compacting
            }
            PhaseStep::MeasuringAfterExit { .. }
            | PhaseStep::ComposingHandoff { .. }
            | PhaseStep::ValidatingHandoff { .. }
            | PhaseStep::Reviewing { .. }
            | PhaseStep::HandingOff { .. }
            | PhaseStep::EndingSession { .. } => PhaseStatus::HandingOff,
            PhaseStep::Quota { .. } => PhaseStatus::WaitingQuota,
            PhaseStep::Backoff { .. } | PhaseStep::ResumePending => PhaseStatus::Waiting,
            PhaseStep::MeasuringBeforeChecks { .. }
            | PhaseStep::Committing { .. }
            | PhaseStep::CommittingToBranch { .. }
            | PhaseStep::Restoring { .. }
            | PhaseStep::CheckingFirst { .. }
            | PhaseStep::Verifying { .. } => PhaseStatus::Verifying,
            PhaseStep::UnderReview { .. } => PhaseStatus::UnderReview,
            PhaseStep::Merging { .. } | PhaseStep::AbortingMerge { .. } | PhaseStep::Landing { .. } => {
                PhaseStatus::Merging
            }
            PhaseStep::Paused { .. } => PhaseStatus::Paused,
            PhaseStep::Split | PhaseStep::Checkpointing { .. } => PhaseStatus::Split,
            PhaseStep::Done => PhaseStatus::Done,
            PhaseStep::Skipped => PhaseStatus::Skipped,
        }
    }
}

fn objective_summary(
    phase: &Phase,
    g: ObjectiveIndex,
    objective: &ObjectiveState,
    is_lost: bool,
) -> ObjectiveSummary {
    let mut note = objective.remark.clone();
    cut(&mut note, NOTE_BYTES);
    ObjectiveSummary {
        id: objective.spec.id.clone(),
        description: objective.spec.description.clone(),
        status: if is_lost { ObjectiveStatus::InProgress } else { objective.status },
        by: objective.by.clone(),
        done_by: objective.done_by.filter(|_| !is_lost),
        judged_by: objective.judged_by.clone().filter(|_| objective.is_done() && !is_lost),
        note,
        has_check: objective.spec.verify.is_some() || phase.spec.verify.is_some(),
        check_passed: objective.check_passed,
        passed_before: phase.passed_before(g),
        started_at: objective.times.started,
        updated_at: objective.times.updated,
        completed_at: objective.times.completed.filter(|_| !is_lost),
    }
}

fn session_summary(session: &Session) -> SessionSummary {
    SessionSummary {
        id: session.id.clone(),
        agent: session.agent.label(),
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
        unpriced_tokens: session.unpriced_tokens,
        cut_prompts: session.cut_prompts,
        refused: session.refusals.clone(),
        refused_calls: session.refused,
    }
}
