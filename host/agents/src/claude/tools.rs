//! Baton's own tools over Claude Code's own streams: an MCP server of the type `sdk`, whose messages come as control requests
//! on stdout and are answered on stdin. Carries messages; the server interprets them. A permission request of Claude Code is a
//! control request too.

use std::collections::HashMap;

use baton_core::facts::{AgentEvent, SIGNAL_TEXT_BYTES};
use baton_streams::cut;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;

use super::line;
use crate::command_allowlist::CommandAllowlist;
use crate::launch::{BatonToolServer, McpServer};

/// Subtype of the requests that carry a message.
const MESSAGE: &str = "mcp_message";

/// Subtype of the requests for a permission.
const PERMISSION: &str = "can_use_tool";

/// The value of `--mcp-config`: the server of Baton's own tools inside the host, others as programs. None if there are no
/// servers.
pub(super) fn config(own: Option<&str>, others: &[McpServer]) -> Option<Value> {
    let own = own.map(|name| (name.to_owned(), json!({ "type": "sdk", "name": name })));
    let others = others.iter().map(|server| {
        let config = json!({ "command": server.command, "args": server.args, "env": server.env });
        (server.name.clone(), config)
    });
    let servers: Map<String, Value> = own.into_iter().chain(others).collect();
    (!servers.is_empty()).then(|| json!({ "mcpServers": servers }))
}

/// Whether a line is a request to the host; most lines are none, and are not read twice.
pub(super) fn is_request(line: &[u8]) -> bool {
    line.starts_with(b"{\"type\":\"control_request\"")
}

/// Claude Code's tool for commands.
const COMMANDS: &str = "Bash";

/// Answers the permission requests of Claude Code, without a user. Baton's own tools are allowed, since they only change the
/// run's own journal, and so are the commands that the role names. Any other request exceeds the role's permission, or Claude
/// Code would not have asked.
#[derive(Clone, Debug)]
pub(super) struct ToolPermissions {
    own: String,
    commands: CommandAllowlist,
}

impl ToolPermissions {
    pub(super) fn new(own: &str, commands: CommandAllowlist) -> Self {
        Self { own: own.to_owned(), commands }
    }

    fn is_own(&self, tool: &str) -> bool {
        let tool = tool.strip_prefix("mcp__").and_then(|tool| tool.strip_prefix(&self.own));
        tool.is_some_and(|tool| tool.starts_with("__"))
    }

    fn allows(&self, tool: &str, input: &Value) -> bool {
        self.is_own(tool) || tool == COMMANDS && self.commands.allow_call(input)
    }

    fn answer(&self, tool: &str, input: Value) -> Value {
        if self.allows(tool, &input) {
            return json!({ "behavior": "allow", "updatedInput": input });
        }
        let allowed = self.commands.patterns.iter().chain(&self.commands.exact);
        let allowed: Vec<&str> = allowed.map(String::as_str).collect();
        let only = match allowed.as_slice() {
            [] => String::new(),
            allowed => {
                format!(". Commands that it allows, one at a time and as they are: {}", allowed.join("; "))
            }
        };
        let message = format!(
            "the role of this session does not allow this {tool}, and nobody is there to be asked{only}"
        );
        json!({ "behavior": "deny", "message": message })
    }

    /// Tells of a call that was refused.
    pub(super) fn on_permission_request(&self, line: &[u8], out: &mut Vec<AgentEvent>) {
        let Ok(ClaudeControlRequest { request, .. }) = serde_json::from_slice::<ClaudeControlRequest>(line)
        else {
            return;
        };
        let (tool, input) = (request.tool_name, request.input);
        if request.subtype != PERMISSION || self.allows(&tool, &input) {
            return;
        }
        let named = ["command", "file_path", "url", "path"].iter().find_map(|key| input.get(key)?.as_str());
        let title = named.map_or_else(|| tool.clone(), |named| format!("{tool} {named}"));
        let title = cut(&title, SIGNAL_TEXT_BYTES).to_owned();
        out.extend([
            AgentEvent::ApprovalRequested { title },
            AgentEvent::ApprovalResolved { allowed: false },
        ]);
    }
}

/// A control request of the agent.
#[derive(Deserialize)]
struct ClaudeControlRequest {
    request_id: String,
    request: ControlRequestBody,
}

