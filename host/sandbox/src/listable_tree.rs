//! Folders of a tree that cannot be listed: an agent of the same user may have removed the right to, and git and commands still work by the names that
//! they know. What is in such a folder would be in no diff, no commit and no list of what an agent left.

use std::path::Path;

/// Gives the user the rights to list and to enter each folder of a tree that is theirs; no link is followed. The rights of others, and the
/// right to write, stay as they are. A folder of another user stays closed: no agent of this one has closed it. Blocking; nothing for root,
/// who lists every folder.
#[cfg(target_os = "linux")]
pub fn make_listable(tree: &Path) {
    use std::os::fd::AsFd as _;

    use rustix::fs::{Mode, OFlags, open};

    if rustix::process::geteuid().is_root() {
        return;
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut left = vec![tree.to_owned()];
    while let Some(folder) = left.pop() {
        // One that is gone by now has nothing in it, and one that stays closed cannot be listed.
        let _ = open(&folder, flags, Mode::empty())
            .and_then(|opened| add_rights(opened.as_fd(), Mode::RUSR | Mode::XUSR));
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(entry.path());
            }
        }
    }
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
    // A descriptor that only names a folder changes nothing by itself.
    chmod(format!("/proc/self/fd/{}", folder.as_raw_fd()), mode | rights)
}

/// No agent is confined on other systems.
#[cfg(not(target_os = "linux"))]
pub fn make_listable(_: &Path) {}
