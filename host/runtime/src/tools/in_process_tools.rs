//! The tools of a run for an agent whose MCP server is the host itself.

use baton_inbox::{ToolBackend, ToolReply, ToolRequest};
use tokio::io::DuplexStream;
use tokio::sync::{mpsc, oneshot};

use super::session_token::SessionToken;
use crate::control::message::{ControlMessage, ControlReply, ControlRequest};

/// Bytes under way between the host and an agent whose MCP server it is. The pipes of other agents hold as much.
const PIPE_BYTES: usize = 64 << 10;

/// The way to the run's loop from inside this process.
#[derive(Clone)]
pub(crate) struct InProcessTools {
    pub(crate) token: SessionToken,
    pub(crate) ask: mpsc::Sender<ControlRequest>,
}

impl InProcessTools {
    /// Serves the tools on one end of a pipe and gives the other.
    pub(crate) fn open(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let door = self.clone();
        tokio::spawn(async move {
            let (read, write) = tokio::io::split(ours);
            if let Err(error) = baton_inbox::serve(door, read, write).await {
                tracing::warn!("{error}");
            }
        });
        theirs
    }
}

impl ToolBackend for InProcessTools {
    async fn call(&self, request: ToolRequest) -> ToolReply {
        let ending = || ToolReply::refused("not recorded: the host is ending; your earlier reports are kept");
        let (reply, answered) = oneshot::channel();
        let ToolRequest { key, call } = request;
        let message = ControlMessage::Call { token: Some(self.token.clone()), key, call: Box::new(call) };
        if self.ask.send(ControlRequest { message, by: Ok(None), reply }).await.is_err() {
            return ending();
        }
        match answered.await {
            Ok(ControlReply::Called(answer)) => answer,
            Ok(ControlReply::Refused { why }) => ToolReply::refused(why),
            _ => ending(),
        }
    }
}
