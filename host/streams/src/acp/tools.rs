//! Tool calls of an ACP agent, put together from the updates in which they arrive. Bounded.

use std::collections::VecDeque;

use baton_core::facts::{AgentEvent, SIGNAL_TEXT_BYTES};
use serde_json::Value;

use crate::cut::cut;
use crate::json::{owned, text};

/// Calls open at a time are few; an agent that never finishes one must not grow the list.
const OPEN_CALLS: usize = 256;

/// Calls that have begun and not returned.
#[derive(Debug, Default)]
pub(super) struct Tools {
    open: VecDeque<Tool>,
}

#[derive(Debug, Default)]
struct Tool {
    id: String,
    name: String,
    kind: String,
    told: bool,
    /// What it has shown so far: the output of an agent that gives none in `rawOutput`.
    shown_bytes: u64,
    shown: String,
}

impl Tools {
    /// Takes a `tool_call` or a `tool_call_update`; true where the tool returned.
    pub(super) fn update(&mut self, update: &Value, out: &mut Vec<AgentEvent>) -> bool {
        let id = owned(update, "/toolCallId").unwrap_or_default();
        let begins = text(update, "/sessionUpdate") == Some("tool_call");
        let at = match self.open.iter().position(|tool| tool.id == id) {
            Some(at) => at,
            // What an agent adds to a call that has returned changes nothing.
            None if !begins => return false,
            None => {
                if self.open.len() == OPEN_CALLS {
                    self.open.pop_front();
                }
                self.open.push_back(Tool { id, ..Tool::default() });
                self.open.len() - 1
            }
        };
        let returned = self.open[at].take(update, out);
        if returned {
            self.open.remove(at);
        }
        returned
    }
}

impl Tool {
    fn take(&mut self, update: &Value, out: &mut Vec<AgentEvent>) -> bool {
        if let Some(kind) = owned(update, "/kind") {
            self.kind = kind;
        }
        let name = owned(update, "/name").or_else(|| owned(update, "/_meta/claudeCode/toolName"));
        if let Some(name) = name.or_else(|| owned(update, "/title").filter(|_| self.name.is_empty())) {
            self.name = name;
        }
        self.show(update);
        let returned = matches!(text(update, "/status"), Some("completed" | "failed"));
        // A call often begins empty and is filled in by an update: tell it when there is something to tell.
        let target = target(update);
        if !self.told && (target.is_some() || returned || has_input(update)) {
            self.told = true;
            let reads = target.clone().filter(|_| matches!(self.kind.as_str(), "read" | "fetch"));
            let writes = target.filter(|_| matches!(self.kind.as_str(), "edit" | "delete" | "move"));
            out.push(AgentEvent::ToolCall { id: self.id.clone(), name: self.name.clone(), reads, writes });
        }
        if returned {
            let (bytes, text) = self.output(update);
            out.push(AgentEvent::ToolOutput { id: self.id.clone(), bytes, text });
        }
        returned
    }

    fn show(&mut self, update: &Value) {
        let blocks = update.pointer("/content").and_then(Value::as_array).into_iter().flatten();
        for shown in blocks.filter_map(|block| text(block, "/content/text")) {
            self.shown_bytes = self.shown_bytes.saturating_add(shown.len() as u64);
            self.shown.push_str(cut(shown, SIGNAL_TEXT_BYTES.saturating_sub(self.shown.len())));
        }
    }

    /// What the tool returned: `rawOutput` is what the model gets, the content is what a person is shown of it.
    fn output(&mut self, update: &Value) -> (u64, String) {
        let raw = match update.get("rawOutput") {
            None | Some(Value::Null) => return (self.shown_bytes, std::mem::take(&mut self.shown)),
            Some(raw) => raw,
        };
        match raw.as_str().or_else(|| text(raw, "/output")).or_else(|| text(raw, "/formatted_output")) {
            Some(output) => (output.len() as u64, cut(output, SIGNAL_TEXT_BYTES).to_owned()),
            None => {
                let json = raw.to_string();
                (json.len() as u64, cut(&json, SIGNAL_TEXT_BYTES).to_owned())
            }
        }
    }
}

/// The file or address that a call is about.
fn target(update: &Value) -> Option<String> {
    let named =
        ["/locations/0/path", "/rawInput/file_path", "/rawInput/filePath", "/rawInput/path", "/rawInput/url"];
    let path = named.iter().find_map(|pointer| owned(update, pointer));
    let blocks = || update.pointer("/content").and_then(Value::as_array).into_iter().flatten();
    path.or_else(|| blocks().find_map(|block| owned(block, "/path")))
}

fn has_input(update: &Value) -> bool {
    update.get("rawInput").and_then(Value::as_object).is_some_and(|input| !input.is_empty())
}
