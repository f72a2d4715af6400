//! Codex over its app server: JSON-RPC lines on stdin and stdout. Decoding is in `baton-streams`.
//!
//! A session is a thread, a prompt a turn. A compaction takes no instructions: Codex has its own, set with `-c
//! compact_prompt=…` in the role's `args`.

mod approval;

use std::ffi::OsString;
use std::path::PathBuf;

use baton_core::SessionId;
use baton_core::facts::{AgentEvent, Capabilities, ErrorSignal, SIGNAL_TEXT_BYTES, SignalSource};
use baton_core::workflow::{Permission, Role, SandboxLevel};
use baton_streams::{CodexAppServerDecoder, Decoder as _, cut};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, watch};

use crate::command_allowlist::CommandAllowlist;
use crate::driver::{self, AgentCommand, AgentEventSender, AgentHandle, LineHandler, SharedDecoder};
use crate::folder_trust::codex_untrusted_projects;
use crate::launch::{AgentLaunch, DriverEvent};
use crate::program_lookup::Invocation;
use crate::supervised_process::SupervisedProcess;

/// What the app server can do.
pub(crate) const CAPABILITIES: Capabilities = Capabilities {
    reports_occupancy: true,
    compacts: true,
    takes_mcp: true,
    caps_turns: false,
    interrupts: true,
    reports_cost: false,
};

/// Lines under way between the streams and the conversation, in either direction.
const LINES: usize = 16;

/// The request that opens the connection.
const INITIALIZE_ID: u64 = 1;

/// The request that opens the thread; those after it are counted on.
const THREAD_START_ID: u64 = 2;

/// The arguments. The role's come first: they are Codex's own, not the app server's.
pub(crate) fn arguments(role: &Role) -> Vec<OsString> {
    role.args.iter().map(String::as_str).chain(["app-server"]).map(OsString::from).collect()
}

/// How it is called.
pub(crate) fn command(program: PathBuf, role: &Role) -> Invocation {
    Invocation { program, args: arguments(role) }
}

/// Takes the process over. `Ready` comes when the thread has been started.
pub(crate) fn drive(
    process: SupervisedProcess,
    launch: &AgentLaunch,
    events: mpsc::Sender<(SessionId, DriverEvent)>,
) -> AgentHandle {
    let (handle, wiring) = driver::wire(launch.spec.session.clone(), events);
    let events = wiring.events;
    let (lines, to_write) = mpsc::channel(LINES);
    let (forward, forwarded) = mpsc::channel(LINES);
    let decoder = SharedDecoder::new(CodexAppServerDecoder::new());

    let talk = CodexConversation {
        lines,
        decoder: decoder.clone(),
        events: events.clone(),
        permission: launch.role.permission,
        commands: launch.commands(),
        workspace: launch.workspace.clone(),
        open: thread_start(launch),
        last_request_id: THREAD_START_ID,
        thread: None,
        awaited: None,
        turn: None,
        interrupt_requested: false,
    };
    let talk = talk.run(wiring.commands, forwarded, wiring.closing.clone());
    let (failed, give_up) = (events.clone(), wiring.give_up);
    let talk = tokio::spawn(async move {
        let Err(text) = talk.await else { return };
        failed.send(&mut vec![failure(&text)]).await;
        give_up.now();
    });
    let feed = CodexLineHandler(decoder);
    let streams = driver::AgentStreams { to_write, feed, forward: Some(forward) };
    driver::spawn_io_tasks(process, launch, events, wiring.life, streams, talk);
    handle
}

/// The parameters of a new thread. Actions that neither the sandbox nor the role allows are refused to the model, since no user
/// is present to be asked.
fn thread_start(launch: &AgentLaunch) -> Value {
    let sandbox = match launch.role.permission {
        Permission::ReadOnly => "read-only",
        // Its own sandbox mounts, which Landlock refuses; that of the role confines writes to the same tree.
        Permission::Edit if launch.role.sandbox.level == SandboxLevel::Write => "danger-full-access",
        Permission::Edit => "workspace-write",
        Permission::Full => "danger-full-access",
    };
    // If the role allows commands, Codex asks about commands that its sandbox would block; only the allowed ones are then
    // approved.
    let asks = !launch.role.allow.is_empty() && launch.role.permission != Permission::Full;
    let policy = if asks { "on-request" } else { "never" };
    let mut params = json!({ "cwd": launch.workspace, "approvalPolicy": policy, "sandbox": sandbox });
    if let Some(model) = &launch.role.model {
        params["model"] = json!(model);
    }
    if asks && let Some(told) = launch.commands().told() {
        params["developerInstructions"] = json!(told);
    }
    if let Some(thread) = &launch.spec.conversation {
        params["threadId"] = json!(thread);
    }
    let own = launch.tools.as_ref().map(|tools| tools.command.name.as_str());
    let servers: Map<String, Value> = launch
        .servers()
        .map(|server| {
            let mut config = json!({ "command": server.command, "args": server.args, "env": server.env });
            if own == Some(server.name.as_str()) {
                // What is reported changes nothing but the run's own journal: no role forbids that.
                config["default_tools_approval_mode"] = json!("approve");
            }
            (server.name.clone(), config)
        })
        .collect();
    let projects = codex_untrusted_projects(&launch.workspace, &launch.inherit);
    let config =
        [("mcp_servers", servers), ("projects", projects)].into_iter().filter(|(_, what)| !what.is_empty());
    let config: Map<String, Value> = config.map(|(key, what)| (key.to_owned(), what.into())).collect();
    if !config.is_empty() {
        params["config"] = config.into();
    }
    params
}

