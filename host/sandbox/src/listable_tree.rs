//! Folders of a tree that cannot be listed: an agent of the same user may have taken the right to, and git and commands go on by the names that
//! they know. What is in such a folder would be in no diff, no commit and no list of what an agent left.

use std::path::Path;

/// Gives the user the rights to list and to enter each folder of a tree that is theirs; no link is followed. The rights of others, and the
/// right to write, stay as they are. A folder of another user stays closed: no agent of this one has closed it. Blocking; nothing for root,
/// who lists every folder.
#[cfg(target_os = "linux")]
pub fn make_listable(tree: &Path) {
    use rustix::fs::{Mode, OFlags, chmod, fstat, open};
    use std::os::fd::AsRawFd as _;

    let user = rustix::process::geteuid();
    if user.is_root() {
        return;
    }
    let needed = Mode::RUSR | Mode::XUSR;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open_up = |folder: &Path| -> rustix::io::Result<()> {
        let opened = open(folder, flags, Mode::empty())?;
        let about = fstat(&opened)?;
        let mode = Mode::from_raw_mode(about.st_mode);
        if about.st_uid == user.as_raw() && !mode.contains(needed) {
            // A descriptor that only names a folder changes nothing by itself.
            chmod(format!("/proc/self/fd/{}", opened.as_raw_fd()), mode | needed)?;
        }
        Ok(())
    };
    let mut left = vec![tree.to_owned()];
    while let Some(folder) = left.pop() {
        // One that is gone by now has nothing in it.
        if open_up(&folder).is_err() {
            continue;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(entry.path());
            }
        }
    }
}

/// Nobody is confined elsewhere.
#[cfg(not(target_os = "linux"))]
pub fn make_listable(_: &Path) {}
