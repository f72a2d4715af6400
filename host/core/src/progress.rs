//! The progress of a run as it is shown to people. Data for the renderer; the wording is the renderer's.

use serde::{Deserialize, Serialize};

use crate::decision::{DecisionSource, Evidence, Finding, QuotaCause, Staleness};
use crate::facts::Refusal;
use crate::grants::{Grants, RequestedGrants};
use crate::ids::{ActionId, ObjectiveId, PhaseId, SessionId};
use crate::input::{PauseAnswer, PolicyBinding, PolicyChangeCause};
use crate::observation::{Capability, EvidenceKind, OccupancyView, PromptKind};
use crate::run_outcome::RunOutcome;
use crate::time::{DurationMs, UnixMs};
use crate::view::{CommitSummary, HandoffRepair};
use crate::workflow::AgentKind;
use crate::worktree::WorktreeName;

/// Something a person wants to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "notice", rename_all = "kebab-case")]
#[allow(missing_docs)] // Each field is what its name says; the variants are documented.
pub enum ProgressEvent {
    /// A phase begins.
    PhaseStarted { phase: PhaseId, title: String, objectives: u32 },
    /// A policy sets other turns for a scope than the table's, with its reason (A2).
    Budgeted { phase: PhaseId, turns: u32, of_table: u32, reason: String },
    /// An agent process was started. `continuation` is k, of `of`, with `remaining` objectives (A7).
    SessionStarted {
        phase: PhaseId,
        session: SessionId,
        agent: AgentKind,
        continuation: u32,
        of: u32,
        remaining: Vec<ObjectiveId>,
        max_turns: u32,
        /// It finishes the rest as the lead (C18).
        lead: bool,
    },
    /// A prompt was sent; `because` is why one is sent again, and empty for any other.
    Prompted {
        phase: PhaseId,
        session: SessionId,
        kind: PromptKind,
        focus: Vec<ObjectiveId>,
        because: String,
    },
    /// A turn ended, or the occupancy moved.
    Turn { phase: PhaseId, session: SessionId, turns: u32, max_turns: u32, occupancy: OccupancyView },
    /// The agent did something worth a word ("Write src/a.rs").
    Activity { phase: PhaseId, session: SessionId, what: String },
    /// A command that the agent ran failed, or was refused.
    CommandFailed { phase: PhaseId, session: SessionId, command: String, said: String },
    /// A file that the agent was to write was not written.
    WriteFailed { phase: PhaseId, session: SessionId, path: String, said: String },
    /// The agent's last message of a prompt, in one line.
    Said { phase: PhaseId, session: SessionId, text: String },
    /// An agent printed faster than the host can store, and this much of its output was left out.
    OutputOmitted { phase: PhaseId, session: SessionId, events: u64, text_bytes: u64 },
    /// A sandbox refused a request of an agent, or of a process that it started (N6).
    Refused { phase: PhaseId, session: SessionId, refusal: Refusal },
    /// The agent retries a request by itself; the provider's error is in `code`, `status` and `text`.
    AgentRetries { phase: PhaseId, session: SessionId, code: String, status: Option<u16>, text: String },
    /// A policy warns; nothing is stopped (D5).
    Warned { phase: PhaseId, session: SessionId, occupancy: OccupancyView, message: String },
    /// An objective is done.
    ObjectiveDone {
        phase: PhaseId,
        objective: ObjectiveId,
        basis: EvidenceKind,
        /// The policy that judged it to be done, if that is not Baton's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judged_by: Option<String>,
        done: u32,
        of: u32,
    },
    /// The default review of a part gave no score: the part is verified with the whole (D12).
    NotReviewed { phase: PhaseId },
    /// Files that git ignores in the tree of a phase, and that the workspace does not have: they are not merged.
    Unseen {
        /// Of which phase.
        phase: PhaseId,
        /// Files and folders, at most 100.
        files: Vec<String>,
    },
    /// Files that the commands of a phase made in addition to its work: they are not merged, and were removed from the tree.
    LeftOut {
        /// Of which phase.
        phase: PhaseId,
        /// Files, at most 100.
        files: Vec<String>,
    },
    /// The changes of a phase are committed; `left` was changed before the run began, `by_checks` was made by its checks or its
    /// reviewers: both stay uncommitted.
    CommittedToBranch {
        phase: PhaseId,
        commit: CommitSummary,
        left: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        by_checks: Vec<String>,
    },
    /// The changes of a phase are not committed.
    NotCommitted { phase: PhaseId, why: String },
    /// A split that an agent asked for is not made.
    SplitDeclined { phase: PhaseId, because: String },
    /// An objective that counted as done is open again.
    Reopened { phase: PhaseId, objective: ObjectiveId, because: String },
    /// The host asked the agent to compact.
    Compacting { phase: PhaseId, session: SessionId, reason: String },
    /// The context is shorter now; `asked` is true if the host requested it.
    Compacted { phase: PhaseId, session: SessionId, asked: bool, before: Option<u64>, after: Option<u64> },
    /// A compaction did nothing.
    CompactionFailed { phase: PhaseId, session: SessionId, text: String },
    /// A session stopped for another reason than being done.
    Stopped { phase: PhaseId, session: SessionId, verdict: String, evidence: Vec<Evidence>, reason: String },
    /// A handoff was written.
    HandedOff { phase: PhaseId, session: SessionId, path: String, remaining: Vec<ObjectiveId> },
    /// A handoff document was refused, and how it was repaired (C8).
    HandoffRepaired {
        phase: PhaseId,
        session: SessionId,
        /// Of the document that was refused; absent if it could not be inspected.
        score: Option<u32>,
        /// The policy that refused it, if it is not Baton's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        findings: Vec<Finding>,
        repair: HandoffRepair,
    },
    /// A handoff was checked again before a session starts from it (C9).
    HandoffReviewed { phase: PhaseId, path: String, staleness: Staleness, commits_since: u32 },
    /// A provider's limit: the clocks are stopped (B4–B6).
    QuotaWait {
        phase: PhaseId,
        session: SessionId,
        cause: QuotaCause,
        since: UnixMs,
        until: Option<UnixMs>,
        /// When the host tries again if the end of the limit is unknown; absent if the agent waits by itself.
        retry_at: Option<UnixMs>,
        /// Which wait of the host's in this phase, from 1.
        time: u32,
        /// The agent has reported that it retries by itself.
        by_itself: bool,
        /// What the limit was noticed by, in the words of the agent or its provider; at most 200 bytes, empty if unknown.
        said: String,
        /// The policy that called it a limit, if that is not Baton's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        judged_by: Option<String>,
    },
    /// The wait is over. If its length was unknown, this is only another try.
    QuotaOver { phase: PhaseId, session: SessionId, waited: DurationMs, is_try: bool },
    /// Something failed and is tried again.
    Retrying { phase: PhaseId, attempt: u32, of: u32, after: DurationMs, because: String },
    /// A phase was split (D7).
    Split {
        phase: PhaseId,
        sub_phases: Vec<(PhaseId, String)>,
        objectives: u32,
        reason: String,
        /// How many of the sub-phases may be at work at a time.
        at_once: u32,
    },
    /// The work of a sub-phase is in the tree where the parts are merged.
    Merged { phase: PhaseId, into: PhaseId, files: u32 },
    /// The work of a sub-phase conflicts with the merged parts; a session resolves it.
    Conflict { phase: PhaseId, into: PhaseId, files: Vec<String> },
    /// The work of the sub-phases is in the place where the phase began; `committed` is true if the branch there contains it.
    Landed { phase: PhaseId, commit: String, committed: bool, files: u32 },
    /// A sub-phase stays open; its work is kept on its branch, and is not merged.
    KeptApart { phase: PhaseId, tree: WorktreeName },
    /// A reviewer has given a score.
    Reviewed { phase: PhaseId, score: u32, passed: bool, summary: String },
    /// The loop begins again at a phase, for the k-th time of at most `of` (B10).
    Iterating { from: PhaseId, by: PhaseId, iteration: u32, of: u32 },
    /// A command that the work is held to runs before the work.
    CheckingFirst { phase: PhaseId, command: String },
    /// It ended.
    CheckedFirst { phase: PhaseId, command: String, passed: bool, code: Option<i32> },
    /// A verification ended.
    Verified { phase: PhaseId, passed: bool, code: Option<i32>, attempt: u32 },
    /// A phase is done.
    PhaseDone { phase: PhaseId },
    /// The work of a phase changed files that a command runs which it is held to.
    CheckChanged { phase: PhaseId, command: String, files: Vec<String> },
    /// A decision was not made by the component configured for it, or was refused. `policy` made it; empty if no component did.
    FellBack { capability: Capability, by: DecisionSource, policy: String, because: String },
    /// A policy requests more than every policy has; notified before its first question.
    PolicyWants { policy: String, wants: RequestedGrants, granted: Grants, refused: RequestedGrants },
    /// Others decide from now on; `was` names those before, if that very scope had any.
    PolicyChanged {
        #[serde(rename = "pins")]
        bindings: Vec<PolicyBinding>,
        was: Vec<String>,
        cause: PolicyChangeCause,
    },
    /// A policy had too many faults in a row and is not asked any more. `to` decides instead; `again` says that it has decided this before.
    PolicyTakenBack { policy: String, to: Box<PolicyBinding>, again: bool, faults: u32, because: String },
    /// A policy that was to decide was refused; nothing has changed.
    PolicyRefused { policy: String, why: String },
    /// A report through a file was refused; a file next to it has the reason as well.
    ReportRefused { file: String, why: String },
    /// The `[notify]` command did not do its work.
    NotTold { event: String, why: String },
    /// The run waits for the user.
    Paused { question: ActionId, phase: Option<PhaseId>, text: String, choices: Vec<PauseAnswer> },
    /// The user answered.
    Answered { question: ActionId, choice: PauseAnswer },
    /// A host resumed the run, and found that these sessions have ended.
    Resumed { lost: Vec<SessionId> },
    /// The run is over.
    Finished { ending: RunOutcome },
}
