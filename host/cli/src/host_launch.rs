//! A host that works by itself (A9): this program is started once more as a process with a session of its own, and left
//! working when its run is in the journal and can be reached. What goes wrong before that is shown as if it had gone wrong
//! here. What the run is and how it continues is decided elsewhere.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use baton_runtime::agents::{become_launcher, is_launched};
use baton_runtime::core::RunId;
use baton_runtime::core::workflow::Mode;
use baton_runtime::sandbox::this_program;
use baton_runtime::store::StateDir;
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::OutputFormat;
use crate::exit_status::{CliExit, UsageError};
use crate::location::RunLocation;
use crate::render::json_record;
use crate::run_ui::PREPARE_NOTICE_DELAY;
use crate::stdio;

/// Most bytes of a failed host's log that are shown; it is usually an error of a few lines.
const LOG_SHOWN_BYTES: u64 = 64 << 10;

/// Shown while the background process prepares: it has no terminal of its own.
const PREPARING: &str =
    "preparing in the background: the policies are compiled, which takes some seconds the first time";

/// Whether a run is launched in the background, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaunchMode {
    /// It continues in this process.
    Foreground,
    /// `--background`.
    Asked,
    /// Its mode is one whose runs take long.
    FromMode(Mode),
}

impl LaunchMode {
    /// According to the flags, else to the mode.
    pub(crate) fn of(fresh: bool, inline: bool, mode: Mode) -> Self {
        match mode {
            _ if inline => LaunchMode::Foreground,
            _ if fresh => LaunchMode::Asked,
            Mode::Swarm | Mode::Thorough => LaunchMode::FromMode(mode),
            Mode::Eco | Mode::Turbo | Mode::Standard => LaunchMode::Foreground,
        }
    }

    /// The reason why it is not in the foreground, as the end of a sentence; none if it is.
    pub(crate) fn why(self) -> Option<String> {
        match self {
            LaunchMode::Foreground => None,
            LaunchMode::Asked => Some("because of --background".to_owned()),
            LaunchMode::FromMode(mode) => {
                Some(format!("as runs in mode {} do; --inline keeps one in the foreground", mode.name()))
            }
        }
    }
}

/// How a host knows that it was launched. Nobody types this.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DetachedHostArgs {
    /// Be a host of its own session, whose standard error is this file
    #[arg(long, value_name = "LOG", hide = true)]
    as_host: Option<PathBuf>,
}

impl DetachedHostArgs {
    pub(crate) fn is_launched(&self) -> bool {
        self.as_host.is_some()
    }

    /// Leaves the session of its launcher, so that neither its terminal nor its end reaches this process. To be
    /// called before anything else is done.
    pub(crate) fn settle(self) -> anyhow::Result<Option<ReadyNotifier>> {
        let Some(log) = self.as_host else { return Ok(None) };
        // The launching process has already checked the command.
        if !is_launched() {
            return Err(UsageError(
                "--as-host is for the host that `baton run --background` starts".to_owned(),
            )
            .into());
        }
        rustix::process::setsid().context("starting a new process session")?;
        Ok(Some(ReadyNotifier { log }))
    }
}

/// What the launcher of a host waits for.
#[derive(Debug)]
pub(crate) struct ReadyNotifier {
    log: PathBuf,
}

/// On one line of the host's standard output.
#[derive(Debug, Serialize, Deserialize)]
struct ReadyMessage {
    run: RunId,
    log: PathBuf,
}

impl ReadyNotifier {
    /// Reports that the run has started. From then on standard output goes to the same place as standard error.
    pub(crate) fn make(self, location: &RunLocation, run: &RunId) -> anyhow::Result<()> {
        let log = match move_log_to_run(&self.log, location, run) {
            Ok(log) => log,
            // It has a name already; only `baton gc` will not find it.
            Err(error) => {
                stdio::progress(&format!("baton: {error:#}"));
                self.log
            }
        };
        stdio::data(&json_record::line(&ReadyMessage { run: run.clone(), log })?)?;
        rustix::stdio::dup2_stdout(std::io::stderr()).context("redirecting standard output to the log")
    }
}

