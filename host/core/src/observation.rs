//! The observations of a policy. The records mirror `wit/` one to one; `wit/` documents every field.
//!
//! Texts are named by index into [`PolicyRequest::texts`]; the engine serves them through handles.

#![allow(missing_docs)] // The WIT files document every field; a second copy would drift.

mod facts;
mod handoff;
mod objective;

use serde::{Deserialize, Serialize};

use crate::decision::{Assessment, CompletionDecision};
use crate::facts::{Capabilities, GitFacts, OccupancySource, ProcessExit, SignalSource};
use crate::ids::{Digest, ObjectiveId, PhaseId, Seq};
use crate::serde_defaults::is_default;
use crate::text::TextBlob;
use crate::time::UnixMs;
use crate::view::PhaseOrigin;
use crate::workflow::SplitTime;

pub use crate::capability::Capability;
pub use facts::{PastCompaction, PastHandoff, PastSession, PastTurn, PastWait, QueryFacts};
pub use handoff::{
    ArtifactView, Attempt, CommandRunView, CommitView, ConflictView, ContextFile, EntryPointKind,
    EntryPointView, FileReadView, HandoffFinding, HandoffObservation, HandoffReference, LessonKind,
    LessonView, ObjectiveNote, OmittedCounts, PromptKind, ReportedHandoffView, VerificationView,
    WithheldCounts,
};
pub use objective::{
    EvidenceKind, ExpectedFileView, FileState, ObjectiveStatus, ObjectiveView, StatusReportView,
};

/// Names a text of a question, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TextId(pub u32);

/// A range of bytes in a text: start inclusive, end exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSpan {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A question to a policy, with the texts it refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyRequest {
    /// The observation, by kind of judgment.
    #[serde(rename = "ask")]
    pub query: PolicyQuery,
    /// The texts that `TextId`s in it name.
    pub texts: Vec<TextBlob>,
    /// What the host knows beside it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub facts: QueryFacts,
}

impl PolicyRequest {
    /// Without facts beside it.
    pub fn new(query: PolicyQuery, texts: Vec<TextBlob>) -> Self {
        Self { query, texts, facts: QueryFacts::default() }
    }
}

/// One call of one function of the contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "function", content = "observation", rename_all = "kebab-case")]
pub enum PolicyQuery {
    /// `exhaustion.assess`.
    #[serde(rename = "assess")]
    Exhaustion(Box<SessionObservation>),
    /// `completion.decide`.
    #[serde(rename = "complete")]
    Completion(Box<CompletionObservation>),
    /// `recovery.decide`.
    #[serde(rename = "recover")]
    Recovery(Box<RecoveryObservation>),
    /// `compaction.decide`.
    Compaction(Box<CompactionObservation>),
    /// `offloading.decide`.
    #[serde(rename = "offload")]
    Offloading(Box<OffloadingObservation>),
    /// `splitting.decide`.
    #[serde(rename = "split")]
    Splitting(Box<SplittingObservation>),
    /// `budgeting.decide`.
    #[serde(rename = "budget")]
    Budgeting(Box<BudgetingObservation>),
    /// `prompting.compose`.
    #[serde(rename = "brief")]
    Prompting(Box<HandoffObservation>),
    /// `handoff.compose`.
    #[serde(rename = "compose")]
    Handoff(Box<HandoffObservation>),
    /// `review.assess`.
    Review(Box<ReviewObservation>),
}

impl PolicyQuery {
    /// Which capability answers it.
    pub fn capability(&self) -> Capability {
        match self {
            PolicyQuery::Exhaustion(_) => Capability::Exhaustion,
            PolicyQuery::Completion(_) => Capability::Completion,
            PolicyQuery::Recovery(_) => Capability::Recovery,
            PolicyQuery::Compaction(_) => Capability::Compaction,
            PolicyQuery::Offloading(_) => Capability::Offloading,
            PolicyQuery::Splitting(_) => Capability::Splitting,
            PolicyQuery::Budgeting(_) => Capability::Budgeting,
            PolicyQuery::Prompting(_) => Capability::Prompting,
            PolicyQuery::Handoff(_) => Capability::Handoff,
            PolicyQuery::Review(_) => Capability::Review,
        }
    }

