//! Read-only looks at runs and artifacts, with or without a live host. Takes no lock and starts no policy engine.

use std::path::PathBuf;

use baton_core::action::RunOutcome;
use baton_core::input::ArtifactRef;
use baton_core::view::{RunStatus, RunView};
use baton_core::{Input, JournaledInput, RunId, SessionId, UnixMs, Workflow};
use baton_store::{
    ArtifactStore, ArtifactVersion, HostLock, Journal, JournalEntry, RunSummary, StateDir, StoreError,
};

use crate::config::HostConfig;
use crate::error::RuntimeError;
use crate::recovery;

/// A run in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Its id.
    pub run: RunId,
    /// Name of the workflow.
    pub workflow: String,
    /// When it began.
    pub started_at: UnixMs,
    /// Its status.
    pub status: RunStatus,
    /// Objectives that are done.
    pub done: u32,
    /// Objectives in all.
    pub objectives: u32,
    /// Whether the user has started the same work again since.
    pub set_aside: bool,
}

/// An artifact in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ArtifactEntry {
    /// Name, version, digest, size and summary.
    pub artifact: ArtifactRef,
    /// Its media type.
    pub media_type: String,
    /// The session that saved it, if one did.
    pub session: Option<SessionId>,
    /// When it was saved.
    pub at: UnixMs,
    /// The tool call that it came from, if it was one.
    pub tool_call: Option<String>,
    /// Since when it is only kept: the task that it served is over.
    pub archived_at: Option<UnixMs>,
    /// Tokens it would take in a context.
    pub tokens: u64,
    /// How they were counted.
    pub tokens_by: String,
    /// Its first lines; empty if it is not text.
    pub preview: String,
}

/// The journaled state of a run; of the newest run if none is named.
///
/// # Errors
/// [`RuntimeError::NoRuns`], [`RuntimeError::NoSuchRun`], and those of reading the journal.
pub fn view_of(config: &HostConfig, run: Option<&RunId>) -> Result<RunView, RuntimeError> {
    let state = find_state(config)?;
    let journal = open_read_only(&state)?;
    let run = resolve_run(config, &journal, run)?;
    let folded = recovery::fold_run(&journal, &run).map_err(|error| error.in_dir(state.path()))?;
    // Without a host, no time passes for a run; a live host reports its own state, and journals it within moments.
    let view = folded.run.view(folded.last.1);
    view.ok_or(RuntimeError::NoRuns { workspace: config.workspace.clone() })
}

/// The workflow that a run began with; none if its first entry does not have it.
///
/// # Errors
/// As for [`view_of`].
pub fn workflow_of(config: &HostConfig, run: &RunId) -> Result<Option<Workflow>, RuntimeError> {
    let state = find_state(config)?;
    let journal = open_read_only(&state)?;
    Ok(begun_with(journal.first(run).map_err(cannot_read(&state))?).map(|workflow| *workflow))
}

/// The workflow of the first entry of a run; none if the entry does not have one.
pub(crate) fn begun_with(first: Option<JournalEntry>) -> Option<Box<Workflow>> {
    match first? {
        JournalEntry::Input(JournaledInput { input: Input::Started { workflow, .. }, .. }) => Some(workflow),
        _ => None,
    }
}

/// When this run of the workspace began, or the newest one; nothing if there is none. Reads no more than the list of runs.
///
/// # Errors
/// Those of reading the journal.
pub fn began_at(config: &HostConfig, run: Option<&RunId>) -> Result<Option<UnixMs>, RuntimeError> {
    let state = match find_state(config) {
        Err(RuntimeError::NoRuns { .. }) => return Ok(None),
        found => found?,
    };
    let runs = open_read_only(&state)?.runs().map_err(cannot_read(&state))?;
    let meant = runs.iter().filter(|summary| run.is_none_or(|run| summary.run == *run));
    Ok(meant.map(|summary| summary.started_at).max())
}

