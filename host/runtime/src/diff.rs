//! What a run changed in its workspace: the states that it passed through are kept as git trees while it works, and compared
//! afterwards. Without git only names are known, by the baselines of its phases.

use std::path::{Path, PathBuf};

use baton_core::facts::ChangedFile;
use baton_core::view::RunView;
use baton_core::{PhaseId, RunId};
use baton_store::StateDir;
use baton_workspace::{Baseline, RunWorktrees, StateDiff, Workspace, WorktreeError};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;

use crate::boundaries;
use crate::config::HostConfig;
use crate::error::{BoxedError, RuntimeError};
use crate::query::{find_state, view_of, workflow_of};
use crate::worktree_paths::{baseline_path, read_baseline, trees_of};

/// A state of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct WorkspaceSnapshot {
    /// The phase that began with it; absent for the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<PhaseId>,
    #[serde(flatten)]
    contents: Contents,
}

/// What is kept of a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Contents {
    /// The git tree.
    Tree(String),
    /// Nothing, and why.
    NotKept(String),
}

/// What a run, or a phase of it, changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDiff {
    /// Which run.
    pub run: RunId,
    /// What is different.
    pub what: RunChanges,
}

impl RunDiff {
    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        match &self.what {
            RunChanges::Lines(lines) => lines.files.is_empty(),
            RunChanges::Names { files, .. } => files.is_empty(),
        }
    }
}

/// What is different, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunChanges {
    /// With contents.
    Lines(StateDiff),
    /// By name alone.
    Names {
        /// The files.
        files: Vec<ChangedFile>,
        /// Why no more is known.
        why: String,
    },
}

fn states_file(state: &StateDir, run: &RunId) -> PathBuf {
    state.sessions().join(run.as_str()).join("states.jsonl")
}

/// Remembers how the workspace is when a phase begins, or the run ends. A run does not hang on it: what cannot be kept is known by
/// name alone later, and why.
pub(crate) async fn save_snapshot(
    state: &StateDir,
    run: &RunId,
    trees: &RunWorktrees,
    phase: Option<&PhaseId>,
) {
    let kept = async {
        let contents = match trees.state().await {
            Ok(tree) => Contents::Tree(tree),
            Err(WorktreeError::NoRepository { .. }) => return Ok(()),
            Err(error) => Contents::NotKept(error.to_string()),
        };
        let mut line = serde_json::to_vec(&WorkspaceSnapshot { phase: phase.cloned(), contents })?;
        line.push(b'\n');
        let path = states_file(state, run);
        if let Some(folder) = path.parent() {
            tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).await?;
        }
        let mut options = tokio::fs::OpenOptions::new();
        let mut file = options.create(true).append(true).mode(0o600).open(&path).await?;
        file.write_all(&line).await?;
        file.flush().await?;
        Ok::<(), BoxedError>(())
    };
    if let Err(error) = kept.await {
        tracing::debug!("a state of the workspace is not kept: {error}");
    }
}

