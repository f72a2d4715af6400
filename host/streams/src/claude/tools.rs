//! Claude Code's tools: the files that each of them reads and writes.

use baton_core::facts::AgentEvent;

use super::wire::{ClaudeBlock, ClaudeToolInput};
use crate::truncate::command_line;

/// A call, with the file that it reads or writes. A sub-agent (not `main`) reads into a window of its own.
pub(super) fn tool_call(block: ClaudeBlock<'_>, main: bool) -> AgentEvent {
    let (name, input) = (block.name.str(), &block.input);
    let path = input.file_path.nonempty().or(input.notebook_path.nonempty());
    let reads = match name {
        "Read" | "NotebookRead" => path.map(|path| range(path, input)),
        "WebFetch" => input.url.nonempty().map(str::to_owned),
        _ => None,
    };
    let writes = path.filter(|_| matches!(name, "Write" | "Edit" | "MultiEdit" | "NotebookEdit"));
    AgentEvent::ToolCall {
        writes: writes.map(str::to_owned),
        // A sub-agent's command is run in the same workspace.
        command: input.command.nonempty().filter(|_| name == "Bash").and_then(command_line),
        reads: reads.filter(|_| main),
        id: block.id.into_nonempty().unwrap_or_default(),
        name: block.name.into_nonempty().unwrap_or_default(),
    }
}

/// A targeted read of another part of a file is not a repeated read, so the part belongs to the name of the read.
fn range(path: &str, input: &ClaudeToolInput<'_>) -> String {
    match (input.offset.0, input.limit.0) {
        (None, None) => path.to_owned(),
        (offset, None) => format!("{path}:{}-", offset.unwrap_or(0)),
        (offset, Some(limit)) => format!("{path}:{}+{limit}", offset.unwrap_or(0)),
    }
}
