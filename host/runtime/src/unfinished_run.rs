//! The unfinished run that the next `run` of a workflow continues (D8), and how that run is set aside if the user wants to
//! start again. Nothing is lost by that: `resume` still continues such a run.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use baton_core::action::RunOutcome;
use baton_core::view::{RunStatus, RunView};
use baton_core::workflow::RunSource;
use baton_core::{Input, Run, RunId, UnixMs, Workflow};
use baton_store::{Journal, RunSummary, StateDir, StoreError};

use crate::config::HostConfig;
use crate::control::client::{HostStatus, host_status};
use crate::control::requester;
use crate::error::RuntimeError;
use crate::query;
use crate::recorder::RunRecorder;
use crate::recovery::{self, RecoveredRun};

/// The clock of file systems may be behind the one of the journal by as much.
pub(crate) const CLOCK_TICK_MS: u64 = 2_000;

/// A run that is not over.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfinishedRun {
    /// Its state at its last entry: no time has passed for it since.
    pub view: RunView,
    /// What it does, as it was when the run began.
    pub workflow: Box<Workflow>,
    /// When its last entry was written.
    pub last_at: UnixMs,
    /// A host works on it now, or on something else in this workspace.
    pub busy: bool,
}

/// The run that the next `run` of this workflow continues: the newest one that was made from the same file or sentence, unless
/// it is over or was set aside. Older ones are never continued.
///
/// # Errors
/// Those of reading the journal.
pub async fn unfinished(
    config: &HostConfig,
    workflow: &Workflow,
) -> Result<Option<UnfinishedRun>, RuntimeError> {
    let Some((state, journal, newest)) = newest(config, workflow)? else { return Ok(None) };
    if newest.ended {
        return Ok(None);
    }
    let folded = recovery::fold_run(&journal, &newest.run).map_err(|error| error.in_dir(state.path()))?;
    if is_over(&folded) || folded.run.is_set_aside() {
        return Ok(None);
    }
    let busy = host_status(&state.control_socket()).await != HostStatus::NotRunning;
    let workflow = Box::new(folded.run.workflow().clone());
    let view = folded.run.view(folded.last.1);
    Ok(view.map(|view| UnfinishedRun { view, workflow, last_at: newest.last_at, busy }))
}

/// A run of a workflow, over or not.
#[derive(Debug)]
pub struct EarlierRun {
    /// How far it came.
    pub view: RunView,
    /// What it did, as it was when the run began.
    pub workflow: Workflow,
}

/// The newest run that was made from the same file as this workflow.
///
/// # Errors
/// Those of reading the journal.
pub fn newest_run(config: &HostConfig, workflow: &Workflow) -> Result<Option<EarlierRun>, RuntimeError> {
    let Some((state, journal, newest)) = newest(config, workflow)? else { return Ok(None) };
    let folded = recovery::fold_run(&journal, &newest.run).map_err(|error| error.in_dir(state.path()))?;
    let workflow = folded.run.workflow().clone();
    Ok(folded.run.view(folded.last.1).map(|view| EarlierRun { view, workflow }))
}

/// A run that was made from a file, with its workflow.
#[derive(Debug)]
pub struct RunOfFile {
    /// Its id.
    pub run: RunId,
    /// When it began.
    pub started_at: UnixMs,
    /// What it began with.
    pub began: Workflow,
    state: StateDir,
}

/// The newest run that was made from the plan or the workflow file at this path, without links; in whatever workspace, since
/// the file itself may name one. Runs that agents began do not count: an agent would accept its own changes by one. A folder
/// whose runs cannot be read is skipped.
///
/// # Errors
/// [`RuntimeError::State`] for a state root that cannot be named.
pub fn newest_of_file(state_root: &Path, file: &Path) -> Result<Option<RunOfFile>, RuntimeError> {
    let mut newest: Option<RunOfFile> = None;
    for state in StateDir::all_below(state_root).map_err(cannot_look_for_runs(state_root))? {
        // A broken journal is skipped here; commands on its own runs report it.
        let Ok(journal) = query::open_read_only(&state) else { continue };
        let Ok(runs) = journal.runs() else { continue };
        for summary in runs.into_iter().rev() {
            if newest.as_ref().is_some_and(|newest| newest.started_at >= summary.started_at) {
                break;
            }
            let began = query::begun_with(journal.first(&summary.run).ok().flatten());
            let Some(began) = began.filter(|began| is_from(began, file)) else { continue };
            if requester::was_started_by_agent(&state, &summary.run) {
                continue;
            }
            let (run, started_at) = (summary.run, summary.started_at);
            newest = Some(RunOfFile { run, started_at, began: *began, state: state.clone() });
            break;
        }
    }
    Ok(newest)
}