fn read_snapshots(path: &Path) -> Vec<WorkspaceSnapshot> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// What a run changed, the newest where none is named, or one of its phases; only in these files where any are named.
///
/// # Errors
/// [`RuntimeError::NoRuns`], [`RuntimeError::NoSuchRun`], [`RuntimeError::Refused`] for a phase that there is not or a state that git
/// has collected, and those of reading the journal.
pub async fn diff(
    config: &HostConfig,
    run: Option<&RunId>,
    phase: Option<&PhaseId>,
    files: &[String],
    with_patch: bool,
) -> Result<RunDiff, RuntimeError> {
    let state = find_state(config)?;
    let view = view_of(config, run)?;
    let run = view.run.clone();
    if let Some(phase) = phase
        && !view.phases.iter().any(|row| row.id == *phase)
    {
        let known: Vec<&str> = view.phases.iter().map(|row| row.id.as_str()).collect();
        return Err(RuntimeError::Refused(format!(
            "run {run} has no phase {phase}; it has {}",
            known.join(", ")
        )));
    }
    let workspace = Workspace::open(&config.workspace).map_err(|error| RuntimeError::Workspace {
        workspace: config.workspace.clone(),
        source: error.into(),
    })?;
    let kept = read_snapshots(&states_file(&state, &run));
    let begin = match phase {
        None => kept.first().map(|_| 0),
        Some(phase) => kept.iter().position(|one| one.phase.as_ref() == Some(phase)),
    };
    // A phase ends where the next one begins; a run where it ended, or now.
    let end = match (phase, begin) {
        (Some(_), Some(begin)) => kept.get(begin + 1),
        _ => kept.iter().rev().find(|one| one.phase.is_none()),
    };
    let begin = begin.map(|begin| &kept[begin].contents);
    let end = end.map(|end| &end.contents);
    let (from, to) = match (begin, end) {
        (Some(Contents::Tree(from)), None) => (from, None),
        (Some(Contents::Tree(from)), Some(Contents::Tree(to))) => (from, Some(to.clone())),
        (Some(Contents::NotKept(why)), _) | (_, Some(Contents::NotKept(why))) => {
            let why = format!("contents were not kept: {why}");
            return names_of(&state, &view, phase, &workspace, why).await;
        }
        (None, _) => {
            let why = "the folder is in no git repository, so contents were not kept; `git init` keeps them for the next run";
            return names_of(&state, &view, phase, &workspace, why.to_owned()).await;
        }
    };
    let trees = trees_of(&state, &workspace, &run);
    if let Some(workflow) = workflow_of(config, &run)? {
        trees.hide_from_git(boundaries::hidden(&workflow, state.root(), &config.environment));
    }
    let failed = |error: baton_workspace::WorktreeError| {
        RuntimeError::Refused(format!("cannot compare the changes of run {run}: {error}"))
    };
    let to = match to {
        Some(to) => to,
        None => trees.state().await.map_err(failed)?,
    };
    let what = trees.between(from, &to, files, with_patch).await.map_err(failed)?;
    Ok(RunDiff { run, what: RunChanges::Lines(what) })
}

/// Of a phase, or of the whole run from its first phase on.
async fn names_of(
    state: &StateDir,
    view: &RunView,
    phase: Option<&PhaseId>,
    workspace: &Workspace,
    why: String,
) -> Result<RunDiff, RuntimeError> {
    let first = view.phases.first().map(|row| &row.id);
    let Some(of) = phase.or(first) else {
        return Err(RuntimeError::Refused(format!("run {} has no phase", view.run)));
    };
    let others = view.phases.iter().map(|row| &row.id).filter(|other| *other != of);
    let others: Vec<&PhaseId> = if phase.is_none() { Vec::new() } else { others.collect() };
    let files = names(state, &view.run, of, &others, workspace).await?;
    let why = format!("{why}. A file that a later phase changed too is named there");
    Ok(RunDiff { run: view.run.clone(), what: RunChanges::Names { files, why } })
}

/// By the baseline of the phase, against how the workspace is now, without what the phase that began after it changed.
async fn names(
    state: &StateDir,
    run: &RunId,
    phase: &PhaseId,
    others: &[&PhaseId],
    workspace: &Workspace,
) -> Result<Vec<ChangedFile>, RuntimeError> {
    let path_of = |phase: &PhaseId| baseline_path(state, run, phase);
    let Some(baseline) = read_baseline(path_of(phase)).await else {
        return Err(RuntimeError::Refused(format!(
            "the state of the files at the start of phase {phase} of run {run} is unknown: the phase had not begun, or worked elsewhere"
        )));
    };
    let changed = async |baseline: &Baseline| {
        workspace.all_changed(baseline).await.map_err(|error| RuntimeError::Workspace {
            workspace: workspace.root().to_owned(),
            source: error.into(),
        })
    };
    let mut files = changed(&baseline).await?;
    // Each baseline is written when its phase begins.
    let begun = |phase: &PhaseId| std::fs::metadata(path_of(phase)).and_then(|told| told.modified()).ok();
    let at = begun(phase);
    let after = others.iter().filter_map(|other| Some((begun(other)?, *other)));
    let next = after.filter(|(begun, _)| Some(*begun) > at).min_by_key(|(begun, _)| *begun);
    let next = match next {
        Some((_, next)) => read_baseline(path_of(next)).await,
        None => None,
    };
    if let Some(next) = next {
        let later = changed(&next).await?;
        files.retain(|file| {
            let again = later.iter().find(|other| other.path == file.path);
            again.is_none_or(|again| file.is_new && !again.is_new)
        });
    }
    Ok(files)
}