/// The runs of the workspace, oldest first.
///
/// # Errors
/// [`RuntimeError::NoRuns`], and those of reading the journal.
pub fn runs(config: &HostConfig) -> Result<Vec<RunRow>, RuntimeError> {
    let state = find_state(config)?;
    let journal = open_read_only(&state)?;
    let runs = journal.runs().map_err(cannot_read(&state))?;
    runs.into_iter()
        .map(|summary| {
            let view = view_of(config, Some(&summary.run))?;
            let (done, objectives) = view.objectives();
            Ok(RunRow {
                run: summary.run,
                workflow: summary.workflow,
                started_at: summary.started_at,
                status: view.status,
                done,
                objectives,
                set_aside: view.set_aside,
            })
        })
        .collect()
}

/// The newest run that a host can resume, if there is one.
pub(crate) fn unfinished(config: &HostConfig) -> Result<Option<RunId>, RuntimeError> {
    let state = match find_state(config) {
        Err(RuntimeError::NoRuns { .. }) => return Ok(None),
        found => found?,
    };
    let journal = open_read_only(&state)?;
    for summary in journal.runs().map_err(cannot_read(&state))?.into_iter().rev() {
        let folded =
            recovery::fold_run(&journal, &summary.run).map_err(|error| error.in_dir(state.path()))?;
        if !matches!(folded.run.status(), RunStatus::Ended(RunOutcome::Done | RunOutcome::Unfinished)) {
            return Ok(Some(summary.run));
        }
    }
    Ok(None)
}

/// The journal of a workspace, to be read, and the run that is meant: the newest if none is named.
///
/// # Errors
/// As for [`view_of`].
pub fn journal_of(config: &HostConfig, run: Option<&RunId>) -> Result<(Journal, RunId), RuntimeError> {
    let journal = open_read_only(&find_state(config)?)?;
    let run = resolve_run(config, &journal, run)?;
    Ok((journal, run))
}

/// The artifacts of a run, every version, by name; of the newest run if none is named.
///
/// # Errors
/// As for [`view_of`].
pub fn artifacts(config: &HostConfig, run: Option<&RunId>) -> Result<Vec<ArtifactEntry>, RuntimeError> {
    let (state, store, run) = open_artifacts(config, run)?;
    let saved = store.list(&run).map_err(cannot_read(&state))?;
    Ok(saved
        .into_iter()
        .map(|saved| ArtifactEntry {
            artifact: saved.artifact,
            media_type: saved.media_type,
            session: saved.session,
            at: saved.saved_at,
            tool_call: saved.tool_call,
            archived_at: saved.archived_at,
            tokens: saved.tokens,
            tokens_by: saved.tokens_by,
            preview: saved.preview,
        })
        .collect())
}

/// The bytes of one artifact, or `part` of them: an offset and a maximum number of bytes. The newest version if none is named.
///
/// # Errors
/// As for [`view_of`], and [`RuntimeError::NoSuchArtifact`].
pub fn artifact(
    config: &HostConfig,
    run: Option<&RunId>,
    name: &str,
    version: Option<u32>,
    part: Option<(u64, Option<u64>)>,
) -> Result<Vec<u8>, RuntimeError> {
    let (state, store, run) = open_artifacts(config, run)?;
    let version = version.map_or(ArtifactVersion::Latest, ArtifactVersion::Exactly);
    let saved = match store.get(&run, name, version) {
        Err(StoreError::NoArtifact { run, name, version }) => {
            let kept = store.list(&run).map_err(cannot_read(&state))?;
            let nearest = nearest(&name, kept.iter().map(|kept| kept.artifact.name.as_str()));
            return Err(RuntimeError::NoSuchArtifact { run, name, version, nearest });
        }
        saved => saved.map_err(cannot_read(&state))?,
    };
    let digest = &saved.artifact.digest;
    let read = match part {
        None => store.read(digest),
        Some((offset, limit)) => store.read_range(digest, offset, limit.unwrap_or(u64::MAX)),
    };
    read.map_err(cannot_read(&state))
}

/// The name that the user may have meant, if one is similar enough.
fn nearest<'a>(name: &str, kept: impl Iterator<Item = &'a str>) -> Option<String> {
    /// A shared folder makes many names alike; one wrong letter stays far above this.
    const SIMILARITY_MIN: f64 = 0.8;
    kept.filter(|other| *other != name)
        .map(|other| (strsim::normalized_damerau_levenshtein(name, other), other))
        .filter(|(likeness, _)| *likeness >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, other)| other.to_owned())
}