#[derive(Deserialize)]
struct ControlRequestBody {
    subtype: String,
    #[serde(default)]
    server_name: String,
    #[serde(default)]
    message: Value,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    input: Value,
}

/// Carries messages between the agent and the server until the agent's stdout is read to its end.
pub(super) async fn relay(
    own: BatonToolServer,
    permits: ToolPermissions,
    mut asked: mpsc::Receiver<String>,
    to_agent: mpsc::WeakSender<Vec<u8>>,
) {
    let mut relay = McpMessageRelay { own, permits, to_agent, pipe: None, pending: HashMap::new() };
    loop {
        tokio::select! {
            line = asked.recv() => match line {
                Some(line) => relay.ask(&line).await,
                None => return,
            },
            answer = relay.answer(), if relay.pipe.is_some() => relay.take(answer).await,
        }
    }
}

struct McpMessageRelay {
    own: BatonToolServer,
    permits: ToolPermissions,
    to_agent: mpsc::WeakSender<Vec<u8>>,
    pipe: Option<McpConnection>,
    /// Control requests under way, by the id of the message in them.
    pending: HashMap<String, String>,
}

/// A connection to the server.
struct McpConnection {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    /// The part of a line that was read: an interrupted read continues from there.
    line: Vec<u8>,
}

impl McpMessageRelay {
    /// A request of the agent.
    async fn ask(&mut self, line: &str) {
        let Ok(ClaudeControlRequest { request_id, request }) = serde_json::from_str(line) else { return };
        let ControlRequestBody { subtype, server_name, message, tool_name, input } = request;
        match subtype.as_str() {
            MESSAGE => {}
            PERMISSION => {
                let decision = self.permits.answer(&tool_name, input);
                let response =
                    json!({ "subtype": "success", "request_id": request_id, "response": decision });
                return self.respond(response).await;
            }
            _ => return,
        }
        if server_name != self.own.command.name {
            let error = format!("baton serves no MCP server {server_name:?}");
            return self
                .respond(json!({ "subtype": "error", "request_id": request_id, "error": error }))
                .await;
        }
        // Each connection of the agent begins with a handshake, and a server takes one.
        if message["method"] == "initialize" || self.pipe.is_none() {
            let (read, write) = tokio::io::split(self.own.connect.open());
            self.pipe = Some(McpConnection { read: BufReader::new(read), write, line: Vec::new() });
        }
        match message.get("id") {
            Some(id) => drop(self.pending.insert(id.to_string(), request_id)),
            // A notification has no answer, but the request that carries it has.
            None => self.succeed(request_id, json!({ "jsonrpc": "2.0", "result": {}, "id": 0 })).await,
        }
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        if let Some(pipe) = &mut self.pipe
            && pipe.write.write_all(&line).await.is_err()
        {
            self.take(None).await;
        }
    }

    /// The next message of the server; None when it is gone. May be broken off and called again.
    async fn answer(&mut self) -> Option<Value> {
        let pipe = self.pipe.as_mut()?;
        loop {
            let read = pipe.read.read_until(b'\n', &mut pipe.line).await;
            if !read.is_ok_and(|bytes| bytes > 0) {
                return None;
            }
            let line = std::mem::take(&mut pipe.line);
            if let Ok(message) = serde_json::from_slice(&line) {
                return Some(message);
            }
        }
    }

    /// Passes an answer to the agent. Other messages of a server are not passed on to Claude Code.
    async fn take(&mut self, message: Option<Value>) {
        let Some(message) = message else {
            self.pipe = None;
            for (_, request_id) in std::mem::take(&mut self.pending) {
                let error = "the host is ending";
                self.respond(json!({ "subtype": "error", "request_id": request_id, "error": error })).await;
            }
            return;
        };
        let id = message.get("id").filter(|_| message.get("method").is_none());
        if let Some(request_id) = id.and_then(|id| self.pending.remove(&id.to_string())) {
            self.succeed(request_id, message).await;
        }
    }

    async fn succeed(&self, request_id: String, message: Value) {
        let response = json!({ "mcp_response": message });
        self.respond(json!({ "subtype": "success", "request_id": request_id, "response": response })).await;
    }

