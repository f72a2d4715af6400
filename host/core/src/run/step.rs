//! Where a phase is, and what it waits for there. Transitions are in the files beside.

use crate::decision::{Assessment, QuotaCause, SubPhase};
use crate::ids::{ActionId, Digest, PhaseId, RequestId};
use crate::input::PauseAnswer;
use crate::observation::{AssessTrigger, PromptKind, SplitTrigger};
use crate::time::UnixMs;

use super::end_cause::EndCause;
use super::handoff_state::{HandoffCheck, HandoffRefusal, PendingHandoff};
use super::judgment::Judgment;
use super::large_text::LargeText;
use super::successor_reason::SuccessorReason;

/// Where a phase is. A step that waits names what it waits for; an answer to anything else is stale and dropped.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PhaseStep {
    /// For the phases it depends on, or for a free place.
    Pending,
    /// `Assess` with `baseline`: the start of the phase is measured.
    Baseline {
        action: ActionId,
    },
    /// `Verify` before any work: the n-th of its commands.
    CheckingFirst {
        action: ActionId,
        check: usize,
    },
    /// `splitting.decide`, with a session (at a boundary) or without.
    Scoping {
        request: RequestId,
        occasion: SplitTrigger,
    },
    /// `budgeting.decide`.
    Budgeting {
        request: RequestId,
        then: OnTurnBudget,
    },
    /// `Spawn`, until the agent says that it is ready.
    Starting {
        action: ActionId,
    },
    /// `offloading.decide` on what the next prompt would embed (C4).
    DecidingOffload {
        request: RequestId,
        kind: PromptKind,
        focus: Vec<usize>,
        large: Vec<LargeText>,
    },
    /// `Offload` of what was decided.
    Offloading {
        action: ActionId,
        kind: PromptKind,
        focus: Vec<usize>,
        large: Vec<LargeText>,
    },
    /// `prompting.compose`.
    ComposingPrompt {
        request: RequestId,
        kind: PromptKind,
        focus: Vec<usize>,
    },
    /// `Prompt`, until it is answered. The host may have interrupted it, to nudge.
    Working {
        action: ActionId,
        focus: Vec<usize>,
        interrupted: bool,
    },
    /// `Assess` after a prompt or a session ended.
    MeasuringWorkspace {
        action: ActionId,
        occasion: AssessTrigger,
        focus: Vec<usize>,
    },
    /// `exhaustion.assess` on a prompt or session that ended.
    Assessing {
        request: RequestId,
        occasion: AssessTrigger,
        focus: Vec<usize>,
    },
    /// `completion.decide` on a prompt that was answered.
    DecidingCompletion {
        request: RequestId,
        occasion: AssessTrigger,
        focus: Vec<usize>,
        assessment: Box<Assessment>,
    },
    /// `recovery.decide` on what ended otherwise, or is not done.
    DecidingRecovery {
        request: RequestId,
        occasion: AssessTrigger,
        focus: Vec<usize>,
        judgment: Box<Judgment>,
    },
    /// `compaction.decide`.
    DecidingCompaction {
        request: RequestId,
    },
    /// `WriteSummaries`; `digest` is the address of the summary of the phase.
    Summarising {
        action: ActionId,
        digest: Digest,
        then: OnSummary,
    },
    /// `Compact`: delivered or not, the prompt that carries it has not ended.
    Compacting {
        action: ActionId,
        /// Bytes that the agent had said when it was asked.
        answer_bytes: u64,
    },
    /// `Assess` after a session is gone, for what it leaves behind.
    MeasuringAfterExit {
        action: ActionId,
        then: SuccessorReason,
    },
    /// `handoff.compose`; `refused` is the review of the document before, which is composed again from facts.
    ComposingHandoff {
        request: RequestId,
        then: SuccessorReason,
        path: String,
        refused: Option<Box<HandoffRefusal>>,
    },
    /// `Inspect` of what was composed.
    ValidatingHandoff {
        action: ActionId,
        then: SuccessorReason,
        draft: Box<PendingHandoff>,
    },
    /// `review.assess` of it.
    Reviewing {
        request: RequestId,
        then: SuccessorReason,
        draft: Box<PendingHandoff>,
    },
    /// `WriteHandoff`.
    HandingOff {
        action: ActionId,
        then: SuccessorReason,
        draft: Box<PendingHandoff>,
    },
    /// `Inspect` of the newest handoff, before a session starts from it after a while.
    RevalidatingHandoff {
        action: ActionId,
        kind: PromptKind,
        focus: Vec<usize>,
    },
    /// `review.assess` of it.
    RereviewingHandoff {
        request: RequestId,
        kind: PromptKind,
        focus: Vec<usize>,
        found: HandoffCheck,
    },
    /// `End`, until the process is gone.
    EndingSession {
        then: OnSessionEnd,
    },
    /// A provider's limit: nothing is tried before it resets, or before the backoff is over.
    Quota {
        cause: QuotaCause,
        since: UnixMs,
        until: Option<UnixMs>,
        retry_at: UnixMs,
        focus: Vec<usize>,
        /// The policy that called it a limit, if that is not Baton's.
        judged_by: Option<String>,
    },
    /// Before a retry, or before it is taken up again as a person said.
    Backoff {
        until: UnixMs,
    },
    /// `Assess`: whether the files are there that the objectives name, now that all of them are taken for done.
    MeasuringBeforeChecks {
        action: ActionId,
    },
    /// `Commit` of what is to be verified, reviewed and merged.
    Committing {
        action: ActionId,
    },
    /// `CommitToBranch` of what it changed.
    CommittingToBranch {
        action: ActionId,
        then: OnCommit,
    },
    /// `Restore`, or `Assess` where there is no tree of its own: what its checks or its reviewer did to it.
    Restoring {
        action: ActionId,
        then: OnRestore,
    },
    /// `Verify`: the n-th of its commands, and the objective that it is about.
    Verifying {
        action: ActionId,
        check: usize,
        of: Option<usize>,
    },
    /// A phase that the host made for it reviews it.
    UnderReview {
        review: PhaseId,
    },
    /// `Checkpoint`, before it is forked.
    Checkpointing {
        action: ActionId,
        parts: Vec<SubPhase>,
    },
    /// `Branch`: its work tree is made.
    Branching {
        action: ActionId,
    },
    /// `Merge` of what a sub-phase made.
    Merging {
        action: ActionId,
        part: PhaseId,
    },
    /// `Unmerge` of what could not be brought together.
    AbortingMerge {
        action: ActionId,
    },
    /// `Land` of what all of them made.
    Landing {
        action: ActionId,
    },
    /// A person has answered: goes on as soon as there is a place.
    ResumePending,
    /// `Ask`.
    Paused {
        question: ActionId,
        about: PauseReason,
    },
    /// Its sub-phases work.
    Split,
    Done,
    Skipped,
}

