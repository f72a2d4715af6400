//! What all drivers share: the handle that the host holds, and the tasks that read and write an agent's streams.
//! The protocols are elsewhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use baton_core::SessionId;
use baton_core::facts::{AgentEvent, ProcessExit};
use baton_streams::{LinePiece, LineSplitter, TerminalText};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::event_throttle;
use crate::launch::{AgentLaunch, DriverEvent};
use crate::session_files::SessionLog;
use crate::supervised_process::{EndRequest, SupervisedProcess};

/// Commands under way to an agent. One prompt is given at a time, so more than a few mean that the driver does not take them.
const COMMANDS: usize = 16;

/// How much of a stream is read at a time: the capacity of a pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// How long a stream may stay open after all processes of the agent are gone.
const STREAM_DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the last words to an agent may take before its stdin is closed on them.
const FINAL_WRITE_TIMEOUT: Duration = Duration::from_millis(250);

/// What the host wants of an agent.
#[derive(Debug)]
pub(crate) enum AgentCommand {
    Prompt(String),
    Compact(String),
    Interrupt,
}

/// Why an agent was not told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// Its process is gone, or is being ended.
    #[error("the agent of {0} has ended: nothing can be sent to it")]
    Gone(SessionId),
    /// It takes nothing from its stdin.
    #[error("the agent of {0} does not read its stdin: earlier input is still waiting")]
    Busy(SessionId),
}

/// Talks to one agent. Dropping it ends the agent at once.
#[derive(Debug)]
pub struct AgentHandle {
    session: SessionId,
    commands: mpsc::Sender<AgentCommand>,
    end: mpsc::Sender<EndRequest>,
    gone: watch::Receiver<Option<ProcessExit>>,
}

impl AgentHandle {
    /// Sends a prompt. Returns when the agent has it under way; the results come as events.
    pub async fn prompt(&self, text: String) -> Result<(), DriverError> {
        self.send(AgentCommand::Prompt(text))
    }

    /// Asks for a compaction. Ends in `Compacted` or `CompactionFailed`, and in no `PromptEnded`.
    pub async fn compact(&self, instructions: String) -> Result<(), DriverError> {
        self.send(AgentCommand::Compact(instructions))
    }

    /// Breaks off the prompt that the agent works on; `PromptEnded` follows.
    pub async fn interrupt(&self) -> Result<(), DriverError> {
        self.send(AgentCommand::Interrupt)
    }

    /// Ends the agent: closes its stdin and gives it `grace` to end by itself, then SIGTERM to everything it started,
    /// then SIGKILL. Returns when all of it is gone. Called
    /// again it cuts the grace short. [`DriverEvent::Exited`] comes as well.
    pub async fn end(&self, grace: Duration) {
        // Full or closed: the end is under way already.
        let _ = self.end.try_send(EndRequest { grace, by_host: true });
        let _ = self.gone.clone().wait_for(Option::is_some).await;
    }

    fn send(&self, command: AgentCommand) -> Result<(), DriverError> {
        self.commands.try_send(command).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => DriverError::Busy(self.session.clone()),
            mpsc::error::TrySendError::Closed(_) => DriverError::Gone(self.session.clone()),
        })
    }
}

/// The channels that a driver's conversation needs besides the streams.
#[derive(Debug)]
pub(crate) struct DriverChannels {
    pub(crate) commands: mpsc::Receiver<AgentCommand>,
    pub(crate) give_up: AgentAbortHandle,
    /// True from when the agent is being ended.
    pub(crate) closing: watch::Receiver<bool>,
    pub(crate) life: AgentLifecycle,
    pub(crate) events: AgentEventSender,
}

/// Asks for an agent's end without keeping it alive.
#[derive(Debug)]
pub(crate) struct AgentAbortHandle(mpsc::WeakSender<EndRequest>);

impl AgentAbortHandle {
    pub(crate) fn now(&self) {
        if let Some(end) = self.0.upgrade() {
            // Full: the end is under way already.
            let _ = end.try_send(EndRequest { grace: Duration::ZERO, by_host: false });
        }
    }
}

