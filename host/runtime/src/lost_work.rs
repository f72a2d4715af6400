//! Checks whether the work of a run is still in its workspace, when a host resumes the run, and when no agent worked there for
//! a while. The user may have restored the folder, or deleted it and cloned it again, and work whose files are gone is not done
//! (A11).

mod undone;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use baton_core::facts::ChangedFile;
use baton_core::input::LOST_FILES_NAMED;
use baton_core::run::PhaseChanges;
use baton_core::{Input, Run, UnixMs};
use baton_store::StateDir;
use baton_workspace::{Baseline, CurrentFile, RunWorktrees, Workspace, WorkspaceError};

pub(crate) use self::undone::undone_work;
use crate::worktree_paths::{baseline_path, changes_path, read_baseline, read_changes};

/// The time in which no agent worked in the workspace. Changes before or after it may be the agents', even if no measurement
/// has found them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdleTime {
    since: UnixMs,
    until: UnixMs,
}

impl IdleTime {
    /// Since the last host ended, or the agents before it.
    pub(crate) fn without_host(run: &Run) -> Self {
        let is_at_work = !run.live_sessions().is_empty();
        Self { since: if is_at_work { run.host_last_active() } else { UnixMs(0) }, until: UnixMs(u64::MAX) }
    }

    /// The wait of the run until now; none if an agent or an effect is at work in the workspace.
    pub(crate) fn of_wait(run: &Run, now: UnixMs) -> Option<Self> {
        run.workspace_idle_since().map(|since| Self { since, until: now })
    }

    fn includes(self, at: UnixMs) -> bool {
        self.since < at && at <= self.until
    }
}

