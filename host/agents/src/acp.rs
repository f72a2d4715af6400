//! A client of the Agent Client Protocol, for every agent that speaks it. The protocol crate keeps requests and answers
//! together; what the agent tells is decoded in `baton-streams`, from the very lines, so that live and recorded streams
//! say the same.

mod edit_path;
mod line_handler;
mod permission;
mod request_input;
mod session_setup;
mod told_calls;

use std::io;
use std::path::PathBuf;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, CloseSessionRequest, ContentBlock, PromptRequest, RequestPermissionRequest,
    SessionId as AcpSession, TextContent,
};
use agent_client_protocol::{Agent, Client, Lines};
use baton_core::SessionId;
use baton_core::facts::{AgentEvent, Capabilities, ErrorSignal, SignalSource};
use baton_core::workflow::{CommandLine, Role};
use futures::{Sink, Stream};
use tokio::sync::{mpsc, watch};

pub(crate) use self::edit_path::real_path;

use self::line_handler::{AcpLineHandler, AcpProtocolState, CompactionSupport};
use self::session_setup::{AcpSessionOptions, OpenedAcpSession, open};
use crate::driver::{self, AgentCommand, AgentEventSender, AgentHandle, SharedDecoder};
use crate::launch::{AgentLaunch, DriverEvent};
use crate::program_lookup::Invocation;
use crate::supervised_process::SupervisedProcess;

/// What the rehearsal agent can do. It has no cost, and runs its script to the end.
pub(crate) const REHEARSAL_CAPABILITIES: Capabilities = Capabilities {
    reports_occupancy: true,
    compacts: true,
    takes_mcp: true,
    caps_turns: false,
    interrupts: true,
    reports_cost: false,
};

/// What the protocol asks of every agent: that a prompt can be cancelled, and that it takes MCP servers over stdio. Of
/// the rest an agent tells when it has opened a session.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    reports_occupancy: false,
    compacts: false,
    takes_mcp: true,
    caps_turns: false,
    interrupts: true,
    reports_cost: false,
};

/// Lines under way between the streams and the protocol crate, in either direction.
const LINES: usize = 16;

/// How an agent is called: as its command says.
pub(crate) fn command(program: PathBuf, command: &CommandLine, role: &Role) -> Invocation {
    Invocation { program, args: command.args().iter().chain(&role.args).map(Into::into).collect() }
}

/// Takes the process over. `Ready` comes when a session has been opened.
pub(crate) fn drive(
    process: SupervisedProcess,
    launch: &AgentLaunch,
    capabilities: Capabilities,
    events: mpsc::Sender<(SessionId, DriverEvent)>,
) -> AgentHandle {
    let (handle, wiring) = driver::wire(launch.spec.session.clone(), events);
    let events = wiring.events;
    let (lines, to_write) = mpsc::channel(LINES);
    let (forward, forwarded) = mpsc::channel(LINES);
    let protocol = SharedDecoder::new(AcpProtocolState::new(capabilities));

    let feed = AcpLineHandler(protocol.clone());
    let outgoing = outgoing(lines, protocol.clone(), events.clone());
    let talk = talk(
        Lines::new(outgoing, incoming(forwarded)),
        wiring.commands,
        wiring.closing.clone(),
        AcpSessionOptions::of(launch),
        protocol,
        events.clone(),
    );
    let (failed, give_up, ending) = (events.clone(), wiring.give_up, wiring.closing.clone());
    let talk = tokio::spawn(async move {
        let text = match talk.await {
            Ok(Ok(())) => return,
            Ok(Err(refused)) => refused,
            // An error may carry its data, over several lines.
            Err(error) => {
                let said = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
                format!("the connection to the agent broke: {said}")
            }
        };
        // An agent that is being ended may well hang up in the middle of a word.
        if *ending.borrow() {
            return;
        }
        failed.send(&mut vec![connection_error(text)]).await;
        give_up.now();
    });
    let streams = driver::AgentStreams { to_write, feed, forward: Some(forward) };
    driver::spawn_io_tasks(process, launch, events, wiring.life, streams, talk);
    handle
}

