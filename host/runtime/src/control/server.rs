//! The listening side of the control socket. Every connection sends one request on one line; requests reach the event loop over
//! a bounded channel, and unreadable ones are refused here.

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::unix::OwnedReadHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;

use baton_core::SessionId;
use baton_core::input::ChangeRequester;

use super::message::{
    CALL_BYTES, CALL_HEAD, ControlMessage, ControlReply, ControlRequest, MESSAGE_BYTES, USE_HEAD,
};
use super::requester::{self, AgentRequester, SessionEvidence};
use super::socket_path::short_path;
use crate::error::RuntimeError;

/// Connections that are served at a time. People and scripts ask a few times a second at most; the bridges of agents hold
/// one for each call under way.
const CONNECTIONS: usize = 64;
/// A client that connects and says nothing is not waited for longer than this.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// An answer waits for the disk, and for a file of 64 MiB to be kept; what takes longer than this hangs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The socket, open while this lives.
#[derive(Debug)]
pub(crate) struct Socket {
    path: PathBuf,
    task: JoinHandle<()>,
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.task.abort();
        // The lock of the workspace is still held, so the name is still ours.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Listens at `path`. The caller holds the workspace's lock, so an existing socket was left by a dead host.
pub(crate) fn listen(path: &Path, asked: mpsc::Sender<ControlRequest>) -> Result<Socket, RuntimeError> {
    let failed = |source| RuntimeError::Control { what: "cannot open", path: path.to_owned(), source };
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let bind = || {
        let door = short_path(path)?;
        let listener = UnixListener::bind(door.path())?;
        // The folder is 0700 already; the mode says the same of the socket itself.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(listener)
    };
    let listener = bind().map_err(failed)?;
    let task = tokio::spawn(serve(listener, None, asked));
    Ok(Socket { path: path.to_owned(), task })
}

/// Listens at `path` for one session that is confined, until the run's loop is gone. It takes calls of that session and
/// nothing else.
pub(crate) fn listen_for(
    path: &Path,
    session: &SessionId,
    asked: mpsc::Sender<ControlRequest>,
) -> Result<(), RuntimeError> {
    let failed = |source| RuntimeError::Control { what: "cannot open", path: path.to_owned(), source };
    let listener = short_path(path).and_then(|door| UnixListener::bind(door.path())).map_err(failed)?;
    let (session, ended) = (session.clone(), asked.clone());
    tokio::spawn(async move {
        tokio::select! {
            () = serve(listener, Some(session), asked) => {}
            () = ended.closed() => {}
        }
    });
    Ok(())
}

async fn serve(listener: UnixListener, only: Option<SessionId>, asked: mpsc::Sender<ControlRequest>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let (asked, only) = (asked.clone(), only.clone());
                tokio::spawn(async move {
                    let _place = place;
                    if let Err(error) = handle_connection(stream, only.as_ref(), asked).await {
                        tracing::debug!(%error, "a connection to the control socket broke");
                    }
                });
            }
            Err(error) => {
                // Out of descriptors, most likely: others must end first.
                tracing::warn!(%error, "the control socket accepts no connections at the moment");
                tokio::time::sleep(READ_TIMEOUT).await;
            }
        }
    }
}

/// Whether a message is for this door: one of a session takes that session's calls.
fn is_for(message: &ControlMessage, only: Option<&SessionId>) -> bool {
    only.is_none_or(|only| message.token().is_some_and(|token| token.session == *only))
}

async fn handle_connection(
    stream: UnixStream,
    only: Option<&SessionId>,
    asked: mpsc::Sender<ControlRequest>,
) -> io::Result<()> {
    // At once: a process that has ended cannot be identified.
    let by = requester::at(&stream);
    let (read, mut write) = stream.into_split();
    let line = tokio::time::timeout(READ_TIMEOUT, read_line(read)).await??;
    let reply = match serde_json::from_slice::<ControlMessage>(&line) {
        Ok(message) if !is_for(&message, only) => {
            let why = "this door takes calls of tools by its own session, and nothing else".to_owned();
            tracing::warn!(what = message.change(), "refused: {why}");
            let by = Err(AgentRequester {
                why: why.clone(),
                of: only.cloned().map(SessionEvidence::SessionSocket),
            });
            match message.change() {
                Some(_) => ask(&asked, message, by).await?,
                None => ControlReply::Refused { why },
            }
        }
        Ok(message) => ask(&asked, message, by).await?,
        Err(error) => ControlReply::Refused { why: format!("invalid control message: {error}") },
    };
    let mut bytes = serde_json::to_vec(&reply)?;
    bytes.push(b'\n');
    // A client that does not read its answer must not block the place of another.
    tokio::time::timeout(READ_TIMEOUT, write.write_all(&bytes)).await??;
    write.shutdown().await
}

/// Asks the run's loop.
async fn ask(
    asked: &mpsc::Sender<ControlRequest>,
    message: ControlMessage,
    by: Result<Option<ChangeRequester>, AgentRequester>,
) -> io::Result<ControlReply> {
    let (reply, answered) = oneshot::channel();
    match asked.send(ControlRequest { message, by, reply }).await {
        Ok(()) => Ok(tokio::time::timeout(ANSWER_TIMEOUT, answered).await?.unwrap_or(ControlReply::Ending)),
        Err(_) => Ok(ControlReply::Ending),
    }
}

/// One line, cut at the maximum of its kind; a cut line is not a valid message.
async fn read_line(read: OwnedReadHalf) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut read = BufReader::new(read);
    (&mut read).take(MESSAGE_BYTES as u64).read_until(b'\n', &mut line).await?;
    if line.len() == MESSAGE_BYTES
        && !line.ends_with(b"\n")
        && [CALL_HEAD, USE_HEAD].iter().any(|head| line.starts_with(head))
    {
        read.take((CALL_BYTES - MESSAGE_BYTES) as u64).read_until(b'\n', &mut line).await?;
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ask_line(path: &Path, line: &[u8]) -> String {
        let door = short_path(path).unwrap();
        let mut stream = UnixStream::connect(door.path()).await.unwrap();
        stream.write_all(line).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        reply
    }

    #[tokio::test]
    async fn a_message_is_answered_and_garbage_refused() {
        let dir = tempfile::tempdir().unwrap();
        // Deeper than the address of a socket has room for.
        let deep = dir.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        let path = deep.join("control.sock");
        let (asked, mut asking) = mpsc::channel(1);
        let socket = listen(&path, asked).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        let host = tokio::spawn(async move {
            let ControlRequest { message, reply, .. } = asking.recv().await.unwrap();
            reply.send(ControlReply::Stopping).unwrap();
            message
        });
        let reply = ask_line(&path, b"{\"control\":\"stop\"}\n").await;
        assert_eq!(reply.trim(), r#"{"reply":"stopping"}"#);
        assert_eq!(host.await.unwrap(), ControlMessage::Stop);

        for garbage in [b"{}\n".as_slice(), b"\n", b"{\"control\":\"dance\"}\n"] {
            let reply = ask_line(&path, garbage).await;
            assert!(reply.contains("refused"), "{reply}");
        }
        drop(socket);
        assert!(!path.exists());
    }
}
