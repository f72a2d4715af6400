//! Any program: a prompt goes in, text comes out. What the text says is decoded in `baton-streams`.
//!
//! A prompt is one run of the program, and the next prompt another: it remembers nothing in between, so the workspace and
//! the prompt are all it has. The session is that of the relay, which stays.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use baton_core::SessionId;
use baton_core::facts::{AgentEvent, Capabilities, ErrorSignal, SIGNAL_TEXT_BYTES, SignalSource, TokenUsage};
use baton_core::workflow::{CommandLine, PromptDelivery, Role};
use baton_streams::{PlainDecoder, StreamDecoder, cut};
use tokio::sync::{mpsc, watch};

use crate::driver::{self, AgentCommand, AgentEventSender, AgentHandle, LineHandler};
use crate::launch::{AgentLaunch, DriverEvent};
use crate::program_lookup::Invocation;
use crate::relay::protocol::{ProgramExit, RunnerCommand, RunnerEvent};
use crate::supervised_process::SupervisedProcess;

/// What can be done with a program of which nothing is known.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    reports_occupancy: false,
    compacts: false,
    takes_mcp: false,
    caps_turns: false,
    interrupts: true,
    reports_cost: false,
};

/// Lines under way to the relay; each command is one.
const LINES: usize = 16;

/// The stop reason of a program that says with its exit code that it is done.
const COMPLETED: &str = "completed";

/// How the relay is called for this session.
pub(crate) fn command(own_exe: &Path, program: PathBuf, command: &CommandLine, role: &Role) -> Invocation {
    let mut args: Vec<OsString> = vec!["__relay".into()];
    if role.pty {
        args.push("--terminal".into());
    }
    if role.prompt == PromptDelivery::Argument {
        args.push("--argument".into());
    }
    args.extend(["--".into(), program.into_os_string()]);
    args.extend(command.args().iter().chain(&role.args).map(OsString::from));
    Invocation { program: own_exe.to_owned(), args }
}

/// Takes the process over. `Ready` is sent when the relay is up.
pub(crate) fn drive(
    process: SupervisedProcess,
    launch: &AgentLaunch,
    events: mpsc::Sender<(SessionId, DriverEvent)>,
) -> AgentHandle {
    let (handle, wiring) = driver::wire(launch.spec.session.clone(), events);
    let events = wiring.events;
    let (lines, to_write) = mpsc::channel(LINES);

    let talk = tokio::spawn(talk(wiring.commands, lines, events.clone(), wiring.closing.clone()));
    let feed = CommandOutputHandler::default();
    let streams = driver::AgentStreams { to_write, feed, forward: None };
    driver::spawn_io_tasks(process, launch, events, wiring.life, streams, talk);
    handle
}

/// Turns commands into lines until the agent is being ended.
async fn talk(
    mut commands: mpsc::Receiver<AgentCommand>,
    lines: mpsc::Sender<Vec<u8>>,
    events: AgentEventSender,
    mut closing: watch::Receiver<bool>,
) {
    loop {
        let command = tokio::select! {
            command = commands.recv() => command,
            _ = closing.wait_for(|closing| *closing) => None,
        };
        let wanted = match command {
            Some(AgentCommand::Prompt(text)) => RunnerCommand::Prompt(text),
            Some(AgentCommand::Interrupt) => RunnerCommand::Interrupt,
            Some(AgentCommand::Compact(_)) => {
                let text = "a program keeps no context that could be compacted".to_owned();
                events.send(&mut vec![AgentEvent::CompactionFailed { text }]).await;
                continue;
            }
            None => return,
        };
        // Neither a text nor a word can fail to become JSON.
        let mut line = serde_json::to_vec(&wanted).unwrap_or_default();
        line.push(b'\n');
        if lines.send(line).await.is_err() {
            return;
        }
    }
}

/// Unpacks the relay's messages, and passes the program's output to its decoder.
struct CommandOutputHandler {
    decoder: StreamDecoder<PlainDecoder>,
    capabilities: Capabilities,
    /// The run has told of a model call.
    turn_reported: bool,
}

impl Default for CommandOutputHandler {
    fn default() -> Self {
        Self {
            decoder: StreamDecoder::new(PlainDecoder::new()),
            capabilities: CAPABILITIES,
            turn_reported: false,
        }
    }
}

impl CommandOutputHandler {
    /// The stream of a run is over; another run is another stream.
    fn end_run(&mut self, out: &mut Vec<AgentEvent>) {
        let before = out.len();
        std::mem::take(&mut self.decoder).end(out);
        self.learn(before, out);
    }

