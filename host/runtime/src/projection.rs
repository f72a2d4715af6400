//! The files that people and agents read in the workspace without Baton: a pure function of a run and its timeline. They are
//! copies: the journal is authoritative, so a projection that fails does not stop the run.
//!
//! | file | part |
//! |---|---|
//! | `projection/timeline.rs` | facts of the journal beyond the state |
//! | `projection/progress.rs` | `progress.json`, `progress/` |
//! | `projection/work_items.rs` | `work-items.json` |
//! | `projection/session_results.rs` | `returns/`, `.return-meta.json` |
//! | `projection/org_state.rs` | `state.org` |
//! | `projection/path_rewrites.rs` | corrects paths of archived files in archived documents |
//! | `projection/init_script.rs` | `init.sh` |
//! | `projection/index_pages.rs` | `README.md`, `progress.log`, the index, results of phases |
//! | `projection/writer.rs` | decides which of them are written, and when |
//!
//! The order of a commit and its projection is fixed: first the journal, then the files, then the effects of the commit. So
//! after a kill at any moment the files are never ahead of the journal, and behind it by at most the last commit, of which
//! nothing has been performed yet.

mod index_pages;
mod init_script;
mod org_state;
mod path_rewrites;
mod progress;
#[cfg(test)]
mod sample_run;
mod session_results;
#[cfg(test)]
mod tests;
mod text_format;
mod timeline;
mod work_items;
mod writer;

use std::path::Path;
use std::sync::Arc;

use baton_core::action::sibling_name;
use baton_core::input::ArtifactRef;
use baton_core::view::{HandoffSummary, PhaseSummary, RunView};
use baton_core::workflow::paths::{RunNames, unarchived};
use baton_core::{Digest, Run, Workflow, WorktreeName};
use baton_store::JournalEntry;
use baton_workspace::{Workspace, read_plain};

use crate::config::HostConfig;
use crate::error::{BoxedError, RuntimeError};

use path_rewrites::PathRewrites;

pub use progress::{Approach, ObjectiveProgress, ObjectiveProgressStatus, PhaseProgress, Progress};
pub use session_results::{
    PartialProgress, ReturnStatus, ReturnedArtifact, ReturnedError, ReturnedSplit, SessionResult,
};
pub(crate) use timeline::RunTimeline;
pub use work_items::{WorkItem, WorkItemKind, WorkItems};
pub(crate) use writer::{ProjectionWriter, Restorer};

/// The folder that git does not hear of; a `.gitignore` of the user's is not ours to edit.
const HIDDEN: &str = ".baton";
/// What Baton writes of its progress is smaller.
const PROGRESS_BYTES_MAX: u64 = 16 << 20;

/// All files of a run, in the order in which they are written: a file comes before those that refer to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Projection {
    /// The work trees that get the files as well as the workspace: agents read them, and report, in their own tree.
    trees: Vec<WorktreeName>,
    files: Vec<Arc<ProjectedFile>>,
    /// Where files lay that lie elsewhere now.
    gone: Vec<String>,
}

/// One file.
#[derive(Clone, Debug, PartialEq)]
struct ProjectedFile {
    /// Workspace-relative.
    path: String,
    pieces: Vec<FilePiece>,
    executable: bool,
    /// The path corrections for a document that was archived.
    moves: Option<Arc<PathRewrites>>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq)]
enum FilePiece {
    /// This text.
    Text(String),
    /// What the store has under this address.
    ArtifactByDigest(Digest),
    /// What the store has under this name; a file whose only piece is not there is not written.
    ArtifactByName(String),
}

