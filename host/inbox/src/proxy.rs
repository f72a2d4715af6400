//! An MCP proxy: sits between a client and any MCP server that is a command, and keeps tool results that are too large out of
//! the context (C3). A [`ResultStore`] decides which ones; the proxy only moves messages.
//!
//! A message is a line of JSON, and the proxy passes every line unchanged: unknown methods, notifications, progress,
//! cancellation, errors. It handles three things: `tools/list` gets one additional tool, calls of that tool are answered here,
//! and the results of other calls are offered to the store, text by text.

mod message;

use std::collections::HashMap;
use std::future::Future;
use std::io::ErrorKind;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
    BufReader,
};
use tokio::process::Command;
use tokio::sync::mpsc;

use crate::tool_backend::ToolReply;
use crate::tool_definitions::load_tool;
use crate::tool_requests::ArtifactLoad;

/// The tool that returns replaced results.
pub const LOAD_TOOL: &str = "baton_artifact_load";

/// A reference with its preview has about this many bytes: nothing smaller can gain by one.
pub const OFFERED_BYTES_MIN: usize = 4 * 1024;
/// A message that is longer than this is a fault of one side, and is not held in memory.
const LINE_BYTES_MAX: u64 = 96 * 1024 * 1024;
/// Messages that wait for a client that does not read; both sides then wait.
const QUEUE: usize = 64;
/// How long a server may take to send its last messages after the client has left.
const SERVER_DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Calls without an answer that are remembered. Results of calls beyond it go through as they are.
const CALLS: usize = 1024;

/// A text of a tool result that could be kept out of the context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargeResult {
    /// The tool, as the server calls it.
    pub tool: String,
    /// The client's own id of the call, if it has one.
    pub call: Option<String>,
    /// The text that would go into the context.
    pub text: String,
}

/// The place of a stored text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultReference {
    /// Name of the artifact.
    pub name: String,
    /// Its version.
    pub version: u32,
    /// Its size.
    pub bytes: u64,
    /// Its size in tokens.
    pub tokens: u64,
    /// How they were counted.
    pub tokens_by: String,
    /// Its first lines.
    pub preview: String,
}

/// Where large results go, and what decides which.
pub trait ResultStore: Send + Sync + 'static {
    /// Stores a text if it decides so; otherwise, and after any failure, the text passes unchanged.
    fn place(&self, offer: LargeResult) -> impl Future<Output = Option<ResultReference>> + Send;
    /// Reads a part of a stored text.
    fn load(&self, load: ArtifactLoad) -> impl Future<Output = ToolReply> + Send;
}

/// Why the proxy ended before its client hung up.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The server's command cannot be run.
    #[error("cannot start the MCP server {command:?}: {source}; name it as you would in a shell, after --")]
    NotStarted {
        /// The program.
        command: String,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The server ended while its client was there.
    #[error("the MCP server {command:?} ended ({status}); its stderr says why")]
    Ended {
        /// The program.
        command: String,
        /// How.
        status: String,
    },
    /// The server ended without sending anything.
    #[error(
        "the MCP server {command:?} ended before it answered ({status}); its stderr says why; try the command after \
         -- in a shell"
    )]
    Silent {
        /// The program.
        command: String,
        /// How.
        status: String,
    },
    /// A message is longer than any is.
    #[error(
        "a message from the {from} has more than 96 MiB; it was not forwarded, and the connection is closed"
    )]
    TooLong {
        /// "client" or "server".
        from: &'static str,
    },
    /// Reading or writing failed.
    #[error("the connection to the MCP {with} broke: {source}")]
    Io {
        /// "client" or "server".
        with: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// Runs the server's command and serves a client on this process's own stdin and stdout until one of them ends.
///
/// # Errors
/// [`ProxyError`]. That the client closes the connection is not an error.
pub async fn proxy_stdio(
    result_store: impl ResultStore,
    command: &str,
    args: &[String],
) -> Result<(), ProxyError> {
    let mut child = Command::new(command)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| ProxyError::NotStarted { command: command.to_owned(), source })?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else { return Ok(()) };
    let parting = proxy(result_store, (tokio::io::stdin(), tokio::io::stdout()), (stdout, stdin)).await?;
    let command = command.to_owned();
    // Its stdin is closed: a server that reads ends by itself, and another one is ended after the timeout.
    let (failed, status) = match tokio::time::timeout(SERVER_DRAIN_TIMEOUT, child.wait()).await {
        Ok(Ok(status)) => (!status.success(), status.to_string()),
        Ok(Err(error)) => (false, error.to_string()),
        Err(_) if parting.client_left => return Ok(()),
        Err(_) => (false, "it closed the connection and is still running".to_owned()),
    };
    match parting {
        ProxyExit { answered: false, client_left, asked } if failed || asked || !client_left => {
            Err(ProxyError::Silent { command, status })
        }
        ProxyExit { client_left: true, .. } => Ok(()),
        ProxyExit { client_left: false, .. } => Err(ProxyError::Ended { command, status }),
    }
}