    /// What a program has once reported it can report.
    fn learn(&mut self, before: usize, out: &mut Vec<AgentEvent>) {
        let mut told = self.capabilities;
        for event in &out[before..] {
            match event {
                AgentEvent::Occupancy { used_tokens: Some(_), .. } => told.reports_occupancy = true,
                AgentEvent::Turn { billed, .. } => {
                    self.turn_reported = true;
                    told.reports_cost |= billed.cost_microusd.is_some();
                }
                AgentEvent::Billing(TokenUsage { cost_microusd: Some(_), .. }) => told.reports_cost = true,
                _ => {}
            }
        }
        if told != self.capabilities {
            self.capabilities = told;
            out.insert(before, AgentEvent::Capabilities(told));
        }
    }

    fn told(&mut self, told: RunnerEvent, out: &mut Vec<AgentEvent>) {
        match told {
            RunnerEvent::Ready => {
                out.push(AgentEvent::Ready { agent_session: None, model: None, version: None })
            }
            RunnerEvent::Out(text) => {
                let before = out.len();
                self.decoder.push(text.as_bytes(), out);
                self.learn(before, out);
            }
            RunnerEvent::Ended(ended) => {
                self.end_run(out);
                // If a program reports no model call, one is assumed.
                if !std::mem::take(&mut self.turn_reported) && ended.error.is_none() {
                    out.push(AgentEvent::Turn { used_tokens: None, billed: TokenUsage::default() });
                }
                if let Some(error) = &ended.error {
                    out.push(signal("not-started", error));
                }
                let (stop_reason, is_error) = stop_reason(&ended);
                out.push(AgentEvent::PromptEnded { stop_reason, is_error });
            }
        }
    }
}

/// Why a run is over, and whether that is an error.
fn stop_reason(ended: &ProgramExit) -> (String, bool) {
    match ended {
        ProgramExit { interrupted: true, .. } => ("interrupted".to_owned(), true),
        ProgramExit { error: Some(_), .. } => ("not-started".to_owned(), true),
        ProgramExit { code: Some(0), .. } => (COMPLETED.to_owned(), false),
        ProgramExit { code: Some(code), .. } => (format!("exit {code}"), true),
        ProgramExit { signal: Some(signal), .. } => (format!("signal {signal}"), true),
        ProgramExit { .. } => ("gone".to_owned(), true),
    }
}

fn signal(code: &str, text: &str) -> AgentEvent {
    AgentEvent::Signal(ErrorSignal {
        channel: SignalSource::AgentEvent,
        code: code.to_owned(),
        status: None,
        resets_at: None,
        retrying: false,
        text: cut(text, SIGNAL_TEXT_BYTES).to_owned(),
    })
}

impl LineHandler for CommandOutputHandler {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Option<String> {
        // The relay writes nothing else; a line that was cut off by its end says nothing.
        if let Ok(told) = serde_json::from_slice(line) {
            self.told(told, out);
        }
        None
    }

    fn long_line(&mut self, _beginning: &[u8], out: &mut Vec<AgentEvent>) {
        out.push(signal("line-too-long", "the relay wrote a line that is longer than any it writes"));
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        self.end_run(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_core::workflow::AgentKind;

    #[test]
    fn the_program_is_called_as_it_is_written() {
        let agent: AgentKind = "process:./agent.sh 'two words'".parse().unwrap();
        let line = agent.command().unwrap();
        let role = Role {
            pty: true,
            prompt: PromptDelivery::Argument,
            args: vec!["--fast".to_owned()],
            ..Role::of(agent.clone())
        };
        let called = command(Path::new("/bin/baton"), "/w/agent.sh".into(), line, &role);
        let args: Vec<&str> = called.args.iter().map(|arg| arg.to_str().unwrap()).collect();
        assert_eq!(args, ["__relay", "--terminal", "--argument", "--", "/w/agent.sh", "two words", "--fast"]);
        let called = command(Path::new("/bin/baton"), "/w/agent.sh".into(), line, &Role::of(agent.clone()));
        assert_eq!(called.args[1], "--");
    }

    #[test]
    fn an_exit_code_says_whether_it_went_well() {
        let said = |ended: ProgramExit| stop_reason(&ended);
        assert_eq!(
            said(ProgramExit { code: Some(0), ..ProgramExit::default() }),
            ("completed".to_owned(), false)
        );
        assert_eq!(
            said(ProgramExit { code: Some(3), ..ProgramExit::default() }),
            ("exit 3".to_owned(), true)
        );
        assert_eq!(
            said(ProgramExit { signal: Some(9), ..ProgramExit::default() }),
            ("signal 9".to_owned(), true)
        );
        let interrupted = ProgramExit { code: Some(0), interrupted: true, ..ProgramExit::default() };
        assert_eq!(said(interrupted), ("interrupted".to_owned(), true));
    }
}
