//! What the host saw the agents of a phase do: the commands that they ran and the files that they read. It reaches the
//! handoff beside the words of the agents (C25), and is bounded (D1).

use std::collections::VecDeque;

use crate::facts::{AgentEvent, COMMAND_BYTES};
use crate::observation::{CommandRunView, FileReadView};

use super::text_format::cut;

/// Commands that are kept and given to a policy, the newest.
const COMMANDS: usize = 20;
/// Files that are given to a policy, those that were read most.
const READS: usize = 10;
/// Files whose reads are counted. A new file replaces the one that was read least.
const READS_COUNTED: usize = 64;
/// A longer path is not counted: no document has room for it.
const PATH_BYTES: usize = 240;
/// What a notice says of the words of an agent or a tool is a line; all of it is in the log.
const LINE_CHARS: usize = 160;
/// The same for what is kept of it.
const LINE_BYTES: usize = 1024;
/// An id of a call is a few characters; a longer one is cut.
const CALL_BYTES: usize = 128;

/// Commands and reads of a phase, over all its sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PhaseActivity {
    /// Newest last.
    commands: VecDeque<CommandRecord>,
    reads: Vec<FileReadView>,
    /// Calls that write a file and have not returned: the id of each, and its file.
    writes: VecDeque<(String, String)>,
}

/// A call that did not work.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FailedCall {
    Command(String),
    /// The file that it was to write.
    Write(String),
}

#[derive(Clone, Debug, PartialEq)]
struct CommandRecord {
    seen: CommandRunView,
    /// The call that has not returned; empty once it has.
    call: String,
}

impl PhaseActivity {
    /// Takes an event in. Gives the call that failed by it, where one did.
    pub(super) fn observe(&mut self, event: &AgentEvent) -> Option<FailedCall> {
        match event {
            AgentEvent::ToolCall { id, reads, writes, command, .. } => {
                if let Some(path) = reads.as_deref().and_then(file_of) {
                    self.read(path);
                }
                if let Some(line) = command {
                    self.ran(id, line);
                } else if let Some(path) = writes {
                    self.begins_to_write(id, path);
                }
                None
            }
            AgentEvent::ToolOutput { id, failed, .. } => self.returned(id, *failed),
            _ => None,
        }
    }

    /// The newest commands, newest last.
    pub(super) fn commands(&self) -> Vec<CommandRunView> {
        self.commands.iter().map(|command| command.seen.clone()).collect()
    }

    /// The files that were read most, those first.
    pub(super) fn reads(&self) -> Vec<FileReadView> {
        let mut reads = self.reads.clone();
        reads.sort_by_key(|read| std::cmp::Reverse(read.times));
        reads.truncate(READS);
        reads
    }

    fn ran(&mut self, id: &str, line: &str) {
        let line = short(&line.split_whitespace().collect::<Vec<_>>().join(" "), COMMAND_BYTES);
        if line.is_empty() {
            return;
        }
        let known = self.commands.iter().position(|command| command.seen.line == line);
        let before = known.and_then(|at| self.commands.remove(at)).map_or(0, |command| command.seen.times);
        if self.commands.len() == COMMANDS {
            self.commands.pop_front();
        }
        let seen = CommandRunView { line, failed: None, times: before.saturating_add(1) };
        self.commands.push_back(CommandRecord { seen, call: short(id, CALL_BYTES) });
    }

    fn begins_to_write(&mut self, id: &str, path: &str) {
        if self.writes.len() == COMMANDS {
            self.writes.pop_front();
        }
        self.writes.push_back((short(id, CALL_BYTES), short(path, PATH_BYTES)));
    }

    fn returned(&mut self, id: &str, failed: Option<bool>) -> Option<FailedCall> {
        let id = short(id, CALL_BYTES);
        if let Some(at) = self.writes.iter().rposition(|(call, _)| !id.is_empty() && *call == id) {
            let (_, path) = self.writes.remove(at)?;
            return (failed == Some(true)).then_some(FailedCall::Write(path));
        }
        let open = self.commands.iter_mut().rev().find(|command| !id.is_empty() && command.call == id);
        let command = open?;
        command.seen.failed = failed;
        command.call.clear();
        (failed == Some(true)).then(|| FailedCall::Command(command.seen.line.clone()))
    }

    fn read(&mut self, path: &str) {
        if let Some(known) = self.reads.iter_mut().find(|read| read.path == path) {
            known.times = known.times.saturating_add(1);
            return;
        }
        if self.reads.len() == READS_COUNTED {
            let least = self.reads.iter().enumerate().min_by_key(|(_, read)| read.times).map(|(at, _)| at);
            self.reads.remove(least.unwrap_or(0));
        }
        self.reads.push(FileReadView { path: path.to_owned(), times: 1 });
    }
}

/// A text on one line, without the white space between its words.
pub(super) fn line_of(text: &str) -> String {
    short(&text.split_whitespace().collect::<Vec<_>>().join(" "), LINE_BYTES)
}

