//! The state of one phase: its objectives, and where it works; the rest is grouped by what it is about, in `run/phase/`. The step it
//! is in is `step.rs`; transitions are in the files beside.

mod artifacts;
mod assessment;
mod committed_work;
mod handoffs;
mod lineage;
mod loop_position;
mod measurements;
mod objective_list;
mod records;
mod review_state;
mod split_state;
mod succession;
mod turns;
mod usage;
mod verification_state;

use std::collections::BTreeSet;

use crate::facts::WorkspaceFacts;
use crate::ids::SessionId;
use crate::observation::{EvidenceKind, ObjectiveStatus};
use crate::time::UnixMs;
use crate::workflow::{Objective, PhaseSpec};
use crate::worktree::WorktreeName;

use super::accepted_files::AcceptedFiles;
use super::claim_status::ClaimStatus;
use super::dispute_record::Dispute;
use super::step::PhaseStep;
use super::successor_reason::SuccessorReason;

pub(super) use artifacts::PhaseArtifacts;
pub(super) use assessment::SessionAssessment;
pub(super) use committed_work::CommittedWork;
pub(super) use handoffs::{InheritedState, PhaseHandoffs};
pub(super) use lineage::PhaseLineage;
pub(super) use loop_position::LoopPosition;
pub(super) use measurements::PhaseMeasurements;
pub(super) use objective_list::{ObjectiveIndex, ObjectiveList};
pub(super) use records::PhaseRecords;
pub(super) use review_state::{ReviewScore, ReviewState};
pub(super) use split_state::{ActiveSplit, MergeConflict, SplitState};
pub(super) use succession::SuccessionState;
pub(super) use turns::PhaseTurns;
pub(super) use usage::PhaseUsage;
pub(super) use verification_state::{FailedCheck, VerificationState};

/// What was found wrong with a phase, as it goes back to it. All of it is in the artifact (D1).
pub(super) const FINDINGS_BYTES: usize = 16 << 10;

/// An objective and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ObjectiveState {
    pub(super) spec: Objective,
    pub(super) status: ObjectiveStatus,
    pub(super) attempts: u32,
    pub(super) by: Option<SessionId>,
    /// What an agent said of it last.
    pub(super) remark: String,
    /// Its last report of where it stands.
    pub(super) reported: Option<ObjectiveReport>,
    /// It was reported as done, and no prompt of its session was judged since: what else its agent said may take that back.
    pub(super) is_unassessed: bool,
    /// Whether what was said of it was measured since.
    pub(super) claim: ClaimStatus,
    /// It is open since its work was lost.
    pub(super) has_lost_work: bool,
    /// Where it names no file: those that changed during its prompts. All of them at once can be lost.
    pub(super) changed_files: BTreeSet<String>,
    /// What shows that it is done; nothing while it is not.
    pub(super) done_by: Option<EvidenceKind>,
    /// What its phase had changed for it when a person accepted it as it was.
    pub(super) accepted_files: AcceptedFiles,
    /// The policy that judged it to be done, if that is not Baton's.
    pub(super) judged_by: Option<String>,
    /// Whether the last run of a check of it passed.
    pub(super) check_passed: Option<bool>,
    /// When it began, changed and was done.
    pub(super) times: ObjectiveTimes,
}

impl ObjectiveState {
    pub(super) fn new(spec: Objective) -> Self {
        Self {
            spec,
            status: ObjectiveStatus::Open,
            attempts: 0,
            by: None,
            remark: String::new(),
            reported: None,
            is_unassessed: false,
            claim: ClaimStatus::default(),
            has_lost_work: false,
            changed_files: BTreeSet::new(),
            done_by: None,
            accepted_files: AcceptedFiles::default(),
            judged_by: None,
            check_passed: None,
            times: ObjectiveTimes::default(),
        }
    }
}

/// What an agent reported of an objective, and which session did.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ObjectiveReport {
    pub(super) status: ObjectiveStatus,
    pub(super) note: String,
    pub(super) by: Option<SessionId>,
    /// What was changed when the first prompt followed it; nothing while none did, and of a report of done.
    pub(super) before_prompt: Option<Box<WorkspaceFacts>>,
}

/// When an objective changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ObjectiveTimes {
    /// An agent was first asked for it, or first reported on it.
    pub(super) started: Option<UnixMs>,
    /// Its status or remark last changed.
    pub(super) updated: Option<UnixMs>,
    /// It was done, while it is.
    pub(super) completed: Option<UnixMs>,
}

impl ObjectiveState {
    /// Changes where it stands.
    pub(super) fn set_status(&mut self, status: ObjectiveStatus, at: UnixMs) {
        if status == self.status {
            return;
        }
        self.status = status;
        self.times.updated = Some(at);
        self.times.completed = (status == ObjectiveStatus::Done).then_some(at);
        if status != ObjectiveStatus::Open {
            self.times.started.get_or_insert(at);
        }
    }

    /// Keeps what an agent says of it, if it says anything.
    pub(super) fn set_remark(&mut self, remark: &str, at: UnixMs) {
        if !remark.is_empty() && remark != self.remark {
            remark.clone_into(&mut self.remark);
            self.times.updated = Some(at);
        }
    }
}

