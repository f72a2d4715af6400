//! The `baton` binary as a person meets it before anything runs: help, mistakes, exit codes, what goes to which
//! stream. Starts no agent.

use std::path::Path;
use std::process::{Command, Output};

/// `baton` with a state directory and a home of its own.
fn baton(home: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(args)
        .current_dir(home)
        .env_clear()
        .env("HOME", home)
        .output()
        .expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("output is UTF-8")
}

fn home() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// A workflow that is fine, but for what stands at its top.
fn workflow(home: &Path, top: &str) {
    let text = format!(
        "name = \"demo\"\ngoal = \"Show.\"\n{top}\n[[phases]]\nid = \"a\"\n\
         objectives = [{{ id = \"b\", description = \"Do.\" }}]\n"
    );
    std::fs::write(home.join("w.toml"), text).expect("the file is written");
}

#[test]
fn version_and_help_are_data_and_end_with_0() {
    let home = home();
    for args in [
        &["--version"][..],
        &["--help"],
        &["help"],
        &["help", "artifacts", "show"],
        &["help", "workflow"],
        &["help", "agents.md"],
        &["help", "reference/files"],
        &["run", "--help"],
        &["artifacts", "show", "--help"],
    ] {
        let output = baton(home.path(), args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "{args:?}");
        assert!(!text(&output.stdout).contains('\x1b'), "no colour in a pipe: {args:?}");
    }
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "asking for help leaves nothing behind");
}

