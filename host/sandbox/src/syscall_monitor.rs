//! Sees what somebody in a sandbox asks for and does not get. The kernel refuses without a word to anybody else, so the calls
//! by which something is opened, changed or connected to are announced to the host first (seccomp's notification), which
//! looks whether what is asked for is there, and lets the call go on. It decides nothing: what it says is for people and
//! policies, and a program that exchanges an argument after the look is refused all the same. The exceptions are modes, owners, times
//! and attributes of files at the level `write`, which Landlock does not hold: those calls fail here.

mod syscall_checker;

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc;
use std::thread;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

use crate::refusals::RefusalSender;
use crate::spec::{BoundarySpec, WATCH_SOCKET};
use crate::sys;

/// Of the program: what it does from here on is announced. Where that cannot be had it is confined as well, and nobody is
/// told.
pub(crate) fn be_watched(spec: &BoundarySpec) {
    if let Err(error) = announce(spec) {
        eprintln!("baton sandbox: what is refused is not told: {error}");
    }
}

/// The filter counts for the thread that asks for it. The descriptor is handed over by another one, whose calls it does not
/// announce to nobody.
fn announce(spec: &BoundarySpec) -> io::Result<()> {
    let stream = UnixStream::connect(spec.inside().join(WATCH_SOCKET))?;
    let (hand, handed) = mpsc::channel::<OwnedFd>();
    let (done, over) = mpsc::channel();
    thread::spawn(move || {
        let sent =
            handed.recv().map_err(io::Error::other).and_then(|listener| send(&stream, listener.as_fd()));
        // Whoever waits for it is the process itself.
        let _ = done.send(sent);
    });
    let listener = sys::listen(&syscall_checker::numbers())?;
    hand.send(listener).map_err(io::Error::other)?;
    over.recv().map_err(io::Error::other)?
}

fn send(stream: &UnixStream, listener: BorrowedFd<'_>) -> io::Result<()> {
    let descriptors = [listener];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(stream, &[IoSlice::new(b"w")], &mut ancillary, SendFlags::empty())?;
    Ok(())
}

/// Of the host: takes the first who announces itself, which is the program before it begins, and looks on until it and all
/// that it started are gone.
pub(crate) fn watch(listener: UnixListener, spec: BoundarySpec, teller: RefusalSender) {
    let look_on = move || {
        let Ok((stream, _)) = listener.accept() else { return };
        drop(listener);
        let calls = match receive(&stream) {
            Ok(Some(calls)) => calls,
            Ok(None) => return,
            Err(error) => return tracing::warn!(%error, "what a sandbox refuses is not told"),
        };
        let mut judge = syscall_checker::SyscallChecker::new(spec);
        loop {
            match sys::next(calls.as_fd()) {
                Ok(Some(call)) => {
                    // Told first: whoever is let go may end at once.
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
    };
    if let Err(error) = thread::Builder::new().name("sandbox-watch".to_owned()).spawn(look_on) {
        tracing::warn!(%error, "what a sandbox refuses is not told");
    }
}

fn receive(stream: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(stream, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut found = None;
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            found = descriptors.into_iter().next().or(found);
        }
    }
    Ok(found)
}
