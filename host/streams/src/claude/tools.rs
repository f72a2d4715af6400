//! Claude Code's tools: which of them read and write, and what they return.

use baton_core::facts::{AgentEvent, SIGNAL_TEXT_BYTES};
use serde_json::Value;

use crate::cut::cut;
use crate::json::{number, owned, text};

/// A call, with what it reads or writes. A sub-agent (not `main`) reads into a window of its own.
pub(super) fn tool_call(block: &Value, main: bool) -> AgentEvent {
    let name = owned(block, "/name").unwrap_or_default();
    let path = || owned(block, "/input/file_path").or_else(|| owned(block, "/input/notebook_path"));
    let reads = match name.as_str() {
        "Read" | "NotebookRead" => path().map(|path| range(block, path)),
        "WebFetch" => owned(block, "/input/url"),
        _ => None,
    };
    let writes = match name.as_str() {
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => path(),
        _ => None,
    };
    AgentEvent::ToolCall {
        id: owned(block, "/id").unwrap_or_default(),
        name,
        reads: reads.filter(|_| main),
        writes,
    }
}

/// A targeted read of another part of a file is no re-read, so the part belongs to what was read.
fn range(block: &Value, path: String) -> String {
    match (number(block, "/input/offset"), number(block, "/input/limit")) {
        (None, None) => path,
        (offset, None) => format!("{path}:{}-", offset.unwrap_or(0)),
        (offset, Some(limit)) => format!("{path}:{}+{limit}", offset.unwrap_or(0)),
    }
}

/// Size and beginning of what a tool returned: a text, or a list of blocks.
pub(super) fn tool_output(content: &Value) -> (u64, String) {
    match content {
        Value::String(text) => (text.len() as u64, cut(text, SIGNAL_TEXT_BYTES).to_owned()),
        Value::Array(blocks) => {
            let (mut bytes, mut beginning) = (0u64, String::new());
            for block in blocks {
                // Of an image or a reference only the size can be told.
                let text = text(block, "/text");
                bytes = bytes.saturating_add(text.map_or_else(|| block.to_string().len(), str::len) as u64);
                beginning.push_str(cut(
                    text.unwrap_or_default(),
                    SIGNAL_TEXT_BYTES.saturating_sub(beginning.len()),
                ));
            }
            (bytes, beginning)
        }
        _ => (0, String::new()),
    }
}
