//! Projects into the workspace what people and agents read: progress (C19) beside the handoffs and summaries that
//! `actuate` writes. These are copies: the journal holds the truth, so a projection that fails stops nothing.

use std::collections::BTreeMap;

use baton_core::observation::ObjectiveStatus;
use baton_core::view::{PhaseRow, PhaseStatus, RunView};
use baton_core::{ObjectiveId, PhaseId, Run, RunId, UnixMs};
use baton_workspace::Workspace;
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// The folder, below the workspace, in which every run has its task folder.
pub(crate) const FOLDER: &str = ".baton";

/// Where a run is projected, workspace-relative.
pub(crate) fn task_folder(run: &RunId) -> String {
    format!("{FOLDER}/{run}")
}

/// When each phase began: the one thing of a progress file that core has no use for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beginnings(BTreeMap<PhaseId, UnixMs>);

impl Beginnings {
    /// The first beginning counts: a phase that begins again after a restart is the same phase.
    pub(crate) fn note(&mut self, phase: PhaseId, at: UnixMs) {
        self.0.entry(phase).or_insert(at);
    }
}

/// `progress.json`: where each phase stands, in the words of its schema.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Progress {
    schema: u32,
    run: RunId,
    workflow: String,
    goal: String,
    started_at: String,
    last_updated: String,
    phases: Vec<PhaseProgress>,
}

/// One phase of it. Descriptions of objectives never change; only their `status` does.
#[derive(Debug, PartialEq, Serialize)]
struct PhaseProgress {
    phase: PhaseId,
    phase_name: String,
    status: PhaseStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<String>,
    objectives: Vec<ObjectiveProgress>,
    #[serde(skip_serializing_if = "Option::is_none")]
    current_objective: Option<ObjectiveId>,
    approaches_tried: Vec<Approach>,
    handoff_count: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    newest_handoff: Option<String>,
}

#[derive(Debug, PartialEq, Serialize)]
struct ObjectiveProgress {
    id: ObjectiveId,
    description: String,
    status: &'static str,
}

#[derive(Debug, PartialEq, Serialize)]
struct Approach {
    approach: String,
    result: String,
}

/// The words of the schema.
fn word(status: ObjectiveStatus) -> &'static str {
    match status {
        ObjectiveStatus::Open => "not_started",
        ObjectiveStatus::InProgress => "in_progress",
        ObjectiveStatus::Done => "done",
        ObjectiveStatus::Failed => "failed",
    }
}

impl Progress {
    /// The progress of a run. `at` is the time of its newest input.
    pub(crate) fn of(run: &Run, view: &RunView, beginnings: &Beginnings, at: UnixMs) -> Self {
        Self {
            schema: 1,
            run: view.run.clone(),
            workflow: view.workflow.clone(),
            goal: view.goal.clone(),
            started_at: view.started_at.rfc3339(),
            last_updated: at.rfc3339(),
            phases: view.phases.iter().map(|row| PhaseProgress::of(run, row, beginnings)).collect(),
        }
    }

    /// Whether anything but the time differs.
    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        self.phases == other.phases
    }
}

