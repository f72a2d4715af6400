//! What agents report and ask for through tools, and through files: who may, and what it comes to.

pub(crate) mod artifact_tools;
mod in_process_tools;
pub(crate) mod inbox_poller;
pub(crate) mod mcp_server;
pub(crate) mod report_validation;
pub(crate) mod result_offload;
pub(crate) mod review_submission;
pub(crate) mod session_token;
pub(crate) mod tool_calls;

pub(crate) use in_process_tools::InProcessTools;