/// The conversation: tracks open requests and the running turn.
struct CodexConversation {
    lines: mpsc::Sender<Vec<u8>>,
    decoder: SharedDecoder<CodexAppServerDecoder>,
    events: AgentEventSender,
    permission: Permission,
    commands: CommandAllowlist,
    workspace: PathBuf,
    open: Value,
    /// Number of the last request.
    last_request_id: u64,
    thread: Option<String>,
    /// The request for a turn that has not been answered yet. What comes before its answer is of the turn before.
    awaited: Option<u64>,
    /// The turn under way.
    turn: Option<String>,
    /// The turn that was asked for is to be broken off as soon as it has an id.
    interrupt_requested: bool,
}

/// What happens next.
enum ConversationInput {
    Line(String),
    Command(AgentCommand),
}

/// What the conversation has to see of a line.
#[derive(Debug, Deserialize)]
struct CodexMessage {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<Value>,
}

impl CodexConversation {
    /// Until the agent is being ended. An error is a thread that could not be started.
    async fn run(
        mut self,
        mut commands: mpsc::Receiver<AgentCommand>,
        mut seen: mpsc::Receiver<String>,
        mut closing: watch::Receiver<bool>,
    ) -> Result<(), String> {
        let own = json!({ "name": "baton", "title": "Baton", "version": env!("CARGO_PKG_VERSION") });
        // What it calls experimental are fields of the threads and turns that this works with.
        let hello = json!({ "clientInfo": own, "capabilities": { "experimentalApi": true } });
        self.send(json!({ "id": INITIALIZE_ID, "method": "initialize", "params": hello })).await;
        loop {
            let next = tokio::select! {
                biased;
                _ = closing.wait_for(|closing| *closing) => break,
                // Where its stdout is closed its end will be seen.
                line = seen.recv() => line.map(ConversationInput::Line),
                command = commands.recv(), if self.thread.is_some() => command.map(ConversationInput::Command),
            };
            match next {
                Some(ConversationInput::Line(line)) => self.take(&line).await?,
                Some(ConversationInput::Command(command)) => self.on_command(command).await,
                None => break,
            }
        }
        self.interrupt_turn().await;
        Ok(())
    }

    async fn on_command(&mut self, command: AgentCommand) {
        let thread = self.thread.clone();
        match command {
            AgentCommand::Prompt(text) => {
                let input = json!([{ "type": "text", "text": text }]);
                self.start_turn("turn/start", json!({ "threadId": thread, "input": input })).await;
            }
            AgentCommand::Compact(_) => {
                self.start_turn("thread/compact/start", json!({ "threadId": thread })).await;
            }
            AgentCommand::Interrupt => {
                self.interrupt_requested = true;
                self.interrupt_turn().await;
            }
        }
    }

    /// Asks for a turn.
    async fn start_turn(&mut self, method: &str, params: Value) {
        (self.turn, self.interrupt_requested) = (None, false);
        self.awaited = Some(self.last_request_id + 1);
        self.send_request(method, params).await;
    }

    /// A turn is under way.
    async fn on_turn_started(&mut self, turn: Option<&Value>) {
        if let Some(turn) = turn.and_then(Value::as_str) {
            self.turn = Some(turn.to_owned());
            if self.interrupt_requested {
                self.interrupt_turn().await;
            }
        }
    }

    /// Interrupts the turn, if one is under way.
    async fn interrupt_turn(&mut self) {
        if let (Some(thread), Some(turn)) = (self.thread.clone(), self.turn.clone()) {
            self.interrupt_requested = false;
            self.send_request("turn/interrupt", json!({ "threadId": thread, "turnId": turn })).await;
        }
    }