/// The end of a text on one line, from the beginning of a sentence or at least of a word.
pub(super) fn end_of(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let beyond = words.chars().count().saturating_sub(LINE_CHARS);
    if beyond == 0 {
        return words;
    }
    let end: String = words.chars().skip(beyond + 1).collect();
    let sentence = end.find(". ").map(|at| at + 2).filter(|at| *at < end.len() / 2);
    let from = sentence.or_else(|| end.find(' ').map(|at| at + 1)).unwrap_or(0);
    format!("…{}", end.get(from..).unwrap_or_default())
}

fn short(text: &str, limit: usize) -> String {
    let mut short = text.to_owned();
    cut(&mut short, limit);
    short
}

/// The file of what a decoder says is read: without the range of lines ("a.rs:10+20"); nothing for an address.
fn file_of(target: &str) -> Option<&str> {
    if target.contains("://") {
        return None;
    }
    let is_range = |range: &str| {
        range.contains(['-', '+']) && range.chars().all(|c| c.is_ascii_digit() || c == '-' || c == '+')
    };
    let path = match target.rsplit_once(':') {
        Some((path, range)) if is_range(range) => path,
        _ => target,
    };
    (!path.is_empty() && path.len() <= PATH_BYTES).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, reads: Option<&str>, command: Option<&str>) -> AgentEvent {
        AgentEvent::ToolCall {
            id: id.into(),
            name: "tool".into(),
            reads: reads.map(Into::into),
            writes: None,
            command: command.map(Into::into),
        }
    }

    fn output(id: &str, failed: Option<bool>) -> AgentEvent {
        AgentEvent::ToolOutput { id: id.into(), bytes: 1, text: String::new(), failed }
    }

    fn after(events: impl IntoIterator<Item = AgentEvent>) -> PhaseActivity {
        let mut activity = PhaseActivity::default();
        for event in events {
            activity.observe(&event);
        }
        activity
    }

    #[test]
    fn a_command_has_the_result_of_its_last_run_and_how_often_it_ran() {
        // C25
        let activity = after([
            call("1", None, Some("make test")),
            output("1", Some(true)),
            call("2", None, Some("ls")),
            call("3", None, Some("make\n  test")),
            output("2", None),
            output("3", Some(false)),
            output("3", Some(true)),
        ]);
        let run = |line: &str, failed, times| CommandRunView { line: line.into(), failed, times };
        assert_eq!(activity.commands(), [run("ls", None, 1), run("make test", Some(false), 2)]);
    }

    #[test]
    fn a_file_that_could_not_be_written_is_told_as_a_command_that_failed() {
        let mut activity = PhaseActivity::default();
        let write = |id: &str, path: &str| AgentEvent::ToolCall {
            id: id.into(),
            name: "Write".into(),
            reads: None,
            writes: Some(path.into()),
            command: None,
        };
        for event in [write("1", "a.rs"), write("2", "b.rs"), call("3", None, Some("make"))] {
            assert_eq!(activity.observe(&event), None);
        }
        assert_eq!(activity.observe(&output("1", Some(false))), None);
        assert_eq!(activity.observe(&output("2", Some(true))), Some(FailedCall::Write("b.rs".to_owned())));
        assert_eq!(activity.observe(&output("3", Some(true))), Some(FailedCall::Command("make".to_owned())));
        assert_eq!(activity.observe(&output("2", Some(true))), None, "it has returned");
    }

    #[test]
    fn reads_are_counted_by_file_and_the_most_read_come_first() {
        // C25
        let reads = ["a.rs", "b.rs:0+50", "b.rs:50+50", "b.rs:100-", "c:d.rs", "https://x.org/b.rs"];
        let activity = after(reads.into_iter().map(|read| call("", Some(read), None)));
        let read = |path: &str, times| FileReadView { path: path.into(), times };
        assert_eq!(activity.reads(), [read("b.rs", 3), read("a.rs", 1), read("c:d.rs", 1)]);
    }

    #[test]
    fn what_is_kept_stays_bounded() {
        // D1
        let long = "ä".repeat(1000);
        let events = (0..500).flat_map(|n| {
            let (path, line) = (format!("src/{}.rs", n % 200), format!("echo {n} {long}"));
            [
                call(&long, Some(&path), Some(&line)),
                call("x", Some(&long), None),
                call("y", Some("most"), None),
            ]
        });
        let activity = after(events);
        assert_eq!((activity.commands().len(), activity.reads().len()), (COMMANDS, READS));
        assert!(activity.commands().iter().all(|command| command.line.len() <= COMMAND_BYTES));
        assert_eq!(activity.reads()[0], FileReadView { path: "most".into(), times: 500 });
        assert!(activity.reads.len() == READS_COUNTED && activity.reads.iter().all(|r| r.path.len() <= 240));
    }
}
