//! The observation of one objective: its status, and the evidence for it (A11).

#![allow(missing_docs)] // The WIT files document every field; a second copy would drift.

use serde::{Deserialize, Serialize};

use crate::ids::ObjectiveId;

/// `types.objective-status`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectiveStatus {
    #[default]
    Open,
    InProgress,
    Done,
    Failed,
}

/// `types.basis`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum EvidenceKind {
    Checked,
    Reported,
    Files,
    Answer,
    Accepted,
}

impl EvidenceKind {
    /// The words for people after "done": `done · checked`.
    pub const fn words(self) -> &'static str {
        match self {
            EvidenceKind::Checked => "checked",
            EvidenceKind::Reported => "reported",
            EvidenceKind::Files => "by changed files",
            EvidenceKind::Answer => "by its answer",
            EvidenceKind::Accepted => "accepted",
        }
    }
}

/// `types.file-state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileState {
    Missing,
    Unchanged,
    Rewritten,
    Changed,
}

/// `types.expected-file`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedFileView {
    pub path: String,
    pub state: FileState,
}

/// `types.status-report`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReportView {
    pub status: ObjectiveStatus,
    pub note: String,
    pub by_session: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_since: Option<u32>,
}

/// `types.objective`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectiveView {
    pub id: ObjectiveId,
    pub description: String,
    pub status: ObjectiveStatus,
    pub attempts: u32,
    pub files: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_files: Vec<ExpectedFileView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check_passed: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<StatusReportView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_by: Option<EvidenceKind>,
}

impl ObjectiveView {
    /// An open objective that nothing is known about.
    pub fn new(id: ObjectiveId, description: impl Into<String>) -> Self {
        Self {
            id,
            description: description.into(),
            status: ObjectiveStatus::Open,
            attempts: 0,
            files: 0,
            expected_files: Vec::new(),
            check: None,
            check_passed: None,
            reported: None,
            done_by: None,
        }
    }
}
