//! `work-items.json` (C1): everything that is to be done, with pass or fail. Something passes if it is done and no check in
//! force says otherwise: a check that has not run yet, or that failed, holds it back.

use baton_core::observation::{EvidenceKind, ObjectiveStatus};
use baton_core::view::RunView;
use baton_core::workflow::Workflow;
use baton_core::{ObjectiveId, PhaseId, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::progress::objectives;

/// `work-items.json`: everything that is to be done, with pass or fail (C1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItems {
    /// Version of this record: 1.
    pub schema: u32,
    /// Id of the run.
    pub run: RunId,
    /// In the order in which they are worked on: the first that does not pass is next.
    pub items: Vec<WorkItem>,
}

/// One thing to get done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkItem {
    /// Id of the objective; of a verification `PHASE/verify`.
    pub id: String,
    /// An objective, or the verification of a phase.
    pub kind: WorkItemKind,
    /// The phase that it belongs to.
    pub phase: PhaseId,
    /// What is to be done; never changes.
    pub description: String,
    /// Files that must exist afterwards, workspace-relative.
    pub files: Vec<String>,
    /// Done, and no check in force says otherwise; or verified.
    pub passes: bool,
    /// What shows that the objective is done: "checked", "reported", "files", "answer" or "accepted" (A11).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_by: Option<EvidenceKind>,
}

/// What kind of item it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkItemKind {
    /// An objective of the workflow.
    Objective,
    /// The command that must exit 0 when they are done.
    Verification,
}

impl WorkItems {
    /// Everything that a run has to do.
    pub(super) fn of(workflow: &Workflow, view: &RunView) -> Self {
        let spec = |id: &ObjectiveId| {
            let mut all = workflow.phases.iter().flat_map(|phase| &phase.objectives);
            all.find(|objective| objective.id == *id)
        };
        let held = objectives(view);
        let mut items = Vec::new();
        for phase in &view.phases {
            for held in held.iter().filter(|held| held.phase.id == phase.id) {
                items.push(WorkItem {
                    id: held.id.to_string(),
                    kind: WorkItemKind::Objective,
                    phase: phase.id.clone(),
                    description: held.description.to_owned(),
                    files: spec(held.id).map(|objective| objective.files.clone()).unwrap_or_default(),
                    passes: held.status == ObjectiveStatus::Done && held.checks_agree,
                    done_by: held.done_by,
                });
            }
            let verify = workflow.phases.iter().find(|spec| spec.id == phase.id);
            if let Some(command) = verify.and_then(|spec| spec.verify.as_ref()) {
                items.push(WorkItem {
                    id: format!("{}/verify", phase.id),
                    kind: WorkItemKind::Verification,
                    phase: phase.id.clone(),
                    description: format!("`{command}` exits 0"),
                    files: Vec::new(),
                    passes: phase.verified == Some(true),
                    done_by: None,
                });
            }
        }
        Self { schema: 1, run: view.run.clone(), items }
    }
}
