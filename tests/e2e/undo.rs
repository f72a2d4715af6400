//! `baton undo` on a run whose phase was split in a real repository: looked at, taken back, and not twice.

use std::process::Command;

use crate::support::{CommandOutput, TestWorkspace};
use serde_json::Value;

/// One phase that is too large, so that each of its objectives gets a work tree.
const WORKFLOW: &str = r#"
name = "parts"
goal = "Two files."
review_parts = false
[roles.executor]
script = "script.toml"
[policies]
settings = { max-objectives = 1 }
[[phases]]
id = "20"
split = "ahead"
[[phases.objectives]]
id = "a"
description = "Write a.txt."
files = ["a.txt"]
[[phases.objectives]]
id = "b"
description = "Write b.txt."
files = ["b.txt"]
"#;

const SCRIPT: &str = r#"
window_tokens = 100000
[objectives.a]
steps = [{ write = "a.txt", lines = ["a"] }]
[objectives.b]
steps = [{ write = "b.txt", lines = ["b"] }]
"#;

/// A repository with one commit, and a run in it that has landed.
fn landed() -> TestWorkspace {
    let stage = TestWorkspace::new();
    stage.write("parts.toml", WORKFLOW);
    stage.write("script.toml", SCRIPT);
    git(&stage, &["init", "-q", "-b", "main"]);
    std::fs::write(stage.workspace.join("mine.txt"), "mine\n").unwrap();
    git(&stage, &["add", "-A"]);
    git(&stage, &["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "first"]);
    stage.baton(&["run", "parts.toml", "--plain"]).expect(0);
    assert_eq!((stage.read("a.txt"), stage.read("b.txt")), ("a\n".to_owned(), "b\n".to_owned()));
    assert_eq!(
        git(&stage, &["status", "--porcelain"]),
        "",
        "what landed is committed, and Baton's own is hidden"
    );
    stage
}

fn git(stage: &TestWorkspace, arguments: &[&str]) -> String {
    let ended: CommandOutput =
        Command::new("git").args(arguments).current_dir(&stage.workspace).output().unwrap().into();
    ended.expect(0).stdout.trim_end().to_owned()
}

// D3
#[test]
fn a_run_is_taken_back_once_and_only_looked_at_before() {
    let stage = landed();
    let head = git(&stage, &["rev-parse", "HEAD"]);
    let looked = stage.baton(&["undo", "--dry-run"]).expect(0).says(&["would be undone", "would move back"]);
    assert_eq!(looked.stdout, "removed   a.txt\nremoved   b.txt\n");
    assert_eq!(git(&stage, &["rev-parse", "HEAD"]), head);
    let record = stage.baton(&["undo", "--format", "json"]).expect(0).stdout;
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!((&record["schema"], &record["outcome"]), (&1.into(), &"undone".into()));
    assert_eq!(record["branch"]["from"], head);
    assert_eq!(git(&stage, &["rev-list", "--count", "HEAD"]), "1");
    assert!(!stage.workspace.join("a.txt").exists());
    assert_eq!(git(&stage, &["status", "--porcelain"]), "");
    let report = stage.baton(&["report"]).expect(0).stdout;
    assert!(report.contains("`baton undo` reverted") && !report.contains("baton undo 2"), "{report}");
    let kept = record["kept"].as_str().unwrap();
    git(&stage, &["restore", &format!("--source={kept}"), "--", ":/"]);
    assert_eq!(stage.read("a.txt"), "a\n", "the previous state is kept");
    stage.baton(&["undo"]).expect(0).says(&["nothing to undo"]);
}

// D3
#[test]
fn what_was_changed_since_is_named_and_stays() {
    let stage = landed();
    std::fs::write(stage.workspace.join("a.txt"), "mine now\n").unwrap();
    let refused = stage.baton(&["undo"]).expect(1).says(&["nothing was changed"]);
    assert_eq!(refused.stdout, "changed   a.txt\n");
    assert_eq!(stage.read("a.txt"), "mine now\n");
    assert_eq!(stage.read("b.txt"), "b\n");
}

// D3
#[test]
fn nobody_takes_back_what_a_host_works_on() {
    let stage = landed();
    let state = stage.state();
    let lock = state.lock().unwrap();
    stage.baton(&["undo"]).expect(2).says(&["another baton"]);
    drop(lock);
    stage.baton(&["undo", "no-such-run"]).expect(2).says(&["no run no-such-run"]);
    stage.baton(&["undo"]).expect(0).says(&["is undone"]);
}
