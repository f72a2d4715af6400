//! The guard: a small process between the host and an agent. It ends the agent, and all that the agent started, when the host
//! is gone, when the host asks for it, and when the agent itself has ended. It does not read the agent's output.
//!
//! - The host holds the write end of a pipe whose read end is the guard's file descriptor 3. Its end of file means that the
//!   host died, in whatever way.
//! - The guard leads a process group of its own, so a Ctrl-C in the terminal reaches neither it nor the agent.
//! - On Linux it is the reaper of its descendants: processes that an agent puts into another group or session and leaves behind
//!   are reparented to it, and are ended too.
//! - It exits with the agent's code, or with 128 + n if signal n ended the agent, or with 127 if the agent could not be
//!   started; `exit.json` in the session folder tells these apart.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context as _, bail};
use command_fds::{CommandFdExt as _, FdMapping};
use rustix::process::{Pid, Signal, WaitOptions};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use crate::procfs;
use crate::session_files::{ExitFile, SupervisorFile};

/// The guard's end of the pipe.
pub(crate) const HOST_FD: i32 = 3;

/// How long an agent has between SIGTERM and SIGKILL. Claude Code needs under a second to end its tools.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// How often SIGKILL is repeated while something is left: a process can be born while the others die.
const KILL_AGAIN: Duration = Duration::from_millis(50);

/// What a shell says of a program that it cannot start.
const CANNOT_EXECUTE_CODE: u8 = 127;

/// Runs the guard: `--session-dir DIR -- PROGRAM [ARGUMENT]...`, the arguments after the command's own name. The
/// working directory, the environment and the three standard streams are passed on to the agent.
pub fn supervisor_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match run(args.into_iter()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("baton guard: {error:#}");
            ExitCode::from(CANNOT_EXECUTE_CODE)
        }
    }
}

fn run(args: impl Iterator<Item = OsString>) -> anyhow::Result<u8> {
    // Before anything else is opened here.
    let (session_dir, mut command) = arguments(args, inherited())?;
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().context("starting the guard")?;
    runtime.block_on(async {
        // Handlers first: from here on a SIGTERM to the group ends the agent in order, not the guard alone.
        let mut told = signal(SignalKind::terminate()).context("listening for SIGTERM")?;
        let mut interrupted = signal(SignalKind::interrupt()).context("listening for SIGINT")?;
        let mut hung_up = signal(SignalKind::hangup()).context("listening for SIGHUP")?;
        let mut child = signal(SignalKind::child()).context("listening for SIGCHLD")?;
        let mut host = pipe::OpenOptions::new()
            .open_receiver(format!("/dev/fd/{HOST_FD}"))
            .context("opening the pipe to the host: was the guard started by hand?")?;
        adopt_descendants().context("becoming the reaper of what the agent starts")?;
        write_supervisor_file(&session_dir)
            .with_context(|| format!("writing to {}", session_dir.display()))?;

        let agent = match command.spawn() {
            Ok(agent) => agent.id(),
            Err(error) => {
                let error = format!("{}: {error}", command.get_program().display());
                // Best effort: the exit code and this line on stderr say the same.
                let _ = ExitFile { error: Some(error.clone()), ..ExitFile::default() }.write(&session_dir);
                bail!("the agent was not started: {error}");
            }
        };
        drop(command);

        let mut exit = None;
        let mut ending = ShutdownStage::Running;
        let mut byte = [0u8; 1];
        loop {
            let alone = reap(agent, &mut exit);
            if alone && let Some(exit) = exit.take() {
                return Ok(finish(&session_dir, &exit));
            }
            if exit.is_some() {
                ending.terminate();
            }
            tokio::select! {
                // Every way in which this can end is the host's end: it never writes.
                _ = host.read(&mut byte), if ending.is_running() => ending.terminate(),
                _ = told.recv() => ending.terminate(),
                _ = interrupted.recv() => ending.terminate(),
                _ = hung_up.recv() => ending.terminate(),
                _ = child.recv() => {}
                () = ending.due() => ending.kill(),
            }
        }
    })
}

