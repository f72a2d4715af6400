//! A request as the script sees it: the prompt, how far the work on it has come, and what the agent offers. Reads no
//! wire format itself.

use serde_json::Value;

use crate::api_kind::ApiKind;
use crate::dialogue::DialogueState;

/// What a request asks.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The API that it came by.
    pub wire: ApiKind,
    /// Text of the last message of a person: the prompt that is being worked on.
    pub prompt: String,
    /// Tool results since then: how many turns of the prompt are done.
    pub results: usize,
    /// Tools that the agent offers; none in side requests, a title for example.
    pub tools: Vec<OfferedTool>,
    /// The agent asks for a summary of the dialogue.
    pub compaction: bool,
    /// It wants the summary as an item of its own instead of as text.
    pub(crate) wordless: bool,
    /// The summary, should the model give one.
    pub(crate) summary: String,
    /// A side request: no work on the prompt.
    pub(crate) aside: bool,
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

/// A tool that an agent offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedTool {
    /// Its name.
    pub name: String,
    /// The group that it belongs to, where the API has groups.
    pub(crate) namespace: Option<String>,
    /// It takes text instead of an object.
    pub(crate) freeform: bool,
}

impl ModelRequest {
    /// Puts together what the wire formats share.
    pub(crate) fn new(wire: ApiKind, body: &Value, standing: DialogueState, tools: Vec<OfferedTool>) -> Self {
        Self {
            wire,
            summary: standing.summary(),
            aside: standing.aside || (tools.is_empty() && !standing.compaction),
            prompt: standing.prompt,
            results: standing.results,
            tools,
            compaction: standing.compaction,
            wordless: standing.wordless,
            stream: body["stream"].as_bool().unwrap_or(false),
            model: body["model"].as_str().unwrap_or("simulated").to_owned(),
            dialogue: String::new(),
            fixed_bytes: 0,
            message_bytes: 0,
        }
    }

    /// What follows `label` on the first line of the prompt that begins with it.
    pub fn line(&self, label: &str) -> Option<&str> {
        self.prompt.lines().find_map(|line| line.strip_prefix(label)).map(str::trim)
    }

    /// The tool of this name, where the agent offers it.
    pub fn tool(&self, name: &str) -> Option<&OfferedTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// The texts of a content that is a string or a list of blocks.
pub(crate) fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// The items of a list; none where it is missing.
pub(crate) fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// Size of a value as it was sent.
pub(crate) fn bytes(value: &Value) -> u64 {
    if value.is_null() { 0 } else { value.to_string().len() as u64 }
}