/// How the two sides parted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyExit {
    /// The client hung up, not the server.
    pub client_left: bool,
    /// The client sent something to the server.
    pub asked: bool,
    /// The server sent something.
    pub answered: bool,
}

/// Passes messages both ways until one side ends.
///
/// # Errors
/// [`ProxyError`].
pub async fn proxy<S, CR, CW, SR, SW>(
    result_store: S,
    client: (CR, CW),
    server: (SR, SW),
) -> Result<ProxyExit, ProxyError>
where
    S: ResultStore,
    CR: AsyncRead + Send + Unpin + 'static,
    CW: AsyncWrite + Send + Unpin + 'static,
    SR: AsyncRead + Send + Unpin + 'static,
    SW: AsyncWrite + Send + Unpin + 'static,
{
    let (to_client, client_lines) = mpsc::channel(QUEUE);
    let heard = Arc::new(ActivityFlags::default());
    let relay =
        Arc::new(ProxyState { result_store, calls: Mutex::default(), to_client, heard: Arc::clone(&heard) });
    let writing = tokio::spawn(write(client.1, client_lines));
    let mut reading = tokio::spawn(from_server(Arc::clone(&relay), BufReader::new(server.0)));
    let done = tokio::select! {
        ended = from_client(Arc::clone(&relay), BufReader::new(client.0), server.1) => ended,
        ended = &mut reading => ended.unwrap_or(Ok(())).map(|()| false),
    };
    drop(relay);
    // A client that has closed its end may still read the pending answers: the server's last messages pass.
    let last_words = async {
        if !reading.is_finished() {
            let _ = (&mut reading).await;
        }
        let _ = writing.await;
    };
    let _ = tokio::time::timeout(SERVER_DRAIN_TIMEOUT, last_words).await;
    reading.abort();
    let (asked, answered) = (heard.client.load(Relaxed), heard.server.load(Relaxed));
    done.map(|client_left| ProxyExit { client_left, asked, answered })
}

/// Which sides have sent anything yet.
#[derive(Default)]
struct ActivityFlags {
    client: AtomicBool,
    server: AtomicBool,
}

/// The state that both directions share.
struct ProxyState<S> {
    result_store: S,
    /// Open requests whose answers are handled, by their ids as JSON.
    calls: Mutex<HashMap<String, PendingRequest>>,
    to_client: mpsc::Sender<Vec<u8>>,
    heard: Arc<ActivityFlags>,
}

/// A request whose answer is handled.
enum PendingRequest {
    List,
    Call { tool: String, call: Option<String> },
}

impl<S> ProxyState<S> {
    fn add_pending(&self, id: &Value, asked: PendingRequest) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() < CALLS {
            calls.insert(id.to_string(), asked);
        }
    }

    fn recall(&self, id: &Value) -> Option<PendingRequest> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&id.to_string())
    }
}