    async fn respond(&self, response: Value) {
        if let Some(to_agent) = self.to_agent.upgrade() {
            // Where its stdin is closed it is ending.
            let _ = to_agent.send(line(&json!({ "type": "control_response", "response": response }))).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_tools_and_the_commands_of_the_role_are_permitted() {
        let commands =
            CommandAllowlist { patterns: vec!["cargo test*".to_owned()], ..CommandAllowlist::default() };
        let permits = ToolPermissions::new("baton", commands);
        let bash = |command: &str| permits.answer(COMMANDS, json!({ "command": command }));
        assert_eq!(bash("cargo test -q")["behavior"], "allow");
        let refused = bash("cargo test -q; rm x");
        assert!(
            refused["behavior"] == "deny" && refused["message"].as_str().unwrap().contains("cargo test*")
        );
        let told = |command: &str| {
            let request =
                json!({ "subtype": PERMISSION, "tool_name": COMMANDS, "input": { "command": command } });
            let line =
                json!({ "type": "control_request", "request_id": "r", "request": request }).to_string();
            let mut out = Vec::new();
            permits.on_permission_request(line.as_bytes(), &mut out);
            out
        };
        let title = "Bash rm x".to_owned();
        let refusal =
            [AgentEvent::ApprovalRequested { title }, AgentEvent::ApprovalResolved { allowed: false }];
        assert_eq!((told("rm x"), told("cargo test")), (refusal.to_vec(), Vec::new()));
        for (tool, decision) in [
            ("mcp__baton__gotcha_record", "allow"),
            ("mcp__batons__x", "deny"),
            ("Write", "deny"),
            ("baton", "deny"),
        ] {
            assert_eq!(permits.answer(tool, json!({ "a": 1 }))["behavior"], decision, "{tool}");
        }
        assert_eq!(permits.answer("mcp__baton__x", json!({ "a": 1 }))["updatedInput"]["a"], 1);
    }

    #[tokio::test]
    async fn messages_go_to_the_server_and_answers_to_their_requests() {
        let (tells, told) = mpsc::channel(4);
        let (to_agent, mut lines) = mpsc::channel::<Vec<u8>>(4);
        // A server that answers every request twice as loud, the newest first.
        let connect = crate::launch::ToolServerConnector::new(|| {
            let (ours, theirs) = tokio::io::duplex(1024);
            tokio::spawn(async move {
                let (read, mut write) = tokio::io::split(theirs);
                let mut read = BufReader::new(read).lines();
                let mut asked = Vec::new();
                while let Ok(Some(line)) = read.next_line().await {
                    asked.push(serde_json::from_str::<Value>(&line).unwrap()["id"].clone());
                    if asked.len() == 2 {
                        for id in asked.drain(..).rev() {
                            let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "of": id } });
                            write.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
                        }
                    }
                }
            });
            ours
        });
        let command = McpServer {
            name: "baton".into(),
            command: "x".into(),
            args: Vec::new(),
            env: Default::default(),
        };
        let permits = ToolPermissions::new("baton", CommandAllowlist::default());
        tokio::spawn(relay(BatonToolServer { command, connect }, permits, told, to_agent.downgrade()));
        let ask = |request: &str, server: &str, id: u64| {
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/list" });
            let request_body = json!({ "subtype": MESSAGE, "server_name": server, "message": message });
            json!({ "type": "control_request", "request_id": request, "request": request_body }).to_string()
        };
        for line in [ask("r1", "baton", 7), ask("r2", "baton", 8), ask("r3", "other", 9)] {
            tells.send(line).await.unwrap();
        }
        let mut answers = std::collections::BTreeMap::new();
        for _ in 0..3 {
            let line: Value = serde_json::from_slice(&lines.recv().await.unwrap()).unwrap();
            let response = &line["response"];
            answers.insert(response["request_id"].as_str().unwrap().to_owned(), response.clone());
        }
        assert_eq!(answers["r1"]["response"]["mcp_response"]["result"]["of"], 7);
        assert_eq!(answers["r2"]["response"]["mcp_response"]["result"]["of"], 8);
        assert_eq!(answers["r3"]["error"], "baton serves no MCP server \"other\"");
    }
}
