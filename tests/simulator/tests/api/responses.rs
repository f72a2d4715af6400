//! The Responses API, and what the script means in it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use baton_simulator::{AnswerKind, ApiKind, ModelScript, ModelTurn, ScriptedFailure, Simulator};
use serde_json::{Value, json};

use crate::http::{HttpReply, request, send};

/// A time of the Unix clock that no test run reaches.
const FAR_S: u64 = 4_102_444_800;

fn ask(simulator: &Simulator, body: &Value) -> HttpReply {
    send(simulator, "/v1/responses", &body.to_string())
}

fn said(role: &str, text: &str) -> Value {
    json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]})
}

/// A prompt with `results` outputs of calls after it, as Codex sends it.
fn prompt(text: &str, results: usize) -> Value {
    let mut input =
        vec![said("developer", "instructions"), said("user", "<environment_context>x</environment_context>")];
    input.push(said("user", text));
    for _ in 0..results {
        input.push(
            json!({"type": "function_call", "call_id": "c", "name": "exec_command", "arguments": "{}"}),
        );
        input.push(json!({"type": "function_call_output", "call_id": "c", "output": "ok"}));
    }
    let tools = json!([
        {"type": "function", "name": "exec_command"}, {"type": "custom", "name": "apply_patch"},
        {"type": "namespace", "name": "mcp", "tools": [{"type": "function", "name": "note"}]}, {"type": "web_search"},
    ]);
    json!({"model": "m", "stream": true, "prompt_cache_key": "k", "tools": tools, "input": input})
}

