//! What the path of a call leads to, one name after the other as the kernel goes for the caller: also through links of `/proc`, which lead
//! elsewhere for each process (`/proc/self`) or are no text (`/proc/self/fd/3`, `/proc/self/cwd`), and up from where a link has led.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use rustix::fs::{
    AtFlags, Mode, OFlags, PROC_SUPER_MAGIC, StatxFlags, fstat, fstatfs, open, openat, readlinkat, stat,
    statx,
};
use rustix::io::Errno;

/// As many links as the kernel follows.
const LINKS_MAX: u32 = 40;
/// The file system of folders that are mounted on first use, of `linux/magic.h`.
const AUTOFS_SUPER_MAGIC: u64 = 0x0187;

/// Opens a file only as a path.
const NAMES: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

/// The target of a path.
#[derive(Debug)]
pub(super) enum PathTarget {
    /// To this.
    Found(OwnedFd),
    /// Nothing: the call fails anyway.
    Nothing,
    /// The target is unknown.
    Unknown,
}

/// A path that is followed for a caller.
pub(super) struct PathWalk {
    thread: u32,
    links: u32,
}

impl PathWalk {
    pub(super) fn of(thread: u32) -> Self {
        Self { thread, links: 0 }
    }

    /// The file of a caller's descriptor, or its current folder.
    pub(super) fn open_file(&self, descriptor: i32) -> PathTarget {
        self.descriptor(descriptor).map_or(PathTarget::Unknown, PathTarget::Found)
    }

    /// Follows a path from a folder of the caller. A link at its end is followed only if the call does so.
    pub(super) fn follow(mut self, folder: i32, path: &OsStr, follows: bool) -> PathTarget {
        let begin = match path.as_bytes().first() {
            Some(b'/') => self.root(),
            Some(_) => self.descriptor(folder),
            // The path is the open file itself.
            None => None,
        };
        let Some(begin) = begin else { return PathTarget::Unknown };
        match self.walk(begin, path, follows) {
            Ok(found) => PathTarget::Found(found),
            Err(reason) => reason,
        }
    }

    fn walk(&mut self, begin: OwnedFd, path: &OsStr, follows: bool) -> Result<OwnedFd, PathTarget> {
        // A link before a slash is a folder, regardless of the call's flags.
        let follows = follows || path.as_bytes().ends_with(b"/");
        let (mut at, mut left) = (begin, VecDeque::new());
        prepend(&mut left, path);
        while let Some(name) = left.pop_front() {
            if name == "." {
                continue;
            }
            if name == ".." {
                at = self.above(at)?;
                continue;
            }
            let is_last = left.is_empty();
            match readlinkat(&at, &name, Vec::<u8>::new()) {
                Ok(text) if follows || !is_last => {
                    self.links += 1;
                    if self.links > LINKS_MAX {
                        return Err(PathTarget::Unknown);
                    }
                    let text = OsString::from_vec(text.into_bytes());
                    at = self.through(at, &name, text, &mut left)?;
                }
                Ok(_) | Err(Errno::INVAL) => at = enter(&at, &name, is_last)?,
                Err(error) => return Err(absent(&at, error)),
            }
        }
        Ok(at)
    }

    /// Where a link leads, or the folder that its text is relative to.
    fn through(
        &self,
        folder: OwnedFd,
        name: &OsStr,
        text: OsString,
        left: &mut VecDeque<OsString>,
    ) -> Result<OwnedFd, PathTarget> {
        let about = fstatfs(&folder).map_err(|_| PathTarget::Unknown)?;
        let text = match about.f_type == PROC_SUPER_MAGIC {
            true => match self.text_of_processes(&folder, name, text)? {
                Some(text) => text,
                // The kernel itself leads there, for every process.
                None => return openat(&folder, name, NAMES, Mode::empty()).map_err(|_| PathTarget::Unknown),
            },
            false => text,
        };
        prepend(left, &text);
        match text.as_bytes().first() {
            Some(b'/') => self.root().ok_or(PathTarget::Unknown),
            _ => Ok(folder),
        }
    }

    /// The text of a link below `/proc`, as the caller sees it; none for one that is not text.
    fn text_of_processes(
        &self,
        folder: &OwnedFd,
        name: &OsStr,
        text: OsString,
    ) -> Result<Option<OsString>, PathTarget> {
        let (Ok(folder), Ok(own)) = (fstat(folder), stat("/proc")) else { return Err(PathTarget::Unknown) };
        if folder.st_dev != own.st_dev {
            // It may number processes in another way.
            return Err(PathTarget::Unknown);
        }
        if folder.st_ino != own.st_ino {
            return Ok(None);
        }
        let process = || self.process().ok_or(PathTarget::Unknown);
        Ok(Some(match name.as_bytes() {
            b"self" => process()?.into(),
            b"thread-self" => format!("{}/task/{}", process()?, self.thread).into(),
            _ => text,
        }))
    }

    /// The folder above another one. There is none above the caller's root.
    fn above(&self, at: OwnedFd) -> Result<OwnedFd, PathTarget> {
        let id = |file: &OwnedFd| {
            let found = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::INO | StatxFlags::MNT_ID).ok()?;
            Some((found.stx_dev_major, found.stx_dev_minor, found.stx_ino, found.stx_mnt_id))
        };
        let root = self.root().and_then(|root| id(&root)).ok_or(PathTarget::Unknown)?;
        if id(&at) == Some(root) {
            return Ok(at);
        }
        openat(&at, "..", NAMES | OFlags::DIRECTORY, Mode::empty()).map_err(|error| absent(&at, error))
    }

    fn root(&self) -> Option<OwnedFd> {
        open(format!("/proc/{}/root", self.thread), NAMES, Mode::empty()).ok()
    }

    fn descriptor(&self, number: i32) -> Option<OwnedFd> {
        let path = match number {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.thread),
            _ => format!("/proc/{}/fd/{number}", self.thread),
        };
        open(path, NAMES, Mode::empty()).ok()
    }

    /// The number of the caller's process, whose threads may have other files open than the caller.
    fn process(&self) -> Option<String> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.thread)).ok()?;
        let number = status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim();
        number.parse::<u32>().ok().map(|number| number.to_string())
    }
}

