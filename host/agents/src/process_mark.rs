//! How a process is known to belong to a session, wherever it put itself: it is below the session's guard, or comes back to the host when
//! its guard is gone. Everything that a session starts also inherits a mark in its environment, which a process can drop and can invent:
//! a mark makes a process an agent's, and never one of a session.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use baton_core::Digest;
use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use crate::guard_registry::mark_of_guard;
use crate::procfs::{self, ProcessInfo};
use crate::token::random_token;

/// The variable. Its value names the session's folder.
pub(crate) const SESSION_MARK_VARIABLE: &str = "BATON_SESSION_MARK";
/// In the environment of commands that the host itself starts (a verification, a notification), which may leave a daemon behind
/// on purpose. Its value is the mark of the run's folder and, after a dot, a secret that no agent can know before a command of
/// this host reveals it.
const COMMAND_MARK_VARIABLE: &str = "BATON_COMMAND";
/// The part of it that is this process's.
static HOST_SECRET: OnceLock<Option<String>> = OnceLock::new();
/// The name of a process that launches a host and waits for it. Only a process names itself so: a file's name, which a process has from
/// its start, has no slash.
const LAUNCHER: &str = "baton/launcher";
/// How the commands of Baton begin that only Baton starts.
const INNER_COMMAND: &[u8] = b"__";
/// Processes above one another; ids that are recycled meanwhile could make a ring.
const DEPTH_MAX: u32 = 4096;
/// Maximum number of scans of a process's ancestors, if some of them end meanwhile.
const ANCESTRY_ATTEMPTS: u32 = 100;
/// Maximum number of scans for further processes to be stopped, before the stopped ones are killed.
const SCANS_BEFORE_KILL: u32 = 100;
/// How often processes are killed that do not end, and the pause after each time.
const ENDING_ROUNDS: u32 = 500;
const ENDING_PAUSE: Duration = Duration::from_millis(10);
/// Hex digits of the mark.
const DIGITS: usize = 32;

/// The mark of the session with this folder.
pub fn of(session_dir: &Path) -> String {
    Digest::of(session_dir.as_os_str().as_encoded_bytes()).hex()[..DIGITS].to_owned()
}

/// What the commands of a run get as `BATON_COMMAND`. `run_dir` is the folder of its sessions.
pub fn of_command(run_dir: &Path) -> String {
    // Without random numbers a daemon cannot be distinguished from an agent's, and none is spared.
    let own = HOST_SECRET.get_or_init(|| random_token().ok());
    format!("{}.{}", of(run_dir), own.as_deref().unwrap_or_default())
}

/// Makes this process the parent of the processes that a dead guard leaves behind. Only possible on Linux.
#[cfg(target_os = "linux")]
pub fn adopt_orphans() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Makes this process the parent of the processes that a dead guard leaves behind. Only possible on Linux.
#[cfg(not(target_os = "linux"))]
pub fn adopt_orphans() -> io::Result<()> {
    Ok(())
}

/// Who started a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcessOrigin {
    /// Not an agent, as far as can be determined.
    NoAgent,
    /// An agent, with the mark of its session if this host started the guard above it and no environment carries another mark.
    Agent(Option<String>),
    /// This host: a command of the workflow, which runs files that agents wrote, or a child of such a command.
    Host,
}

/// Whether a process was started by an agent, of this host or another: it is below a session's guard, it or one above it
/// carries the mark of a session, or it came to this host from a guard that is gone; or by a command that this host runs. The
/// environment in which this host itself was started does not count.
///
/// A process chooses its own environment, so a mark there can only reduce its rights: its session is that of the guard above
/// it, and if it or a process between them carries another mark, it has no session.
pub fn process_origin(pid: u32) -> ProcessOrigin {
    match cfg!(target_os = "linux") {
        true => origin_of(pid, procfs::look),
        // Origins are unknown on other systems.
        false => ProcessOrigin::NoAgent,
    }
}

/// The same with the given process information.
fn origin_of(pid: u32, look: impl Fn(u32) -> Option<ProcessInfo>) -> ProcessOrigin {
    // A process that ends leaves its children to an ancestor, so the chain changes and is read again. The user's processes wait
    // for the answer, and do not end.
    for _ in 0..ANCESTRY_ATTEMPTS {
        if let Some(known) = origin_from_ancestors(pid, &look) {
            return known;
        }
    }
    ProcessOrigin::Agent(None)
}

