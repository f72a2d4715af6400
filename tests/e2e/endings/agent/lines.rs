//! The protocols that are lines of JSON: as much of each as a host needs to prompt an agent and to hear its answer.

use std::io::{BufRead as _, Write as _};

use serde_json::{Value, json};

use super::WINDOW_TOKENS;
use super::fake_agent::FakeAgent;

/// What is in the window before the first prompt.
const EMPTY_TOKENS: u64 = 2_000;

/// Answers each line until the host closes its end.
pub(super) fn serve(mut answer: impl FnMut(&Value) -> Vec<Value>) {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        for said in answer(&message) {
            // A host that is gone is noticed at the next read.
            let _ = writeln!(out, "{said}").and_then(|()| out.flush());
        }
    }
}

/// Claude Code's stream-json.
pub(super) fn claude(line: &Value, agent: &FakeAgent) -> Vec<Value> {
    let response = |answer: Value| {
        let response = json!({ "subtype": "success", "request_id": line["request_id"], "response": answer });
        json!({ "type": "control_response", "response": response })
    };
    match (line["type"].as_str(), line["request"]["subtype"].as_str()) {
        (Some("control_request"), Some("initialize")) => {
            vec![response(json!({ "commands": [], "claude_code_version": "2.1.330" }))]
        }
        (Some("control_request"), Some("get_context_usage")) => {
            vec![response(json!({ "totalTokens": EMPTY_TOKENS, "maxTokens": WINDOW_TOKENS }))]
        }
        (Some("user"), _) => {
            let answer = agent.prompt(line["message"]["content"][0]["text"].as_str().unwrap_or_default());
            let call = |path| json!({ "type": "tool_use", "id": "write", "name": "Write", "input": { "file_path": path } });
            let words = json!({ "type": "text", "text": answer.words });
            let content: Vec<Value> = answer.wrote.map(call).into_iter().chain([words]).collect();
            let usage = json!({ "input_tokens": answer.used_tokens, "output_tokens": 1 });
            let message = json!({ "id": "message", "content": content, "usage": usage });
            vec![
                json!({ "type": "assistant", "message": message }),
                json!({
                    "type": "result", "subtype": "success", "is_error": false, "terminal_reason": "completed",
                    "result": answer.words,
                }),
            ]
        }
        _ => Vec::new(),
    }
}

/// Codex' app server.
pub(super) fn codex(line: &Value, agent: &FakeAgent) -> Vec<Value> {
    let result = |result: Value| json!({ "id": line["id"], "result": result });
    let notice = |method: &str, mut params: Value| {
        params["threadId"] = json!("thread");
        json!({ "method": method, "params": params })
    };
    match line["method"].as_str() {
        Some("initialize") => vec![result(json!({ "userAgent": "baton/0.169.0 (Debian)" }))],
        Some("thread/start") => {
            let thread = json!({ "id": "thread", "cliVersion": "0.169.0" });
            vec![result(json!({ "thread": thread, "model": "fake" }))]
        }
        Some("turn/start") => {
            let answer = agent.prompt(line["params"]["input"][0]["text"].as_str().unwrap_or_default());
            let turn = |status: &str| json!({ "turn": { "id": "turn", "status": status, "error": null } });
            let tokens = answer.used_tokens;
            let used = json!({ "totalTokens": tokens, "inputTokens": tokens, "outputTokens": 1 });
            let usage = json!({ "total": used, "last": used, "modelContextWindow": WINDOW_TOKENS });
            let item = json!({ "type": "agentMessage", "id": "item", "text": answer.words });
            let change = |path| {
                let item = json!({
                    "type": "fileChange", "id": "write", "status": "completed",
                    "changes": [{ "path": path, "kind": { "type": "add" }, "diff": "" }],
                });
                let params = json!({ "turnId": "turn", "item": item });
                [notice("item/started", params.clone()), notice("item/completed", params)]
            };
            let mut lines = vec![result(turn("inProgress")), notice("turn/started", turn("inProgress"))];
            lines.extend(answer.wrote.into_iter().flat_map(change));
            lines.extend([
                notice("item/completed", json!({ "turnId": "turn", "item": item })),
                notice("thread/tokenUsage/updated", json!({ "turnId": "turn", "tokenUsage": usage })),
                notice("turn/completed", turn("completed")),
            ]);
            lines
        }
        // Every other request is one that changes nothing.
        Some(_) if line.get("id").is_some() => vec![result(json!({}))],
        _ => Vec::new(),
    }
}

/// The Agent Client Protocol.
pub(super) fn acp(line: &Value, agent: &FakeAgent) -> Vec<Value> {
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": line["id"], "result": result });
    let update = |update: Value| {
        let params = json!({ "sessionId": "session", "update": update });
        json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
    };
    match line["method"].as_str() {
        Some("initialize") => vec![result(json!({
            "protocolVersion": 1,
            "agentCapabilities": { "loadSession": false },
            "agentInfo": { "name": "fake", "version": "1" },
            "authMethods": [],
        }))],
        Some("session/new") => vec![result(json!({ "sessionId": "session" }))],
        Some("session/prompt") => {
            let answer = agent.prompt(line["params"]["prompt"][0]["text"].as_str().unwrap_or_default());
            let content = json!({ "type": "text", "text": answer.words });
            vec![
                update(json!({ "sessionUpdate": "agent_message_chunk", "content": content })),
                update(json!({
                    "sessionUpdate": "usage_update", "used": answer.used_tokens, "size": WINDOW_TOKENS,
                })),
                result(json!({ "stopReason": "end_turn" })),
            ]
        }
        // Every other request is one that changes nothing.
        Some(_) if line.get("id").is_some() => vec![result(json!({}))],
        _ => Vec::new(),
    }
}