pub(crate) fn cannot_look_for_runs(state_root: &Path) -> impl Fn(StoreError) -> RuntimeError {
    let dir = state_root.to_owned();
    move |source| RuntimeError::State {
        what: "cannot look for runs",
        dir: dir.clone(),
        source: source.into(),
    }
}

/// A file that a run may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuspectedChange<'f> {
    /// The run.
    pub run: RunId,
    /// The folder above the file in which the run worked; absent for the workspace of the earlier run, or of the next one.
    pub folder: Option<PathBuf>,
    /// The file.
    pub file: &'f Path,
    /// The run did not compare it, since there were too many files or it belongs to another repository or is ignored there, and it was
    /// touched while the run worked, or since it began.
    pub is_overlooked: bool,
}

/// A run that worked in a folder above a file since an earlier run began.
struct LaterRun<'r> {
    run: &'r Run,
    /// The folder in which it worked.
    workspace: &'r Path,
    /// It worked in another folder than the earlier run.
    is_of_other_folder: bool,
    /// Changes by this run from this time on were made after the earlier run began.
    from: UnixMs,
    last_at: UnixMs,
}

fn is_from(began: &Workflow, file: &Path) -> bool {
    let path = match &began.source {
        Some(RunSource::Plan { path, .. } | RunSource::File { path }) => path,
        Some(RunSource::Sentence { .. }) | None => return false,
    };
    Path::new(path) == file
}

impl RunOfFile {
    /// Its workspace, without links.
    pub fn workspace(&self) -> &Path {
        self.state.workspace()
    }

    /// The newest run, from this one on, that may have changed a file, and which of these that is: of its workspace, then of
    /// every other folder above the file in which a run has worked since this one began. A run whose host died while an agent
    /// worked counts as well, since no host checked the files after that. The files are absolute and without links above them.
    /// A run that cannot be read is skipped.
    ///
    /// # Errors
    /// Those of reading the list of runs.
    pub fn changed_since<'f>(
        &self,
        files: &'f [PathBuf],
    ) -> Result<Option<SuspectedChange<'f>>, RuntimeError> {
        let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        self.find_since(&files, |later, file, name| later.may_have_changed(file, name))
    }

    /// The newest run, from this one on, that removed this file, as far as that is known.
    ///
    /// # Errors
    /// Those of reading the list of runs.
    pub fn removed_since<'f>(&self, file: &'f Path) -> Result<Option<SuspectedChange<'f>>, RuntimeError> {
        self.find_since(&[file], |later, _, name| {
            let has_removed = match later.is_of_other_folder {
                true => later.run.has_changed(name),
                false => later.run.has_changed_named(name),
            };
            has_removed.then_some(false)
        })
    }

    /// The newest run from this one on of which this says that it may have changed one of these files, and whether that is because it was
    /// overlooked. It is given the file and its name in the folder of that run.
    fn find_since<'f>(
        &self,
        files: &[&'f Path],
        says: impl Fn(&LaterRun<'_>, &Path, &str) -> Option<bool>,
    ) -> Result<Option<SuspectedChange<'f>>, RuntimeError> {
        let own = self.find_since_in(&self.state, files, &says)?;
        if own.is_some() {
            return Ok(own);
        }
        let states = StateDir::all_below(self.state.root()).unwrap_or_default();
        // A broken journal of another folder is skipped here; commands on its own runs report it.
        let others = states.iter().filter(|state| state.path() != self.state.path());
        Ok(others.filter_map(|state| self.find_since_in(state, files, &says).ok()?).next())
    }

    /// The same among the runs of one folder.
    fn find_since_in<'f>(
        &self,
        state: &StateDir,
        files: &[&'f Path],
        says: impl Fn(&LaterRun<'_>, &Path, &str) -> Option<bool>,
    ) -> Result<Option<SuspectedChange<'f>>, RuntimeError> {
        let workspace = state.workspace();
        let name_in = |file: &'f Path| Some((file, file.strip_prefix(workspace).ok()?.to_str()?));
        let files: Vec<(&Path, &str)> = files.iter().copied().filter_map(name_in).collect();
        if files.is_empty() {
            return Ok(None);
        }
        let is_of_other_folder = state.path() != self.state.path();
        let journal = query::open_read_only(state)?;
        let runs = journal.runs().map_err(query::cannot_read(state))?;
        let since: Vec<RunSummary> = match is_of_other_folder {
            true => runs.into_iter().filter(|run| run.last_at >= self.started_at).collect(),
            false => runs.into_iter().skip_while(|run| run.run != self.run).collect(),
        };
        Ok(since.into_iter().rev().find_map(|summary| {
            let folded = recovery::fold_run(&journal, &summary.run).ok()?.run;
            let later = LaterRun {
                run: &folded,
                workspace,
                is_of_other_folder,
                from: summary.started_at.max(self.started_at),
                last_at: summary.last_at,
            };
            files.iter().find_map(|(file, name)| {
                let is_overlooked = says(&later, file, name)?;
                let folder = is_of_other_folder.then(|| workspace.to_owned());
                Some(SuspectedChange { run: summary.run.clone(), folder, file, is_overlooked })
            })
        }))
    }
}