/// What the processes above this one say; nothing if one of them ended meanwhile.
fn origin_from_ancestors(pid: u32, look: impl Fn(u32) -> Option<ProcessInfo>) -> Option<ProcessOrigin> {
    let own = std::process::id();
    let above_own = ancestors(own);
    let mut way = Vec::new();
    let mut traces = AgentTraces::of_own_environment();
    let mut next = pid;
    let origin = loop {
        if next == own {
            // A host does not send requests to its own socket.
            break if pid == own { ProcessOrigin::NoAgent } else { ProcessOrigin::Host };
        }
        // The process that started this host may start its clients.
        if next <= 1 || above_own.contains(&next) {
            break traces.origin_without_guard();
        }
        if way.len() >= DEPTH_MAX as usize {
            break ProcessOrigin::Agent(None);
        }
        let process = look(next)?;
        way.push(process);
        traces.add(next, next != pid);
        if let Some(mark) = mark_of_guard(&process) {
            break traces.origin_below(mark);
        }
        if is_adopted(&process) {
            break ProcessOrigin::Agent(None);
        }
        next = process.parent;
    };
    // Where each still has the parent that it had, each of these was there all the time, and no id was another process's in between.
    let is_as_it_was = |before: &ProcessInfo| {
        look(before.pid)
            .is_some_and(|now| now.parent == before.parent && now.started == before.started && !now.ended)
    };
    way.iter().all(is_as_it_was).then_some(origin)
}

/// What the processes on the way up show of agents and of hosts.
#[derive(Debug, Default)]
struct AgentTraces {
    /// What this host itself was started with, which says nothing.
    own_mark: Option<Vec<u8>>,
    own_command: Option<Vec<u8>>,
    /// Marks of sessions.
    marks: BTreeSet<Vec<u8>>,
    /// A command of a host, which runs what agents wrote.
    is_of_command: bool,
    /// A host, or another command of Baton that starts other programs.
    is_below_host: bool,
    /// The same without what Baton itself puts between a guard and its agent.
    is_below_nested_host: bool,
}

impl AgentTraces {
    fn of_own_environment() -> Self {
        let own = |name: &str| std::env::var_os(name).map(std::ffi::OsString::into_encoded_bytes);
        let (own_mark, own_command) = (own(SESSION_MARK_VARIABLE), own(COMMAND_MARK_VARIABLE));
        Self { own_mark, own_command, ..Self::default() }
    }

    /// Looks at one more process, which may be `above` the one that is asked about.
    fn add(&mut self, pid: u32, above: bool) {
        let command = variable(pid, COMMAND_MARK_VARIABLE);
        self.is_of_command |= command.is_some() && command != self.own_command;
        let mark = variable(pid, SESSION_MARK_VARIABLE);
        self.marks.extend(mark.filter(|mark| Some(mark) != self.own_mark.as_ref()));
        if above && is_host(pid) {
            self.is_below_host = true;
            self.is_below_nested_host |= !is_part_of_session(pid);
        }
    }

    /// Of a process below the guard of the session with this mark.
    fn origin_below(&self, mark: String) -> ProcessOrigin {
        if self.is_of_command || self.is_below_nested_host {
            return ProcessOrigin::Host;
        }
        let is_of_session = self.marks.iter().all(|carried| carried == mark.as_bytes());
        ProcessOrigin::Agent(is_of_session.then_some(mark))
    }

    /// Of a process that is below no guard of this host.
    fn origin_without_guard(&self) -> ProcessOrigin {
        if !self.marks.is_empty() {
            return ProcessOrigin::Agent(None);
        }
        // A command of another host runs what agents wrote, too, and so does what another host has adopted.
        match self.is_of_command || self.is_below_host {
            true => ProcessOrigin::Host,
            false => ProcessOrigin::NoAgent,
        }
    }
}

/// The processes above one.
fn ancestors(pid: u32) -> Vec<u32> {
    let parent = |pid: &u32| procfs::look(*pid).map(|process| process.parent).filter(|parent| *parent > 1);
    std::iter::successors(parent(&pid), parent).take(DEPTH_MAX as usize).collect()
}

