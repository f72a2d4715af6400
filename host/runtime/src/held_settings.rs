//! The settings of agents in the trees of a run, held to what they were when its first agent began there: an agent that may only edit
//! would have the next one run commands. What has changed is accepted once a person has been asked about it.

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

/// The notes of a run: one for each tree.
#[derive(Debug)]
pub(crate) struct HeldSettings {
    folder: PathBuf,
    /// What every other tree is made from.
    workspace: PathBuf,
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
            Self::Changed(_) | Self::TooMany(_) => true,
            Self::CannotRecord { .. } => false,
        }
    }
}

impl HeldSettings {
    pub(crate) fn of(state: &StateDir, run: &RunId) -> Self {
        let workspace = state.workspace().to_owned();
        Self { folder: state.sessions().join(run.as_str()), workspace, ordinal: AtomicU64::new(1) }
    }

    /// Notes the settings of a tree when this is asked first, and refuses others later: in every phase, until a person who was asked
    /// about them in one has let that go on. Where there are too many to see a change, a person is asked at each start. Blocking.
    pub(crate) fn expect_same(
        &self,
        tree: &Path,
        phase: &PhaseId,
        session: &SessionId,
    ) -> Result<(), HeldSettingsError> {
        let not_noted = |source| HeldSettingsError::CannotRecord { tree: tree.to_owned(), source };
        // Before any agent of the run has begun, whichever tree that one gets.
        let of_workspace = self.noted_of_workspace().map_err(not_noted)?;
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
                NotedSettings { accepted, asked: BTreeMap::new() }
            }
            _ => {
                let accepted = NotedSettings { accepted: now, asked: BTreeMap::new() };
                return self.write_record(&file, &accepted).map_err(not_noted);
            }
        };
        let paths = to_review(&noted.accepted, &now);
        let error = match noted.accepted == now {
            true => HeldSettingsError::TooMany(paths),
            false => HeldSettingsError::Changed(paths),
        };
        noted.asked.insert(phase.clone(), AskedSettings { session: session.clone(), settings: now });
        self.write_record(&file, &noted).map_err(not_noted)?;
        Err(error)
    }

    /// The note of the workspace, which is written now if there is none.
    fn noted_of_workspace(&self) -> io::Result<NotedSettings> {
        let file = self.record_path(&self.workspace);
        if let Some(noted) = read(&file)? {
            return Ok(noted);
        }
        let accepted = baton_agents::settings_of_agents(&self.workspace);
        let noted = NotedSettings { accepted, asked: BTreeMap::new() };
        self.write_record(&file, &noted)?;
        Ok(noted)
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

/// Paths at which they differ or may differ, for people.
fn to_review(accepted: &SettingsByPath, now: &SettingsByPath) -> Vec<String> {
    let is_unsure = |path: &PathBuf| now.get(path).is_some_and(|what| what == TOO_MANY_SETTINGS);
    let differs = |path: &PathBuf| accepted.get(path) != now.get(path);
    let paths: BTreeSet<&PathBuf> =
        accepted.keys().chain(now.keys()).filter(|path| differs(path) || is_unsure(path)).collect();
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
        let held = HeldSettings::of(&state, &RunId::new("r-7f"));
        // A host that takes the run up knows what was asked.
        let starts = |phase: &str, session: &str| {
            let held = HeldSettings::of(&state, &RunId::new("r-7f"));
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
        let held = HeldSettings::of(&state, &RunId::new("r-7f"));
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

    #[test]
    fn settings_that_are_too_many_are_asked_about_at_each_start() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("work");
        let folder = tree.join(".claude/cache");
        fs::create_dir_all(&folder).unwrap();
        let state = StateDir::open(&place.path().join("state"), &tree).unwrap();
        let held = HeldSettings::of(&state, &RunId::new("r-7f"));
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
        let held = HeldSettings::of(&state, &RunId::new("r-7f"));
        let starts = |session: &str| held.expect_same(&tree, &PhaseId::new("a"), &SessionId::new(session));
        let accepted = BTreeMap::from([(".claude/tool".into(), "100755 5000000 1700000000".to_owned())]);
        let file = held.record_path(&tree);
        fs::create_dir_all(&held.folder).unwrap();
        held.write_record(&file, &NotedSettings { accepted, asked: BTreeMap::new() }).unwrap();
        let why = starts("a-1").unwrap_err();
        let paths = [".claude/tool", ".opencode/node_modules"];
        assert!(matches!(&why, HeldSettingsError::Changed(found) if found == &paths), "{why}");
        starts("a-2").unwrap();
        starts("a-3").unwrap();
    }
}
