//! `progress.json` (C19) and `work-items.json` (C1): where each phase stands, what is done, what is open, what comes next.
//! Descriptions of objectives never change; only their status does.

use baton_core::observation::ObjectiveStatus;
use baton_core::view::{PhaseRow, PhaseStatus, RunStatus, RunView};
use baton_core::workflow::Workflow;
use baton_core::{ObjectiveId, PhaseId, Run, RunId, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chronicle::Chronicle;
use super::words::{list, one_line};

/// `progress.json`: one file that lists what is done, what is open and what to do next. A copy for people and agents: the
/// journal holds the truth, up to and including the entry `journal_seq`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Version of this record: 1.
    pub schema: u32,
    /// Id of the run.
    pub run: RunId,
    /// Name of the workflow.
    pub workflow: String,
    /// What it is for.
    pub goal: String,
    /// Where the run stands.
    pub status: RunStatus,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// Time of the newest journal entry that this file tells of.
    pub last_updated: String,
    /// Position of that entry.
    pub journal_seq: Seq,
    /// The one next step.
    pub next_action: String,
    /// The command that takes the run up again, where its host is gone.
    pub resume: String,
    /// Objectives that are done.
    pub done: Vec<ObjectiveId>,
    /// Objectives that are not, in the order in which they are worked on.
    pub open: Vec<ObjectiveId>,
    /// Every phase, sub-phases after their parent.
    pub phases: Vec<PhaseProgress>,
}

/// One phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseProgress {
    /// Its id.
    pub phase: PhaseId,
    /// What it is about.
    pub phase_name: String,
    /// Where it stands.
    pub status: PhaseStatus,
    /// When it began, once it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// Its objectives, in the order of the workflow.
    pub objectives: Vec<ObjectiveProgress>,
    /// The one that is worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_objective: Option<ObjectiveId>,
    /// What was tried and did not work: do not try it again.
    pub approaches_tried: Vec<Approach>,
    /// Handoffs so far.
    pub handoff_count: usize,
    /// The newest, workspace-relative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_handoff: Option<String>,
}

/// An objective.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectiveProgress {
    /// Its id.
    pub id: ObjectiveId,
    /// What is to be done; never changes.
    pub description: String,
    /// Where it stands.
    pub status: ObjectiveWord,
}

/// Where an objective stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveWord {
    /// Nobody has begun it.
    NotStarted,
    /// It was given to an agent.
    InProgress,
    /// It is done.
    Done,
    /// An agent reported that it cannot be done.
    Failed,
}

impl From<ObjectiveStatus> for ObjectiveWord {
    fn from(status: ObjectiveStatus) -> Self {
        match status {
            ObjectiveStatus::Open => Self::NotStarted,
            ObjectiveStatus::InProgress => Self::InProgress,
            ObjectiveStatus::Done => Self::Done,
            ObjectiveStatus::Failed => Self::Failed,
        }
    }
}

/// Something that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Approach {
    /// What was tried.
    pub approach: String,
    /// What came of it.
    pub result: String,
}

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
    /// Done, or verified.
    pub passes: bool,
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

impl Progress {
    /// Where a run stands.
    pub(super) fn of(run: &Run, view: &RunView, chronicle: &Chronicle) -> Self {
        let (done, open): (Vec<_>, Vec<_>) =
            objectives(view).into_iter().partition(|held| held.status == ObjectiveStatus::Done);
        let ids = |held: Vec<Held<'_>>| held.into_iter().map(|held| held.id.clone()).collect();
        Self {
            schema: 1,
            run: view.run.clone(),
            workflow: view.workflow.clone(),
            goal: view.goal.clone(),
            status: view.status,
            started_at: view.started_at.rfc3339(),
            last_updated: chronicle.at.rfc3339(),
            journal_seq: chronicle.seq,
            next_action: next_action(view),
            resume: format!("baton resume {}", view.run),
            done: ids(done),
            open: ids(open),
            phases: view.phases.iter().map(|row| PhaseProgress::of(run, row, chronicle)).collect(),
        }
    }
}

