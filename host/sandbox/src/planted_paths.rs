//! What appears in a tree that others run, or are changed by: a settings file of an agent, a hook, a repository where there was
//! none. Where such a thing is there it is mounted read-only; one that is not there cannot be. It is taken away when the
//! session is over: renamed, so that nothing is lost and nothing is run.
//!
//! What was not there is written down beside the boundary's folder, where nobody inside comes, so that a session that died
//! with its host is swept by the next one.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::facts::Refusal;
use serde::{Deserialize, Serialize};

/// End of the name of the record, beside the boundary's folder.
const RECORD: &str = ".not-there.json";
/// What stands behind a name that was taken away.
#[cfg(target_os = "linux")]
const SUFFIX: &str = ".from-agent";
/// Names that are tried if the first are taken; half of them are random, which nobody can take before.
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
pub(crate) struct PlantedPaths {
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
    /// What this file says, which is written anew with each path that is added, so that another host knows of it. Nothing remains where
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
    /// and becomes none otherwise: whoever opens the path follows it.
    pub(crate) fn watch(tree: &Path, watched: WatchedPaths) -> Self {
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
                Err(_) if fs::symlink_metadata(tree.join(&path)).is_err() => planted.absent.push(path),
                Err(_) => {}
            }
        }
        planted
    }

    /// Writes it down beside a boundary's folder.
    pub(crate) fn note(&self, boundary: &Path) -> io::Result<()> {
        let Some(record) = record(boundary) else { return Ok(()) };
        fs::write(record, serde_json::to_vec(self)?)
    }

    /// Removes what was written down.
    pub(crate) fn forget(&self, boundary: &Path) {
        if let Some(record) = record(boundary) {
            // Nothing is wrong where it is gone.
            let _ = fs::remove_file(record);
        }
    }

    /// Nobody is confined elsewhere.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn sweep(&self, _: &RemainingPaths) -> Vec<Refusal> {
        Vec::new()
    }

    /// Renames what has appeared, without following a link that an agent has put in its way, and puts a link back that leads
    /// elsewhere now. What cannot be renamed is told as well, and remains.
    #[cfg(target_os = "linux")]
    pub(crate) fn sweep(&self, remaining: &RemainingPaths) -> Vec<Refusal> {
        use std::os::fd::AsFd as _;

        use rustix::fs::{AtFlags, readlinkat, symlinkat, unlinkat};

        let Ok(tree) = crate::bwrap_arguments::folder(&self.tree) else { return Vec::new() };
        let place = |path: &Path| {
            let above = folder_above(tree.as_fd(), path)?;
            Some((above, path.file_name()?.to_owned()))
        };
        let is_link = |path: &&PathBuf| {
            place(path).is_some_and(|(above, name)| readlinkat(&above, &name, Vec::new()).is_ok())
        };
        let mut swept = Vec::new();
        for (folder, known) in &self.link_free {
            for path in links_below(&self.tree, folder).difference(known) {
                let Some((above, name)) = place(path) else { continue };
                let at = self.tree.join(path);
                let to = readlinkat(&above, &name, Vec::new()).unwrap_or_default();
                let to = to.to_string_lossy();
                // Renamed it would still be a link under a name that git may use. All that it says is where it led.
                match unlinkat(&above, &name, AtFlags::empty()) {
                    Ok(()) => swept.push(told(&at, &format!("it was a link to {to}, and is removed"))),
                    Err(rustix::io::Errno::NOENT) => {}
                    Err(error) => {
                        let what = format!("it is still a link to {to}: {error}");
                        swept.push(told(&at, &what));
                        remaining.add(at);
                    }
                }
            }
        }
        for path in self.plain.iter().filter(is_link).chain(&self.absent) {
            let Some((above, name)) = place(path) else { continue };
            let at = self.tree.join(path);
            match take_away(above.as_fd(), &name) {
                Ok(new) => swept.push(told(&at, &format!("it is called {} now", new.display()))),
                Err(rustix::io::Errno::NOENT) => {}
                Err(error) => {
                    swept.push(told(&at, &format!("it is still there, because renaming it failed: {error}")));
                    remaining.add(at);
                }
            }
        }
        for (path, to) in &self.links {
            let Some((above, name)) = place(path) else { continue };
            let is_as_it_was = readlinkat(&above, &name, Vec::new())
                .is_ok_and(|found| found.as_bytes() == to.as_os_str().as_encoded_bytes());
            if !is_as_it_was {
                // What is in the way stays there if it cannot be renamed; then the link is not made, and that is told.
                let _ = take_away(above.as_fd(), &name);
                let at = self.tree.join(path);
                match symlinkat(to, &above, &name) {
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

/// The links below a folder of a tree, relative to the tree, none of them followed. Objects of git are passed over: they are written under
/// names that nobody chooses.
fn links_below(tree: &Path, folder: &Path) -> BTreeSet<PathBuf> {
    let mut links = BTreeSet::new();
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        let entries = fs::read_dir(tree.join(&folder)).into_iter().flatten().flatten();
        for entry in entries {
            let path = folder.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => drop(links.insert(path)),
                Ok(kind) if kind.is_dir() && !folder.ends_with(".git/objects") => left.push(path),
                Ok(_) | Err(_) => {}
            }
        }
    }
    links
}

#[cfg(target_os = "linux")]
fn told(path: &Path, what: &str) -> Refusal {
    let target = format!("{} ({what})", path.display());
    Refusal { kind: baton_core::facts::RefusalKind::Write, target }
}

/// Makes a folder accessible again for the user, whose folder it is, whatever an agent made of its permissions.
#[cfg(target_os = "linux")]
fn open_up(folder: std::os::fd::BorrowedFd<'_>) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{Mode, chmod, fstat};

    let mode = Mode::from_raw_mode(fstat(folder)?.st_mode) | Mode::RWXU;
    // A descriptor that only names a folder changes nothing by itself.
    chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), mode)
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
        record.and_then(|record| serde_json::from_slice::<PlantedPaths>(&record).ok()).unwrap_or_default();
    let swept = planted.sweep(remaining);
    planted.forget(boundary);
    let _ = fs::remove_dir_all(boundary);
    swept
}

