//! Finished phases of which nothing is left: every file that they changed is as it was when they began, missing or emptied. They may
//! have been restored at any moment, also while agents or checks were at work, and what agents did does not tell that; nothing shows
//! any more that such a phase is done (A11). Nor is an objective done whose own file is missing, emptied or as before.

use std::collections::BTreeMap;

use baton_core::facts::ChangedFile;
use baton_core::run::FinishedWork;
use baton_core::{Digest, Input, Run};
use baton_store::StateDir;
use baton_workspace::{CurrentFile, Workspace, WorkspaceError};

use super::{listed_changes, work_lost};
use crate::worktree_paths::{baseline_path, read_baseline};

/// The inputs for undone work before the run ends: `run` has the state after the end.
pub(crate) async fn undone_work(
    run: &Run,
    workspace: &Workspace,
    state: &StateDir,
) -> Result<Vec<Input>, WorkspaceError> {
    let mut undone = Vec::new();
    for work in run.finished_work() {
        let files = undone_files(run, &work, workspace, state).await?;
        let newest = work.walks.last().filter(|_| !files.is_empty());
        undone.extend(
            newest.map(|newest| work_lost(newest, files.iter().map(String::as_str).collect(), false)),
        );
    }
    Ok(undone)
}

/// All files of the phase if each is as before, missing or emptied; otherwise those of them that only its own objectives name.
async fn undone_files(
    run: &Run,
    work: &FinishedWork<'_>,
    workspace: &Workspace,
    state: &StateDir,
) -> Result<Vec<String>, WorkspaceError> {
    let Some(left) = left_files(run, work, state).await else { return Ok(Vec::new()) };
    let Some(start) = read_baseline(baseline_path(state, run.id(), work.phase)).await else {
        return Ok(Vec::new());
    };
    let all = left.len();
    let now = workspace.differing(left.into_values().collect()).await?;
    let committed = workspace.as_committed(start.head(), &now).await?;
    let nothing = Digest::of("");
    let is_before = |file: &&CurrentFile| {
        let has_nothing = !file.exists || file.digest.as_ref() == Some(&nothing);
        file.differs
            && (has_nothing || start.has(file) || start.had_earlier(file) || committed.contains(&file.path))
    };
    let is_elsewhere = |file: &CurrentFile| work.named_elsewhere.contains(file.path.as_str());
    let undone: Vec<&CurrentFile> = now.iter().filter(is_before).collect();
    let files: Vec<&CurrentFile> = match undone.len() == all && !undone.iter().any(|file| is_elsewhere(file))
    {
        true => undone,
        false => {
            let is_own = |file: &&CurrentFile| work.named.contains(file.path.as_str()) && !is_elsewhere(file);
            let own = now.iter().filter(|file| is_own(file));
            own.filter(|file| !file.exists || is_before(file)).collect()
        }
    };
    Ok(files.into_iter().map(|file| file.path.clone()).collect())
}

/// The files as the phase left them, in any walk of its loop; none if not all of them are known.
async fn left_files(
    run: &Run,
    work: &FinishedWork<'_>,
    state: &StateDir,
) -> Option<BTreeMap<String, ChangedFile>> {
    let (newest, earlier) = work.walks.split_last()?;
    let beyond = match listed_changes(run, newest, state).await {
        None if newest.unnamed > 0 => return None,
        listed => listed.unwrap_or_default(),
    };
    let mut left: BTreeMap<String, ChangedFile> = BTreeMap::new();
    let earlier = earlier.iter().flat_map(|walk| &walk.files);
    for file in earlier.copied().chain(&beyond).chain(newest.files.iter().copied()) {
        // A walk may find a file that an earlier one made.
        let is_new = file.is_new || left.get(&file.path).is_some_and(|earlier| earlier.is_new);
        left.insert(file.path.clone(), ChangedFile { is_new, ..file.clone() });
    }
    Some(left)
}
