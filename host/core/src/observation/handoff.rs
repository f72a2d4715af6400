//! The observation of a phase when a policy writes a prompt or a handoff.

use serde::{Deserialize, Serialize};

use crate::decision::Staleness;
use crate::ids::{ObjectiveId, PhaseId, SessionId};
use crate::time::UnixMs;

use super::{Attributes, ChangedFileView, GitView, ObjectiveView, PhaseView, SessionView, TextId};
use crate::serde_defaults::is_default;

/// `questions.prompt-kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptKind {
    First,
    Next,
    Continuing,
    ReOriented,
    Nudged,
    Reviewing,
    Merging,
}

/// `questions.artifact`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactView {
    pub name: String,
    pub version: u32,
    pub summary: String,
}

/// `questions.attempt`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    pub approach: String,
    pub outcome: String,
    #[serde(default, skip_serializing_if = "is_default")]
    pub by_person: bool,
}

/// `questions.reported-handoff`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedHandoffView {
    pub session: Option<String>,
    pub current_state: String,
    pub immediate_next_action: String,
    pub critical_context: Vec<String>,
    pub critical_files: Vec<String>,
}

/// `questions.commit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitView {
    pub id: String,
    pub subject: String,
    pub by_session: bool,
}

/// `questions.verification`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerificationView {
    pub passed: bool,
    pub ended_at_ms: UnixMs,
    pub artifact: Option<String>,
}

/// `questions.remark`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectiveNote {
    pub objective: ObjectiveId,
    pub text: String,
}

/// `questions.command-run`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRunView {
    pub line: String,
    pub failed: Option<bool>,
    pub times: u32,
}

/// `questions.file-read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReadView {
    pub path: String,
    pub times: u32,
}

/// `questions.lesson-kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LessonKind {
    Decision,
    Answer,
    Gotcha,
    FailedApproach,
    Pattern,
    /// Of the last handoff that an agent of the phase wrote.
    Handoff,
}

/// `questions.lesson`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LessonView {
    pub phase: PhaseId,
    pub kind: LessonKind,
    pub text: String,
    pub path: Option<String>,
}

/// `questions.entry-kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryPointKind {
    Index,
    Progress,
    WorkItems,
    InitScript,
    Summary,
}

/// `questions.entry-point`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryPointView {
    pub kind: EntryPointKind,
    pub path: String,
}

/// `questions.context-file`; in a workflow, a file of the codebase to read and the sections to focus on (A13).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextFile {
    pub path: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
}

/// `questions.conflict`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConflictView {
    pub with_phase: Option<PhaseId>,
    pub files: Vec<String>,
}

/// `questions.handoff-finding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoffFinding {
    pub commits_since: u32,
    pub missing_files: u32,
    pub diverged: bool,
}

/// `questions.handoff-reference`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoffReference {
    pub path: String,
    pub staleness: Staleness,
    pub found: Option<HandoffFinding>,
}

/// `questions.beyond`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OmittedCounts {
    pub changed_files: u32,
    pub attempts: u32,
    pub decisions: u32,
    pub gotchas: u32,
    pub patterns: u32,
}

/// `questions.withheld`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithheldCounts {
    pub attempts: u32,
    pub decisions: u32,
    pub gotchas: u32,
    pub patterns: u32,
    pub commands: u32,
    pub reads: u32,
}

/// `questions.handoff-observation`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffObservation {
    pub kind: PromptKind,
    pub phase: PhaseView,
    pub session: SessionView,
    pub objectives: Vec<ObjectiveView>,
    pub focus: Vec<ObjectiveId>,
    pub goal: String,
    pub changed_files: Vec<ChangedFileView>,
    pub attempts: Vec<Attempt>,
    pub decisions: Vec<Attempt>,
    pub artifacts: Vec<ArtifactView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_handoff: Option<HandoffReference>,
    pub inbox_path: String,
    pub because: Option<String>,
    pub last_output: Option<TextId>,
    pub findings: Option<TextId>,
    pub git: Option<GitView>,
    pub asked_at_ms: UnixMs,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gotchas: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandRunView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<FileReadView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lessons: Vec<LessonView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entry_points: Vec<EntryPointView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context_files: Vec<ContextFile>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<ReportedHandoffView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationView>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<ObjectiveNote>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts_path: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub beyond: OmittedCounts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words_withheld: Option<WithheldCounts>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub plans_first: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub as_lead: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub compacted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reports_as: Option<SessionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_file: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub result_files: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<ConflictView>,
    pub attributes: Attributes,
}
