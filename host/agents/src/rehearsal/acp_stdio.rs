//! JSON-RPC lines of the rehearsal. Written by hand and not with the protocol crate, since a rehearsal must be able to
//! misbehave: print garbage, answer nothing, end in the middle.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Messages that wait for the rehearsal; the host sends one prompt at a time.
const MESSAGE_QUEUE_LEN: usize = 16;

/// How soon a pause notices that it was cancelled.
const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Both directions.
pub(super) struct AcpStdio {
    messages: Receiver<Value>,
    cancelled: Arc<AtomicBool>,
    host_gone: Arc<AtomicBool>,
    asked: u64,
}

impl AcpStdio {
    /// Begins to read stdin. A cancellation is noticed while a prompt is worked on.
    pub(super) fn start() -> Self {
        let (give, messages) = sync_channel(MESSAGE_QUEUE_LEN);
        let cancelled = Arc::new(AtomicBool::new(false));
        let host_gone = Arc::new(AtomicBool::new(false));
        let (cancels, goes) = (Arc::clone(&cancelled), Arc::clone(&host_gone));
        thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
                // In the order of the stream: a cancellation is meant for the prompt before it, even if that has not begun, and
                // never for a later one.
                match message["method"].as_str() {
                    Some("session/cancel") => {
                        cancels.store(true, Ordering::SeqCst);
                        continue;
                    }
                    Some("session/prompt") => cancels.store(false, Ordering::SeqCst),
                    _ => {}
                }
                if give.send(message).is_err() {
                    return;
                }
            }
            goes.store(true, Ordering::SeqCst);
        });
        Self { messages, cancelled, host_gone, asked: 0 }
    }

    /// The next message; None when the host has closed its end.
    pub(super) fn next(&mut self) -> Option<Value> {
        self.messages.recv().ok()
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    pub(super) fn is_host_gone(&self) -> bool {
        self.host_gone.load(Ordering::SeqCst)
    }

    /// Lets time pass, unless the host cancels the prompt.
    pub(super) fn pause(&self, span: Duration) {
        let until = Instant::now() + span;
        while !self.is_cancelled() && !self.is_host_gone() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(CANCEL_POLL_INTERVAL));
        }
    }

    pub(super) fn answer(&mut self, id: &Value, answer: Result<Value, Value>) {
        let mut message = json!({ "jsonrpc": "2.0", "id": id });
        match answer {
            Ok(result) => message["result"] = result,
            Err(error) => message["error"] = error,
        }
        self.line(&message);
    }

    pub(super) fn update(&mut self, session: &str, update: Value) {
        let params = json!({ "sessionId": session, "update": update });
        self.line(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }));
    }

    /// Asks the host and waits for its answer; None when the host is gone.
    pub(super) fn ask(&mut self, method: &str, params: Value) -> Option<Value> {
        self.asked += 1;
        let id = format!("ask-{}", self.asked);
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        // Only one prompt is under way, so nothing else than the answer can come.
        loop {
            let message = self.next()?;
            if message["id"] == id.as_str() {
                return Some(message);
            }
        }
    }

    /// Prints bytes that are not a message, on one line.
    pub(super) fn garbage(&mut self, mut bytes: u64) {
        let piece = [b'x'; 8192];
        let mut out = std::io::stdout().lock();
        while bytes > 0 {
            let next = usize::try_from(bytes).unwrap_or(piece.len()).min(piece.len());
            if out.write_all(&piece[..next]).is_err() {
                return;
            }
            bytes -= next as u64;
        }
        // A host that is gone will not miss the rest.
        let _ = out.write_all(b"\n").and_then(|()| out.flush());
    }

    fn line(&mut self, message: &Value) {
        let mut out = std::io::stdout().lock();
        // A host that is gone is noticed at the next read.
        let _ = writeln!(out, "{message}").and_then(|()| out.flush());
    }
}

/// A JSON-RPC error.
pub(super) fn json_rpc_error(code: i32, message: String, data: &Value) -> Value {
    let mut error = json!({ "code": code, "message": message });
    if !data.is_null() {
        error["data"] = data.clone();
    }
    error
}
