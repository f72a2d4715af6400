//! Runs a command of the workflow (a verification, most often) and keeps its output, within bounds. Core decides whether the
//! phase is done.

use std::collections::VecDeque;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use baton_core::DurationMs;
use baton_sandbox::PYTHON_CACHE_VARIABLE;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};

use crate::Workspace;
use crate::error::WorkspaceError;

/// Most output of a command that is kept: its beginning and, mostly, its end.
pub const MAX_OUTPUT_BYTES: usize = HEAD_BYTES + TAIL_BYTES;

/// The part of it that an agent gets: one screen.
pub const MAX_FINDINGS_BYTES: usize = 4096;

/// The beginning shows what was run.
const HEAD_BYTES: usize = 256 << 10;

/// The end shows the failure.
const TAIL_BYTES: usize = 768 << 10;

/// Time between asking a group to end and ending it.
const GRACE: Duration = Duration::from_secs(2);

/// A process that left the group may keep the pipe open; after the group's end the host waits no longer than this.
const DRAIN: Duration = Duration::from_secs(2);

/// The inherited variables: the paths of programs, homes and caches, and no secret of the host or the agent.
const INHERITED: [&str; 18] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "JAVA_HOME",
];

/// Becomes the command itself, so that its exit code is the command's own; the watcher it leaves behind ends the
/// whole group when the pipe on its standard input closes, which the death of the host does as well.
const LEADER: &str = r#"exec 3<&0 </dev/null
{ trap '' TERM INT HUP; read -r _; kill -KILL 0; } <&3 >/dev/null 2>&1 &
exec 3<&-
exec "$@""#;

/// The result of a verification command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandResult {
    /// It exited 0 in time.
    pub passed: bool,
    /// Its exit code; absent if a signal or the limit ended it.
    pub code: Option<i32>,
    /// Its output on both streams, in order, at most [`MAX_OUTPUT_BYTES`] and a line about the omitted part.
    pub output: Vec<u8>,
    /// The end of it as text, at most [`MAX_FINDINGS_BYTES`].
    pub findings: String,
}

/// Runs the command until it ends, or until the limit. `told` are variables in addition to the inherited ones.
pub(crate) async fn run(
    at: &Workspace,
    command: &str,
    told: &[(&str, String)],
    limit: Duration,
) -> Result<CommandResult, WorkspaceError> {
    attempt(at, command, told, limit).await.map_err(|source| WorkspaceError::Command {
        root: at.root().to_owned(),
        command: command.to_owned(),
        source,
    })
}

async fn attempt(
    at: &Workspace,
    command: &str,
    told: &[(&str, String)],
    limit: Duration,
) -> io::Result<CommandResult> {
    let (reader, writer) = io::pipe()?;
    let mut reader = Receiver::from_owned_fd(reader.into())?;
    let mut output = BoundedOutput::default();
    let python_cache = at.python_cache.as_ref().filter(|_| at.within.is_empty());
    // This one is outside of any boundary, and looked for nowhere.
    let mut child = Command::new("/bin/sh")
        .args(["-c", LEADER, "sh"])
        .args(&at.within)
        .args(["sh", "-c", command])
        .current_dir(at.root())
        .env_clear()
        .envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .envs(told.iter().map(|(name, value)| (name, value)))
        .envs(python_cache.map(|folder| (PYTHON_CACHE_VARIABLE, folder)))
        // A daemon that such a command leaves behind belongs neither to an agent nor to the user.
        .env("BATON_COMMAND", &at.command_mark)
        .stdin(Stdio::piped())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    // Waiting for a child closes its standard input, which is the watcher's lifeline: it is held here instead.
    let lifeline = child.stdin.take();
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));

    let mut ended = wait(&mut child, &mut reader, &mut output, limit).await?;
    let in_time = ended.is_some();
    if !in_time {
        signal(group, Signal::TERM);
        ended = wait(&mut child, &mut reader, &mut output, GRACE).await?;
    }
    // Processes that the command left running end with it. The watcher is still in the group, so its id was not reused.
    signal(group, Signal::KILL);
    drop(lifeline);
    if ended.is_none() {
        child.wait().await?;
    }
    // The limit only ends the draining; the output until then is kept.
    let _ = tokio::time::timeout(DRAIN, drain(&mut reader, &mut output)).await;

    let code = if in_time { ended.and_then(|status| status.code()) } else { None };
    if !in_time {
        let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
        output.push(
            format!("\n[ended by the host: still running after {}]\n", DurationMs(limit_ms)).as_bytes(),
        );
    }
    let output = output.into_bytes();
    Ok(CommandResult { passed: code == Some(0), code, findings: tail(&output), output })
}

/// Reads until the child ends; none if it exceeds the limit.
async fn wait(
    child: &mut Child,
    reader: &mut Receiver,
    output: &mut BoundedOutput,
    limit: Duration,
) -> io::Result<Option<ExitStatus>> {
    let reading = async {
        drain(reader, output).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = tokio::time::timeout(limit, child.wait()) => ended.ok().transpose(),
        () = reading => Ok(None),
    }
}

/// Reads until the other end is closed. A pipe that cannot be read counts as closed.
async fn drain(reader: &mut Receiver, output: &mut BoundedOutput) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = reader.read(&mut buffer).await {
        output.push(&buffer[..count]);
    }
}

fn signal(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // If the group has already ended, nothing is left to do.
        let _ = kill_process_group(group, signal);
    }
}

/// The beginning and the end of a stream.
#[derive(Default)]
struct BoundedOutput {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    left_out_bytes: u64,
}

impl BoundedOutput {
    fn push(&mut self, bytes: &[u8]) {
        let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(head);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(TAIL_BYTES);
        self.tail.drain(..excess);
        self.left_out_bytes += excess as u64;
    }

    fn into_bytes(self) -> Vec<u8> {
        let mut bytes = self.head;
        if self.left_out_bytes > 0 {
            bytes.extend_from_slice(format!("\n[{} bytes left out]\n", self.left_out_bytes).as_bytes());
        }
        bytes.extend(self.tail);
        bytes
    }
}

/// The last lines within the bound, from the beginning of a line if there is one.
fn tail(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(&output[output.len().saturating_sub(MAX_FINDINGS_BYTES)..]);
    let from = text.ceil_char_boundary(text.len().saturating_sub(MAX_FINDINGS_BYTES));
    let cut = from > 0 || output.len() > MAX_FINDINGS_BYTES;
    let kept = &text[from..];
    match kept.split_once('\n') {
        Some((_, lines)) if cut && !lines.is_empty() => lines.to_owned(),
        _ => kept.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_left_out() {
        let mut output = BoundedOutput::default();
        output.push(b"first ");
        for _ in 0..4 {
            output.push(&[b'x'; HEAD_BYTES]);
        }
        output.push(b" last");
        let bytes = output.into_bytes();
        assert!(bytes.starts_with(b"first xx") && bytes.ends_with(b"xx last"));
        assert!(String::from_utf8_lossy(&bytes).contains("\n[11 bytes left out]\n"));
    }

    #[test]
    fn findings_begin_at_a_line_and_fit_the_bound() {
        let long = "äöü line\n".repeat(1000);
        let findings = tail(long.as_bytes());
        assert!(findings.len() <= MAX_FINDINGS_BYTES && findings.starts_with("äöü"));
        assert_eq!(tail(b"one line"), "one line");
        assert!(tail(&[0xff; 10_000]).len() <= MAX_FINDINGS_BYTES);
    }
}