/// Moves the log to the files of the run, so that it is removed with it. Each host of a run has a log of its own.
fn move_log_to_run(log: &Path, location: &RunLocation, run: &RunId) -> anyhow::Result<PathBuf> {
    let state = open_state(location)?;
    let folder = state.sessions().join(run.as_str());
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .with_context(|| format!("making {}", folder.display()))?;
    let mut own = folder.join("host.log");
    let mut n = 1_u32;
    while own.exists() {
        n += 1;
        own = folder.join(format!("host-{n}.log"));
    }
    fs::rename(log, &own).with_context(|| format!("moving the log to {}", own.display()))?;
    Ok(own)
}

fn open_state(location: &RunLocation) -> anyhow::Result<StateDir> {
    Ok(StateDir::open(&location.config.state_root, &location.config.workspace)?)
}

/// The command of a separate host.
#[derive(Debug)]
pub(crate) struct HostCommand {
    /// `run`, `do` or `resume`.
    pub(crate) name: &'static str,
    /// The task or the run.
    pub(crate) argument: OsString,
    /// The resolved run, if it is a new one. It goes through a pipe: no other user can read it, it has no name that an agent could
    /// write to, and nothing of it is left when both processes have ended.
    pub(crate) request: Option<Vec<u8>>,
}

/// Starts `baton` with this command as a host of its own, and returns when it is at work, or has failed.
pub(crate) fn launch(
    location: &RunLocation,
    command: &HostCommand,
    launch: LaunchMode,
    format: OutputFormat,
) -> anyhow::Result<CliExit> {
    become_launcher().context("naming this process a launcher")?;
    let log = open_state(location)?.path().join(format!("launch-{}.log", std::process::id()));
    let mut child = start(location, command, &log)?;
    if let Some(request) = &command.request {
        send_request(&mut child, request)?;
    }
    match read_startup(&mut child)? {
        StartupOutcome::Ready(announced) => {
            print_started(location, &announced, &child, launch, format)?;
            Ok(CliExit::Done)
        }
        StartupOutcome::Nothing => {
            let status = child.wait().context("waiting for the host")?;
            show_and_remove(&log);
            match status.code() {
                Some(code) => Ok(CliExit::of_code(code)),
                None => anyhow::bail!("a signal ended the host before its run started"),
            }
        }
        StartupOutcome::Interrupted => {
            // It may have begun already: then it ends its agents and keeps everything.
            let _ = kill_process(Pid::from_child(&child), Signal::TERM);
            child.wait().context("waiting for the host")?;
            show_and_remove(&log);
            stdio::progress("interrupted before the run started; everything is kept");
            Ok(CliExit::Interrupted)
        }
    }
}

