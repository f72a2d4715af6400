//! Removes a folder that an agent could write, however deep it is. The standard library needs a stack frame and a descriptor for each level,
//! and an agent can make more levels than a process has of either.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, chmodat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Levels that are removed at once. Deeper folders are moved to the top first.
const LEVELS: usize = 32;
/// How often more is moved there: for a depth of some millions.
const ROUNDS_MAX: usize = 100_000;
/// The name of moved folders, followed by a number.
const MOVED: &str = ".baton-remove-";

/// Removes a file, a link, or a folder with all of its content. It may be missing.
///
/// # Errors
/// Those of the file system. The rest stays.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => {}
        Ok(_) => return fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let top = openat(CWD, path, flags, Mode::empty())?;
    let mut moved = 0;
    for _ in 0..ROUNDS_MAX {
        if !clear(top.as_fd(), top.as_fd(), LEVELS, &mut moved)? {
            return fs::remove_dir(path);
        }
    }
    Err(io::Error::other(format!("{} has too many folders in each other", path.display())))
}

/// Removes the content of a folder, except for parts that are so deep that they are moved to the top. Returns whether anything
/// was moved.
fn clear(folder: BorrowedFd<'_>, top: BorrowedFd<'_>, levels: usize, moved: &mut u64) -> io::Result<bool> {
    let mut has_moved = false;
    for name in names(folder)? {
        match unlinkat(folder, &name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => continue,
            Err(Errno::ISDIR | Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
        if levels == 0 {
            move_up(folder, &name, top, moved)?;
            has_moved = true;
            continue;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let below = match openat(folder, &name, flags, Mode::empty()) {
            Err(Errno::ACCESS) => {
                chmodat(folder, &name, Mode::RWXU, AtFlags::empty())?;
                openat(folder, &name, flags, Mode::empty())?
            }
            opened => opened?,
        };
        has_moved |= clear(below.as_fd(), top, levels - 1, moved)?;
        drop(below);
        match unlinkat(folder, &name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(has_moved)
}

/// Under a name that is free there.
fn move_up(folder: BorrowedFd<'_>, name: &CString, top: BorrowedFd<'_>, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        match renameat(folder, name, top, format!("{MOVED}{moved}")) {
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            renamed => return Ok(renamed?),
        }
    }
}

fn names(folder: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_owned();
        if !matches!(name.as_bytes(), b"." | b"..") {
            names.push(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use rustix::fs::mkdirat;

    use super::*;

    #[test]
    fn a_folder_is_removed_however_deep_it_is() {
        // N6: the host's stack overflowed when it removed the deep folders of an agent.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let mut at = openat(CWD, &root, flags, Mode::empty()).unwrap();
        for _ in 0..20_000 {
            mkdirat(&at, "d", Mode::RWXU).unwrap();
            at = openat(&at, "d", flags, Mode::empty()).unwrap();
        }
        mkdirat(&at, format!("{MOVED}1"), Mode::RWXU).unwrap();
        drop(at);
        fs::create_dir(root.join(format!("{MOVED}1"))).unwrap();
        fs::write(root.join(format!("{MOVED}1/file")), "").unwrap();
        remove_tree(&root).unwrap();
        assert!(root.symlink_metadata().is_err());
        assert!(Path::new("/etc").is_dir());
        remove_tree(&root).unwrap();
    }
}
