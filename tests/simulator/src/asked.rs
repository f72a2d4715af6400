//! A request of the Messages API as the script sees it: the prompt, and how far the work on it has come.

use serde_json::Value;

/// Only the beginning of a message is looked at to tell a compaction: the instruction stands there.
const COMPACTION_BYTES: usize = 6000;

/// How agents ask for a summary of the dialogue, in lower case.
const COMPACTION_PHRASES: [&str; 3] = [
    "create a detailed summary of the conversation",
    "detailed summary of the conversation so far",
    "summarize the conversation",
];

/// What a request asks.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Text of the last message of a person: the prompt that is being worked on.
    pub prompt: String,
    /// Messages with tool results since then: how many turns of the prompt are done.
    pub results: usize,
    /// Names of the tools that the agent offers; none in side requests, a title for example.
    pub tools: Vec<String>,
    /// The agent asks for a summary of the dialogue.
    pub compaction: bool,
    /// Answer as a stream of events.
    pub(crate) stream: bool,
    /// Model, as asked for.
    pub(crate) model: String,
    /// Tells dialogues apart, for the arithmetic of the cache.
    pub(crate) dialogue: String,
    /// Size of system prompt and tools.
    pub(crate) fixed_bytes: u64,
    /// Size of the messages.
    pub(crate) message_bytes: u64,
}

impl Asked {
    /// What follows `label` on the first line of the prompt that begins with it.
    pub fn line(&self, label: &str) -> Option<&str> {
        self.prompt.lines().find_map(|line| line.strip_prefix(label)).map(str::trim)
    }

    /// Reads the body of a request. What is missing counts as empty.
    pub(crate) fn read(body: &Value) -> Self {
        let none = Vec::new();
        let messages = body["messages"].as_array().unwrap_or(&none);
        let mut results = 0;
        let mut prompt = String::new();
        for message in messages.iter().rev().filter(|message| message["role"] == "user") {
            if has_results(&message["content"]) {
                results += 1;
            } else {
                prompt = text(&message["content"]);
                break;
            }
        }
        let last = messages.last().map(|message| text(&message["content"])).unwrap_or_default();
        let beginning = last[..last.floor_char_boundary(COMPACTION_BYTES)].to_lowercase();
        Self {
            prompt,
            results,
            tools: body["tools"]
                .as_array()
                .unwrap_or(&none)
                .iter()
                .filter_map(|tool| Some(tool["name"].as_str()?.to_owned()))
                .collect(),
            compaction: COMPACTION_PHRASES.iter().any(|phrase| beginning.contains(phrase)),
            stream: body["stream"].as_bool().unwrap_or(false),
            model: body["model"].as_str().unwrap_or("simulated").to_owned(),
            dialogue: body["metadata"]["user_id"].as_str().unwrap_or_default().to_owned(),
            fixed_bytes: bytes(&body["system"]) + bytes(&body["tools"]),
            message_bytes: bytes(&body["messages"]),
        }
    }
}

fn has_results(content: &Value) -> bool {
    content.as_array().is_some_and(|blocks| blocks.iter().any(|block| block["type"] == "tool_result"))
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn bytes(value: &Value) -> u64 {
    if value.is_null() { 0 } else { value.to_string().len() as u64 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn results_count_from_the_last_prompt() {
        let result = json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]});
        let call = json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Write", "input": {}}]});
        let body = json!({"messages": [
            {"role": "user", "content": "first"}, call, result, {"role": "assistant", "content": "done"},
            {"role": "user", "content": [{"type": "text", "text": "reminder"}, {"type": "text", "text": "Report to: /a/b \n- [second] x"}]},
            call, result, call, result,
        ], "tools": [{"name": "Write"}]});
        let asked = Asked::read(&body);
        assert_eq!((asked.results, asked.line("Report to: ")), (2, Some("/a/b")));
        assert!(asked.prompt.contains("[second]") && !asked.compaction);
        assert_eq!(asked.tools, ["Write"]);
    }

    #[test]
    fn a_request_for_a_summary_is_told() {
        let body = json!({"messages": [{"role": "user", "content": "Your task is to create a detailed summary of the conversation so far"}]});
        assert!(Asked::read(&body).compaction);
        assert_eq!(Asked::read(&json!({})).results, 0);
    }
}
