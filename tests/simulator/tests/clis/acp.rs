//! Claude Code and Codex behind their ACP adapters: they write files, and say what a limit or a full window comes to.

use std::path::Path;
use std::process::Command;

use baton_simulator::{AnswerKind, ModelScript, ModelTurn, ScriptedFailure, Simulator};
use serde_json::{Value, json};

use crate::rpc::RpcAgentProcess;
use crate::{AgentFolders, called, count, installed};

const CLAUDE: &str = "BATON_TEST_CLAUDE_ACP";
const CODEX: &str = "BATON_TEST_CODEX_ACP";

fn claude(place: &AgentFolders, simulator: &Simulator, adapter: &Path) -> Command {
    let mut command = place.command(Path::new("node"));
    command.arg(adapter).env("ANTHROPIC_BASE_URL", simulator.url()).envs([
        ("ANTHROPIC_API_KEY", "test-key"),
        ("ANTHROPIC_MODEL", "claude-sonnet-4-5"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("IS_SANDBOX", "1"),
    ]);
    command
}

fn codex(place: &AgentFolders, simulator: &Simulator, adapter: &Path) -> Command {
    place.configure_codex(simulator, None, "");
    let mut command = place.command(Path::new("node"));
    command.arg(adapter).env("OPENAI_API_KEY", "test-key");
    command
}

/// An adapter with a session.
struct AcpAdapterSession {
    agent: RpcAgentProcess,
    id: Value,
}

impl AcpAdapterSession {
    fn start(place: &AgentFolders, command: Command, login: Option<&str>) -> Self {
        let mut agent = RpcAgentProcess::start(command);
        let can = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
        let client = json!({"name": "baton-tests", "version": "0"});
        agent.call(
            "initialize",
            json!({"protocolVersion": 1, "clientCapabilities": can, "clientInfo": client}),
        );
        if let Some(method) = login {
            agent.call("authenticate", json!({ "methodId": method }));
        }
        let session = agent.call("session/new", json!({"cwd": place.work, "mcpServers": []}));
        Self { agent, id: session["sessionId"].clone() }
    }

    /// The answer to a prompt, be it a result or an error.
    fn prompt(&mut self, text: &str) -> Value {
        let prompt = json!([{"type": "text", "text": text}]);
        self.agent.attempt("session/prompt", json!({"sessionId": self.id, "prompt": prompt}))
    }

    /// Everything that the agent said as text.
    fn text(&self) -> String {
        let updates = self.agent.said.iter().map(|message| &message["params"]["update"]);
        let chunks = updates.filter(|update| update["sessionUpdate"] == "agent_message_chunk");
        chunks.filter_map(|update| update["content"]["text"].as_str()).collect()
    }
}

fn hello(place: &AgentFolders) -> ModelScript {
    let hello = place.file("hello.txt");
    ModelScript::new().on(
        "[hello]",
        [
            ModelTurn::write(hello.display(), "hello\n"),
            ModelTurn::read(hello.display()),
            ModelTurn::say("Written."),
        ],
    )
}

#[test]
fn simulator_drives_the_real_adapter_of_claude_code() {
    let Some(adapter) = installed(CLAUDE, "simulator_drives_the_real_adapter_of_claude_code") else { return };
    let place = AgentFolders::new();
    let simulator =
        Simulator::start(hello(&place).failing(ScriptedFailure::rate_limited(1).retry_after_s(1))).unwrap();
    let mut session = AcpAdapterSession::start(&place, claude(&place, &simulator, &adapter), None);
    let answer = session.prompt("[hello] Write hello.txt");
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer:#}");
    assert_eq!(place.written("hello.txt"), "hello\n");
    assert!(session.text().contains("Written."));
    assert_eq!((count(&simulator, &called("Write")), count(&simulator, &AnswerKind::Failed(429))), (1, 1));
    assert!(session.agent.end().success());
}

#[test]
fn the_real_adapter_of_claude_code_tells_a_full_window() {
    let Some(adapter) = installed(CLAUDE, "the_real_adapter_of_claude_code_tells_a_full_window") else {
        return;
    };
    let place = AgentFolders::new();
    let simulator = Simulator::start(hello(&place).max_prompt_tokens(1000)).unwrap();
    let mut session = AcpAdapterSession::start(&place, claude(&place, &simulator, &adapter), None);
    let answer = session.prompt("[hello] Write hello.txt");
    assert!(
        answer["error"]["message"].as_str().is_some_and(|message| message.contains("too long")),
        "{answer:#}"
    );
    assert!(count(&simulator, &AnswerKind::TooLong) > 0);
}

#[test]
fn simulator_drives_the_real_adapter_of_codex() {
    let Some(adapter) = installed(CODEX, "simulator_drives_the_real_adapter_of_codex") else { return };
    let place = AgentFolders::new();
    let simulator =
        Simulator::start(hello(&place).failing(ScriptedFailure::rate_limited(1).retry_after_s(1))).unwrap();
    let mut session = AcpAdapterSession::start(&place, codex(&place, &simulator, &adapter), Some("api-key"));
    let answer = session.prompt("[hello] Write hello.txt");
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer:#}");
    assert_eq!(place.written("hello.txt"), "hello\n");
    assert!(session.text().contains("Written."));
    assert_eq!(
        (count(&simulator, &called("apply_patch")), count(&simulator, &AnswerKind::Failed(429))),
        (1, 1)
    );
    // Its own provider compacts by an item instead of by words, and the next prompt follows the summary.
    session.prompt("/compact");
    assert_eq!(count(&simulator, &AnswerKind::Summarised), 1, "{:#?}", simulator.requests());
    let again = session.prompt("[hello] Write it again");
    assert_eq!(
        (&again["result"]["stopReason"], count(&simulator, &called("apply_patch"))),
        (&json!("end_turn"), 2)
    );
    assert!(session.agent.end().success());
}

#[test]
fn the_real_adapter_of_codex_tells_a_full_window_in_text_only() {
    let Some(adapter) = installed(CODEX, "the_real_adapter_of_codex_tells_a_full_window_in_text_only") else {
        return;
    };
    let place = AgentFolders::new();
    let simulator = Simulator::start(hello(&place).max_prompt_tokens(1000)).unwrap();
    let mut session = AcpAdapterSession::start(&place, codex(&place, &simulator, &adapter), Some("api-key"));
    let answer = session.prompt("[hello] Write hello.txt");
    assert_eq!(answer["result"]["stopReason"], "end_turn", "{answer:#}");
    assert!(session.text().contains("context_length_exceeded"), "{}", session.text());
}
