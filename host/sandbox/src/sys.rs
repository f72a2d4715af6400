//! The one place without the compiler's guard: the system calls for a seccomp filter whose hits somebody else hears of.
//! The filter refuses nothing by itself; what is refused, the namespaces and Landlock refuse.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

/// A system call that is waited with until somebody has looked at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyscallNotification {
    id: u64,
    /// The thread, as the reader's namespace numbers it.
    pub(crate) thread: u32,
    /// Its number.
    pub(crate) number: i64,
    /// Its arguments.
    pub(crate) arguments: [u64; 6],
}

/// The architecture that calls must be of to be looked at.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

/// Offsets in what a filter sees: the number, the architecture, the low half of an argument.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;

/// One instruction of a filter.
fn jump(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

fn load(offset: u32) -> libc::sock_filter {
    jump(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0)
}

fn equal(k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    jump(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k, jt, jf)
}

fn return_action(what: u32) -> libc::sock_filter {
    jump(libc::BPF_RET | libc::BPF_K, what, 0, 0)
}

fn number(call: i64) -> io::Result<u32> {
    u32::try_from(call).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Puts a filter over this thread, what it becomes and what it starts, and gives what the kernel answers.
fn install(mut filter: Vec<libc::sock_filter>, flags: libc::c_ulong) -> io::Result<libc::c_long> {
    let len = u16::try_from(filter.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let program = libc::sock_fprog { len, filter: filter.as_mut_ptr() };
    // SAFETY: `program` points to `len` instructions, which live until the call returns; the kernel copies them.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Calls of these numbers, made by this thread and what it becomes and starts, are from now on heard of by whoever has
/// the descriptor.
pub(crate) fn listen(numbers: &[i64]) -> io::Result<OwnedFd> {
    let mut filter =
        vec![load(ARCH), equal(ARCHITECTURE, 1, 0), return_action(libc::SECCOMP_RET_ALLOW), load(NUMBER)];
    for call in numbers {
        filter.extend([equal(number(*call)?, 0, 1), return_action(libc::SECCOMP_RET_USER_NOTIF)]);
    }
    filter.push(return_action(libc::SECCOMP_RET_ALLOW));
    let descriptor = install(filter, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER)?;
    let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made this descriptor for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Keeps what this process has open from what it becomes, but for the first three.
pub(crate) fn close_on_exec() -> io::Result<()> {
    // SAFETY: only a flag of descriptors changes; all of them stay open here.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Calls that no namespace holds: keys of the user's session, and rings, which ask without calls.
const DENIED: [i64; 4] =
    [libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl, libc::SYS_io_uring_setup];
/// Families of sockets that are held: by path, by the network namespace, by the kernel for itself.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// Numbers of another way to call the same kernel, from here on.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: u32 = 0x4000_0000;
#[cfg(not(target_arch = "x86_64"))]
const OTHER_NUMBERS: u32 = u32::MAX;
/// The low half of the first argument.
const ARGUMENT: u32 = 16;

/// Takes from this thread, and what it becomes and starts: keys, rings, sockets that no namespace holds (to a hypervisor, say), and calls of
/// another architecture, which nobody would look at. No new privileges must have been given up before.
pub(crate) fn deny() -> io::Result<()> {
    if ARCHITECTURE == 0 {
        return Ok(());
    }
    let refuse = |error: i32| return_action(libc::SECCOMP_RET_ERRNO | error as u32);
    let mut filter = vec![
        load(ARCH),
        equal(ARCHITECTURE, 1, 0),
        refuse(libc::ENOSYS),
        load(NUMBER),
        jump(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, OTHER_NUMBERS, 0, 1),
        refuse(libc::ENOSYS),
    ];
    for call in DENIED {
        filter.extend([equal(number(call)?, 0, 1), refuse(libc::EPERM)]);
    }
    for sockets in [libc::SYS_socket, libc::SYS_socketpair] {
        let families = FAMILIES.len() as u8;
        filter.extend([equal(number(sockets)?, 0, families + 2), load(ARGUMENT)]);
        for (at, family) in (0..).zip(FAMILIES) {
            filter.push(equal(family as u32, families - at, 0));
        }
        // What was compared last is loaded anew, so that the next look is at the number again.
        filter.extend([refuse(libc::EAFNOSUPPORT), load(NUMBER)]);
    }
    filter.push(return_action(libc::SECCOMP_RET_ALLOW));
    install(filter, 0).map(drop)
}

/// Waits for the next call. None where nobody is left who could make one.
pub(crate) fn next(listener: BorrowedFd<'_>) -> io::Result<Option<SyscallNotification>> {
    loop {
        let mut poll = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `poll` is one entry, and lives until the call returns.
        if unsafe { libc::poll(&raw mut poll, 1, -1) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        if poll.revents & libc::POLLIN == 0 {
            return Ok(None);
        }
        // SAFETY: all zeros is a value of this record, and what the kernel asks for.
        let mut heard: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: `heard` is of the size that this request writes.
        let done =
            unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut heard) };
        if done == 0 {
            let arguments = heard.data.args;
            return Ok(Some(SyscallNotification {
                id: heard.id,
                thread: heard.pid,
                number: heard.data.nr.into(),
                arguments,
            }));
        }
        match io::Error::last_os_error() {
            // Whoever made the call was ended meanwhile.
            error if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
            error => return Err(error),
        }
    }
}

/// Gives up every capability of this thread, which has to be alone in its process, for good: nothing that it becomes gets one back, since
/// what is confined by Landlock gains no rights by starting a program.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    /// `_LINUX_CAPABILITY_VERSION_3`, of `linux/capability.h`: two records of effective, permitted and inheritable ones.
    const VERSION: u32 = 0x2008_0522;
    let head: [u32; 2] = [VERSION, 0];
    let none = [0_u32; 6];
    // SAFETY: `head` and `none` are of the sizes that this version reads, and live until the call returns.
    let answer = unsafe { libc::syscall(libc::SYS_capset, head.as_ptr(), none.as_ptr()) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has a call fail, without being made. One whose caller is gone is gone.
pub(crate) fn refuse(listener: BorrowedFd<'_>, call: &SyscallNotification) {
    let mut answer = libc::seccomp_notif_resp { id: call.id, val: 0, error: -libc::EPERM, flags: 0 };
    // SAFETY: `answer` is of the size that this request reads.
    let _ = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
}

/// Lets a call go on as if nobody had looked. One whose caller is gone is gone.
pub(crate) fn let_continue(listener: BorrowedFd<'_>, call: &SyscallNotification) {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    let mut answer = libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags };
    // SAFETY: `answer` is of the size that this request reads.
    let _ = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
}
