//! The simulator drives the real Claude Code: it works, runs out of context, and waits out a limit. Runs where
//! `BATON_TEST_CLAUDE` names its executable; `.ci/run` installs one and sets it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use baton_simulator::{AnswerKind, ModelScript, ModelTurn, ScriptedFailure, Simulator};
use serde_json::Value;
use tempfile::TempDir;

/// What a run of the CLI came to.
struct ClaudeRun {
    code: Option<i32>,
    events: Vec<Value>,
}

impl ClaudeRun {
    /// The last event, which says how the prompt ended.
    fn result(&self) -> &Value {
        self.events
            .iter()
            .rfind(|event| event["type"] == "result")
            .expect("every run ends with a result event")
    }

    fn count(&self, subtype: &str) -> usize {
        self.events.iter().filter(|event| event["subtype"] == subtype).count()
    }
}

/// The executable, or a plain word that there is none.
fn claude(test: &str) -> Option<String> {
    let found = std::env::var("BATON_TEST_CLAUDE").ok();
    if found.is_none() {
        // Not by a macro: the test runner would keep that to itself, and a skipped test must be seen.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: {test}: BATON_TEST_CLAUDE names no executable of Claude Code"
        );
    }
    found
}

fn run(claude: &str, folder: &Path, simulator: &Simulator, env: &[(&str, &str)]) -> ClaudeRun {
    let output = Command::new(claude)
        .args(["-p", "[hello] Write hello.txt", "--output-format", "stream-json", "--verbose"])
        .args(["--permission-mode", "acceptEdits", "--allowedTools", "Bash", "--model", "claude-sonnet-4-5"])
        .args(["--strict-mcp-config", "--setting-sources", ""])
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", folder.join("home"))
        .env("ANTHROPIC_BASE_URL", simulator.url())
        .envs([
            ("ANTHROPIC_API_KEY", "test-key"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "2"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_ERROR_REPORTING", "1"),
            ("DISABLE_TELEMETRY", "1"),
            ("IS_SANDBOX", "1"),
            ("LANG", "C.UTF-8"),
        ])
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .output()
        .expect("the executable that BATON_TEST_CLAUDE names starts");
    let stdout = String::from_utf8(output.stdout).unwrap();
    let events = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    eprintln!("{}", String::from_utf8_lossy(&output.stderr));
    ClaudeRun { code: output.status.code(), events }
}

/// A folder with room for the CLI's own files beside the work.
fn folder() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("home")).unwrap();
    let path = folder.path().canonicalize().unwrap().display().to_string();
    (folder, path)
}

#[test]
fn simulator_drives_the_real_claude_code() {
    let Some(claude) = claude("simulator_drives_the_real_claude_code") else { return };
    let (folder, path) = folder();
    let hello = format!("{path}/hello.txt");
    let script = ModelScript::new().on(
        "[hello]",
        [ModelTurn::write(&hello, "hello\n"), ModelTurn::read(&hello), ModelTurn::say("Written.")],
    );
    let simulator = Simulator::start(script).unwrap();
    let ran = run(&claude, folder.path(), &simulator, &[]);
    assert_eq!((ran.code, &ran.result()["result"]), (Some(0), &Value::from("Written.")));
    assert_eq!(std::fs::read_to_string(hello).unwrap(), "hello\n");
    let called: Vec<_> = simulator.requests().into_iter().map(|request| request.answered).collect();
    assert!(called.contains(&AnswerKind::Called("Read".to_owned())), "{called:?}");
}

#[test]
fn simulator_drives_the_real_claude_code_to_exhaustion() {
    let Some(claude) = claude("simulator_drives_the_real_claude_code_to_exhaustion") else { return };
    let (folder, path) = folder();
    let pages = (1..=40).map(|page| {
        ModelTurn::write(format!("{path}/page-{page}.txt"), "a line of filler text\n".repeat(200))
    });
    let simulator =
        Simulator::start(ModelScript::new().on("[hello]", pages).message_scale(8).max_prompt_tokens(120_000))
            .unwrap();
    let ran = run(&claude, folder.path(), &simulator, &[("DISABLE_AUTO_COMPACT", "1")]);
    let reason = ran.result()["terminal_reason"].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        (ran.code, reason.as_str(), &ran.result()["is_error"]),
        (Some(1), "prompt_too_long", &Value::Bool(true))
    );
    let requests = simulator.requests();
    assert_eq!(requests.last().unwrap().answered, AnswerKind::TooLong);
    assert!(requests.last().unwrap().results > 2, "it worked until the window was full");
    assert!(folder.path().join("page-2.txt").exists());
}

#[test]
fn the_real_claude_code_waits_out_a_limit() {
    let Some(claude) = claude("the_real_claude_code_waits_out_a_limit") else { return };
    let (folder, path) = folder();
    let script = ModelScript::new()
        .on("[hello]", [ModelTurn::write(format!("{path}/hello.txt"), "hello\n")])
        .failing(ScriptedFailure::rate_limited(1).retry_after_s(1))
        .failing(ScriptedFailure::overloaded(1));
    let simulator = Simulator::start(script).unwrap();
    let ran = run(&claude, folder.path(), &simulator, &[]);
    assert_eq!((ran.code, ran.count("api_retry")), (Some(0), 2));
    assert!(folder.path().join("hello.txt").exists());
}
