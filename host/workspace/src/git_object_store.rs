//! The objects of git as the host reads them. Agents can write the folder of objects of a repository, and git does not check
//! whether an object matches its name. So the host has its own folder for them, next to its work trees: its git writes new
//! objects there, which are then copied to the repository, and objects of others are taken from the repository under the name
//! of their content (`worktrees/import.rs`).
//!
//! | file or folder | what |
//! |---|---|
//! | `new` | objects that are not in the repository yet |
//! | `kept` | all others |
//! | `incoming-…`, `outgoing-…` | objects that are being taken from the repository, or given to it |
//! | `shallow` | commits whose parents are not here |
//! | `taken` | commits that were taken from the repository, the newest last |
//! | `lock` | held while something is taken |

use std::collections::{BTreeSet, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _, PermissionsExt as _};

use crate::isolated_git_dir::hold_file;
use crate::regular_file::read_lines;

/// Names of commits: some hundred thousand.
const LIST_BYTES_MAX: u64 = 32 << 20;
/// Commits that git takes for present; what is reachable from them is not fetched again.
const TAKEN_COMMITS_MAX: usize = 50;
/// Git's prefix of an unfinished object. `git gc` removes them.
const UNFINISHED: &str = "tmp_obj_";

/// The folder of the host's objects, for repositories of one format.
#[derive(Clone, Debug)]
pub(crate) struct GitObjectStore {
    folder: PathBuf,
    /// Objects that are known to be here, with everything that they name.
    complete: Arc<Mutex<HashSet<String>>>,
    /// Commits that the repository was given, with everything that they name.
    delivered: Arc<Mutex<HashSet<String>>>,
}

