//! OpenCode, Gemini, `codex exec` and plain text beyond the recordings; and the properties of all formats.

use baton_core::facts::{AgentEvent, ErrorSignal, OccupancySource, SignalSource, TokenUsage};
use baton_core::time::UnixMs;
use baton_streams::{ClaudeDecoder, Decoder, StreamFormat};
use serde_json::{Value, json};

fn bytes(format: StreamFormat, lines: &[&[u8]]) -> Vec<AgentEvent> {
    let (mut decoder, mut out) = (format.decoder(), Vec::new());
    lines.iter().for_each(|line| decoder.line(line, &mut out));
    decoder.end(&mut out);
    out
}

fn decode(format: StreamFormat, lines: &[Value]) -> Vec<AgentEvent> {
    let lines: Vec<Vec<u8>> = lines.iter().map(|line| line.to_string().into_bytes()).collect();
    bytes(format, &lines.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn signals(events: &[AgentEvent]) -> Vec<&ErrorSignal> {
    fn signal(event: &AgentEvent) -> Option<&ErrorSignal> {
        if let AgentEvent::Signal(signal) = event { Some(signal) } else { None }
    }
    events.iter().filter_map(signal).collect()
}

#[test]
fn opencode_tells_when_its_provider_wants_to_be_asked_again() {
    // B4
    let headers = json!({ "content-type": "application/json", "Retry-After": "90" });
    let data = json!({ "message": "slow down", "statusCode": 429, "responseHeaders": headers, "responseBody": "no" });
    let error = json!({ "name": "APIError", "data": data });
    let events =
        decode(StreamFormat::Opencode, &[json!({ "type": "error", "timestamp": 1_000_000, "error": error })]);
    let [own, provider] = signals(&events)[..] else { panic!("{events:?}") };
    assert_eq!(
        (own.channel, own.code.as_str(), own.status),
        (SignalSource::AgentEvent, "APIError", Some(429))
    );
    assert_eq!((provider.text.as_str(), provider.resets_at), ("slow down", Some(UnixMs(1_090_000))));
}

#[test]
fn opencode_ends_its_prompt_by_leaving_and_only_after_a_finished_step() {
    // A4
    let step = |reason: &str| json!({ "type": "step_finish", "part": { "reason": reason, "tokens": { "total": 9 } } });
    let ended = |lines: &[Value]| match decode(StreamFormat::Opencode, lines).pop() {
        Some(AgentEvent::PromptEnded { stop_reason, is_error }) => Some((stop_reason, is_error)),
        _ => None,
    };
    assert_eq!(ended(&[step("stop")]), Some(("stop".to_owned(), false)));
    assert_eq!(ended(&[step("length")]), Some(("length".to_owned(), false)));
    assert_eq!(ended(&[step("tool-calls")]), None);
    assert_eq!(ended(&[step("stop"), json!({ "type": "step_start" })]), None);
    let error = json!({ "type": "error", "error": { "name": "ContextOverflowError" } });
    assert_eq!(ended(&[error]), Some(("ContextOverflowError".to_owned(), true)));
}

#[test]
fn gemini_passes_the_providers_body_on_as_a_message() {
    // A4, B4
    let body = json!({ "error": { "code": 400, "status": "INVALID_ARGUMENT",
        "message": "The input token count (9) exceeds the maximum number of tokens allowed (8)." } });
    let wrapped = json!({ "error": { "code": 400, "status": "Bad Request", "message": body.to_string() } });
    for message in [body.to_string(), wrapped.to_string(), format!("[API Error: {wrapped}]")] {
        let error = json!({ "type": "Error", "message": message });
        let events =
            decode(StreamFormat::Gemini, &[json!({ "type": "result", "status": "error", "error": error })]);
        let [told] = signals(&events)[..] else { panic!("{events:?}") };
        assert_eq!((told.code.as_str(), told.status), ("INVALID_ARGUMENT", Some(400)), "{message}");
        assert!(told.text.starts_with("The input token count"), "{}", told.text);
        let ended = AgentEvent::PromptEnded { stop_reason: "Error".to_owned(), is_error: true };
        assert_eq!(events.last(), Some(&ended));
    }
}

#[test]
fn codex_exec_tells_a_failure_once() {
    let error = |message: &str| json!({ "type": "error", "message": message });
    let failed = |message: &str| json!({ "type": "turn.failed", "error": { "message": message } });
    assert_eq!(signals(&decode(StreamFormat::CodexExec, &[error("gone"), failed("gone")])).len(), 1);
    assert_eq!(signals(&decode(StreamFormat::CodexExec, &[failed("gone")])).len(), 1);
    let events = decode(StreamFormat::CodexExec, &[error("Reconnecting... 1/5 (x)"), failed("gone")]);
    assert_eq!(signals(&events).iter().map(|signal| signal.retrying).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn plain_text_is_the_answer_and_a_usage_line_is_not() {
    let usage = br#"{"baton":{"used_tokens":41200,"window_tokens":200000,"input_tokens":41000,"output_tokens":200,"cost_usd":0.5}}"#;
    let events = bytes(StreamFormat::Text, &[b"working", usage, br#"{"baton":"a relay"}"#, b"caf\xff"]);
    let text = |text: &str| AgentEvent::Text { text: text.to_owned() };
    let billed = TokenUsage { input_tokens: 41_000, output_tokens: 200, cost_microusd: Some(500_000) };
    let expected = [
        text("working\n"),
        AgentEvent::Occupancy {
            used_tokens: Some(41_200),
            window_tokens: Some(200_000),
            source: OccupancySource::Agent,
        },
        AgentEvent::Turn { used_tokens: Some(41_200), billed },
        text("{\"baton\":\"a relay\"}\n"),
        text("caf\u{fffd}\n"),
    ];
    assert_eq!(events, expected);
}

#[test]
fn claude_is_ready_with_the_session_it_was_given_where_it_is_up_before_its_first_prompt() {
    let up = json!({ "type": "control_response", "response": { "subtype": "success", "response": { "commands": [] } } });
    let init = json!({ "type": "system", "subtype": "init", "session_id": "s-1", "model": "m" });
    let session = |mut decoder: ClaudeDecoder, lines: &[&Value]| {
        let mut out = Vec::new();
        lines.iter().for_each(|line| decoder.line(line.to_string().as_bytes(), &mut out));
        let [AgentEvent::Ready { agent_session, .. }] = out.as_slice() else { panic!("{out:?}") };
        agent_session.clone()
    };
    let given = Some("s-1".to_owned());
    assert_eq!(session(ClaudeDecoder::new(), &[&init, &up]), given);
    assert_eq!(session(ClaudeDecoder::of_session("s-1"), &[&up, &init]), given);
}

// B5
#[test]
fn a_resumed_conversation_of_claude_is_not_billed_twice() {
    let call = json!({ "id": "m1", "model": "m", "usage": { "input_tokens": 30_000, "output_tokens": 40 }, "content": [] });
    let call = json!({ "type": "assistant", "message": call });
    let result = |input: u64, output: u64, cost: f64| {
        json!({
            "type": "result", "subtype": "success", "is_error": false, "total_cost_usd": cost,
            "modelUsage": { "m": { "inputTokens": input, "outputTokens": output } }
        })
    };
    let billed = |before: TokenUsage, results: &[Value]| {
        let mut decoder = ClaudeDecoder::of_session("s").resuming(before);
        let mut sum = TokenUsage::default();
        let lines = [call.clone()].into_iter().chain(results.iter().cloned());
        for line in lines {
            let mut out = Vec::new();
            decoder.line(line.to_string().as_bytes(), &mut out);
            for event in out {
                if let AgentEvent::Turn { billed, .. } | AgentEvent::Billing(billed) = event {
                    sum.add(&billed);
                }
            }
        }
        sum
    };
    let before = TokenUsage { input_tokens: 96_300, output_tokens: 400, cost_microusd: Some(114_100) };
    let of = |input_tokens, output_tokens, cost| TokenUsage {
        input_tokens,
        output_tokens,
        cost_microusd: Some(cost),
    };
    // Totals of the whole conversation, and the increment of the second prompt.
    let (first, second) = (result(127_000, 450, 0.1315), result(160_000, 500, 0.2));
    assert_eq!(billed(before, std::slice::from_ref(&first)), of(30_700, 50, 17_400));
    assert_eq!(billed(before, &[first, second]), of(63_700, 100, 85_900));
    // The totals of an agent that was killed begin at zero, and so do those of every new conversation.
    let anew = result(30_700, 50, 0.0174);
    assert_eq!(billed(before, std::slice::from_ref(&anew)), of(30_700, 50, 17_400));
    assert_eq!(billed(TokenUsage::default(), &[anew]), of(30_700, 50, 17_400));
}

#[test]
fn a_field_of_another_type_loses_nothing_but_itself() {
    let block = json!({ "type": "text", "text": "said" });
    let message = json!({ "id": 7, "model": ["m"], "content": [block, 3, null], "usage": "none" });
    let events =
        decode(StreamFormat::Claude, &[json!({ "type": "assistant", "session_id": {}, "message": message })]);
    assert_eq!(events[0], AgentEvent::Text { text: "said".to_owned() });
    // Of two fields of one name the last one counts, and no line is lost for it.
    let twice = br#"{"type":"user","type":"message","role":"assistant","content":"said","tool_id":1}"#;
    assert_eq!(bytes(StreamFormat::Gemini, &[twice])[0], AgentEvent::Text { text: "said".to_owned() });
}

#[test]
fn half_a_character_loses_nothing_but_itself() {
    // JavaScript escapes the half of a surrogate pair if it cut a text in the middle of one.
    let halves: [&[u8]; 2] = [
        br#"{"type":"message","role":"assistant","content":"said \ud83d"}"#,
        b"{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"said \xf0\"}",
    ];
    for line in halves {
        assert_eq!(
            bytes(StreamFormat::Gemini, &[line])[0],
            AgentEvent::Text { text: "said \u{fffd}".to_owned() }
        );
    }
}

#[test]
fn what_is_nested_too_deep_to_read_is_skipped_where_nobody_reads_it() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let line = format!(r#"{{"type":"message","role":"assistant","extra":{deep},"content":"said"}}"#);
    assert_eq!(
        bytes(StreamFormat::Gemini, &[line.as_bytes()])[0],
        AgentEvent::Text { text: "said".to_owned() }
    );
}

#[test]
fn a_kind_that_is_new_is_unknown_in_every_format_that_has_kinds() {
    for format in StreamFormat::ALL.into_iter().filter(|format| *format != StreamFormat::Text) {
        let line = match format {
            StreamFormat::Acp | StreamFormat::CodexAppServer => {
                json!({ "method": "brand/new", "params": {} })
            }
            _ => json!({ "type": "brand-new" }),
        };
        let events = decode(format, &[line]);
        assert!(
            events.iter().any(|event| matches!(event, AgentEvent::Unknown { .. })),
            "{format}: {events:?}"
        );
    }
}

/// The texts of the events, as one text.
fn said(events: &[AgentEvent]) -> String {
    let text =
        |event: &AgentEvent| if let AgentEvent::Text { text } = event { text.clone() } else { String::new() };
    events.iter().map(text).collect()
}

#[test]
fn whole_messages_that_follow_each_other_stand_on_lines_of_their_own() {
    // A11: a line that the host asked for was the end of the line before it.
    let claude = |texts: &[&str]| {
        let content: Vec<Value> = texts.iter().map(|text| json!({ "type": "text", "text": text })).collect();
        json!({ "type": "assistant", "message": { "id": "m", "model": "x", "content": content } })
    };
    let exec =
        |text: &str| json!({ "type": "item.completed", "item": { "type": "agent_message", "text": text } });
    let opencode = |text: &str| json!({ "type": "text", "part": { "text": text } });
    for (format, lines) in [
        (StreamFormat::Claude, vec![claude(&["The notes are clear.", "Done: cats"])]),
        (StreamFormat::Claude, vec![claude(&["The notes are clear."]), claude(&["Done: cats"])]),
        (StreamFormat::CodexExec, vec![exec("The notes are clear."), exec("Done: cats")]),
        (StreamFormat::Opencode, vec![opencode("The notes are clear."), opencode("Done: cats")]),
    ] {
        assert_eq!(said(&decode(format, &lines)), "The notes are clear.\nDone: cats", "{format:?}");
    }
    let broken = [exec("The notes are clear.\n"), exec("Done: cats")];
    assert_eq!(said(&decode(StreamFormat::CodexExec, &broken)), "The notes are clear.\nDone: cats");
    // The pieces of one message stay together, and a call of a tool separates two already.
    let piece =
        |text: &str| json!({ "type": "message", "role": "assistant", "delta": true, "content": text });
    assert_eq!(said(&decode(StreamFormat::Gemini, &[piece("Done: "), piece("cats")])), "Done: cats");
    let call = json!({ "type": "tool_use", "part": { "tool": "bash", "callID": "c", "state": {} } });
    let around = [opencode("The notes are clear."), call, opencode("Done: cats")];
    assert_eq!(said(&decode(StreamFormat::Opencode, &around)), "The notes are clear.Done: cats");
}
