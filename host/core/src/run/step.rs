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
use super::phase::ObjectiveIndex;
use super::successor_reason::SuccessorReason;

/// Where a phase is. A step that waits names what it waits for; an answer to anything else is stale and dropped.
///
/// Outcomes arrive by `transitions::apply_outcome_to_phase`, answers by `decisions::apply_answer`, and a resume goes through
/// `resume::resume_phase`. There, *repeats* means: the host performs an open intent again, and core emits it once more if it was
/// lost. *Replaces the session* means: `conversation_resume::resume_or_replace_session`, after a measurement if the session has
/// reported something that none has looked at yet (`evidence::measure_files_before_checks`).
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PhaseStep {
    /// For the phases it depends on, or for a free place.
    /// Set by `phase::new` and `verification::reset_for_iteration`; ends with `session_start::begin_phase`; resume: stays.
    Pending,
    /// `MeasureWorkspace` with `baseline`: the start of the phase is measured.
    /// Set by `session_start::measure_baseline`; outcome: `part_results::find_results`, `transitions::scope`; resume: repeats.
    Baseline { action: ActionId },
    /// `Verify` before any work: the n-th of its commands.
    /// Set by `checks::run_first_check`; outcome: `checks::on_first_check_result`; resume: repeats from the first command.
    CheckingFirst { action: ActionId, check: usize },
    /// `splitting.decide`, with a session (at a boundary) or without.
    /// Set by `transitions::scope`; answer: `decisions::on_split_decision`, without one `decisions::continue_unsplit`; resume:
    /// asks again at the start and without continuations, else replaces the session.
    Scoping { request: RequestId, occasion: SplitTrigger },
    /// `budgeting.decide`.
    /// Set by `decisions::continue_unsplit` and `turn_budget::ask_for_turns`; answer: `turn_budget::on_turn_budget` to `Begin`,
    /// else `turn_budget::on_more_turns_decision`; resume: `transitions::scope` at the start, `verdicts::start_successor` after
    /// a session, replaces the session at a boundary.
    Budgeting { request: RequestId, then: OnTurnBudget },
    /// `Spawn`, until the agent says that it is ready.
    /// Set by `session_start::spawn_in`; event `Ready`: `session_start::request_first_prompt`; resume: replaces the session.
    Starting { action: ActionId },
    /// `offloading.decide` on what the next prompt would embed (C4).
    /// Set by `prompt_offload::offload_then_prompt`; answer: `prompt_offload::on_offload_decision`; resume: replaces the
    /// session.
    DecidingOffload {
        request: RequestId,
        kind: PromptKind,
        focus: Vec<ObjectiveIndex>,
        large: Vec<LargeText>,
    },
    /// `Offload` of what was decided.
    /// Set by `prompt_offload::on_offload_decision`; outcome: `prompt_offload::on_offloaded`; resume: replaces the session.
    Offloading { action: ActionId, kind: PromptKind, focus: Vec<ObjectiveIndex>, large: Vec<LargeText> },
    /// `prompting.compose`.
    /// Set by `prompt_offload::request_prompt`; answer: `transitions::request_prompt_delivery`; resume: replaces the session.
    ComposingPrompt { request: RequestId, kind: PromptKind, focus: Vec<ObjectiveIndex> },
    /// `Prompt`, until it is answered. The host may have interrupted it, to nudge.
    /// Set by `transitions::request_prompt_delivery`; event `PromptEnded`: `transitions::on_prompt_ended`; resume: `transitions::measure` if the
    /// agent reported something as done, else replaces the session.
    Working { action: ActionId, focus: Vec<ObjectiveIndex>, interrupted: bool },
    /// `MeasureWorkspace` after a prompt or a session ended.
    /// Set by `transitions::measure`; outcome: `verdicts::on_workspace_measured`; resume: repeats.
    MeasuringWorkspace { action: ActionId, occasion: AssessTrigger, focus: Vec<ObjectiveIndex> },
    /// `exhaustion.assess` on a prompt or session that ended.
    /// Set by `verdicts::on_workspace_measured`; answer: `verdicts::apply_verdict`; resume: asks again, after a measurement if
    /// reports were not looked at.
    Assessing { request: RequestId, occasion: AssessTrigger, focus: Vec<ObjectiveIndex> },
    /// `completion.decide` on a prompt that was answered.
    /// Set by `verdicts::apply_verdict`; answer: `verdicts::apply_completion`; resume: as `Assessing`.
    DecidingCompletion {
        request: RequestId,
        occasion: AssessTrigger,
        focus: Vec<ObjectiveIndex>,
        assessment: Box<Assessment>,
    },
    /// `recovery.decide` on what ended otherwise, or is not done.
    /// Set by `verdicts::enter_recovery`; answer: `verdicts::apply_recovery`; resume: as `Assessing`.
    DecidingRecovery {
        request: RequestId,
        occasion: AssessTrigger,
        focus: Vec<ObjectiveIndex>,
        judgment: Box<Judgment>,
    },
    /// `compaction.decide`.
    /// Set by `decisions::continue_unsplit`; answer: `decisions::on_compaction_decision`; resume: replaces the session.
    DecidingCompaction { request: RequestId },
    /// `WriteSummaries`; `digest` is the address of the summary of the phase.
    /// Set by `compaction_summary::write_summaries`; outcome: `compaction_summary::on_summaries_written`; resume: replaces the
    /// session.
    Summarising { action: ActionId, digest: Digest, then: OnSummary },
    /// `Compact`: delivered or not, the prompt that carries it has not ended.
    /// Set by `decisions::compact`; event `Compacted`: `transitions::on_compacted`, any other end:
    /// `decisions::on_compaction_failed`; resume: replaces the session.
    Compacting {
        action: ActionId,
        /// Bytes that the agent had said when it was asked.
        answer_bytes: u64,
    },
    /// `MeasureWorkspace` after a session is gone, for what it leaves behind.
    /// Set by `handoff::measure_after_exit`; outcome: `handoff::on_measured_after_exit`; resume: repeats.
    MeasuringAfterExit { action: ActionId, then: SuccessorReason },
    /// `handoff.compose`; `refused` is the review of the document before, which is composed again from facts.
    /// Set by `handoff::compose`; answer: `handoff::on_handoff_composed`, without one `handoff::write_plain_handoff`; resume:
    /// asks again.
    ComposingHandoff {
        request: RequestId,
        then: SuccessorReason,
        path: String,
        refused: Option<Box<HandoffRefusal>>,
    },
    /// `ValidateHandoff` of what was composed.
    /// Set by `handoff::inspect`; outcome: `handoff::on_handoff_validated`; resume: repeats.
    ValidatingHandoff { action: ActionId, then: SuccessorReason, draft: Box<PendingHandoff> },
    /// `review.assess` of it.
    /// Set by `handoff::review`; answer: `handoff::on_handoff_reviewed`; resume: asks again.
    Reviewing { request: RequestId, then: SuccessorReason, draft: Box<PendingHandoff> },
    /// `WriteHandoff`.
    /// Set by `handoff::write_handoff`; outcome: `handoff::on_handoff_written`, then `verdicts::start_successor`; resume:
    /// repeats.
    HandingOff { action: ActionId, then: SuccessorReason, draft: Box<PendingHandoff> },
    /// `ValidateHandoff` of the newest handoff, before a session starts from it after a while.
    /// Set by `handoff::revalidate_or_prompt`; outcome: `handoff::on_handoff_revalidated`; resume: replaces the session.
    RevalidatingHandoff { action: ActionId, kind: PromptKind, focus: Vec<ObjectiveIndex> },
    /// `review.assess` of it.
    /// Set by `handoff::on_handoff_revalidated`; answer: `handoff::on_handoff_rereviewed`; resume: replaces the session.
    RereviewingHandoff {
        request: RequestId,
        kind: PromptKind,
        focus: Vec<ObjectiveIndex>,
        found: HandoffCheck,
    },
    /// `EndSession`, until the process is gone.
    /// Set by `transitions::end_session`; the session's end: `transitions::on_session_exited`, then
    /// `transitions::continue_after_session`; resume: the latter at once.
    EndingSession { then: OnSessionEnd },
    /// A provider's limit: nothing is tried before it resets, or before the backoff is over.
    /// Set by `quota::enter_quota_step`; ends with `deadlines::tick_phase` and `quota::on_quota_reset`; resume: stays.
    Quota {
        cause: QuotaCause,
        since: UnixMs,
        until: Option<UnixMs>,
        retry_at: UnixMs,
        focus: Vec<ObjectiveIndex>,
        /// The policy that called it a limit, if that is not Baton's.
        judged_by: Option<String>,
    },
    /// Before a retry.
    /// Set by `verdicts::retry`; ends with `deadlines::tick_phase` and `pauses::continue_phase`; resume: stays.
    Backoff { until: UnixMs },
    /// `MeasureWorkspace`: whether the files are there that the objectives name, now that all of them are taken for done.
    /// Set by `evidence::measure_files_before_checks` and `integration::verify_integration`; outcome:
    /// `evidence::on_measured_before_checks`; resume: repeats.
    MeasuringBeforeChecks { action: ActionId },
    /// `CommitWorktree` of what is to be verified, reviewed and merged.
    /// Set by `worktree_commit::request_commit`; outcome: `worktree_commit::on_committed`; resume: repeats, by `checks::start_verification` if
    /// lost.
    Committing { action: ActionId },
    /// `CommitToBranch` of what it changed.
    /// Set by `branch_commits::request_commit_to_branch`; outcome: `branch_commits::on_committed_to_branch`; resume: repeats.
    CommittingToBranch { action: ActionId, then: OnCommit },
    /// `RestoreWorktree`, or `MeasureWorkspace` where there is no tree of its own: what its checks or its reviewer did to it.
    /// Set by `worktree_commit::request_restore`; outcome: `worktree_commit::on_restored`; resume: repeats.
    Restoring { action: ActionId, then: OnRestore },
    /// `Verify`: the n-th of its commands, and the objective that it is about.
    /// Set by `checks::verify_from`; outcome: `checks::on_verified`; resume: repeats, by `checks::start_verification` if lost.
    Verifying { action: ActionId, check: usize, of: Option<ObjectiveIndex> },
    /// A phase that the host made for it reviews it.
    /// Set by `verification::begin_review`; ends with `verification::end_review`, by the scheduler; resume: stays.
    UnderReview { review: PhaseId },
    /// `Checkpoint`, before it is forked.
    /// Set by `split::request_checkpoint`; outcome: `split::on_checkpointed`; resume: repeats.
    Checkpointing { action: ActionId, parts: Vec<SubPhase> },
    /// `CreateWorktree`: its work tree is made.
    /// Set by `session_start::begin`, `integration::prepare_integration_tree` and `integration::verify_integration`; outcome:
    /// `session_start::on_branched`; resume: repeats, by `pauses::continue_phase` if lost.
    Branching { action: ActionId },
    /// `Merge` of what a sub-phase made.
    /// Set by `integration::request_merge`; outcome: `integration::on_merged`; resume: repeats, by `integration::continue_integration` if lost.
    Merging { action: ActionId, part: PhaseId },
    /// `AbortMerge` of what could not be brought together.
    /// Set by `integration::continue_integration`; outcome: `integration::on_merge_aborted`; resume: as `Merging`.
    AbortingMerge { action: ActionId },
    /// `Land` of what all of them made.
    /// Set by `integration::request_landing`; outcome: `integration::on_landed`; resume: as `Merging`.
    Landing { action: ActionId },
    /// A person has answered: continues as soon as there is a place.
    /// Set by `pauses::continue_at_next_tick`; ends with `pauses::continue_phase`, by the scheduler; resume: stays.
    ResumePending,
    /// `AskUser`.
    /// Set by `pauses::ask_person`; the person's answer: `pauses::on_answered`; resume: stays.
    Paused { question: ActionId, about: PauseReason },
    /// Its sub-phases work.
    /// Set by `split::fork` and `integration::add_merge_phase`; ends with `integration::continue_integration`, by the scheduler; resume: stays.
    Split,
    /// Set by `branch_commits::close`.
    Done,
    /// Set by `pauses::skip` and `scheduler::skip_dependents`.
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
    RepeatPrompt(Vec<ObjectiveIndex>),
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
    /// Some of its checks failed: `VerificationState::failed_checks`.
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
    /// The phase cannot continue by itself.
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
    pub(super) fn measured_focus(&self) -> Option<&[ObjectiveIndex]> {
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
