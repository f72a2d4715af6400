//! A client of an agent that speaks JSON-RPC on its standard input and output, one message a line. Knows no protocol
//! beyond that, save that it grants what it is asked to allow.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

/// Silence for this long means that the agent hangs, and the test fails instead of waiting for ever.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// A running agent. Dropped, it is killed with all that it started.
pub(crate) struct RpcAgentProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    asked: u64,
    /// What it said, in order.
    pub(crate) said: Vec<Value>,
}

impl RpcAgentProcess {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            // The test may be over before the agent is: then nobody listens, and that is the end.
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { stdin: child.stdin.take(), child, lines, asked: 0, said: Vec::new() }
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().expect("the input is open until the end");
        writeln!(stdin, "{message}").unwrap_or_else(|error| panic!("{error}; it said {:#?}", self.said));
    }

    pub(crate) fn notify(&mut self, method: &str) {
        self.send(&json!({"jsonrpc": "2.0", "method": method}));
    }

    /// Sends a request whose answer is not waited for, and returns its number.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}));
        self.asked
    }

    /// Sends a request and waits for its result.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.attempt(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer:#}");
        answer["result"].clone()
    }

    /// Sends a request and waits for its answer, be it a result or an error.
    pub(crate) fn attempt(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.until(|message| message["id"] == id && message["method"].is_null())
    }

    /// Waits for the message, granting what the agent asks to be allowed meanwhile.
    pub(crate) fn until(&mut self, awaited: impl Fn(&Value) -> bool) -> Value {
        loop {
            let Ok(line) = self.lines.recv_timeout(SILENCE_MAX) else {
                panic!("the agent said no more than {:#?}", self.said);
            };
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            self.said.push(message.clone());
            if message["method"].is_string() && !message["id"].is_null() {
                self.send(&granted(&message));
            }
            if awaited(&message) {
                return message;
            }
        }
    }

    /// Closes the input and waits until the agent has ended.
    pub(crate) fn end(mut self) -> ExitStatus {
        drop(self.stdin.take());
        loop {
            match self.lines.recv_timeout(SILENCE_MAX) {
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return self.child.wait().unwrap(),
                Err(RecvTimeoutError::Timeout) => panic!("the agent does not end when its input does"),
            }
        }
    }
}

impl Drop for RpcAgentProcess {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            // An agent that ended in time took everything with it: there is no such group any more.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

fn granted(request: &Value) -> Value {
    let options = request["params"]["options"].as_array();
    let allows = |option: &&Value| option["kind"].as_str().is_some_and(|kind| kind.starts_with("allow"));
    match options.and_then(|options| options.iter().find(allows)) {
        Some(option) => json!({"jsonrpc": "2.0", "id": request["id"], "result": {
            "outcome": {"outcome": "selected", "optionId": option["optionId"]},
        }}),
        None => json!({"jsonrpc": "2.0", "id": request["id"], "error": {
            "code": -32601, "message": "this client has no such method",
        }}),
    }
}
