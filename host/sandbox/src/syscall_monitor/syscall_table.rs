//! The announced calls, and the effect of each on its arguments.

/// Calls that the library does not name: of Linux 6.6, 6.13 and 6.17.
const FCHMODAT2: i64 = 452;
const SETXATTRAT: i64 = 463;
const REMOVEXATTRAT: i64 = 466;
const FILE_SETATTR: i64 = 469;

/// The effect of a call, with the positions of its arguments.
#[derive(Clone, Copy)]
pub(super) enum SyscallEffect {
    /// Opens a path: folder, path, flags.
    Opens(Option<usize>, usize, usize),
    /// The same, with its flags in a record.
    OpensHow(usize, usize, usize),
    /// Changes the target of a path: folder, path.
    Changes(Option<usize>, usize),
    /// Changes the mode, the owner, the times or the attributes of a path's target: folder, path.
    Attributes(Option<usize>, usize, FinalLink),
    /// The same for an open file.
    AttributesOf(usize),
    /// Creates a new entry: folder, path.
    Makes(Option<usize>, usize),
    /// Takes a name away: folder, path.
    Removes(Option<usize>, usize),
    /// Changes the targets of two paths.
    Moves(Option<usize>, usize, Option<usize>, usize),
    /// Connects to an address: descriptor, address, its length.
    Connects(usize, usize),
    /// Sends to an address in a record.
    Sends(usize),
    /// Signals a process.
    Signals(usize),
    /// Is for the whole system.
    System(&'static str),
}

/// How a call treats a link at the end of its path.
#[derive(Clone, Copy)]
pub(super) enum FinalLink {
    /// It follows the link.
    Followed,
    /// It is about the link.
    Itself,
    /// Its flags decide.
    ByFlags(usize),
}

/// The calls that are announced.
pub(super) fn table() -> Vec<(i64, SyscallEffect)> {
    use FinalLink::{ByFlags, Followed, Itself};
    use SyscallEffect::{
        Attributes, AttributesOf, Changes, Connects, Makes, Moves, Opens, OpensHow, Removes, Sends, Signals,
        System,
    };
    let mut calls = vec![
        (libc::SYS_openat, Opens(Some(0), 1, 2)),
        (libc::SYS_openat2, OpensHow(0, 1, 2)),
        (libc::SYS_unlinkat, Removes(Some(0), 1)),
        (libc::SYS_mkdirat, Makes(Some(0), 1)),
        (libc::SYS_mknodat, Makes(Some(0), 1)),
        (libc::SYS_symlinkat, Makes(Some(1), 2)),
        (libc::SYS_linkat, Moves(Some(0), 1, Some(2), 3)),
        (libc::SYS_renameat2, Moves(Some(0), 1, Some(2), 3)),
        (libc::SYS_renameat, Moves(Some(0), 1, Some(2), 3)),
        (libc::SYS_truncate, Changes(None, 0)),
        (libc::SYS_fchmodat, Attributes(Some(0), 1, Followed)),
        (FCHMODAT2, Attributes(Some(0), 1, ByFlags(3))),
        (SETXATTRAT, Attributes(Some(0), 1, ByFlags(2))),
        (REMOVEXATTRAT, Attributes(Some(0), 1, ByFlags(2))),
        (FILE_SETATTR, Attributes(Some(0), 1, ByFlags(4))),
        (libc::SYS_fchownat, Attributes(Some(0), 1, ByFlags(4))),
        (libc::SYS_utimensat, Attributes(Some(0), 1, ByFlags(3))),
        (libc::SYS_setxattr, Attributes(None, 0, Followed)),
        (libc::SYS_lsetxattr, Attributes(None, 0, Itself)),
        (libc::SYS_removexattr, Attributes(None, 0, Followed)),
        (libc::SYS_lremovexattr, Attributes(None, 0, Itself)),
        (libc::SYS_fchmod, AttributesOf(0)),
        (libc::SYS_fchown, AttributesOf(0)),
        (libc::SYS_fsetxattr, AttributesOf(0)),
        (libc::SYS_fremovexattr, AttributesOf(0)),
        (libc::SYS_connect, Connects(1, 2)),
        (libc::SYS_sendto, Connects(4, 5)),
        (libc::SYS_sendmsg, Sends(1)),
        (libc::SYS_kill, Signals(0)),
        (libc::SYS_mount, System("mount")),
        (libc::SYS_umount2, System("umount")),
        (libc::SYS_pivot_root, System("pivot_root")),
        (libc::SYS_setns, System("setns")),
        (libc::SYS_open_by_handle_at, System("open_by_handle_at")),
        (libc::SYS_bpf, System("bpf")),
        (libc::SYS_init_module, System("init_module")),
        (libc::SYS_finit_module, System("finit_module")),
        (libc::SYS_reboot, System("reboot")),
        (libc::SYS_sethostname, System("sethostname")),
        (libc::SYS_process_vm_readv, Signals(0)),
        (libc::SYS_ptrace, Signals(1)),
        (libc::SYS_pidfd_open, Signals(0)),
    ];
    #[cfg(target_arch = "x86_64")]
    calls.extend([
        (libc::SYS_open, Opens(None, 0, 1)),
        (libc::SYS_creat, Changes(None, 0)),
        (libc::SYS_unlink, Removes(None, 0)),
        (libc::SYS_rmdir, Removes(None, 0)),
        (libc::SYS_mkdir, Makes(None, 0)),
        (libc::SYS_mknod, Makes(None, 0)),
        (libc::SYS_symlink, Makes(None, 1)),
        (libc::SYS_link, Moves(None, 0, None, 1)),
        (libc::SYS_rename, Moves(None, 0, None, 1)),
        (libc::SYS_chmod, Attributes(None, 0, Followed)),
        (libc::SYS_chown, Attributes(None, 0, Followed)),
        (libc::SYS_lchown, Attributes(None, 0, Itself)),
        (libc::SYS_utime, Attributes(None, 0, Followed)),
        (libc::SYS_utimes, Attributes(None, 0, Followed)),
        (libc::SYS_futimesat, Attributes(Some(0), 1, Followed)),
    ]);
    calls
}

/// The numbers of the calls that are announced.
pub(super) fn numbers() -> Vec<i64> {
    table().into_iter().map(|(number, _)| number).collect()
}