impl GitObjectStore {
    /// In a folder of the host's, which need not be there.
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), complete: Arc::default(), delivered: Arc::default() }
    }

    /// The part of the store for repositories whose objects have names of this kind. Makes its folders.
    pub(crate) fn hold(&self, is_sha256: bool) -> io::Result<Self> {
        let folder = self.folder.join(if is_sha256 { "sha256" } else { "sha1" });
        let store = Self { folder, ..self.clone() };
        for folder in [store.new_objects().join("info"), store.kept_objects()] {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        hold_alternates(&store.new_objects(), &[store.kept_objects()])?;
        Ok(store)
    }

    /// The folder that git writes to. It reads the others as well.
    pub(crate) fn new_objects(&self) -> PathBuf {
        self.folder.join("new")
    }

    fn kept_objects(&self) -> PathBuf {
        self.folder.join("kept")
    }

    /// The list of commits whose parents are not here, for git.
    pub(crate) fn shallow(&self) -> PathBuf {
        self.folder.join("shallow")
    }

    /// Copies new objects to the repository's folder of objects, replacing any object of the same name, and keeps them.
    pub(crate) fn publish(&self, repository: &Path) -> io::Result<()> {
        let new = self.new_objects();
        let mut target = None;
        for (folder, name) in objects_in(&new)? {
            let target = match &target {
                Some(target) => target,
                None => target.insert(Dir::open_ambient_dir(repository, ambient_authority())?),
            };
            let from = new.join(&folder).join(&name);
            match File::open(&from).and_then(|object| copy_object(object, target, &folder, &name)) {
                // Another host of this workspace was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !from.exists() => {}
                copied => copied.and_then(|()| self.keep(&from, &folder, &name))?,
            }
        }
        Ok(())
    }

    fn keep(&self, from: &Path, folder: &str, name: &str) -> io::Result<()> {
        let kept = self.kept_objects().join(folder);
        fs::create_dir_all(&kept)?;
        match fs::rename(from, kept.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            renamed => renamed,
        }
    }

    /// A place for objects that are being taken, in which git finds all others.
    pub(crate) fn incoming(&self) -> io::Result<tempfile::TempDir> {
        let incoming = self.passing("incoming-")?;
        hold_alternates(incoming.path(), &[self.new_objects(), self.kept_objects()])?;
        Ok(incoming)
    }

    /// A place for objects that are given to the repository, in which git finds no others.
    pub(crate) fn outgoing(&self) -> io::Result<tempfile::TempDir> {
        self.passing("outgoing-")
    }

    fn passing(&self, prefix: &str) -> io::Result<tempfile::TempDir> {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(&self.folder)?;
        ["info", "pack"].iter().try_for_each(|name| fs::create_dir(folder.path().join(name)))?;
        Ok(folder)
    }

    /// Copies objects to the repository's folder of objects, replacing any objects of the same names.
    pub(crate) fn copy_all(&self, from: &Path, repository: &Path) -> io::Result<()> {
        let target = Dir::open_ambient_dir(repository, ambient_authority())?;
        for (folder, name) in objects_in(from)? {
            copy_object(File::open(from.join(&folder).join(&name))?, &target, &folder, &name)?;
        }
        Ok(())
    }

    /// Keeps imported objects, `last` after all others: if it is there, all of them are, even after an interruption.
    pub(crate) fn adopt(&self, incoming: &Path, last: &str) -> io::Result<()> {
        let mut objects = objects_in(incoming)?;
        objects.sort_by_key(|(folder, name)| format!("{folder}{name}") == last);
        for (folder, name) in objects {
            self.keep(&incoming.join(&folder).join(&name), &folder, &name)?;
        }
        Ok(())
    }

    /// Held while objects are taken.
    pub(crate) fn lock(&self) -> io::Result<File> {
        let lock = File::options().create(true).write(true).truncate(false).open(self.folder.join("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    /// Commits that were taken with everything that they name, the newest ones.
    pub(crate) fn taken(&self) -> io::Result<Vec<String>> {
        let taken = read_lines(&self.folder.join("taken"), LIST_BYTES_MAX)?;
        Ok(taken[taken.len().saturating_sub(TAKEN_COMMITS_MAX)..].to_vec())
    }

    /// Notes a commit that was taken.
    pub(crate) fn note_taken(&self, commit: &str) -> io::Result<()> {
        let mut taken = self.taken()?;
        taken.retain(|known| known != commit);
        taken.push(commit.to_owned());
        self.write_lines("taken", &taken)
    }

    /// Notes commits whose parents are not here.
    pub(crate) fn note_shallow(&self, commits: impl IntoIterator<Item = String>) -> io::Result<()> {
        let known: BTreeSet<String> = read_lines(&self.shallow(), LIST_BYTES_MAX)?.into_iter().collect();
        let all: BTreeSet<String> = commits.into_iter().chain(known.iter().cloned()).collect();
        if all == known { Ok(()) } else { self.write_lines("shallow", &all.into_iter().collect::<Vec<_>>()) }
    }

    fn write_lines(&self, name: &str, lines: &[String]) -> io::Result<()> {
        let text: String = lines.iter().flat_map(|line| [line, "\n"]).collect();
        hold_file(&self.folder.join(name), text.as_bytes())
    }

    /// Whether an object is known to be here with everything that it names.
    pub(crate) fn is_complete(&self, object: &str) -> bool {
        self.complete.lock().unwrap_or_else(PoisonError::into_inner).contains(object)
    }

    /// Whether the repository was given a commit by this process.
    pub(crate) fn is_delivered(&self, commit: &str) -> bool {
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner).contains(commit)
    }

    /// Remembers that the repository was given a commit.
    pub(crate) fn note_delivered(&self, commit: &str) {
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner).insert(commit.to_owned());
    }

    /// Remembers that objects are here with everything that they name.
    pub(crate) fn note_complete(&self, objects: impl IntoIterator<Item = String>) {
        self.complete.lock().unwrap_or_else(PoisonError::into_inner).extend(objects);
    }
}

/// Has git find the objects of other folders as well.
fn hold_alternates(objects: &Path, others: &[PathBuf]) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    let lines = others.iter().flat_map(|path| [path.as_os_str().as_bytes(), b"\n"].concat());
    hold_file(&objects.join("info/alternates"), &lines.collect::<Vec<u8>>())
}

/// The files with objects in a folder of git's: those of a pack in the order in which others may see them.
fn objects_in(objects: &Path) -> io::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for folder in names(objects)?.into_iter().filter(|name| name == "pack" || is_hex(name, &[2])) {
        let mut files = names(&objects.join(&folder))?;
        files.retain(
            |name| if folder == "pack" { name.starts_with("pack-") } else { is_hex(name, &[38, 62]) },
        );
        files.sort_by_key(|name| (name.ends_with(".idx"), name.clone()));
        found.extend(files.into_iter().map(|file| (folder.clone(), file)));
    }
    Ok(found)
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

