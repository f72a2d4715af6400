//! A guarded process: starts it and waits for its end. Knows no protocol.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, PipeWriter};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use baton_core::facts::ProcessExit;
use baton_sandbox::this_program;
use command_fds::{CommandFdExt as _, FdMapping};
use rustix::process::Signal;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::guard_registry::{self, GuardRegistration};
use crate::launch::{AgentLaunch, SpawnError};
use crate::orphan::SUPERVISOR_EXTRA_GRACE;
use crate::process_mark;
use crate::procfs;
use crate::program_lookup::Invocation;
use crate::session_files::{ExitFile, SupervisorFile, private_folder};
use crate::supervisor::{GRACE, HOST_FD};

/// Poll interval for a group whose guard is gone.
const GROUP_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum number of polls: a process that cannot be killed (stuck in the kernel) must not block the host without end.
const GROUP_POLLS_MAX: u32 = 500;
/// Looks in a row that find nothing, after which nothing is left.
const EMPTY_SCANS_TO_STOP: u32 = 5;

/// A process that runs under its guard, before a driver takes it over.
#[derive(Debug)]
pub(crate) struct SupervisedProcess {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
    pub(crate) supervised: ProcessMonitor,
}

/// The part of a process that its supervisor owns.
#[derive(Debug)]
pub(crate) struct ProcessMonitor {
    child: Child,
    /// While this is open the guard knows that the host lives.
    host: PipeWriter,
    group: u32,
    /// While this exists, descendants of the guard are known to belong to this session.
    registration: GuardRegistration,
    session_dir: PathBuf,
}

/// A request to end a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndRequest {
    /// How long it may take to end by itself, its stdin closed.
    pub(crate) grace: Duration,
    /// The host wants it, and not the driver because nothing can be done with the agent.
    pub(crate) by_host: bool,
}

impl SupervisedProcess {
    /// Starts the guard, and with it the agent. Fails only if the guard itself cannot be started.
    pub(crate) fn start(
        launch: &AgentLaunch,
        agent: &Invocation,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Result<Self, SpawnError> {
        let failed = |what: &'static str, path: &Path| {
            let (session, path) = (launch.spec.session.clone(), path.to_owned());
            move |source| SpawnError::System { session, what, path, source }
        };
        let Some((guard, guard_args)) = launch.guard.split_first() else {
            return Err(SpawnError::NoSupervisor { session: launch.spec.session.clone() });
        };
        let folder = &launch.session_dir;
        private_folder(folder).map_err(failed("making the session's folder", folder))?;
        // What a session of this name left behind must not be taken for this one's.
        SupervisorFile::remove(folder)
            .and(ExitFile::remove(folder))
            .map_err(failed("clearing the session's folder", folder))?;

        let (reads, host) = io::pipe().map_err(failed("making a pipe for the guard", folder))?;
        let mut command = std::process::Command::new(guard);
        command
            .args(guard_args)
            .arg("--session-dir")
            .arg(folder)
            .arg("--")
            .arg(&agent.program)
            .args(&agent.args);
        command.env_clear().envs(environment).current_dir(&launch.workspace);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if guard == this_program(&launch.own_exe).as_os_str() {
            // The path that people see in a list of processes.
            std::os::unix::process::CommandExt::arg0(&mut command, &launch.own_exe);
        }
        // A group of its own: a Ctrl-C in the terminal is for the host, which ends its agents in order.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command
            .fd_mappings(vec![FdMapping { parent_fd: reads.into(), child_fd: HOST_FD }])
            .map_err(|error| failed("passing the pipe to the guard", folder)(io::Error::other(error)))?;
        let gone =
            || failed("talking to its guard", Path::new(guard))(io::Error::from(io::ErrorKind::BrokenPipe));
        let (mut child, registration) = guard_registry::start_registered(process_mark::of(folder), || {
            let child = tokio::process::Command::from(command)
                .spawn()
                .map_err(failed("starting its guard in the workspace", Path::new(guard)))?;
            let pid = child.id().ok_or_else(gone)?;
            Ok((child, pid))
        })?;
        let group = child.id().ok_or_else(gone)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let session_dir = folder.clone();
        Ok(Self {
            stdin: stdin.ok_or_else(gone)?,
            stdout: stdout.ok_or_else(gone)?,
            stderr: stderr.ok_or_else(gone)?,
            supervised: ProcessMonitor { child, host, group, registration, session_dir },
        })
    }