/// Whether a process runs this very program.
fn is_baton(pid: u32) -> bool {
    let file = |exe: &str| fs::metadata(exe).ok().map(|file| (file.dev(), file.ino()));
    let own = file("/proc/self/exe");
    own.is_some() && file(&format!("/proc/{pid}/exe")) == own
}

/// Whether a process is a host, or another command of Baton that starts other programs. A launcher of a host starts and adopts
/// nothing else.
fn is_host(pid: u32) -> bool {
    is_baton(pid) && !is_launcher(pid)
}

/// Whether Baton itself put this process between a guard and its agent, or it is the guard: a command of Baton that people do not type.
fn is_part_of_session(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1).is_some_and(|word| word.starts_with(INNER_COMMAND))
}

fn is_launcher(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == LAUNCHER)
}

/// From now on this process only launches a host, so that the host does not take it for another host above itself.
///
/// # Errors
/// The system does not let a process name itself.
pub fn become_launcher() -> io::Result<()> {
    match cfg!(target_os = "linux") {
        true => fs::write("/proc/self/comm", LAUNCHER),
        // Ancestors are unknown on other systems.
        false => Ok(()),
    }
}

/// Whether this process was started by a launcher of a host, and not by a user or an agent that pretends to be one.
pub fn is_launched() -> bool {
    let parent = || procfs::look(std::process::id()).map(|own| own.parent);
    !cfg!(target_os = "linux") || parent().is_some_and(|parent| is_baton(parent) && is_launcher(parent))
}

/// The marks that this process and those above it carry, of sessions and of the commands of runs.
pub fn own_marks() -> BTreeSet<String> {
    let mut marks = BTreeSet::new();
    let mut next = std::process::id();
    for _ in 0..DEPTH_MAX {
        let values = [SESSION_MARK_VARIABLE, COMMAND_MARK_VARIABLE]
            .into_iter()
            .filter_map(|name| variable(next, name));
        // The part after a dot belongs to one host.
        marks.extend(values.map(|value| {
            let mark = value.split(|byte| *byte == b'.').next().unwrap_or_default();
            String::from_utf8_lossy(mark).into_owned()
        }));
        match procfs::look(next).filter(|process| process.parent > 1) {
            Some(process) => next = process.parent,
            None => break,
        }
    }
    marks
}

/// Whether a host is above this process: it started a command from which this process came, or has adopted it.
pub fn descends_from_host() -> bool {
    cfg!(target_os = "linux") && ancestors(std::process::id()).into_iter().any(is_host)
}

/// Kills the processes that carry one of these marks, with their descendants. With `adopted`, also those that came to this
/// process from a guard that is gone. Returns their number. All are stopped before any is killed, and the search is repeated
/// until it finds no more, since stopped processes cannot start replacements.
pub(crate) fn end(marks: &[String], adopted: bool) -> usize {
    let carries = |process: &ProcessInfo| {
        variable(process.pid, SESSION_MARK_VARIABLE)
            .is_some_and(|mark| marks.iter().any(|known| known.as_bytes() == mark))
    };
    let is_adopted = |process: &ProcessInfo| adopted && is_adopted(process);
    stop_and_kill(|process| is_adopted(process) || carries(process), is_adopted)
}

/// Kills all processes below this one, which must be the parent of orphans below it ([`adopt_orphans`]) and have no children that
/// it still needs. Returns once none is left; false if some cannot be ended. Only on Linux.
pub fn end_descendants() -> bool {
    let own = std::process::id();
    for _ in 0..ENDING_ROUNDS {
        if stop_and_kill(|process| process.parent == own, |_| true) == 0 {
            return true;
        }
        std::thread::sleep(ENDING_PAUSE);
    }
    false
}