fn is_hex(name: &str, lengths: &[usize]) -> bool {
    lengths.contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Never through a link that leads out of the folder of objects. As readable as that folder.
fn copy_object(mut object: File, objects: &Dir, folder: &str, name: &str) -> io::Result<()> {
    match objects.create_dir(folder) {
        Ok(()) => objects.set_permissions(folder, objects.dir_metadata()?.permissions())?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let folder = objects.open_dir(folder)?;
    let unfinished = format!("{UNFINISHED}{}-{name}", std::process::id());
    let mut file =
        folder.open_with(&unfinished, OpenOptions::new().write(true).create_new(true).mode(0o444))?;
    let written = io::copy(&mut object, &mut file).and_then(|_| {
        file.set_permissions(cap_std::fs::Permissions::from_mode(0o444))?;
        folder.rename(&unfinished, &folder, name)
    });
    if written.is_err() {
        // A leftover file is only untidy.
        drop(folder.remove_file(&unfinished));
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &str = "23456789012345678901234567890123456789";

    fn store(place: &Path) -> GitObjectStore {
        let store = GitObjectStore::new(&place.join("store")).hold(false).unwrap();
        fs::create_dir_all(store.new_objects().join("01")).unwrap();
        fs::write(store.new_objects().join("01").join(OBJECT), "true").unwrap();
        store
    }

    #[test]
    fn what_is_new_takes_the_place_of_what_the_repository_has_under_its_name() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let (store, repository) = (store(place.path()), place.path().join("objects"));
        let there = repository.join("01").join(OBJECT);
        fs::create_dir_all(repository.join("01")).unwrap();
        fs::write(&there, "false").unwrap();
        store.publish(&repository).unwrap();
        assert_eq!(fs::read_to_string(&there).unwrap(), "true");
        assert!(objects_in(&store.new_objects()).unwrap().is_empty());
        assert_eq!(objects_in(&store.kept_objects()).unwrap().len(), 1);
    }

    #[test]
    fn nothing_is_published_through_a_link_and_nothing_is_lost_by_it() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let (store, repository) = (store(place.path()), place.path().join("objects"));
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir_all(&repository).unwrap();
        fs::create_dir_all(&elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, repository.join("01")).unwrap();
        store.publish(&repository).unwrap_err();
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        assert_eq!(objects_in(&store.new_objects()).unwrap().len(), 1, "it is new still");
    }

    #[test]
    fn what_was_asked_for_is_kept_when_all_that_it_names_is() {
        // D8: a commit that was there without its files counted as whole, after a kill between the two.
        let place = tempfile::tempdir().unwrap();
        let (store, incoming) = (store(place.path()), place.path().join("incoming"));
        let names = ["00", "7f", "ff"].map(|folder| (folder, OBJECT));
        for (folder, name) in names {
            fs::create_dir_all(incoming.join(folder)).unwrap();
            fs::write(incoming.join(folder).join(name), "").unwrap();
        }
        // The one before it cannot be kept.
        fs::write(store.kept_objects().join("ff"), "in the way").unwrap();
        store.adopt(&incoming, &format!("00{OBJECT}")).unwrap_err();
        assert!(!store.kept_objects().join("00").exists());
        fs::remove_file(store.kept_objects().join("ff")).unwrap();
        store.adopt(&incoming, &format!("00{OBJECT}")).unwrap();
        assert_eq!(objects_in(&store.kept_objects()).unwrap().len(), 3);
    }

    #[test]
    fn commits_without_parents_here_are_noted_once() {
        let place = tempfile::tempdir().unwrap();
        let store = store(place.path());
        for commit in ["b", "a", "b"] {
            store.note_shallow([commit.to_owned()]).unwrap();
            store.note_taken(commit).unwrap();
        }
        assert_eq!(read_lines(&store.shallow(), LIST_BYTES_MAX).unwrap(), ["a", "b"]);
        assert_eq!(store.taken().unwrap(), ["a", "b"]);
    }
}