/// The files of a run in its current state. None before it has started.
pub(crate) fn project(run: &Run, timeline: &RunTimeline) -> Option<Projection> {
    let view = run.view(timeline.at)?;
    let projection = Projection { trees: live(&view), ..Projection::default() };
    let mut builder = ProjectionBuilder { folder: run.task_folder().to_owned(), projection };
    if builder.folder.split('/').next() == Some(HIDDEN) {
        builder.at(format!("{HIDDEN}/.gitignore"), vec![FilePiece::Text("*\n".to_owned())]);
    }
    builder.text("inbox/README.md", baton_inbox::INSTRUCTIONS.to_owned());
    let (workflow, names) = (run.workflow(), run.names());
    let moves = path_rewrites_of(&view);
    for phase in &view.phases {
        let moves = (!index_pages::is_open(phase.status)).then_some(&moves);
        phase.handoffs.iter().for_each(|handoff| builder.handoff(handoff, moves));
        builder.summary(run, phase, &workflow.paths.summary(names, phase.id.as_str()));
    }
    builder.run_summary(run, &view);
    run.inputs().for_each(|(input, is_unloaded)| builder.input(input, is_unloaded));
    let index = workflow.paths.index(names);
    builder.add_file(&index, index_pages::index(&view));
    for phase in &view.phases {
        builder.text(&workflow.paths.results(names, phase.id.as_str()), index_pages::results(phase));
    }
    let (returned, newest) = session_results::returns(run, &view, timeline);
    for one in &returned {
        builder.json(&format!("returns/{}.json", one.session), one);
        if Some(&one.session) == newest.as_ref() {
            builder.json(".return-meta.json", one);
        }
    }
    builder.text("README.md", index_pages::readme(&view, &index));
    builder.text("progress.log", index_pages::log(timeline));
    builder.text("state.org", org_state::state(&view));
    builder.script("init.sh", init_script::render(workflow, &view, run.task_folder()));
    builder.json("work-items.json", &WorkItems::of(workflow, &view));
    let progress = Progress::of(run, &view, timeline);
    for phase in progress.phases.iter().filter(|phase| phase.started_at.is_some()) {
        builder.json(&format!("progress/phase-{}-progress.json", phase.phase), phase);
    }
    builder.json("progress.json", &progress);
    Some(builder.projection)
}

/// The work trees in which phases work that are not over.
pub(crate) fn live(view: &RunView) -> Vec<WorktreeName> {
    let open =
        view.phases.iter().filter(|phase| index_pages::is_open(phase.status) && !phase.tree.is_workspace());
    let mut trees: Vec<WorktreeName> = open.map(|phase| phase.tree.clone()).collect();
    trees.sort();
    trees.dedup();
    trees
}

/// The progress computed from a journal, up to the last of these entries; to compare the file with the journal.
pub fn progress_of(entries: impl IntoIterator<Item = JournalEntry>) -> Option<Progress> {
    let (mut run, mut timeline) = (Run::new(), RunTimeline::default());
    for entry in entries {
        let JournalEntry::Input(stamped) = entry else { continue };
        let intents = run.apply(&stamped).ok()?;
        timeline.note(&run, &stamped, &intents);
    }
    Some(Progress::of(&run, &run.view(timeline.at)?, &timeline))
}

/// Checks beforehand whether a run of this workflow could write its files into the workspace.
///
/// # Errors
/// [`RuntimeError::Workspace`] if the task folder holds files that are not Baton's.
pub fn expect_free_folder(config: &HostConfig, workflow: &Workflow) -> Result<(), RuntimeError> {
    if workflow.paths.folder.contains("{run}") {
        return Ok(());
    }
    let names = RunNames { run: "", workflow: &workflow.name, goal: &workflow.goal };
    let folder = workflow.paths.task_folder(names);
    expect_free_at(&config.workspace, &folder)
        .map_err(|source| RuntimeError::Workspace { workspace: config.workspace.clone(), source })
}

/// Refuses a task folder that holds files that are not Baton's: a `README.md` of the user's is not overwritten. A folder of an
/// earlier run may be used again, and so may the folder of a run that was killed before it began, which only has its inbox.
pub(crate) fn expect_free(workspace: &Workspace, folder: &str) -> Result<(), BoxedError> {
    expect_free_at(workspace.root(), folder)
}

fn expect_free_at(root: &Path, folder: &str) -> Result<(), BoxedError> {
    let path = root.join(folder);
    let is_inbox =
        |entry: std::io::Result<std::fs::DirEntry>| entry.is_ok_and(|entry| entry.file_name() == "inbox");
    let is_unused = std::fs::read_dir(&path).map_or(true, |mut entries| entries.all(is_inbox));
    let is_ours = || {
        let progress = read_plain(&path.join("progress.json"), PROGRESS_BYTES_MAX).ok();
        progress.is_some_and(|bytes| serde_json::from_slice::<Progress>(&bytes).is_ok())
    };
    if is_unused || is_ours() {
        return Ok(());
    }
    Err(format!(
        "its folder {folder} holds files that are not Baton's: choose another `folder` in [paths] of the workflow, or one \
         with {{run}} in it, which is new for every run"
    )
    .into())
}

