//! `baton mcp proxy` before an MCP server: a result of 25,000 tokens stays out of the context and is served back byte for
//! byte (C3). The server is a stand-in of a few lines of shell, and where BATON_TEST_MCP_SERVER names the program of
//! `@modelcontextprotocol/server-filesystem`, a real one.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::support::{TestWorkspace, until};
use baton_runtime::core::Input;
use baton_runtime::store::{ArtifactStore, Journal, JournalEntry};
use serde_json::{Value, json};

/// Answers `initialize`, `tools/list` and every call, each with the id that it was asked under; a call gets the file that
/// is its first argument.
const MOCK_SERVER: &str = r#"
while IFS= read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
        *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"stand-in","version":"1"}}' ;;
        *'"method":"tools/list"'*) result='{"tools":[{"name":"read_file","inputSchema":{"type":"object"}}]}' ;;
        *'"method":"tools/call"'*) result=$(cat "$1") ;;
        *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

struct McpProxyClient {
    process: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    asked: u64,
}

impl Drop for McpProxyClient {
    fn drop(&mut self) {
        self.to = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl McpProxyClient {
    fn start(stage: &TestWorkspace, arguments: &[&str]) -> Self {
        let mut command = stage.command(arguments);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (process.stdin.take(), process.stdout.take().unwrap());
        let mut client = Self { process, to, from: BufReader::new(from), asked: 0 };
        let own = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": own });
        let said = client.ask("initialize", hello);
        assert!(said["result"]["serverInfo"].is_object(), "{said}");
        client.line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn line(&mut self, message: &Value) {
        let to = self.to.as_mut().unwrap();
        writeln!(to, "{message}").unwrap();
        to.flush().unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).unwrap(), 0, "the proxy ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            // A server may say something of its own in between.
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let meta = json!({ "claudecode/toolUseId": format!("toolu_{}", self.asked) });
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let mut reply = self.ask("tools/call", params);
        assert_ne!(reply["result"]["isError"], true, "{reply}");
        reply["result"].take()
    }

    fn tools(&mut self) -> Vec<String> {
        let listed = self.ask("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The whole of what is kept, part by part.
    fn load(&mut self, name: &str) -> String {
        let mut back = String::new();
        loop {
            let arguments = json!({ "name": name, "offset": back.len(), "limit": 50_000 });
            let part = self.call("baton_artifact_load", arguments);
            match part["content"][1]["text"].as_str() {
                Some(text) if !text.is_empty() => back.push_str(text),
                _ => return back,
            }
        }
    }
}

/// Some 25,000 tokens that tell each part of it from any other.
fn large() -> String {
    (0..2_600).map(|n| format!("line {n}: the quick brown fox ü jumps\n")).collect()
}

/// A stand-in that answers calls with this text, twice, as servers with a schema do.
fn mock_server(stage: &TestWorkspace, text: &str) -> Vec<String> {
    let script = stage.write("stand-in.sh", MOCK_SERVER);
    let result =
        json!({ "content": [{ "type": "text", "text": text }], "structuredContent": { "content": text } });
    let answer = stage.write("answer.json", result.to_string());
    ["sh", script.to_str().unwrap(), answer.to_str().unwrap()].map(str::to_owned).to_vec()
}

fn proxied(stage: &TestWorkspace, own: &[&str], server: &[String]) -> McpProxyClient {
    let mut arguments = vec!["mcp", "proxy"];
    arguments.extend(own);
    arguments.push("--");
    arguments.extend(server.iter().map(String::as_str));
    McpProxyClient::start(stage, &arguments)
}

fn user_proxy(stage: &TestWorkspace, server: &[String]) -> McpProxyClient {
    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    proxied(stage, &["--workspace", &workspace, "--state-dir", &state], server)
}

/// The note that stands for a result, and the name in it.
fn replaced(result: &Value) -> (String, String) {
    let note = result["content"][0]["text"].as_str().unwrap().to_owned();
    assert!(note.len() < 4_000, "{} bytes go into the context", note.len());
    let name = note.split_once("kept as ").unwrap().1.split_once('@').unwrap().0.to_owned();
    (note, name)
}

#[test]
fn without_a_run_the_built_in_policy_decides() {
    // C3, C6
    let stage = TestWorkspace::new();
    let text = large();
    let mut client = user_proxy(&stage, &mock_server(&stage, &text));
    assert_eq!(client.tools(), ["read_file", "baton_artifact_load"]);
    let result = client.call("read_file", json!({ "path": "a" }));
    let (note, name) = replaced(&result);
    assert!(
        note.contains("tiktoken:o200k_base") && note.contains("line 9: ") && !note.contains("line 10: "),
        "{note}"
    );
    assert_eq!(result["structuredContent"]["content"], note);
    assert_eq!(name, "tool-results/read_file-1");
    assert_eq!(client.load(&name), text, "byte for byte");
    let listed = stage.baton(&["artifacts", "ls", "mcp-proxy", "--format", "json"]).expect(0);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let kept = &listed["artifacts"][0];
    assert_eq!((&kept["tool_call"], &kept["tokens_by"]), (&json!("toolu_2"), &json!("tiktoken:o200k_base")));
    assert!(kept["tokens"].as_u64().unwrap() > 20_000, "{kept}");

    // What is below the threshold goes through, whatever else it is.
    let small = "a word of about four bytes ".repeat(600);
    let mut client = user_proxy(&stage, &mock_server(&stage, &small));
    assert_eq!(client.call("read_file", json!({}))["content"][0]["text"], small);
}

#[test]
fn with_a_session_its_host_asks_its_policy() {
    // C3
    let stage = TestWorkspace::job(&[("a", "{ hang = true }")], "");
    let mut host = stage.start(&["run", "job.toml"]);
    let door = || {
        let runs = fs::read_dir(stage.state().sessions()).ok()?.flatten();
        runs.map(|run| run.path().join("s1/door.json")).find(|file: &PathBuf| file.exists())
    };
    until("the agent works", || door().is_some() && stage.story().prompts.len() == 1);
    let file = door().unwrap();
    let text = large();
    let server = mock_server(&stage, &text);
    let mut client = proxied(&stage, &["--session", file.to_str().unwrap()], &server);
    let (_, name) = replaced(&client.call("read_file", json!({})));
    assert_eq!(client.load(&name), text, "byte for byte");
    let left = fs::read_dir(file.parent().unwrap()).unwrap().flatten();
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("offered-")));

    let journal = Journal::open_read_only(&stage.state()).unwrap();
    let run = journal.latest().unwrap().unwrap().run;
    let offered = journal.read(&run).unwrap().map(Result::unwrap).filter(
        |entry| matches!(entry, JournalEntry::Input(stamped) if matches!(stamped.input, Input::ToolResultOffered { .. })),
    );
    assert_eq!(offered.count(), 1);
    let store = ArtifactStore::open_read_only(&stage.state()).unwrap();
    let saved = store.list(&run).unwrap();
    assert!(
        saved.iter().any(|saved| saved.artifact.name == name
            && saved.tool_call.as_deref() == Some("toolu_1")
            && saved.session.as_ref().is_some_and(|session| session.as_str() == "s1")),
        "{saved:?}"
    );

    // Where the host is gone, the agent has its result.
    stage.baton(&["stop"]).expect(0);
    host.wait().unwrap();
    assert_eq!(client.call("read_file", json!({}))["content"][0]["text"], text);
}

#[test]
fn before_a_real_server() {
    // C3
    let Some(program) = std::env::var_os("BATON_TEST_MCP_SERVER") else {
        eprintln!(
            "skipped: BATON_TEST_MCP_SERVER names no program of @modelcontextprotocol/server-filesystem"
        );
        return;
    };
    let stage = TestWorkspace::new();
    let text = large();
    let path = stage.workspace.join("large.txt");
    fs::write(&path, &text).unwrap();
    let server = [program.into_string().unwrap(), stage.workspace.display().to_string()];
    let mut client = user_proxy(&stage, &server);
    let tools = client.tools();
    assert!(tools.len() > 3 && tools.last().unwrap() == "baton_artifact_load", "{tools:?}");
    let result = client.call("read_text_file", json!({ "path": path }));
    let (note, name) = replaced(&result);
    // Its tools have a schema for their results, and a client that checks it is content.
    assert!(result["structuredContent"].is_null() || result["structuredContent"]["content"] == note);
    assert_eq!(client.load(&name), text, "byte for byte");
    let small = stage.workspace.join("small.txt");
    fs::write(&small, "small\n").unwrap();
    assert_eq!(client.call("read_text_file", json!({ "path": small }))["content"][0]["text"], "small\n");
}
