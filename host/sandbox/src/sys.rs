//! The one place without the compiler's guard: the system calls for a seccomp filter whose hits another process handles, and some for which
//! no crate of this workspace has a safe function. The filter refuses nothing by itself; what is refused, the namespaces and Landlock refuse.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use baton_core::workflow::SandboxLevel;

/// A system call that waits until the monitor has looked at it.
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

/// Only calls of this architecture are examined.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

/// Offsets in a filter's input: the number, the architecture.
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

/// Installs a filter for this thread, the program that it becomes and its child processes, and returns the kernel's answer.
fn install(mut filter: Vec<libc::sock_filter>, flags: libc::c_ulong) -> io::Result<libc::c_long> {
    let len = u16::try_from(filter.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let program = libc::sock_fprog { len, filter: filter.as_mut_ptr() };
    // SAFETY: `program` points to `len` instructions, which live until the call returns; the kernel copies them.
    let answer =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(answer) }
}

/// Calls of these numbers, made by this thread and what it becomes and starts, are from now on announced to the holder of
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

/// Closes the descriptors of this process, except for the first three, when it becomes another program.
pub(crate) fn close_on_exec() -> io::Result<()> {
    // SAFETY: only a flag of descriptors changes; all of them stay open here.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The descriptor that the stage before this one has left open for it, by its number.
pub(crate) fn inherited(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: only flags are read.
    if unsafe { libc::fcntl(number, libc::F_GETFD) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is open, and nothing else in this process knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

/// Keys of the user's session, which no namespace holds.
const KEYS: [i64; 3] = [libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl];
/// Families of sockets that are held: by path, by the network namespace, by the kernel for itself.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// Numbers of another way to call the same kernel, from here on.
#[cfg(target_arch = "x86_64")]
const OTHER_NUMBERS: u32 = 0x4000_0000;
#[cfg(not(target_arch = "x86_64"))]
const OTHER_NUMBERS: u32 = u32::MAX;
/// The offset of the low half of the first argument.
const ARGUMENT: u32 = 16;

/// Requests that put input into a terminal, as if its user had typed it.
const TYPING: [u32; 2] = [libc::TIOCSTI as u32, libc::TIOCLINUX as u32];
/// The family of sockets that are TCP below, and protocols that are TCP or like it under another name: Landlock's ports do not hold them.
const SMC_FAMILY: u32 = 43;
const OTHER_PROTOCOLS: [u32; 3] = [libc::IPPROTO_SCTP as u32, SMC, libc::IPPROTO_MPTCP as u32];
/// The protocol by which it is TCP's family that is SMC, since Linux 6.11.
const SMC: u32 = 256;
/// The type of a socket, without flags.
const TYPE_MASK: u32 = 0xf;
/// Calls that send, with the places of their flags. With `MSG_FASTOPEN` they connect as well.
const SENDING: [(i64, u32); 3] = [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)];

/// The low half of an argument.
fn argument(at: u32) -> u32 {
    ARGUMENT + 8 * at
}

/// The conditions on one call. The call's number is loaded again at the end, for the next conditions.
fn of_call(call: i64, mut looks: Vec<libc::sock_filter>) -> io::Result<Vec<libc::sock_filter>> {
    looks.push(load(NUMBER));
    let past = u8::try_from(looks.len()).map_err(io::Error::other)?;
    looks.insert(0, equal(number(call)?, 0, past));
    Ok(looks)
}

/// Takes from this thread, and what it becomes and starts: rings, typing into a terminal, and calls of another architecture, which the monitor
/// would not look at. In `strict` also keys, and sockets that no namespace holds (to a hypervisor, say); in `write`, where ports are held and
/// no namespace is, the other ways to a port. No new privileges must have been given up before.
pub(crate) fn deny(level: SandboxLevel) -> io::Result<()> {
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
    let typing = TYPING.iter().flat_map(|request| [equal(*request, 0, 1), refuse(libc::EPERM)]);
    filter.extend(of_call(libc::SYS_ioctl, std::iter::once(load(argument(1))).chain(typing).collect())?);
    filter.extend([equal(number(libc::SYS_io_uring_setup)?, 0, 1), refuse(libc::EPERM)]);
    if level == SandboxLevel::Strict {
        for call in KEYS {
            filter.extend([equal(number(call)?, 0, 1), refuse(libc::EPERM)]);
        }
        for sockets in [libc::SYS_socket, libc::SYS_socketpair] {
            let families = FAMILIES.len() as u8;
            let mut looks = vec![load(argument(0))];
            looks.extend((0..).zip(FAMILIES).map(|(at, family)| equal(family as u32, families - at, 0)));
            looks.push(refuse(libc::EAFNOSUPPORT));
            filter.extend(of_call(sockets, looks)?);
        }
    } else {
        let of_type = jump(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, TYPE_MASK, 0, 0);
        let mut looks = vec![
            load(argument(0)),
            equal(SMC_FAMILY, 0, 1),
            refuse(libc::EPROTONOSUPPORT),
            // For IP, this type is SCTP with any protocol.
            equal(libc::AF_INET as u32, 1, 0),
            equal(libc::AF_INET6 as u32, 0, 4),
            load(argument(1)),
            of_type,
            equal(libc::SOCK_SEQPACKET as u32, 0, 1),
            refuse(libc::EPROTONOSUPPORT),
            load(argument(2)),
        ];
        looks.extend(
            OTHER_PROTOCOLS.iter().flat_map(|other| [equal(*other, 0, 1), refuse(libc::EPROTONOSUPPORT)]),
        );
        filter.extend(of_call(libc::SYS_socket, looks)?);
        for (call, flags) in SENDING {
            let has = jump(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, libc::MSG_FASTOPEN as u32, 0, 1);
            filter.extend(of_call(call, vec![load(argument(flags)), has, refuse(libc::EOPNOTSUPP)])?);
        }
    }
    filter.push(return_action(libc::SECCOMP_RET_ALLOW));
    install(filter, 0).map(drop)
}

/// Leaves the terminal of the user, for this process and what it starts. Its group stays, so that a signal to the group ends it as well.
pub(crate) fn leave_terminal() -> io::Result<()> {
    // The leader of a session can only have a terminal of its own there, and leaving it would end the terminal's other
    // processes. If the session began outside of the process namespace, as in a container, the leader is 0, which is not a
    // valid process for `rustix`.
    // SAFETY: both calls only read.
    if unsafe { libc::getsid(0) == libc::getpid() } {
        return Ok(());
    }
    // There is none if it cannot be opened.
    let Ok(terminal) = std::fs::File::open("/dev/tty") else { return Ok(()) };
    // SAFETY: the request has no argument, and the descriptor is open.
    let done = unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Waits for the next call. None if no process is left that could make one.
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
        // SAFETY: all zeros is a valid value of this record, and the kernel requires it.
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
            // The caller was ended meanwhile.
            error if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {}
            error => return Err(error),
        }
    }
}

