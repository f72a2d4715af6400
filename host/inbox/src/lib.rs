//! The reports of an agent, and its queries to the host: one set of calls, and two ways to make them.
//!
//! | file | part |
//! |---|---|
//! | `tool_requests.rs` | the calls as types; their comments are what a model reads |
//! | `validation.rs` | the form of a call: nothing empty, nothing too long |
//! | `tool_definitions.rs` | the calls as tools: names, schemas, annotations, reading of arguments |
//! | `tool_backend.rs`, `mcp_service.rs` | the MCP server, and what stands behind it |
//! | `proxy.rs` | an MCP proxy that keeps large results of other servers out of a context |
//! | `file_inbox.rs`, `report_parser.rs`, `instructions.rs` | the same calls through files in the task folder |
//!
//! Only the form of a call is checked here. The runtime and core decide whether it fits the run, and what it means.
#![forbid(unsafe_code)]

mod error;
mod file_inbox;
mod handoff_extraction;
mod handoff_markdown;
mod instructions;
mod mcp_service;
mod proxy;
mod report_parser;
mod tool_backend;
mod tool_definitions;
mod tool_requests;
mod validation;

pub use error::{FileProblem, InboxError};
pub use file_inbox::{FolderOpener, Inbox, MAX_FILE_BYTES, MAX_FILES_PER_SCAN, MaskFn, ReceivedReport};
pub use instructions::INSTRUCTIONS;
pub use mcp_service::{SERVER_NAME, ServeError, serve, serve_stdio};
pub use proxy::{
    LOAD_TOOL, LargeResult, OFFERED_BYTES_MIN, ProxyError, ProxyExit, ResultReference, ResultStore, proxy,
    proxy_stdio,
};
pub use tool_backend::{ToolBackend, ToolReply, ToolRequest};
pub use tool_definitions::{ArgumentError, tool_names};
pub use tool_requests::{
    ArtifactList, ArtifactLoad, ArtifactSave, AttemptRecord, ContextStatus, DecisionRecord, GotchaRecord,
    HandoffWrite, ObjectiveUpdate, PatternRecord, RequestedSplitGroup, ReviewSubmit, SplitRequest, ToolCall,
};
pub use validation::{CONTENT_BYTES_MAX, FACTS_MAX, LIST_MAX, LOAD_BYTES_MAX, TEXT_BYTES_MAX};
