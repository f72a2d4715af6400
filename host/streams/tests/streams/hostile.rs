//! Streams that no agent should print: never an error, never a panic, always bounded.

use baton_core::facts::{AgentEvent, SIGNAL_TEXT_BYTES, SignalSource};
use baton_core::time::UnixMs;
use baton_streams::{AcpDecoder, ClaudeDecoder, Decoder, StreamDecoder};
use proptest::prelude::*;
use serde_json::{Value, json};

fn claude(lines: &[Value]) -> Vec<AgentEvent> {
    let (mut decoder, mut out) = (ClaudeDecoder::new(), Vec::new());
    lines.iter().for_each(|line| decoder.line(line.to_string().as_bytes(), &mut out));
    decoder.end(&mut out);
    out
}

fn acp(sent: &[Value], lines: &[Value]) -> Vec<AgentEvent> {
    let (mut decoder, mut out) = (AcpDecoder::new(), Vec::new());
    sent.iter().for_each(|line| decoder.sent(line.to_string().as_bytes(), &mut out));
    lines.iter().for_each(|line| decoder.line(line.to_string().as_bytes(), &mut out));
    decoder.end(&mut out);
    out
}

fn prompt(id: u32, text: &str) -> Value {
    let params = json!({ "sessionId": "s", "prompt": [{ "type": "text", "text": text }] });
    json!({ "jsonrpc": "2.0", "id": id, "method": "session/prompt", "params": params })
}

#[test]
fn garbage_on_stdout_is_terminal_text() {
    for event in claude(&[json!("a string"), json!([1, 2]), json!(null)]) {
        let AgentEvent::Signal(signal) = event else { panic!("{event:?}") };
        assert_eq!(signal.channel, SignalSource::Terminal);
    }
}

#[test]
fn a_hundred_megabytes_on_one_line_are_one_signal() {
    let mut stream = StreamDecoder::new(ClaudeDecoder::new());
    let mut out = Vec::new();
    let chunk = vec![b'{'; 1 << 20];
    (0..100).for_each(|_| stream.push(&chunk, &mut out));
    stream.push(b"\n{\"type\":\"system\",\"subtype\":\"init\",\"model\":\"m\"}\n", &mut out);
    stream.end(&mut out);
    let [AgentEvent::Signal(signal), AgentEvent::Ready { .. }] = out.as_slice() else { panic!("{out:?}") };
    assert_eq!((signal.channel, signal.code.as_str()), (SignalSource::Terminal, "line-too-long"));
    assert_eq!(signal.text.len(), SIGNAL_TEXT_BYTES);
}

#[test]
fn what_a_tool_printed_is_no_signal() {
    // Evidence, not vibes: an agent that reads a log about exhaustion is not exhausted.
    let content = json!([{ "type": "tool_result", "tool_use_id": "t", "content": "prompt is too long, rate limit 429" }]);
    let events = claude(&[json!({ "type": "user", "message": { "role": "user", "content": content } })]);
    let [AgentEvent::ToolOutput { bytes: 34, .. }] = events.as_slice() else { panic!("{events:?}") };
}

#[test]
fn a_quota_that_rejects_carries_its_reset_and_one_that_allows_is_silent() {
    // B4
    let event = |status: &str| {
        let info = json!({ "status": status, "resetsAt": 1_700_000_000, "rateLimitType": "five_hour" });
        claude(&[json!({ "type": "rate_limit_event", "rate_limit_info": info })])
    };
    let [AgentEvent::Signal(rejected)] = &event("rejected")[..] else { panic!() };
    assert_eq!((rejected.code.as_str(), rejected.resets_at), ("rate_limit", Some(UnixMs(1_700_000_000_000))));
    let [AgentEvent::Signal(warning)] = &event("allowed_warning")[..] else { panic!() };
    assert_eq!((warning.code.as_str(), warning.resets_at), ("rate_limit_warning", None));
    assert!(event("allowed").is_empty());
}

#[test]
fn an_acp_rate_limit_carries_its_reset_in_either_unit() {
    // B4
    for (given, expected) in [(1_700_000_000_000_u64, 1_700_000_000_000), (1_700_000_000, 1_700_000_000_000)]
    {
        let data = json!({ "errorKind": "rate_limit", "status": 429, "resetsAt": given });
        let error =
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32603, "message": "m", "data": data } });
        let events = acp(&[prompt(1, "work")], &[error]);
        let [AgentEvent::Signal(signal), AgentEvent::PromptEnded { stop_reason, is_error: true }] =
            events.as_slice()
        else {
            panic!("{events:?}")
        };
        assert_eq!((signal.resets_at, signal.status), (Some(UnixMs(expected)), Some(429)));
        assert_eq!(stop_reason, "rate_limit");
    }
}

