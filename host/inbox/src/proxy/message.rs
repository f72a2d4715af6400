//! The three messages that a proxy changes: a list of tools, the answer of its own tool, a result with large texts.
//! Everything else in them stays as it was.

use std::future::Future;

use serde_json::{Value, json};

use super::{LOAD_TOOL, LargeResult, OFFERED_BYTES_MIN, ResultReference, ResultStore, tool};
use crate::tool_backend::ToolReply;

/// A list of tools with the proxy's own at the end. If the server has a tool of that name, the list is unchanged.
pub(super) fn with_tool(mut response: Value, line: &[u8]) -> Vec<u8> {
    let result = &mut response["result"];
    let is_last = result.get("nextCursor").is_none_or(Value::is_null);
    match result["tools"].as_array_mut() {
        Some(tools) if is_last && tools.iter().all(|tool| tool["name"] != LOAD_TOOL) => tools.push(tool()),
        _ => return line.to_vec(),
    }
    to_line(&response)
}

/// The answer of the proxy's own tool. Invalid arguments lead to a result that explains them: an agent can act on that.
pub(super) async fn answered(id: &Value, load: Result<impl Future<Output = ToolReply>, String>) -> Vec<u8> {
    let answer = match load {
        Ok(load) => load.await,
        Err(why) => ToolReply::refused(format!("not read: {why}; give name, and offset and limit in bytes")),
    };
    let blocks = std::iter::once(answer.text).chain(answer.body);
    let content: Vec<Value> = blocks.map(|text| json!({ "type": "text", "text": text })).collect();
    let mut result = json!({ "content": content, "isError": answer.is_error });
    if let Some(data) = answer.data {
        result["structuredContent"] = data;
    }
    to_line(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
}

/// A result whose large texts were replaced; none if all of them stay, so that the line passes unchanged.
pub(super) async fn replace_large_texts(
    result_store: &impl ResultStore,
    tool: &str,
    call: Option<&str>,
    mut response: Value,
) -> Option<Vec<u8>> {
    let result = response["result"].as_object_mut()?;
    // Errors are for the agent to read, and are usually short.
    if result.get("isError").is_some_and(|is_error| *is_error == true) {
        return None;
    }
    let mut large = Vec::new();
    for (part, value) in result {
        match part.as_str() {
            "content" => {
                value.as_array_mut().into_iter().flatten().for_each(|block| gather_block(block, &mut large))
            }
            // Servers give the same again as data; a string in it stays a string, so the tool's own schema still holds.
            "structuredContent" => gather_all(value, &mut large),
            _ => {}
        }
    }
    let mut placed: Vec<(String, Option<String>)> = Vec::new();
    for text in large {
        let Some(whole) = text.as_str().map(str::to_owned) else { continue };
        let known = placed.iter().find(|(known, _)| *known == whole).map(|(_, note)| note.clone());
        let note = match known {
            Some(note) => note,
            None => {
                let offer =
                    LargeResult { tool: tool.to_owned(), call: call.map(str::to_owned), text: whole.clone() };
                let note = result_store.place(offer).await.map(|reference| note(&reference));
                placed.push((whole, note.clone()));
                note
            }
        };
        if let Some(note) = note {
            *text = Value::String(note);
        }
    }
    placed.iter().any(|(_, note)| note.is_some()).then(|| to_line(&response))
}

fn gather_block<'a>(block: &'a mut Value, large: &mut Vec<&'a mut Value>) {
    let text = match block["type"].as_str() {
        Some("text") => block.get_mut("text"),
        Some("resource") => block.get_mut("resource").and_then(|resource| resource.get_mut("text")),
        _ => None,
    };
    if let Some(text) = text {
        gather(text, large);
    }
}

fn gather<'a>(text: &'a mut Value, large: &mut Vec<&'a mut Value>) {
    if text.as_str().is_some_and(|text| text.len() >= OFFERED_BYTES_MIN) {
        large.push(text);
    }
}

fn gather_all<'a>(value: &'a mut Value, large: &mut Vec<&'a mut Value>) {
    match value {
        Value::String(_) => gather(value, large),
        Value::Array(items) => items.iter_mut().for_each(|item| gather_all(item, large)),
        Value::Object(fields) => fields.values_mut().for_each(|field| gather_all(field, large)),
        _ => {}
    }
}

/// The text that replaces a stored text in the context.
fn note(reference: &ResultReference) -> String {
    let ResultReference { name, version, bytes, tokens, tokens_by, preview } = reference;
    format!(
        "[This result has {tokens} tokens ({tokens_by}), too many for the context. All {bytes} bytes of it are kept as \
         {name}@{version}. Read the parts that you need with the tool {LOAD_TOOL}, for example \
         {{\"name\": \"{name}\", \"version\": {version}, \"offset\": 0, \"limit\": 16384}}. It begins:]\n{preview}"
    )
}

fn to_line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}