/// Returns true if the client closed the connection, false if the server accepts no more input.
async fn from_client<S: ResultStore>(
    relay: Arc<ProxyState<S>>,
    mut lines: impl AsyncBufRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
) -> Result<bool, ProxyError> {
    while let Some(line) = next_line(&mut lines, "client").await? {
        if let Some(load) = note_request(&relay, &line) {
            let relay = Arc::clone(&relay);
            tokio::spawn(async move {
                let reply =
                    message::answered(&load.0, load.1.map(|load| relay.result_store.load(load))).await;
                // The client may have hung up.
                let _ = relay.to_client.send(reply).await;
            });
            continue;
        }
        relay.heard.client.store(true, Relaxed);
        let written = async {
            server.write_all(&line).await?;
            server.flush().await
        };
        match written.await {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(false),
            written => written.map_err(|source| ProxyError::Io { with: "server", source })?,
        }
    }
    Ok(true)
}

/// Examines a line of the client; returns a call of the proxy's own tool, to be answered here.
fn note_request<S>(relay: &ProxyState<S>, line: &[u8]) -> Option<(Value, Result<ArtifactLoad, String>)> {
    let request: Value = serde_json::from_slice(line).ok()?;
    let id = request.get("id").filter(|id| !id.is_null())?;
    let params = &request["params"];
    match request["method"].as_str()? {
        "tools/list" => relay.add_pending(id, PendingRequest::List),
        "tools/call" if params["name"] == LOAD_TOOL => {
            let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
            return Some((id.clone(), serde_json::from_value(arguments).map_err(|e| e.to_string())));
        }
        "tools/call" => {
            let tool = params["name"].as_str()?.to_owned();
            let call = params["_meta"]["claudecode/toolUseId"].as_str().map(str::to_owned);
            relay.add_pending(id, PendingRequest::Call { tool, call });
        }
        _ => {}
    }
    None
}

async fn from_server<S: ResultStore>(
    relay: Arc<ProxyState<S>>,
    mut lines: impl AsyncBufRead + Unpin,
) -> Result<(), ProxyError> {
    while let Some(line) = next_line(&mut lines, "server").await? {
        relay.heard.server.store(true, Relaxed);
        let Some((asked, response)) = note_response(&relay, &line) else {
            if relay.to_client.send(line).await.is_err() {
                return Ok(());
            }
            continue;
        };
        match asked {
            PendingRequest::List => {
                let line = message::with_tool(response, &line);
                if relay.to_client.send(line).await.is_err() {
                    return Ok(());
                }
            }
            // Other messages do not wait for the result of this one.
            PendingRequest::Call { tool, call } => {
                let relay = Arc::clone(&relay);
                tokio::spawn(async move {
                    let placed =
                        message::replace_large_texts(&relay.result_store, &tool, call.as_deref(), response)
                            .await;
                    let _ = relay.to_client.send(placed.unwrap_or(line)).await;
                });
            }
        }
    }
    Ok(())
}

/// Examines a line of the server; returns it if it answers a remembered request.
fn note_response<S>(relay: &ProxyState<S>, line: &[u8]) -> Option<(PendingRequest, Value)> {
    let response: Value = serde_json::from_slice(line).ok()?;
    if response.get("method").is_some() {
        return None;
    }
    let asked = relay.recall(response.get("id")?)?;
    response.get("result").is_some().then_some((asked, response))
}

async fn write(mut client: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        let written = async {
            client.write_all(&line).await?;
            client.flush().await
        };
        if written.await.is_err() {
            return;
        }
    }
}

/// The next line with its end; none at the end of the stream.
async fn next_line(
    lines: &mut (impl AsyncBufRead + Unpin),
    from: &'static str,
) -> Result<Option<Vec<u8>>, ProxyError> {
    let mut line = Vec::new();
    let mut limited = (&mut *lines).take(LINE_BYTES_MAX);
    limited.read_until(b'\n', &mut line).await.map_err(|source| ProxyError::Io { with: from, source })?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) if line.len() as u64 >= LINE_BYTES_MAX => Err(ProxyError::TooLong { from }),
        Some(_) => {
            line.push(b'\n');
            Ok(Some(line))
        }
    }
}

/// The proxy's own tool, as an entry of a list of tools.
fn tool() -> Value {
    load_tool(
        LOAD_TOOL,
        "Read a part of a tool result that was too large for your context and was kept instead. The text that stood in \
         for it gives the name. Read only what you need, by offset and limit.",
    )
}

#[cfg(test)]
mod tests;
