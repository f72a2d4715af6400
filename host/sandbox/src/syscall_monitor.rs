//! Sees what a program in a sandbox asks for and does not get. The kernel reports a refusal only to the caller, so the calls
//! by which something is opened, changed or connected to are announced to the host first (seccomp's notification), which
//! looks whether what is asked for is there, and lets the call continue. It decides nothing: what it says is for people and
//! policies, and a program that exchanges an argument after the look is refused all the same. The exceptions are modes, owners, times
//! and attributes of files at the level `write`, which Landlock does not hold: those calls fail here, also if it is unknown what
//! they would change.

mod path_walk;
mod syscall_checker;
mod syscall_table;

use std::ffi::{OsStr, OsString};
use std::io::{self, IoSlice, IoSliceMut, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, Shutdown, recvmsg, send, sendmsg, shutdown,
};

use crate::host_socket::{HostSocket, HostSocketAddress, SocketKey};
use crate::refusals::RefusalSender;
use crate::spec::BoundarySpec;
use crate::sys;

/// How long the host waits for the key.
const KEY_WAIT: Duration = Duration::from_secs(10);
/// How long the host waits before it takes the next connection, if it could not take one.
const ACCEPT_WAIT: Duration = Duration::from_millis(100);
/// Stands for a connection that a stage could not make.
const UNWATCHED: &str = "-";

/// The socket by which the stages of one boundary reach the host, which watches the programs that they become.
#[derive(Debug)]
pub(crate) struct WatcherSocket {
    listener: UnixListener,
    socket: HostSocket,
}

impl Drop for WatcherSocket {
    fn drop(&mut self) {
        // No program begins in this boundary any more. Running ones are still watched.
        let _ = shutdown(&self.listener, Shutdown::Both);
    }
}

impl WatcherSocket {
    /// Of the host: watches every program that a stage announces, until it and its child processes have ended. The socket is at
    /// `path`, in a folder that is otherwise empty.
    pub(crate) fn open(
        listener: UnixListener,
        path: &Path,
        spec: BoundarySpec,
        teller: RefusalSender,
    ) -> io::Result<Self> {
        listener.set_nonblocking(false)?;
        let (socket, key) = HostSocket::unname(path)?;
        let accepting = listener.try_clone()?;
        thread::Builder::new()
            .name("sandbox-watch".to_owned())
            .spawn(move || accept(&accepting, key, &spec, &teller))?;
        Ok(Self { listener, socket })
    }

    /// The word by which a stage finds it.
    pub(crate) fn word(&self) -> OsString {
        self.socket.word()
    }
}

/// Of the first stage, which is not confined yet: a connection to the host by such a word, which stays open in the program that
/// this process becomes.
pub(crate) fn connect(word: &OsStr) -> io::Result<OwnedFd> {
    let host = HostSocketAddress::of_host(word)?;
    let stream = UnixStream::connect(host.path())?;
    send(&stream, &host.key, SendFlags::NOSIGNAL)?;
    let stream = OwnedFd::from(stream);
    fcntl_setfd(&stream, FdFlags::empty())?;
    Ok(stream)
}

/// The word for the next stage: the number of a connection, if there is one.
pub(crate) fn handed_over(stream: Option<&OwnedFd>) -> String {
    stream.map_or_else(|| UNWATCHED.to_owned(), |stream| stream.as_raw_fd().to_string())
}

/// Of the stage that becomes the program: its calls from here on are announced through the connection that this word names.
pub(crate) fn be_watched(word: &OsStr) -> io::Result<()> {
    let number = word.to_str().and_then(|word| word.parse().ok());
    let Some(number) = number.filter(|number| *number > libc::STDERR_FILENO) else {
        return Err(io::Error::other("the host was not reached"));
    };
    let stream = sys::inherited(number)?;
    fcntl_setfd(&stream, FdFlags::CLOEXEC)?;
    announce(stream)
}

/// The filter counts for the thread that asks for it. The descriptor is handed over by another one, whose calls it does not
/// announce without a receiver.
fn announce(stream: OwnedFd) -> io::Result<()> {
    let (hand, handed) = mpsc::channel::<OwnedFd>();
    let (done, over) = mpsc::channel();
    thread::spawn(move || {
        let sent = handed.recv().map_err(io::Error::other);
        let sent = sent.and_then(|listener| hand_over(stream.as_fd(), listener.as_fd()));
        // The process itself waits for it.
        let _ = done.send(sent);
    });
    let listener = sys::listen(&syscall_table::numbers()).map_err(|error| match error.raw_os_error() {
        Some(number) if number == Errno::BUSY.raw_os_error() => io::Error::other(
            "another watcher has this program's system calls already, as in a container or a sandbox that announces them",
        ),
        _ => error,
    })?;
    hand.send(listener).map_err(io::Error::other)?;
    over.recv().map_err(io::Error::other)?
}

