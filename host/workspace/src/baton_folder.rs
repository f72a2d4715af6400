//! Folders of Baton's own in a tree in which agents work: opened one by one, and no link is followed on the way. An agent can put a link to
//! any folder of the tree in the place of one, and the host would read, rename and write files there that the agent itself may not touch.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use baton_core::visible::visible_name;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;

use crate::Workspace;

/// Baton's own folder in every tree.
pub(crate) const OWN: &str = ".baton";
/// Longest part of a link's target that is shown.
const SHOWN_CHARS: usize = 200;
/// A process that makes a link there again this often within one look does nothing else.
const ATTEMPTS: u32 = 8;

/// A link that stood in the place of a folder of Baton's own, and was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedFolder {
    /// The root of the tree.
    pub root: PathBuf,
    /// Its path, from there.
    pub path: PathBuf,
    /// Its target.
    pub led_to: PathBuf,
}

impl std::fmt::Display for ReplacedFolder {
    /// "a link to .git in the place of .baton/r-7f/inbox"
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (led_to, path) = (self.led_to.to_string_lossy(), self.path.to_string_lossy());
        let led_to: String = led_to.chars().take(SHOWN_CHARS).collect();
        write!(f, "a link to {} in the place of {}", visible_name(&led_to), visible_name(&path))
    }
}

/// Links that were removed, until they are asked for. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplacedFolders(Arc<Mutex<Vec<ReplacedFolder>>>);

impl ReplacedFolders {
    pub(crate) fn take(&self) -> Vec<ReplacedFolder> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, exchanged: ReplacedFolder) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One that comes again and again is reported.
        if !all.contains(&exchanged) {
            all.push(exchanged);
        }
    }
}

impl Workspace {
    /// Opens a folder of Baton's own, by its path in the workspace, and makes what is not there. A link in its place, or in that of a folder of
    /// Baton's above it, is removed, and is reported by [`RunWorktrees::take_exchanged`](crate::RunWorktrees::take_exchanged). Blocking.
    ///
    /// # Errors
    /// Those of the system; a link above Baton's own folders, which may be the user's.
    pub fn own_folder(&self, path: &Path) -> io::Result<Dir> {
        self.folder_without_links(path, true)
    }

    /// The same; with `make` absent it is an error if it is not there.
    pub(crate) fn folder_without_links(&self, path: &Path, make: bool) -> io::Result<Dir> {
        let mut dir = self.root.dir()?;
        let mut at = PathBuf::new();
        for part in path.components() {
            let Component::Normal(name) = part else {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "it is not a plain path in the workspace",
                ));
            };
            at.push(name);
            dir = self.enter(&dir, name, &at, make)?;
        }
        Ok(dir)
    }

    fn enter(&self, dir: &Dir, name: &OsStr, at: &Path, make: bool) -> io::Result<Dir> {
        for _ in 0..ATTEMPTS {
            match open_folder(dir, name) {
                Ok(folder) => return Ok(folder),
                Err(Errno::NOENT) if make => match make_folder(dir, name) {
                    Err(error) if self.is_denied(&error, at.parent()) => open_up(dir)?,
                    made => made?,
                },
                Err(Errno::ACCESS) if self.is_own(at) => self.open_up_below(dir, name, at)?,
                // Systems differ in which of them they report.
                Err(error @ (Errno::LOOP | Errno::NOTDIR)) => {
                    let Ok(led_to) = dir.read_link_contents(name) else { return Err(error.into()) };
                    if !self.is_own(at) {
                        let why =
                            format!("{} is a link, and Baton follows none to its own folders", at.display());
                        return Err(io::Error::other(why));
                    }
                    unlinkat(dir, name, AtFlags::empty())?;
                    let (root, path) = (self.root.path().to_owned(), at.to_owned());
                    self.exchanged.add(ReplacedFolder { root, path, led_to });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("a link is put in its place again and again"))
    }

    /// Whether a folder of Baton's own lacks a permission: an agent may have removed it, so that its files stay.
    pub(crate) fn is_denied(&self, error: &io::Error, folder: Option<&Path>) -> bool {
        error.kind() == io::ErrorKind::PermissionDenied && folder.is_some_and(|folder| self.is_own(folder))
    }

    fn open_up_below(&self, dir: &Dir, name: &OsStr, at: &Path) -> io::Result<()> {
        if at.parent().is_some_and(|above| self.is_own(above)) {
            open_up(dir)?;
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(dir, name, flags, Mode::empty())?;
        open_up(&Dir::from_std_file(File::from(folder)))
    }

    fn is_own(&self, path: &Path) -> bool {
        path.starts_with(OWN) || self.own.as_ref().is_some_and(|own| path.starts_with(own))
    }
}

/// Gives the user all rights to a folder of theirs.
pub(crate) fn open_up(folder: &Dir) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    baton_sandbox::open_up(folder.as_fd())?;
    Ok(())
}

/// Opens a folder in another one, if it is a folder and not a link.
pub(crate) fn open_folder(above: &Dir, name: &OsStr) -> Result<Dir, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(Dir::from_std_file(File::from(openat(above, name, flags, Mode::empty())?)))
}

