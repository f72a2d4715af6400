//! Agents that a host left behind: finds and ends them before another is spawned. Asks the system, trusts no file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process_mark;
use crate::procfs;
use crate::session_files::SupervisorFile;
use crate::supervisor::GRACE;

/// How long a guard may take beyond its own grace before it is ended as well.
pub(crate) const SUPERVISOR_EXTRA_GRACE: Duration = Duration::from_secs(3);

/// How often the system is asked whether a group is gone.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// A process group that a session's guard led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orphan {
    /// Id of the group, and of the guard.
    pub group: u32,
    /// Start time of the guard in clock ticks since boot.
    pub started: u64,
    /// Something of it still runs.
    pub alive: bool,
    session: u32,
}

impl Orphan {
    /// The processes that belong to it now. A recycled id is detected by the leader's start time; if the leader is gone, the
    /// group's id cannot have been reused while a member lives, and the members share its session.
    fn members(&self) -> Vec<procfs::ProcessInfo> {
        match procfs::look(self.group) {
            Some(leader) if leader.started != self.started => Vec::new(),
            _ => procfs::members(self.group)
                .into_iter()
                .filter(|member| member.session == self.session)
                .collect(),
        }
    }
}

/// Looks for processes that a session's guard left behind. None if no guard was ever started for it.
pub fn probe_orphan(session_dir: &Path) -> Option<Orphan> {
    let file = SupervisorFile::read(session_dir)?;
    let mut orphan = Orphan { group: file.group, started: file.started, alive: false, session: file.session };
    // After a reboot, the ids belong to other processes.
    orphan.alive = file.boot == procfs::boot() && !orphan.members().is_empty();
    Some(orphan)
}

/// Ends an orphan and waits until none of its processes is left: SIGTERM, and SIGKILL after `grace`, or after the time that its
/// guard needs, whichever is longer. Blocks.
pub fn end_orphan(orphan: &Orphan, grace: Duration) {
    if !orphan.alive {
        return;
    }
    if orphan.members().is_empty() {
        return;
    }
    procfs::signal_group(orphan.group, Signal::TERM);
    let patience = Instant::now() + grace.max(GRACE + SUPERVISOR_EXTRA_GRACE);
    loop {
        let members = orphan.members();
        if members.is_empty() {
            return;
        }
        if Instant::now() >= patience {
            // What the guard would have found outside the group goes first: without the guard it could not be found.
            for process in procfs::descendants(orphan.group) {
                procfs::signal(process.pid, Signal::KILL);
            }
            procfs::signal_group(orphan.group, Signal::KILL);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Ends what sessions with these folders left running outside of every group, of which each process carries the mark of its session.
/// Blocks, until nothing is left or nothing can be done.
pub fn end_left_behind(session_dirs: &[PathBuf]) {
    let marks: Vec<String> = session_dirs.iter().map(|folder| process_mark::of(folder)).collect();
    let patience = Instant::now() + SUPERVISOR_EXTRA_GRACE;
    while !marks.is_empty() && process_mark::end(&marks, false) > 0 && Instant::now() < patience {
        std::thread::sleep(POLL_INTERVAL);
    }
}
