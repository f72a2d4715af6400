//! Holds the settings of agents in the trees of a run to their state when its first agent began there: an agent with edit
//! permission could otherwise make the next one run commands, or act beyond its permission without asking. Whole files are
//! compared, not single keys. Changes are accepted once the user has been asked about them. The next run asks about changes
//! that a run left unaccepted.
//!
//! The same holds for the files by which a run starts agents without a sandbox, if others of its agents have one. The next run compares
//! these by itself.

mod started_files;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use baton_agents::TOO_MANY_SETTINGS;
use baton_core::short_format::first_of;
use baton_core::visible::visible_name;
use baton_core::{Digest, PhaseId, RunId, SessionId};
use baton_store::StateDir;
use serde::{Deserialize, Serialize};

use crate::private_file;

pub(crate) use started_files::StartedFiles;

/// Changed files that are named.
const NAMED: usize = 3;

/// What stands at each path.
type FingerprintsByPath = BTreeMap<PathBuf, String>;

/// Paths that an earlier run left changed, with what stood there then.
type LeftSettings = BTreeMap<PathBuf, Option<String>>;

/// The notes of a run: one for each tree.
#[derive(Debug)]
pub(crate) struct HeldFiles {
    folder: PathBuf,
    /// The workspace, from which every other tree is made.
    workspace: PathBuf,
    /// Whether agents of this run must not change settings. Otherwise the host asks only about changes that an earlier run
    /// left.
    is_held: bool,
    /// Files by which agents without a sandbox are started, in a run in which others have one.
    started: StartedFiles,
}

/// What stands in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct HeldState {
    /// Where agents look for settings.
    settings: FingerprintsByPath,
    /// By which agents are started. Whole paths are of the workspace, for another tree.
    #[serde(default)]
    started: FingerprintsByPath,
}

/// The note of a tree.
#[derive(Debug, Serialize, Deserialize)]
struct HeldNote {
    /// The settings at the start of the first agent in the tree, or as the user has accepted them.
    accepted: FingerprintsByPath,
    /// The same of the files by which agents are started, if it was looked at them. A note of an older version has none.
    #[serde(default)]
    started: Option<FingerprintsByPath>,
    /// By phase: their state when the user was asked about them there.
    #[serde(default)]
    asked: BTreeMap<PhaseId, AskedState>,
    /// Of the workspace: the settings as they were when the host of the run last stopped work. What is different later was changed by others
    /// than its agents.
    #[serde(default)]
    ended: Option<FingerprintsByPath>,
    /// For the workspace: changes that an earlier run left there and that the user has not accepted. `accepted` has the state
    /// before them.
    #[serde(default)]
    left: LeftSettings,
    /// As in [`HeldFiles`]. A note of an older version does not tell what its agents left.
    #[serde(default)]
    is_held: bool,
}

impl HeldNote {
    fn of(accepted: FingerprintsByPath) -> Self {
        let (asked, left) = (BTreeMap::new(), BTreeMap::new());
        Self { accepted, started: None, asked, ended: None, left, is_held: true }
    }

    /// What the agents of the run have left in the workspace, if it still stands.
    fn left_by_run(&self, now: &FingerprintsByPath) -> LeftSettings {
        // If its host died, everything that is different may be its agents'.
        let end = self.ended.as_ref().unwrap_or(now);
        let changed = differing(&self.accepted, end).into_iter();
        let left: LeftSettings = match self.is_held {
            true => changed.map(|path| (path.clone(), end.get(path).cloned())).collect(),
            false => self.left.clone(),
        };
        left.into_iter().filter(|(path, what)| now.get(path) == what.as_ref()).collect()
    }
}

/// The state that the user was asked about.
#[derive(Debug, Serialize, Deserialize)]
struct AskedState {
    /// The session that did not start for it. A later one of its phase starts only after an answer.
    session: SessionId,
    #[serde(flatten)]
    state: HeldState,
}