/// The inputs for lost work; core gets them before it learns that a host resumed the run, or that the wait is over.
pub(crate) async fn lost_work(
    run: &Run,
    workspace: &Workspace,
    trees: &RunWorktrees,
    state: &StateDir,
    idle: IdleTime,
) -> Result<Vec<Input>, WorkspaceError> {
    let mut changes = run.changes_in_workspace();
    if run.ending().is_some() || !changes.iter().any(PhaseChanges::has_done_work) {
        return Ok(Vec::new());
    }
    // The newest first.
    changes.reverse();
    changes.sort_by_key(|changes| Reverse(changes.measured_at));
    let (mut beyond, mut unlisted, mut seen) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for (index, changes) in changes.iter().enumerate() {
        let listed = listed_changes(run, changes, state).await;
        let is_newest = seen.insert(changes.phase);
        if is_newest && listed.is_none() && changes.unnamed > 0 {
            unlisted.insert(index);
        }
        beyond.push(listed.unwrap_or_default());
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
    if differing.is_empty() && unlisted.is_empty() {
        return Ok(Vec::new());
    }
    let mut phases = Vec::new();
    for changes in changes {
        let baseline = read_baseline(baseline_path(state, run.id(), changes.phase)).await;
        let head_by_then = workspace.head_by(changes.measured_at).await?;
        phases.push(MeasuredPhase { changes, baseline, head_by_then });
    }
    let committed = committed(workspace, &phases, &differing).await?;
    let replaced = replaced(workspace, &phases, &differing).await?;
    let newest =
        phases.iter().filter_map(|phase| phase.baseline.as_ref()).max_by_key(|start| start.taken_ns());
    let has_left = match newest {
        Some(newest) => workspace.has_left(newest).await?,
        None => false,
    };
    let history = WorkHistory {
        was_replaced: has_left || is_other_folder(newest, workspace, trees),
        committed,
        replaced,
        unlisted,
        idle,
        phases,
    };
    Ok(history.lost(&differing))
}

/// Changes of a phase beyond those that its measurement named, perhaps with these among them; none if there is no list of them.
async fn listed_changes(run: &Run, changes: &PhaseChanges<'_>, state: &StateDir) -> Option<Vec<ChangedFile>> {
    match changes.names_all {
        true => Some(Vec::new()),
        false => read_changes(changes_path(state, run.id(), changes.phase)).await,
    }
}

/// Looks at the workspace of one run.
pub(crate) struct LostWorkFinder {
    workspace: Workspace,
    trees: RunWorktrees,
    state: StateDir,
}

impl LostWorkFinder {
    pub(crate) fn new(workspace: Workspace, trees: RunWorktrees, state: StateDir) -> Self {
        Self { workspace, trees, state }
    }

    /// The inputs for work lost in this idle time.
    pub(crate) async fn find(&self, run: &Run, idle: IdleTime) -> Vec<Input> {
        seen(lost_work(run, &self.workspace, &self.trees, &self.state, idle).await)
    }

    /// The inputs for lost work before the run ends, from its state after the end.
    pub(crate) async fn find_undone(&self, run: &Run) -> Vec<Input> {
        seen(undone_work(run, &self.workspace, &self.state).await)
    }
}

/// None if the workspace cannot be read: the next measurement has the same error, and stops the run.
fn seen(found: Result<Vec<Input>, WorkspaceError>) -> Vec<Input> {
    found.unwrap_or_else(|error| {
        tracing::warn!("cannot see whether finished work is still there: {error}");
        Vec::new()
    })
}

/// The inputs for objectives that agents reported as done since the last measurement, after late reports; none if there are no
/// such reports.
pub(crate) async fn unmeasured_claims(
    run: &Run,
    workspace: &Workspace,
    trees: &RunWorktrees,
    state: &StateDir,
) -> Option<Input> {
    if !run.has_unmeasured_claims() {
        return None;
    }
    let mut newest: Option<Baseline> = None;
    for changes in run.changes_in_workspace() {
        let start = read_baseline(baseline_path(state, run.id(), changes.phase)).await;
        newest = newest.into_iter().chain(start).max_by_key(Baseline::taken_ns);
    }
    let has_left = match &newest {
        // Where git cannot tell, the next measurement meets it as well.
        Some(newest) => workspace.has_left(newest).await.unwrap_or(false),
        None => false,
    };
    let is_folder_replaced = has_left || is_other_folder(newest.as_ref(), workspace, trees);
    Some(Input::ClaimsUnmeasured { is_folder_replaced })
}

/// Whether the folder, or its repository, is another one than when the newest phase began.
fn is_other_folder(newest: Option<&Baseline>, workspace: &Workspace, trees: &RunWorktrees) -> bool {
    trees.was_made_again() || newest.is_some_and(|newest| newest.is_of_other_folder(workspace))
}

/// Which of the files are, by now, as the commits have them that were on HEAD while the phases worked, or as those before them had them.
async fn committed(
    workspace: &Workspace,
    phases: &[MeasuredPhase<'_>],
    differing: &[CurrentFile],
) -> Result<BTreeMap<String, BTreeSet<String>>, WorkspaceError> {
    let mut heads: BTreeMap<&str, UnixMs> = BTreeMap::new();
    for phase in phases {
        let start = phase.baseline.as_ref().map(|start| (start.head(), ms_of(start.taken_ns())));
        let measured = phase.head_by_then.as_deref().map(|head| (head, phase.changes.measured_at));
        for (head, at) in start.into_iter().chain(measured) {
            let earliest = heads.entry(head).or_insert(at);
            *earliest = at.min(*earliest);
        }
    }
    // If one of these counts, so do the earlier ones: their history need not be read again.
    let mut heads: Vec<(&str, UnixMs)> = heads.into_iter().collect();
    heads.sort_by_key(|(_, at)| *at);
    let (mut committed, mut read) = (BTreeMap::new(), Vec::new());
    for (head, _) in heads {
        let mut files = workspace.as_committed(head, differing).await?;
        files.extend(workspace.as_in_history(head, &read, differing).await?);
        read.push(head);
        committed.insert(head.to_owned(), files);
    }
    Ok(committed)
}

/// Which of the files are as a commit has them that was made or fetched since, without the work on them ever having been committed on HEAD.
async fn replaced(
    workspace: &Workspace,
    phases: &[MeasuredPhase<'_>],
    differing: &[CurrentFile],
) -> Result<BTreeSet<String>, WorkspaceError> {
    let mut by_start: BTreeMap<(&str, UnixMs), Vec<(&CurrentFile, &ChangedFile)>> = BTreeMap::new();
    for now in differing {
        let last = phases.iter().find_map(|phase| {
            let left = phase.changes.files.iter().find(|file| file.path == now.path)?;
            let start = phase.baseline.as_ref().map_or("", Baseline::head);
            Some(((start, phase.changes.measured_at), *left))
        });
        if let Some((start, left)) = last {
            by_start.entry(start).or_default().push((now, left));
        }
    }
    let mut replaced = BTreeSet::new();
    for ((start, since), files) in by_start {
        replaced.extend(workspace.replaced_by_commits(start, since, &files).await?);
    }
    Ok(replaced)
}

/// A phase that works in the workspace, and its baseline, if known.
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
    /// Which of the files are, by now, as a commit has them, or had them before it.
    committed: BTreeMap<String, BTreeSet<String>>,
    /// Which of them have been replaced by a commit that never had the work.
    replaced: BTreeSet<String>,
    /// Phases whose list of changes cannot be read.
    unlisted: BTreeSet<usize>,
    /// The time in which no agent worked in the workspace.
    idle: IdleTime,
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
        // A phase in a loop is listed once for each walk: the losses of all walks are combined.
        let mut of_all_walks: BTreeMap<usize, Vec<&CurrentFile>> = BTreeMap::new();
        for (index, files) in by_phase {
            let phase = self.phases[index].changes.phase;
            let newest = self.phases.iter().position(|other| other.changes.phase == phase).unwrap_or(index);
            let known = of_all_walks.entry(newest).or_default();
            for file in files {
                if known.iter().all(|known| known.path != file.path) {
                    known.push(file);
                }
            }
        }
        for index in self.unlisted.iter().filter(|index| self.phases[**index].changes.is_done_by_unnamed()) {
            of_all_walks.entry(*index).or_default();
        }
        // In the order in which they were measured.
        let lost = of_all_walks.into_iter().rev().map(|(index, files)| {
            let paths = files.into_iter().map(|file| file.path.as_str()).collect();
            work_lost(&self.phases[index].changes, paths, true)
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

    /// Whether the work on a file is lost. It is if the file is gone, or has its content from before its last measurement, also
    /// from the history of git: changes that were not committed when the run began are then lost as well. It is lost, too, if
    /// the file was last written before that measurement, which found another content (it was put back), or if it matches a
    /// commit that never had the work. In a folder that was replaced, any difference counts: its state may be older than the
    /// run. If a baseline cannot be read, the earlier contents are unknown, and the work counts as lost.
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
        let was_put_back = ms_of(now.modified_ns) < measured_at;
        let is_otherwise = self.was_replaced || was_put_back || self.replaced.contains(&now.path);
        !now.exists
            || now.differs && is_otherwise
            || self.phases.iter().any(MeasuredPhase::has_unknown_start)
            || self.phases.iter().any(was_before)
    }

    /// Whether a commit has a file as it is now.
    fn commit_has(&self, commit: &str, now: &CurrentFile) -> bool {
        self.committed.get(commit).is_some_and(|files| files.contains(&now.path))
    }

    /// Whether a file was last changed after it was measured, and while agents were at work.
    fn is_by_agents(&self, now: &CurrentFile, measured_at: UnixMs) -> bool {
        let touched = now.touched_ns.map(ms_of);
        touched.is_some_and(|touched| measured_at < touched && !self.idle.includes(touched))
    }
}

impl MeasuredPhase<'_> {
    /// Whether it was measured, and what with cannot be read any more.
    fn has_unknown_start(&self) -> bool {
        self.baseline.is_none() && self.changes.measured_at > UnixMs(0)
    }

    /// Whether its last measurement found a file as it is now, and as it was when the phase began.
    fn found(&self, now: &CurrentFile) -> bool {
        self.changes.names_all && self.baseline.as_ref().is_some_and(|start| start.has(now))
    }
}

/// The input for a phase that has lost these files; without any, for its files that are only counted.
fn work_lost(changes: &PhaseChanges<'_>, files: Vec<&str>, includes_accepted: bool) -> Input {
    Input::WorkLost {
        phase: changes.phase.clone(),
        beyond: match files.is_empty() {
            true => changes.unnamed,
            false => u32::try_from(files.len().saturating_sub(LOST_FILES_NAMED)).unwrap_or(u32::MAX),
        },
        files: files.into_iter().take(LOST_FILES_NAMED).map(str::to_owned).collect(),
        includes_accepted,
    }
}

/// A time by the clock of files as one of the journal.
fn ms_of(ns: i64) -> UnixMs {
    UnixMs(u64::try_from(ns / 1_000_000).unwrap_or(0))
}
