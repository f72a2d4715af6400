//! What the host makes in a tree or a repository before a boundary opens. Others may have written those, and the host is in no sandbox, so
//! that no link is followed on the way.

use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, mkdirat, open, openat};

/// Makes a folder below another one, with those in between. Another file in its place is not an error here: it is refused
/// elsewhere.
pub(super) fn make_folder(root: &Path, path: &Path) {
    let _ = folder_below(root, path, true);
}

/// Makes an empty file in an existing folder, unless its name is taken.
pub(super) fn make_file(root: &Path, path: &Path) {
    let Some((above, name)) = path.parent().zip(path.file_name()) else { return };
    let Some(folder) = folder_below(root, above, false) else { return };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let _ = openat(&folder, name, flags, Mode::from_raw_mode(0o666));
}

/// A folder below another one, opened folder by folder; none if anything else is on the path.
fn folder_below(root: &Path, path: &Path, makes: bool) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = open(root, flags, Mode::empty()).ok()?;
    for part in path.components() {
        let Component::Normal(name) = part else { return None };
        if makes {
            // An existing folder is not an error.
            let _ = mkdirat(&folder, name, Mode::from_raw_mode(0o777));
        }
        folder = openat(&folder, name, flags | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    }
    Some(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_is_made_where_a_link_leads() {
        // N6: by a link in the repository, the host made files in any folder of the user.
        let place = tempfile::tempdir().unwrap();
        let (root, elsewhere) = (place.path().join("work"), place.path().join("elsewhere"));
        fs::create_dir_all(root.join(".git/worktrees")).unwrap();
        fs::create_dir(&elsewhere).unwrap();
        symlink(&elsewhere, root.join(".git/worktrees/.baton")).unwrap();
        symlink("../../elsewhere", root.join(".git/hooks")).unwrap();
        symlink(elsewhere.join("file"), root.join(".git/file")).unwrap();
        for path in
            [".git/worktrees/.baton/locked", ".git/hooks/locked", ".git/file", ".git/../../elsewhere/up"]
        {
            make_file(&root, Path::new(path));
            make_folder(&root, Path::new(path));
        }
        make_folder(&root, Path::new(".git/worktrees/.baton"));
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn what_is_missing_is_made_and_what_is_there_stays() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        make_file(root, Path::new("a/b/file"));
        assert!(!root.join("a").exists());
        make_folder(root, Path::new("a/b"));
        make_file(root, Path::new("a/b/file"));
        assert_eq!(fs::read(root.join("a/b/file")).unwrap(), b"");
        fs::write(root.join("a/b/file"), "text").unwrap();
        make_file(root, Path::new("a/b/file"));
        make_folder(root, Path::new("a/b/file"));
        assert_eq!(fs::read(root.join("a/b/file")).unwrap(), b"text");
    }
}