fn start(location: &RunLocation, command: &HostCommand, log: &Path) -> anyhow::Result<Child> {
    let file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(log);
    let file = file.with_context(|| format!("making the log {}", log.display()))?;
    Command::new(this_program(&location.config.own_exe))
        .arg(command.name)
        .arg("--as-host")
        .arg(log)
        .arg("--workspace")
        .arg(&location.config.workspace)
        .arg("--state-dir")
        .arg(&location.config.state_root)
        .arg("--")
        .arg(&command.argument)
        .stdin(if command.request.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(file)
        .spawn()
        .with_context(|| format!("starting {}", location.config.own_exe.display()))
}

fn send_request(child: &mut Child, request: &[u8]) -> anyhow::Result<()> {
    let mut pipe = child.stdin.take().context("the host has no standard input")?;
    match pipe.write_all(request) {
        // It has ended, and its log says why.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        sent => sent.context("handing over the run to the host"),
    }
}

/// In the host: the request of [`launch`]. From then on its standard input is empty.
pub(crate) fn receive_request() -> anyhow::Result<Vec<u8>> {
    let mut request = Vec::new();
    io::stdin().lock().read_to_end(&mut request).context("reading what this host is to begin")?;
    let nothing = File::open("/dev/null").context("opening /dev/null")?;
    rustix::stdio::dup2_stdin(nothing).context("closing standard input")?;
    Ok(request)
}

/// The first event.
enum StartupOutcome {
    Ready(ReadyMessage),
    /// The host closed its standard output without a word: it has failed.
    Nothing,
    Interrupted,
}

fn read_startup(child: &mut Child) -> anyhow::Result<StartupOutcome> {
    let stdout = child.stdout.take().context("the host has no standard output")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let heard = runtime.block_on(async {
        let mut keyboard = signal(SignalKind::interrupt()).context("listening for signals")?;
        let line = tokio::task::spawn_blocking(move || {
            let mut line = String::new();
            BufReader::new(stdout).read_line(&mut line).map(|_| line)
        });
        tokio::pin!(line);
        let silence = tokio::time::sleep(PREPARE_NOTICE_DELAY);
        tokio::pin!(silence);
        let mut is_told = false;
        loop {
            tokio::select! {
                line = &mut line => {
                    let line = line.context("listening to the host")?.context("listening to the host")?;
                    return match line.as_str() {
                        "" => Ok(StartupOutcome::Nothing),
                        line => Ok(StartupOutcome::Ready(serde_json::from_str(line).context("reading the host's reply")?)),
                    };
                }
                _ = keyboard.recv() => return Ok(StartupOutcome::Interrupted),
                () = &mut silence, if !is_told => {
                    is_told = true;
                    stdio::progress(PREPARING);
                }
            }
        }
    });
    // The thread that reads ends with the host.
    runtime.shutdown_background();
    heard
}

/// Shows the output of a host that could not begin, as if it were this process's.
fn show_and_remove(log: &Path) {
    let mut said = Vec::new();
    let read = File::open(log).and_then(|file| file.take(LOG_SHOWN_BYTES).read_to_end(&mut said));
    if read.is_ok() && !said.is_empty() {
        stdio::progress(String::from_utf8_lossy(&said).trim_end());
    }
    // A log that is among the files of a run stays there.
    let _ = fs::remove_file(log);
}

fn print_started(
    location: &RunLocation,
    at_work: &ReadyMessage,
    child: &Child,
    launch: LaunchMode,
    format: OutputFormat,
) -> anyhow::Result<()> {
    let ReadyMessage { run, log } = at_work;
    let (flags, why) = (&location.flags, launch.why().unwrap_or_default());
    let attach = format!("baton attach {run}{flags}");
    let stop = format!("baton stop {run}{flags}");
    let document = json!({
        "schema": json_record::SCHEMA,
        "record": "launched",
        "run": run,
        "workspace": location.config.workspace.to_string_lossy(),
        "process": child.id(),
        "log": log.to_string_lossy(),
        "why": why,
        "attach": attach,
        "stop": stop,
    });
    match format {
        OutputFormat::Text => stdio::data(&format!(
            "run {run} works in the background, {why}\nlog        {}\nwatch it   {attach}\nstop it    {stop}\n",
            log.display()
        )),
        OutputFormat::Json => stdio::data(&json_record::pretty(&document)?),
        OutputFormat::Jsonl => stdio::data(&json_record::line(&document)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // A9
    #[test]
    fn long_modes_work_by_themselves_and_flags_win() {
        use LaunchMode::{Asked, Foreground, FromMode};
        for (mode, by_itself) in [
            (Mode::Eco, Foreground),
            (Mode::Turbo, Foreground),
            (Mode::Standard, Foreground),
            (Mode::Thorough, FromMode(Mode::Thorough)),
            (Mode::Swarm, FromMode(Mode::Swarm)),
        ] {
            assert_eq!(LaunchMode::of(false, false, mode), by_itself);
            assert_eq!(LaunchMode::of(true, false, mode), Asked);
            assert_eq!(LaunchMode::of(false, true, mode), Foreground);
        }
        assert!(
            FromMode(Mode::Swarm).why().is_some_and(|why| why.contains("swarm") && why.contains("--inline"))
        );
    }
}
