//! Whether a run may have written a file that the user is about to use for the first time since then: a plan or a workflow file
//! that no run was made from, or a file that such a file or a command names.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use baton_core::{Run, RunId, UnixMs, Workflow};
use baton_store::{Journal, RunSummary, StateDir};

use crate::control::requester;
use crate::error::RuntimeError;
use crate::unfinished_run::{CLOCK_TICK_MS, SuspectedChange, cannot_look_for_runs, touched_at};
use crate::{query, recovery};

/// What a run reads or runs, by whole paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsedFiles {
    /// Files.
    pub files: BTreeSet<PathBuf>,
    /// Folders, with all that is in them.
    pub folders: BTreeSet<PathBuf>,
}

impl UsedFiles {
    /// Whether a file is one of them.
    pub fn has(&self, file: &Path) -> bool {
        self.files.contains(file) || file.ancestors().any(|folder| self.folders.contains(folder))
    }
}

/// The first of these files whose present content a run may have written, with the newest such run, unless the user has begun a
/// run that uses the file after that one. Only runs of folders above the file that worked when it was last written or moved to
/// its place count: others have not written its present content. The files are absolute and without links above them.
/// `workspace` is the folder that the next run works in: a change by a run there has no `folder`. `uses` returns the files that
/// a run used that began with this workflow in this folder. Unreadable runs are skipped.
///
/// # Errors
/// [`RuntimeError::State`] for a state root that cannot be named.
pub fn changed_before_first_use<'f>(
    state_root: &Path,
    workspace: Option<&Path>,
    files: &'f [PathBuf],
    uses: impl Fn(&Workflow, &Path) -> UsedFiles,
) -> Result<Option<SuspectedChange<'f>>, RuntimeError> {
    let states = StateDir::all_below(state_root).map_err(cannot_look_for_runs(state_root))?;
    let is_above = |state: &&StateDir| files.iter().any(|file| file.starts_with(state.workspace()));
    let folders: Vec<FolderRuns<'_>> = states.iter().filter(is_above).filter_map(FolderRuns::of).collect();
    let mut later = LaterUses::of(&states, uses);
    for file in files {
        for past in &folders {
            let Some(suspect) = past.suspect(file) else { continue };
            if later.has_after(file, suspect.ended_at) {
                continue;
            }
            let folder = past.state.workspace();
            let folder = (Some(folder) != workspace).then(|| folder.to_owned());
            let (run, is_overlooked) = (suspect.run.clone(), suspect.is_overlooked);
            return Ok(Some(SuspectedChange { run, folder, file, is_overlooked }));
        }
    }
    Ok(None)
}

/// A run that may have written a file.
struct SuspectRun<'p> {
    run: &'p RunId,
    /// When it was last at work, as far as is known.
    ended_at: UnixMs,
    /// It has not compared the file.
    is_overlooked: bool,
}

/// The runs of one folder, the oldest first. Each is read at most once, and only if times do not tell enough.
struct FolderRuns<'s> {
    state: &'s StateDir,
    journal: Journal,
    runs: Vec<(RunSummary, OnceCell<Option<Run>>)>,
}

impl<'s> FolderRuns<'s> {
    /// A broken journal is skipped here; commands on its own runs report it.
    fn of(state: &'s StateDir) -> Option<Self> {
        let journal = query::open_read_only(state).ok()?;
        let runs = journal.runs().ok()?.into_iter().map(|run| (run, OnceCell::new())).collect();
        Some(Self { state, journal, runs })
    }

    /// The newest run that may have written the file as it is now.
    fn suspect(&self, file: &Path) -> Option<SuspectRun<'_>> {
        let workspace = self.state.workspace();
        let name = file.strip_prefix(workspace).ok()?.to_str()?;
        let Some(touched) = touched_at(file) else { return self.remover(name) };
        // Who moves a folder does not touch the files in it.
        let above = file.ancestors().take_while(|part| *part != workspace);
        let newest = above.filter_map(touched_at).max().unwrap_or(touched);
        let newest = newest.saturating_add(CLOCK_TICK_MS);
        self.runs.iter().enumerate().rev().find_map(|(n, (summary, folded))| {
            let began = summary.started_at.0;
            if began > newest || summary.ended && summary.last_at.0 < touched {
                return None;
            }
            let run = folded.get_or_init(|| self.fold(summary)).as_ref()?;
            let is_live = !run.live_sessions().is_empty();
            let last_active = run.agents_last_alive().max(run.host_last_active());
            // Agents whose host died are ended at the latest when the next run begins there.
            let next = || self.runs.get(n + 1).map_or(u64::MAX, |(next, _)| next.started_at.0);
            let until = if is_live { next() } else { last_active.0 };
            if touched > until || run.workflow().imported.is_some() {
                return None;
            }
            let is_known = run.has_changed(name);
            let is_overlooked =
                || touched >= began || run.may_have_changed(name) || run.may_have_overlooked(name);
            (is_known || is_overlooked()).then_some(SuspectRun {
                run: &summary.run,
                ended_at: last_active,
                is_overlooked: !is_known,
            })
        })
    }

    /// The newest run that changed a file that is gone. Runs older than the newest run of the user do not count.
    fn remover(&self, name: &str) -> Option<SuspectRun<'_>> {
        for (summary, folded) in self.runs.iter().rev() {
            if let Some(run) = folded.get_or_init(|| self.fold(summary)).as_ref()
                && run.workflow().imported.is_none()
                && run.has_changed_named(name)
            {
                let ended_at = run.agents_last_alive().max(run.host_last_active());
                return Some(SuspectRun { run: &summary.run, ended_at, is_overlooked: false });
            }
            if !requester::was_started_by_agent(self.state, &summary.run) {
                break;
            }
        }
        None
    }

    fn fold(&self, summary: &RunSummary) -> Option<Run> {
        recovery::fold_run(&self.journal, &summary.run).ok().map(|folded| folded.run)
    }
}

