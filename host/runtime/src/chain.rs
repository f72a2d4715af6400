//! The handoffs of a phase with what came of them, and any document held to the workspace as it is now. Read-only: takes
//! no lock, and judges nothing.

use std::collections::BTreeSet;

use baton_core::action::{Action, beside};
use baton_core::decision::Decision;
use baton_core::ids::ObjectiveId;
use baton_core::observation::ObjectiveStatus;
use baton_core::view::HandoffRow;
use baton_core::{Input, Outcome, PhaseId, RunId, SessionId};
use baton_store::{ArtifactStore, Entry, Version};
use baton_workspace::Workspace;

use crate::config::HostConfig;
use crate::error::{RuntimeError, Source};
use crate::handoff::{self, Nothing};
use crate::query::{cannot_read, find_state, open_read_only, view_of, which_run};

/// A handoff with everything that belongs to it.
#[derive(Clone, Debug, PartialEq)]
pub struct HandoffEntry {
    /// How the run knows it.
    pub row: HandoffRow,
    /// The document.
    pub document: String,
    /// What the sessions that started from it were told first, oldest first.
    pub packets: Vec<Packet>,
    /// How it stands to the workspace now.
    pub now: Inspection,
    /// Objectives of the phase that are open now.
    pub open_objectives: Vec<ObjectiveId>,
}

/// The first prompt of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Whose.
    pub session: SessionId,
    /// What it says, to the byte.
    pub prompt: String,
    /// What it leaves out, and where that is.
    pub left_out: Vec<String>,
}

/// A document held to the world.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    /// Paths that it names and that are not there.
    pub missing_files: Vec<String>,
    /// Kinds of secrets in it.
    pub secrets: Vec<String>,
    /// Commits since it was made; absent where nobody knows when that was.
    pub commits_since: Option<u32>,
    /// The branch is another one.
    pub diverged: bool,
}

/// The handoffs of a phase, newest first; of the newest run where none is named.
///
/// # Errors
/// As for [`view_of`], and [`RuntimeError::State`] where a document cannot be read.
pub async fn handoffs(
    config: &HostConfig,
    run: Option<&RunId>,
    phase: &PhaseId,
) -> Result<Option<Vec<HandoffEntry>>, RuntimeError> {
    let state = find_state(config)?;
    let journal = open_read_only(&state)?;
    let run = which_run(config, &journal, run)?;
    let view = view_of(config, Some(&run))?;
    let Some(phase) = view.phases.into_iter().find(|row| row.id == *phase) else { return Ok(None) };
    let store = ArtifactStore::open_read_only(&state).map_err(cannot_read(&state))?;
    let failed = |source: Source| RuntimeError::State {
        what: "cannot look at a handoff",
        dir: config.workspace.clone(),
        source,
    };
    // Prompts belong to the handoff that was the newest when they were sent.
    let mut packets: Vec<Vec<Packet>> = vec![Vec::new(); phase.handoffs.len()];
    let (mut newest, mut left_out) = (None, Vec::new());
    for entry in journal.read(&run).map_err(cannot_read(&state))? {
        match entry.map_err(cannot_read(&state))? {
            Entry::Input(stamped) => match stamped.input {
                Input::Outcome { outcome: Outcome::HandoffWritten { artifact, .. }, .. } => {
                    let known = phase.handoffs.iter().position(|row| row.artifact == artifact);
                    newest = known.or(newest);
                }
                Input::Decided { result: Ok(Decision::Brief(brief)), .. } => left_out = brief.left_out,
                _ => {}
            },
            Entry::Intent { intent, .. } => {
                if let (Action::Prompt { session, prompt: 1, text, .. }, Some(of)) = (&intent.action, newest)
                    && phase.sessions.iter().any(|row| row.id == *session)
                {
                    packets[of].push(Packet {
                        session: session.clone(),
                        prompt: text.body().unwrap_or_default().to_owned(),
                        left_out: std::mem::take(&mut left_out),
                    });
                }
            }
        }
    }
    let open_objectives: Vec<ObjectiveId> = phase
        .objectives
        .iter()
        .filter(|row| row.status != ObjectiveStatus::Done)
        .map(|row| row.id.clone())
        .collect();
    // What an objective names may still be to come.
    let descriptions: Vec<&str> = phase.objectives.iter().map(|row| row.description.as_str()).collect();
    let descriptions = descriptions.join("\n");
    let workspace = Workspace::open(&config.workspace).map_err(|error| failed(error.into()))?;
    let folder = view.run.to_string();
    let mut entries = Vec::new();
    for (row, packets) in phase.handoffs.into_iter().zip(packets) {
        let bytes = store.read(&row.artifact.digest).map_err(cannot_read(&state))?;
        let document = String::from_utf8_lossy(&bytes).into_owned();
        let task_folder = folder_of(&row, &folder);
        let kept = handoff::Kept { store: &store, run: &run, task_folder: &task_folder };
        let made = Some((row.head.as_str(), row.branch.as_str()));
        let now = inspect(&workspace, Some(kept), &document, made);
        let mut now = now.await.map_err(failed)?;
        let deleted = deleted_on_the_way(&store, &run, &row);
        now.missing_files.retain(|path| !deleted.contains(path) && !descriptions.contains(path.as_str()));
        entries.push(HandoffEntry { row, document, packets, now, open_objectives: open_objectives.clone() });
    }
    Ok(Some(entries))
}

