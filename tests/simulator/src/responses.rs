//! The shapes of the OpenAI Responses API, as far as Codex uses it: requests, responses, events of a stream, errors.
//! Decides nothing.

use serde_json::{Value, json};

use crate::api_kind::{ApiKind, ErrorResponse, ResponseHeader, event, pieces};
use crate::dialogue::{DialogueEntry, DialogueState};
use crate::failure::{ErrorReason, now_s};
use crate::model_request::{ModelRequest, OfferedTool, bytes, items, texts};
use crate::reply::{PromptUsage, ReplyBlock, ReplyToolCall, SEARCH, ToolCallInput};
use crate::script::QuotaUsage;

pub(crate) fn read(body: &Value) -> ModelRequest {
    let alone = [json!({"role": "user", "content": body["input"]})];
    let input = body["input"].as_array().map_or(&alone[..], Vec::as_slice);
    let entries: Vec<DialogueEntry> = input.iter().map(entry).collect();
    // Tools that the agent found by search come with the dialogue.
    let found = input.iter().filter(|item| item["type"] == "tool_search_output").map(|item| &item["tools"]);
    let tools = std::iter::once(&body["tools"]).chain(found).flat_map(items).flat_map(offered);
    ModelRequest {
        dialogue: body["prompt_cache_key"].as_str().unwrap_or_default().to_owned(),
        fixed_bytes: bytes(&body["instructions"]) + bytes(&body["tools"]),
        message_bytes: bytes(&body["input"]),
        ..ModelRequest::new(ApiKind::Responses, body, DialogueState::of(&entries), tools.collect())
    }
}

fn entry(item: &Value) -> DialogueEntry {
    let kind = item["type"].as_str().unwrap_or("message");
    match kind {
        "compaction_trigger" => DialogueEntry::SummaryAsked,
        // The model's own summary comes back as the word that it gave for it.
        "compaction" | "compaction_summary" => {
            DialogueEntry::Person(item["encrypted_content"].as_str().map(str::to_owned).into_iter().collect())
        }
        "message" if item["role"] == "user" => DialogueEntry::Person(texts(&item["content"])),
        _ if kind.ends_with("_output") => DialogueEntry::Results(Vec::new()),
        _ => DialogueEntry::Model,
    }
}

/// A tool, or the tools of a group.
fn offered(tool: &Value) -> Vec<OfferedTool> {
    let one = |tool: &Value, namespace: Option<&str>| {
        Some(OfferedTool {
            name: tool["name"].as_str().or((tool["type"] == SEARCH).then_some(SEARCH))?.to_owned(),
            namespace: namespace.map(str::to_owned),
            freeform: tool["type"] == "custom",
        })
    };
    if tool["type"] == "namespace" {
        items(&tool["tools"]).iter().filter_map(|member| one(member, tool["name"].as_str())).collect()
    } else {
        one(tool, None).into_iter().collect()
    }
}

/// The item of a reply as it ends, and the same as a stream begins it.
fn item(ordinal: u64, block: &ReplyBlock) -> (Value, Value) {
    let whole = match block {
        ReplyBlock::Call(ReplyToolCall { tool, input: ToolCallInput::Text(text) }) => json!({
            "type": "custom_tool_call", "id": format!("ctc_{ordinal:024}"), "status": "completed",
            "call_id": format!("call_{ordinal:024}"), "name": tool.name, "input": text,
        }),
        ReplyBlock::Call(ReplyToolCall { tool, input: ToolCallInput::Object(object) })
            if tool.name == SEARCH =>
        {
            json!({
                "type": "tool_search_call", "id": format!("tsc_{ordinal:024}"), "status": "completed",
                "call_id": format!("call_{ordinal:024}"), "execution": "client", "arguments": object,
            })
        }
        ReplyBlock::Call(ReplyToolCall { tool, input: ToolCallInput::Object(object) }) => {
            let mut call = json!({
                "type": "function_call", "id": format!("fc_{ordinal:024}"), "status": "completed",
                "call_id": format!("call_{ordinal:024}"), "name": tool.name, "arguments": object.to_string(),
            });
            if let Some(namespace) = &tool.namespace {
                call["namespace"] = namespace.as_str().into();
            }
            call
        }
        ReplyBlock::Summary(text) => {
            json!({"type": "compaction", "id": format!("cmp_{ordinal:024}"), "encrypted_content": text})
        }
        ReplyBlock::Text(_) | ReplyBlock::Hang => json!({
            "type": "message", "id": format!("msg_{ordinal:024}"), "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": block.streamed(), "annotations": []}],
        }),
    };
    let mut begun = whole.clone();
    for (field, nothing) in [("arguments", json!("")), ("input", json!("")), ("content", json!([]))] {
        if begun.get(field).is_some() {
            begun[field] = nothing;
        }
    }
    if begun.get("status").is_some() {
        begun["status"] = "in_progress".into();
    }
    (whole, begun)
}

/// A response with this status and output.
fn response(ordinal: u64, model: &str, status: &str, output: Vec<Value>, usage: Value) -> Value {
    json!({
        "id": format!("resp_{ordinal:024}"), "object": "response", "created_at": now_s(), "status": status,
        "model": model, "output": output, "usage": usage, "error": null,
    })
}

fn usage_json(usage: PromptUsage, output: u64) -> Value {
    json!({
        "input_tokens": usage.prompt, "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt + output,
    })
}

pub(crate) fn whole(ordinal: u64, asked: &ModelRequest, block: &ReplyBlock, usage: PromptUsage) -> Value {
    let output = vec![item(ordinal, block).0];
    response(ordinal, &asked.model, "completed", output, usage_json(usage, block.tokens()))
}