fn record(boundary: &Path) -> Option<PathBuf> {
    let mut name = boundary.file_name()?.to_owned();
    name.push(RECORD);
    Some(boundary.with_file_name(name))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn planted(paths: impl IntoIterator<Item = PathBuf>) -> WatchedPaths {
        WatchedPaths { planted: paths.into_iter().collect(), ..WatchedPaths::default() }
    }

    #[test]
    fn what_appears_is_renamed_and_what_was_there_stays() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (tree, boundary) = (root.join("tree"), root.join("session/inside"));
        fs::create_dir_all(&boundary).unwrap();
        fs::create_dir_all(tree.join(".claude")).unwrap();
        fs::write(tree.join(".mcp.json"), "mine").unwrap();
        let paths =
            [".mcp.json", ".claude/settings.json", "baton.toml", ".codex/config.toml"].map(PathBuf::from);
        let planted = PlantedPaths::watch(&tree, planted(paths));
        planted.note(&boundary).unwrap();
        assert_eq!(planted.sweep(&RemainingPaths::default()), []);
        fs::write(tree.join(".claude/settings.json"), "1").unwrap();
        fs::write(tree.join(".claude/settings.json.from-agent"), "0").unwrap();
        fs::write(tree.join("baton.toml"), "2").unwrap();
        // A link above a path that is watched is one that others follow: it is taken away, and what it led to is not touched.
        fs::create_dir(root.join("outside")).unwrap();
        fs::write(root.join("outside/config.toml"), "theirs").unwrap();
        std::os::unix::fs::symlink(root.join("outside"), tree.join(".codex")).unwrap();
        // As the next host does it, where the first has died.
        let swept: Vec<_> =
            clear(&boundary, &RemainingPaths::default()).into_iter().map(|refusal| refusal.target).collect();
        assert_eq!(swept.len(), 3, "{swept:?}");
        assert!(swept[0].ends_with(".codex (it is called .codex.from-agent now)"), "{swept:?}");
        assert!(
            swept[1].ends_with("settings.json (it is called settings.json.from-agent-1 now)"),
            "{swept:?}"
        );
        assert_eq!(fs::read_to_string(tree.join("baton.toml.from-agent")).unwrap(), "2");
        assert_eq!(fs::read_to_string(tree.join(".mcp.json")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(root.join("outside/config.toml")).unwrap(), "theirs");
        assert!(!boundary.exists() && clear(&boundary, &RemainingPaths::default()).is_empty());
    }

    #[test]
    fn a_link_that_is_exchanged_leads_where_it_led() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().canonicalize().unwrap();
        fs::create_dir(tree.join("tools")).unwrap();
        for name in [".claude", ".codex", ".gemini"] {
            std::os::unix::fs::symlink("tools", tree.join(name)).unwrap();
        }
        let planted =
            PlantedPaths::watch(&tree, planted([".claude", ".codex", ".gemini"].map(PathBuf::from)));
        fs::remove_file(tree.join(".claude")).unwrap();
        fs::create_dir(tree.join(".claude")).unwrap();
        fs::remove_file(tree.join(".codex")).unwrap();
        assert_eq!(planted.sweep(&RemainingPaths::default()).len(), 2);
        for name in [".claude", ".codex", ".gemini"] {
            assert_eq!(fs::read_link(tree.join(name)).unwrap(), Path::new("tools"), "{name}");
        }
        assert!(tree.join(".claude.from-agent").is_dir());
        assert_eq!(planted.sweep(&RemainingPaths::default()), []);
    }

    #[test]
    fn a_folder_above_a_path_is_not_exchanged_for_another_one() {
        // N6: a link of the agent's in the place of `.github`, and a folder of its own in the place of a link of the user's.
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().canonicalize().unwrap();
        fs::create_dir(tree.join("editor")).unwrap();
        std::os::unix::fs::symlink("editor", tree.join(".vscode")).unwrap();
        let watched = [".github/hooks/a.json", ".vscode/mcp.json"].map(PathBuf::from).to_vec();
        let planted = PlantedPaths::watch(&tree, planted(watched));
        fs::create_dir_all(tree.join("gh/hooks")).unwrap();
        fs::write(tree.join("gh/hooks/a.json"), "{}").unwrap();
        std::os::unix::fs::symlink("gh", tree.join(".github")).unwrap();
        fs::remove_file(tree.join(".vscode")).unwrap();
        fs::create_dir(tree.join(".vscode")).unwrap();
        fs::write(tree.join(".vscode/mcp.json"), "{}").unwrap();
        let swept = planted.sweep(&RemainingPaths::default());
        assert_eq!(swept.len(), 3, "the two, and the file in the folder that was in the way: {swept:?}");
        assert!(tree.join(".github").symlink_metadata().is_err());
        assert_eq!(fs::read_link(tree.join(".vscode")).unwrap(), Path::new("editor"));
        assert_eq!(planted.sweep(&RemainingPaths::default()), []);
    }

    #[test]
    fn what_an_agent_makes_hard_to_rename_is_renamed_all_the_same() {
        // N6
        use std::os::unix::fs::PermissionsExt as _;

        let place = tempfile::tempdir().unwrap();
        let tree = place.path().canonicalize().unwrap().join("tree");
        fs::create_dir_all(tree.join(".git")).unwrap();
        let planted = PlantedPaths::watch(&tree, planted([".mcp.json", ".git/commondir"].map(PathBuf::from)));
        fs::write(tree.join(".mcp.json"), "1").unwrap();
        fs::write(tree.join(".git/commondir"), "2").unwrap();
        let suffixes = std::iter::once(String::new()).chain((1..1000).map(|number| format!("-{number}")));
        for suffix in suffixes {
            fs::write(tree.join(format!(".mcp.json{SUFFIX}{suffix}")), "0").unwrap();
        }
        for folder in [tree.join(".git"), tree.clone()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o0)).unwrap();
        }
        let remaining = RemainingPaths::default();
        let swept = planted.sweep(&remaining);
        assert!(swept.len() == 2 && remaining.paths().is_empty(), "{swept:?}");
        assert!(!tree.join(".mcp.json").exists() && !tree.join(".git/commondir").exists());
        assert_eq!(fs::read_to_string(tree.join(format!(".git/commondir{SUFFIX}"))).unwrap(), "2");
    }

    #[test]
    fn what_cannot_be_taken_away_is_known_to_the_next_host() {
        // N6: as where the folder is not the user's own, or its file system is read-only.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (tree, boundary, file) =
            (root.join("tree"), root.join("session/inside"), root.join("still-there.json"));
        fs::create_dir_all(&boundary).unwrap();
        fs::create_dir_all(&tree).unwrap();
        // No name is left for it that a file system would take.
        let name = "x".repeat(250);
        let planted = PlantedPaths::watch(&tree, planted([PathBuf::from(&name)]));
        planted.note(&boundary).unwrap();
        fs::write(tree.join(&name), "planted").unwrap();
        let told = clear(&boundary, &RemainingPaths::kept(&file).unwrap());
        assert!(told.len() == 1 && told[0].target.contains("it is still there"), "{told:?}");
        assert_eq!(clear(&boundary, &RemainingPaths::kept(&file).unwrap()), [], "it was told once");
        assert_eq!(RemainingPaths::kept(&file).unwrap().paths(), [tree.join(&name)]);
        fs::remove_file(tree.join(&name)).unwrap();
        assert_eq!(RemainingPaths::kept(&file).unwrap().paths(), Vec::<PathBuf>::new());
        fs::write(&file, "{").unwrap();
        assert!(RemainingPaths::kept(&file).is_err());
    }

    #[test]
    fn what_was_not_a_link_does_not_become_one() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().canonicalize().unwrap();
        fs::create_dir(tree.join("refs")).unwrap();
        std::os::unix::fs::symlink("refs", tree.join("users")).unwrap();
        let plain = ["refs", "objects", "users"].map(PathBuf::from).to_vec();
        let planted = PlantedPaths::watch(&tree, WatchedPaths { plain, ..WatchedPaths::default() });
        fs::create_dir(tree.join("objects")).unwrap();
        assert_eq!(planted.sweep(&RemainingPaths::default()), []);
        fs::rename(tree.join("refs"), tree.join("away")).unwrap();
        std::os::unix::fs::symlink("/nowhere", tree.join("refs")).unwrap();
        assert_eq!(planted.sweep(&RemainingPaths::default()).len(), 1);
        assert!(tree.join("refs").symlink_metadata().is_err());
        assert!(tree.join("users").symlink_metadata().is_ok() && tree.join("objects").is_dir());
    }

    #[test]
    fn a_link_below_a_folder_without_links_is_removed() {
        // N6: `git commit` writes its message through a link in the place of `.git/COMMIT_EDITMSG`, and a reflog is appended to.
        use std::os::unix::fs::symlink;

        let place = tempfile::tempdir().unwrap();
        let tree = place.path().canonicalize().unwrap();
        for folder in ["logs/refs", "objects/ab"] {
            fs::create_dir_all(tree.join(".git").join(folder)).unwrap();
        }
        fs::write(tree.join("victim"), "mine").unwrap();
        symlink("../victim", tree.join(".git/of-the-user")).unwrap();
        let link_free = vec![PathBuf::from(".git")];
        let planted = PlantedPaths::watch(&tree, WatchedPaths { link_free, ..planted([".git/HEAD".into()]) });
        for name in ["COMMIT_EDITMSG", "logs/refs/stash", "HEAD", "objects/pack"] {
            symlink(tree.join("victim"), tree.join(".git").join(name)).unwrap();
        }
        symlink(&tree, tree.join(".git/logs/tree")).unwrap();
        symlink("victim", tree.join("link")).unwrap();
        let swept = planted.sweep(&RemainingPaths::default());
        assert_eq!(swept.len(), 5, "{swept:?}");
        let said =
            format!("COMMIT_EDITMSG (it was a link to {}, and is removed)", tree.join("victim").display());
        assert!(swept.iter().any(|swept| swept.target.ends_with(&said)), "{swept:?}");
        let left = links_below(&tree, Path::new("."));
        let left: Vec<_> = left.iter().map(|path| path.strip_prefix(".").unwrap()).collect();
        assert_eq!(left, [".git/of-the-user", "link"].map(Path::new));
        assert_eq!(planted.sweep(&RemainingPaths::default()), []);
    }
}
