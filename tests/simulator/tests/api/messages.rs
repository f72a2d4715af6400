//! The Messages API.

use std::net::TcpStream;

use baton_simulator::{AnswerKind, ModelScript, ModelTurn, ScriptedFailure, Simulator};
use serde_json::{Value, json};

use crate::http::{HttpReply, send};

fn ask(simulator: &Simulator, body: &Value) -> HttpReply {
    send(simulator, "/v1/messages?beta=true", &body.to_string())
}

/// A prompt with `results` tool results after it.
fn prompt(text: &str, results: usize) -> Value {
    let mut messages = vec![json!({"role": "user", "content": text})];
    for _ in 0..results {
        messages.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Write", "input": {}}]}));
        messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}));
    }
    json!({"model": "m", "max_tokens": 100, "tools": [{"name": "Write"}], "messages": messages, "metadata": {"user_id": "u"}})
}

fn two_objectives() -> ModelScript {
    let inbox = ModelTurn::computed(|asked| {
        ModelTurn::write(format!("{}/a.json", asked.line("Report to: ").unwrap()), "{}")
    });
    ModelScript::new()
        .on("[a]", [ModelTurn::write("/w/a", "1"), inbox, ModelTurn::say("a is done")])
        .on("[b]", [ModelTurn::bash("true")])
}

#[test]
fn turns_follow_the_prompt_and_its_tool_results() {
    let simulator = Simulator::start(two_objectives()).unwrap();
    let first = ask(&simulator, &prompt("- [a] x\nReport to: /w/inbox", 0)).json();
    assert_eq!(first["stop_reason"], "tool_use");
    assert_eq!(first["content"][0]["input"], json!({"file_path": "/w/a", "content": "1"}));
    let second = ask(&simulator, &prompt("- [a] x\nReport to: /w/inbox", 1)).json();
    assert_eq!(second["content"][0]["input"]["file_path"], "/w/inbox/a.json");
    let third = ask(&simulator, &prompt("- [a] x\nReport to: /w/inbox", 2)).json();
    assert_eq!(
        (&third["content"][0]["text"], &third["stop_reason"]),
        (&json!("a is done"), &json!("end_turn"))
    );
    let past = ask(&simulator, &prompt("- [a] x\nReport to: /w/inbox", 3)).json();
    assert_eq!(past["content"][0]["text"], "Done.");
    let absent = ask(&simulator, &prompt("- [b] x", 0)).json();
    assert_eq!(
        absent["content"][0]["text"],
        "The script wants to run a command, but the agent offers only Write."
    );
    let called = AnswerKind::Called("Write".to_owned());
    let answers: Vec<_> = simulator.requests().into_iter().map(|request| request.answered).collect();
    assert_eq!(answers, [called.clone(), called, AnswerKind::Said, AnswerKind::Said, AnswerKind::Said]);
}