/// What the end of an agent goes through; [`spawn_io_tasks`] takes it.
#[derive(Debug)]
pub(crate) struct AgentLifecycle {
    end: mpsc::Receiver<EndRequest>,
    closing: (watch::Sender<bool>, watch::Receiver<bool>),
    gone: (watch::Sender<Option<ProcessExit>>, watch::Receiver<Option<ProcessExit>>),
}

/// A handle, and the ends that its tasks hold. Events go to the host through a bounded [`flow`].
pub(crate) fn wire(
    session: SessionId,
    host: mpsc::Sender<(SessionId, DriverEvent)>,
) -> (AgentHandle, DriverChannels) {
    let (commands, takes) = mpsc::channel(COMMANDS);
    let (end, ends) = mpsc::channel(1);
    let (closing, gone) = (watch::channel(false), watch::channel(None));
    let give_up = AgentAbortHandle(end.downgrade());
    let events = AgentEventSender(event_throttle::start(session.clone(), host, closing.1.clone()));
    let handle = AgentHandle { session, commands, end, gone: gone.1.clone() };
    let closes = closing.1.clone();
    let life = AgentLifecycle { end: ends, closing, gone };
    (handle, DriverChannels { commands: takes, give_up, closing: closes, life, events })
}

/// Sends a session's events to the host. Waits if the host is slow, so the agent waits too.
#[derive(Clone, Debug)]
pub(crate) struct AgentEventSender(mpsc::Sender<DriverEvent>);

impl AgentEventSender {
    pub(crate) async fn send(&self, events: &mut Vec<AgentEvent>) {
        for event in events.drain(..) {
            // The receiver is gone: the host is closing down, and the stream is read on only to let the agent end.
            let _ = self.0.send(DriverEvent::Event(event)).await;
        }
    }

    async fn exited(&self, exit: ProcessExit) {
        let _ = self.0.send(DriverEvent::Exited(exit)).await;
    }
}

/// A decoder that both directions of a protocol look at.
#[derive(Debug)]
pub(crate) struct SharedDecoder<D>(Arc<Mutex<D>>);

impl<D> Clone for SharedDecoder<D> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<D> SharedDecoder<D> {
    pub(crate) fn new(shared: D) -> Self {
        Self(Arc::new(Mutex::new(shared)))
    }

    /// Never held across a wait. A decoder whose thread panicked is still whole enough to read on.
    pub(crate) fn lock(&self) -> MutexGuard<'_, D> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What becomes of an agent's lines.
pub(crate) trait LineHandler: Send + 'static {
    /// Takes a line: appends its events to `out`, and returns a line that the driver itself needs.
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Option<String>;
    /// Takes the beginning of a line that was too long.
    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>);
    /// The stream is over.
    fn end(&mut self, out: &mut Vec<AgentEvent>);
}

/// Lines of a stream for [`LineHandler`], as they are decoded; also used for stderr, which has no protocol.
struct StderrLineHandler(TerminalText);

impl LineHandler for StderrLineHandler {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Option<String> {
        self.0.line(line, out);
        None
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        self.0.line(beginning, out);
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        self.0.end(out);
    }
}

/// The lines of an agent, in both directions.
pub(crate) struct AgentStreams<F> {
    /// To its stdin, until the sender is gone.
    pub(crate) to_write: mpsc::Receiver<Vec<u8>>,
    /// What becomes of its stdout.
    pub(crate) feed: F,
    /// Receives the lines that the driver itself needs.
    pub(crate) forward: Option<mpsc::Sender<String>>,
}

