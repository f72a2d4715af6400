//! A client of the Agent Client Protocol. The protocol crate keeps requests and answers together; what the agent tells
//! is decoded in `baton-streams`, from the very lines, so that live and recorded streams say the same.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, Implementation, InitializeRequest, NewSessionRequest, PermissionOption,
    PermissionOptionKind, PromptRequest, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, SessionId as AcpSession, TextContent, ToolKind,
};
use agent_client_protocol::{Agent, Client, Lines};
use baton_core::SessionId;
use baton_core::facts::{AgentEvent, Capabilities, Channel, Signal};
use baton_core::workflow::Permission;
use baton_streams::{AcpDecoder, Decoder as _};
use futures::{Sink, Stream};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::{mpsc, watch};

use crate::driver::{self, AgentHandle, Command, Events, Feed, Shared};
use crate::files::Log;
use crate::launch::{DriverEvent, Launch};
use crate::process::{End, Process};

/// What the rehearsal agent can do. It has no cost and no MCP, and runs its script to the end.
pub(crate) const REHEARSAL_CAPABILITIES: Capabilities = Capabilities {
    reports_occupancy: true,
    compacts: true,
    takes_mcp: false,
    caps_turns: false,
    interrupts: true,
    reports_cost: false,
};

/// Lines under way between the streams and the protocol crate, in either direction.
const LINES: usize = 16;

/// Takes the process over. `Ready` comes when a session has been opened.
pub(crate) fn drive(
    process: Process,
    launch: &Launch,
    events: mpsc::Sender<(SessionId, DriverEvent)>,
) -> AgentHandle {
    let session = launch.spec.session.clone();
    let (handle, wiring) = driver::wire(session.clone());
    let events = Events { session, to: events };
    let Process { stdin, stdout, stderr, supervised } = process;
    let log = |name: &str| Log::create(&launch.session_dir, name);
    let (lines, to_write) = mpsc::channel(LINES);
    let (forward, forwarded) = mpsc::channel(LINES);
    let decoder = Shared::<AcpDecoder>::default();

    let (closes, closing) = wiring.closing;
    let (goes, gone) = wiring.gone;
    let feed = AcpFeed(decoder.clone());
    let outgoing = outgoing(lines, decoder, events.clone());
    let talk = talk(
        Lines::new(outgoing, incoming(forwarded)),
        wiring.commands,
        closing.clone(),
        launch.workspace.clone(),
        launch.role.permission,
    );
    let (failed, give_up, ending) = (events.clone(), wiring.give_up, closing.clone());
    let talk = tokio::spawn(async move {
        // An agent that is being ended may well hang up in the middle of a word.
        let Err(error) = talk.await else { return };
        if *ending.borrow() {
            return;
        }
        failed.send(&mut vec![connection_error(format!("the connection to the agent broke: {error}"))]).await;
        if let Some(end) = give_up.upgrade() {
            // Full: the end is under way already.
            let _ = end.try_send(End { grace: Duration::ZERO, by_host: false });
        }
    });
    tokio::spawn(driver::write(stdin, to_write, closing, log("stdin.jsonl")));
    let stderr = driver::read_stderr(stderr, &events, log("stderr.log"), gone.clone());
    let stdout = driver::read(stdout, feed, Some(forward), events.clone(), log("stdout.jsonl"), gone.clone());
    tokio::spawn(driver::conclude(vec![tokio::spawn(stdout), stderr, talk], events, gone));
    tokio::spawn(supervised.supervise(wiring.end, closes, goes));
    handle
}