/// The entry of a folder with this name, even if it is a link. Only a folder has entries.
fn enter(folder: &OwnedFd, name: &OsStr, is_last: bool) -> Result<OwnedFd, PathTarget> {
    let kind = if is_last { OFlags::empty() } else { OFlags::DIRECTORY };
    openat(folder, name, NAMES | OFlags::NOFOLLOW | kind, Mode::empty())
        .map_err(|error| absent(folder, error))
}

/// The reason why a folder has no such entry. Other processes may see more of `/proc`, and of folders that are mounted on use.
fn absent(folder: &OwnedFd, error: Errno) -> PathTarget {
    let shows_all = || {
        let about = fstatfs(folder).ok();
        about.is_some_and(|about| {
            about.f_type != PROC_SUPER_MAGIC && about.f_type as u64 != AUTOFS_SUPER_MAGIC
        })
    };
    match matches!(error, Errno::NOENT | Errno::NOTDIR) && shows_all() {
        true => PathTarget::Nothing,
        false => PathTarget::Unknown,
    }
}

/// The names of a path, before the names that remain to be resolved.
fn prepend(left: &mut VecDeque<OsString>, path: &OsStr) {
    for name in path.as_bytes().split(|byte| *byte == b'/').rev().filter(|name| !name.is_empty()) {
        left.push_front(OsStr::from_bytes(name).to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsRawFd as _;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    /// The target of a path for this process, from a folder that it has open.
    fn lead(folder: &File, path: &str, follows: bool) -> PathTarget {
        PathWalk::of(std::process::id()).follow(folder.as_raw_fd(), OsStr::new(path), follows)
    }

    fn is(found: PathTarget, path: &Path) -> bool {
        let PathTarget::Found(found) = found else { return false };
        let name = fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).unwrap();
        name == path
    }

    #[test]
    fn links_that_are_no_text_are_followed_as_the_caller_follows_them() {
        // N6: by these a mode was changed outside.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("tree/in")).unwrap();
        fs::create_dir_all(root.join("out/in")).unwrap();
        for name in ["victim", "tree/victim", "out/victim"] {
            fs::write(root.join(name), "").unwrap();
        }
        let (tree, victim) =
            (File::open(root.join("tree")).unwrap(), File::open(root.join("victim")).unwrap());
        let (process, number) = (std::process::id(), victim.as_raw_fd());
        symlink(format!("/proc/self/fd/{number}"), root.join("tree/open")).unwrap();
        symlink("../out/in", root.join("tree/folder")).unwrap();
        symlink("folder/../victim", root.join("tree/twice")).unwrap();
        for path in [
            "open".to_owned(),
            "in/../open".to_owned(),
            format!("/proc/{process}/fd/{number}"),
            format!("/proc/self/fd/{number}"),
            format!("/proc/thread-self/fd/{number}"),
            format!("/proc/self/task/{process}/fd/{number}"),
            format!("/proc/self/root{}", root.join("victim").display()),
            format!("/proc/self/fd/{}/../victim", tree.as_raw_fd()),
            "../victim".to_owned(),
        ] {
            let found = lead(&tree, &path, true);
            assert!(is(found, &root.join("victim")), "{path}");
        }
        // The folder above is the one above the link's target.
        for path in ["folder/../victim", "twice", "folder/./../in/../victim"] {
            assert!(is(lead(&tree, path, true), &root.join("out/victim")), "{path}");
        }
        assert!(is(lead(&tree, "/../../..", true), Path::new("/")));
    }

    #[test]
    fn a_link_at_the_end_is_followed_only_by_calls_that_do() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let tree = File::open(&root).unwrap();
        fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("missing", root.join("broken")).unwrap();
        assert!(is(lead(&tree, "link", true), &root.join("real")));
        assert!(is(lead(&tree, "link", false), &root.join("link")));
        assert!(is(lead(&tree, "link/", false), &root.join("real")));
        assert!(is(lead(&tree, "link/.", false), &root.join("real")));
        assert!(is(lead(&tree, "broken", false), &root.join("broken")));
    }

    #[test]
    fn only_what_is_certain_is_nothing() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let tree = File::open(&root).unwrap();
        fs::write(root.join("file"), "").unwrap();
        symlink("missing", root.join("broken")).unwrap();
        symlink("ring", root.join("ring")).unwrap();
        for path in ["missing", "broken", "file/below", "no/such/file"] {
            assert!(matches!(lead(&tree, path, true), PathTarget::Nothing), "{path}");
        }
        for path in ["ring", "/proc/self/fd/4000000", "/proc/4000000000/cwd", ""] {
            assert!(matches!(lead(&tree, path, true), PathTarget::Unknown), "{path}");
        }
        assert!(matches!(PathWalk::of(u32::MAX).open_file(0), PathTarget::Unknown));
        let own = PathWalk::of(std::process::id()).open_file(tree.as_raw_fd());
        assert!(is(own, &root));
    }
}