impl PhaseProgress {
    fn of(run: &Run, row: &PhaseRow, beginnings: &Beginnings) -> Self {
        let current = row.objectives.iter().find(|objective| objective.status == ObjectiveStatus::InProgress);
        Self {
            phase: row.id.clone(),
            phase_name: row.title.clone(),
            status: row.status,
            started_at: beginnings.0.get(&row.id).map(|at| at.rfc3339()),
            objectives: row
                .objectives
                .iter()
                .map(|objective| ObjectiveProgress {
                    id: objective.id.clone(),
                    description: objective.description.clone(),
                    status: word(objective.status),
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

/// Writes the newest progress, in the background: what is overtaken while a write is under way is never written.
#[derive(Debug)]
pub(crate) struct Projector {
    newest: watch::Sender<Vec<u8>>,
    last: Option<Progress>,
    task: JoinHandle<()>,
}

impl Projector {
    /// Begins to project one run.
    pub(crate) fn start(workspace: Workspace, task_folder: &str) -> Self {
        let (newest, changed) = watch::channel(Vec::new());
        let path = format!("{task_folder}/progress.json");
        Self { newest, last: None, task: tokio::spawn(write_each(workspace, path, changed)) }
    }

    /// Projects where the run stands, if it has moved.
    pub(crate) fn show(&mut self, progress: Progress) {
        if self.last.as_ref().is_some_and(|last| last.says_the_same_as(&progress)) {
            return;
        }
        match serde_json::to_vec_pretty(&progress) {
            Ok(mut bytes) => {
                bytes.push(b'\n');
                self.newest.send_replace(bytes);
                self.last = Some(progress);
            }
            Err(error) => tracing::warn!(%error, "progress cannot be written as JSON"),
        }
    }

    /// Waits until the newest progress is written, and ends.
    pub(crate) async fn finish(self) {
        drop(self.newest);
        // It ends by itself once nothing newer can come; a panic in it is no reason to lose a run.
        let _ = self.task.await;
    }
}

async fn write_each(workspace: Workspace, path: String, mut changed: watch::Receiver<Vec<u8>>) {
    // Git need not hear of what is projected; a `.gitignore` of the user's is not ours to edit.
    put(&workspace, format!("{FOLDER}/.gitignore"), b"*\n".to_vec()).await;
    while changed.changed().await.is_ok() {
        let bytes = changed.borrow_and_update().clone();
        put(&workspace, path.clone(), bytes).await;
    }
}

/// Writes one projected file. The workspace may be gone, or full: then the file is missing, and nothing else.
pub(crate) async fn put(workspace: &Workspace, path: String, bytes: Vec<u8>) {
    let workspace = workspace.clone();
    let written = tokio::task::spawn_blocking(move || workspace.write_projection(&path, &bytes)).await;
    if let Ok(Err(error)) = written {
        tracing::warn!("{error}");
    }
}

#[cfg(test)]
mod tests {
    use baton_core::input::Report;
    use baton_core::{Digest, Input};
    use baton_store::JournalOptions;

    use super::*;
    use crate::testing::{Place, started};

    // C19
    #[tokio::test]
    async fn progress_changes_status_only_and_keeps_what_was_tried() {
        let (place, run) = (Place::new(JournalOptions::default()), RunId::new("r1"));
        let mut scribe = place.scribe(&run);
        scribe.take(started(&run)).unwrap();
        let progress = |scribe: &mut crate::scribe::Scribe| {
            let at = scribe.clock().now();
            let view = scribe.run().view(at).unwrap();
            Progress::of(scribe.run(), &view, scribe.beginnings(), at)
        };
        let before = progress(&mut scribe);
        let reports = [
            Report::AttemptRecord { approach: "by hand".into(), outcome: "too slow".into() },
            Report::ObjectiveUpdate {
                objective: "a".into(),
                status: ObjectiveStatus::Done,
                note: String::new(),
            },
        ];
        for (i, report) in reports.into_iter().enumerate() {
            let digest = Digest::of(i.to_string());
            scribe.take(Input::Reported { session: None, digest, report }).unwrap();
        }
        let after = progress(&mut scribe);
        assert!(!after.says_the_same_as(&before));
        let json = serde_json::to_value(&after).unwrap();
        let first = &json["phases"][0];
        assert_eq!(first["objectives"][0]["status"], "done");
        assert_eq!(first["objectives"][0]["description"], "write a.txt");
        assert_eq!(first["approaches_tried"][0]["result"], "too slow");
        assert_eq!(first["handoff_count"], 0);
        assert!(first["started_at"].is_string());
        assert_eq!(json["phases"][1]["objectives"][0]["status"], "not_started");
        assert!(json["phases"][1].get("started_at").is_none());
    }

    #[tokio::test]
    async fn the_newest_progress_is_on_disk_at_the_end_and_a_lost_workspace_is_no_error() {
        let (place, run) = (Place::new(JournalOptions::default()), RunId::new("r1"));
        let mut scribe = place.scribe(&run);
        scribe.take(started(&run)).unwrap();
        let show = |scribe: &mut crate::scribe::Scribe, projector: &mut Projector| {
            let at = scribe.clock().now();
            let view = scribe.run().view(at).unwrap();
            projector.show(Progress::of(scribe.run(), &view, scribe.beginnings(), at));
        };
        let workspace = Workspace::open(&place.workspace).unwrap();
        let mut projector = Projector::start(workspace.clone(), ".baton/r1");
        show(&mut scribe, &mut projector);
        projector.finish().await;
        let written = std::fs::read_to_string(place.workspace.join(".baton/r1/progress.json")).unwrap();
        assert!(written.contains("\"phase\": \"first\""));
        assert_eq!(std::fs::read_to_string(place.workspace.join(".baton/.gitignore")).unwrap(), "*\n");

        std::fs::remove_dir_all(&place.workspace).unwrap();
        let mut projector = Projector::start(workspace, ".baton/r1");
        show(&mut scribe, &mut projector);
        projector.finish().await;
        assert!(!place.workspace.exists(), "a workspace that is gone is not made anew");
    }
}