/// Gives up every capability of this thread, which must be the only one in its process, permanently: no program that it becomes
/// gets one back, since a process confined by Landlock gains no rights by starting a program.
pub(crate) fn drop_capabilities() -> io::Result<()> {
    /// `_LINUX_CAPABILITY_VERSION_3`, of `linux/capability.h`: two records of effective, permitted and inheritable ones.
    const VERSION: u32 = 0x2008_0522;
    let head: [u32; 2] = [VERSION, 0];
    let none = [0_u32; 6];
    // SAFETY: `head` and `none` are of the sizes that this version reads, and live until the call returns.
    let answer = unsafe { libc::syscall(libc::SYS_capset, head.as_ptr(), none.as_ptr()) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The process at the other end of a connection, as a descriptor: it shows whether the process still runs. None if the kernel
/// does not provide it (Linux before 6.5).
///
/// # Errors
/// It has ended, or `socket` is not a connection.
pub fn peer_process(socket: BorrowedFd<'_>) -> io::Result<Option<OwnedFd>> {
    let mut descriptor: libc::c_int = -1;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: `descriptor` is of the size that `len` says, and both live until the call returns.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            (&raw mut descriptor).cast(),
            &raw mut len,
        )
    };
    if done == 0 {
        // SAFETY: the kernel has just made this descriptor for us alone.
        return Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor) }));
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Ok(None),
        error => Err(error),
    }
}