/// Why no agent starts in a tree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HeldFilesError {
    /// The user must review the settings.
    #[error(
        "settings of agents have changed since the run began ({}), and the next agent would run the commands in \
         them: review them, revert unwanted changes, and retry",
        first_of(.0, NAMED)
    )]
    Changed(Vec<String>),
    /// They are run at once, by an agent with all rights of its user.
    #[error(
        "{}files by which agents are started have changed since the run began ({}), and the next agent, which has no sandbox, would \
         run what is in them: review them, revert unwanted changes, and retry",
        if *.with_settings { "settings of agents and " } else { "" },
        first_of(.paths, NAMED)
    )]
    StartChanged {
        /// There are settings among them.
        with_settings: bool,
        /// What has changed.
        paths: Vec<String>,
    },
    /// As the first one, of an earlier run.
    #[error(
        "agents of an earlier run in this folder have changed settings of agents ({}), and the next agent would run the \
         commands in them: review them, revert unwanted changes, and retry",
        first_of(.0, NAMED)
    )]
    LeftChanged(Vec<String>),
    /// Changes there can go unseen.
    #[error(
        "there are more settings of agents, or files by which they are started, than Baton looks at ({}), and the next agent would \
         run what another one may have changed among them: review them, remove what is not needed, and retry",
        first_of(.0, NAMED)
    )]
    TooMany(Vec<String>),
    /// They can be held to nothing.
    #[error("cannot record the settings of agents, and the files by which they are started, in {}: {source}", tree.display())]
    CannotRecord {
        /// The tree of the phase.
        tree: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl HeldFilesError {
    pub(crate) fn needs_a_person(&self) -> bool {
        match self {
            Self::Changed(_) | Self::StartChanged { .. } | Self::LeftChanged(_) | Self::TooMany(_) => true,
            Self::CannotRecord { .. } => false,
        }
    }
}

impl HeldFiles {
    pub(crate) fn of(state: &StateDir, run: &RunId, is_held: bool, started: StartedFiles) -> Self {
        let workspace = state.workspace().to_owned();
        let folder = state.sessions().join(run.as_str());
        Self { folder, workspace, is_held, started }
    }

    /// Notes the files by which agents are started, before any agent of the run begins: in a sandbox one may change them. Blocking.
    pub(crate) fn note_start(&self) -> io::Result<()> {
        if !self.started.is_empty() {
            self.noted_of_workspace()?;
        }
        Ok(())
    }

    /// Notes the settings of a tree on the first call, and refuses different ones later: in every phase, until the user has
    /// been asked in one phase and has let it continue. If there are too many to detect a change, the host asks at each start.
    /// In a run whose agents may change settings, it refuses only changes that an earlier run left, until the user has let one
    /// phase continue. For an unconfined agent, it holds the files by which agents are started as well. Blocking.
    pub(crate) fn expect_same(
        &self,
        tree: &Path,
        phase: &PhaseId,
        session: &SessionId,
        is_confined: bool,
    ) -> Result<(), HeldFilesError> {
        let not_noted = |source| HeldFilesError::CannotRecord { tree: tree.to_owned(), source };
        // Before any agent of the run has begun, whichever tree that one gets.
        let mut of_workspace = self.noted_of_workspace().map_err(not_noted)?;
        let looks_at_started = !is_confined && !self.started.is_empty();
        if !self.is_held {
            self.expect_nothing_left(tree, phase, session, &mut of_workspace)?;
            if !looks_at_started {
                return Ok(());
            }
        }
        let file = self.record_path(tree);
        let settings = self.is_held.then(|| baton_agents::settings_of_agents(tree));
        let started = looks_at_started.then(|| self.started_in(tree));
        let is_seen_whole = settings.iter().chain(&started).all(is_whole);
        let noted = read(&file).map_err(not_noted)?;
        let is_new = noted.is_none();
        let mut noted = noted.unwrap_or_else(|| {
            // A tree that is made on the way has what the workspace had, or less: files that git ignores are not in it.
            let mut accepted = of_workspace.accepted.clone();
            accepted.retain(|path, _| settings.as_ref().is_none_or(|now| now.contains_key(path)));
            HeldNote::of(accepted)
        });
        let is_started_noted = noted.started.is_some();
        if let (None, Some(now)) = (&noted.started, &started) {
            noted.started = Some(self.started_before(tree, &of_workspace, now));
        }
        if let (Some(noted), Some(now)) = (&mut noted.started, &started)
            && tree != self.workspace
        {
            // What was accepted of the workspace is accepted for every tree.
            let of_workspace = self.of_workspace(of_workspace.started.clone().unwrap_or_default());
            noted.extend(of_workspace.filter(|(path, what)| now.get(path) == Some(what)));
        }
        let accepted = HeldState {
            settings: noted.accepted.clone(),
            started: noted.started.clone().unwrap_or_default(),
        };
        // What this agent does not go by is as it was.
        let now = HeldState {
            settings: settings.unwrap_or_else(|| accepted.settings.clone()),
            started: started.unwrap_or_else(|| accepted.started.clone()),
        };
        if accepted == now && (is_new || is_seen_whole) {
            let is_noted = !is_new && (is_started_noted || !looks_at_started);
            return if is_noted { Ok(()) } else { write_record(&file, &noted).map_err(not_noted) };
        }
        let asked = noted.asked.get(phase);
        if asked.is_some_and(|asked| asked.session != *session && asked.state == now) {
            noted.asked.retain(|other, asked| other != phase && asked.state != now);
            if looks_at_started {
                noted.started = Some(now.started);
            }
            if self.is_held {
                noted.accepted = now.settings;
                noted.left.clear();
            }
            return write_record(&file, &noted).map_err(not_noted);
        }
        let error = refusal(&accepted, &now, &of_workspace.left);
        noted.asked.insert(phase.clone(), AskedState { session: session.clone(), state: now });
        write_record(&file, &noted).map_err(not_noted)?;
        Err(error)
    }

    /// What stands in a tree of the files by which agents are started. Commands may name those of the workspace from any tree.
    fn started_in(&self, tree: &Path) -> FingerprintsByPath {
        let mut found = self.started.fingerprints(tree);
        if tree != self.workspace {
            found.extend(self.of_workspace(self.started.fingerprints(&self.workspace)));
        }
        found
    }

    /// The same, as it was before any agent was in this tree.
    fn started_before(
        &self,
        tree: &Path,
        of_workspace: &HeldNote,
        now: &FingerprintsByPath,
    ) -> FingerprintsByPath {
        let mut before = of_workspace.started.clone().unwrap_or_default();
        if tree != self.workspace {
            let whole: Vec<_> = self.of_workspace(before.clone()).collect();
            before.retain(|path, _| now.contains_key(path));
            before.extend(whole);
        }
        before
    }

    /// By whole paths.
    fn of_workspace(&self, found: FingerprintsByPath) -> impl Iterator<Item = (PathBuf, String)> {
        found.into_iter().map(|(path, what)| (self.workspace.join(path), what))
    }

    /// Refuses changes that an earlier run left, as long as they are in place.
    fn expect_nothing_left(
        &self,
        tree: &Path,
        phase: &PhaseId,
        session: &SessionId,
        noted: &mut HeldNote,
    ) -> Result<(), HeldFilesError> {
        if noted.left.is_empty() {
            return Ok(());
        }
        let now = baton_agents::settings_of_agents(tree);
        let stands = |(path, what): &(&PathBuf, &Option<String>)| now.get(*path) == what.as_ref();
        let standing: Vec<&PathBuf> = noted.left.iter().filter(stands).map(|(path, _)| path).collect();
        if standing.is_empty() {
            return Ok(());
        }
        let paths = standing.iter().map(|path| visible_name(&path.to_string_lossy()).into_owned()).collect();
        let settings: FingerprintsByPath = standing
            .into_iter()
            .map(|path| (path.clone(), now.get(path).cloned().unwrap_or_default()))
            .collect();
        let is_seen = noted
            .asked
            .get(phase)
            .is_some_and(|asked| asked.session != *session && asked.state.settings == settings);
        let told = match is_seen {
            true => {
                noted.left.retain(|path, _| !settings.contains_key(path));
                Ok(())
            }
            false => {
                let state = HeldState { settings, started: FingerprintsByPath::new() };
                noted.asked.insert(phase.clone(), AskedState { session: session.clone(), state });
                Err(HeldFilesError::LeftChanged(paths))
            }
        };
        write_record(&self.record_path(&self.workspace), noted)
            .map_err(|source| HeldFilesError::CannotRecord { tree: tree.to_owned(), source })?;
        told
    }

    /// Notes that no agent of the run is at work any more, for the next run: later changes are not theirs. Blocking.
    pub(crate) fn note_end(&self) -> io::Result<()> {
        let file = self.record_path(&self.workspace);
        let Some(mut noted) = read(&file)?.filter(|noted| noted.is_held) else { return Ok(()) };
        noted.ended = Some(baton_agents::settings_of_agents(&self.workspace));
        write_record(&file, &noted)
    }

    /// The note of the workspace, which is written now if there is none.
    fn noted_of_workspace(&self) -> io::Result<HeldNote> {
        let file = self.record_path(&self.workspace);
        let started = || (!self.started.is_empty()).then(|| self.started.fingerprints(&self.workspace));
        if let Some(mut noted) = read(&file)? {
            let is_of_older_version = noted.started.is_none() && !self.started.is_empty();
            if is_of_older_version {
                noted.started = started();
            }
            if noted.ended.take().is_some() || is_of_older_version {
                write_record(&file, &noted)?;
            }
            return Ok(noted);
        }
        let earlier = self.newest_of_earlier_runs(&file)?;
        let mut noted = HeldNote::of(FingerprintsByPath::new());
        noted.is_held = self.is_held;
        if earlier.is_none() && !self.is_held && self.started.is_empty() {
            return Ok(noted);
        }
        noted.accepted = baton_agents::settings_of_agents(&self.workspace);
        noted.started = started();
        if let Some(earlier) = earlier {
            noted.left = earlier.left_by_run(&noted.accepted);
            for path in noted.left.keys() {
                match earlier.accepted.get(path) {
                    Some(before) => noted.accepted.insert(path.clone(), before.clone()),
                    None => noted.accepted.remove(path),
                };
            }
        }
        write_record(&file, &noted)?;
        Ok(noted)
    }

    /// The newest note of the workspace by another run.
    fn newest_of_earlier_runs(&self, own: &Path) -> io::Result<Option<HeldNote>> {
        let (Some(name), Some(sessions)) = (own.file_name(), self.folder.parent()) else { return Ok(None) };
        let folders = fs::read_dir(sessions).into_iter().flatten().flatten();
        let files = folders.map(|folder| folder.path().join(name)).filter(|file| file != own);
        let newest = files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file))).max();
        newest.map_or(Ok(None), |(_, file)| read(&file))
    }

    fn record_path(&self, tree: &Path) -> PathBuf {
        let name = Digest::of(tree.as_os_str().as_encoded_bytes());
        self.folder.join(format!("settings-{}.json", name.short()))
    }
}

