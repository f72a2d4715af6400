//! Settings that an agent may not edit, where no boundary keeps them: what is there is copied before a session, and put back after it.
//! What the agent made of it is renamed, so that nothing is lost and nothing is run.
//!
//! The copies lie in the folder of the session, so that a session that died with its host is swept by the next one.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use baton_core::facts::Refusal;
use serde::{Deserialize, Serialize};

use crate::planted::{Planted, Remaining};

/// The folder of the copies, in that of the session.
const COPIES: &str = "held";
/// What says of what they are copies.
const RECORD: &str = "held.json";
/// Files and folders that are looked at; settings are few.
const ENTRIES_MAX: usize = 4_000;
/// A file that is larger is not copied: it is no file of settings.
const BYTES_MAX: u64 = 1 << 20;
/// Of all copies.
const ALL_BYTES_MAX: u64 = 32 << 20;

/// Settings of a tree as they were when a session began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeldSettings {
    tree: PathBuf,
    planted: Planted,
    files: Vec<HeldFile>,
    /// Folders in which nothing is to appear.
    folders: BTreeSet<PathBuf>,
    #[serde(skip)]
    session: PathBuf,
    #[serde(skip)]
    remaining: Remaining,
}

/// A file that was there. Its copy is called by its place in the list.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct HeldFile {
    /// From the tree.
    path: PathBuf,
    mode: u32,
}

/// What is found below the paths that are held.
#[derive(Default)]
struct Found {
    files: Vec<(HeldFile, Vec<u8>)>,
    folders: BTreeSet<PathBuf>,
    links: Vec<PathBuf>,
    entries: usize,
    bytes: u64,
}

impl HeldSettings {
    /// Copies what is at these paths of the tree into the folder of the session. `remaining` gets what cannot be taken away.
    ///
    /// # Errors
    /// The copies cannot be written.
    pub fn hold(tree: &Path, session: &Path, paths: Vec<PathBuf>, remaining: Remaining) -> io::Result<Self> {
        let mut found = Found::default();
        for path in &paths {
            found.look(tree, path);
        }
        let copies = session.join(COPIES);
        // What is left of a session of this name is nobody's.
        let _ = fs::remove_dir_all(&copies);
        fs::create_dir_all(&copies)?;
        let mut files = Vec::new();
        for (at, (file, bytes)) in found.files.into_iter().enumerate() {
            let mut options = fs::OpenOptions::new();
            let mut copy =
                options.write(true).create_new(true).mode(0o600).open(copies.join(at.to_string()))?;
            io::Write::write_all(&mut copy, &bytes)?;
            files.push(file);
        }
        let watched = paths.into_iter().chain(found.links).collect();
        let planted = Planted::watch(tree, watched, Vec::new());
        let (tree, session) = (tree.to_owned(), session.to_owned());
        let held = Self { tree, planted, files, folders: found.folders, session, remaining };
        fs::write(held.session.join(RECORD), serde_json::to_vec(&held)?)?;
        Ok(held)
    }

    /// Puts back what is another now, and takes away what has appeared, once nobody of the session is there any more. Says what it did.
    pub fn sweep(&self) -> Vec<Refusal> {
        let remaining = &self.remaining;
        let mut told = self.planted.sweep(remaining);
        // A folder above others comes before them.
        for folder in &self.folders {
            let is_other = |now: fs::Metadata| !now.is_dir();
            if self.tree.join(folder).symlink_metadata().is_ok_and(is_other) {
                told.extend(Planted::all(&self.tree, vec![folder.clone()]).sweep(remaining));
            }
        }
        let appeared = self.appeared();
        told.extend(Planted::all(&self.tree, appeared).sweep(remaining));
        for (at, file) in self.files.iter().enumerate() {
            let Ok(copy) = fs::read(self.session.join(COPIES).join(at.to_string())) else { continue };
            if read(&self.tree.join(&file.path)).is_some_and(|now| now == copy) {
                continue;
            }
            let in_its_place = Planted::all(&self.tree, vec![file.path.clone()]).sweep(remaining);
            let again = self.put_back(file, &copy);
            match (again, in_its_place.is_empty()) {
                (Ok(()), true) => told.push(crate::planted::told(
                    &self.tree.join(&file.path),
                    "it was removed, and is there again",
                )),
                (Ok(()), false) => told.extend(in_its_place),
                (Err(error), _) => {
                    told.extend(in_its_place);
                    let what = format!("it is not as it was, because writing it failed: {error}");
                    told.push(crate::planted::told(&self.tree.join(&file.path), &what));
                }
            }
        }
        self.forget();
        told
    }