/// Starts everything that an agent's process needs until it is gone: its streams with their logs, its supervisor, and
/// the word to the host that it is over, once the conversation and the streams have said all they have to say.
pub(crate) fn spawn_io_tasks(
    process: SupervisedProcess,
    launch: &AgentLaunch,
    events: AgentEventSender,
    life: AgentLifecycle,
    streams: AgentStreams<impl LineHandler>,
    talk: JoinHandle<()>,
) {
    let SupervisedProcess { stdin, stdout, stderr, supervised } = process;
    let AgentLifecycle { end, closing: (closes, closing), gone: (goes, gone) } = life;
    let AgentStreams { to_write, feed, forward } = streams;
    let log = |name: &str| SessionLog::create(&launch.session_dir, name, launch.mask);
    tokio::spawn(write(stdin, to_write, closing, log("stdin.jsonl")));
    let stderr = read_stderr(stderr, &events, log("stderr.log"), gone.clone());
    let stdout = read(stdout, feed, forward, events.clone(), log("stdout.jsonl"), gone.clone());
    tokio::spawn(report_exit(vec![tokio::spawn(stdout), stderr, talk], events, gone));
    tokio::spawn(supervised.supervise(end, closes, goes));
}

/// Reads a stream to its end.
async fn read(
    mut stream: impl AsyncRead + Unpin,
    mut feed: impl LineHandler,
    forward: Option<mpsc::Sender<String>>,
    events: AgentEventSender,
    mut log: SessionLog,
    mut gone: watch::Receiver<Option<ProcessExit>>,
) {
    let mut lines = LineSplitter::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let (mut out, mut forwarded) = (Vec::new(), Vec::new());
    loop {
        let late = async {
            // An error means that the supervisor itself is gone, which comes to the same.
            let _ = gone.wait_for(Option::is_some).await;
            tokio::time::sleep(STREAM_DRAIN_TIMEOUT).await;
        };
        let read = tokio::select! {
            biased;
            read = stream.read(&mut chunk) => read,
            () = late => Ok(0),
        };
        let Ok(bytes @ 1..) = read else { break };
        log.write(&chunk[..bytes]);
        lines.push(&chunk[..bytes], |piece| match piece {
            LinePiece::Line(line) => forwarded.extend(feed.line(line, &mut out)),
            LinePiece::TooLong(beginning) => feed.long_line(beginning, &mut out),
        });
        events.send(&mut out).await;
        for line in forwarded.drain(..) {
            if let Some(forward) = &forward {
                // The protocol's task may have ended before the stream.
                let _ = forward.send(line).await;
            }
        }
    }
    lines.end(|piece| match piece {
        LinePiece::Line(line) => drop(feed.line(line, &mut out)),
        LinePiece::TooLong(beginning) => feed.long_line(beginning, &mut out),
    });
    feed.end(&mut out);
    events.send(&mut out).await;
}

/// Reads stderr: a log, and terminal text for the policy.
fn read_stderr(
    stderr: impl AsyncRead + Unpin + Send + 'static,
    events: &AgentEventSender,
    log: SessionLog,
    gone: watch::Receiver<Option<ProcessExit>>,
) -> JoinHandle<()> {
    tokio::spawn(read(stderr, StderrLineHandler(TerminalText::new()), None, events.clone(), log, gone))
}

/// Writes lines to an agent until their sender is gone, or the agent is being ended; then closes its stdin.
async fn write(
    mut stdin: ChildStdin,
    mut lines: mpsc::Receiver<Vec<u8>>,
    mut closing: watch::Receiver<bool>,
    mut log: SessionLog,
) {
    let closed = async {
        let _ = closing.wait_for(|closing| *closing).await;
        tokio::time::sleep(FINAL_WRITE_TIMEOUT).await;
    };
    tokio::pin!(closed);
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            () = &mut closed => None,
        };
        let Some(line) = line else { return };
        log.write(&line);
        tokio::select! {
            written = stdin.write_all(&line) => if written.is_err() { return },
            () = &mut closed => return,
        }
    }
}

/// Tells the host that a session is over, when everything that has events has given them and the processes are gone.
async fn report_exit(
    tasks: Vec<JoinHandle<()>>,
    events: AgentEventSender,
    mut gone: watch::Receiver<Option<ProcessExit>>,
) {
    for task in tasks {
        // A task that panicked has lost its own words only.
        let _ = task.await;
    }
    let exit = gone.wait_for(Option::is_some).await.ok().and_then(|exit| *exit);
    events.exited(exit.unwrap_or(ProcessExit { code: None, signal: None, by_host: false })).await;
}
