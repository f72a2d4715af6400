//! One run of a program on one prompt: started with or without a terminal, read to its end, interrupted on request.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use baton_core::workflow::PromptDelivery;
use baton_sandbox::running_program;
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{Instant, sleep_until};

use super::protocol::{ProgramExit, RunnerEvent};
use crate::procfs;

/// The relay's argument for the step between two programs: it takes the terminal before it becomes the program.
pub(super) const TAKE_TERMINAL: &str = "--take-terminal";

/// How much is read at a time: the capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// How long a program's output may stay open after it, held by something that it left behind.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a program that is broken off has to end by itself: after SIGINT, and again after SIGTERM.
const SIGNAL_ESCALATION_DELAY: Duration = Duration::from_secs(2);

/// A terminal that few lines are wrapped on.
const SIZE: Winsize = Winsize { ws_row: 50, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };

/// What is run on each prompt.
pub(super) struct PromptProgram {
    /// The program with its arguments; never empty in a call of the driver.
    pub(super) command: Vec<OsString>,
    pub(super) terminal: bool,
    pub(super) prompt: PromptDelivery,
}

impl PromptProgram {
    pub(super) fn name(&self) -> String {
        self.command.first().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    pub(super) fn start(&self, prompt: &str) -> io::Result<RunningProgram> {
        let Some((name, args)) = self.command.split_first() else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        };
        let mut command = if self.terminal {
            let mut command = Command::new(running_program()?);
            // The relay's own arguments begin with the word that makes this executable a relay.
            command.args(std::env::args_os().nth(1)).arg(TAKE_TERMINAL).arg(name);
            command
        } else {
            let mut command = Command::new(name);
            // With a terminal it leads its own session, and with it a group.
            command.process_group(0);
            command
        };
        command.args(args);
        let on_stdin = self.prompt == PromptDelivery::Stdin;
        if !on_stdin {
            command.arg(prompt);
        }
        let mut terminal = None;
        if self.terminal {
            let (ours, theirs) = open_terminal()?;
            command.stdin(if on_stdin { Stdio::piped() } else { Stdio::from(theirs.try_clone()?) });
            command.stdout(Stdio::from(theirs));
            terminal = Some(ours);
        } else {
            command.stdin(if on_stdin { Stdio::piped() } else { Stdio::null() });
            command.stdout(Stdio::piped());
        }
        let mut child = command.spawn()?;
        // Its own copies of the terminal's other end are with it: the end of that is its end.
        drop(command);
        if let Some(stdin) = child.stdin.take() {
            tokio::spawn(write_prompt(stdin, prompt.to_owned()));
        }
        let out: Box<dyn AsyncRead + Unpin> = match (terminal, child.stdout.take()) {
            (Some(terminal), _) => Box::new(tokio::fs::File::from_std(File::from(terminal))),
            (None, Some(pipe)) => Box::new(pipe),
            (None, None) => Box::new(tokio::io::empty()),
        };
        let group = child.id().unwrap_or_default();
        let clean = self.terminal.then(TerminalOutputFilter::default);
        Ok(RunningProgram {
            child,
            group,
            out: Some(out),
            status: None,
            clean,
            partial: Vec::new(),
            next_signal: None,
        })
    }
}

/// A program need not read its prompt, so the relay does not wait for that.
async fn write_prompt(mut stdin: ChildStdin, prompt: String) {
    let _ = stdin.write_all(prompt.as_bytes()).await;
}

/// Both ends of a terminal, without echo and without line breaks of two characters.
fn open_terminal() -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let name = ptsname(&ours, Vec::new())?;
    use rustix::fs::{Mode, OFlags};
    let theirs =
        rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
    let mut modes = tcgetattr(&theirs)?;
    modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
    modes.output_modes.remove(OutputModes::ONLCR);
    tcsetattr(&theirs, OptionalActions::Now, &modes)?;
    tcsetwinsize(&theirs, SIZE)?;
    Ok((ours, theirs))
}

/// A program at work.
pub(super) struct RunningProgram {
    child: Child,
    /// Its process group.
    group: u32,
    /// Until its end has been read.
    out: Option<Box<dyn AsyncRead + Unpin>>,
    status: Option<(io::Result<ExitStatus>, Instant)>,
    clean: Option<TerminalOutputFilter>,
    /// The beginning of a character whose end has not been read yet.
    partial: Vec<u8>,
    /// It is being broken off: the next signal, and when it is due.
    next_signal: Option<(Signal, Instant)>,
}

