//! How a process is known to belong to a session, wherever it put itself: everything that a session starts inherits a mark in its
//! environment, and what drops the mark is still below the session's guard, or comes back to the host when its guard is gone.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;

use baton_core::Digest;
use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use crate::proc::{self, ProcessInfo};
use crate::token::random_token;

/// The variable. Its value names the session's folder.
pub(crate) const MARK: &str = "BATON_SESSION_MARK";
/// In the environment of what the host itself starts (a verification, a notification), which may leave a daemon behind on purpose. Its
/// value is the mark of the run's folder and, after a dot, what no agent can know before a command of this host has told it.
const OF_HOST: &str = "BATON_COMMAND";
/// The part of it that is this process's.
static OWN: OnceLock<Option<String>> = OnceLock::new();
/// Processes above one another; ids that are recycled meanwhile could make a ring.
const DEPTH_MAX: u32 = 4096;
/// How often the processes above one are looked at, where some of them end meanwhile.
const WAYS_UP: u32 = 100;
/// Hex digits of the mark.
const DIGITS: usize = 32;

/// The mark of the session with this folder.
pub fn of(session_dir: &Path) -> String {
    Digest::of(session_dir.as_os_str().as_encoded_bytes()).hex()[..DIGITS].to_owned()
}

/// What the commands of a run get as `BATON_COMMAND`. `run_dir` is the folder of its sessions.
pub fn of_command(run_dir: &Path) -> String {
    // Without random numbers no daemon can be told from an agent's, and none is spared.
    let own = OWN.get_or_init(|| random_token().ok());
    format!("{}.{}", of(run_dir), own.as_deref().unwrap_or_default())
}

/// Makes this process the parent of what a dead guard leaves behind. Only Linux can.
#[cfg(target_os = "linux")]
pub fn adopt_orphans() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Makes this process the parent of what a dead guard leaves behind. Only Linux can.
#[cfg(not(target_os = "linux"))]
pub fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Who started a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessOrigin {
    /// No agent, as far as can be told.
    Nobody,
    /// An agent, with the mark of its session where there is one.
    Agent(Option<String>),
    /// This host: a command of the workflow, which runs what agents wrote, or what it started.
    Host,
}

/// Whether a process was started by an agent, of this host or another: it or one above it carries the mark of a session, or came to this
/// host from a guard that is gone; or by a command that this host runs. What this host itself was started in does not count.
pub fn started_by(pid: u32) -> ProcessOrigin {
    match cfg!(target_os = "linux") {
        true => starter(pid, proc::look),
        // Nothing can be told.
        false => ProcessOrigin::Nobody,
    }
}

/// The same with what is known of processes.
fn starter(pid: u32, look: impl Fn(u32) -> Option<ProcessInfo>) -> ProcessOrigin {
    // What ends on the way up leaves its children to a process above it, so the way is another one then. A person's processes wait for
    // the answer, and do not end.
    for _ in 0..WAYS_UP {
        if let Some(known) = way_up(pid, &look) {
            return known;
        }
    }
    ProcessOrigin::Agent(None)
}

/// What the processes above this one say; nothing if one of them ended meanwhile.
fn way_up(pid: u32, look: impl Fn(u32) -> Option<ProcessInfo>) -> Option<ProcessOrigin> {
    let own = std::process::id();
    let own_variable = |name: &str| std::env::var_os(name).map(std::ffi::OsString::into_encoded_bytes);
    let (own_mark, own_command) = (own_variable(MARK), own_variable(OF_HOST));
    let above_own = above(own);
    let mut next = pid;
    for _ in 0..DEPTH_MAX {
        if next <= 1 {
            return Some(ProcessOrigin::Nobody);
        }
        if next == own {
            // A host asks nothing of itself by its socket.
            return Some(if pid == own { ProcessOrigin::Nobody } else { ProcessOrigin::Host });
        }
        // Whoever started this host may start what asks it.
        if above_own.contains(&next) {
            return Some(ProcessOrigin::Nobody);
        }
        let process = look(next)?;
        // A command of another host runs what agents wrote, too, and so does what another host has adopted.
        let command = variable(next, OF_HOST);
        if command.is_some() && command != own_command || next != pid && is_baton(next) {
            return Some(ProcessOrigin::Host);
        }
        let mark = variable(next, MARK);
        if let Some(mark) = mark.filter(|mark| Some(mark) != own_mark.as_ref()) {
            return Some(ProcessOrigin::Agent(String::from_utf8(mark).ok()));
        }
        if is_adopted(&process) {
            return Some(ProcessOrigin::Agent(None));
        }
        // One that ended after it was looked at has other children by now than it had.
        if look(next).is_none_or(|now| now.parent != process.parent || now.ended) {
            return None;
        }
        next = process.parent;
    }
    Some(ProcessOrigin::Agent(None))
}

/// The processes above one.
fn above(pid: u32) -> Vec<u32> {
    let parent = |pid: &u32| proc::look(*pid).map(|process| process.parent).filter(|parent| *parent > 1);
    std::iter::successors(parent(&pid), parent).take(DEPTH_MAX as usize).collect()
}

