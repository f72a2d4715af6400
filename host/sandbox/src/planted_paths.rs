//! What appears in a tree that others run, or are changed by: a settings file of an agent, a hook, a repository where there was
//! none. Where such a thing is there it is mounted read-only; one that is not there cannot be. It is taken away when the
//! session is over: renamed, so that nothing is lost and nothing is run.
//!
//! What was not there is written down beside the boundary's folder, which is out of reach from inside, so that a session that died
//! with its host is swept by the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_core::facts::Refusal;
use serde::{Deserialize, Serialize};

use crate::remove_tree::remove_tree;

/// The records of the boundaries that are there now, by their folders. What a session has planted is not taken for what was there before
/// by one that begins beside it.
static OPEN: Mutex<BTreeMap<PathBuf, PlantedRecord>> = Mutex::new(BTreeMap::new());
/// End of the name of the record, beside the boundary's folder.
const RECORD: &str = ".not-there.json";
/// What stands behind a name that was taken away.
#[cfg(target_os = "linux")]
const SUFFIX: &str = ".from-agent";
/// Names that are tried if the first are taken; half of them are random, so that they cannot be taken in advance.
#[cfg(target_os = "linux")]
const NAMES_MAX: u32 = 64;

/// Paths of a tree that are looked after while a boundary is there, relative to the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedPaths {
    /// What is taken away where it appears, since others would run it or be changed by it.
    pub planted: Vec<PathBuf>,
    /// What is not made a link: one that appears is taken away.
    pub plain: Vec<PathBuf>,
    /// Folders below which no link is made: one that appears is removed.
    pub link_free: Vec<PathBuf>,
}

/// What was not there when a boundary was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PlantedPaths {
    tree: PathBuf,
    absent: Vec<PathBuf>,
    /// What was a link, and where it led.
    links: Vec<(PathBuf, PathBuf)>,
    /// What was not a link and must not become one.
    #[serde(default)]
    plain: Vec<PathBuf>,
    /// Folders below which no link appears, and the links that were below them.
    #[serde(default)]
    link_free: Vec<(PathBuf, BTreeSet<PathBuf>)>,
    /// What of this an earlier boundary saw, and not this one.
    #[serde(default)]
    inherited: BTreeSet<PathBuf>,
}

/// The same of each tree that a boundary has to do with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlantedRecord(Vec<PlantedPaths>);

fn open_records() -> MutexGuard<'static, BTreeMap<PathBuf, PlantedRecord>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PlantedRecord {
    /// Looks which of the paths of each tree are not there.
    pub(crate) fn watch<'a>(trees: impl IntoIterator<Item = (&'a Path, WatchedPaths)>) -> Self {
        let open = open_records();
        let watch = |(tree, watched)| {
            let mut planted = PlantedPaths::watch(tree, watched);
            let of_tree = open.values().flat_map(|record| &record.0).filter(|other| other.tree == tree);
            of_tree.for_each(|other| planted.take_over(other));
            planted
        };
        Self(trees.into_iter().map(watch).collect())
    }

    /// Writes it down beside a boundary's folder.
    pub(crate) fn note(&self, boundary: &Path) -> io::Result<()> {
        let Some(record) = record(boundary) else { return Ok(()) };
        open_records().insert(boundary.to_owned(), self.clone());
        fs::write(record, serde_json::to_vec(self)?)
    }

    /// Removes what was written down.
    pub(crate) fn forget(&self, boundary: &Path) {
        open_records().remove(boundary);
        if let Some(record) = record(boundary) {
            // Nothing is wrong where it is gone.
            let _ = fs::remove_file(record);
        }
    }

    /// Takes away what has appeared in any of the trees.
    pub(crate) fn sweep(&self, remaining: &RemainingPaths) -> Vec<Refusal> {
        self.0.iter().flat_map(|planted| planted.sweep(remaining)).collect()
    }
}

/// What could not be taken away, of all boundaries that share it.
#[derive(Clone, Debug, Default)]
pub struct RemainingPaths(Arc<Mutex<RemainingRecord>>);

#[derive(Debug, Default)]
struct RemainingRecord {
    paths: BTreeSet<PathBuf>,
    /// Where they are written down.
    file: Option<PathBuf>,
}