#[test]
fn help_shows_a_page_as_it_is_and_man_writes_a_page_for_each_command() {
    let home = home();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/workflow.md");
    let shown = text(&baton(home.path(), &["help", "workflow"]).stdout);
    assert_eq!(shown, std::fs::read_to_string(page).unwrap());

    let output = baton(home.path(), &["man", "man1"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for name in ["baton.1", "baton-run.1", "baton-policy-use.1"] {
        let written = std::fs::read_to_string(home.path().join("man1").join(name)).unwrap();
        assert!(written.contains("Examples:") || name == "baton.1", "{name}");
    }
}

#[test]
fn wrong_usage_ends_with_2_and_says_so_on_stderr() {
    let home = home();
    workflow(home.path(), "agnet = \"claude\"");
    std::fs::write(
        home.path().join("remarks.jsonl"),
        "{\"text\": \"a\", \"channel\": \"log\"}\n{\"txt\": \"b\"}\n",
    )
    .unwrap();
    let cases: [(&[&str], &str); 14] = [
        (&[], "Usage:"),
        (&["help", "workflo"], "did you mean `workflow` or"),
        (&["reprot"], "report"),
        (&["run", "absent.toml"], "absent.toml"),
        (&["run", "w.toml"], "w.toml:3:1: unknown key `agnet` at the top level\n    did you mean `agent`?"),
        (&["run", "w.toml", "--agent", "nobody"], "acp:<command>"),
        (&["classify", "--agent", "codex", "w.toml"], "codex-app-server"),
        (&["classify", "--agent", "claude", "absent.jsonl"], "absent.jsonl"),
        (&["agents", "claud"], "no file has this name either"),
        (&["classify", "--agent", "text", "remarks.jsonl"], "remarks.jsonl:2: expected"),
        (&["answer", "perhaps"], "possible values"),
        (&["status"], "nothing has run"),
        (&["status", "--workspace", "absent"], "absent"),
        (&["policy", "inspect", "absent.wasm"], "absent.wasm"),
    ];
    for (args, expected) in cases {
        let output = baton(home.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty() || args.contains(&"remarks.jsonl"), "{args:?}");
        assert!(text(&output.stderr).contains(expected), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn a_policy_that_is_no_component_ends_with_3() {
    let home = home();
    workflow(home.path(), "agent = \"rehearsal\"\n[policies]\nall = \"mine.wasm\"");
    std::fs::write(home.path().join("mine.wasm"), "not WebAssembly").unwrap();
    for args in [&["policy", "inspect", "mine.wasm"][..], &["check", "w.toml"], &["run", "w.toml"]] {
        let output = baton(home.path(), args);
        assert_eq!(output.status.code(), Some(3), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains("mine"), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn settings_of_the_wrong_type_end_with_3() {
    let home = home();
    workflow(home.path(), "[policies.settings]\ncompact_at_percent = \"many\"");
    let output = baton(home.path(), &["check", "w.toml"]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("compact_at_percent"), "{}", text(&output.stderr));
}

#[test]
fn the_schema_is_json_and_completions_are_not_empty() {
    let home = home();
    let schema: serde_json::Value = serde_json::from_slice(&baton(home.path(), &["schema"]).stdout).unwrap();
    assert_eq!(schema["title"], "Baton workflow");
    for shell in ["bash", "zsh", "fish"] {
        assert!(text(&baton(home.path(), &["completions", shell]).stdout).contains("baton"), "{shell}");
    }
}

#[test]
fn the_quickstart_is_a_workflow_and_plans_its_phases_in_order() {
    let home = home();
    let quickstart = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart.toml");
    let file = quickstart.to_str().unwrap();
    let output = baton(home.path(), &["check", file]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let output = baton(home.path(), &["run", file, "--dry-run", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let phases: Vec<&str> = plan["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|session| session["phase"].as_str().unwrap())
        .collect();
    assert_eq!(phases, ["survey", "build", "document"]);
    let prompt = plan["sessions"][1]["prompts"][0]["text"].as_str().unwrap();
    assert!(prompt.contains("- [parser] Write src/parser.sh"), "{prompt}");
}

// A4, B4
#[test]
fn a_recorded_stream_is_classified_as_one_json_record() {
    let home = home();
    let streams = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/streams");
    let classify = |args: &[&str]| {
        let args: Vec<&str> = ["classify"].iter().chain(args).copied().collect();
        let output = baton(home.path(), &args);
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
        let lines = text(&output.stdout);
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    let file = |name: &str| streams.join(name).to_str().unwrap().to_owned();
    let exhausted =
        &classify(&["--agent", "claude", &file("claude/context-exhausted-mid.jsonl"), "--exit", "1"])[0];
    assert_eq!((&exhausted["verdict"], &exhausted["cause"]), (&"exhausted".into(), &serde_json::Value::Null));
    assert_eq!(exhausted["evidence"][0]["channel"], "agent-event");
    assert_eq!(exhausted["occupancy"]["window_tokens"], 200_000);
    assert_eq!(exhausted["policy"]["name"], "resilience");
    let killed = &classify(&[
        "--agent",
        "opencode",
        &file("opencode/context-exhausted.jsonl"),
        "--killed",
        "--exit",
        "-9",
    ])[0];
    assert_eq!(killed["verdict"], "exhausted");
    std::fs::write(
        home.path().join("remarks.jsonl"),
        "{\"text\": \"You've hit your limit · resets 3pm (UTC)\", \"channel\": \"api_error\", \"vendor\": \"x\"}\n\n\
         {\"text\": \"prompt is too long: 5 tokens > 4 maximum\", \"channel\": \"tool-output\"}\n",
    )
    .unwrap();
    let remarks = classify(&["--agent", "text", "remarks.jsonl", "--at", "2026-02-12T09:30:00Z"]);
    assert_eq!((remarks.len(), &remarks[0]["cause"]), (2, &"usage".into()));
    assert_eq!(remarks[0]["until"], "2026-02-12T15:00:00Z");
    assert!(["healthy", "answered"].map(Into::into).contains(&remarks[1]["verdict"]), "{}", remarks[1]);
    let of = |format| {
        let at = ["--at", "2026-02-12T09:30:00Z", "--format", format];
        let output =
            baton(home.path(), &[&["classify", "--agent", "text", "remarks.jsonl"], &at[..]].concat());
        text(&output.stdout)
    };
    let all: serde_json::Value = serde_json::from_str(&of("json")).unwrap();
    assert_eq!((&all["record"], &all["classifications"][0]), (&"classifications".into(), &remarks[0]));
    let words = of("text");
    assert!(words.starts_with("quota: ") && words.contains("until 2026-02-12T15:00:00Z"), "{words}");
}

#[test]
fn words_that_people_try_lead_to_the_command() {
    let home = home();
    let of = |word: &str| {
        let output = baton(home.path(), &[word]);
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    for (word, command) in
        [("list", "runs"), ("ls", "runs"), ("history", "runs"), ("logs", "log"), ("transcript", "log")]
    {
        assert_eq!(of(word), of(command), "{word}");
    }
    assert!(of("log").2.contains("nothing has run") && of("log").2.contains("baton do"), "{:?}", of("log"));
    assert!(of("init").2.contains("found no task here"), "{:?}", of("init"));
}

#[test]
fn the_built_in_policy_is_shown_without_the_ids_of_requirements() {
    let home = home();
    let shown = text(&baton(home.path(), &["policy", "inspect"]).stdout);
    let is_id = |word: &str| {
        let mut letters = word.chars();
        let begins = letters.next().is_some_and(|first| first.is_ascii_uppercase());
        begins && (2..=3).contains(&word.len()) && letters.all(|letter| letter.is_ascii_digit())
    };
    let ids: Vec<&str> = shown.split(|c: char| !c.is_alphanumeric()).filter(|word| is_id(word)).collect();
    assert!(shown.contains("compact-percent") && ids.is_empty(), "{ids:?}\n{shown}");
}

#[test]
fn what_a_command_makes_or_prints_is_a_record_for_programs() {
    let home = home();
    workflow(home.path(), "");
    let json = |args: &[&str]| -> serde_json::Value {
        let output = baton(home.path(), &[args, &["--format", "json"]].concat());
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}"))
    };
    let keys = json(&["policy", "keygen", "acme"]);
    assert_eq!((&keys["record"], &keys["private"]), (&"policy-keygen".into(), &"acme.key".into()));
    let made = json(&["policy", "new", "my-split", "--decides", "splitting"]);
    assert_eq!(
        (&made["record"], &made["decides"]),
        (&"policy-new".into(), &serde_json::json!(["splitting"]))
    );
    let locked = json(&["policy", "lock", "w.toml"]);
    assert_eq!((&locked["record"], &locked["locks"][0]["components"]), (&"policy-lock".into(), &0.into()));
    let model = json(&["simulate", "model"]);
    assert_eq!(model["record"], "simulation-model");
    assert_eq!(model["model"]["context.window_tokens"], 200_000.0);
}

#[test]
fn check_says_which_agent_is_missing_and_that_the_workflow_is_sound() {
    let home = home();
    workflow(home.path(), "agent = \"acp:no-such-agent --acp\"");
    let output = baton(home.path(), &["check", "w.toml"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("w.toml is a workflow"));
    let said = text(&output.stderr);
    assert!(said.contains("phase a cannot start here") && said.contains("no-such-agent"), "{said}");
}

#[test]
fn what_changes_something_never_falls_upon_a_run_that_nobody_pointed_at() {
    let home = home();
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).unwrap();
    write("script.toml", "window_tokens = 100000\n[objectives.b]\nsteps = []\n");
    workflow(home.path(), "workspace = \"scratch\"\n[roles.executor]\nscript = \"script.toml\"");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let run = |args: &[&str]| {
        let binary = env!("CARGO_BIN_EXE_baton");
        let mut command = Command::new(binary);
        command.args(args).current_dir(home.path()).env_clear().env("HOME", home.path()).env("PATH", &path);
        command.output().expect("the binary starts")
    };
    let ran = run(&["run", "w.toml"]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    // What reads may look there; what changes something may not.
    let status: serde_json::Value =
        serde_json::from_slice(&run(&["status", "--format", "json"]).stdout).unwrap();
    let id = status["view"]["run"].as_str().unwrap();
    for args in [&["gc", "--keep", "0"][..], &["stop"], &["answer", "retry"], &["resume"]] {
        let refused = run(args);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("nothing has run in") && said.contains("--workspace DIR"), "{args:?}: {said}");
        assert!(said.contains("scratch/demo-1"), "{args:?}: {said}");
    }
    for args in [&["resume", id][..], &["answer", id, "retry"], &["stop", id]] {
        let found = run(args);
        assert!(
            text(&found.stderr).contains("scratch/demo-1") || text(&found.stderr).contains(id),
            "{args:?}"
        );
        assert!(!text(&found.stderr).contains("nothing has run"), "{args:?}: {}", text(&found.stderr));
    }
    assert_eq!(run(&["artifacts", "ls", id]).status.code(), Some(0));
    let gone = run(&["gc", "--run", id]);
    assert_eq!(gone.status.code(), Some(0), "{}", text(&gone.stderr));
    assert!(text(&gone.stdout).contains(id), "a run that is named is found: {}", text(&gone.stdout));
}

#[test]
fn a_policy_that_is_not_built_in_never_stands_in_for_the_one_that_is() {
    let home = home();
    std::fs::write(home.path().join("a"), "{\"text\": \"a\", \"channel\": \"terminal\"}\n").unwrap();
    let pinned = format!("builtin:resilience@sha256:{}", "0".repeat(64));
    for (policy, code, expected) in
        [("builtin:foo", 2, "builtin:foo is not a built-in policy"), (&pinned, 3, "has the digest sha256:")]
    {
        for args in [
            &["policy", "inspect", policy][..],
            &["handoff", "check", "a", "--policy", policy],
            &["classify", "--agent", "text", "a", "--policy", policy],
        ] {
            let output = baton(home.path(), args);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
            assert!(said.contains(expected), "{args:?}: {said}");
        }
    }
}

#[test]
fn check_says_which_folder_a_run_would_not_write_to() {
    let home = home();
    workflow(home.path(), "agent = \"rehearsal\"\n[paths]\nfolder = \"docs\"");
    assert_eq!(baton(home.path(), &["check", "w.toml"]).status.code(), Some(0));
    std::fs::create_dir(home.path().join("docs")).unwrap();
    std::fs::write(home.path().join("docs/README.md"), "Mine.").unwrap();
    for args in [&["check", "w.toml"][..], &["check", "w.toml", "--workspace", "."], &["run", "w.toml"]] {
        let output = baton(home.path(), args);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains("its folder docs holds files that are not Baton's"), "{args:?}: {said}");
    }
}

#[test]
fn a_server_that_ends_before_it_answers_is_a_failure() {
    let home = home();
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command
        .args(["mcp", "proxy", "--", "/bin/false"])
        .current_dir(home.path())
        .env_clear()
        .env("HOME", home.path());
    let output = command.stdin(std::process::Stdio::null()).output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("ended before it answered"), "{}", text(&output.stderr));
}