/// The response that ends a stream.
fn ended(reply: &HttpReply) -> Value {
    let events = reply.events();
    assert_eq!((reply.status, &events[0]["type"]), (200, &json!("response.created")));
    let numbers: Vec<_> = events.iter().map(|event| event["sequence_number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (0..events.len() as u64).collect::<Vec<_>>());
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    last["response"].clone()
}

fn answers(simulator: &Simulator) -> Vec<AnswerKind> {
    simulator.requests().into_iter().map(|request| request.answered).collect()
}

#[test]
fn turns_become_calls_of_the_tools_of_codex() {
    let script = ModelScript::new().on(
        "[a]",
        [
            ModelTurn::write("/w/a", "1\n"),
            ModelTurn::write("/w/b", "no line"),
            ModelTurn::call("note", json!({"text": "x"})),
            ModelTurn::say("a is done"),
        ],
    );
    let simulator = Simulator::start(script).unwrap();
    let output = |results| ended(&ask(&simulator, &prompt("- [a] x", results)))["output"][0].clone();
    let patch = output(0);
    assert_eq!((&patch["type"], &patch["name"]), (&json!("custom_tool_call"), &json!("apply_patch")));
    assert!(patch["input"].as_str().unwrap().contains("*** Add File: /w/a\n+1\n*** End"), "{patch}");
    let command = output(1);
    assert_eq!((&command["type"], &command["name"]), (&json!("function_call"), &json!("exec_command")));
    assert!(command["arguments"].as_str().unwrap().contains("'no line' > '/w/b'"), "{command}");
    let note = output(2);
    assert_eq!((&note["namespace"], &note["arguments"]), (&json!("mcp"), &json!(r#"{"text":"x"}"#)));
    assert_eq!(output(3)["content"][0]["text"], "a is done");
    assert_eq!(output(4)["content"][0]["text"], "Done.");
    let called = |tool: &str| AnswerKind::Called(tool.to_owned());
    let expected =
        [called("apply_patch"), called("exec_command"), called("note"), AnswerKind::Said, AnswerKind::Said];
    assert_eq!(answers(&simulator), expected);
    assert!(simulator.requests().iter().all(|request| request.wire == ApiKind::Responses));
}

#[test]
fn a_stream_says_the_same_as_a_response() {
    let text = "ä long text ".repeat(100);
    let simulator = Simulator::start(ModelScript::new().otherwise([ModelTurn::say(text.clone())])).unwrap();
    let streamed = ask(&simulator, &prompt("x", 0));
    assert!(streamed.head.contains("content-type: text/event-stream"), "{}", streamed.head);
    let pieces: String =
        streamed.events().iter().filter_map(|event| event["delta"].as_str()).map(str::to_owned).collect();
    assert_eq!(pieces, text);
    let mut body = prompt("x", 0);
    body["stream"] = false.into();
    let whole = ask(&simulator, &body).json();
    assert_eq!(whole["output"][0]["content"], ended(&streamed)["output"][0]["content"]);
    assert_eq!(whole["status"], "completed");
}

#[test]
fn usage_is_the_size_of_the_whole_prompt_and_names_what_was_cached() {
    let simulator = Simulator::start(ModelScript::new().message_scale(10)).unwrap();
    let first = ended(&ask(&simulator, &prompt("x", 0)))["usage"].clone();
    let second = ended(&ask(&simulator, &prompt("x", 1)))["usage"].clone();
    let body = prompt("x", 1);
    let bytes = |value: &Value| value.to_string().len() as u64;
    assert_eq!(
        second["input_tokens"],
        json!((bytes(&body["tools"]) + 10 * bytes(&body["input"])).div_ceil(4))
    );
    assert_eq!(first["input_tokens_details"]["cached_tokens"], 0);
    assert_eq!(second["input_tokens_details"]["cached_tokens"], first["input_tokens"]);
    let sum = second["input_tokens"].as_u64().unwrap() + second["output_tokens"].as_u64().unwrap();
    assert_eq!(second["total_tokens"], sum);
}

#[test]
fn a_prompt_that_is_too_long_is_refused_by_status_or_in_the_stream() {
    let long = prompt(&"x".repeat(4000), 0);
    let by_status = Simulator::start(ModelScript::new().max_prompt_tokens(500)).unwrap();
    let reply = ask(&by_status, &long);
    let code = json!("context_length_exceeded");
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &code));
    assert_eq!(ask(&by_status, &prompt("x", 0)).status, 200);
    assert_eq!(answers(&by_status), [AnswerKind::TooLong, AnswerKind::Said]);
    let in_stream = Simulator::start(ModelScript::new().max_prompt_tokens(500).too_long_in_stream()).unwrap();
    let events = ask(&in_stream, &long).events();
    assert_eq!((events.len(), &events[0]["type"]), (1, &json!("response.failed")));
    assert_eq!(events[0]["response"]["error"]["code"], code);
    assert_eq!(answers(&in_stream), [AnswerKind::TooLong]);
}

#[test]
fn failures_are_worded_as_the_service_does() {
    let script = ModelScript::new()
        .failing(ScriptedFailure::rate_limited(1).retry_after_s(2))
        .failing(ScriptedFailure::rate_limited(1).in_stream())
        .failing(ScriptedFailure::overloaded(1))
        .failing(ScriptedFailure::credit_spent(1));
    let simulator = Simulator::start(script).unwrap();
    let ask = || ask(&simulator, &prompt("x", 0));
    let limited = ask();
    assert_eq!((limited.status, &limited.json()["error"]["code"]), (429, &json!("rate_limit_exceeded")));
    assert!(limited.head.contains("retry-after: 2"), "{}", limited.head);
    let in_stream = ask();
    let error = in_stream.events()[0]["response"]["error"].clone();
    assert_eq!((in_stream.status, &error["code"]), (200, &json!("rate_limit_exceeded")));
    let overloaded = ask();
    assert_eq!(
        (overloaded.status, &overloaded.json()["error"]["code"]),
        (503, &json!("server_is_overloaded"))
    );
    let broke = ask();
    assert_eq!((broke.status, &broke.json()["error"]["code"]), (429, &json!("insufficient_quota")));
    assert_eq!(ask().status, 200);
    let failed = AnswerKind::Failed;
    assert_eq!(answers(&simulator), [failed(429), failed(429), failed(503), failed(429), AnswerKind::Said]);
}

#[test]
fn a_quota_names_its_end_and_is_over_then() {
    let spent = Simulator::start(ModelScript::new().failing(ScriptedFailure::quota_until(FAR_S))).unwrap();
    for _ in 0..3 {
        let reply = ask(&spent, &prompt("x", 0));
        let error = reply.json()["error"].clone();
        assert_eq!((reply.status, &error["type"]), (429, &json!("usage_limit_reached")));
        assert_eq!(error["resets_at"], FAR_S);
        assert!(reply.head.contains("x-codex-primary-reset-at: 4102444800"), "{}", reply.head);
    }
    let past =
        Simulator::start(ModelScript::new().failing(ScriptedFailure::quota_until(1)).quota_used(92, FAR_S))
            .unwrap();
    let reply = ask(&past, &prompt("x", 0));
    assert_eq!(reply.status, 200);
    assert!(reply.head.contains("x-codex-primary-used-percent: 92"), "{}", reply.head);
}

#[test]
fn the_work_goes_on_after_a_summary_asked_for_in_any_way() {
    let turns =
        [ModelTurn::write("/w/1", "1\n"), ModelTurn::write("/w/2", "2\n"), ModelTurn::write("/w/3", "3\n")];
    let simulator = Simulator::start(ModelScript::new().on("[a]", turns)).unwrap();
    // By words, which takes the summary as text, and no tools are offered.
    let mut by_words = prompt("- [a] x", 2);
    by_words["tools"] = json!([]);
    by_words["input"]
        .as_array_mut()
        .unwrap()
        .push(said("user", "You are performing a CONTEXT CHECKPOINT COMPACTION."));
    let text = ended(&ask(&simulator, &by_words))["output"][0]["content"][0]["text"].clone();
    let mut after = prompt("- [a] x", 0);
    let wrapped = format!("Another language model started: {}", text.as_str().unwrap());
    after["input"].as_array_mut().unwrap().push(said("user", &wrapped));
    let third = ended(&ask(&simulator, &after))["output"][0]["input"].clone();
    assert!(third.as_str().unwrap().contains("/w/3"), "{third}");
    // By an item, and by a path of its own: an item comes back, which only the service can read.
    let mut by_item = prompt("- [a] x", 2);
    by_item["input"].as_array_mut().unwrap().push(json!({"type": "compaction_trigger"}));
    let item = ended(&ask(&simulator, &by_item))["output"][0].clone();
    assert_eq!(item["type"], "compaction");
    let mut by_path = prompt("- [a] x", 2);
    by_path["stream"] = false.into();
    let reply = send(&simulator, "/v1/responses/compact", &by_path.to_string()).json();
    assert_eq!(reply["output"][0]["encrypted_content"], item["encrypted_content"]);
    let mut after = prompt("", 0);
    after["input"] = json!([said("developer", "instructions"), item]);
    let third = ended(&ask(&simulator, &after))["output"][0]["input"].clone();
    assert!(third.as_str().unwrap().contains("/w/3"), "{third}");
    let summaries =
        answers(&simulator).into_iter().filter(|answered| *answered == AnswerKind::Summarised).count();
    assert_eq!(summaries, 3);
}

#[test]
fn a_reply_that_hangs_begins_and_ends_with_the_connection() {
    let simulator = Simulator::start(ModelScript::new().otherwise([ModelTurn::hang()])).unwrap();
    let address = simulator.url().strip_prefix("http://").unwrap().to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    let body = prompt("x", 0).to_string();
    write!(
        stream,
        "POST /v1/responses HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut lines = BufReader::new(stream).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("event: response.content_part.added")), "it begins");
    assert_eq!(answers(&simulator), [AnswerKind::Hung]);
    // Everything that it still sends is read until the connection ends, which it does with the simulator.
    drop(simulator);
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert!(!rest.iter().any(|line| line.contains("response.completed")), "{rest:?}");
}

#[test]
fn what_codex_asks_beside_is_answered() {
    let simulator = Simulator::start(ModelScript::new()).unwrap();
    assert_eq!(request(&simulator, "GET", "/v1/responses", "").status, 426);
    assert_eq!(request(&simulator, "GET", "/v1/models?client_version=1", "").json()["data"], json!([]));
    assert_eq!(send(&simulator, "/v1/responses", "{").json()["error"]["type"], "invalid_request_error");
    assert_eq!(send(&simulator, "/v1/responses/elsewhere", "{}").status, 404);
    let mut title = prompt("make a title", 0);
    title["tools"] = json!([]);
    assert_eq!(ask(&simulator, &title).status, 200);
    let failed = AnswerKind::Failed;
    assert_eq!(answers(&simulator), [failed(426), failed(400), failed(404), AnswerKind::SideRequest]);
}