impl LaterRun<'_> {
    /// Whether it may have changed a file, and if so, whether it did not compare it.
    fn may_have_changed(&self, file: &Path, name: &str) -> Option<bool> {
        let run = self.run;
        let is_known = match self.is_of_other_folder {
            true => run.may_have_changed(name) && self.was_touched(file),
            false => !run.live_sessions().is_empty() || run.may_have_changed(name),
        };
        let is_overlooked = || {
            run.may_have_overlooked(name) && self.was_touched(file)
                || self.is_of_other_folder && self.was_touched_at_work(file)
        };
        (is_known || is_overlooked()).then_some(!is_known)
    }

    /// Whether a file, or a folder of the workspace above it, was written, moved to its place or removed since then. No program can set back
    /// the time that says so.
    fn was_touched(&self, file: &Path) -> bool {
        let mut parts = file.ancestors().take_while(|part| *part != self.workspace);
        parts.any(|part| {
            touched_at(part).is_none_or(|touched| touched.saturating_add(CLOCK_TICK_MS) >= self.from.0)
        })
    }

    /// Whether a file was last written or moved while this run worked. It may be one that the folder of the run does not list: of another
    /// repository in it, or one that git ignores there.
    fn was_touched_at_work(&self, file: &Path) -> bool {
        let Some(touched) = touched_at(file) else { return false };
        let is_before_end = !self.run.live_sessions().is_empty() || touched <= self.last_at.0;
        touched >= self.from.0 && is_before_end
    }
}

/// When a file was last written, moved to its place or changed otherwise, in milliseconds since the epoch. Absent if the file
/// does not exist.
pub(crate) fn touched_at(file: &Path) -> Option<u64> {
    let meta = file.symlink_metadata().ok()?;
    u64::try_from(meta.ctime().saturating_mul(1000).saturating_add(meta.ctime_nsec() / 1_000_000)).ok()
}

/// The newest run of this workflow that no agent began, with the journal that has it.
fn newest(
    config: &HostConfig,
    workflow: &Workflow,
) -> Result<Option<(StateDir, Journal, RunSummary)>, RuntimeError> {
    let state = match query::find_state(config) {
        Err(RuntimeError::NoRuns { .. }) => return Ok(None),
        found => found?,
    };
    let journal = query::open_read_only(&state)?;
    let runs = journal.runs().map_err(query::cannot_read(&state))?;
    let newest = runs.into_iter().rev().find(|run| {
        is_of(&journal, &run.run, &run.workflow, workflow)
            && !requester::was_started_by_agent(&state, &run.run)
    });
    Ok(newest.map(|newest| (state, journal, newest)))
}