#[test]
fn codex_gives_up_with_end_turn_and_no_usage() {
    // A4: observed, although the recording itself was too large to keep.
    let lines = [
        json!({ "id": 0, "result": { "agentCapabilities": {}, "agentInfo": { "name": "@agentclientprotocol/codex-acp" } } }),
        json!({ "method": "session/update", "params": { "update": { "sessionUpdate": "agent_message_chunk", "messageId": "1",
            "content": { "type": "text", "text": "{\"error\":{\"code\":\"context_length_exceeded\"}}" } } } }),
        json!({ "id": 1, "result": { "stopReason": "end_turn", "usage": null } }),
    ];
    let events = acp(&[prompt(1, "work")], &lines);
    let signal = events
        .iter()
        .find_map(|event| if let AgentEvent::Signal(signal) = event { Some(signal) } else { None });
    let signal = signal.unwrap();
    assert_eq!(signal.channel, SignalSource::ProviderError);
    assert!(signal.text.contains("context_length_exceeded"));
    assert_eq!(
        events.last(),
        Some(&AgentEvent::PromptEnded { stop_reason: "end_turn".to_owned(), is_error: true })
    );
}

#[test]
fn an_acp_error_says_what_its_agent_says_in_data() {
    // A4, B4: adapters put code and words into fields of their own.
    let told = |data: Value| {
        let error = json!({ "code": -32603, "message": "Internal error", "data": data });
        let events = acp(&[prompt(1, "work")], &[json!({ "id": 1, "error": error })]);
        let [AgentEvent::Signal(signal), AgentEvent::PromptEnded { is_error: true, .. }] = events.as_slice()
        else {
            panic!("{events:?}")
        };
        (signal.code.clone(), signal.text.clone())
    };
    let codex = json!({ "message": "no allowance", "codexErrorInfo": "usageLimitExceeded" });
    assert_eq!(told(codex), ("usageLimitExceeded".to_owned(), "Internal error: no allowance".to_owned()));
    let opencode = json!({ "service": "session", "errorName": "ContextOverflowError" });
    assert_eq!(told(opencode), ("ContextOverflowError".to_owned(), "Internal error".to_owned()));
    assert_eq!(told(json!("no key")), ("-32603".to_owned(), "Internal error: no key".to_owned()));
}

#[test]
fn a_compaction_that_was_asked_for_ends_in_one_event_and_no_prompt() {
    // B3
    let ended = json!({ "id": 1, "result": { "stopReason": "end_turn", "usage": {} } });
    let said = json!({ "method": "session/update", "params": { "update": { "sessionUpdate": "agent_message_chunk",
        "content": { "type": "text", "text": "Not enough messages to compact." } } } });
    let events = acp(&[prompt(1, "/compact keep the plan")], &[said, ended.clone()]);
    let failed = AgentEvent::CompactionFailed { text: "Not enough messages to compact.".to_owned() };
    assert_eq!(events.last(), Some(&failed));
    assert!(!events.iter().any(|event| matches!(event, AgentEvent::PromptEnded { .. })));

    // A prompt that only speaks of it is a prompt.
    let events = acp(&[prompt(1, "/compaction is what to explain")], &[ended]);
    assert!(matches!(events.last(), Some(AgentEvent::PromptEnded { .. })));
}

#[test]
fn claude_says_why_it_does_not_compact() {
    // As Claude Code 2.1.330 reports it: in a message of its own, with an empty result and no boundary.
    let content = json!([{ "type": "text", "text": "Not enough messages to compact." }]);
    let events = claude(&[
        json!({ "type": "assistant", "message": { "model": "<synthetic>", "content": content } }),
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": "", "local_command": "compact" }),
    ]);
    let failed = AgentEvent::CompactionFailed { text: "Not enough messages to compact.".to_owned() };
    assert_eq!(events.last(), Some(&failed));
    assert!(!events.iter().any(|event| matches!(event, AgentEvent::PromptEnded { .. })));
}

