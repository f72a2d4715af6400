//! A recording becomes a run of the built binary: it is shown, tried on and never gone on with.

use std::path::Path;

use crate::support::{CommandOutput, TestWorkspace};
use serde_json::Value;

/// A recorded stream, put into the workspace.
fn recorded(stage: &TestWorkspace, name: &str) -> String {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/streams");
    let file = format!("{}.jsonl", name.replace('/', "-"));
    stage.write(&file, std::fs::read(fixtures.join(format!("{name}.jsonl"))).unwrap());
    file
}

fn json(ended: &CommandOutput) -> Value {
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn a_recording_is_a_run_that_can_be_looked_at_and_tried_on_and_not_resumed() {
    let stage = TestWorkspace::new();
    let file = recorded(&stage, "claude/rate-limit-429-forever");
    let made = json(&stage.baton(&["import", &file, "--exit", "1", "--format", "json"]).expect(0));
    let import = &made["imports"][0];
    assert_eq!(
        (&made["schema"], &made["record"], &import["already"]),
        (&1.into(), &"imports".into(), &false.into())
    );
    let report = &import["report"];
    assert_eq!(
        (&report["imported"]["format"], &report["verdicts"][0]["verdict"]),
        (&"claude".into(), &"quota".into())
    );
    let run = import["run"].as_str().unwrap().to_owned();

    let again = stage.baton(&["import", &file, "--exit", "1"]).expect(0);
    assert_eq!(again.stdout, format!("{file} is already imported as {run}\n"));

    let status = stage.baton(&["status", &run]).expect(0).stdout;
    assert!(status.contains(&format!("Imported from {file} (claude, sha256:")), "{status}");
    assert!(!status.contains("baton resume"), "{status}");
    stage.baton(&["resume", &run]).expect(2).says(&[&run, "is an imported recording"]);

    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let place = ["--workspace", &workspace, "--state-dir", &state];
    let try_it = ["policy", "try", "builtin:resilience", "--on", &run, "--format", "json"];
    let tried = stage.baton(&[try_it.as_slice(), &place].concat()).expect(0);
    assert!(json(&tried)["functions"].as_array().unwrap().len() >= 3, "{}", tried.stdout);
}

#[test]
fn a_recording_never_becomes_the_newest_run_of_a_project() {
    let steps =
        r#"{ write = "a.txt", content = "done" }, { say = "a.txt is written, as it was asked for." }"#;
    let stage = TestWorkspace::job(&[("a", steps)], "");
    stage.baton(&["run", "job.toml"]).expect(0);
    let run = stage.story().view.run.to_string();
    let file = recorded(&stage, "codex/success");
    stage.baton(&["import", &file]).expect(0);
    for look in ["status", "report", "log"] {
        let shown = stage.baton(&[look]).expect(0).stdout;
        assert!(!shown.contains("import-"), "{look}: {shown}");
    }
    let status = stage.baton(&["status"]).expect(0).stdout;
    assert!(status.contains(&run), "{status}");
}

#[test]
fn nothing_is_kept_of_several_where_one_is_broken() {
    let stage = TestWorkspace::new();
    let good = recorded(&stage, "codex/success");
    stage.write("mine.jsonl", "{\"turn\":1,\"text\":\"one\"}\n{\"turn\":2,\"colour\":\"red\"}\n");
    let refused = stage.baton(&["import", &good, "mine.jsonl"]).expect(2);
    let refused = refused.says(&["mine.jsonl:2:", "`colour`", "nothing was imported"]);
    assert_eq!(refused.stdout, "");
    stage.baton(&["status"]).expect(2);
    stage.baton(&["import", "absent.jsonl"]).expect(2).says(&["cannot read absent.jsonl"]);
    stage.baton(&["import", &good, "--as", "codx"]).expect(2).says(&["codex-exec", "turns"]);
    stage.baton(&["import", &good, "--as", "codex"]).expect(0);
}

#[test]
fn a_log_of_turns_is_described_by_its_schema_and_sessions_are_joined() {
    let stage = TestWorkspace::new();
    let schema = json(&stage.baton(&["import", "--schema"]).expect(0));
    assert_eq!(schema["additionalProperties"], false);
    let line = "{\"turn\":1,\"text\":\"I have done what was asked, and all of it works on this machine.\",\"used_tokens\":900,";
    stage.write("one.jsonl", format!("{line}\"stop\":\"end_turn\",\"exit\":0}}\n"));
    stage.write("two.jsonl", format!("{line}\"stop\":\"end_turn\"}}\n"));
    let apart = json(&stage.baton(&["import", "one.jsonl", "two.jsonl", "--format", "json"]).expect(0));
    assert_eq!(apart["imports"].as_array().unwrap().len(), 2);
    let joined = stage.baton(&["import", "--join", "one.jsonl", "two.jsonl", "--format", "jsonl"]).expect(0);
    let joined = json(&joined);
    assert_eq!((&joined["report"]["sessions"], &joined["report"]["prompts"]), (&2.into(), &2.into()));
}