    /// Its process group.
    pub(crate) fn group(&self) -> u32 {
        self.supervised.group
    }

    /// Start time of the group's leader, in clock ticks since boot.
    pub(crate) fn started(&self) -> u64 {
        self.supervised.registration.started
    }
}

impl ProcessMonitor {
    /// Waits until the process is gone, or ends it on request. `closing` is set before that, so that the driver takes leave of
    /// the agent and closes its stdin; `gone` is set when no process is left.
    pub(crate) async fn supervise(
        self,
        mut end: mpsc::Receiver<EndRequest>,
        closing: watch::Sender<bool>,
        gone: watch::Sender<Option<ProcessExit>>,
    ) {
        let Self { mut child, host, group, registration, session_dir } = self;
        let mut by_host = false;
        let status = tokio::select! {
            status = child.wait() => status,
            // A handle that was dropped asks for the same, without grace.
            asked = end.recv() => {
                let asked = asked.unwrap_or(EndRequest { grace: Duration::ZERO, by_host: true });
                by_host = asked.by_host;
                closing.send_replace(true);
                let waited = tokio::select! {
                    status = child.wait() => Some(status),
                    () = tokio::time::sleep(asked.grace) => None,
                    // A second request: the grace time is over.
                    _ = end.recv() => None,
                };
                match waited {
                    Some(status) => status,
                    None => {
                        drop(host);
                        kill_supervisor(&mut child, group).await
                    }
                }
            }
        };
        // What has outlived its guard is of no session any more.
        drop(registration);
        closing.send_replace(true);
        kill_group(group).await;
        // A guard that is well ends by itself, and leaves nothing.
        let lost_guard = status.as_ref().is_ok_and(|status| status.code().is_none());
        kill_escaped(process_mark::of(&session_dir), lost_guard).await;
        // The guard's file tells a signal from an exit code of the same number.
        let exit = ExitFile::read(&session_dir).filter(|exit| exit.error.is_none());
        let code = status.as_ref().ok().and_then(std::process::ExitStatus::code);
        let signal = status.as_ref().ok().and_then(std::os::unix::process::ExitStatusExt::signal);
        let (code, signal) = exit.map_or((code, signal), |exit| (exit.code, exit.signal));
        gone.send_replace(Some(ProcessExit { code, signal, by_host }));
    }
}

/// The guard knows by now. It gets the time that it needs; then it is ended as well, and first what only it can find.
async fn kill_supervisor(child: &mut Child, group: u32) -> io::Result<std::process::ExitStatus> {
    if let Ok(status) = timeout(GRACE + SUPERVISOR_EXTRA_GRACE, child.wait()).await {
        return status;
    }
    for process in procfs::descendants(group) {
        procfs::signal(process.pid, Signal::KILL);
    }
    procfs::signal_group(group, Signal::KILL);
    child.wait().await
}

/// Ends what left the group and outlived its guard. What forks all the time can escape a look, so that without the guard one look that
/// finds nothing is not enough.
async fn kill_escaped(mark: String, lost_guard: bool) {
    let mut in_vain = if lost_guard { 0 } else { EMPTY_SCANS_TO_STOP - 1 };
    for _ in 0..GROUP_POLLS_MAX {
        match process_mark::end(std::slice::from_ref(&mark), lost_guard) {
            0 => in_vain += 1,
            _ => in_vain = 0,
        }
        if in_vain >= EMPTY_SCANS_TO_STOP {
            return;
        }
        tokio::time::sleep(GROUP_POLL_INTERVAL).await;
    }
}

/// Ends the rest of the group if the guard was killed.
async fn kill_group(group: u32) {
    for _ in 0..GROUP_POLLS_MAX {
        if procfs::members(group).is_empty() {
            return;
        }
        procfs::signal_group(group, Signal::KILL);
        tokio::time::sleep(GROUP_POLL_INTERVAL).await;
    }
}