pub(crate) fn events(
    ordinal: u64,
    asked: &ModelRequest,
    block: &ReplyBlock,
    usage: PromptUsage,
) -> Vec<String> {
    let (whole_item, begun) = item(ordinal, block);
    let id = whole_item["id"].clone();
    let started = response(ordinal, &asked.model, "in_progress", Vec::new(), Value::Null);
    let mut stream: Vec<(&str, Value)> = vec![
        ("response.created", json!({ "response": started })),
        ("response.in_progress", json!({ "response": started })),
        ("response.output_item.added", json!({"output_index": 0, "item": begun})),
    ];
    let streamed = block.streamed();
    let place = |mut data: Value| {
        data["item_id"] = id.clone();
        data["output_index"] = 0.into();
        data
    };
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let said = |mut data: Value| {
        data["content_index"] = 0.into();
        place(data)
    };
    match block {
        ReplyBlock::Text(_) | ReplyBlock::Hang => {
            stream.push(("response.content_part.added", said(json!({"part": part("")}))));
            let deltas = pieces(&streamed).into_iter().map(|piece| said(json!({ "delta": piece })));
            stream.extend(deltas.map(|delta| ("response.output_text.delta", delta)));
            if matches!(block, ReplyBlock::Hang) {
                return numbered(stream);
            }
            stream.push(("response.output_text.done", said(json!({ "text": streamed }))));
            stream.push(("response.content_part.done", said(json!({"part": part(&streamed)}))));
        }
        ReplyBlock::Call(ReplyToolCall { tool, .. }) if tool.name == SEARCH => {}
        ReplyBlock::Call(ReplyToolCall { input: ToolCallInput::Object(_), .. }) => {
            let deltas = pieces(&streamed).into_iter().map(|piece| place(json!({ "delta": piece })));
            stream.extend(deltas.map(|delta| ("response.function_call_arguments.delta", delta)));
            stream.push(("response.function_call_arguments.done", place(json!({ "arguments": streamed }))));
        }
        ReplyBlock::Call(ReplyToolCall { input: ToolCallInput::Text(_), .. }) => {
            let deltas = pieces(&streamed).into_iter().map(|piece| place(json!({ "delta": piece })));
            stream.extend(deltas.map(|delta| ("response.custom_tool_call_input.delta", delta)));
            stream.push(("response.custom_tool_call_input.done", place(json!({ "input": streamed }))));
        }
        ReplyBlock::Summary(_) => {}
    }
    stream.push(("response.output_item.done", json!({"output_index": 0, "item": whole_item})));
    stream.push(("response.completed", json!({"response": whole(ordinal, asked, block, usage)})));
    numbered(stream)
}

fn numbered(stream: Vec<(&str, Value)>) -> Vec<String> {
    let numbered = stream.into_iter().enumerate().map(|(number, (name, mut data))| {
        data["sequence_number"] = number.into();
        event(name, data)
    });
    numbered.collect()
}

pub(crate) fn failed(ordinal: u64, refused: &ErrorResponse) -> String {
    let mut response = response(ordinal, "simulated", "failed", Vec::new(), Value::Null);
    response["error"] = refused.body["error"].clone();
    event("response.failed", json!({"sequence_number": 0, "response": response}))
}

pub(crate) fn refused(refusal: &ErrorReason) -> ErrorResponse {
    let mut headers = Vec::new();
    let (status, error) = match refusal {
        ErrorReason::RateLimited => {
            let message = "Rate limit reached for the simulated model on tokens per min (TPM): Limit 30000, Used \
                           30000, Requested 1000. Please try again in 2s.";
            (429, json!({"message": message, "type": "tokens", "param": null, "code": "rate_limit_exceeded"}))
        }
        ErrorReason::Overloaded => {
            let message = "The server is currently overloaded with other requests.";
            (503, json!({"message": message, "type": "server_error", "code": "server_is_overloaded"}))
        }
        ErrorReason::QuotaUntil(resets_at_s) => {
            headers = quota(QuotaUsage { used_percent: 100, resets_at_s: *resets_at_s });
            let message = "The usage limit has been reached";
            let (kind, plan) = ("usage_limit_reached", "pro");
            (429, json!({"type": kind, "message": message, "plan_type": plan, "resets_at": resets_at_s}))
        }
        ErrorReason::Unauthorized => {
            let message = "Incorrect API key provided.";
            (401, json!({"message": message, "type": "invalid_request_error", "code": "invalid_api_key"}))
        }
        ErrorReason::UnknownModel => {
            let message = "The model `unknown` does not exist or you do not have access to it.";
            (404, json!({"message": message, "type": "invalid_request_error", "code": "model_not_found"}))
        }
        ErrorReason::CreditSpent => {
            let message = "You exceeded your current quota, please check your plan and billing details.";
            (429, json!({"message": message, "type": "insufficient_quota", "code": "insufficient_quota"}))
        }
        ErrorReason::TooLong { .. } => {
            let message = "Your input exceeds the context window of this model. Please adjust your input and try again.";
            let (kind, code) = ("invalid_request_error", "context_length_exceeded");
            (400, json!({"message": message, "type": kind, "param": "input", "code": code}))
        }
        ErrorReason::NoJson => {
            (400, json!({"message": "the body is not JSON", "type": "invalid_request_error"}))
        }
        ErrorReason::NoSuchPath(path) => {
            (404, json!({"message": format!("the simulator has no {path}"), "type": "invalid_request_error"}))
        }
    };
    ErrorResponse { status, headers, body: json!({ "error": error }) }
}

pub(crate) fn quota(quota: QuotaUsage) -> Vec<ResponseHeader> {
    vec![
        ("x-codex-primary-used-percent", quota.used_percent.to_string()),
        ("x-codex-primary-window-minutes", "300".to_owned()),
        ("x-codex-primary-reset-at", quota.resets_at_s.to_string()),
    ]
}
