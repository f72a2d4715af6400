//! The shapes of the Messages API: messages, events of a stream, errors. Decides nothing.

use serde_json::{Value, json};

use crate::asked::Asked;

/// A piece of text or of a tool's input in one event of a stream.
const PIECE_BYTES: usize = 400;

/// What the model answers to a request for a summary.
pub(crate) const SUMMARY: &str = "<analysis>Looked at everything.</analysis>\n<summary>\nA summary by the simulated model: what was asked is \
partly done, and what is done is on disk.\n</summary>";

/// One block of content and how it ends the message.
pub(crate) enum Block {
    Text(String),
    Call { id: String, tool: String, input: Value },
}

impl Block {
    fn whole(&self) -> Value {
        match self {
            Block::Text(text) => json!({"type": "text", "text": text}),
            Block::Call { id, tool, input } => {
                json!({"type": "tool_use", "id": id, "name": tool, "input": input})
            }
        }
    }

    fn empty(&self) -> Value {
        match self {
            Block::Text(_) => json!({"type": "text", "text": ""}),
            Block::Call { id, tool, .. } => json!({"type": "tool_use", "id": id, "name": tool, "input": {}}),
        }
    }

    fn stop_reason(&self) -> &'static str {
        match self {
            Block::Text(_) => "end_turn",
            Block::Call { .. } => "tool_use",
        }
    }

    /// The text of the block as a stream carries it.
    fn streamed(&self) -> String {
        match self {
            Block::Text(text) => text.clone(),
            Block::Call { input, .. } => input.to_string(),
        }
    }

    fn delta(&self, piece: &str) -> Value {
        match self {
            Block::Text(_) => json!({"type": "text_delta", "text": piece}),
            Block::Call { .. } => json!({"type": "input_json_delta", "partial_json": piece}),
        }
    }

    pub(crate) fn tokens(&self) -> u64 {
        (self.streamed().len() as u64).div_ceil(4) + 1
    }
}

/// Tokens of a prompt, split as a cache would: what the last request of the dialogue had is read from it.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) cache_read: u64,
    pub(crate) cache_creation: u64,
}

impl Usage {
    pub(crate) fn split(prompt_tokens: u64, cached_tokens: u64) -> Self {
        let cache_read = if cached_tokens <= prompt_tokens { cached_tokens } else { 0 };
        let input = (prompt_tokens - cache_read).min(4);
        Self { input, cache_read, cache_creation: prompt_tokens - cache_read - input }
    }

    fn json(self, output: u64) -> Value {
        json!({
            "input_tokens": self.input,
            "cache_read_input_tokens": self.cache_read,
            "cache_creation_input_tokens": self.cache_creation,
            "output_tokens": output,
            "service_tier": "standard",
        })
    }
}

/// A whole message.
pub(crate) fn message(id: &str, asked: &Asked, block: &Block, usage: Usage) -> Value {
    json!({
        "id": id, "type": "message", "role": "assistant", "model": asked.model, "content": [block.whole()],
        "stop_reason": block.stop_reason(), "stop_sequence": null, "usage": usage.json(block.tokens()),
    })
}

/// The same as the events of a stream.
pub(crate) fn events(id: &str, asked: &Asked, block: &Block, usage: Usage) -> Vec<String> {
    let start = json!({
        "id": id, "type": "message", "role": "assistant", "model": asked.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage.json(1),
    });
    let mut events = vec![
        event("message_start", json!({"message": start})),
        event("content_block_start", json!({"index": 0, "content_block": block.empty()})),
        event("ping", json!({})),
    ];
    let streamed = block.streamed();
    let mut rest = streamed.as_str();
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        events.push(event("content_block_delta", json!({"index": 0, "delta": block.delta(piece)})));
        rest = after;
    }
    let delta = json!({"stop_reason": block.stop_reason(), "stop_sequence": null});
    events.push(event("content_block_stop", json!({"index": 0})));
    events.push(event("message_delta", json!({"delta": delta, "usage": usage.json(block.tokens())})));
    events.push(event("message_stop", json!({})));
    events
}

fn event(name: &str, mut data: Value) -> String {
    data["type"] = name.into();
    format!("event: {name}\ndata: {data}\n\n")
}

/// The body of an error.
pub(crate) fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

/// The error that goes with a status, as the service words it.
pub(crate) fn failure(status: u16) -> Value {
    match status {
        429 => error("rate_limit_error", "This request would exceed your organization's rate limit."),
        529 => error("overloaded_error", "Overloaded"),
        _ => error("api_error", "Internal server error"),
    }
}
