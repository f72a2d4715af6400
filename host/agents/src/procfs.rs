//! What `/proc` says about processes. Linux; elsewhere it says nothing, and callers fall back to the process group.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// A process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessInfo {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) group: u32,
    pub(crate) session: u32,
    /// Clock ticks since boot.
    pub(crate) started: u64,
    /// It has ended and waits for its parent to take notice.
    pub(crate) ended: bool,
}

/// One process.
pub(crate) fn look(pid: u32) -> Option<ProcessInfo> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name of the program may hold spaces and parentheses, so fields are counted from the last `)`.
fn parse(pid: u32, stat: &str) -> Option<ProcessInfo> {
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().collect();
    // The first of these is field 3 of proc_pid_stat(5).
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let id = |field: usize| u32::try_from(number(field)?).ok();
    Some(ProcessInfo {
        pid,
        parent: id(4)?,
        group: id(5)?,
        session: id(6)?,
        started: number(22)?,
        ended: matches!(*fields.first()?, "Z" | "X"),
    })
}

/// Every process that can be seen, each looked at when its turn comes.
pub(crate) fn iter_processes() -> impl Iterator<Item = ProcessInfo> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| look(entry.file_name().to_str()?.parse().ok()?))
}

/// The children of this process that it did not start on another thread, among them all adopted ones. This is fast enough to
/// see a process that lives for a millisecond, which a list of all processes would miss.
pub(crate) fn children() -> impl Iterator<Item = ProcessInfo> {
    let own = std::process::id();
    let listed = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
    let pids: Vec<u32> = listed.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    pids.into_iter().filter_map(look)
}

/// Every process that can be seen.
fn all() -> Vec<ProcessInfo> {
    iter_processes().collect()
}

/// The processes below this one that still run, children before grandchildren.
pub(crate) fn descendants(pid: u32) -> Vec<ProcessInfo> {
    let all = all();
    let mut below: Vec<ProcessInfo> = all.iter().filter(|process| process.parent == pid).copied().collect();
    let mut next = 0;
    while let Some(parent) = below.get(next).map(|process| process.pid) {
        // Ids are recycled while this is read; a process is taken once, so the walk ends.
        let more: Vec<ProcessInfo> = all
            .iter()
            .filter(|child| child.parent == parent && !below.iter().any(|known| known.pid == child.pid))
            .copied()
            .collect();
        below.extend(more);
        next += 1;
    }
    below.retain(|process| !process.ended);
    below
}

/// The processes of a group that still run.
pub(crate) fn members(group: u32) -> Vec<ProcessInfo> {
    all().into_iter().filter(|process| process.group == group && !process.ended).collect()
}

/// Sends a signal to one process; one that is gone needs none.
pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        // The only failures are "gone" and "not ours"; neither can be helped.
        let _ = kill_process(pid, signal);
    }
}

/// Sends a signal to a group; one that is gone needs none.
pub(crate) fn signal_group(group: u32, signal: Signal) {
    if let Some(group) = i32::try_from(group).ok().filter(|group| *group > 1).and_then(Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
}

/// Names this boot: process ids and start times mean nothing in another.
pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_after_the_name() {
        let stat = "42 (a (b) c) S 7 40 39 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 123456 0 0";
        let process =
            ProcessInfo { pid: 42, parent: 7, group: 40, session: 39, started: 123_456, ended: false };
        assert_eq!(parse(42, stat), Some(process));
        assert_eq!(parse(42, "42 (broken"), None);
        assert_eq!(parse(42, "42 (short) S 1"), None);
    }

    #[test]
    fn this_process_is_seen() {
        let own = look(std::process::id()).expect("this process runs");
        assert!(members(own.group).contains(&own));
    }
}