fn open_artifacts(
    config: &HostConfig,
    run: Option<&RunId>,
) -> Result<(StateDir, ArtifactStore, RunId), RuntimeError> {
    // Artifacts that `baton mcp proxy` kept for the user's own client belong to no run of the journal.
    if let (Some(run), Ok(Some(state))) = (run, StateDir::find(&config.state_root, &config.workspace))
        && state.artifact_index().exists()
    {
        let store = ArtifactStore::open_read_only(&state).map_err(cannot_read(&state))?;
        if !store.list(run).map_err(cannot_read(&state))?.is_empty() {
            return Ok((state, store, run.clone()));
        }
    }
    let state = find_state(config)?;
    let run = resolve_run(config, &open_read_only(&state)?, run)?;
    let store = ArtifactStore::open_read_only(&state).map_err(cannot_read(&state))?;
    Ok((state, store, run))
}

/// The folder of a run for files outside of the journal; absent if nothing has run.
pub fn run_folder(config: &HostConfig, run: &RunId) -> Option<PathBuf> {
    Some(find_state(config).ok()?.sessions().join(run.as_str()))
}

/// The state directory of a workspace where something has run.
pub(crate) fn find_state(config: &HostConfig) -> Result<StateDir, RuntimeError> {
    let found = StateDir::find(&config.state_root, &config.workspace).map_err(|source| {
        RuntimeError::State { what: "cannot look", dir: config.state_root.clone(), source: source.into() }
    })?;
    if let Some(state) = found {
        state.expect_journal().map_err(cannot_read(&state))?;
        if state.journal().exists() {
            return Ok(state);
        }
    }
    Err(RuntimeError::NoRuns { workspace: config.workspace.clone() })
}

pub(crate) fn open_read_only(state: &StateDir) -> Result<Journal, RuntimeError> {
    Journal::open_read_only(state).map_err(cannot_read(state))
}

/// The journal, for a command that writes into it while no host works there; the lock is to be held until it is done.
pub(crate) fn open_to_write(
    config: &HostConfig,
    state: &StateDir,
) -> Result<(HostLock, Journal), RuntimeError> {
    let cannot_write = |source: StoreError| match source {
        StoreError::Locked { pid, .. } => RuntimeError::Busy { pid, workspace: config.workspace.clone() },
        source => RuntimeError::State {
            what: "cannot write the journal",
            dir: state.path().to_owned(),
            source: source.into(),
        },
    };
    let lock = state.lock().map_err(cannot_write)?;
    let journal = Journal::open(state).map_err(cannot_write)?;
    Ok((lock, journal))
}

pub(crate) fn cannot_read(state: &StateDir) -> impl Fn(StoreError) -> RuntimeError {
    let dir = state.path().to_owned();
    move |source| RuntimeError::State { what: "cannot read", dir: dir.clone(), source: source.into() }
}

fn is_imported(journal: &Journal, run: &RunId) -> bool {
    let first = journal.first(run).ok().flatten();
    begun_with(first).is_some_and(|workflow| workflow.imported.is_some())
}

/// The run that was named, or the newest one.
pub(crate) fn resolve_run(
    config: &HostConfig,
    journal: &Journal,
    run: Option<&RunId>,
) -> Result<RunId, RuntimeError> {
    let workspace = config.workspace.clone();
    let failed = |source: StoreError| RuntimeError::State {
        what: "cannot read",
        dir: journal.path().to_owned(),
        source: source.into(),
    };
    let runs = journal.runs().map_err(failed)?;
    match run {
        None => {
            // Imported runs are skipped, unless there are no others.
            let is_work = |run: &&RunSummary| !is_imported(journal, &run.run);
            let newest = runs.iter().rev().find(is_work).or(runs.last());
            newest.map(|newest| newest.run.clone()).ok_or(RuntimeError::NoRuns { workspace })
        }
        Some(run) if runs.iter().any(|known| known.run == *run) => Ok(run.clone()),
        Some(run) => Err(RuntimeError::NoSuchRun { run: run.clone(), workspace }),
    }
}