impl RemainingPaths {
    /// What this file says, which is written again with each path that is added, so that another host knows of it. Nothing remains where
    /// there is no such file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is no list of paths.
    pub fn kept(file: &Path) -> io::Result<Self> {
        let paths = match fs::read(file) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeSet::new(),
            Err(error) => return Err(error),
        };
        Ok(Self(Arc::new(Mutex::new(RemainingRecord { paths, file: Some(file.to_owned()) }))))
    }

    /// The paths that are still there. One that was removed since is forgotten.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.paths.retain(|path| path.symlink_metadata().is_ok());
        kept.paths.iter().cloned().collect()
    }

    #[cfg(target_os = "linux")]
    fn add(&self, path: PathBuf) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.paths.insert(path);
        let Some(file) = &kept.file else { return };
        let written = serde_json::to_vec(&kept.paths).map_err(io::Error::from);
        if let Err(error) = written.and_then(|bytes| fs::write(file, bytes)) {
            tracing::warn!("cannot note in {} what could not be taken away: {error}", file.display());
        }
    }
}

impl PlantedPaths {
    /// Looks which of these paths, relative to the tree, are not there. A folder above one of them leads where it led, if it is a link,
    /// and becomes none otherwise: a program that opens the path follows it.
    fn watch(tree: &Path, watched: WatchedPaths) -> Self {
        let WatchedPaths { planted: paths, plain, link_free } = watched;
        let above = |path: &PathBuf| -> Vec<PathBuf> {
            let above = path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
            above.map(Path::to_owned).collect()
        };
        // The higher ones first, since the others are looked for below them.
        let folders: BTreeSet<PathBuf> = paths.iter().flat_map(above).collect();
        let is_plain = |path: &PathBuf| fs::read_link(tree.join(path)).is_err();
        let (folders, linked): (Vec<PathBuf>, Vec<PathBuf>) = folders.into_iter().partition(is_plain);
        let plain = folders.into_iter().chain(plain.into_iter().filter(is_plain)).collect();
        let link_free = link_free.into_iter().map(|folder| {
            let links = links_below(tree, &folder);
            (folder, links)
        });
        let link_free = link_free.collect();
        let mut planted = Self { tree: tree.to_owned(), plain, link_free, ..Self::default() };
        for path in linked.into_iter().chain(paths) {
            match fs::read_link(tree.join(&path)) {
                Ok(to) => planted.links.push((path, to)),
                Err(_) if is_absent(&tree.join(&path)) => planted.absent.push(path),
                Err(_) => {}
            }
        }
        planted
    }

    /// What was not there when an earlier boundary of the tree was made, which is still open, was not there before this one either.
    fn take_over(&mut self, earlier: &Self) {
        let is_of_earlier = |path: &PathBuf| earlier.absent.contains(path) || earlier.plain.contains(path);
        self.links
            .retain(|(path, _)| !is_of_earlier(path) && earlier.links.iter().all(|(known, _)| known != path));
        self.links.extend(earlier.links.iter().cloned());
        for (ours, theirs) in [(&mut self.absent, &earlier.absent), (&mut self.plain, &earlier.plain)] {
            let new: Vec<PathBuf> = theirs.iter().filter(|path| !ours.contains(path)).cloned().collect();
            self.inherited.extend(new.iter().cloned());
            ours.extend(new);
        }
        for (folder, known) in &earlier.link_free {
            let Some((_, links)) = self.link_free.iter_mut().find(|(ours, _)| ours == folder) else {
                continue;
            };
            self.inherited.extend(links.difference(known).cloned());
            links.retain(|link| known.contains(link));
        }
    }

    /// Whether this is left to the boundary that saw it first, which is still open and tells of its own session.
    fn is_anothers(&self, path: &Path) -> bool {
        let open = open_records();
        let mut of_tree = open.values().flat_map(|record| &record.0).filter(|other| other.tree == self.tree);
        self.inherited.contains(path)
            && of_tree.any(|other| !other.inherited.contains(path) && other.watches(path))
    }

    fn watches(&self, path: &Path) -> bool {
        let is_free_of = |(folder, known): &(PathBuf, BTreeSet<PathBuf>)| {
            path.starts_with(folder) && !known.contains(path)
        };
        let mut named = self.absent.iter().chain(&self.plain);
        named.any(|named| named == path) || self.link_free.iter().any(is_free_of)
    }

    /// No agent is confined on other systems.
    #[cfg(not(target_os = "linux"))]
    fn sweep(&self, _: &RemainingPaths) -> Vec<Refusal> {
        Vec::new()
    }