    async fn take(&mut self, line: &str) -> Result<(), String> {
        let Ok(seen) = serde_json::from_str::<CodexMessage>(line) else { return Ok(()) };
        match (seen.method.as_deref(), seen.id) {
            (Some(method), Some(id)) => {
                let answer =
                    approval::answer(method, &seen.params, self.permission, &self.commands, &self.workspace);
                let answer = match answer {
                    Ok(result) => json!({ "id": id, "result": result }),
                    Err(error) => json!({ "id": id, "error": error }),
                };
                self.send(answer).await;
            }
            (Some("turn/started"), None) if self.is_own(&seen.params) && self.awaited.is_none() => {
                let turn = seen.params.pointer("/turn/id");
                // The answer to a prompt has said so already.
                if turn.and_then(Value::as_str) != self.turn.as_deref() {
                    self.on_turn_started(turn).await;
                }
            }
            (Some("turn/completed"), None) if self.is_own(&seen.params) => {
                let completed = seen.params.pointer("/turn/id").and_then(Value::as_str);
                self.turn = self.turn.take().filter(|turn| completed != Some(turn));
            }
            (Some(_), None) => {}
            (None, Some(id)) if id == INITIALIZE_ID => {
                check_response("hello", seen.error.as_ref())?;
                self.send(json!({ "method": "initialized" })).await;
                let open = std::mem::take(&mut self.open);
                let method = if open.get("threadId").is_some() { "thread/resume" } else { "thread/start" };
                self.send(json!({ "id": THREAD_START_ID, "method": method, "params": open })).await;
            }
            (None, Some(id)) if id == THREAD_START_ID => {
                check_response("the start of a thread", seen.error.as_ref())?;
                let thread = seen.result.pointer("/thread/id").and_then(Value::as_str);
                self.thread = Some(thread.ok_or("Codex started a thread and did not say which")?.to_owned());
            }
            (None, Some(id)) if self.awaited.is_some_and(|awaited| id == awaited) => {
                self.awaited = None;
                self.on_turn_started(seen.result.pointer("/turn/id")).await;
            }
            (None, _) => {}
        }
        Ok(())
    }

    /// A thread of the agent's own (a sub-agent, a review) has turns too.
    fn is_own(&self, params: &Value) -> bool {
        params.get("threadId").and_then(Value::as_str) == self.thread.as_deref()
    }

    async fn send_request(&mut self, method: &str, params: Value) {
        self.last_request_id += 1;
        let id = self.last_request_id;
        self.send(json!({ "id": id, "method": method, "params": params })).await;
    }

    /// Sends a message. If the agent is gone, its end event reports that.
    async fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let mut line = message.to_string().into_bytes();
        let mut out = Vec::new();
        self.decoder.lock().sent(&line, &mut out);
        self.events.send(&mut out).await;
        line.push(b'\n');
        let _ = self.lines.send(line).await;
    }
}

fn check_response(what: &str, error: Option<&Value>) -> Result<(), String> {
    match error {
        Some(error) => {
            let said = error.get("message").and_then(Value::as_str).unwrap_or_default();
            Err(format!("Codex refused {what}: {said}"))
        }
        None => Ok(()),
    }
}

fn failure(text: &str) -> AgentEvent {
    AgentEvent::Signal(ErrorSignal {
        channel: SignalSource::AgentEvent,
        code: "codex-app-server".to_owned(),
        status: None,
        resets_at: None,
        retrying: false,
        text: cut(text, SIGNAL_TEXT_BYTES).to_owned(),
    })
}

/// Decodes lines, and passes on those that the conversation needs.
struct CodexLineHandler(SharedDecoder<CodexAppServerDecoder>);

/// Enough of a message to tell.
#[derive(Deserialize)]
struct CodexMessageHead<'a> {
    id: Option<serde::de::IgnoredAny>,
    method: Option<std::borrow::Cow<'a, str>>,
}

impl LineHandler for CodexLineHandler {
    fn line(&mut self, line: &[u8], out: &mut Vec<AgentEvent>) -> Option<String> {
        self.0.lock().line(line, out);
        let head: CodexMessageHead<'_> = serde_json::from_slice(line).ok()?;
        let is_seen =
            head.id.is_some() || matches!(head.method.as_deref(), Some("turn/started" | "turn/completed"));
        is_seen.then(|| str::from_utf8(line).map(str::to_owned).ok()).flatten()
    }

    fn long_line(&mut self, beginning: &[u8], out: &mut Vec<AgentEvent>) {
        self.0.lock().long_line(beginning, out);
    }

    fn end(&mut self, out: &mut Vec<AgentEvent>) {
        self.0.lock().end(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_core::workflow::AgentKind;

    #[test]
    fn what_is_set_for_codex_comes_before_its_command() {
        let args = ["-c", "model_reasoning_effort=low"].map(str::to_owned).to_vec();
        let role = Role { args, ..Role::of(AgentKind::Codex) };
        assert_eq!(arguments(&role), ["-c", "model_reasoning_effort=low", "app-server"]);
    }
}
