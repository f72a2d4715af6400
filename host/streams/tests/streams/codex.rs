//! `codex app-server` beyond the recordings: the origin of a request, the thread of a message, the limit that was reached.

use baton_core::facts::{
    AgentEvent, CompactionTrigger, ErrorSignal, OccupancySource, SignalSource, TokenUsage,
};
use baton_core::time::UnixMs;
use baton_streams::{CodexAppServerDecoder, Decoder};
use serde_json::{Value, json};

fn decode(lines: &[Value]) -> Vec<AgentEvent> {
    let (mut decoder, mut out) = (CodexAppServerDecoder::new(), Vec::new());
    lines.iter().for_each(|line| decoder.line(line.to_string().as_bytes(), &mut out));
    decoder.end(&mut out);
    out
}

fn signals(events: &[AgentEvent]) -> Vec<&ErrorSignal> {
    fn signal(event: &AgentEvent) -> Option<&ErrorSignal> {
        if let AgentEvent::Signal(signal) = event { Some(signal) } else { None }
    }
    events.iter().filter_map(signal).collect()
}

fn thread() -> Value {
    json!({ "id": 2, "result": { "model": "gpt", "thread": { "id": "main", "cliVersion": "0.169.0" } } })
}

fn notice(method: &str, mut params: Value) -> Value {
    params["threadId"] = json!("main");
    json!({ "method": method, "params": params })
}

fn usage(last: u64, total: u64) -> Value {
    let of = |count: u64| json!({ "totalTokens": count, "inputTokens": count, "outputTokens": 0 });
    notice("thread/tokenUsage/updated", json!({ "tokenUsage": { "last": of(last), "total": of(total) } }))
}

fn ended(status: &str) -> Value {
    notice("turn/completed", json!({ "turn": { "status": status } }))
}

#[test]
fn a_session_is_ready_once_with_model_and_version() {
    let ready = AgentEvent::Ready {
        agent_session: Some("main".to_owned()),
        model: Some("gpt".to_owned()),
        version: Some("0.169.0".to_owned()),
    };
    assert_eq!(decode(&[thread(), thread()]), [ready]);
}

#[test]
fn a_compaction_that_was_asked_for_and_fails_ends_in_that_and_in_no_prompt() {
    // B3: too late to compact is a failure that is seen as such.
    let error = json!({ "message": "out of room", "codexErrorInfo": "contextWindowExceeded" });
    let item = json!({ "item": { "type": "contextCompaction", "id": "c" } });
    let lines = [
        thread(),
        json!({ "id": 4, "result": {} }),
        notice("turn/started", json!({})),
        notice("item/started", item),
        notice("error", json!({ "error": error, "willRetry": false })),
        ended("failed"),
    ];
    let events = decode(&lines);
    assert_eq!(events.last(), Some(&AgentEvent::CompactionFailed { text: "out of room".to_owned() }));
    assert!(!events.iter().any(|event| matches!(event, AgentEvent::PromptEnded { .. })));
    let [told] = signals(&events)[..] else { panic!("{events:?}") };
    assert_eq!((told.channel, told.code.as_str()), (SignalSource::AgentEvent, "contextWindowExceeded"));
}

#[test]
fn a_compaction_that_is_refused_is_known_by_its_request() {
    // B3
    let (mut decoder, mut out) = (CodexAppServerDecoder::new(), Vec::new());
    let request = json!({ "id": 4, "method": "thread/compact/start", "params": { "threadId": "main" } });
    decoder.sent(request.to_string().as_bytes(), &mut out);
    let refused = json!({ "id": 4, "error": { "code": -32600, "message": "thread not found: main" } });
    decoder.line(refused.to_string().as_bytes(), &mut out);
    assert_eq!(out.last(), Some(&AgentEvent::CompactionFailed { text: "thread not found: main".to_owned() }));
    assert_eq!(signals(&out)[0].code, "-32600");
}