    /// Renames what has appeared, without following a link that an agent has put in its way, and puts a link back that leads
    /// elsewhere now. What cannot be renamed is reported as well, and remains.
    #[cfg(target_os = "linux")]
    fn sweep(&self, remaining: &RemainingPaths) -> Vec<Refusal> {
        use std::os::fd::AsFd as _;

        use rustix::fs::{AtFlags, readlinkat, symlinkat, unlinkat};
        use rustix::io::Errno;

        crate::make_listable(&self.tree);
        let Ok(tree) = crate::bwrap_arguments::folder(&self.tree) else { return Vec::new() };
        let place = |path: &Path| {
            let above = folder_above(tree.as_fd(), path)?;
            Some((above, path.file_name()?.to_owned()))
        };
        // An agent may have taken the right to look into the folder.
        let led_to = |above: &std::os::fd::OwnedFd, name: &std::ffi::OsStr| match readlinkat(
            above,
            name,
            Vec::new(),
        ) {
            Err(Errno::ACCESS) if open_up(above.as_fd()).is_ok() => readlinkat(above, name, Vec::new()),
            led_to => led_to,
        };
        let remove = |above: &std::os::fd::OwnedFd, name: &std::ffi::OsStr| match unlinkat(
            above,
            name,
            AtFlags::empty(),
        ) {
            Err(Errno::ACCESS) if open_up(above.as_fd()).is_ok() => unlinkat(above, name, AtFlags::empty()),
            removed => removed,
        };
        let is_link =
            |path: &&PathBuf| place(path).is_some_and(|(above, name)| led_to(&above, &name).is_ok());
        let mut swept = Vec::new();
        for (folder, known) in &self.link_free {
            for path in links_below(&self.tree, folder).difference(known) {
                let Some((above, name)) = place(path).filter(|_| !self.is_anothers(path)) else { continue };
                let at = self.tree.join(path);
                let to = match led_to(&above, &name) {
                    Ok(to) => to,
                    Err(Errno::NOENT) => continue,
                    Err(_) => {
                        swept.push(told(&at, "it cannot be listed, so there may be links in it"));
                        remaining.add(at);
                        continue;
                    }
                };
                let to = to.to_string_lossy();
                // Renamed it would still be a link under a name that git may use. All that it says is where it led.
                match remove(&above, &name) {
                    Ok(()) => swept.push(told(&at, &format!("it was a link to {to}, and is removed"))),
                    Err(Errno::NOENT) => {}
                    Err(error) => {
                        let what = format!("it is still a link to {to}: {error}");
                        swept.push(told(&at, &what));
                        remaining.add(at);
                    }
                }
            }
        }
        for path in self.plain.iter().filter(is_link).chain(&self.absent) {
            let Some((above, name)) = place(path).filter(|_| !self.is_anothers(path)) else { continue };
            let at = self.tree.join(path);
            match take_away(above.as_fd(), &name) {
                Ok(new) => swept.push(told(&at, &format!("it is called {} now", new.display()))),
                Err(Errno::NOENT) => {}
                Err(error) => {
                    swept.push(told(&at, &format!("it is still there, because renaming it failed: {error}")));
                    remaining.add(at);
                }
            }
        }
        for (path, to) in &self.links {
            let Some((above, name)) = place(path) else { continue };
            let is_as_it_was = led_to(&above, &name)
                .is_ok_and(|found| found.as_bytes() == to.as_os_str().as_encoded_bytes());
            if !is_as_it_was {
                // What is in the way stays there if it cannot be renamed; then the link is not made, and that is reported.
                let _ = take_away(above.as_fd(), &name);
                let at = self.tree.join(path);
                let linked = match symlinkat(to, &above, &name) {
                    Err(Errno::ACCESS) if open_up(above.as_fd()).is_ok() => symlinkat(to, &above, &name),
                    linked => linked,
                };
                match linked {
                    Ok(()) => swept.push(told(&at, &format!("it leads to {} again", to.display()))),
                    Err(error) => {
                        let what = format!("it does not lead to {} any more: {error}", to.display());
                        swept.push(told(&at, &what));
                        remaining.add(at);
                    }
                }
            }
        }
        swept
    }
}

