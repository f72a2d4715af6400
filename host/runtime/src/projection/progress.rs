//! `progress.json` and `progress/phase-{P}-progress.json` (C19): where each phase stands, what is done, what is open, what
//! comes next. Descriptions of objectives never change; only what is known of them does.

use baton_core::observation::{EvidenceKind, ObjectiveStatus};
use baton_core::view::{ObjectiveSummary, PhaseStatus, PhaseSummary, RunStatus, RunView};
use baton_core::{ObjectiveId, PhaseId, Run, RunId, Seq, UnixMs};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_format::{list, one_line};
use super::timeline::RunTimeline;

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
    /// Since when a phase waits for its provider, ISO 8601; the longest wait, if there are several. Absent while none
    /// waits (B9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_wait_since: Option<String>,
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
    /// When something last happened in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// When it was done, while it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
    /// Since when it waits for its provider, ISO 8601; absent while it does not (B9).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_wait_since: Option<String>,
    /// Its objectives, in the order of the workflow.
    pub objectives: Vec<ObjectiveProgress>,
    /// The one that is worked on, or comes next; absent once all are done.
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
    pub status: ObjectiveProgressStatus,
    /// What shows that it is done: "checked", "reported", "files", "answer" or "accepted" (A11).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_by: Option<EvidenceKind>,
    /// What an agent said of it last ("3 of 5 cases done").
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// When an agent was first asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// When its status or note last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    /// When it was done, while it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<String>,
}

/// Where an objective stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ObjectiveProgressStatus {
    /// No session has begun it.
    NotStarted,
    /// It was given to an agent.
    InProgress,
    /// It is done.
    Done,
    /// An agent reported that it cannot be done.
    Failed,
}

impl From<ObjectiveStatus> for ObjectiveProgressStatus {
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

impl Progress {
    /// Where a run stands.
    pub(super) fn of(run: &Run, view: &RunView, timeline: &RunTimeline) -> Self {
        let (done, open): (Vec<_>, Vec<_>) =
            objectives(view).into_iter().partition(|held| held.status == ObjectiveStatus::Done);
        let ids = |held: Vec<HeldObjective<'_>>| held.into_iter().map(|held| held.id.clone()).collect();
        Self {
            schema: 1,
            run: view.run.clone(),
            workflow: view.workflow.clone(),
            goal: view.goal.clone(),
            status: view.status,
            started_at: view.started_at.rfc3339(),
            last_updated: timeline.at.rfc3339(),
            journal_seq: timeline.seq,
            // Times of one form sort as texts.
            quota_wait_since: view.phases.iter().filter_map(|row| row.quota_wait_since.clone()).min(),
            next_action: next_action(view),
            resume: format!("baton resume {}", view.run),
            done: ids(done),
            open: ids(open),
            phases: view.phases.iter().map(|row| PhaseProgress::of(run, row, timeline)).collect(),
        }
    }
}

impl PhaseProgress {
    fn of(run: &Run, row: &PhaseSummary, timeline: &RunTimeline) -> Self {
        let with = |wanted: ObjectiveStatus| row.objectives.iter().find(|one| one.status == wanted);
        let current = with(ObjectiveStatus::InProgress).or_else(|| with(ObjectiveStatus::Open));
        let current = current.or_else(|| with(ObjectiveStatus::Failed));
        let spell = timeline.phases.get(&row.id);
        let of_objectives = row.objectives.iter().filter_map(|objective| objective.updated_at);
        let updated = spell.map(|spell| of_objectives.fold(spell.updated, UnixMs::max));
        Self {
            phase: row.id.clone(),
            phase_name: row.title.clone(),
            status: row.status,
            started_at: spell.map(|spell| spell.began.rfc3339()),
            last_updated: updated.map(UnixMs::rfc3339),
            completed_at: spell.and_then(|spell| spell.done).map(UnixMs::rfc3339),
            quota_wait_since: row.quota_wait_since.clone(),
            objectives: row.objectives.iter().map(ObjectiveProgress::of).collect(),
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

impl ObjectiveProgress {
    fn of(row: &ObjectiveSummary) -> Self {
        Self {
            id: row.id.clone(),
            description: row.description.clone(),
            status: row.status.into(),
            done_by: row.done_by,
            note: row.note.clone(),
            started_at: row.started_at.map(UnixMs::rfc3339),
            last_updated: row.updated_at.map(UnixMs::rfc3339),
            completed_at: row.completed_at.map(UnixMs::rfc3339),
        }
    }
}

/// An objective and the phase that holds it now.
pub(super) struct HeldObjective<'a> {
    pub(super) phase: &'a PhaseSummary,
    pub(super) id: &'a ObjectiveId,
    pub(super) description: &'a str,
    pub(super) status: ObjectiveStatus,
    pub(super) done_by: Option<EvidenceKind>,
    /// Every check that it is held to has passed, in whichever phase: its own, its parent's.
    pub(super) checks_agree: bool,
}

/// Every objective once. A phase that was split gave its own to its sub-phases, which stand after it.
pub(super) fn objectives(view: &RunView) -> Vec<HeldObjective<'_>> {
    let mut held: Vec<HeldObjective<'_>> = Vec::new();
    for phase in &view.phases {
        for row in &phase.objectives {
            let (id, description, status) = (&row.id, row.description.as_str(), row.status);
            let checks_agree = row.check_passed.unwrap_or(!row.has_check);
            let now = HeldObjective { phase, id, description, status, done_by: row.done_by, checks_agree };
            match held.iter_mut().find(|held| held.id == &row.id) {
                // Once the parts are over, parent and part say the same.
                Some(before) => {
                    *before = HeldObjective { checks_agree: checks_agree && before.checks_agree, ..now }
                }
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
    let over = |phase: &&PhaseSummary| matches!(phase.status, PhaseStatus::Done | PhaseStatus::Skipped);
    let left: Vec<&PhaseId> =
        view.phases.iter().filter(|phase| !over(phase)).map(|phase| &phase.id).collect();
    match left.as_slice() {
        [] => "Nothing: every phase is over.".to_owned(),
        left => format!("Verify what is done: every objective of {} is.", list(left)),
    }
}