#[test]
fn permission_requests_are_seen_from_both_sides() {
    let (mut decoder, mut out) = (AcpDecoder::new(), Vec::new());
    let request = json!({ "id": 7, "method": "session/request_permission", "params": { "toolCall": { "title": "rm -r" } } });
    decoder.line(request.to_string().as_bytes(), &mut out);
    let answer = json!({ "id": 7, "result": { "outcome": { "outcome": "selected", "optionId": "reject" } } });
    decoder.sent(answer.to_string().as_bytes(), &mut out);
    let asked = AgentEvent::ApprovalRequested { title: "rm -r".to_owned() };
    assert_eq!(out, [asked, AgentEvent::ApprovalResolved { allowed: false }]);
    // A command is named as other agents name it, so that the user can be shown how to allow it.
    out.clear();
    let call =
        json!({ "title": "Run the build", "kind": "execute", "rawInput": { "command": "npm run build" } });
    let request = json!({ "id": 8, "method": "session/request_permission", "params": { "toolCall": call } });
    decoder.line(request.to_string().as_bytes(), &mut out);
    assert_eq!(out, [AgentEvent::ApprovalRequested { title: "Bash npm run build".to_owned() }]);
}

#[test]
fn a_login_that_an_acp_agent_wants_has_its_name_and_the_words_of_the_agent() {
    let told = |said: &str, code: i64, message: &str| {
        let (mut decoder, mut out) = (AcpDecoder::new(), Vec::new());
        let prompt = json!({ "id": 3, "method": "session/prompt", "params": { "prompt": [{ "type": "text", "text": "Do." }] } });
        decoder.sent(prompt.to_string().as_bytes(), &mut out);
        let chunk =
            json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": said } });
        let update = json!({ "method": "session/update", "params": { "update": chunk } });
        decoder.line(update.to_string().as_bytes(), &mut out);
        let error = json!({ "id": 3, "error": { "code": code, "message": message } });
        decoder.line(error.to_string().as_bytes(), &mut out);
        let signal = out.into_iter().find_map(|event| match event {
            AgentEvent::Signal(signal) => Some((signal.code, signal.text)),
            _ => None,
        });
        signal.unwrap()
    };
    let named = |code: &str, text: &str| (code.to_owned(), text.to_owned());
    let required = "Authentication required";
    assert_eq!(told("", -32000, required), named("authentication_failed", required));
    let key = "Invalid API key";
    assert_eq!(told(key, -32000, required), named("authentication_failed", key));
    // Servers use the number for other things, too.
    assert_eq!(told(key, -32000, "out of memory"), named("-32000", "out of memory"));
}

/// Any JSON, with the names that the decoders look for among its keys and texts.
fn any_json() -> impl Strategy<Value = Value> {
    let words = [
        "type",
        "system",
        "init",
        "assistant",
        "user",
        "result",
        "message",
        "content",
        "usage",
        "id",
        "method",
        "params",
        "update",
        "sessionUpdate",
        "tool_call",
        "tool_call_update",
        "toolCallId",
        "session/update",
        "status",
        "completed",
        "rawOutput",
        "error",
        "data",
        "resetsAt",
        "stopReason",
        "text",
        "tool_use",
        "modelUsage",
        "used",
        "compact_boundary",
        "subtype",
        "usage_update",
        "session/prompt",
        "cost",
        "amount",
        "parent_tool_use_id",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(words.to_vec()).prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        let key = proptest::sample::select(words.to_vec());
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..6).prop_map(|fields| {
                Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

fn is_bounded(event: &AgentEvent) -> bool {
    match event {
        AgentEvent::Signal(signal) => signal.text.len() <= SIGNAL_TEXT_BYTES && signal.code.len() <= 64,
        AgentEvent::ToolOutput { text, .. } | AgentEvent::CompactionFailed { text } => {
            text.len() <= SIGNAL_TEXT_BYTES
        }
        AgentEvent::Unknown { kind } => kind.len() <= 64,
        _ => true,
    }
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_panic(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..20)) {
        let mut out = Vec::new();
        let (mut claude, mut acp) = (StreamDecoder::new(ClaudeDecoder::new()), StreamDecoder::new(AcpDecoder::new()));
        for chunk in &chunks {
            claude.push(chunk, &mut out);
            acp.push(chunk, &mut out);
        }
        claude.end(&mut out);
        acp.end(&mut out);
        prop_assert!(out.iter().all(is_bounded));
    }

    #[test]
    fn no_json_makes_a_decoder_panic(lines in proptest::collection::vec(any_json(), 0..12)) {
        let mut out = claude(&lines);
        out.extend(acp(&lines, &lines));
        prop_assert!(out.iter().all(is_bounded));
    }
}