/// Opens a session and sends what the host wants, until the agent is being ended. The inner error says why an agent that
/// is well connected cannot be worked with.
async fn talk(
    transport: Lines<
        impl Sink<String, Error = io::Error> + Send + 'static,
        impl Stream<Item = io::Result<String>> + Send + 'static,
    >,
    mut commands: mpsc::Receiver<AgentCommand>,
    mut closing: watch::Receiver<bool>,
    opening: AcpSessionOptions,
    protocol: SharedDecoder<AcpProtocolState>,
    events: AgentEventSender,
) -> Result<Result<(), String>, agent_client_protocol::Error> {
    let allowed = permission::AcpPermissions {
        permission: opening.permission,
        commands: opening.commands.clone(),
        workspace: opening.workspace.clone(),
        own_server: opening.own_server.clone(),
        protocol_state: protocol.clone(),
    };
    Client
        .v1()
        .name("baton")
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _connection| {
                responder.respond(allowed.answer(&request))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(transport, async move |agent: ConnectionTo<Agent>| {
            let opened = tokio::select! {
                opened = open(&agent, &opening) => opened?,
                _ = closing.wait_for(|closing| *closing) => return Ok(Ok(())),
            };
            let OpenedAcpSession { session, closes } = match opened {
                Ok(opened) => opened,
                Err(refused) => return Ok(Err(refused)),
            };
            loop {
                let command = tokio::select! {
                    command = commands.recv() => command,
                    _ = closing.wait_for(|closing| *closing) => None,
                };
                match command {
                    Some(AgentCommand::Prompt(text)) => prompt(&agent, &session, text),
                    Some(AgentCommand::Compact(text)) => {
                        let compaction = protocol.lock().compaction;
                        match compaction {
                            Some(CompactionSupport::WithInstructions) => {
                                prompt(&agent, &session, format!("/compact {text}").trim_end().to_owned());
                            }
                            Some(CompactionSupport::WithoutInstructions) => {
                                prompt(&agent, &session, "/compact".to_owned())
                            }
                            None => {
                                let text = "the agent lists no command `compact`".to_owned();
                                events.send(&mut vec![AgentEvent::CompactionFailed { text }]).await;
                            }
                        }
                    }
                    Some(AgentCommand::Interrupt) => {
                        agent.send_notification(CancelNotification::new(session.clone()))?
                    }
                    // The last words. An agent that is idle has nothing to cancel, and ignores them.
                    None => {
                        agent.send_notification(CancelNotification::new(session.clone()))?;
                        if closes {
                            agent.send_request(CloseSessionRequest::new(session)).detach();
                        }
                        return Ok(Ok(()));
                    }
                }
            }
        })
        .await
}

/// Sends a prompt. Its answer comes through the decoder, as in a recording.
fn prompt(agent: &ConnectionTo<Agent>, session: &AcpSession, text: String) {
    let content = vec![ContentBlock::Text(TextContent::new(text))];
    agent.send_request(PromptRequest::new(session.clone(), content)).detach();
}

/// The way of the protocol crate's lines to the agent's stdin; the decoder sees them too.
fn outgoing(
    lines: mpsc::Sender<Vec<u8>>,
    protocol: SharedDecoder<AcpProtocolState>,
    events: AgentEventSender,
) -> impl Sink<String, Error = io::Error> + Send + 'static {
    futures::sink::unfold((lines, protocol, events), async |(lines, protocol, events), line: String| {
        let mut out = Vec::new();
        protocol.lock().sent(line.as_bytes(), &mut out);
        events.send(&mut out).await;
        let mut bytes = line.into_bytes();
        bytes.push(b'\n');
        lines.send(bytes).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok((lines, protocol, events))
    })
}

/// The way of the agent's lines to the protocol crate.
fn incoming(lines: mpsc::Receiver<String>) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    futures::stream::unfold(lines, async |mut lines| lines.recv().await.map(|line| (Ok(line), lines)))
}

fn connection_error(text: String) -> AgentEvent {
    let channel = SignalSource::AgentEvent;
    let code = "acp-connection".to_owned();
    AgentEvent::Signal(ErrorSignal { channel, code, status: None, resets_at: None, retrying: false, text })
}