/// Opens a session and sends what the host wants, until the agent is being ended.
async fn talk(
    transport: Lines<
        impl Sink<String, Error = io::Error> + Send + 'static,
        impl Stream<Item = io::Result<String>> + Send + 'static,
    >,
    mut commands: mpsc::Receiver<Command>,
    mut closing: watch::Receiver<bool>,
    workspace: PathBuf,
    permission: Permission,
) -> Result<(), agent_client_protocol::Error> {
    let cwd = workspace.clone();
    Client
        .v1()
        .name("baton")
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _connection| {
                responder.respond(RequestPermissionResponse::new(answer(&request, permission, &workspace)))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(transport, async move |agent: ConnectionTo<Agent>| {
            let opened = async {
                // No file system and no terminal is offered: an agent uses its own, in the sandbox that it has.
                let own = Implementation::new("baton", env!("CARGO_PKG_VERSION"));
                let hello = InitializeRequest::new(ProtocolVersion::V1).client_info(own);
                agent.send_request(hello).block_task().await?;
                agent.send_request(NewSessionRequest::new(cwd)).block_task().await
            };
            let session = tokio::select! {
                opened = opened => opened?.session_id,
                _ = closing.wait_for(|closing| *closing) => return Ok(()),
            };
            loop {
                let command = tokio::select! {
                    command = commands.recv() => command,
                    _ = closing.wait_for(|closing| *closing) => None,
                };
                match command {
                    Some(Command::Prompt(text)) => prompt(&agent, &session, text),
                    Some(Command::Compact(text)) => {
                        prompt(&agent, &session, format!("/compact {text}").trim_end().to_owned())
                    }
                    Some(Command::Interrupt) => {
                        agent.send_notification(CancelNotification::new(session.clone()))?
                    }
                    // The last words. An agent that is idle has nothing to cancel, and ignores them.
                    None => return agent.send_notification(CancelNotification::new(session)),
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

/// Answers a permission request from the role, never by asking somebody who is not there.
fn answer(
    request: &RequestPermissionRequest,
    permission: Permission,
    workspace: &Path,
) -> RequestPermissionOutcome {
    let fields = &request.tool_call.fields;
    let mut inside = fields.locations.iter().flatten().map(|location| is_inside(&location.path, workspace));
    let allowed = match (permission, fields.kind.unwrap_or_default()) {
        (Permission::Full, _) => true,
        (_, ToolKind::Read | ToolKind::Search | ToolKind::Think) => true,
        (Permission::Edit, ToolKind::Edit | ToolKind::Delete | ToolKind::Move) => inside.all(|inside| inside),
        _ => false,
    };
    // Once rather than for ever: the next request is answered by the same rule.
    let wanted = if allowed {
        [PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways]
    } else {
        [PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]
    };
    let find = |kind: &PermissionOptionKind| {
        request.options.iter().find(|option: &&PermissionOption| option.kind == *kind)
    };
    match wanted.iter().find_map(find) {
        Some(option) => {
            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
        }
        None => RequestPermissionOutcome::Cancelled,
    }
}

/// By its name alone, and without `..`: what a link points to is the agent's own sandbox's to hold.
fn is_inside(path: &Path, workspace: &Path) -> bool {
    !path.components().any(|part| part == std::path::Component::ParentDir)
        && (path.is_relative() || path.starts_with(workspace))
}

/// The way of the protocol crate's lines to the agent's stdin; the decoder sees them too.
fn outgoing(
    lines: mpsc::Sender<Vec<u8>>,
    decoder: Shared<AcpDecoder>,
    events: Events,
) -> impl Sink<String, Error = io::Error> + Send + 'static {
    futures::sink::unfold((lines, decoder, events), async |(lines, decoder, events), line: String| {
        let mut out = Vec::new();
        decoder.lock().sent(line.as_bytes(), &mut out);
        events.send(&mut out).await;
        let mut bytes = line.into_bytes();
        bytes.push(b'\n');
        lines.send(bytes).await.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
        Ok((lines, decoder, events))
    })
}

/// The way of the agent's lines to the protocol crate.
fn incoming(lines: mpsc::Receiver<String>) -> impl Stream<Item = io::Result<String>> + Send + 'static {
    futures::stream::unfold(lines, async |mut lines| lines.recv().await.map(|line| (Ok(line), lines)))
}

fn connection_error(text: String) -> AgentEvent {
    let channel = Channel::AgentEvent;
    let code = "acp-connection".to_owned();
    AgentEvent::Signal(Signal { channel, code, status: None, resets_at: None, retrying: false, text })
}

/// Decodes, and passes on what the protocol crate has to see: requests of the agent and answers to the host's.
struct AcpFeed(Shared<AcpDecoder>);

/// Enough of a message to tell whether it belongs to a request.
#[derive(Deserialize)]
struct Head {
    id: Option<IgnoredAny>,
}

impl Feed for AcpFeed {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Option<String> {
        self.0.lock().line(line, out);
        let head: Head = serde_json::from_slice(line).ok()?;
        head.id.and(str::from_utf8(line).ok()).map(str::to_owned)
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        self.0.lock().long_line(beginning, out);
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        self.0.lock().end(out);
    }
}
