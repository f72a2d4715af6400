//! Tool calls of an ACP agent, put together from the updates in which they arrive. Bounded.

use std::collections::VecDeque;

use baton_core::facts::{AgentEvent, SIGNAL_TEXT_BYTES};

use super::wire::{AcpRawOutput, AcpUpdate};
use crate::truncate::{command_line, cut};
use crate::wire::{MeasuredOutput, RawJson, truncate_name};

/// Calls open at a time are few; an agent that never finishes one must not grow the list.
const OPEN_CALLS: usize = 256;

/// Calls that have begun and not returned.
#[derive(Debug, Default)]
pub(super) struct AcpToolCalls {
    open: VecDeque<AcpToolCall>,
}

#[derive(Debug, Default)]
struct AcpToolCall {
    id: String,
    name: String,
    kind: String,
    told: bool,
    /// The output shown so far, for an agent that sends none in `rawOutput`.
    shown_output: MeasuredOutput,
}

impl AcpToolCalls {
    /// Takes a `tool_call` or a `tool_call_update`; true if the tool returned.
    pub(super) fn update(&mut self, update: &AcpUpdate<'_>, out: &mut Vec<AgentEvent>) -> bool {
        let id = truncate_name(update.call.str());
        let begins = update.what.str() == "tool_call";
        let at = match self.open.iter().position(|tool| tool.id == id) {
            Some(at) => at,
            // Later updates of a call that has returned are ignored.
            None if !begins => return false,
            None => {
                if self.open.len() == OPEN_CALLS {
                    self.open.pop_front();
                }
                self.open.push_back(AcpToolCall { id: id.to_owned(), ..AcpToolCall::default() });
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

impl AcpToolCall {
    fn take(&mut self, update: &AcpUpdate<'_>, out: &mut Vec<AgentEvent>) -> bool {
        if let Some(kind) = update.kind.nonempty() {
            self.kind = truncate_name(kind).to_owned();
        }
        let name = update.name.nonempty().or(update.meta.claude.tool.nonempty());
        if let Some(name) = name.or(update.title.nonempty().filter(|_| self.name.is_empty())) {
            self.name = truncate_name(name).to_owned();
        }
        self.shown_output.append(&update.content.shown);
        let returned = matches!(update.status.str(), "completed" | "failed");
        // A call often begins empty and is filled in by an update: it is reported when its details are known.
        let target = target(update);
        if !self.told && (target.is_some() || returned || update.input.given) {
            self.told = true;
            let target = |kinds: &[&str]| target.filter(|_| kinds.contains(&&*self.kind)).map(str::to_owned);
            out.push(AgentEvent::ToolCall {
                id: self.id.clone(),
                name: self.name.clone(),
                reads: target(&["read", "fetch"]),
                writes: target(&["edit", "delete", "move"]),
                command: self.command(update),
            });
        }
        if returned {
            let AcpRawOutput { exit, .. } = update.output.get();
            let failed = Some(exit.0.map_or(update.status.str() == "failed", |code| code != 0));
            let MeasuredOutput { bytes, beginning } =
                returned_by(update.output).unwrap_or(std::mem::take(&mut self.shown_output));
            out.push(AgentEvent::ToolOutput { id: self.id.clone(), bytes, text: beginning, failed });
        }
        returned
    }
}

impl AcpToolCall {
    /// The command of the call: from its input, else from the title that the user sees, with or without backticks.
    fn command(&self, update: &AcpUpdate<'_>) -> Option<String> {
        if self.kind != "execute" {
            return None;
        }
        let given = Some(update.input.command.0.as_str()).filter(|command| !command.is_empty());
        command_line(given.unwrap_or(update.title.str().trim_matches('`')))
    }
}

/// The output that the tool returned to the model; the user may see less.
fn returned_by(raw: RawJson<'_>) -> Option<MeasuredOutput> {
    let json = raw.0?;
    if json.starts_with('"') {
        return Some(raw.get());
    }
    let AcpRawOutput { output, formatted_output, .. } = raw.get();
    let whole =
        || MeasuredOutput { bytes: json.len() as u64, beginning: cut(json, SIGNAL_TEXT_BYTES).to_owned() };
    Some([output, formatted_output].into_iter().find(|output| output.bytes > 0).unwrap_or_else(whole))
}

/// The file or address that a call is about.
fn target<'a>(update: &'a AcpUpdate<'_>) -> Option<&'a str> {
    let located = update.locations.0.first().and_then(|location| location.path.nonempty());
    located.or(update.input.target.nonempty()).or(update.content.path.nonempty())
}