/// Whether a process runs this very program.
fn is_baton(pid: u32) -> bool {
    let file = |exe: &str| fs::metadata(exe).ok().map(|file| (file.dev(), file.ino()));
    let own = file("/proc/self/exe");
    own.is_some() && file(&format!("/proc/{pid}/exe")) == own
}

/// The marks that this process and those above it carry, of sessions and of the commands of runs.
pub fn own_marks() -> BTreeSet<String> {
    let mut marks = BTreeSet::new();
    let mut next = std::process::id();
    for _ in 0..DEPTH_MAX {
        let values = [MARK, OF_HOST].into_iter().filter_map(|name| variable(next, name));
        // After a dot stands what is of one host alone.
        marks.extend(values.map(|value| {
            let mark = value.split(|byte| *byte == b'.').next().unwrap_or_default();
            String::from_utf8_lossy(mark).into_owned()
        }));
        match proc::look(next).filter(|process| process.parent > 1) {
            Some(process) => next = process.parent,
            None => break,
        }
    }
    marks
}

/// Whether a host is above this process: it started a command from which this process came, or has adopted it. Above a process that leads
/// its session the next one does not count: a host in the background has been launched by a command of Baton, which is none.
pub fn descends_from_host() -> bool {
    let own = std::process::id();
    let leads = usize::from(proc::look(own).is_some_and(|process| process.session == own));
    cfg!(target_os = "linux") && above(own).into_iter().skip(leads).any(is_baton)
}

/// Ends, by force, what carries one of these marks. With `adopted`, also what came to this process from a guard that is gone. Gives how
/// many there still are.
pub(crate) fn end(marks: &[String], adopted: bool) -> usize {
    let own = std::process::id();
    let carries = |process: &ProcessInfo| {
        variable(process.pid, MARK).is_some_and(|mark| marks.iter().any(|known| known.as_bytes() == mark))
    };
    let mut left = 0;
    for process in proc::all() {
        let is_adopted = adopted && is_adopted(&process);
        if process.ended && is_adopted {
            reap(process.pid);
        }
        if process.pid != own && !process.ended && (is_adopted || carries(&process)) {
            proc::signal(process.pid, Signal::KILL);
            left += 1;
        }
    }
    left
}

/// A child of this process that it did not start: what it starts stays in its session (of the operating system).
fn is_adopted(process: &ProcessInfo) -> bool {
    let own = proc::look(std::process::id());
    own.is_some_and(|own| process.parent == own.pid && process.session != own.session)
        && !variable(process.pid, OF_HOST).is_some_and(|value| is_own_command(&value))
}

/// Whether this host gave this value to a command.
fn is_own_command(value: &[u8]) -> bool {
    let own = value.split(|byte| *byte == b'.').nth(1);
    OWN.get().and_then(Option::as_ref).is_some_and(|known| own == Some(known.as_bytes()))
}

fn reap(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // Another thread may have been faster.
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// A variable of the environment that a process was started with.
fn variable(pid: u32, name: &str) -> Option<Vec<u8>> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    environment.split(|byte| *byte == 0).find_map(|entry| {
        let value = entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        Some(value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::process::Command;

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_above_that_ends_meanwhile_makes_nobody_of_no_agent() {
        // N6: the parent dies between two looks, and the child belongs to the one above it from then on.
        let mark = of(Path::new("/a/session"));
        let mut marked = Command::new("sleep").arg("600").env(MARK, &mark).spawn().unwrap();
        while variable(marked.id(), MARK).is_none() {
            std::thread::yield_now();
        }
        let guard = proc::look(marked.id()).unwrap();
        let (asks, between) = (u32::MAX - 1, u32::MAX - 2);
        let at = |pid, parent| ProcessInfo { pid, parent, ..guard };
        let ended = Cell::new(false);
        let dies = |pid| match pid {
            _ if pid == asks && ended.get() => Some(at(asks, guard.pid)),
            _ if pid == asks => Some(at(asks, between)),
            _ if pid == between => {
                ended.set(true);
                None
            }
            pid => proc::look(pid),
        };
        assert_eq!(starter(asks, dies), ProcessOrigin::Agent(Some(mark.clone())));
        // One that ends again and again is no person's.
        let always = |pid| (pid == asks).then(|| at(asks, between));
        assert_eq!(starter(asks, always), ProcessOrigin::Agent(None));
        assert_eq!(end(&[mark], false), 1);
        assert!(!marked.wait().unwrap().success());
    }

    #[test]
    fn a_process_is_known_by_its_mark_and_ended() {
        let mark = of(Path::new("/a/session"));
        let mut child = Command::new("sleep").arg("600").env(MARK, &mark).spawn().unwrap();
        if cfg!(target_os = "linux") {
            // Its environment is there a moment after it has begun.
            while variable(child.id(), MARK).is_none() {
                std::thread::yield_now();
            }
            assert!(matches!(started_by(child.id()), ProcessOrigin::Agent(Some(_))));
            assert_eq!(started_by(std::process::id()), ProcessOrigin::Nobody);
            assert_eq!(end(&[of(Path::new("/another"))], false), 0);
            assert_eq!(end(&[mark], false), 1);
        } else {
            child.kill().unwrap();
        }
        assert!(!child.wait().unwrap().success());
    }
}