impl RunningProgram {
    /// The next output, or the end of the program. Cancel-safe: dropping the future loses no output.
    pub(super) async fn next(&mut self) -> RunnerEvent {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            if self.out.is_none() && !self.partial.is_empty() {
                return RunnerEvent::Out(
                    String::from_utf8_lossy(&std::mem::take(&mut self.partial)).into_owned(),
                );
            }
            if self.out.is_none() && self.status.is_some() {
                return RunnerEvent::Ended(self.end());
            }
            let late =
                self.status.as_ref().map(|(_, at)| *at + OUTPUT_DRAIN_TIMEOUT).filter(|_| self.out.is_some());
            let waits = self.status.is_none();
            let due = self.next_signal.map(|(_, at)| at);
            let out = &mut self.out;
            let read = async {
                match out {
                    Some(out) => out.read(&mut chunk).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                read = read => match read {
                    Ok(bytes @ 1..) => {
                        let text = self.text(&chunk[..bytes]);
                        if !text.is_empty() {
                            return RunnerEvent::Out(text);
                        }
                    }
                    // A terminal whose other end is closed says so with an error.
                    Ok(0) | Err(_) => self.out = None,
                },
                status = self.child.wait(), if waits => {
                    self.status = Some((status, Instant::now()));
                }
                () = at(late) => self.out = None,
                () = at(due) => self.send_next_signal(),
            }
        }
    }

    /// Interrupts it: SIGINT, like Ctrl-C, then SIGTERM, then SIGKILL.
    pub(super) fn interrupt(&mut self) {
        if self.next_signal.is_none() {
            procfs::signal_group(self.group, Signal::INT);
            self.next_signal = Some((Signal::TERM, Instant::now() + SIGNAL_ESCALATION_DELAY));
        }
    }

    fn send_next_signal(&mut self) {
        if let Some((signal, _)) = self.next_signal {
            procfs::signal_group(self.group, signal);
            self.next_signal = Some((Signal::KILL, Instant::now() + SIGNAL_ESCALATION_DELAY));
        }
    }

    /// Ends the processes that it left in its group; the guard ends those outside of the group, at the end of the session.
    fn end(&mut self) -> ProgramExit {
        procfs::signal_group(self.group, Signal::KILL);
        let status = self.status.as_ref().and_then(|(status, _)| status.as_ref().ok());
        ProgramExit {
            code: status.and_then(ExitStatus::code),
            signal: status.and_then(|status| status.signal()),
            interrupted: self.next_signal.is_some(),
            error: None,
        }
    }

    /// Whole characters of the bytes that were read.
    fn text(&mut self, bytes: &[u8]) -> String {
        let cleaned = self.clean.as_mut().map(|clean| clean.clean(bytes));
        self.partial.extend_from_slice(cleaned.as_deref().unwrap_or(bytes));
        // An incomplete character waits for its end; other invalid bytes are replaced.
        let whole = self.partial.len() - incomplete(&self.partial);
        let rest = self.partial.split_off(whole);
        let text = String::from_utf8_lossy(&self.partial).into_owned();
        self.partial = rest;
        text
    }
}

/// How many bytes at the end are the beginning of a character.
fn incomplete(bytes: &[u8]) -> usize {
    (1..=bytes.len().min(3))
        .find(|back| {
            let tail = &bytes[bytes.len() - back..];
            std::str::from_utf8(tail)
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

async fn at(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}

/// Removes escape codes and carriage returns from a program's output on a terminal.
#[derive(Default)]
struct TerminalOutputFilter {
    strip: anstream::adapter::StripBytes,
    /// Whether the last character was a carriage return, whose meaning depends on the next one.
    after_carriage_return: bool,
}

impl TerminalOutputFilter {
    fn clean(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut clean = Vec::with_capacity(bytes.len());
        for printable in self.strip.strip_next(bytes) {
            for byte in printable {
                match byte {
                    b'\r' => self.after_carriage_return = true,
                    // A line that is overwritten becomes a separate line.
                    byte => {
                        if std::mem::take(&mut self.after_carriage_return) && *byte != b'\n' {
                            clean.push(b'\n');
                        }
                        clean.push(*byte);
                    }
                }
            }
        }
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(pieces: &[&[u8]]) -> String {
        let mut cleaner = TerminalOutputFilter::default();
        let clean: Vec<u8> = pieces.iter().flat_map(|piece| cleaner.clean(piece)).collect();
        String::from_utf8(clean).unwrap()
    }

    #[test]
    fn a_terminal_text_is_plain_afterwards() {
        assert_eq!(cleaned(&[b"\x1b[1;32mdone\x1b[0m\r\nnext"]), "done\nnext");
        assert_eq!(cleaned(&[b"10%\r", b"20%\r\n", b"end\r"]), "10%\n20%\nend");
        // In pieces, wherever the cut is.
        let text = "a\x1b[31mé\x1b]0;title\x07b\r\nc".as_bytes();
        for cut in 0..text.len() {
            assert_eq!(cleaned(&[&text[..cut], &text[cut..]]), "aéb\nc", "{cut}");
        }
    }

    #[test]
    fn a_character_may_arrive_in_two_pieces() {
        assert_eq!(incomplete("é".as_bytes()), 0);
        assert_eq!(incomplete(&"é".as_bytes()[..1]), 1);
        assert_eq!(incomplete(&"a\u{1F600}".as_bytes()[..4]), 3);
        assert_eq!(incomplete(b"\xff"), 0);
        assert_eq!(incomplete(b""), 0);
    }
}