/// Sets every unfinished run of this workflow aside, and names those that were not yet. It is journaled, so that no later `run`
/// continues one of them, whatever is removed in between.
///
/// # Errors
/// [`RuntimeError::Busy`] while a host works there, [`RuntimeError::Refused`] to an agent that did not begin the run, and those of reading and writing the journal.
pub async fn set_aside(config: &HostConfig, workflow: &Workflow) -> Result<Vec<RunId>, RuntimeError> {
    let state = match query::find_state(config) {
        Err(RuntimeError::NoRuns { .. }) => return Ok(Vec::new()),
        found => found?,
    };
    let (_lock, journal) = query::open_to_write(config, &state)?;
    let runs = journal.runs().map_err(query::cannot_read(&state))?;
    let mut set_aside = Vec::new();
    for run in runs.into_iter().filter(|run| !run.ended) {
        if !is_of(&journal, &run.run, &run.workflow, workflow) {
            continue;
        }
        // What cannot be folded is not taken up either.
        let Ok(folded) = recovery::fold_run(&journal, &run.run) else { continue };
        if is_over(&folded) || folded.run.is_set_aside() {
            continue;
        }
        requester::expect_no_agent(&state, &run.run)?;
        let mut recorder = RunRecorder::new(folded, run.run.clone(), journal.clone());
        let broken = |illegal: baton_core::run::IllegalInput| RuntimeError::Refused(illegal.to_string());
        recorder.record(Input::SetAside).map_err(broken)?;
        recorder.commit().await?;
        set_aside.push(run.run);
    }
    Ok(set_aside)
}

/// Whether a run was made from the same source as this workflow. If its first entry cannot be read, its name is compared.
fn is_of(journal: &Journal, run: &RunId, name: &str, workflow: &Workflow) -> bool {
    match query::begun_with(journal.first(run).ok().flatten()) {
        Some(began) => began.has_same_source(workflow),
        None => name == workflow.name,
    }
}

