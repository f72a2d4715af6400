//! The MCP server over a pipe, with a backend that records the requests: the client's view, the requests to the host, and that
//! every mistake of an agent leads to an answer that it can act on.

use std::sync::{Arc, Mutex};

use baton_core::observation::ObjectiveStatus;
use baton_inbox::{
    ArtifactLoad, ObjectiveUpdate, ToolBackend, ToolCall, ToolReply, ToolRequest, serve, tool_names,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// Lines of this test are far shorter.
const PIPE_BYTES: usize = 1 << 20;

/// Records every request and answers with a given reply.
#[derive(Clone, Default)]
struct RecordingBackend(Arc<Mutex<Vec<ToolRequest>>>);

impl ToolBackend for RecordingBackend {
    async fn call(&self, request: ToolRequest) -> ToolReply {
        let answer = match &request.call {
            ToolCall::ArtifactLoad(_) => ToolReply {
                body: Some("the bytes\n".to_owned()),
                ..ToolReply::said("notes@1, bytes 0 to 10 of 10")
            },
            ToolCall::ObjectiveUpdate(update) if update.objective.as_str() == "unknown" => {
                ToolReply::refused("no objective \"unknown\" in this run; yours are: parser")
            }
            _ => ToolReply::said("recorded"),
        };
        self.0.lock().unwrap().push(request);
        answer
    }
}

/// A client that speaks the protocol by hand, as any client might.
struct ServiceClient {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    door: RecordingBackend,
    hello: Value,
    asked: u64,
}

impl ServiceClient {
    async fn new() -> Self {
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let door = RecordingBackend::default();
        let (read, write) = tokio::io::split(theirs);
        tokio::spawn(serve(door.clone(), read, write));
        let (read, write) = tokio::io::split(ours);
        let mut client = Self { read: BufReader::new(read), write, door, hello: Value::Null, asked: 0 };
        let own = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": own });
        client.hello = client.ask("initialize", params).await;
        client.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    async fn send(&mut self, message: Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        self.send(json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params })).await;
        let mut line = String::new();
        self.read.read_line(&mut line).await.unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.asked);
        assert!(answer.get("error").is_none(), "an error of the protocol: {answer}");
        answer["result"].take()
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await
    }

    /// A call that must be refused: the text that the agent gets.
    async fn refused(&mut self, name: &str, arguments: Value) -> String {
        let before = self.door.0.lock().unwrap().len();
        let result = self.call(name, arguments).await;
        assert_eq!(result["isError"], true, "{result}");
        assert_eq!(self.door.0.lock().unwrap().len(), before, "a wrong call went through the door");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    fn last(&self) -> ToolRequest {
        self.door.0.lock().unwrap().last().unwrap().clone()
    }
}

#[tokio::test]
async fn a_client_sees_all_tools_and_they_explain_themselves() {
    // C19
    let mut client = ServiceClient::new().await;
    assert_eq!(client.hello["serverInfo"]["name"], "baton");
    assert!(client.hello["instructions"].as_str().unwrap().contains("objective_update"));
    let listed = client.ask("tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, tool_names().collect::<Vec<_>>());
    for tool in tools {
        let schema = &tool["inputSchema"];
        assert_eq!(
            (&schema["type"], &schema["additionalProperties"]),
            (&json!("object"), &json!(false)),
            "{tool}"
        );
        assert!(!tool.to_string().contains("$ref"), "some clients resolve no references: {tool}");
        // Its purpose and when to use it: more than a title.
        assert!(tool["description"].as_str().unwrap().len() > 80, "{tool}");
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(property["description"].is_string(), "{}.{name} does not explain itself", tool["name"]);
        }
        let reads =
            ["artifact_load", "artifact_list", "context_status"].contains(&tool["name"].as_str().unwrap());
        assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{tool}");
        assert_eq!(tool["annotations"]["destructiveHint"], false);
    }
}

