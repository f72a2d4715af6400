//! The settings of agents in the trees of a run, held to what they were when its first agent began there: an agent that may only edit
//! would have the next one run commands, or do without asking what it may not. Whole files are compared, and no keys in them. What has
//! changed is accepted once a person has been asked about it. What a run leaves that was not accepted is asked about in the next run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use baton_agents::TOO_MANY_SETTINGS;
use baton_core::short_format::first_of;
use baton_core::visible::visible_name;
use baton_core::{Digest, PhaseId, RunId, SessionId};
use baton_store::StateDir;
use serde::{Deserialize, Serialize};

use crate::private_file;

/// Changed settings that are named.
const NAMED: usize = 3;

/// What stands at each path where agents look for settings.
type SettingsByPath = BTreeMap<PathBuf, String>;

/// Paths that an earlier run left changed, with what stood there then.
type LeftSettings = BTreeMap<PathBuf, Option<String>>;

/// The notes of a run: one for each tree.
#[derive(Debug)]
pub(crate) struct HeldSettings {
    folder: PathBuf,
    /// What every other tree is made from.
    workspace: PathBuf,
    /// Agents of this run change no settings. Otherwise only what an earlier run left is asked about.
    is_held: bool,
    /// Makes names of half-written notes unlike each other.
    ordinal: AtomicU64,
}

/// The note of a tree.
#[derive(Debug, Serialize, Deserialize)]
struct NotedSettings {
    /// As they were when the first agent began there, or as a person has accepted them.
    accepted: SettingsByPath,
    /// By phase: as they were when a person was asked about them there.
    #[serde(default)]
    asked: BTreeMap<PhaseId, AskedSettings>,
    /// Of the workspace: as they were when the host of the run last stopped work. What is different later was changed by others than its agents.
    #[serde(default)]
    ended: Option<SettingsByPath>,
    /// Of the workspace: what an earlier run left there and no person has accepted. `accepted` has what stood there before.
    #[serde(default)]
    left: LeftSettings,
    /// As in [`HeldSettings`]. A note of an older version does not tell what its agents left.
    #[serde(default)]
    is_held: bool,
}

impl NotedSettings {
    fn of(accepted: SettingsByPath) -> Self {
        Self { accepted, asked: BTreeMap::new(), ended: None, left: BTreeMap::new(), is_held: true }
    }