    /// What is in the held folders now, and was not.
    fn appeared(&self) -> Vec<PathBuf> {
        let was: BTreeSet<&Path> = self.files.iter().map(|file| file.path.as_path()).collect();
        let mut appeared = Vec::new();
        for folder in &self.folders {
            let at = self.tree.join(folder);
            // What is a link now was put in its place, and is seen there.
            let is_folder = at.symlink_metadata().is_ok_and(|now| now.is_dir());
            let entries = is_folder.then(|| fs::read_dir(&at)).into_iter().flatten().flatten().flatten();
            let paths = entries.take(ENTRIES_MAX).map(|entry| folder.join(entry.file_name()));
            appeared.extend(paths.filter(|path| {
                !was.contains(path.as_path()) && !self.folders.contains(path) && !self.planted.knows(path)
            }));
        }
        appeared
    }

    fn put_back(&self, file: &HeldFile, copy: &[u8]) -> io::Result<()> {
        let at = self.tree.join(&file.path);
        let mut folder = self.tree.clone();
        for part in file.path.parent().into_iter().flat_map(Path::components) {
            folder.push(part);
            let found = match fs::create_dir(&folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => folder.symlink_metadata()?,
            };
            if !found.is_dir() {
                return Err(io::Error::other(format!("{} is no folder any more", folder.display())));
            }
        }
        let mut options = fs::OpenOptions::new();
        let mut file_again = options.write(true).create_new(true).mode(file.mode).open(at)?;
        io::Write::write_all(&mut file_again, copy)?;
        file_again.set_permissions(fs::Permissions::from_mode(file.mode))
    }

    fn forget(&self) {
        // Nothing is wrong where it is gone.
        let _ = fs::remove_file(self.session.join(RECORD));
        let _ = fs::remove_dir_all(self.session.join(COPIES));
    }
}

impl Found {
    /// Takes what is at this path, and below it, without following links.
    fn look(&mut self, tree: &Path, path: &Path) {
        let at = tree.join(path);
        let Ok(found) = at.symlink_metadata() else { return };
        self.entries += 1;
        if self.entries > ENTRIES_MAX {
            return;
        }
        if found.is_symlink() {
            self.links.push(path.to_owned());
        } else if found.is_dir() {
            let names = fs::read_dir(&at).into_iter().flatten().flatten();
            let names: Vec<_> = names.take(ENTRIES_MAX).map(|entry| entry.file_name()).collect();
            for name in &names {
                self.look(tree, &path.join(name));
            }
            // Of a folder that was not looked at as a whole nobody knows what has appeared.
            if self.entries <= ENTRIES_MAX {
                self.folders.insert(path.to_owned());
            }
        } else if found.is_file() && found.len() <= BYTES_MAX && self.bytes + found.len() <= ALL_BYTES_MAX {
            let Some(bytes) = read(&at) else { return };
            self.bytes += found.len();
            let mode = found.permissions().mode() & 0o777;
            self.files.push((HeldFile { path: path.to_owned(), mode }, bytes));
        }
    }
}