/// Builds the files of one run.
struct ProjectionBuilder {
    folder: String,
    projection: Projection,
}

impl ProjectionBuilder {
    fn at(&mut self, path: String, pieces: Vec<FilePiece>) {
        self.projection.files.push(Arc::new(ProjectedFile { path, pieces, executable: false, moves: None }));
    }

    fn add_file(&mut self, path: &str, pieces: Vec<FilePiece>) {
        self.at(format!("{}/{path}", self.folder), pieces);
    }

    fn text(&mut self, path: &str, text: String) {
        self.add_file(path, vec![FilePiece::Text(text)]);
    }

    fn script(&mut self, path: &str, text: String) {
        let path = format!("{}/{path}", self.folder);
        let pieces = vec![FilePiece::Text(text)];
        self.projection.files.push(Arc::new(ProjectedFile { path, pieces, executable: true, moves: None }));
    }

    fn json(&mut self, path: &str, record: &impl serde::Serialize) {
        match serde_json::to_string_pretty(record) {
            Ok(text) => self.text(path, text + "\n"),
            Err(error) => tracing::warn!(%error, path, "a record cannot be written as JSON"),
        }
    }

    /// The document with its companion files at their current path: in the archive if there are path rewrites.
    fn handoff(&mut self, row: &HandoffSummary, moves: Option<&Arc<PathRewrites>>) {
        let names = with_companion_files(&row.artifact.name);
        for (n, (path, name)) in with_companion_files(&row.path).into_iter().zip(names).enumerate() {
            let piece = match (n, &row.index) {
                (0, _) => FilePiece::ArtifactByDigest(row.artifact.digest.clone()),
                (1, Some(index)) => FilePiece::ArtifactByDigest(index.digest.clone()),
                _ => FilePiece::ArtifactByName(name),
            };
            if moves.is_some() {
                self.projection.gone.push(unarchived(&path));
            }
            let (pieces, moves) = (vec![piece], moves.cloned());
            self.projection.files.push(Arc::new(ProjectedFile { path, pieces, executable: false, moves }));
        }
    }

    /// A summary that was written is shown with its current content: the version from before a compaction is in the store, and
    /// would contradict the other current files.
    fn summary(&mut self, run: &Run, phase: &PhaseSummary, path: &str) {
        let name = summary_name(phase.id.as_str());
        if phase.artifacts.iter().any(|artifact| artifact.name == name)
            && let Some(summary) = run.summary_of(&phase.id)
        {
            self.text(path, summary);
        }
    }

    /// What a prompt refers to, for as long as its phase is open (C4, C6). The store keeps it.
    fn input(&mut self, artifact: &ArtifactRef, is_unloaded: bool) {
        let path = format!("{}/{}", self.folder, artifact.name);
        match is_unloaded {
            true => self.projection.gone.push(path),
            false => self.at(path, vec![FilePiece::ArtifactByDigest(artifact.digest.clone())]),
        }
    }

    fn run_summary(&mut self, run: &Run, view: &RunView) {
        let mut all = view.phases.iter().flat_map(|phase| &phase.artifacts);
        if all.any(|artifact| artifact.name == RUN_SUMMARY) {
            self.text(RUN_SUMMARY, run.summary());
        }
    }
}

/// A handoff document, its index, its facts, and its list of files: these move together.
fn with_companion_files(document: &str) -> [String; 4] {
    ["", "index.md", "facts.json", "files.json"].map(|suffix| match suffix {
        "" => document.to_owned(),
        suffix => sibling_name(document, suffix),
    })
}

/// The old and new paths of every handoff, with its companion files, of phases that are over.
fn path_rewrites_of(view: &RunView) -> Arc<PathRewrites> {
    let over = view.phases.iter().filter(|phase| !index_pages::is_open(phase.status));
    let now = over.flat_map(|phase| &phase.handoffs).flat_map(|handoff| with_companion_files(&handoff.path));
    Arc::new(now.map(|path| (unarchived(&path), path)).collect())
}

/// The summary of a phase in the store, wherever it lies in the workspace.
pub(crate) fn summary_name(phase: &str) -> String {
    format!("summaries/phase-{phase}.md")
}

/// The summary of the run, in the store and below the task folder.
pub(crate) const RUN_SUMMARY: &str = "summaries/run.md";
