//! Whether what a run has done in its workspace is still there, asked once when a host takes the run up: a person may have restored the
//! folder, or deleted it and cloned it again, and what was done by files that are gone is not done (A11).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use baton_core::facts::ChangedFile;
use baton_core::input::LOST_FILES_NAMED;
use baton_core::run::PhaseChanges;
use baton_core::{Input, Run, UnixMs};
use baton_store::StateDir;
use baton_workspace::{Baseline, CurrentFile, RunWorktrees, Workspace, WorkspaceError};

use crate::worktree_paths::{baseline_path, changes_path, read_baseline, read_changes};

/// What core is told of it, before it is told that a host took the run up.
pub(crate) async fn lost_work(
    run: &Run,
    workspace: &Workspace,
    trees: &RunWorktrees,
    state: &StateDir,
) -> Result<Vec<Input>, WorkspaceError> {
    let mut changes = run.changes_in_workspace();
    if run.ending().is_some() || !changes.iter().any(PhaseChanges::has_done_work) {
        return Ok(Vec::new());
    }
    // The newest first.
    changes.reverse();
    changes.sort_by_key(|changes| Reverse(changes.measured_at));
    let mut beyond = Vec::new();
    for changes in &changes {
        beyond.push(match changes.names_all {
            true => Vec::new(),
            false => read_changes(changes_path(state, run.id(), changes.phase)).await,
        });
    }
    for (changes, beyond) in changes.iter_mut().zip(&beyond) {
        let named: BTreeSet<&str> = changes.files.iter().map(|file| file.path.as_str()).collect();
        let unnamed = beyond.iter().filter(|file| !named.contains(file.path.as_str()));
        changes.files.extend(unnamed);
    }
    let mut left: BTreeMap<&str, &ChangedFile> = BTreeMap::new();
    for file in changes.iter().flat_map(|changes| &changes.files) {
        left.entry(&file.path).or_insert(file);
    }
    // Nearly always there is none.
    let differing = workspace.differing(left.into_values().cloned().collect()).await?;
    if differing.is_empty() {
        return Ok(Vec::new());
    }
    let mut phases = Vec::new();
    let mut committed = BTreeMap::new();
    for changes in changes {
        let baseline = read_baseline(baseline_path(state, run.id(), changes.phase)).await;
        let head_by_then = workspace.head_by(changes.measured_at).await?;
        let heads = baseline.as_ref().map(Baseline::head).into_iter().chain(head_by_then.as_deref());
        for head in heads {
            if !committed.contains_key(head) {
                committed.insert(head.to_owned(), workspace.as_committed(head, &differing).await?);
            }
        }
        phases.push(MeasuredPhase { changes, baseline, head_by_then });
    }
    let newest =
        phases.iter().filter_map(|phase| phase.baseline.as_ref()).max_by_key(|start| start.taken_ns());
    let has_left = match newest {
        Some(newest) => workspace.has_left(newest.head()).await?,
        None => false,
    };
    let history = WorkHistory {
        was_replaced: has_left
            || trees.was_made_again()
            || newest.is_some_and(|newest| newest.is_of_other_folder(workspace)),
        committed,
        agents_until: (!run.live_sessions().is_empty()).then(|| run.host_last_active()),
        phases,
    };
    Ok(history.lost(&differing))
}

/// A phase that works in the workspace, and what it began with, if that is known.
struct MeasuredPhase<'a> {
    changes: PhaseChanges<'a>,
    baseline: Option<Baseline>,
    /// The newest commit on HEAD that was made before it was last measured. A later one may be the user's own, with edits of theirs.
    head_by_then: Option<String>,
}

/// What is known of the files of a run.
struct WorkHistory<'a> {
    /// The one that was measured last is the first.
    phases: Vec<MeasuredPhase<'a>>,
    /// The folder, or its repository, is not the one in which the phases worked, or another branch or an older commit is checked out.
    was_replaced: bool,
    /// Which of the files are, by now, as a commit has them.
    committed: BTreeMap<String, BTreeSet<String>>,
    /// Agents were at work when the last host ended: until then they may have changed any file themselves.
    agents_until: Option<UnixMs>,
}