fn arguments(
    mut args: impl Iterator<Item = OsString>,
    inherited: Vec<i32>,
) -> anyhow::Result<(PathBuf, Command)> {
    let usage = "usage: --session-dir DIR -- PROGRAM [ARGUMENT]...";
    if args.next().as_deref() != Some("--session-dir".as_ref()) {
        bail!("{usage}");
    }
    let session_dir = PathBuf::from(args.next().context(usage)?);
    if args.next().as_deref() != Some("--".as_ref()) {
        bail!("{usage}");
    }
    let mut command = Command::new(args.next().context(usage)?);
    command.args(args);
    // The agent must hold neither the guard's pipe nor what else the host left open.
    let nothing = File::open("/dev/null").context("opening /dev/null")?;
    let closed = inherited.into_iter().map(|child_fd| {
        let parent_fd = nothing.try_clone().context("opening /dev/null")?.into();
        Ok(FdMapping { parent_fd, child_fd })
    });
    command.fd_mappings(closed.collect::<anyhow::Result<_>>()?)?;
    Ok((session_dir, command))
}

/// The descriptors that the guard was started with, besides the three streams. On other systems than Linux only its pipe is
/// known.
fn inherited() -> Vec<i32> {
    let open = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = open.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<i32> = numbers.filter(|fd| *fd > HOST_FD).collect();
    found.push(HOST_FD);
    found
}

#[cfg(target_os = "linux")]
fn adopt_descendants() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// Elsewhere only what stays in the group can be ended.
#[cfg(not(target_os = "linux"))]
fn adopt_descendants() -> io::Result<()> {
    Ok(())
}

fn write_supervisor_file(session_dir: &Path) -> io::Result<()> {
    let own = std::process::id();
    let found = procfs::look(own);
    let started = found.map_or(0, |found| found.started);
    let session = found.map_or(0, |found| found.session);
    SupervisorFile { group: own, started, session, boot: procfs::boot() }.write(session_dir)
}

/// Reaps every child that has ended; true if none is left.
fn reap(agent: u32, exit: &mut Option<ExitFile>) -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => {
                if Pid::as_raw(Some(pid)).cast_unsigned() == agent {
                    let (code, signal) = (status.exit_status(), status.terminating_signal());
                    *exit = Some(ExitFile { code, signal, error: None });
                }
            }
            Ok(None) => return false,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}

/// How far the end of the agent has come.
#[derive(Clone, Copy, Debug)]
enum ShutdownStage {
    Running,
    /// SIGTERM was sent; SIGKILL is due then.
    Terminating(Instant),
    /// SIGKILL was sent, and is due again then.
    Killing(Instant),
}

impl ShutdownStage {
    fn is_running(self) -> bool {
        matches!(self, ShutdownStage::Running)
    }

    /// Asks everything below the guard to end.
    fn terminate(&mut self) {
        if self.is_running() {
            signal_descendants(Signal::TERM);
            *self = ShutdownStage::Terminating(Instant::now() + GRACE);
        }
    }

    async fn due(self) {
        match self {
            ShutdownStage::Running => std::future::pending().await,
            ShutdownStage::Terminating(at) | ShutdownStage::Killing(at) => sleep_until(at).await,
        }
    }

    fn kill(&mut self) {
        signal_descendants(Signal::KILL);
        *self = ShutdownStage::Killing(Instant::now() + KILL_AGAIN);
    }
}

fn signal_descendants(signal: Signal) {
    for process in procfs::descendants(std::process::id()) {
        procfs::signal(process.pid, signal);
    }
    if cfg!(not(target_os = "linux")) {
        // Without /proc the group is all there is. SIGKILL takes the guard as well, and that is the end of it.
        procfs::signal_group(std::process::id(), signal);
    }
}

fn finish(session_dir: &Path, exit: &ExitFile) -> u8 {
    // Best effort: without the file the host still has the exit code.
    let _ = exit.write(session_dir);
    let code = exit.code.or(exit.signal.map(|signal| 128 + signal)).unwrap_or(i32::from(CANNOT_EXECUTE_CODE));
    u8::try_from(code).unwrap_or(u8::MAX)
}