/// Makes a call fail, without performing it. Its caller may have ended.
pub(crate) fn refuse(listener: BorrowedFd<'_>, call: &SyscallNotification) {
    let mut answer = libc::seccomp_notif_resp { id: call.id, val: 0, error: -libc::EPERM, flags: 0 };
    // SAFETY: `answer` is of the size that this request reads.
    let _ = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
}

/// Lets a call continue unchanged. A call whose caller has ended is dropped.
pub(crate) fn let_continue(listener: BorrowedFd<'_>, call: &SyscallNotification) {
    let flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32;
    let mut answer = libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags };
    // SAFETY: `answer` is of the size that this request reads.
    let _ = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The error of a call, made by a thread that has denied itself the calls of a level.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn refused(level: SandboxLevel, call: libc::c_long, arguments: [libc::c_long; 4]) -> Option<i32> {
        let denied = move || {
            // SAFETY: only a mark of this thread changes.
            assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
            deny(level).unwrap();
            let [first, second, third, fourth] = arguments;
            // SAFETY: the calls below have numbers as arguments, and no address but null.
            let done = unsafe { libc::syscall(call, first, second, third, fourth, 0, 0) };
            let error = io::Error::last_os_error().raw_os_error();
            error.filter(|_| done < 0)
        };
        std::thread::spawn(denied).join().unwrap()
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    fn what_landlock_does_not_hold_is_refused() {
        // N6: input to a terminal by an agent, and ways to a port other than plain TCP.
        let (write, strict) = (SandboxLevel::Write, SandboxLevel::Strict);
        let typing = [libc::TIOCSTI, libc::TIOCLINUX].map(|request| request as libc::c_long);
        for request in typing {
            for level in [write, strict] {
                assert_eq!(refused(level, libc::SYS_ioctl, [0, request, 0, 0]), Some(libc::EPERM));
            }
        }
        let [unix, inet, inet6] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6].map(libc::c_long::from);
        let (stream, datagram) =
            (libc::c_long::from(libc::SOCK_STREAM), libc::c_long::from(libc::SOCK_DGRAM));
        for (family, protocol) in [(inet, 262), (inet6, 262), (inet, 132), (inet, 256), (43, 0)] {
            let error = refused(write, libc::SYS_socket, [family, stream, protocol, 0]);
            assert_eq!(error, Some(libc::EPROTONOSUPPORT), "{family} {protocol}");
        }
        let packets = libc::c_long::from(libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC);
        for family in [inet, inet6] {
            let error = refused(write, libc::SYS_socket, [family, packets, 0, 0]);
            assert_eq!(error, Some(libc::EPROTONOSUPPORT), "{family}");
        }
        for (family, kind) in
            [(unix, packets), (inet, stream), (inet, datagram), (inet6, stream), (unix, stream)]
        {
            assert_eq!(refused(write, libc::SYS_socket, [family, kind, 0, 0]), None, "{family} {kind}");
        }
        for (call, flags) in SENDING {
            let mut arguments = [-1, 0, 0, 0];
            assert_eq!(refused(write, call, arguments), Some(libc::EBADF), "{call}");
            arguments[flags as usize] = libc::c_long::from(libc::MSG_FASTOPEN | libc::MSG_NOSIGNAL);
            assert_eq!(refused(write, call, arguments), Some(libc::EOPNOTSUPP), "{call}");
        }
        for level in [write, strict] {
            assert_eq!(refused(level, libc::SYS_io_uring_setup, [0; 4]), Some(libc::EPERM));
        }
        assert_eq!(refused(strict, libc::SYS_keyctl, [0; 4]), Some(libc::EPERM));
        assert_eq!(refused(strict, libc::SYS_socket, [40, stream, 0, 0]), Some(libc::EAFNOSUPPORT));
        assert_eq!(refused(strict, libc::SYS_socket, [inet, stream, 0, 0]), None);
    }
}
