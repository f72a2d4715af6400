//! The MCP server of an agent's tools. It turns protocol into calls and answers into protocol; the backend performs the calls.
//! Every failure of a call is a result that explains it, never an error of the protocol: an agent can act on the first, and
//! many clients hide the second.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, ServiceExt as _};
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::tool_backend::{ToolBackend, ToolReply, ToolRequest};
use crate::tool_definitions::{TOOLS, read, takes};

/// The server's name in clients; its tools are `mcp__baton__…` in Claude Code.
pub const SERVER_NAME: &str = "baton";

/// The field in which a client names the id of its call. Claude Code does; other fields are not unique to a call.
const TOOL_USE_ID: &str = "claudecode/toolUseId";

/// Text that a client may put into the model's context together with the tools.
const INSTRUCTIONS: &str = "Baton keeps this work going when your context runs out: another session then takes over, and \
    knows what you reported here and what is on disk, nothing else. Report an objective done with objective_update as \
    soon as it is. Record decisions, failed attempts and traps when they happen. Keep long outputs with artifact_save \
    and refer to them by name. Ask context_status before something large; when it says that your context is nearly \
    full, write handoff_write and come to a good stopping point.";

/// Why a client was not served to the end.
#[derive(Debug, thiserror::Error)]
#[error("the connection to the MCP client broke: {0}; start the server again from the client")]
pub struct ServeError(String);

/// Serves one client over these ends until it closes the connection.
///
/// # Errors
/// [`ServeError`] if the client does not speak the protocol. A closed connection is not an error.
pub async fn serve<R, W>(door: impl ToolBackend, read: R, write: W) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let service = ToolService { door: Arc::new(door) };
    let running = match service.serve((read, write)).await {
        Ok(running) => running,
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(ServeError(error.to_string())),
    };
    running.waiting().await.map(drop).map_err(|error| ServeError(error.to_string()))
}

/// Serves a client on this process's own stdin and stdout.
///
/// # Errors
/// As for [`serve`].
pub async fn serve_stdio(door: impl ToolBackend) -> Result<(), ServeError> {
    let (read, write) = rmcp::transport::stdio();
    serve(door, read, write).await
}

struct ToolService<D> {
    door: Arc<D>,
}

impl<D: ToolBackend> ServerHandler for ToolService<D> {
    fn get_info(&self) -> ServerConfig {
        let own = Implementation::new(SERVER_NAME, env!("CARGO_PKG_VERSION")).with_title("Baton");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(own)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answer = match read(&request.name, request.arguments.unwrap_or_default()) {
            Ok(call) => {
                let key = context.meta.get(TOOL_USE_ID).and_then(Value::as_str).map(str::to_owned);
                self.door.call(ToolRequest { key, call }).await
            }
            Err(fault) => {
                let takes = takes(&request.name);
                let takes =
                    if takes.is_empty() { takes } else { format!("; {} takes {takes}", request.name) };
                ToolReply::refused(format!("not recorded: {fault}{takes}"))
            }
        };
        Ok(result(answer).into())
    }
}

fn result(answer: ToolReply) -> CallToolResult {
    let blocks = std::iter::once(answer.text).chain(answer.body).map(ContentBlock::text).collect();
    let mut result =
        if answer.is_error { CallToolResult::error(blocks) } else { CallToolResult::success(blocks) };
    result.structured_content = answer.data;
    result
}