/// A phase.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Phase {
    pub(super) spec: PhaseSpec,
    pub(super) lineage: PhaseLineage,
    /// Where it works.
    pub(super) tree: WorktreeName,
    pub(super) objectives: ObjectiveList,
    pub(super) step: PhaseStep,
    pub(super) session: Option<SessionId>,
    pub(super) sessions: Vec<SessionId>,
    pub(super) turns: PhaseTurns,
    pub(super) succession: SuccessionState,
    pub(super) assessment: SessionAssessment,
    pub(super) measurements: PhaseMeasurements,
    pub(super) verification: VerificationState,
    pub(super) review: ReviewState,
    /// What was said against its objectives since it was over, until a person is asked.
    pub(super) disputes: Vec<Dispute>,
    pub(super) records: PhaseRecords,
    pub(super) handoffs: PhaseHandoffs,
    pub(super) split: SplitState,
    pub(super) loop_position: LoopPosition,
    pub(super) artifacts: PhaseArtifacts,
    pub(super) usage: PhaseUsage,
    /// What of it is committed in the workspace.
    pub(super) committed_work: CommittedWork,
}

impl Phase {
    /// A phase of the workflow.
    pub(super) fn new(spec: PhaseSpec) -> Self {
        let objectives = spec.objectives.iter().cloned().map(ObjectiveState::new).collect();
        Self {
            spec,
            lineage: PhaseLineage::of_workflow(),
            tree: WorktreeName::workspace(),
            objectives,
            step: PhaseStep::Pending,
            session: None,
            sessions: Vec::new(),
            turns: PhaseTurns::default(),
            succession: SuccessionState::default(),
            assessment: SessionAssessment::default(),
            measurements: PhaseMeasurements::default(),
            verification: VerificationState::default(),
            review: ReviewState::default(),
            disputes: Vec::new(),
            records: PhaseRecords::default(),
            handoffs: PhaseHandoffs::default(),
            split: SplitState::default(),
            loop_position: LoopPosition::first(),
            artifacts: PhaseArtifacts::default(),
            usage: PhaseUsage::default(),
            committed_work: CommittedWork::default(),
        }
    }

    /// Something is under way in it, or is about to be.
    pub(super) fn is_active(&self) -> bool {
        !matches!(
            self.step,
            PhaseStep::Pending
                | PhaseStep::Paused { .. }
                | PhaseStep::Split
                | PhaseStep::UnderReview { .. }
                | PhaseStep::Done
                | PhaseStep::Skipped
        )
    }

    /// Nothing of it is under way until a deadline has passed.
    pub(super) fn waits_for_time(&self) -> bool {
        matches!(self.step, PhaseStep::Quota { .. } | PhaseStep::Backoff { .. } | PhaseStep::ResumePending)
    }

    /// Takes a place among the phases at work.
    pub(super) fn occupies_slot(&self) -> bool {
        self.is_active() && self.step != PhaseStep::ResumePending
    }

    /// Whether a handoff is to be written for it where the host stops: it has news, and none is being written.
    pub(super) fn needs_stop_handoff(&self) -> bool {
        let is_written = matches!(self.step, PhaseStep::HandingOff { .. });
        self.handoffs.has_unrecorded_progress
            && !is_written
            && !self.is_over()
            && !self.lineage.is_made_by_host()
    }

    /// Whether the handoff under way is for the phases after it.
    pub(super) fn is_closing(&self) -> bool {
        matches!(self.step, PhaseStep::HandingOff { then: SuccessorReason::Over, .. })
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.step, PhaseStep::Done | PhaseStep::Skipped)
    }

    pub(super) fn open_objectives(&self) -> impl Iterator<Item = (ObjectiveIndex, &ObjectiveState)> {
        self.objectives.indexed().filter(|(_, g)| !g.is_done())
    }

    /// Whether a session worked on it before its newest one, in this walk of its loop.
    pub(super) fn is_begun(&self) -> bool {
        let earlier = self.sessions.len() - self.loop_position.sessions_before;
        earlier > 1
            || self.handoffs.inherited.is_some()
            || self.objectives.iter().any(|objective| objective.attempts > 0)
    }

    /// A person has it tried again, as if for the first time.
    pub(super) fn reset_counts(&mut self) {
        (self.succession.continuations, self.succession.retries) = (0, 0);
        (self.verification.rounds, self.review.rounds, self.usage.quota_waits) = (0, 0, 0);
        self.loop_position.iterations_before_reset = self.loop_position.iteration;
    }

    pub(super) fn is_finished(&self) -> bool {
        self.open_objectives().next().is_none()
    }

    pub(super) fn done_count(&self) -> u32 {
        (self.objectives.len() - self.open_objectives().count()) as u32
    }

    /// The objectives of the next prompt: one at a time, in the order of the file. What a check sent back is mended together,
    /// since its findings are about all of it.
    pub(super) fn next_focus(&self) -> Vec<ObjectiveIndex> {
        let at_once = if self.verification.has_failed() { self.objectives.len() } else { 1 };
        self.open_objectives().map(|(i, _)| i).take(at_once).collect()
    }
}
