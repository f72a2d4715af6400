//! The proxy between a client and a server that are both the test's.

use std::collections::BTreeMap;

use tokio::io::{DuplexStream, ReadHalf, WriteHalf};

use super::*;

/// Keeps texts of a tool called "read" and leaves all others.
#[derive(Clone, Default)]
struct MemoryResultStore(Arc<Mutex<BTreeMap<String, String>>>);

impl ResultStore for MemoryResultStore {
    async fn place(&self, offer: LargeResult) -> Option<ResultReference> {
        if offer.tool != "read" {
            return None;
        }
        let mut kept = self.0.lock().unwrap();
        let name = format!("tool-results/{}-{}", offer.tool, kept.len() + 1);
        kept.insert(name.clone(), offer.text.clone());
        let preview = offer.text.lines().take(10).collect::<Vec<_>>().join("\n");
        let bytes = offer.text.len() as u64;
        Some(ResultReference {
            name,
            version: 1,
            bytes,
            tokens: bytes / 4,
            tokens_by: "test".into(),
            preview,
        })
    }

    async fn load(&self, load: ArtifactLoad) -> ToolReply {
        let kept = self.0.lock().unwrap();
        match kept.get(&load.name) {
            Some(text) => {
                let start = load.offset.unwrap_or(0) as usize;
                let end = text.len().min(start + load.limit.unwrap_or(16_384) as usize);
                ToolReply { body: Some(text[start..end].to_owned()), ..ToolReply::said("part") }
            }
            None => ToolReply::refused("nothing of that name"),
        }
    }
}

/// One side of a connection, by lines.
struct LineConnection {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
}

impl LineConnection {
    fn new(stream: DuplexStream) -> Self {
        let (read, write) = tokio::io::split(stream);
        Self { read: BufReader::new(read), write }
    }

    async fn say(&mut self, line: &str) {
        self.write.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> String {
        let mut line = String::new();
        self.read.read_line(&mut line).await.unwrap();
        line.trim_end().to_owned()
    }

    async fn hear_json(&mut self) -> Value {
        serde_json::from_str(&self.hear().await).unwrap()
    }
}

fn between() -> (LineConnection, LineConnection, tokio::task::JoinHandle<Result<ProxyExit, ProxyError>>) {
    let (client, proxy_client) = tokio::io::duplex(1 << 20);
    let (server, proxy_server) = tokio::io::duplex(1 << 20);
    let task = tokio::spawn(proxy(
        MemoryResultStore::default(),
        tokio::io::split(proxy_client),
        tokio::io::split(proxy_server),
    ));
    (LineConnection::new(client), LineConnection::new(server), task)
}

#[tokio::test]
async fn everything_else_goes_through_as_it_came() {
    // C3
    let (mut client, mut server, task) = between();
    let requests = [
        r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"zeta":1,"alpha":2.50}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
        r#"{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"a:b"}}"#,
        r#"[{"jsonrpc":"2.0","id":7,"method":"prompts/list"}]"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"never/heard","params":{"tool":"read"}}"#,
        "no json at all",
    ];
    for line in requests {
        client.say(line).await;
        assert_eq!(server.hear().await, line);
    }
    let long = "x".repeat(3 * OFFERED_BYTES_MIN);
    let answers = [
        r#"{"jsonrpc":"2.0","id":0,"result":{"b":1,"a":2.50}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"a":0}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":"x","result":{{"contents":[{{"uri":"a:b","text":"{long}"}}]}}}}"#),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":9,"method":"sampling/createMessage","params":{}}"#.to_owned(),
    ];
    for line in &answers {
        server.say(line).await;
        assert_eq!(client.hear().await, *line);
    }
    drop((client, server));
    assert!(task.await.unwrap().unwrap().client_left, "the client left");
}

#[tokio::test]
async fn a_large_result_becomes_a_reference_that_serves_it_back() {
    // C3
    let (mut client, mut server, task) = between();
    client.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    server.hear().await;
    server.say(r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"read"}],"nextCursor":"2"}}"#).await;
    assert_eq!(client.hear_json().await["result"]["tools"].as_array().unwrap().len(), 1, "not the last page");
    client.say(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"2"}}"#).await;
    server.hear().await;
    server.say(r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"other"}]}}"#).await;
    let listed = client.hear_json().await;
    assert_eq!(listed["result"]["tools"][1]["name"], LOAD_TOOL);
    assert!(listed["result"]["tools"][1]["inputSchema"]["properties"]["offset"].is_object());

    let text: String = (0..2_000).map(|n| format!("line {n} ü\n")).collect();
    client
        .say(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read","arguments":{}}}"#)
        .await;
    server.hear().await;
    let result = json!({ "content": [{ "type": "text", "text": text }, { "type": "text", "text": "short" },
        { "type": "image", "data": "x".repeat(9_000), "mimeType": "image/png" }],
        "structuredContent": { "content": text, "n": 2_000 } });
    server.say(&json!({ "jsonrpc": "2.0", "id": 3, "result": result }).to_string()).await;
    let reply = client.hear_json().await;
    let note = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert!(note.len() < OFFERED_BYTES_MIN && note.contains("tool-results/read-1@1"), "{note}");
    assert_eq!(note.lines().count(), 11, "one line that says what it is, and ten of preview");
    assert_eq!(reply["result"]["structuredContent"], json!({ "content": note, "n": 2_000 }));
    assert_eq!(reply["result"]["content"][1]["text"], "short");
    assert_eq!(reply["result"]["content"][2], result["content"][2], "images stay");

    let mut back = String::new();
    for offset in (0..text.len()).step_by(5_000) {
        let arguments = json!({ "name": "tool-results/read-1", "offset": text.floor_char_boundary(offset),
            "limit": text.floor_char_boundary(offset + 5_000) - text.floor_char_boundary(offset) });
        let call = json!({ "jsonrpc": "2.0", "id": offset, "method": "tools/call",
            "params": { "name": LOAD_TOOL, "arguments": arguments } });
        client.say(&call.to_string()).await;
        let reply = client.hear_json().await;
        assert_eq!(reply["id"], offset);
        back.push_str(reply["result"]["content"][1]["text"].as_str().unwrap());
    }
    assert_eq!(back, text, "byte for byte");
    drop((client, server));
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_the_store_leaves_and_what_went_wrong_stay_as_they_came() {
    let (mut client, mut server, task) = between();
    let text = "y".repeat(2 * OFFERED_BYTES_MIN);
    for (id, tool, result) in [
        (1, "other", format!(r#"{{"z":1,"content":[{{"type":"text","text":"{text}"}}],"a":1}}"#)),
        (2, "read", format!(r#"{{"isError":true,"content":[{{"type":"text","text":"{text}"}}]}}"#)),
        (3, "read", r#"{"content":[{"type":"text","text":"short"}]}"#.to_owned()),
        (4, "read", r#"{"content":"not a list"}"#.to_owned()),
    ] {
        let params = json!({ "name": tool });
        client
            .say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }).to_string())
            .await;
        server.hear().await;
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        server.say(&line).await;
        assert_eq!(client.hear().await, line);
    }
    for arguments in [json!({}), json!({ "name": "absent" }), json!({ "name": "a", "colour": 1 })] {
        let call = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call",
            "params": { "name": LOAD_TOOL, "arguments": arguments } });
        client.say(&call.to_string()).await;
        assert_eq!(client.hear_json().await["result"]["isError"], true);
    }
    drop(server);
    assert!(!task.await.unwrap().unwrap().client_left, "the server left");
    assert_eq!(client.hear().await, "");
}