/// Kills these processes with their descendants, and reaps those that have ended and are this one's to reap. Returns the number of
/// the killed.
fn stop_and_kill(
    is_to_end: impl Fn(&ProcessInfo) -> bool,
    is_reaped: impl Fn(&ProcessInfo) -> bool,
) -> usize {
    let own = std::process::id();
    let mut stopped = BTreeSet::new();
    for _ in 0..SCANS_BEFORE_KILL {
        let before = stopped.len();
        // Each at once, when it is seen: one that forks all the time is another one a moment later.
        for process in procfs::children().chain(procfs::iter_processes()) {
            if process.ended {
                if is_reaped(&process) {
                    reap(process.pid);
                }
            } else if process.pid != own
                && !stopped.contains(&process.pid)
                && (stopped.contains(&process.parent) || is_to_end(&process))
            {
                procfs::signal(process.pid, Signal::STOP);
                stopped.insert(process.pid);
            }
        }
        if stopped.len() == before {
            break;
        }
    }
    stopped.iter().for_each(|pid| procfs::signal(*pid, Signal::KILL));
    stopped.len()
}

/// Whether a process is a child of this one that it did not start: those that it starts stay in its session (of the operating
/// system).
fn is_adopted(process: &ProcessInfo) -> bool {
    process.parent == std::process::id()
        && procfs::look(process.parent).is_some_and(|own| process.session != own.session)
        && !variable(process.pid, COMMAND_MARK_VARIABLE).is_some_and(|value| is_own_command(&value))
}