#[tokio::test]
async fn a_call_reaches_the_door_with_the_key_of_the_client() {
    let mut client = ServiceClient::new().await;
    let arguments = json!({ "objective": "parser", "status": "in-progress" });
    let meta = json!({ "claudecode/toolUseId": "toolu_1" });
    let params = json!({ "name": "objective_update", "arguments": arguments, "_meta": meta });
    let result = client.ask("tools/call", params).await;
    assert_eq!((&result["isError"], &result["content"][0]["text"]), (&json!(false), &json!("recorded")));
    let update = ObjectiveUpdate {
        objective: "parser".into(),
        status: ObjectiveStatus::InProgress,
        note: String::new(),
    };
    let call = ToolCall::ObjectiveUpdate(update);
    assert_eq!(client.last(), ToolRequest { key: Some("toolu_1".to_owned()), call });

    let result = client.call("artifact_load", json!({ "name": "notes" })).await;
    assert_eq!(result["content"][1]["text"], "the bytes\n", "what was asked for stands alone, byte for byte");
    let load = ArtifactLoad { name: "notes".to_owned(), version: None, offset: None, limit: None };
    assert_eq!(client.last(), ToolRequest { key: None, call: ToolCall::ArtifactLoad(load) });

    // A call without arguments is one with none.
    assert_eq!(client.ask("tools/call", json!({ "name": "context_status" })).await["isError"], false);
}

#[tokio::test]
async fn a_wrong_call_is_a_result_that_says_what_would_be_right() {
    let mut client = ServiceClient::new().await;
    let update = |more: Value| {
        let mut arguments = json!({ "objective": "parser", "status": "done" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let said = client.refused("objective_update", update(json!({ "state": "x" }))).await;
    let takes = "objective_update takes note (text, optional), objective (text), status (one of \"open\", \
                 \"in-progress\", \"done\", \"failed\")";
    assert!(said.starts_with("not recorded: state: unknown field"), "{said}");
    for part in ["objective (text)", "note (text, optional)", "\"in-progress\""] {
        assert!(said.contains(part), "{part} is not in {said}; it should be like {takes}");
    }
    let said = client.refused("objective_update", json!({ "objective": "parser" })).await;
    assert!(said.starts_with("not recorded: status: it is missing"), "{said}");
    let said = client.refused("objective_update", update(json!({ "status": "finished" }))).await;
    assert!(said.starts_with("not recorded: status: unknown variant"), "{said}");
    let said = client.refused("gotcha_record", json!({ "gotcha": "  " })).await;
    assert!(said.starts_with("not recorded: gotcha: it is empty"), "{said}");
    let said = client.refused("pattern_record", json!({ "pattern": "" })).await;
    assert!(said.starts_with("not recorded: pattern: it is empty"), "{said}");
    let said = client.refused("gotcha_record", json!({ "gotcha": "x".repeat(9000) })).await;
    assert!(said.contains("save the long form as an artifact"), "{said}");
    let facts =
        json!({ "current_state": "a", "immediate_next_action": "b", "critical_context": vec!["f"; 6] });
    let said = client.refused("handoff_write", facts).await;
    assert!(said.contains("critical_context: there are 6, at most 5"), "{said}");
    // C15, C16: a critical file may name a line, and then it names both.
    let file =
        |file: &str| json!({ "current_state": "a", "immediate_next_action": "b", "critical_files": [file] });
    let said = client.refused("handoff_write", file(":40")).await;
    assert!(said.contains("critical_files: \":40\" names a line and no file"), "{said}");
    let said = client.refused("handoff_write", file("src/a.rs:0")).await;
    assert!(said.contains("names line 0"), "{said}");
    assert_eq!(client.call("handoff_write", file("src/a.rs:40")).await["isError"], false);
    let groups = json!({ "groups": [{ "title": "t", "objectives": "parser" }], "rationale": "r" });
    let said = client.refused("split_request", groups).await;
    assert!(said.starts_with("not recorded: groups[0].objectives: invalid type"), "{said}");
    let said = client.refused("artifact_save", json!({ "name": "a", "content": "x", "path": "y" })).await;
    assert!(said.contains("content or path, not both"), "{said}");
    let said = client.refused("artifact_save", json!({ "name": "a" })).await;
    assert!(said.contains("give the text itself as content, or the path"), "{said}");
    let said = client.refused("objective_updaet", json!({})).await;
    assert!(said.contains("there is no tool \"objective_updaet\"; there are objective_update, "), "{said}");

    // A refusal by the host is reported the same way, and the connection stays open.
    let result = client.call("objective_update", json!({ "objective": "unknown", "status": "done" })).await;
    assert_eq!(result["isError"], true);
    assert!(result["content"][0]["text"].as_str().unwrap().contains("yours are: parser"));
    assert_eq!(client.call("context_status", json!({})).await["isError"], false);
}
