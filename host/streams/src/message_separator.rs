//! Separates whole messages: if a format reports whole messages, one that directly follows another begins on a new line.

use baton_core::facts::AgentEvent;

/// Whether the last event was a message that ended in the middle of a line.
#[derive(Debug, Default)]
pub(crate) struct MessageSeparator {
    is_open: bool,
}

impl MessageSeparator {
    /// Puts a line break before each message from `from` on that directly follows another one. A different event between two
    /// messages, such as a call of a tool, separates them already.
    pub(crate) fn separate_messages(&mut self, from: usize, out: &mut [AgentEvent]) {
        for event in &mut out[from..] {
            match event {
                AgentEvent::Text { text } if text.is_empty() => {}
                AgentEvent::Text { text } => {
                    if self.is_open && !text.starts_with('\n') {
                        text.insert(0, '\n');
                    }
                    self.is_open = !text.ends_with('\n');
                }
                AgentEvent::ToolCall { .. }
                | AgentEvent::Turn { .. }
                | AgentEvent::Compacted { .. }
                | AgentEvent::PromptEnded { .. } => self.is_open = false,
                _ => {}
            }
        }
    }
}
