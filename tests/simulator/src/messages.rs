//! The shapes of the Anthropic Messages API: requests, messages, events of a stream, errors. Decides nothing.

use serde_json::{Value, json};

use crate::api_kind::{ApiKind, ErrorResponse, ResponseHeader, event, pieces};
use crate::dialogue::{DialogueEntry, DialogueState};
use crate::failure::ErrorReason;
use crate::model_request::{ModelRequest, OfferedTool, bytes, items, texts};
use crate::reply::{PromptUsage, ReplyBlock, ReplyToolCall, ToolCallInput};
use crate::script::QuotaUsage;

pub(crate) fn read(body: &Value) -> ModelRequest {
    let entries: Vec<DialogueEntry> = items(&body["messages"]).iter().map(entry).collect();
    let tools = items(&body["tools"]).iter().filter_map(|tool| {
        Some(OfferedTool { name: tool["name"].as_str()?.to_owned(), namespace: None, freeform: false })
    });
    ModelRequest {
        dialogue: body["metadata"]["user_id"].as_str().unwrap_or_default().to_owned(),
        fixed_bytes: bytes(&body["system"]) + bytes(&body["tools"]),
        message_bytes: bytes(&body["messages"]),
        ..ModelRequest::new(ApiKind::Messages, body, DialogueState::of(&entries), tools.collect())
    }
}

fn entry(message: &Value) -> DialogueEntry {
    let content = &message["content"];
    if message["role"] != "user" {
        DialogueEntry::Model
    } else if items(content).iter().any(|block| block["type"] == "tool_result") {
        DialogueEntry::Results(texts(content))
    } else {
        DialogueEntry::Person(texts(content))
    }
}

/// The content of a reply: the whole block, and the same without what a stream sends piece by piece.
fn content(ordinal: u64, block: &ReplyBlock) -> (Value, Value) {
    match block {
        ReplyBlock::Call(ReplyToolCall { tool, input }) => {
            let id = format!("toolu_{ordinal:024}");
            let input = match input {
                ToolCallInput::Object(object) => object.clone(),
                ToolCallInput::Text(text) => json!({ "input": text }),
            };
            let call =
                |input: Value| json!({"type": "tool_use", "id": id, "name": tool.name, "input": input});
            (call(input), call(json!({})))
        }
        block => (json!({"type": "text", "text": block.streamed()}), json!({"type": "text", "text": ""})),
    }
}

fn stop_reason(block: &ReplyBlock) -> &'static str {
    if matches!(block, ReplyBlock::Call(_)) { "tool_use" } else { "end_turn" }
}

fn delta(block: &ReplyBlock, piece: &str) -> Value {
    match block {
        ReplyBlock::Call(_) => json!({"type": "input_json_delta", "partial_json": piece}),
        _ => json!({"type": "text_delta", "text": piece}),
    }
}

fn usage_json(usage: PromptUsage, output: u64) -> Value {
    let input = (usage.prompt - usage.cached).min(4);
    json!({
        "input_tokens": input,
        "cache_read_input_tokens": usage.cached,
        "cache_creation_input_tokens": usage.prompt - usage.cached - input,
        "output_tokens": output,
        "service_tier": "standard",
    })
}

pub(crate) fn whole(ordinal: u64, asked: &ModelRequest, block: &ReplyBlock, usage: PromptUsage) -> Value {
    json!({
        "id": format!("msg_{ordinal:024}"), "type": "message", "role": "assistant", "model": asked.model,
        "content": [content(ordinal, block).0], "stop_reason": stop_reason(block), "stop_sequence": null,
        "usage": usage_json(usage, block.tokens()),
    })
}

pub(crate) fn events(
    ordinal: u64,
    asked: &ModelRequest,
    block: &ReplyBlock,
    usage: PromptUsage,
) -> Vec<String> {
    let start = json!({
        "id": format!("msg_{ordinal:024}"), "type": "message", "role": "assistant", "model": asked.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage_json(usage, 1),
    });
    let mut events = vec![
        event("message_start", json!({ "message": start })),
        event("content_block_start", json!({"index": 0, "content_block": content(ordinal, block).1})),
        event("ping", json!({})),
    ];
    if matches!(block, ReplyBlock::Hang) {
        return events;
    }
    let streamed = match block {
        ReplyBlock::Call(_) => content(ordinal, block).0["input"].to_string(),
        block => block.streamed(),
    };
    for piece in pieces(&streamed) {
        events.push(event("content_block_delta", json!({"index": 0, "delta": delta(block, piece)})));
    }
    let end = json!({"stop_reason": stop_reason(block), "stop_sequence": null});
    events.push(event("content_block_stop", json!({"index": 0})));
    events.push(event("message_delta", json!({"delta": end, "usage": usage_json(usage, block.tokens())})));
    events.push(event("message_stop", json!({})));
    events
}

pub(crate) fn refused(refusal: &ErrorReason) -> ErrorResponse {
    let too_many = "This request would exceed your organization's rate limit.";
    let broke = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade \
                 or purchase credits.";
    let mut headers = Vec::new();
    let (status, kind, message) = match refusal {
        ErrorReason::RateLimited => (429, "rate_limit_error", too_many.to_owned()),
        ErrorReason::Overloaded => (529, "overloaded_error", "Overloaded".to_owned()),
        ErrorReason::QuotaUntil(resets_at_s) => {
            headers = unified("rejected", 100, *resets_at_s);
            headers.push(("x-should-retry", "false".to_owned()));
            (429, "rate_limit_error", too_many.to_owned())
        }
        ErrorReason::Unauthorized => (401, "authentication_error", "invalid x-api-key".to_owned()),
        ErrorReason::UnknownModel => (404, "not_found_error", "model: claude-unknown".to_owned()),
        ErrorReason::CreditSpent => (400, "invalid_request_error", broke.to_owned()),
        ErrorReason::TooLong { tokens, max } => {
            (400, "invalid_request_error", format!("prompt is too long: {tokens} tokens > {max} maximum"))
        }
        ErrorReason::NoJson => (400, "invalid_request_error", "the body is not JSON".to_owned()),
        ErrorReason::NoSuchPath(path) => (404, "not_found_error", format!("the simulator has no {path}")),
    };
    ErrorResponse {
        status,
        headers,
        body: json!({"type": "error", "error": {"type": kind, "message": message}}),
    }
}

/// Claude Code heeds these only for who logged in with a subscription, not with a key.
pub(crate) fn quota(quota: QuotaUsage) -> Vec<ResponseHeader> {
    let status = if quota.used_percent < 90 { "allowed" } else { "allowed_warning" };
    let mut headers = unified(status, quota.used_percent, quota.resets_at_s);
    if quota.used_percent >= 90 {
        headers.push(("anthropic-ratelimit-unified-5h-surpassed-threshold", "0.9".to_owned()));
    }
    headers
}

fn unified(status: &str, used_percent: u8, resets_at_s: u64) -> Vec<ResponseHeader> {
    let used = f64::from(used_percent) / 100.0;
    vec![
        ("anthropic-ratelimit-unified-status", status.to_owned()),
        ("anthropic-ratelimit-unified-reset", resets_at_s.to_string()),
        ("anthropic-ratelimit-unified-representative-claim", "five_hour".to_owned()),
        ("anthropic-ratelimit-unified-5h-utilization", used.to_string()),
        ("anthropic-ratelimit-unified-5h-reset", resets_at_s.to_string()),
    ]
}