#[test]
fn a_compaction_in_the_middle_of_a_prompt_is_the_agents_own() {
    let item = json!({ "item": { "type": "contextCompaction", "id": "c" } });
    let lines = [
        thread(),
        json!({ "id": 3, "result": { "turn": {} } }),
        notice("turn/started", json!({})),
        usage(90, 90),
        notice("item/started", item.clone()),
        usage(95, 185),
        usage(7, 185),
        notice("item/completed", item),
        ended("completed"),
    ];
    let compacted = AgentEvent::Compacted {
        trigger: CompactionTrigger::Auto,
        before_tokens: Some(90),
        after_tokens: Some(7),
    };
    let summary = TokenUsage { input_tokens: 95, ..TokenUsage::default() };
    let prompt = AgentEvent::PromptEnded { stop_reason: "completed".to_owned(), is_error: false };
    assert_eq!(
        decode(&lines)[2..],
        [AgentEvent::Compacting, AgentEvent::Billing(summary), compacted, prompt]
    );
}

#[test]
fn the_total_of_a_thread_is_never_its_fill_and_a_resumed_one_has_no_turn_yet() {
    let events =
        decode(&[thread(), usage(500, 90_000), notice("turn/started", json!({})), usage(600, 90_600)]);
    let resumed =
        AgentEvent::Occupancy { used_tokens: Some(500), window_tokens: None, source: OccupancySource::Agent };
    let billed = TokenUsage { input_tokens: 600, ..TokenUsage::default() };
    assert_eq!(events[1..], [resumed, AgentEvent::Turn { used_tokens: Some(600), billed }]);
}

#[test]
fn what_a_sub_agent_says_is_not_the_sessions_but_its_bill_is() {
    let mut lines = vec![thread(), notice("turn/started", json!({}))];
    let of = json!({ "inputTokens": 40, "outputTokens": 2 });
    for (method, params) in [
        ("thread/started", json!({ "thread": { "id": "sub" } })),
        ("turn/started", json!({ "threadId": "sub" })),
        ("item/completed", json!({ "threadId": "sub", "item": { "type": "agentMessage", "text": "mine" } })),
        ("thread/tokenUsage/updated", json!({ "threadId": "sub", "tokenUsage": { "last": of } })),
        ("turn/completed", json!({ "threadId": "sub", "turn": { "status": "failed" } })),
    ] {
        lines.push(json!({ "method": method, "params": params }));
    }
    let billed = TokenUsage { input_tokens: 40, output_tokens: 2, cost_microusd: None };
    assert_eq!(decode(&lines)[1..], [AgentEvent::Billing(billed)]);
}

#[test]
fn a_limit_is_told_once_it_is_reached_and_the_error_carries_its_reset() {
    // B4
    let limits = |used: u32, reached: Value| {
        let primary = json!({ "usedPercent": used, "windowDurationMins": 300, "resetsAt": 1_700_000_000 });
        let limits = json!({ "primary": primary, "secondary": null, "rateLimitReachedType": reached });
        json!({ "method": "account/rateLimits/updated", "params": { "rateLimits": limits } })
    };
    assert!(decode(&[limits(99, Value::Null)]).is_empty());

    let error = json!({ "message": "You've hit your usage limit.", "codexErrorInfo": "usageLimitExceeded" });
    let failed = notice("error", json!({ "error": error }));
    let events = decode(&[limits(100, Value::Null), limits(100, Value::Null), failed]);
    let [full, error] = signals(&events)[..] else { panic!("{events:?}") };
    let reset = Some(UnixMs(1_700_000_000_000));
    assert_eq!((full.code.as_str(), full.resets_at), ("usedPercent", reset));
    assert_eq!((error.code.as_str(), error.resets_at), ("usageLimitExceeded", reset));

    let events = decode(&[limits(100, json!("workspace_owner_credits_depleted"))]);
    assert_eq!(signals(&events)[0].code, "workspace_owner_credits_depleted");
}

#[test]
fn an_error_has_its_name_and_status_or_is_the_providers() {
    // B4
    let told = |error: Value| {
        let events = decode(&[notice("error", json!({ "error": error, "willRetry": true }))]);
        let [signal] = signals(&events)[..] else { panic!("{events:?}") };
        (signal.channel, signal.code.clone(), signal.status, signal.retrying)
    };
    let info = json!({ "responseStreamDisconnected": { "httpStatusCode": 429 } });
    let named = (SignalSource::AgentEvent, "responseStreamDisconnected".to_owned(), Some(429), true);
    assert_eq!(told(json!({ "message": "Reconnecting... 1/5", "codexErrorInfo": info })), named);
    let body = r#"unexpected status: {"error":{"type":"tokens","code":"rate_limit_exceeded","message":"m"}}"#;
    let provider = (SignalSource::ProviderError, "rate_limit_exceeded".to_owned(), None, true);
    assert_eq!(told(json!({ "message": body, "codexErrorInfo": "other" })), provider);
}

