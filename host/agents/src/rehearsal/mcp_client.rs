//! A client of the MCP server that the host has given the rehearsal: starts its program, says hello and calls its tools.
//! As much of the protocol as a call needs, and no more.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The revision that the rehearsal speaks.
const PROTOCOL: &str = "2025-06-18";

/// A server, started with the first call.
pub(super) struct ScriptMcpClient {
    command: String,
    args: Vec<String>,
    running: Option<McpServerProcess>,
}

struct McpServerProcess {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
}

impl ScriptMcpClient {
    /// As `session/new` names it.
    pub(super) fn of(server: &Value) -> Self {
        let args = server["args"].as_array().into_iter().flatten();
        Self {
            command: server["command"].as_str().unwrap_or_default().to_owned(),
            args: args.filter_map(Value::as_str).map(str::to_owned).collect(),
            running: None,
        }
    }

    /// Calls a tool. Gives what it answered, and whether that is an error.
    pub(super) fn call(&mut self, name: &str, arguments: &Value) -> io::Result<(String, bool)> {
        if self.running.is_none() {
            self.running = Some(McpServerProcess::start(&self.command, &self.args)?);
        }
        let Some(running) = &mut self.running else { return Err(io::ErrorKind::NotConnected.into()) };
        let result = running.ask("tools/call", &json!({ "name": name, "arguments": arguments }))?;
        let blocks = result["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        Ok((texts.join("\n"), result["isError"] == true))
    }
}

impl McpServerProcess {
    fn start(command: &str, args: &[String]) -> io::Result<Self> {
        let mut child =
            Command::new(command).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let mut running = Self { child, to, from: BufReader::new(from), asked: 0 };
        let own = json!({ "name": "baton-rehearsal", "version": env!("CARGO_PKG_VERSION") });
        let hello = json!({ "protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": own });
        running.ask("initialize", &hello)?;
        running.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(running)
    }

    fn ask(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let mut line = String::new();
        loop {
            line.clear();
            if self.from.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let Ok(mut message) = serde_json::from_str::<Value>(&line) else { continue };
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(io::Error::other(error.to_string())),
                    None => Ok(message["result"].take()),
                };
            }
        }
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        writeln!(self.to, "{message}")?;
        self.to.flush()
    }
}

impl Drop for McpServerProcess {
    fn drop(&mut self) {
        // It has nothing to lose: what it was told is with the host.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
