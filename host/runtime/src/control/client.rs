//! Asks a live host over its socket.

use std::path::Path;
use std::time::Duration;

use baton_core::RunId;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::message::{ControlMessage, ControlReply, MESSAGE_BYTES, REPLY_BYTES, USE_HEAD};
use super::socket_path::short_path;
use crate::error::RuntimeError;

/// A host answers at once; one that does not within this hangs.
const REPLY_TIMEOUT: Duration = Duration::from_secs(10);
/// Short, since the journal has the state of a run as well.
const STATUS_TIMEOUT: Duration = Duration::from_secs(3);
/// A new component is compiled first, which takes long for one as large as an interpreter.
const USE_POLICY_TIMEOUT: Duration = Duration::from_secs(55);

/// The run that a host of this workspace works on now. A host that listens and does not answer may work on any.
pub(crate) async fn host_status(socket: &Path) -> HostStatus {
    let Ok(Some(stream)) = connect(socket).await else { return HostStatus::NotRunning };
    match ask(stream, socket, &ControlMessage::Status).await {
        Ok(ControlReply::View { view, .. }) => HostStatus::WorkingOn(view.run),
        _ => HostStatus::Unknown,
    }
}

/// What is known of the host of a workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostStatus {
    /// There is none.
    NotRunning,
    /// It works on this run.
    WorkingOn(RunId),
    /// There is one, and it does not say on what: it is leaving, or hangs.
    Unknown,
}

/// Connects; none if no host listens: there is no socket, or a killed host left it behind.
pub(crate) async fn connect(path: &Path) -> Result<Option<UnixStream>, RuntimeError> {
    use std::io::ErrorKind::{ConnectionRefused, NotFound};
    let failed = |source| RuntimeError::Control { what: "cannot reach", path: path.to_owned(), source };
    let door = short_path(path).map_err(failed)?;
    match UnixStream::connect(door.path()).await {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if matches!(error.kind(), NotFound | ConnectionRefused) => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

pub(super) async fn ask(
    mut stream: UnixStream,
    path: &Path,
    message: &ControlMessage,
) -> Result<ControlReply, RuntimeError> {
    let failed = |what| move |source| RuntimeError::Control { what, path: path.to_owned(), source };
    let asked = async {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        debug_assert!(line.len() <= MESSAGE_BYTES || line.starts_with(USE_HEAD));
        exchange(&mut stream, &line).await
    };
    let patience = match message {
        ControlMessage::UsePolicy(_) => USE_POLICY_TIMEOUT,
        ControlMessage::Status => STATUS_TIMEOUT,
        _ => REPLY_TIMEOUT,
    };
    match tokio::time::timeout(patience, asked).await {
        Ok(Ok(ControlReply::Refused { why })) => Err(RuntimeError::Refused(why)),
        Ok(Ok(ControlReply::Ending)) => Err(RuntimeError::Refused("it is ending; try again".to_owned())),
        Ok(reply) => reply.map_err(failed("no answer from")),
        Err(_) => Err(failed("no answer in time from")(std::io::ErrorKind::TimedOut.into())),
    }
}

/// Whether a host that listens gave no answer: it is stopped, or hangs.
pub(super) fn is_silent(error: &RuntimeError) -> bool {
    matches!(error, RuntimeError::Control { source, .. } if source.kind() == std::io::ErrorKind::TimedOut)
}

/// One line there, one back.
pub(crate) async fn exchange(stream: &mut UnixStream, line: &[u8]) -> std::io::Result<ControlReply> {
    stream.write_all(line).await?;
    stream.shutdown().await?;
    let mut reply = Vec::new();
    stream.take(REPLY_BYTES).read_to_end(&mut reply).await?;
    if reply.is_empty() {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(serde_json::from_slice(&reply)?)
}
