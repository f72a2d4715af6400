//! The interface behind the tools, which answers a call. The service knows nothing else of the host, so the same service
//! serves an agent's stdin, a pipe inside the host, and a test.

use std::future::Future;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool_requests::ToolCall;

/// A call, and an id that distinguishes it from an identical one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRequest {
    /// The client's own id of the call, if it has one: a call that is repeated under it counts once.
    pub key: Option<String>,
    /// The call.
    pub call: ToolCall,
}

/// The text that the agent gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolReply {
    /// One or two sentences for the model.
    pub text: String,
    /// The requested content, byte for byte, if it is separate from the text (a part of an artifact).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The same as `text`, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Nothing was recorded; the text contains the reason and the next step.
    #[serde(default)]
    pub is_error: bool,
}

impl ToolReply {
    /// It is done.
    pub fn said(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// The call was not performed; the text contains the reason and the next step.
    pub fn refused(why: impl Into<String>) -> Self {
        Self { text: why.into(), is_error: true, ..Self::default() }
    }
}

/// Answers calls. An answer comes only when what it says is durable.
pub trait ToolBackend: Send + Sync + 'static {
    /// Answers one call, whose form is right.
    fn call(&self, request: ToolRequest) -> impl Future<Output = ToolReply> + Send;
}