/// Whether this host gave this value to a command.
fn is_own_command(value: &[u8]) -> bool {
    let own = value.split(|byte| *byte == b'.').nth(1);
    HOST_SECRET.get().and_then(Option::as_ref).is_some_and(|known| own == Some(known.as_bytes()))
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
    use std::convert::Infallible;
    use std::process::{Child, Command};

    use super::*;
    use crate::guard_registry::start_registered;

    /// A shell with this mark, and its `below` sleeping descendants.
    #[cfg(target_os = "linux")]
    fn family(mark: &str, script: &str, below: usize) -> (Child, Vec<ProcessInfo>) {
        let mut command = Command::new("sh");
        let shell = command.args(["-c", script]).env(SESSION_MARK_VARIABLE, mark).spawn().unwrap();
        let is_up = |process: &ProcessInfo| {
            fs::read_to_string(format!("/proc/{}/comm", process.pid)).is_ok_and(|name| name == "sleep\n")
        };
        let up = loop {
            let up: Vec<_> = procfs::descendants(shell.id()).into_iter().filter(is_up).collect();
            if up.len() == below {
                break up;
            }
            std::thread::yield_now();
        };
        (shell, up)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_is_of_the_session_whose_guard_is_above_it_whatever_it_says() {
        // N6: with the mark of the reviewer's session in its own environment, an agent submitted the review.
        let (own, other) = (of(Path::new("/run/s1")), of(Path::new("/run/s2")));
        let script = format!(
            "{SESSION_MARK_VARIABLE}={other} sleep 601 & env -i sleep 602 & sleep 603 & \
             {COMMAND_MARK_VARIABLE}=x sleep 604 & wait"
        );
        let (mut guard, below) = family(&own, &script, 4);
        let origins = || {
            let line = |pid: u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
            let mut found: Vec<_> =
                below.iter().map(|process| (line(process.pid), process_origin(process.pid))).collect();
            found.sort_by(|a, b| a.0.cmp(&b.0));
            found.into_iter().map(|(_, origin)| origin).collect::<Vec<_>>()
        };
        // Not below a guard: a check, or a process that has outlived its guard.
        assert_eq!(origins(), vec![ProcessOrigin::Host; 4]);
        let Ok(((), known)) = start_registered(own.clone(), || Ok::<_, Infallible>(((), guard.id())));
        let of_session = ProcessOrigin::Agent(Some(own.clone()));
        let wanted =
            [ProcessOrigin::Agent(None), of_session.clone(), of_session, ProcessOrigin::Host].to_vec();
        assert_eq!(origins(), wanted);
        drop(known);
        // If the environment of the guard itself carries another mark, the process has no session.
        let Ok(((), known)) = start_registered(other, || Ok::<_, Infallible>(((), guard.id())));
        assert!(origins().iter().all(|origin| !matches!(origin, ProcessOrigin::Agent(Some(_)))));
        drop(known);
        assert_eq!(end(&[own], false), 5);
        guard.wait().unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_above_that_ends_meanwhile_makes_nobody_of_no_agent() {
        // N6: the parent dies between two looks, and the child belongs to the one above it from then on.
        let mark = of(Path::new("/a/session"));
        let mut marked = Command::new("sleep").arg("600").env(SESSION_MARK_VARIABLE, &mark).spawn().unwrap();
        while variable(marked.id(), SESSION_MARK_VARIABLE).is_none() {
            std::thread::yield_now();
        }
        let guard = procfs::look(marked.id()).unwrap();
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
            pid => procfs::look(pid),
        };
        let Ok(((), known)) = start_registered(mark.clone(), || Ok::<_, Infallible>(((), guard.pid)));
        assert_eq!(origin_of(asks, dies), ProcessOrigin::Agent(Some(mark.clone())));
        drop(known);
        // A chain that keeps changing does not belong to the user.
        let always = |pid| (pid == asks).then(|| at(asks, between));
        assert_eq!(origin_of(asks, always), ProcessOrigin::Agent(None));
        assert_eq!(end(&[mark], false), 1);
        assert!(!marked.wait().unwrap().success());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_starts_another_in_the_place_of_one_that_ends_is_ended_with_it() {
        // N6: a descendant of a marked process has dropped the mark.
        let mark = of(Path::new("/a/family"));
        let family = "(trap '' TERM; while :; do env -i sleep 1000; done) & wait";
        let mut marked =
            Command::new("sh").args(["-c", family]).env(SESSION_MARK_VARIABLE, &mark).spawn().unwrap();
        let below = || procfs::descendants(marked.id());
        while !below().iter().any(|process| variable(process.pid, SESSION_MARK_VARIABLE).is_none()) {
            std::thread::yield_now();
        }
        let family = below();
        assert_eq!(end(&[mark], false), 1 + family.len());
        assert!(!marked.wait().unwrap().success());
        let lives = |process: &ProcessInfo| {
            procfs::look(process.pid).is_some_and(|now| now.started == process.started && !now.ended)
        };
        while family.iter().any(lives) {
            std::thread::yield_now();
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_launches_a_host_is_none_and_no_other_process_says_so() {
        // N6: any session leader once passed for a host in the background, and its parent for its launcher.
        let own = std::process::id();
        let name = fs::read_to_string("/proc/self/comm").unwrap();
        assert!(is_baton(own) && is_host(own) && !is_launched());
        become_launcher().unwrap();
        let (is_marked, still_host) = (is_launcher(own), is_host(own));
        fs::write("/proc/self/comm", name.trim_end()).unwrap();
        assert!(is_marked && !still_host && is_host(own));
        // A program has the name of its file, which has no slash.
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(LAUNCHER);
        fs::create_dir(file.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("/bin/sleep", &file).unwrap();
        let mut named = Command::new(&file).arg("600").spawn().unwrap();
        while fs::read_to_string(format!("/proc/{}/comm", named.id())).unwrap() != "launcher\n" {
            std::thread::yield_now();
        }
        assert!(!is_launcher(named.id()));
        named.kill().unwrap();
        named.wait().unwrap();
    }

    #[test]
    fn a_process_is_known_by_its_mark_and_ended() {
        let mark = of(Path::new("/a/known/session"));
        let mut child = Command::new("sleep").arg("600").env(SESSION_MARK_VARIABLE, &mark).spawn().unwrap();
        if cfg!(target_os = "linux") {
            // Its environment is readable a moment after its start.
            while variable(child.id(), SESSION_MARK_VARIABLE).is_none() {
                std::thread::yield_now();
            }
            assert_eq!(process_origin(child.id()), ProcessOrigin::Host, "it is below no guard");
            let Ok(((), known)) = start_registered(mark.clone(), || Ok::<_, Infallible>(((), child.id())));
            assert_eq!(process_origin(child.id()), ProcessOrigin::Agent(Some(mark.clone())));
            drop(known);
            assert_eq!(process_origin(std::process::id()), ProcessOrigin::NoAgent);
            assert_eq!(end(&[of(Path::new("/another"))], false), 0);
            assert_eq!(end(&[mark], false), 1);
        } else {
            child.kill().unwrap();
        }
        assert!(!child.wait().unwrap().success());
    }
}