/// Whole or not at all, also where another session notes the same.
fn write_record(file: &Path, noted: &HeldNote) -> io::Result<()> {
    private_file::replace(file, &serde_json::to_vec(noted)?)
}

fn read(file: &Path) -> io::Result<Option<HeldNote>> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether changes can be seen everywhere.
fn is_whole(settings: &FingerprintsByPath) -> bool {
    settings.values().all(|what| what != TOO_MANY_SETTINGS)
}

/// Paths at which they differ.
fn differing<'s>(accepted: &'s FingerprintsByPath, now: &'s FingerprintsByPath) -> BTreeSet<&'s PathBuf> {
    let paths = accepted.keys().chain(now.keys());
    paths.filter(|path| accepted.get(*path) != now.get(*path)).collect()
}

/// Paths at which they differ or may differ, for people.
fn to_review(accepted: &FingerprintsByPath, now: &FingerprintsByPath) -> Vec<String> {
    let is_unsure = |path: &PathBuf| now.get(path).is_some_and(|what| what == TOO_MANY_SETTINGS);
    let mut paths = differing(accepted, now);
    paths.extend(now.keys().filter(|path| is_unsure(path)));
    let name = |path: &PathBuf| {
        let name = visible_name(&path.to_string_lossy()).into_owned();
        if is_unsure(path) { format!("{name}: {TOO_MANY_SETTINGS}") } else { name }
    };
    paths.into_iter().map(name).collect()
}

/// Why no agent starts with these settings, compared with the accepted ones.
fn refusal(accepted: &HeldState, now: &HeldState, left: &LeftSettings) -> HeldFilesError {
    let settings = to_review(&accepted.settings, &now.settings);
    let mut paths = to_review(&accepted.started, &now.started);
    paths.extend(settings.iter().filter(|path| !paths.contains(path)).cloned().collect::<Vec<_>>());
    let changed = differing(&accepted.settings, &now.settings);
    let is_left = |path: &PathBuf| left.get(path).is_some_and(|what| now.settings.get(path) == what.as_ref());
    if accepted == now {
        HeldFilesError::TooMany(paths)
    } else if accepted.started != now.started {
        HeldFilesError::StartChanged { with_settings: !changed.is_empty(), paths }
    } else if changed.into_iter().all(is_left) {
        HeldFilesError::LeftChanged(paths)
    } else {
        HeldFilesError::Changed(paths)
    }
}

#[cfg(test)]
mod tests;
