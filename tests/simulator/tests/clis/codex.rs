//! Codex by its app-server: it works, compacts, runs out of context, waits out a limit, and is killed.

use baton_simulator::{AnswerKind, ModelScript, ModelTurn, ScriptedFailure, Simulator};
use serde_json::{Value, json};

use crate::rpc::RpcAgentProcess;
use crate::{AgentFolders, called, count, installed};

const VARIABLE: &str = "BATON_TEST_CODEX";

/// A time of the Unix clock that no test run reaches.
const FAR_S: u64 = 4_102_444_800;

/// Codex with a thread that may do anything in its folder.
struct CodexTestThread {
    agent: RpcAgentProcess,
    thread: Value,
}

impl CodexTestThread {
    fn start(place: &AgentFolders, simulator: &Simulator, settings: &str, test: &str) -> Option<Self> {
        let program = installed(VARIABLE, test)?;
        place.configure_codex(simulator, Some("simulated"), settings);
        let mut command = place.command(&program);
        command.arg("app-server").env("SIMULATED_KEY", "test-key");
        let mut agent = RpcAgentProcess::start(command);
        let client = json!({"name": "baton-tests", "title": "tests", "version": "0"});
        agent.call("initialize", json!({"clientInfo": client, "capabilities": {"experimentalApi": true}}));
        agent.notify("initialized");
        let options = json!({"cwd": place.work, "approvalPolicy": "never", "sandbox": "danger-full-access"});
        let thread = agent.call("thread/start", options)["thread"]["id"].clone();
        Some(Self { agent, thread })
    }

    /// Begins a turn.
    fn prompt(&mut self, text: &str) {
        let input = json!([{"type": "text", "text": text}]);
        self.agent.ask("turn/start", json!({"threadId": self.thread, "input": input}));
    }

    /// Waits for the end of the turn and returns it.
    fn completed(&mut self) -> Value {
        self.agent.until(|message| message["method"] == "turn/completed")["params"]["turn"].clone()
    }

    fn turn(&mut self, text: &str) -> Value {
        self.prompt(text);
        self.completed()
    }

    fn errors(&self) -> Vec<&Value> {
        let errors = self.agent.said.iter().filter(|message| message["method"] == "error");
        errors.map(|message| &message["params"]).collect()
    }
}

fn pages(place: &AgentFolders, pages: usize) -> Vec<ModelTurn> {
    let page = |number| {
        ModelTurn::write(
            place.file(&format!("page-{number}.txt")).display(),
            "a line of filler text\n".repeat(400),
        )
    };
    (1..=pages).map(page).collect()
}

#[test]
fn simulator_drives_the_real_codex() {
    let place = AgentFolders::new();
    let (hello, tail) = (place.file("sub/hello.txt"), place.file("it's.txt"));
    let script = ModelScript::new().on(
        "[hello]",
        [
            ModelTurn::write(hello.display(), "hello\nthere\n"),
            ModelTurn::read(hello.display()),
            ModelTurn::write(tail.display(), "no end of line"),
            ModelTurn::bash("echo run > run.txt"),
            ModelTurn::say("Written."),
        ],
    );
    let simulator = Simulator::start(script.quota_used(92, FAR_S)).unwrap();
    let Some(mut codex) = CodexTestThread::start(&place, &simulator, "", "simulator_drives_the_real_codex")
    else {
        return;
    };
    let turn = codex.turn("[hello] Write hello.txt");
    assert_eq!(turn["status"], "completed", "{turn:#}");
    assert_eq!(
        (place.written("sub/hello.txt"), place.written("it's.txt")),
        ("hello\nthere\n".to_owned(), "no end of line".to_owned())
    );
    assert_eq!(place.written("run.txt"), "run\n");
    assert_eq!(
        (count(&simulator, &called("apply_patch")), count(&simulator, &called("exec_command"))),
        (1, 3)
    );
    let usage =
        codex.agent.said.iter().rfind(|message| message["method"] == "thread/tokenUsage/updated").unwrap();
    let asked = simulator.requests().last().unwrap().prompt_tokens;
    assert_eq!(usage["params"]["tokenUsage"]["last"]["inputTokens"], asked);
    let quota =
        codex.agent.said.iter().rfind(|message| message["method"] == "account/rateLimits/updated").unwrap();
    assert!(quota.to_string().contains("4102444800"), "{quota:#}");
    assert!(codex.agent.end().success());
}