fn is_over(folded: &RecoveredRun) -> bool {
    matches!(folded.run.status(), RunStatus::Ended(RunOutcome::Done | RunOutcome::Unfinished))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use baton_core::ActionOutcome;
    use baton_store::JournalOptions;

    use super::*;
    use crate::config::RoleOverrides;
    use crate::test_support::{TestFixture, started};

    fn config(place: &TestFixture) -> HostConfig {
        HostConfig {
            workspace: place.workspace.clone(),
            state_root: place.state.path().parent().unwrap().to_owned(),
            own_exe: "/bin/false".into(),
            environment: BTreeMap::new(),
            overrides: RoleOverrides::default(),
        }
    }

    fn named(name: &str) -> Workflow {
        Workflow { name: name.into(), ..Workflow::default() }
    }

    async fn begin(place: &TestFixture, run: &str) -> RunRecorder {
        let mut recorder = place.recorder(&RunId::new(run));
        recorder.record(started(&RunId::new(run))).unwrap();
        recorder.commit().await.unwrap();
        recorder.flush().unwrap();
        recorder
    }

    #[tokio::test]
    async fn no_time_passes_for_a_run_that_no_host_works_on() {
        // B6: a run that was interrupted at 13 s had taken 7 minutes when its state was read 7 minutes later.
        let place = TestFixture::new(JournalOptions::default());
        begin(&place, "r1").await;
        let active = || query::view_of(&config(&place), None).unwrap().active_ms;
        let before = active();
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert_eq!(active(), before);
    }

    // D8
    #[tokio::test]
    async fn the_newest_run_of_the_name_is_found_until_it_is_set_aside() {
        let place = TestFixture::new(JournalOptions::default());
        let config = config(&place);
        assert_eq!(unfinished(&config, &named("two-steps")).await.unwrap(), None);
        begin(&place, "r1").await;
        begin(&place, "r2").await;
        let found = unfinished(&config, &named("two-steps")).await.unwrap().unwrap();
        assert_eq!((found.view.run.as_str(), found.busy), ("r2", false));
        assert_eq!(*found.workflow, crate::test_support::workflow());
        assert_eq!(unfinished(&config, &named("another")).await.unwrap(), None);

        assert_eq!(set_aside(&config, &named("another")).await.unwrap(), []);
        assert_eq!(set_aside(&config, &named("two-steps")).await.unwrap(), ["r1".into(), "r2".into()]);
        assert_eq!(unfinished(&config, &named("two-steps")).await.unwrap(), None);
        assert_eq!(set_aside(&config, &named("two-steps")).await.unwrap(), [], "once is enough");

        // It is kept, and can continue unchanged.
        let folded = recovery::fold_run(&place.journal, &"r2".into()).unwrap();
        assert!(folded.run.is_set_aside() && folded.run.view(UnixMs(0)).unwrap().set_aside);
        let open = folded.run.pending().iter().map(|intent| intent.action.name()).collect::<Vec<_>>();
        assert_eq!(open, ["assess"], "nothing began while nobody was there");
        let mut recorder = RunRecorder::new(folded, "r2".into(), place.journal.clone());
        recorder.record(Input::Resumed).unwrap();
        assert!(recorder.run().is_set_aside(), "to go on with it once does not call it back");
    }

    // N6
    #[tokio::test]
    async fn what_a_run_in_a_folder_above_may_have_changed_is_found() {
        let place = TestFixture::new(JournalOptions::default());
        let top = place.workspace.canonicalize().unwrap();
        let below = top.join("flows");
        std::fs::create_dir(&below).unwrap();
        let files = ["job.toml", "other.toml"].map(|name| below.join(name));
        files.iter().for_each(|file| std::fs::write(file, "").unwrap());
        let pause = || tokio::time::sleep(std::time::Duration::from_millis(50));
        pause().await;
        let state = StateDir::open(place.state.root(), &below).unwrap();
        let journal = Journal::open_with(&state, JournalOptions::default()).unwrap();
        let mut own = RunRecorder::new(RecoveredRun::default(), RunId::new("r1"), journal);
        let Input::Started { mut workflow, .. } = started(&RunId::new("r1")) else { panic!() };
        workflow.source = Some(RunSource::File { path: files[0].to_str().unwrap().to_owned() });
        let input = Input::Started {
            run: RunId::new("r1"),
            workflow,
            bindings: Vec::new(),
            task_folder: ".baton/r1".to_owned(),
            utc_offset_minutes: 0,
            assignments: Vec::new(),
        };
        own.record(input).unwrap();
        own.commit().await.unwrap();
        own.flush().unwrap();
        let earlier = newest_of_file(place.state.root(), &files[0]).unwrap().unwrap();

        let mut above = begin(&place, "r2").await;
        assert_eq!(earlier.changed_since(&files).unwrap(), None);
        pause().await;
        std::fs::write(&files[0], "more").unwrap();
        pause().await;
        above.record(Input::Tick).unwrap();
        above.commit().await.unwrap();
        above.flush().unwrap();
        let found = earlier.changed_since(&files).unwrap().unwrap();
        assert_eq!((found.run.as_str(), found.file, found.folder), ("r2", files[0].as_path(), Some(top)));
        // What is written after that run is not its work.
        pause().await;
        std::fs::write(&files[0], "by a person").unwrap();
        assert_eq!(earlier.changed_since(&files).unwrap(), None);
    }

    #[tokio::test]
    async fn a_run_that_is_over_is_not_found() {
        let place = TestFixture::new(JournalOptions::default());
        let mut recorder = begin(&place, "r1").await;
        // Stopped is not over.
        recorder.record(Input::StopRequested).unwrap();
        recorder.commit().await.unwrap();
        recorder.flush().unwrap();
        assert!(unfinished(&config(&place), &named("two-steps")).await.unwrap().is_some());
        let open: Vec<_> = recorder.run().pending().iter().map(|intent| intent.id).collect();
        recorder.record(Input::Resumed).unwrap();
        for action in open {
            let error = "no such folder".to_owned();
            recorder.record(Input::Outcome { action, outcome: ActionOutcome::Failed { error } }).unwrap();
        }
        let lock = place.state.lock().unwrap();
        let busy = set_aside(&config(&place), &named("two-steps")).await.unwrap_err();
        assert!(matches!(busy, RuntimeError::Busy { .. }), "{busy}");
        drop(lock);
    }
}