/// The files used by runs that the user began, the newest first. No more runs are read than needed.
pub(crate) struct LaterUses<'s, U> {
    states: &'s [StateDir],
    /// The runs of all folders that are not looked at yet, the oldest first; absent before the first question.
    begun: Option<Vec<(&'s StateDir, Journal, RunSummary)>>,
    seen: Vec<(UnixMs, UsedFiles)>,
    uses: U,
}

impl<'s, U: Fn(&Workflow, &Path) -> UsedFiles> LaterUses<'s, U> {
    pub(crate) fn of(states: &'s [StateDir], uses: U) -> Self {
        Self { states, begun: None, seen: Vec::new(), uses }
    }

    /// Whether the user has begun a run that uses the file after this time.
    pub(crate) fn has_after(&mut self, file: &Path, after: UnixMs) -> bool {
        if self.seen.iter().any(|(at, used)| *at > after && used.has(file)) {
            return true;
        }
        let states = self.states;
        let begun = self.begun.get_or_insert_with(|| {
            let journals =
                states.iter().filter_map(|state| Some((state, query::open_read_only(state).ok()?)));
            let mut begun: Vec<_> = journals
                .flat_map(|(state, journal)| {
                    let runs = journal.runs().unwrap_or_default();
                    runs.into_iter().map(move |run| (state, journal.clone(), run))
                })
                .collect();
            begun.sort_by_key(|(_, _, run)| run.started_at);
            begun
        });
        while let Some((state, journal, run)) = begun.pop_if(|(_, _, run)| run.started_at > after) {
            let Some(began) = query::begun_with(journal.first(&run.run).ok().flatten()) else { continue };
            if requester::was_started_by_agent(state, &run.run) {
                continue;
            }
            let used = (self.uses)(&began, state.workspace());
            let is_used = used.has(file);
            self.seen.push((run.started_at, used));
            if is_used {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use baton_core::Input;
    use baton_core::workflow::RunSource;
    use baton_store::JournalOptions;

    use super::*;
    use crate::recorder::RunRecorder;
    use crate::test_support::{TestFixture, started};

    /// A run of this file.
    async fn begin(place: &TestFixture, run: &str, file: &Path) -> RunRecorder {
        let run = RunId::new(run);
        let mut input = started(&run);
        if let Input::Started { workflow, .. } = &mut input {
            workflow.source = Some(RunSource::File { path: file.to_str().unwrap().to_owned() });
        }
        let mut recorder = place.recorder(&run);
        recorder.record(input).unwrap();
        recorder.commit().await.unwrap();
        recorder.flush().unwrap();
        pause().await;
        recorder
    }

    async fn go_on(recorder: &mut RunRecorder) {
        pause().await;
        recorder.record(Input::Tick).unwrap();
        recorder.commit().await.unwrap();
        recorder.flush().unwrap();
        pause().await;
    }

    async fn pause() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }

    fn uses_its_file(began: &Workflow, _: &Path) -> UsedFiles {
        let Some(RunSource::File { path }) = &began.source else { return UsedFiles::default() };
        UsedFiles { files: [PathBuf::from(path)].into(), folders: BTreeSet::new() }
    }

    // N6
    #[tokio::test]
    async fn a_file_that_was_written_while_a_run_worked_is_found_until_a_person_uses_it() {
        let place = TestFixture::new(JournalOptions::default());
        let top = place.workspace.canonicalize().unwrap();
        let files = ["two.toml", "three.toml"].map(|name| top.join(name));
        let write = |file: &Path| std::fs::write(file, "x").unwrap();
        files.iter().for_each(|file| write(file));
        let find = |workspace: &Path| {
            let found = changed_before_first_use(place.state.root(), Some(workspace), &files, uses_its_file);
            found.unwrap().map(|found| (found.run.as_str().to_owned(), found.folder, found.file.to_owned()))
        };
        pause().await;
        let mut one = begin(&place, "r1", &top.join("one.toml")).await;
        assert_eq!(find(&top), None, "written before");
        write(&files[1]);
        go_on(&mut one).await;
        assert_eq!(find(&top), Some(("r1".to_owned(), None, files[1].clone())));
        let below = top.join("below");
        assert_eq!(find(&below), Some(("r1".to_owned(), Some(top.clone()), files[1].clone())));

        // That run used another file, so the user has not seen this one.
        begin(&place, "r2", &files[0]).await;
        assert!(find(&top).is_some());
        let marks = place.state.sessions().join("r3");
        std::fs::create_dir_all(&marks).unwrap();
        std::fs::write(marks.join("started-in.json"), "[\"an agent\"]").unwrap();
        begin(&place, "r3", &files[1]).await;
        assert!(find(&top).is_some(), "an agent accepts nothing");
        let mut own = begin(&place, "r4", &files[1]).await;
        assert_eq!(find(&top), None);
        write(&files[1]);
        go_on(&mut own).await;
        assert_eq!(find(&top).unwrap().0, "r4", "it may change its own file");
        write(&files[1]);
        assert_eq!(find(&top), None, "a person wrote that, when no run worked");
    }
}