#[test]
fn the_real_codex_goes_on_where_it_was_after_each_compaction() {
    let place = AgentFolders::new();
    let simulator =
        Simulator::start(ModelScript::new().on("[pages]", pages(&place, 6)).message_scale(4)).unwrap();
    let limit = "model_auto_compact_token_limit = 40000";
    let test = "the_real_codex_goes_on_where_it_was_after_each_compaction";
    let Some(mut codex) = CodexTestThread::start(&place, &simulator, limit, test) else { return };
    assert_eq!(codex.turn("[pages] Write six pages")["status"], "completed");
    assert_eq!(count(&simulator, &called("apply_patch")), 6, "no page is written twice");
    assert!(count(&simulator, &AnswerKind::Summarised) > 0, "{:#?}", simulator.requests());
    assert!(place.file("page-6.txt").exists());
    let sizes: Vec<_> =
        simulator.requests().into_iter().map(|request| (request.prompt_tokens, request.answered)).collect();
    let smaller = sizes.windows(2).any(|pair| pair[0].1 == AnswerKind::Summarised && pair[1].0 < pair[0].0);
    assert!(smaller, "{sizes:?}");
}

#[test]
fn simulator_drives_the_real_codex_to_exhaustion_by_status_and_in_the_stream() {
    for in_stream in [false, true] {
        let place = AgentFolders::new();
        let script =
            ModelScript::new().on("[pages]", pages(&place, 30)).message_scale(8).max_prompt_tokens(120_000);
        let script = if in_stream { script.too_long_in_stream() } else { script };
        let simulator = Simulator::start(script).unwrap();
        let test = "simulator_drives_the_real_codex_to_exhaustion_by_status_and_in_the_stream";
        let Some(mut codex) = CodexTestThread::start(&place, &simulator, "", test) else { return };
        let turn = codex.turn("[pages] Write many pages");
        assert_eq!(
            (&turn["status"], &turn["error"]["codexErrorInfo"]),
            (&json!("failed"), &json!("contextWindowExceeded"))
        );
        let last = simulator.requests().pop().unwrap();
        assert_eq!(last.answered, AnswerKind::TooLong);
        assert!(last.results > 1, "it worked until the window was full");
        assert!(place.file("page-1.txt").exists());
    }
}

#[test]
fn the_real_codex_waits_out_a_limit_and_stops_at_a_quota() {
    let place = AgentFolders::new();
    let script = ModelScript::new()
        .otherwise([ModelTurn::write(place.file("hello.txt").display(), "hello\n")])
        .failing(ScriptedFailure::rate_limited(1).retry_after_s(1))
        .failing(ScriptedFailure::overloaded(1))
        .failing(ScriptedFailure::quota_until(FAR_S).after(4));
    let simulator = Simulator::start(script).unwrap();
    let test = "the_real_codex_waits_out_a_limit_and_stops_at_a_quota";
    let Some(mut codex) = CodexTestThread::start(&place, &simulator, "", test) else { return };
    assert_eq!(codex.turn("Write hello.txt")["status"], "completed");
    assert_eq!(place.written("hello.txt"), "hello\n");
    assert!(codex.errors().iter().all(|error| error["willRetry"] == true), "{:#?}", codex.errors());
    let turn = codex.turn("Write it again");
    assert_eq!(
        (&turn["status"], &turn["error"]["codexErrorInfo"]),
        (&json!("failed"), &json!("usageLimitExceeded"))
    );
    let failed = |status| count(&simulator, &AnswerKind::Failed(status));
    assert_eq!((failed(429), failed(503)), (2, 1));
}

#[test]
fn a_reply_that_hangs_lasts_until_the_real_codex_is_killed() {
    let place = AgentFolders::new();
    let script = ModelScript::new()
        .on("[hang]", [ModelTurn::write(place.file("hello.txt").display(), "hello\n"), ModelTurn::hang()])
        .otherwise([ModelTurn::say("Still here.")]);
    let simulator = Simulator::start(script).unwrap();
    let test = "a_reply_that_hangs_lasts_until_the_real_codex_is_killed";
    let Some(mut codex) = CodexTestThread::start(&place, &simulator, "", test) else { return };
    codex.prompt("[hang] Write hello.txt");
    // The text of the reply begins, so the model is being listened to.
    let begun = |message: &Value| {
        message["method"] == "item/started" && message["params"]["item"]["type"] == "agentMessage"
    };
    codex.agent.until(begun);
    assert_eq!((count(&simulator, &AnswerKind::Hung), place.written("hello.txt").as_str()), (1, "hello\n"));
    drop(codex);
    let Some(mut another) = CodexTestThread::start(&place, &simulator, "", test) else { return };
    assert_eq!(another.turn("Go on")["status"], "completed");
}