#[test]
fn a_stream_says_the_same_as_a_message() {
    let text = "ä long text ".repeat(100);
    let simulator = Simulator::start(ModelScript::new().otherwise([ModelTurn::say(text.clone())])).unwrap();
    let mut body = prompt("x", 0);
    body["stream"] = true.into();
    let reply = ask(&simulator, &body);
    assert!(reply.head.contains("content-type: text/event-stream"), "{}", reply.head);
    let events = reply.events();
    let kinds: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .filter(|kind| *kind != "content_block_delta")
        .collect();
    let expected = [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(kinds, expected);
    let said: String = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(said, text);
    let usage = &events[events.len() - 2]["usage"];
    assert_eq!(usage["output_tokens"], json!((text.len() as u64).div_ceil(4) + 1));
}

#[test]
fn usage_is_the_size_of_the_prompt_and_the_rest_of_it_is_cached() {
    let simulator = Simulator::start(ModelScript::new().message_scale(10)).unwrap();
    let total = |usage: &Value| -> u64 {
        ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
            .iter()
            .map(|key| usage[key].as_u64().unwrap())
            .sum()
    };
    let first = ask(&simulator, &prompt("x", 0)).json()["usage"].clone();
    let second = ask(&simulator, &prompt("x", 1)).json()["usage"].clone();
    assert_eq!(first["cache_read_input_tokens"], 0);
    assert_eq!(second["cache_read_input_tokens"], json!(total(&first)));
    let body = prompt("x", 1);
    let bytes = |value: &Value| value.to_string().len() as u64;
    let expected = (bytes(&body["tools"]) + 10 * bytes(&body["messages"])).div_ceil(4);
    assert_eq!(total(&second), expected);
    let counted = send(&simulator, "/v1/messages/count_tokens", &body.to_string()).json();
    assert_eq!(counted["input_tokens"], json!(expected));
    assert_eq!(simulator.requests()[2].answered, AnswerKind::Counted);
}

#[test]
fn a_prompt_that_is_too_long_is_refused_as_the_service_does() {
    let simulator = Simulator::start(ModelScript::new().max_prompt_tokens(100)).unwrap();
    assert_eq!(ask(&simulator, &prompt("x", 0)).status, 200);
    let reply = ask(&simulator, &prompt(&"x".repeat(1000), 0));
    let error = reply.json()["error"].clone();
    let tokens = simulator.requests()[1].prompt_tokens;
    assert_eq!((reply.status, &error["type"]), (400, &json!("invalid_request_error")));
    assert_eq!(error["message"], format!("prompt is too long: {tokens} tokens > 100 maximum"));
    assert_eq!(simulator.requests()[1].answered, AnswerKind::TooLong);
}

#[test]
fn failures_come_as_scripted_and_spare_side_requests() {
    let failing = ModelScript::new()
        .failing(ScriptedFailure::rate_limited(1).after(1).retry_after_s(2))
        .failing(ScriptedFailure::overloaded(1).after(1));
    let simulator = Simulator::start(failing).unwrap();
    assert_eq!(ask(&simulator, &prompt("x", 0)).status, 200);
    let mut aside = prompt("x", 0);
    aside["tools"] = json!([]);
    assert_eq!(ask(&simulator, &aside).status, 200);
    let limited = ask(&simulator, &prompt("x", 0));
    assert_eq!((limited.status, &limited.json()["error"]["type"]), (429, &json!("rate_limit_error")));
    assert!(limited.head.contains("retry-after: 2"), "{}", limited.head);
    let overloaded = ask(&simulator, &prompt("x", 0));
    assert_eq!((overloaded.status, &overloaded.json()["error"]["type"]), (529, &json!("overloaded_error")));
    assert_eq!(ask(&simulator, &prompt("x", 0)).status, 200);
    assert_eq!(simulator.requests()[1].answered, AnswerKind::SideRequest);
}

#[test]
fn a_request_for_a_summary_gets_one() {
    let simulator = Simulator::start(two_objectives()).unwrap();
    let summary =
        ask(&simulator, &prompt("Create a detailed summary of the conversation so far. [a]", 0)).json();
    assert!(summary["content"][0]["text"].as_str().unwrap().contains("<summary>"));
    assert_eq!(simulator.requests()[0].answered, AnswerKind::Summarised);
}

#[test]
fn the_work_goes_on_after_a_summary() {
    let simulator = Simulator::start(two_objectives()).unwrap();
    let mut asking = prompt("- [a] x\nReport to: /w/inbox", 1);
    let instruction =
        json!({"type": "text", "text": "Create a detailed summary of the conversation so far."});
    asking["messages"][2]["content"].as_array_mut().unwrap().push(instruction);
    let summary = ask(&simulator, &asking).json()["content"][0]["text"].clone();
    let continued =
        format!("This session is being continued. {}\nResume directly.", summary.as_str().unwrap());
    let reply = ask(&simulator, &prompt(&continued, 0)).json();
    assert_eq!(reply["content"][0]["input"]["file_path"], "/w/inbox/a.json");
    let last = simulator.requests().pop().unwrap();
    assert_eq!((last.prompt.as_str(), last.results), ("- [a] x\nReport to: /w/inbox", 1));
}

#[test]
fn a_quota_and_an_empty_purse_are_worded_as_the_service_does() {
    let script = ModelScript::new()
        .failing(ScriptedFailure::credit_spent(1))
        .failing(ScriptedFailure::overloaded(1).in_stream())
        .failing(ScriptedFailure::quota_until(4_102_444_800));
    let simulator = Simulator::start(script).unwrap();
    let broke = ask(&simulator, &prompt("x", 0));
    assert_eq!(broke.status, 400);
    assert!(broke.json()["error"]["message"].as_str().unwrap().contains("credit balance is too low"));
    let mut streamed = prompt("x", 0);
    streamed["stream"] = true.into();
    let event = ask(&simulator, &streamed).events()[0].clone();
    assert_eq!((&event["type"], &event["error"]["type"]), (&json!("error"), &json!("overloaded_error")));
    let spent = ask(&simulator, &prompt("x", 0));
    assert_eq!(spent.status, 429);
    for header in ["unified-status: rejected", "unified-reset: 4102444800"] {
        assert!(spent.head.contains(&format!("anthropic-ratelimit-{header}")), "{}", spent.head);
    }
}

#[test]
fn a_suggestion_is_no_work() {
    let simulator = Simulator::start(two_objectives()).unwrap();
    ask(&simulator, &prompt("[SUGGESTION MODE: what may be typed next after - [a]?]", 0));
    assert_eq!(simulator.requests()[0].answered, AnswerKind::SideRequest);
}

#[test]
fn what_it_does_not_know_it_says() {
    let simulator = Simulator::start(ModelScript::new()).unwrap();
    assert_eq!(send(&simulator, "/v1/elsewhere", "").status, 404);
    assert_eq!(send(&simulator, "/v1/messages", "{").status, 400);
    let answers: Vec<_> = simulator.requests().into_iter().map(|request| request.answered).collect();
    assert_eq!(answers, [AnswerKind::Failed(404), AnswerKind::Failed(400)]);
}

#[test]
fn it_stops_when_dropped() {
    let simulator = Simulator::start(ModelScript::new()).unwrap();
    let address = simulator.url().strip_prefix("http://").unwrap().to_owned();
    drop(simulator);
    assert!(TcpStream::connect(address).is_err());
}