    /// Whether it is about a session whose prompt has not ended.
    pub fn is_at_work(&self) -> bool {
        let session = match self {
            PolicyQuery::Exhaustion(session) => session,
            PolicyQuery::Completion(seen) => &seen.session,
            PolicyQuery::Recovery(seen) => &seen.session,
            _ => return false,
        };
        !matches!(session.occasion, AssessTrigger::PromptEnded | AssessTrigger::SessionEnded)
    }

    /// `interface.function`, as in the contract.
    pub fn function(&self) -> &'static str {
        self.capability().function()
    }
}

/// `types.signal`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalView {
    pub seq: Seq,
    pub channel: SignalSource,
    pub age_ms: u64,
    pub prompt: u32,
    pub code: Option<String>,
    pub status: Option<u16>,
    pub resets_at_ms: Option<UnixMs>,
    pub retrying: bool,
    pub text: TextSpan,
}

/// `types.occupancy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OccupancyView {
    pub used_tokens: Option<u64>,
    pub window_tokens: Option<u64>,
    pub source: OccupancySource,
    pub age_ms: u64,
}

/// `types.session-state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SessionState {
    Starting,
    Idle,
    Working,
    WaitingApproval,
    WaitingQuota,
    Compacting,
    Ended,
}

/// `types.turn`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnView {
    pub ordinal: u32,
    pub prompt: u32,
    pub used_tokens: Option<u64>,
    pub output_tokens: u64,
    pub tool_calls: u32,
    pub rereads: u32,
    pub tool_output_bytes: u64,
    pub text_bytes: u64,
}

/// `types.session`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionView {
    pub agent: String,
    pub role: String,
    pub state: SessionState,
    pub capabilities: Capabilities,
    pub occupancy: OccupancyView,
    pub continuation: u32,
    pub prompts: u32,
    pub turns: u32,
    pub max_turns: Option<u32>,
    pub compactions: u32,
    pub turns_since_compaction: Option<u32>,
    pub billed_input_tokens: u64,
    pub billed_output_tokens: u64,
    pub idle_ms: u64,
    pub active_ms: u64,
    pub exit: Option<ProcessExit>,
    pub recent: Vec<TurnView>,
}

/// `types.progress`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgressView {
    pub done: u32,
    pub open: u32,
    pub failed: u32,
    pub done_by_session: u32,
}

/// `types.changed-file`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFileView {
    pub path: String,
    pub bytes: u64,
    pub exists: bool,
    pub by_session: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// `types.git-facts`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitView {
    pub branch: Option<String>,
    pub commits_since: u32,
    pub dirty_files: u32,
}

impl GitView {
    /// What a policy gets of these facts; none if the workspace is not a work tree.
    pub fn of(facts: &GitFacts) -> Option<Self> {
        facts.present.then(|| Self {
            branch: said(&facts.branch),
            commits_since: facts.commits_since,
            dirty_files: facts.dirty_files,
        })
    }
}

/// The text, if it is not empty.
pub(crate) fn said(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// `types.budget`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetView {
    pub turns: Option<u32>,
    pub turns_used: u32,
    pub continuations: u32,
    pub continuations_used: u32,
    pub retries: u32,
    pub retries_used: u32,
}

/// `types.origin`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OriginView {
    #[default]
    Workflow,
    Split,
    Review,
    Merge,
    Other(String),
}

impl From<PhaseOrigin> for OriginView {
    fn from(origin: PhaseOrigin) -> Self {
        match origin {
            PhaseOrigin::Workflow => OriginView::Workflow,
            PhaseOrigin::Split => OriginView::Split,
            PhaseOrigin::Review => OriginView::Review,
            PhaseOrigin::Merge => OriginView::Merge,
        }
    }
}

/// `types.iteration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IterationView {
    pub ordinal: u32,
    pub at_most: u32,
}