/// Files that its facts say were deleted before it was written: it names them rightly.
fn deleted_on_the_way(store: &ArtifactStore, run: &RunId, row: &HandoffRow) -> BTreeSet<String> {
    let name = beside(&row.artifact.name, "facts.json");
    let facts = store.get(run, &name, Version::Latest).and_then(|saved| store.read(&saved.artifact.digest));
    let facts: serde_json::Value =
        facts.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let files = facts["files_changed"].as_array().into_iter().flatten();
    files
        .filter(|file| file["exists"] == false)
        .filter_map(|file| file["path"].as_str().map(str::to_owned))
        .collect()
}

/// The task folder of a run: what stands before the name of an artifact in its path.
fn folder_of(row: &HandoffRow, run: &str) -> String {
    let folder = row.path.strip_suffix(row.artifact.name.as_str()).map(|folder| folder.trim_end_matches('/'));
    folder.map_or_else(|| format!(".baton/{run}"), str::to_owned)
}

/// Holds any document to a folder, as it is now. `made` is the commit and the branch of when it was made, where that is
/// known.
///
/// # Errors
/// [`RuntimeError::State`] where the folder cannot be looked at.
pub async fn inspect_document(
    workspace: &std::path::Path,
    document: &str,
    made: Option<(&str, &str)>,
) -> Result<Inspection, RuntimeError> {
    let failed = |source: Source| RuntimeError::State {
        what: "cannot look at the files that it names",
        dir: workspace.to_owned(),
        source,
    };
    let folder = Workspace::open(workspace).map_err(|error| failed(error.into()))?;
    inspect(&folder, None, document, made).await.map_err(failed)
}

async fn inspect(
    workspace: &Workspace,
    kept: Option<handoff::Kept<'_>>,
    document: &str,
    made: Option<(&str, &str)>,
) -> Result<Inspection, Source> {
    let missing_files = match kept {
        Some(kept) => handoff::missing(workspace, &kept, document).await?,
        None => handoff::missing(workspace, &Nothing, document).await?,
    };
    let known = made.filter(|(head, _)| !head.is_empty());
    let since = match known {
        Some((head, branch)) => workspace.since(head, branch).await,
        None => Default::default(),
    };
    Ok(Inspection {
        missing_files,
        secrets: handoff::secrets(document),
        commits_since: known.map(|_| since.commits),
        diverged: since.diverged,
    })
}