    /// What the agents of the run have left in the workspace, if it still stands.
    fn left_by_run(&self, now: &SettingsByPath) -> LeftSettings {
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

/// What a person was asked about.
#[derive(Debug, Serialize, Deserialize)]
struct AskedSettings {
    /// The session that did not start for them. A later one of its phase starts only after an answer.
    session: SessionId,
    settings: SettingsByPath,
}

/// Why no agent starts in a tree.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HeldSettingsError {
    /// A person has to look at them.
    #[error(
        "settings of agents have changed since the run began ({}), and the next agent would run the commands in \
         them: review them, revert unwanted changes, and retry",
        first_of(.0, NAMED)
    )]
    Changed(Vec<String>),
    /// The same, of an earlier run.
    #[error(
        "agents of an earlier run in this folder have changed settings of agents ({}), and the next agent would run the \
         commands in them: review them, revert unwanted changes, and retry",
        first_of(.0, NAMED)
    )]
    LeftChanged(Vec<String>),
    /// Changes there can go unseen.
    #[error(
        "there are more settings of agents than Baton looks at ({}), and the next agent would run what another one \
         may have changed among them: review them, remove what is not needed, and retry",
        first_of(.0, NAMED)
    )]
    TooMany(Vec<String>),
    /// They can be held to nothing.
    #[error("cannot record the settings of agents in {}: {source}", tree.display())]
    CannotRecord {
        /// Where.
        tree: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl HeldSettingsError {
    pub(crate) fn needs_a_person(&self) -> bool {
        match self {
            Self::Changed(_) | Self::LeftChanged(_) | Self::TooMany(_) => true,
            Self::CannotRecord { .. } => false,
        }
    }
}

impl HeldSettings {
    pub(crate) fn of(state: &StateDir, run: &RunId, is_held: bool) -> Self {
        let workspace = state.workspace().to_owned();
        Self { folder: state.sessions().join(run.as_str()), workspace, is_held, ordinal: AtomicU64::new(1) }
    }

    /// Notes the settings of a tree when this is asked first, and refuses others later: in every phase, until a person who was asked
    /// about them in one has let that go on. Where there are too many to see a change, a person is asked at each start. In a run whose agents
    /// may change settings, it refuses only what an earlier run left, until a person has let one phase go on. Blocking.
    pub(crate) fn expect_same(
        &self,
        tree: &Path,
        phase: &PhaseId,
        session: &SessionId,
    ) -> Result<(), HeldSettingsError> {
        let not_noted = |source| HeldSettingsError::CannotRecord { tree: tree.to_owned(), source };
        // Before any agent of the run has begun, whichever tree that one gets.
        let of_workspace = self.noted_of_workspace().map_err(not_noted)?;
        if !self.is_held {
            return self.expect_nothing_left(tree, phase, session, of_workspace);
        }
        let file = self.record_path(tree);
        let now = baton_agents::settings_of_agents(tree);
        let is_seen = |noted: &NotedSettings| {
            noted.asked.get(phase).is_some_and(|asked| asked.session != *session && asked.settings == now)
        };
        let mut noted = match read(&file).map_err(not_noted)? {
            Some(noted) if noted.accepted == now && is_whole(&now) => return Ok(()),
            Some(noted) if !is_seen(&noted) => noted,
            // A tree that is made on the way has what the workspace had, or less: files that git ignores are not in it.
            None if now.iter().any(|(path, what)| of_workspace.accepted.get(path) != Some(what)) => {
                let mut accepted = of_workspace.accepted;
                accepted.retain(|path, _| now.contains_key(path));
                NotedSettings::of(accepted)
            }
            _ => return self.write_record(&file, &NotedSettings::of(now)).map_err(not_noted),
        };
        let paths = to_review(&noted.accepted, &now);
        let is_left =
            |path: &PathBuf| of_workspace.left.get(path).is_some_and(|what| now.get(path) == what.as_ref());
        let is_of_earlier_run = differing(&noted.accepted, &now).into_iter().all(is_left);
        let error = match noted.accepted == now {
            true => HeldSettingsError::TooMany(paths),
            false if is_of_earlier_run => HeldSettingsError::LeftChanged(paths),
            false => HeldSettingsError::Changed(paths),
        };
        noted.asked.insert(phase.clone(), AskedSettings { session: session.clone(), settings: now });
        self.write_record(&file, &noted).map_err(not_noted)?;
        Err(error)
    }

    /// Refuses what an earlier run left, as long as it stands.
    fn expect_nothing_left(
        &self,
        tree: &Path,
        phase: &PhaseId,
        session: &SessionId,
        mut noted: NotedSettings,
    ) -> Result<(), HeldSettingsError> {
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
        let settings: SettingsByPath = standing
            .into_iter()
            .map(|path| (path.clone(), now.get(path).cloned().unwrap_or_default()))
            .collect();
        let is_seen = noted
            .asked
            .get(phase)
            .is_some_and(|asked| asked.session != *session && asked.settings == settings);
        let told = match is_seen {
            true => {
                noted.left.retain(|path, _| !settings.contains_key(path));
                Ok(())
            }
            false => {
                noted.asked.insert(phase.clone(), AskedSettings { session: session.clone(), settings });
                Err(HeldSettingsError::LeftChanged(paths))
            }
        };
        self.write_record(&self.record_path(&self.workspace), &noted)
            .map_err(|source| HeldSettingsError::CannotRecord { tree: tree.to_owned(), source })?;
        told
    }

    /// Notes that no agent of the run is at work any more, for the next run: what is changed later is not theirs. Blocking.
    pub(crate) fn note_end(&self) -> io::Result<()> {
        let file = self.record_path(&self.workspace);
        let Some(mut noted) = read(&file)?.filter(|noted| noted.is_held) else { return Ok(()) };
        noted.ended = Some(baton_agents::settings_of_agents(&self.workspace));
        self.write_record(&file, &noted)
    }

    /// The note of the workspace, which is written now if there is none.
    fn noted_of_workspace(&self) -> io::Result<NotedSettings> {
        let file = self.record_path(&self.workspace);
        if let Some(mut noted) = read(&file)? {
            if noted.ended.take().is_some() {
                self.write_record(&file, &noted)?;
            }
            return Ok(noted);
        }
        let earlier = self.newest_of_earlier_runs(&file)?;
        let mut noted = NotedSettings::of(SettingsByPath::new());
        noted.is_held = self.is_held;
        if earlier.is_none() && !self.is_held {
            return Ok(noted);
        }
        noted.accepted = baton_agents::settings_of_agents(&self.workspace);
        if let Some(earlier) = earlier {
            noted.left = earlier.left_by_run(&noted.accepted);
            for path in noted.left.keys() {
                match earlier.accepted.get(path) {
                    Some(before) => noted.accepted.insert(path.clone(), before.clone()),
                    None => noted.accepted.remove(path),
                };
            }
        }
        self.write_record(&file, &noted)?;
        Ok(noted)
    }

    /// The newest note of the workspace by another run.
    fn newest_of_earlier_runs(&self, own: &Path) -> io::Result<Option<NotedSettings>> {
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

    /// Whole or not at all, also where another session notes the same.
    fn write_record(&self, file: &Path, noted: &NotedSettings) -> io::Result<()> {
        let beside = file.with_extension(format!("json-{}", self.ordinal.fetch_add(1, Ordering::Relaxed)));
        private_file::write_json(&beside, noted)?;
        fs::rename(&beside, file)
    }
}

fn read(file: &Path) -> io::Result<Option<NotedSettings>> {
    match fs::read(file) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether changes can be seen everywhere.
fn is_whole(settings: &SettingsByPath) -> bool {
    settings.values().all(|what| what != TOO_MANY_SETTINGS)
}

/// Paths at which they differ.
fn differing<'s>(accepted: &'s SettingsByPath, now: &'s SettingsByPath) -> BTreeSet<&'s PathBuf> {
    let paths = accepted.keys().chain(now.keys());
    paths.filter(|path| accepted.get(*path) != now.get(*path)).collect()
}

/// Paths at which they differ or may differ, for people.
fn to_review(accepted: &SettingsByPath, now: &SettingsByPath) -> Vec<String> {
    let is_unsure = |path: &PathBuf| now.get(path).is_some_and(|what| what == TOO_MANY_SETTINGS);
    let mut paths = differing(accepted, now);
    paths.extend(now.keys().filter(|path| is_unsure(path)));
    let name = |path: &PathBuf| {
        let name = visible_name(&path.to_string_lossy()).into_owned();
        if is_unsure(path) { format!("{name}: {TOO_MANY_SETTINGS}") } else { name }
    };
    paths.into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // N6
    #[test]
    fn a_change_is_asked_about_in_every_phase_until_one_goes_on() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("work");
        fs::create_dir(&tree).unwrap();
        let state = StateDir::open(&place.path().join("state"), &tree).unwrap();
        let held = HeldSettings::of(&state, &RunId::new("r-7f"), true);
        // A host that takes the run up knows what was asked.
        let starts = |phase: &str, session: &str| {
            let held = HeldSettings::of(&state, &RunId::new("r-7f"), true);
            held.expect_same(&tree, &PhaseId::new(phase), &SessionId::new(session))
        };
        held.expect_same(&tree, &PhaseId::new("a"), &SessionId::new("a-1")).unwrap();
        for (ordinal, content) in ["{}", "{\"mcpServers\": {}}"].into_iter().enumerate() {
            fs::write(tree.join(".mcp.json"), content).unwrap();
            let first = format!("b-{ordinal}");
            // Another phase does not go on by the question of this one, nor does a start that is made again after a crash.
            for (phase, session) in [("b", first.as_str()), ("c", "c-1"), ("b", first.as_str()), ("d", "d-1")]
            {
                let why = starts(phase, session).unwrap_err();
                assert!(
                    matches!(&why, HeldSettingsError::Changed(paths) if paths == &[".mcp.json"]),
                    "{why}"
                );
            }
            // The person who was asked in `b` has let it go on, and with it the others.
            starts("b", &format!("b-{ordinal}-again")).unwrap();
            starts("c", "c-1").unwrap();
        }
    }

    // N6
    #[test]
    fn a_tree_that_is_made_on_the_way_is_held_to_the_workspace() {
        let place = tempfile::tempdir().unwrap();
        let (work, part) = (place.path().join("work"), place.path().join("part"));
        for folder in [&work, &part] {
            fs::create_dir(folder).unwrap();
        }
        fs::write(work.join(".mcp.json"), "{}").unwrap();
        fs::create_dir(work.join(".claude")).unwrap();
        fs::write(work.join(".claude/settings.local.json"), "{}").unwrap();
        let state = StateDir::open(&place.path().join("state"), &work).unwrap();
        let held = HeldSettings::of(&state, &RunId::new("r-7f"), true);
        let starts = |tree: &Path, session: &str| {
            held.expect_same(tree, &PhaseId::new("20a"), &SessionId::new(session))
        };
        // The first agent of the run begins in a part, without what git ignores.
        fs::write(part.join(".mcp.json"), "{}").unwrap();
        starts(&part, "s1").unwrap();
        // What the part plants and lands is no beginning of the workspace.
        fs::write(work.join(".mcp.json"), "{\"mcpServers\": {}}").unwrap();
        starts(&work, "s2").unwrap_err();
        // And what was planted in the workspace is none of a part.
        let other = place.path().join("other");
        fs::create_dir(&other).unwrap();
        fs::write(other.join(".mcp.json"), "{\"mcpServers\": {}}").unwrap();
        let why = starts(&other, "s3").unwrap_err();
        assert!(matches!(&why, HeldSettingsError::Changed(paths) if paths == &[".mcp.json"]), "{why}");
        starts(&other, "s4").unwrap();
    }

    // N6
    #[test]
    fn what_an_earlier_run_left_is_asked_about_once_in_the_next_run() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("work");
        fs::create_dir_all(tree.join(".claude")).unwrap();
        let state = StateDir::open(&place.path().join("state"), &tree).unwrap();
        let settings = tree.join(".claude/settings.json");
        let write = |allowed: &str| {
            fs::write(&settings, format!("{{\"permissions\": {{\"allow\": [{allowed}]}}}}")).unwrap();
        };
        let of = |run: &str, is_held: bool| HeldSettings::of(&state, &RunId::new(run), is_held);
        let starts = |held: &HeldSettings, session: &str| {
            held.expect_same(&tree, &PhaseId::new("a"), &SessionId::new(session))
        };
        let is_asked_once = |held: &HeldSettings| {
            for _ in 0..2 {
                let why = starts(held, "s1").unwrap_err();
                let is_it = |paths: &[String]| paths == [".claude/settings.json"];
                assert!(matches!(&why, HeldSettingsError::LeftChanged(paths) if is_it(paths)), "{why}");
            }
            starts(held, "s2").unwrap();
            starts(held, "s3").unwrap();
        };
        // Runs whose agents may change settings are asked about what another one left, and about nothing else.
        for (ordinal, (is_held, has_ended)) in
            [(true, true), (false, true), (true, false), (false, false)].into_iter().enumerate()
        {
            write("");
            let first = of(&format!("r-{ordinal}a"), true);
            starts(&first, "s1").unwrap();
            write("\"Bash(*)\"");
            if has_ended {
                first.note_end().unwrap();
            }
            let next = of(&format!("r-{ordinal}b"), is_held);
            is_asked_once(&next);
            next.note_end().unwrap();
            let later = of(&format!("r-{ordinal}c"), is_held);
            starts(&later, "s1").unwrap();
            later.note_end().unwrap();
        }
        // What a person has changed since the end of a run is no agent's.
        let first = of("r-8", true);
        starts(&first, "s1").unwrap();
        write("");
        first.note_end().unwrap();
        write("\"Bash(ls)\"");
        starts(&of("r-9", true), "s1").unwrap();
    }

    #[test]
    fn settings_that_are_too_many_are_asked_about_at_each_start() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("work");
        let folder = tree.join(".claude/cache");
        fs::create_dir_all(&folder).unwrap();
        let state = StateDir::open(&place.path().join("state"), &tree).unwrap();
        let held = HeldSettings::of(&state, &RunId::new("r-7f"), true);
        let starts = |phase: &str, session: &str| {
            held.expect_same(&tree, &PhaseId::new(phase), &SessionId::new(session))
        };
        starts("a", "a-1").unwrap();
        // They count again by each path that leads to them.
        (0..6_000).for_each(|ordinal| fs::write(folder.join(format!("f{ordinal}")), "").unwrap());
        std::os::unix::fs::symlink(".", folder.join("again")).unwrap();
        let named = |paths: &[String]| paths.iter().any(|path| path == ".claude: too many entries");
        let why = starts("b", "b-1").unwrap_err();
        assert!(matches!(&why, HeldSettingsError::Changed(paths) if named(paths)), "{why}");
        starts("b", "b-2").unwrap();
        let why = starts("c", "c-1").unwrap_err();
        assert!(matches!(&why, HeldSettingsError::TooMany(paths) if named(paths)), "{why}");
        assert!(why.needs_a_person());
        starts("c", "c-2").unwrap();
    }

    #[test]
    fn a_note_of_a_host_before_leads_to_one_question() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("work");
        fs::create_dir_all(tree.join(".opencode/node_modules/dep")).unwrap();
        let state = StateDir::open(&place.path().join("state"), &tree).unwrap();
        let held = HeldSettings::of(&state, &RunId::new("r-7f"), true);
        let starts = |session: &str| held.expect_same(&tree, &PhaseId::new("a"), &SessionId::new(session));
        let accepted = BTreeMap::from([(".claude/tool".into(), "100755 5000000 1700000000".to_owned())]);
        let file = held.record_path(&tree);
        fs::create_dir_all(&held.folder).unwrap();
        held.write_record(&file, &NotedSettings::of(accepted)).unwrap();
        let why = starts("a-1").unwrap_err();
        let paths = [".claude/tool", ".opencode/node_modules"];
        assert!(matches!(&why, HeldSettingsError::Changed(found) if found == &paths), "{why}");
        starts("a-2").unwrap();
        starts("a-3").unwrap();
    }
}