/// The links below a folder of a tree, relative to the tree, none of them followed, and folders that cannot be listed. Objects of git, in folders of
/// two digits, are passed over: they are written under names that no one can choose. What is beside them (`pack/multi-pack-index`) is not.
fn links_below(tree: &Path, folder: &Path) -> BTreeSet<PathBuf> {
    let mut links = BTreeSet::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        let Ok(entries) = entries_of(&tree.join(&folder)) else {
            links.insert(folder);
            continue;
        };
        for entry in entries {
            let path = folder.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => drop(links.insert(path)),
                Ok(kind) if kind.is_dir() && !(folder.ends_with(".git/objects") && has_objects(&path)) => {
                    left.push(path);
                }
                Ok(_) | Err(_) => {}
            }
        }
    }
    links
}

/// What is in a folder; nothing where there is none.
fn entries_of(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Err(error) if is_of_nothing(&error) => Ok(Vec::new()),
        listed => listed?.collect(),
    }
}

/// Whether there is nothing at a path. What cannot be looked at may be there.
fn is_absent(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| is_of_nothing(&error))
}

fn is_of_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether a folder is called as git calls one with objects.
fn has_objects(folder: &Path) -> bool {
    let name = folder.file_name().map(std::ffi::OsStr::as_encoded_bytes);
    name.is_some_and(|name| name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit))
}

#[cfg(target_os = "linux")]
fn told(path: &Path, what: &str) -> Refusal {
    let target = format!("{} ({what})", path.display());
    Refusal { kind: baton_core::facts::RefusalKind::Write, target }
}

/// Makes a folder accessible again for the user, whose folder it is, whatever an agent made of its permissions.
///
/// # Errors
/// It is another user's, or the file system is read-only.
#[cfg(target_os = "linux")]
pub fn open_up(folder: std::os::fd::BorrowedFd<'_>) -> rustix::io::Result<()> {
    crate::listable_tree::add_rights(folder, rustix::fs::Mode::RWXU)
}

/// The folder in which a path of the tree is. None if there is none, or a link is on the way.
#[cfg(target_os = "linux")]
fn folder_above(tree: std::os::fd::BorrowedFd<'_>, path: &Path) -> Option<std::os::fd::OwnedFd> {
    use std::os::fd::AsFd as _;

    use rustix::fs::{Mode, OFlags, openat};
    use rustix::io::Errno;

    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = tree.try_clone_to_owned().ok()?;
    for part in path.parent()?.components() {
        let opened = match openat(&folder, part.as_os_str(), flags, Mode::empty()) {
            Err(Errno::ACCESS) => {
                open_up(folder.as_fd()).ok()?;
                openat(&folder, part.as_os_str(), flags, Mode::empty())
            }
            opened => opened,
        };
        folder = opened.ok()?;
    }
    Some(folder)
}

/// Renames what has this name in a folder, and gives its new name.
#[cfg(target_os = "linux")]
fn take_away(
    above: std::os::fd::BorrowedFd<'_>,
    name: &std::ffi::OsStr,
) -> rustix::io::Result<std::ffi::OsString> {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};

    use rustix::fs::{RenameFlags, renameat_with};
    use rustix::io::Errno;

    let mut is_open = false;
    let mut number = 0;
    loop {
        let mut new = name.to_owned();
        new.push(SUFFIX);
        match number {
            0 => {}
            1..32 => new.push(format!("-{number}")),
            _ => new.push(format!("-{:016x}", RandomState::new().build_hasher().finish())),
        }
        match renameat_with(above, name, above, &new, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) if number < NAMES_MAX => number += 1,
            Err(Errno::ACCESS | Errno::PERM) if !is_open => {
                open_up(above)?;
                is_open = true;
            }
            renamed => return renamed.map(|()| new),
        }
    }
}

/// Sweeps what a boundary left behind whose host died, and removes it. Gives what was taken away, and adds to what remains.
pub fn clear(boundary: &Path, remaining: &RemainingPaths) -> Vec<Refusal> {
    let record = record(boundary).and_then(|record| fs::read(record).ok());
    let planted =
        record.and_then(|record| serde_json::from_slice::<PlantedRecord>(&record).ok()).unwrap_or_default();
    let swept = planted.sweep(remaining);
    planted.forget(boundary);
    let _ = remove_tree(boundary);
    swept
}

fn record(boundary: &Path) -> Option<PathBuf> {
    let mut name = boundary.file_name()?.to_owned();
    name.push(RECORD);
    Some(boundary.with_file_name(name))
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