impl PhaseProgress {
    fn of(run: &Run, row: &PhaseRow, chronicle: &Chronicle) -> Self {
        let current = row.objectives.iter().find(|objective| objective.status == ObjectiveStatus::InProgress);
        Self {
            phase: row.id.clone(),
            phase_name: row.title.clone(),
            status: row.status,
            started_at: chronicle.phases.get(&row.id).map(|at| at.rfc3339()),
            objectives: row
                .objectives
                .iter()
                .map(|objective| ObjectiveProgress {
                    id: objective.id.clone(),
                    description: objective.description.clone(),
                    status: objective.status.into(),
                })
                .collect(),
            current_objective: current.map(|objective| objective.id.clone()),
            approaches_tried: run
                .attempts(&row.id)
                .map(|tried| Approach { approach: tried.approach.clone(), result: tried.outcome.clone() })
                .collect(),
            handoff_count: row.handoffs.len(),
            newest_handoff: row.handoffs.first().map(|handoff| handoff.path.clone()),
        }
    }
}

impl WorkItems {
    /// Everything that a run has to do.
    pub(super) fn of(workflow: &Workflow, view: &RunView) -> Self {
        let spec = |id: &ObjectiveId| {
            let mut all = workflow.phases.iter().flat_map(|phase| &phase.objectives);
            all.find(|objective| objective.id == *id)
        };
        let mut items = Vec::new();
        for phase in &view.phases {
            for held in objectives(view).iter().filter(|held| held.phase.id == phase.id) {
                items.push(WorkItem {
                    id: held.id.to_string(),
                    kind: WorkItemKind::Objective,
                    phase: phase.id.clone(),
                    description: held.description.to_owned(),
                    files: spec(held.id).map(|objective| objective.files.clone()).unwrap_or_default(),
                    passes: held.status == ObjectiveStatus::Done,
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
                });
            }
        }
        Self { schema: 1, run: view.run.clone(), items }
    }
}

/// An objective and the phase that holds it now.
pub(super) struct Held<'a> {
    pub(super) phase: &'a PhaseRow,
    pub(super) id: &'a ObjectiveId,
    pub(super) description: &'a str,
    pub(super) status: ObjectiveStatus,
}

/// Every objective once. A phase that was split gave its own to its sub-phases, which stand after it.
pub(super) fn objectives(view: &RunView) -> Vec<Held<'_>> {
    let mut held: Vec<Held<'_>> = Vec::new();
    for phase in &view.phases {
        for row in &phase.objectives {
            let now = Held { phase, id: &row.id, description: &row.description, status: row.status };
            match held.iter_mut().find(|held| held.id == &row.id) {
                // Once the parts are over, parent and part say the same.
                Some(before) => *before = now,
                None => held.push(now),
            }
        }
    }
    held
}

/// The one next step, from facts alone: what agents said is in the handoff that it points to.
pub(super) fn next_action(view: &RunView) -> String {
    if let Some(question) = view.questions.first() {
        let choices: Vec<&str> = question.choices.iter().map(|choice| choice.name()).collect();
        let command = format!("baton answer {} {} --resume", view.run, choices.join("|"));
        return format!("Answer the question: {} ({command})", one_line(&question.text));
    }
    let open = objectives(view).into_iter().filter(|held| held.status != ObjectiveStatus::Done);
    let mut open = open.filter(|held| held.phase.status != PhaseStatus::Skipped);
    if let Some(next) = open.next() {
        let read = next.phase.handoffs.first().map(|handoff| format!(" Read first: {}.", handoff.path));
        return format!(
            "Work on {} of phase {}: {}{}",
            next.id,
            next.phase.id,
            one_line(next.description),
            read.unwrap_or_default()
        );
    }
    let over = |phase: &&PhaseRow| matches!(phase.status, PhaseStatus::Done | PhaseStatus::Skipped);
    let left: Vec<&PhaseId> =
        view.phases.iter().filter(|phase| !over(phase)).map(|phase| &phase.id).collect();
    match left.as_slice() {
        [] => "Nothing: every phase is over.".to_owned(),
        left => format!("Verify what is done: every objective of {} is.", list(left)),
    }
}