fn hand_over(stream: BorrowedFd<'_>, listener: BorrowedFd<'_>) -> io::Result<()> {
    let descriptors = [listener];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(stream, &[IoSlice::new(b"w")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Accepts connections until the boundary is gone. Each is served by a thread of its own: one that says nothing keeps no other waiting.
fn accept(listener: &UnixListener, key: SocketKey, spec: &BoundarySpec, teller: &RefusalSender) {
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            // It was shut down.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return,
            Err(error) => {
                tracing::warn!(%error, "a program for a sandbox was not heard");
                thread::sleep(ACCEPT_WAIT);
                continue;
            }
        };
        let (spec, teller) = (spec.clone(), teller.clone());
        let look_on = move || match receive(stream, &key) {
            Ok(Some(calls)) => watch(&calls, spec, &teller),
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "what a sandbox refuses is not told"),
        };
        // An unwatched program gets no answer to its calls, and does not begin.
        if let Err(error) = thread::Builder::new().name("sandbox-watch".to_owned()).spawn(look_on) {
            tracing::warn!(%error, "what a sandbox refuses is not told");
        }
    }
}

/// Watches until all callers have ended.
fn watch(calls: &OwnedFd, spec: BoundarySpec, teller: &RefusalSender) {
    let mut judge = syscall_checker::SyscallChecker::new(spec);
    loop {
        match sys::next(calls.as_fd()) {
            Ok(Some(call)) => {
                // Reported first: a process that continues may end at once.
                let refused = judge.refused(&call);
                if let Some((kind, target)) = &refused {
                    teller.tell(*kind, target);
                }
                match refused.is_some() && judge.is_unenforced(&call) {
                    true => sys::refuse(calls.as_fd(), &call),
                    false => sys::let_continue(calls.as_fd(), &call),
                }
            }
            Ok(None) => return,
            Err(error) => return tracing::warn!(%error, "what a sandbox refuses is not told any more"),
        }
    }
}

/// The calls of a program, from the stage that becomes it. None from other clients.
fn receive(mut stream: UnixStream, key: &SocketKey) -> io::Result<Option<OwnedFd>> {
    let mut said = SocketKey::default();
    stream.set_read_timeout(Some(KEY_WAIT))?;
    stream.read_exact(&mut said)?;
    if said != *key {
        return Ok(None);
    }
    stream.set_read_timeout(None)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(&stream, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut found = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            found = descriptors.into_iter().next().or(found);
        }
    }
    Ok(found)
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;

    use baton_core::workflow::SandboxLevel;

    use super::*;
    use crate::landlock_rules::land;
    use crate::sandbox_support::SandboxSupport;
    use crate::spec::WATCH_SOCKET;

    /// Runs a function in a thread that is confined as a program at `write` is, and returns its result.
    fn confined<T: Send + 'static>(
        spec: &BoundarySpec,
        stream: io::Result<OwnedFd>,
        act: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        let spec = spec.clone();
        let program = move || {
            land(&spec).unwrap();
            announce(stream?)?;
            Ok(act())
        };
        thread::spawn(program).join().unwrap()
    }

    #[test]
    fn nobody_takes_the_watcher_of_another_program() {
        // N6: an agent that connected first switched off the refusal of changes of modes, and the reports.
        if SandboxSupport::look(None).can(SandboxLevel::Write).is_err() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in ["tree", "own"] {
            fs::create_dir(root.join(folder)).unwrap();
        }
        let victim = root.join("victim");
        fs::write(&victim, "").unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).unwrap();
        let spec = BoundarySpec::at_write(&root.join("tree"), &root.join("own"));
        let (teller, mut refused) = RefusalSender::new();
        let path = root.join("own").join(WATCH_SOCKET);
        let listener = UnixListener::bind(&path).unwrap();
        let socket = WatcherSocket::open(listener, &path, spec.clone(), teller).unwrap();
        assert!(!path.exists(), "the socket has a name");
        let word = socket.word();
        // Clients that say nothing, or do not know the key, do not keep others from being watched.
        let words = word.to_str().unwrap().split(':').collect::<Vec<_>>();
        let reached = format!("/proc/{}/fd/{}", words[0], words[1]);
        let silent = UnixStream::connect(&reached).unwrap();
        let mut wrong = UnixStream::connect(&reached).unwrap();
        wrong.write_all(&SocketKey::default()).unwrap();
        assert_eq!(wrong.read(&mut [0]).unwrap(), 0, "the host listens to a program without the key");
        // A confined program does not get this far. The host is another process, as it is for a program.
        let mut host = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_host = format!("/proc/{}/fd/0", host.id());
        let sees = confined(&spec, connect(&word), move || fs::read_link(of_host)).unwrap();
        assert_eq!(sees.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        host.kill().unwrap();
        host.wait().unwrap();
        // Each program of a boundary is watched, not only the first.
        for _ in 0..2 {
            let changed = victim.clone();
            let change = move || fs::set_permissions(changed, fs::Permissions::from_mode(0o777));
            let done = confined(&spec, connect(&word), change).unwrap();
            assert_eq!(done.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        }
        assert_eq!(fs::metadata(&victim).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(refused.try_recv().unwrap().target.ends_with("/victim"));
        drop(silent);
        // After the boundary is closed, no program begins in it.
        drop(socket);
        assert!(connect(&word).is_err());
    }

    #[test]
    fn a_stage_that_did_not_reach_the_host_says_so() {
        // N6
        for word in ["", "1:2", "1:2:3:4", "self:0:0", "-1:0:0", "1:x:2", "../1:0:0"] {
            assert!(connect(OsStr::new(word)).is_err(), "{word}");
        }
        for word in [UNWATCHED, "", "0", "2", "-3", "4000000"] {
            assert!(be_watched(OsStr::new(word)).is_err(), "{word}");
        }
        assert_eq!(handed_over(None), UNWATCHED);
    }
}
