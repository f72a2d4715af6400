//! Folders of a tree that cannot be listed: an agent of the same user may have removed the right to, and git and commands still work by the names that
//! they know. What is in such a folder would be in no diff, no commit and no list of what an agent left.

use std::path::Path;
#[cfg(target_os = "linux")]
use std::path::PathBuf;

#[cfg(target_os = "linux")]
use cap_std::fs::Dir;

/// The rights of the owner to list a folder and to enter it.
#[cfg(target_os = "linux")]
const LISTABLE: u32 = 0o500;
/// Of a mode, without the kind of file.
#[cfg(target_os = "linux")]
const MODE_BITS: u32 = 0o7777;

/// Gives the user the rights to list and to enter each folder of a tree that is theirs; nothing outside the tree is changed, even if an
/// agent exchanges folders for links meanwhile. The rights of others, and the right to write, stay as they are. A folder of another user
/// stays closed: no agent of this one has closed it. Blocking; nothing for root, who lists every folder.
#[cfg(target_os = "linux")]
pub fn make_listable(tree: &Path) {
    if rustix::process::geteuid().is_root() {
        return;
    }
    let Ok(top) = open_top(tree) else { return };
    let mut left = vec![PathBuf::from(".")];
    while let Some(folder) = left.pop() {
        // One that is gone by now has nothing in it, and one that stays closed cannot be listed.
        left.extend(make_folder_listable(&top, &folder).unwrap_or_default());
    }
}

/// The tree, even if it is closed. No link.
#[cfg(target_os = "linux")]
fn open_top(tree: &Path) -> std::io::Result<Dir> {
    use std::os::fd::AsFd as _;

    use rustix::fs::{Mode, OFlags, open, openat};

    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let named = open(tree, flags | OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?;
    // Listing it fails below if it is another user's.
    let _ = add_rights(named.as_fd(), Mode::RUSR | Mode::XUSR);
    let opened = openat(&named, ".", flags | OFlags::RDONLY, Mode::empty())?;
    Ok(Dir::from_std_file(opened.into()))
}

/// Gives the rights for one folder below the tree, and returns the folders in it.
#[cfg(target_os = "linux")]
fn make_folder_listable(top: &Dir, folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    use cap_std::fs::{Permissions, PermissionsExt as _};

    let meta = top.symlink_metadata(folder)?;
    if !meta.is_dir() {
        return Err(std::io::ErrorKind::NotADirectory.into());
    }
    let mode = meta.permissions().mode();
    if mode & LISTABLE != LISTABLE {
        // A folder of another user stays closed.
        let _ = top.set_permissions(folder, Permissions::from_mode(mode & MODE_BITS | LISTABLE));
    }
    let is_folder = |entry: &cap_std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let entries = top.read_dir(folder)?.flatten().filter(is_folder);
    Ok(entries.map(|entry| folder.join(entry.file_name())).collect())
}

/// Gives the owner of a folder these rights, beside those that there are.
#[cfg(target_os = "linux")]
pub(crate) fn add_rights(
    folder: std::os::fd::BorrowedFd<'_>,
    rights: rustix::fs::Mode,
) -> rustix::io::Result<()> {
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{Mode, chmod, fstat};

    let mode = Mode::from_raw_mode(fstat(folder)?.st_mode);
    if mode.contains(rights) {
        return Ok(());
    }
    // A descriptor that was opened only as a path cannot change the mode directly.
    chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), mode | rights)
}

/// No agent is confined on other systems.
#[cfg(not(target_os = "linux"))]
pub fn make_listable(_: &Path) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn rights_are_given_in_the_tree_and_nowhere_else() {
        // N6: a folder that an agent exchanged for a link after it was listed led to folders outside.
        let place = tempfile::tempdir().unwrap();
        let (tree, outside) = (place.path().join("tree"), place.path().join("outside"));
        let mode = |path: &Path| path.symlink_metadata().unwrap().permissions().mode() & MODE_BITS;
        for folder in [tree.join("a/closed"), outside.join("closed")] {
            fs::create_dir_all(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o310)).unwrap();
        }
        symlink(&outside, tree.join("link")).unwrap();
        let top = open_top(&tree).unwrap();
        assert_eq!(make_folder_listable(&top, Path::new(".")).unwrap(), [Path::new("./a")]);
        assert_eq!(make_folder_listable(&top, Path::new("./a")).unwrap(), [Path::new("./a/closed")]);
        make_folder_listable(&top, Path::new("./a/closed")).unwrap();
        assert_eq!(mode(&tree.join("a/closed")), 0o710);
        for exchanged in ["./link", "./link/closed"] {
            make_folder_listable(&top, Path::new(exchanged)).unwrap_err();
        }
        open_top(&tree.join("link")).unwrap_err();
        assert_eq!(mode(&outside.join("closed")), 0o310);
    }
}