/// Creates a folder in another one. An existing one is not an error.
pub(crate) fn make_folder(above: &Dir, name: &OsStr) -> io::Result<()> {
    match above.create_dir(name) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_in_the_place_of_a_folder_of_batons_is_removed_and_told() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let workspace = Workspace::open(&root).unwrap().with_own_folder("specs/run");
        fs::create_dir_all(root.join(".git/refs")).unwrap();
        fs::create_dir_all(root.join("aside/inbox")).unwrap();
        for (link, to, folder) in [
            (".baton", "aside", ".baton/inbox"),
            (".baton/run", "../.git", ".baton/run/inbox"),
            (".baton/run/inbox", "../../.git", ".baton/run/inbox"),
            (".baton/run/inbox/rejected", "/etc", ".baton/run/inbox/rejected"),
            ("specs/run", "../.git", "specs/run/inbox"),
        ] {
            if let Some(above) = root.join(link).parent() {
                fs::create_dir_all(above).unwrap();
            }
            let _ = fs::remove_dir_all(root.join(link));
            symlink(to, root.join(link)).unwrap();
            workspace.own_folder(Path::new(folder)).unwrap().write("x", "y").unwrap();
            assert!(root.join(link).symlink_metadata().unwrap().is_dir(), "{link}");
            assert_eq!(fs::read_to_string(root.join(folder).join("x")).unwrap(), "y");
            let told: Vec<String> = workspace.exchanged.take().iter().map(ToString::to_string).collect();
            assert_eq!(told, [format!("a link to {to} in the place of {link}")]);
        }
        assert_eq!(fs::read_dir(root.join(".git")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(root.join("aside/inbox")).unwrap().count(), 0);
    }

    #[test]
    fn rights_that_an_agent_took_from_a_folder_of_batons_come_back() {
        // N6: root writes all the same.
        use std::os::unix::fs::PermissionsExt as _;

        let place = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(place.path()).unwrap();
        workspace.write_script(".baton/r-1/init.sh", b"ours").unwrap();
        let folder = place.path().join(".baton/r-1");
        for (mode, written) in [(0o555, "r-1/init.sh"), (0o000, "r-1/init.sh"), (0o555, "r-1/handoffs/h.md")]
        {
            fs::write(folder.join("init.sh"), "an agent's").unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            workspace.write_script(&format!(".baton/{written}"), b"ours").unwrap();
            assert_eq!(fs::read_to_string(place.path().join(".baton").join(written)).unwrap(), "ours");
            if !rustix::process::getuid().is_root() {
                assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o755);
            }
        }
    }

    #[test]
    fn a_link_of_the_users_above_is_neither_followed_nor_removed() {
        let place = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(place.path()).unwrap().with_own_folder("specs/run");
        fs::create_dir(place.path().join("documents")).unwrap();
        symlink("documents", place.path().join("specs")).unwrap();
        let error = workspace.own_folder(Path::new("specs/run")).unwrap_err().to_string();
        assert!(error.contains("specs is a link"), "{error}");
        assert!(place.path().join("specs").is_symlink() && workspace.exchanged.take().is_empty());
        for path in ["../up", "/etc", "a/../../up"] {
            assert!(workspace.own_folder(Path::new(path)).is_err(), "{path}");
        }
        fs::write(place.path().join(".baton"), "a file").unwrap();
        assert!(workspace.own_folder(Path::new(".baton/run")).is_err());
        assert!(workspace.folder_without_links(Path::new("absent"), false).is_err());
    }
}