/// What follows once it is said how many turns there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnTurnBudget {
    /// The first session.
    Begin,
    /// The boundary between two prompts.
    Boundary,
    /// Another session.
    StartSuccessor(SuccessorReason),
}

/// What follows once the summaries are written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OnSummary {
    /// The boundary between two prompts.
    Boundary,
    /// The compaction, with these instructions to the agent.
    Compact(String),
    /// The same objectives once more: the agent compacted its context by itself.
    RepeatPrompt(Vec<usize>),
}

/// What follows once its work is committed in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnCommit {
    /// The boundary between two prompts.
    Boundary,
    /// The phase is over.
    Over {
        /// Every objective of its own was done.
        all_done: bool,
    },
}

/// What follows once a tree is again as it was committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OnRestore {
    /// Its checks passed.
    Checks,
    /// Some of its checks failed: `Phase::failed_checks`.
    FailedChecks,
    /// This review is over.
    Review(PhaseId),
}

/// What follows when a session is gone.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OnSessionEnd {
    StartSuccessor(SuccessorReason),
    Split(Vec<SubPhase>),
    /// It is reviewed.
    Review,
    /// The loop begins again (B10).
    Iterate,
    Pause {
        about: PauseReason,
        text: EndCause,
    },
    Complete,
    Skip,
}

