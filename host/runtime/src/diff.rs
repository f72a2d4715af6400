//! What a run changed in its workspace: the states that it passed through are kept as git trees while it works, and compared
//! afterwards. Without git only names are known, by the baselines of its phases.

use std::path::{Path, PathBuf};

use baton_core::facts::ChangedFile;
use baton_core::{PhaseId, RunId};
use baton_store::StateDir;
use baton_workspace::{Baseline, StatesDiffer, Trees, Workspace};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;

use crate::actuate::{baseline_name, trees_of};
use crate::config::HostConfig;
use crate::error::{RuntimeError, Source};
use crate::query::{find_state, view_of};

/// A state of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    /// The phase that began with it; absent for the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    phase: Option<PhaseId>,
    /// The git tree.
    tree: String,
}

/// What a run, or a phase of it, changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDiff {
    /// Which run.
    pub run: RunId,
    /// What is different.
    pub what: WhatChanged,
}

impl RunDiff {
    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        match &self.what {
            WhatChanged::Lines(lines) => lines.files.is_empty(),
            WhatChanged::Names { files, .. } => files.is_empty(),
        }
    }
}

/// What is different, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhatChanged {
    /// With contents.
    Lines(StatesDiffer),
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

/// Remembers how the workspace is when a phase begins, or the run ends. A run does not hang on it: what cannot be kept is told
/// to nobody, and later known by name alone.
pub(crate) async fn keep_state(state: &StateDir, run: &RunId, trees: &Trees, phase: Option<&PhaseId>) {
    let kept = async {
        let tree = trees.state().await?;
        let mut line = serde_json::to_vec(&State { phase: phase.cloned(), tree })?;
        line.push(b'\n');
        let path = states_file(state, run);
        if let Some(folder) = path.parent() {
            tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).await?;
        }
        let mut options = tokio::fs::OpenOptions::new();
        let mut file = options.create(true).append(true).mode(0o600).open(&path).await?;
        file.write_all(&line).await?;
        file.flush().await?;
        Ok::<(), Source>(())
    };
    if let Err(error) = kept.await {
        tracing::debug!("a state of the workspace is not kept: {error}");
    }
}

fn states(path: &Path) -> Vec<State> {
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
    colour: bool,
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
    let kept = states(&states_file(&state, &run));
    let begin = match phase {
        None => kept.first().map(|_| 0),
        Some(phase) => kept.iter().position(|one| one.phase.as_ref() == Some(phase)),
    };
    let Some(begin) = begin else {
        let is_whole = phase.is_none();
        let first = view.phases.first().map(|row| &row.id);
        let Some(phase) = phase.or(first) else {
            return Err(RuntimeError::Refused(format!("run {run} has no phase")));
        };
        let others = view.phases.iter().map(|row| &row.id).filter(|other| *other != phase);
        let others: Vec<&PhaseId> = if is_whole { Vec::new() } else { others.collect() };
        return names(&state, &run, phase, &others, &workspace).await;
    };
    let trees = trees_of(&state, &workspace, &run);
    let failed = |error: baton_workspace::TreeError| {
        RuntimeError::Refused(format!("what run {run} changed cannot be compared: {error}"))
    };
    // A phase ends where the next one begins; a run where it ended, or now.
    let later = match phase {
        None => kept.iter().rev().find(|one| one.phase.is_none()),
        Some(_) => kept.get(begin + 1),
    };
    let to = match later {
        Some(later) => later.tree.clone(),
        None => trees.state().await.map_err(failed)?,
    };
    let what = trees.between(&kept[begin].tree, &to, files, with_patch, colour).await.map_err(failed)?;
    Ok(RunDiff { run, what: WhatChanged::Lines(what) })
}

/// By the baseline of the phase, against how the workspace is now, without what the phase that began after it changed.
async fn names(
    state: &StateDir,
    run: &RunId,
    phase: &PhaseId,
    others: &[&PhaseId],
    workspace: &Workspace,
) -> Result<RunDiff, RuntimeError> {
    let path_of = |phase: &PhaseId| state.sessions().join(run.as_str()).join(baseline_name(phase));
    let read = |phase: &PhaseId| -> Option<Baseline> {
        serde_json::from_slice(&std::fs::read(path_of(phase)).ok()?).ok()
    };
    let Some(baseline) = read(phase) else {
        return Err(RuntimeError::Refused(format!(
            "nothing is known of how the files were when phase {phase} of run {run} began: it had not begun, or worked elsewhere"
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
    if let Some(next) = next.and_then(|(_, next)| read(next)) {
        let later = changed(&next).await?;
        files.retain(|file| {
            let again = later.iter().find(|other| other.path == file.path);
            again.is_none_or(|again| file.is_new && !again.is_new)
        });
    }
    let why = "the folder is in no git repository, so contents were not kept, and a file that a later phase changed too is named \
               there; `git init` keeps them for the next run";
    Ok(RunDiff { run: run.clone(), what: WhatChanged::Names { files, why: why.to_owned() } })
}