/// A regular file, if it is one, to the largest size that is copied and one byte more.
fn read(path: &Path) -> Option<Vec<u8>> {
    use rustix::fs::OFlags;

    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).ok()?;
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Sweeps what a session changed whose host died. Gives what was put back or taken away, and adds to what remains.
pub fn clear_held(session: &Path, remaining: &Remaining) -> Vec<Refusal> {
    let Ok(record) = fs::read(session.join(RECORD)) else { return Vec::new() };
    match serde_json::from_slice::<HeldSettings>(&record) {
        Ok(held) => {
            HeldSettings { session: session.to_owned(), remaining: remaining.clone(), ..held }.sweep()
        }
        Err(_) => Vec::new(),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    struct Scene {
        _place: tempfile::TempDir,
        tree: PathBuf,
        session: PathBuf,
    }

    fn scene() -> Scene {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (tree, session) = (root.join("tree"), root.join("session"));
        fs::create_dir_all(tree.join(".claude/agents")).unwrap();
        fs::create_dir_all(&session).unwrap();
        fs::write(tree.join(".claude/settings.json"), "mine").unwrap();
        fs::write(tree.join(".claude/agents/a.md"), "a").unwrap();
        fs::write(tree.join("baton.toml"), "mine").unwrap();
        Scene { _place: place, tree, session }
    }

    fn paths() -> Vec<PathBuf> {
        [".claude", ".codex", ".mcp.json", "baton.toml"].map(PathBuf::from).to_vec()
    }

    #[test]
    fn what_an_agent_makes_of_settings_is_renamed_and_they_are_as_they_were() {
        // N6
        let Scene { tree, session, .. } = &scene();
        let held = HeldSettings::hold(tree, session, paths(), Remaining::default()).unwrap();
        fs::write(tree.join(".claude/settings.json"), "theirs").unwrap();
        fs::create_dir(tree.join(".claude/skills")).unwrap();
        fs::write(tree.join(".claude/skills/x.md"), "theirs").unwrap();
        fs::remove_file(tree.join("baton.toml")).unwrap();
        fs::write(tree.join(".mcp.json"), "theirs").unwrap();
        fs::write(tree.join("work.txt"), "work").unwrap();
        let told: Vec<String> = held.sweep().into_iter().map(|refusal| refusal.target).collect();
        assert_eq!(told.len(), 4, "{told:?}");
        let text = |path: &str| fs::read_to_string(tree.join(path)).unwrap();
        assert_eq!((text(".claude/settings.json"), text("baton.toml")), ("mine".into(), "mine".into()));
        assert_eq!(text(".claude/settings.json.from-agent"), "theirs");
        assert_eq!(text(".claude/skills.from-agent/x.md"), "theirs");
        assert_eq!((text(".mcp.json.from-agent"), text("work.txt")), ("theirs".into(), "work".into()));
        assert!(!tree.join(".mcp.json").exists() && !session.join(COPIES).exists());
        assert_eq!(clear_held(session, &Remaining::default()), []);
    }

    #[test]
    fn what_was_not_touched_stays_and_nothing_is_told() {
        let Scene { tree, session, .. } = &scene();
        let held = HeldSettings::hold(tree, session, paths(), Remaining::default()).unwrap();
        fs::write(tree.join("work.txt"), "work").unwrap();
        assert_eq!(held.sweep(), []);
    }

    #[test]
    fn a_folder_that_is_exchanged_for_a_link_leads_nowhere() {
        // N6: and the next host does it, where the first has died.
        let Scene { tree, session, .. } = &scene();
        let outside = tree.with_file_name("outside");
        fs::create_dir(&outside).unwrap();
        drop(HeldSettings::hold(tree, session, paths(), Remaining::default()).unwrap());
        fs::rename(tree.join(".claude"), tree.join("away")).unwrap();
        std::os::unix::fs::symlink(&outside, tree.join(".claude")).unwrap();
        let told = clear_held(session, &Remaining::default());
        assert!(!told.is_empty());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing is written there");
        assert_eq!(fs::read_to_string(tree.join(".claude/settings.json")).unwrap(), "mine");
    }
}
