//! The tools of agents against a live host: a scripted agent works by them alone, and `baton mcp` as a process of its own
//! survives cut connections and a host that restarts, and lets nobody into a run who does not belong there.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use crate::support::{TestWorkspace, until};
use baton_runtime::core::input::{AgentReport, Input};
use baton_runtime::core::progress::ProgressEvent;
use serde_json::{Value, json};

/// A process that is killed where a test ends before it.
struct KillOnDrop(Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        // Where it has ended there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `baton mcp`, and a client of it.
struct McpToolClient {
    _process: KillOnDrop,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    asked: u64,
}

impl McpToolClient {
    fn start(stage: &TestWorkspace, arguments: &[&str]) -> Self {
        let mut command = stage.command(arguments);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut client = Self { _process: KillOnDrop(process), to, from: BufReader::new(from), asked: 0 };
        let own = json!({ "name": "test", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": own });
        client.send("initialize", hello);
        assert_eq!(client.receive()["serverInfo"]["name"], "baton");
        client.line(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// For the agent of a session.
    fn of_session(stage: &TestWorkspace, file: &Path) -> Self {
        Self::start(stage, &["mcp", "--session", file.to_str().unwrap()])
    }

    /// For a person.
    fn of_person(stage: &TestWorkspace) -> Self {
        let (workspace, state) =
            (stage.workspace.display().to_string(), stage.state_root().display().to_string());
        Self::start(stage, &["mcp", "--workspace", &workspace, "--state-dir", &state])
    }

    fn line(&mut self, message: &Value) {
        writeln!(self.to, "{message}").unwrap();
        self.to.flush().unwrap();
    }

    fn send(&mut self, method: &str, params: Value) {
        self.asked += 1;
        let id = self.asked;
        self.line(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        let mut message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["id"], self.asked, "{message}");
        message["result"].take()
    }

    fn begin(&mut self, name: &str, arguments: Value, key: &str) {
        let meta = json!({ "claudecode/toolUseId": key });
        self.send("tools/call", json!({ "name": name, "arguments": arguments, "_meta": meta }));
    }

    /// What the agent is told.
    fn end(&mut self) -> (bool, String) {
        let result = self.receive();
        (result["isError"] == true, result["content"][0]["text"].as_str().unwrap().to_owned())
    }

    fn call(&mut self, name: &str, arguments: Value, key: &str) -> (bool, String) {
        self.begin(name, arguments, key);
        self.end()
    }

    #[track_caller]
    fn says(&mut self, name: &str, arguments: Value, text: &str) {
        let key = format!("key-{}", self.asked);
        let (is_error, said) = self.call(name, arguments, &key);
        assert!(!is_error && said.contains(text), "{said}");
    }

    #[track_caller]
    fn refuses(&mut self, name: &str, arguments: Value, text: &str) {
        let key = format!("key-{}", self.asked);
        let (is_error, said) = self.call(name, arguments, &key);
        assert!(is_error && said.contains(text), "{said}");
    }
}

/// A run whose agent has begun with its first objective, and says nothing any more.
fn live() -> (TestWorkspace, KillOnDrop) {
    let stage = TestWorkspace::job(&[("a", "{ hang = true }"), ("b", "")], "");
    let host = KillOnDrop(stage.start(&["run", "job.toml"]));
    until("the agent works", || session_file(&stage, "s1").is_some_and(|_| stage.story().prompts.len() == 1));
    (stage, host)
}

/// The file of a session. The journal of a host that has just begun is not looked at: it may be half made.
fn session_file(stage: &TestWorkspace, session: &str) -> Option<PathBuf> {
    let runs = fs::read_dir(stage.state().sessions()).ok()?.flatten();
    runs.map(|run| run.path().join(session).join("door.json")).find(|file| file.exists())
}

/// Everything that was reported, in order.
fn reports(stage: &TestWorkspace) -> Vec<(Option<String>, AgentReport)> {
    let reported = |input| match input {
        Input::Reported { session, report, .. } => Some((session.map(|id| id.to_string()), report)),
        _ => None,
    };
    stage.inputs().into_iter().filter_map(reported).collect()
}

fn decision(text: &str) -> Value {
    json!({ "decision": text, "rationale": "because" })
}

/// How often a decision was journaled.
fn decided(stage: &TestWorkspace, text: &str) -> usize {
    let is_it = |report: &AgentReport| matches!(report, AgentReport::DecisionRecord { decision, .. } if decision == text);
    reports(stage).iter().filter(|(_, report)| is_it(report)).count()
}

#[test]
fn an_agent_works_by_its_tools_alone() {
    // C7, C19, C6
    let first = r#"
        { write = "a.txt", content = "a" },
        { tool = { name = "objective_update", arguments = { objective = "a", status = "in-progress" } } },
        { tool = { name = "objective_update", arguments = { objective = "aa", status = "done" } } },
        { tool = { name = "decision_record", arguments = { decision = "tabs", rationale = "the file has them" } } },
        { tool = { name = "attempt_record", arguments = { approach = "sed", outcome = "it breaks the quotes" } } },
        { tool = { name = "gotcha_record", arguments = { gotcha = "the last line has no end" } } },
        { tool = { name = "artifact_save", arguments = { name = "notes/a.txt", path = "a.txt", summary = "the file" } } },
        { tool = { name = "artifact_save", arguments = { name = "handoffs/a.md", content = "Handoff" } } },
        { tool = { name = "artifact_load", arguments = { name = "notes/a.txt" } } },
        { tool = { name = "artifact_list" } },
        { tool = { name = "objective_update", arguments = { objective = "a", status = "done", note = "it is there" } } },
        { tool = { name = "context_status" } }"#;
    let second = r#"
        { write = "b.txt", content = "b" },
        { tool = { name = "handoff_write", arguments = { current_state = "b is there", immediate_next_action = "look at it", critical_context = ["one"] } } },
        { tool = { name = "split_request", arguments = { rationale = "r", groups = [{ title = "x", objectives = ["c"] }] } } }"#;
    let stage = TestWorkspace::job(&[("a", first), ("b", second)], "");
    stage.baton(&["run", "job.toml"]).expect(0);

    let state = stage.state();
    let file = session_file(&stage, "s1").unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let told = fs::read_to_string(file.with_file_name("stdout.jsonl")).unwrap();
    let answers: Vec<String> = told
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter_map(|line| line.pointer("/params/update/rawOutput")?.as_str().map(str::to_owned))
        .filter(|text| !text.starts_with("wrote"))
        .collect();
    let expected = [
        "recorded: a in progress, 0 of 2 done",
        "not recorded: no objective \"aa\" in this run; yours are: a, b",
        "recorded: whoever continues is told of this decision",
        "recorded: whoever continues will not try this again",
        "recorded: whoever continues is warned of this",
        "kept as notes/a.txt@1, 2 bytes",
        "not kept: handoffs and names below it are the host's own; take another name, for example notes/a.md",
        "notes/a.txt@1, bytes 0 to 2 of 2; this is the end\na\n",
        "1 of 1 artifacts\nnotes/a.txt@1  2 bytes, about ",
        "recorded: a done, 1 of 2; next: b",
        "context: ",
        "recorded: your successor gets this",
        "not recorded: no objective \"c\" in this run; yours are: a, b",
    ];
    assert_eq!(answers.len(), expected.len(), "{answers:#?}");
    for (answer, expected) in answers.iter().zip(expected) {
        assert!(answer.starts_with(expected), "{answer:?} does not begin with {expected:?}");
    }
    let status = &answers[10];
    for part in ["of 100000 tokens (source: ", "done: a\nopen: b\ncurrent: a\nnewest handoff: none"] {
        assert!(status.contains(part), "{status}");
    }

    // Every report is the session's, and what was refused is not there.
    let reports = reports(&stage);
    assert!(reports.iter().all(|(session, _)| session.as_deref() == Some("s1")), "{reports:#?}");
    let names: Vec<String> = reports
        .iter()
        .map(|(_, report)| serde_json::to_value(report).unwrap()["report"].as_str().unwrap().to_owned())
        .collect();
    for name in ["decision-record", "attempt-record", "gotcha-record", "artifact-saved", "handoff-write"] {
        assert_eq!(names.iter().filter(|known| *known == name).count(), 1, "{name}: {names:?}");
    }
    let story = stage.story();
    assert_eq!(story.done().len(), 2);
    assert_eq!(story.count(|notice| matches!(notice, ProgressEvent::ObjectiveDone { .. })), 2);
    assert!(stage.artifacts().iter().any(|artifact| artifact.name == "notes/a.txt" && artifact.bytes == 2));
    assert!(!state.control_socket().exists());
}

#[test]
fn a_session_reports_to_its_own_run_and_nobody_else_does() {
    let (stage, _host) = live();
    let file = session_file(&stage, "s1").unwrap();
    let mut agent = McpToolClient::of_session(&stage, &file);
    agent.says("objective_update", json!({ "objective": "a", "status": "done" }), "a done, 1 of 2; next: b");
    agent.refuses("objective_update", json!({ "objective": "c", "status": "done" }), "yours are: a, b");
    agent.says("context_status", json!({}), "done: a\nopen: b");

    // The same file with one word changed.
    let pass: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let forged = |name: &str, value: &str| {
        let mut pass = pass.clone();
        pass[name] = json!(value);
        let file = stage.write(&format!("{name}.json"), pass.to_string());
        McpToolClient::of_session(&stage, &file)
    };
    let before = reports(&stage).len();
    let done = || json!({ "objective": "b", "status": "done" });
    forged("token", &"0".repeat(32)).refuses("objective_update", done(), "not the token of session s1");
    forged("run", "20200101-000000").refuses(
        "objective_update",
        done(),
        "a session reports to its own run only",
    );
    forged("session", "s2").refuses("objective_update", done(), "has no session s2");
    forged("session", "../s1").refuses("context_status", json!({}), "has no session ../s1");
    assert_eq!(reports(&stage).len(), before, "nothing of this was journaled");

    // A person needs no token: the socket is theirs alone.
    let mut person = McpToolClient::of_person(&stage);
    person.says("gotcha_record", json!({ "gotcha": "it hangs" }), "recorded");
    let (session, _) = reports(&stage).pop().unwrap();
    assert_eq!(session, None);
    stage.baton(&["stop"]).expect(0);
}

#[test]
fn a_call_that_is_repeated_counts_once() {
    let (stage, _host) = live();
    let file = session_file(&stage, "s1").unwrap();
    let pass: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let pass = json!({ "run": pass["run"], "session": pass["session"], "token": pass["token"] });
    // The call is made, and the connection cut before the answer.
    let call = json!({ "tool": "decision_record", "arguments": decision("once") });
    let line = format!("{{\"control\":\"call\",\"pass\":{pass},\"key\":\"toolu_1\",\"call\":{call}}}\n");
    let socket = stage.state().control_socket();
    {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
    }
    until("the call is in the journal", || decided(&stage, "once") == 1);
    let mut agent = McpToolClient::of_session(&stage, &file);
    let (is_error, said) = agent.call("decision_record", decision("once"), "toolu_1");
    assert!(!is_error && said.starts_with("already recorded"), "{said}");
    // Another call that says the same is the same decision, and another session's key is another call.
    assert_eq!(decided(&stage, "once"), 1);

    // As long as it is a call, a line may be long; anything else may not.
    let long = "x".repeat(200 << 10);
    agent.says("artifact_save", json!({ "name": "notes/long", "content": long }), "kept as notes/long@1");
    let mut stream = UnixStream::connect(&socket).unwrap();
    let _ = stream.write_all(format!("{{\"control\":\"status\",\"x\":\"{long}\"}}\n").as_bytes());
    let mut reply = String::new();
    let _ = stream.read_to_string(&mut reply);
    assert!(reply.is_empty() || reply.contains("refused"), "{reply}");
    stage.baton(&["stop"]).expect(0);
}

#[test]
fn a_host_that_restarts_is_waited_for() {
    let (stage, host) = live();
    let file = session_file(&stage, "s1").unwrap();
    let mut person = McpToolClient::of_person(&stage);
    person.says("decision_record", decision("before"), "recorded");
    drop(host);
    stage.expect_no_process();

    // Made while nobody is there, answered by the next host.
    person.begin("decision_record", decision("between"), "toolu_2");
    let _next = KillOnDrop(stage.start(&["resume"]));
    let (is_error, said) = person.end();
    assert!(!is_error && said.starts_with("recorded: "), "{said}");
    let (_, said) = person.call("decision_record", decision("between"), "toolu_2");
    assert!(said.starts_with("already recorded"), "{said}");
    assert_eq!((decided(&stage, "before"), decided(&stage, "between")), (1, 1));

    // The session of the host that is gone is over, and its token with it.
    let mut agent = McpToolClient::of_session(&stage, &file);
    agent.refuses("decision_record", decision("late"), "session s1 has ended");
    assert_eq!(decided(&stage, "late"), 0);
    stage.baton(&["stop"]).expect(0);
}

#[test]
fn a_report_by_file_that_does_not_fit_comes_back_with_the_reason() {
    let steps = r#"
        { write = "a.txt", content = "a" },
        { report = { report = "objective-update", objective = "parsr", status = "done" } },
        { report = { report = "gotcha-record", gotcha = "the last line has no end" } }"#;
    let stage = TestWorkspace::job(&[("a", steps)], "");
    let ended = stage.baton(&["run", "job.toml"]).expect(0);
    // Told to the person, and to the agent beside its file.
    let ended = ended.says(&["was rejected: no objective \"parsr\" in this run; yours are: a"]);
    assert!(ended.stderr.contains("report"), "{}", ended.stderr);
    let mut folders = vec![stage.workspace.clone()];
    let mut why = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.to_string_lossy().ends_with(".why.txt") => {
                    why.push(fs::read_to_string(path).unwrap())
                }
                _ => {}
            }
        }
    }
    assert_eq!(why.len(), 1, "{why:?}");
    assert!(why[0].contains("no objective \"parsr\" in this run"), "{}", why[0]);
    let kept = |report: &AgentReport| matches!(report, AgentReport::GotchaRecord { .. });
    assert_eq!(reports(&stage).iter().filter(|(_, report)| kept(report)).count(), 1);
}