#[test]
fn an_error_that_only_the_turn_tells_is_told_and_one_that_was_told_is_not_repeated() {
    let error = json!({ "message": "at capacity", "codexErrorInfo": "serverOverloaded" });
    let over = notice("turn/completed", json!({ "turn": { "status": "failed", "error": error } }));
    let start = notice("turn/started", json!({}));
    let once = decode(&[thread(), start.clone(), over.clone()]);
    let twice = decode(&[thread(), start, notice("error", json!({ "error": error })), over]);
    for events in [once, twice] {
        assert_eq!(signals(&events).len(), 1);
        let failed = AgentEvent::PromptEnded { stop_reason: "failed".to_owned(), is_error: true };
        assert_eq!(events.last(), Some(&failed));
    }
}

#[test]
fn approvals_are_seen_from_both_sides() {
    let asked = json!({ "id": "a-1", "method": "item/commandExecution/requestApproval",
        "params": { "threadId": "main", "command": "rm -r target", "reason": "to be sure" } });
    for (answer, allowed) in
        [("accept", true), ("acceptForSession", true), ("decline", false), ("cancel", false)]
    {
        let (mut decoder, mut out) = (CodexAppServerDecoder::new(), Vec::new());
        decoder.line(asked.to_string().as_bytes(), &mut out);
        decoder
            .sent(json!({ "id": "a-1", "result": { "decision": answer } }).to_string().as_bytes(), &mut out);
        let resolved = json!({ "method": "serverRequest/resolved", "params": { "requestId": "a-1" } });
        decoder.line(resolved.to_string().as_bytes(), &mut out);
        let title = "rm -r target".to_owned();
        assert_eq!(out, [AgentEvent::ApprovalRequested { title }, AgentEvent::ApprovalResolved { allowed }]);
    }
}

#[test]
fn files_that_are_changed_and_read_whole_are_told() {
    let changes = json!([{ "path": "a.rs", "kind": { "type": "add" } }, { "path": "b.rs" }]);
    let read = json!([{ "type": "read", "command": "cat c.rs", "name": "c.rs", "path": "/w/c.rs" }]);
    let part =
        json!([{ "type": "read", "command": "sed -n '1,9p' c.rs", "name": "c.rs", "path": "/w/c.rs" }]);
    let items = [
        json!({ "type": "fileChange", "id": "1", "changes": changes }),
        json!({ "type": "commandExecution", "id": "2", "commandActions": read }),
        json!({ "type": "commandExecution", "id": "3", "commandActions": part }),
    ];
    let lines: Vec<Value> =
        items.into_iter().map(|item| notice("item/started", json!({ "item": item }))).collect();
    let told = |event: &AgentEvent| match event {
        AgentEvent::ToolCall { reads, writes, .. } => (reads.clone(), writes.clone()),
        other => panic!("{other:?}"),
    };
    let some = |path: &str| Some(path.to_owned());
    let expected = [(None, some("a.rs")), (None, some("b.rs")), (some("/w/c.rs"), None), (None, None)];
    assert_eq!(decode(&lines).iter().map(told).collect::<Vec<_>>(), expected);
}

#[test]
fn whole_messages_that_follow_each_other_stand_on_lines_of_their_own() {
    // A11
    let message =
        |text: &str| notice("item/completed", json!({ "item": { "type": "agentMessage", "text": text } }));
    let events = decode(&[thread(), message("The notes are clear."), message("Done: cats")]);
    let texts = events
        .iter()
        .filter_map(|event| if let AgentEvent::Text { text } = event { Some(&text[..]) } else { None });
    assert_eq!(texts.collect::<String>(), "The notes are clear.\nDone: cats");
}