/// What a question is about; says what can be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PauseReason {
    /// The phase cannot go on by itself.
    Blocked,
    /// Nothing shows that objectives are done, or something says that they are not.
    Unproven,
    /// An agent that has worked asks a person something.
    Asked,
    /// A ceiling of this phase was reached.
    PhaseCeiling,
    /// A ceiling of the run was reached.
    RunCeiling,
    /// What a sub-phase made does not fit what is there.
    Conflict,
}

impl PhaseStep {
    /// Whether the outcome of this intent is what it waits for.
    pub(super) fn waits_for_action(&self, id: ActionId) -> bool {
        match self {
            PhaseStep::Baseline { action }
            | PhaseStep::CheckingFirst { action, .. }
            | PhaseStep::Starting { action }
            | PhaseStep::Working { action, .. }
            | PhaseStep::MeasuringWorkspace { action, .. }
            | PhaseStep::MeasuringBeforeChecks { action }
            | PhaseStep::Summarising { action, .. }
            | PhaseStep::Compacting { action, .. }
            | PhaseStep::MeasuringAfterExit { action, .. }
            | PhaseStep::ValidatingHandoff { action, .. }
            | PhaseStep::RevalidatingHandoff { action, .. }
            | PhaseStep::HandingOff { action, .. }
            | PhaseStep::Offloading { action, .. }
            | PhaseStep::Committing { action }
            | PhaseStep::CommittingToBranch { action, .. }
            | PhaseStep::Restoring { action, .. }
            | PhaseStep::Verifying { action, .. }
            | PhaseStep::Checkpointing { action, .. }
            | PhaseStep::Branching { action }
            | PhaseStep::Merging { action, .. }
            | PhaseStep::AbortingMerge { action }
            | PhaseStep::Landing { action } => *action == id,
            _ => false,
        }
    }

    /// A measurement of what is to be done by now, with the objectives that it may find done.
    pub(super) fn measured_focus(&self) -> Option<&[usize]> {
        match self {
            PhaseStep::MeasuringWorkspace { focus, .. } => Some(focus),
            PhaseStep::MeasuringBeforeChecks { .. } => Some(&[]),
            _ => None,
        }
    }

    /// Where the handoff under way will lie.
    pub(super) fn path_of_draft(&self) -> Option<&str> {
        match self {
            PhaseStep::ComposingHandoff { path, .. } => Some(path),
            PhaseStep::ValidatingHandoff { draft, .. }
            | PhaseStep::Reviewing { draft, .. }
            | PhaseStep::HandingOff { draft, .. } => Some(&draft.path),
            _ => None,
        }
    }

    /// Whether the answer to this question is what it waits for.
    pub(super) fn waits_for_answer(&self, id: RequestId) -> bool {
        match self {
            PhaseStep::Scoping { request, .. }
            | PhaseStep::Budgeting { request, .. }
            | PhaseStep::DecidingOffload { request, .. }
            | PhaseStep::ComposingPrompt { request, .. }
            | PhaseStep::Assessing { request, .. }
            | PhaseStep::DecidingCompletion { request, .. }
            | PhaseStep::DecidingRecovery { request, .. }
            | PhaseStep::DecidingCompaction { request }
            | PhaseStep::ComposingHandoff { request, .. }
            | PhaseStep::Reviewing { request, .. }
            | PhaseStep::RereviewingHandoff { request, .. } => *request == id,
            _ => false,
        }
    }
}

impl PauseReason {
    pub(super) fn choices(self) -> Vec<PauseAnswer> {
        match self {
            PauseReason::Unproven => {
                vec![PauseAnswer::Accept, PauseAnswer::Retry, PauseAnswer::Skip, PauseAnswer::Stop]
            }
            // What it asks, or lacks, is answered first. It does not call the work done itself.
            PauseReason::Asked => {
                vec![PauseAnswer::Retry, PauseAnswer::Skip, PauseAnswer::Stop, PauseAnswer::Accept]
            }
            PauseReason::Blocked | PauseReason::Conflict => {
                vec![PauseAnswer::Retry, PauseAnswer::Skip, PauseAnswer::Stop]
            }
            PauseReason::PhaseCeiling | PauseReason::RunCeiling => {
                vec![PauseAnswer::Raise, PauseAnswer::Skip, PauseAnswer::Stop]
            }
        }
    }
}