/// `types.phase`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseView {
    pub id: PhaseId,
    pub title: String,
    pub mode: String,
    pub depth: u32,
    pub budget: BudgetView,
    pub progress: ProgressView,
    pub expects_files: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<EvidenceKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_passed: Option<bool>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub depends_on: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub origin: OriginView,
    #[serde(default, skip_serializing_if = "is_default")]
    pub complex: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iteration: Option<IterationView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// Pairs for experiments.
pub type Attributes = Vec<(String, String)>;

/// `questions.occasion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AssessTrigger {
    Turn,
    Signal,
    PromptEnded,
    SessionEnded,
    Heartbeat,
}

/// `questions.session-observation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionObservation {
    pub occasion: AssessTrigger,
    pub session: SessionView,
    pub phase: PhaseView,
    pub signals: Vec<SignalView>,
    pub window: TextId,
    pub answer_bytes: u64,
    pub files_changed: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub phase_files_changed: u32,
    pub files_missing: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objectives: Vec<ObjectiveView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others_open: Vec<ObjectiveId>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub handoff_reported: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handoff: Option<ReportedHandoffView>,
    pub nudges: u32,
    #[serde(default, skip_serializing_if = "is_default")]
    pub asked_at_ms: UnixMs,
    #[serde(default, skip_serializing_if = "is_default")]
    pub utc_offset_minutes: i32,
    pub git: Option<GitView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_request: Option<SplitRequestView>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub review_missing: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_not_taken: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub imported: bool,
    pub attributes: Attributes,
}

/// `questions.completion-observation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionObservation {
    pub session: SessionObservation,
    pub assessment: Assessment,
}

/// `questions.recovery-observation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryObservation {
    pub session: SessionObservation,
    pub assessment: Assessment,
    pub completion: Option<CompletionDecision>,
    /// None in journals without this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_roles: Option<Vec<String>>,
}

/// `questions.item-kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextItemKind {
    ToolResult,
    ToolInput,
}

/// `questions.item`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextItem {
    pub id: String,
    pub kind: ContextItemKind,
    pub tokens: u64,
}

/// `questions.compaction-observation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionObservation {
    pub session: SessionView,
    pub phase: PhaseView,
    pub refilled_within_turns: Option<u32>,
    pub attributes: Attributes,
}

/// `questions.offloading-observation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OffloadingObservation {
    pub session: SessionView,
    pub phase: PhaseView,
    pub items: Vec<ContextItem>,
    pub attributes: Attributes,
}

/// `questions.split-occasion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitTrigger {
    PhaseStart,
    Boundary,
    Requested,
    OutOfContinuations,
}

/// `questions.split-group`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitGroup {
    pub title: String,
    pub objectives: Vec<ObjectiveId>,
}

/// `questions.split-request`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitRequestView {
    pub groups: Vec<SplitGroup>,
    pub rationale: String,
}

/// `questions.split-limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SplitLimits {
    pub parts: u32,
    pub depth: u32,
}

/// `questions.splitting-observation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplittingObservation {
    pub occasion: SplitTrigger,
    pub phase: PhaseView,
    pub objectives: Vec<ObjectiveView>,
    pub requested: Option<SplitRequestView>,
    pub limits: SplitLimits,
    #[serde(default, skip_serializing_if = "is_default")]
    pub wish: SplitTime,
    pub files_changed: u32,
    pub workspace_files: u32,
    pub recent: Vec<TurnView>,
    pub window_tokens: Option<u64>,
    pub git: Option<GitView>,
    pub attributes: Attributes,
}

/// `questions.budgeting-observation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetingObservation {
    pub phase: PhaseView,
    pub role: String,
    pub objectives: Vec<ObjectiveView>,
    pub workspace_files: u32,
    pub base_turns: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent: Option<TurnUsage>,
    pub attributes: Attributes,
}

/// `questions.turns-spent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnUsage {
    pub objectives_done: u32,
    pub files_changed: u32,
    pub idle_grants: u32,
    pub ceiling: Option<u32>,
}

/// `questions.review-observation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewObservation {
    pub document: TextId,
    pub missing_files: Vec<String>,
    pub secrets: Vec<String>,
    pub commits_since: u32,
    pub diverged: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_objectives: Vec<ObjectiveId>,
    pub attributes: Attributes,
}