impl WorkHistory<'_> {
    /// What is lost of each phase, by files that are not as work left them.
    fn lost(&self, differing: &[CurrentFile]) -> Vec<Input> {
        let mut by_phase: BTreeMap<usize, Vec<&CurrentFile>> = BTreeMap::new();
        for file in differing {
            for index in self.losing(file) {
                by_phase.entry(index).or_default().push(file);
            }
        }
        // In the order in which they were measured.
        let lost = by_phase.into_iter().rev().map(|(index, files)| Input::WorkLost {
            phase: self.phases[index].changes.phase.clone(),
            beyond: u32::try_from(files.len().saturating_sub(LOST_FILES_NAMED)).unwrap_or(u32::MAX),
            files: files.into_iter().take(LOST_FILES_NAMED).map(|file| file.path.clone()).collect(),
            includes_accepted: true,
        });
        lost.collect()
    }

    /// The phases whose work on a file is lost.
    fn losing(&self, now: &CurrentFile) -> Vec<usize> {
        let mut changed = self.phases.iter().enumerate().filter_map(|(index, phase)| {
            let left = phase.changes.files.iter().find(|file| file.path == now.path)?;
            Some((index, &phase.changes, *left))
        });
        let Some((last, changes, _)) = changed.next() else { return Vec::new() };
        let measured_since = self.phases.get(..last).unwrap_or_default();
        if measured_since.iter().any(|phase| phase.found(now))
            || self.is_by_agents(now, changes.measured_at)
            || !self.is_lost(now, changes.measured_at)
        {
            return Vec::new();
        }
        // A phase that left the file as it is now has lost nothing, and so have those before it.
        let earlier = changed.take_while(|(_, _, left)| !now.is_as_left(left));
        let losing =
            std::iter::once((last, changes)).chain(earlier.map(|(index, changes, _)| (index, changes)));
        losing.filter(|(_, changes)| changes.is_done_by(&now.path)).map(|(index, _)| index).collect()
    }

    /// Whether a file is gone, or as it was before its last measurement, also in git: what was changed but not committed when the run
    /// began is lost as well then. In a folder that was replaced, that it differs is enough: its state may be older than the run.
    fn is_lost(&self, now: &CurrentFile, measured_at: UnixMs) -> bool {
        let was_before = |phase: &MeasuredPhase<'_>| {
            let start = phase.baseline.as_ref();
            let has = |start: &Baseline| {
                let is_earlier = ms_of(start.taken_ns()) <= measured_at;
                is_earlier && (start.has(now) || self.commit_has(start.head(), now)) || start.had_earlier(now)
            };
            let is_measured_by_then = phase.changes.measured_at <= measured_at;
            start.is_some_and(has)
                || is_measured_by_then
                    && phase.head_by_then.as_ref().is_some_and(|head| self.commit_has(head, now))
                || now.digest.as_ref().is_some_and(|content| phase.changes.had_earlier(&now.path, content))
        };
        !now.exists || self.was_replaced && now.differs || self.phases.iter().any(was_before)
    }

    /// Whether a commit has a file as it is now.
    fn commit_has(&self, commit: &str, now: &CurrentFile) -> bool {
        self.committed.get(commit).is_some_and(|files| files.contains(&now.path))
    }

    /// Whether a file was last changed after it was measured, and while agents were at work.
    fn is_by_agents(&self, now: &CurrentFile, measured_at: UnixMs) -> bool {
        let touched = now.touched_ns.map(ms_of);
        let until = self.agents_until.zip(touched);
        until.is_some_and(|(until, touched)| measured_at < touched && touched <= until)
    }
}

impl MeasuredPhase<'_> {
    /// Whether its last measurement found a file as it is now, and as it was when the phase began.
    fn found(&self, now: &CurrentFile) -> bool {
        self.changes.names_all && self.baseline.as_ref().is_some_and(|start| start.has(now))
    }
}

/// A time by the clock of files as one of the journal.
fn ms_of(ns: i64) -> UnixMs {
    UnixMs(u64::try_from(ns / 1_000_000).unwrap_or(0))
}
