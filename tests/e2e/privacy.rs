//! What a run leaves on disk: transcripts are private, hold no secret, and can still be judged; whole runs go.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::support::TestWorkspace;
use serde_json::Value;

/// Looks like a key of AWS; put together here, so that none lies in the repository.
fn key() -> String {
    ["AKIA", "Q3J7XWZ2LMNB4VTR"].concat()
}

fn files(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, found),
            path => found.push(path),
        }
    }
}

#[test]
fn transcripts_are_private_and_hold_no_secret() {
    // C7, C8
    let key = key();
    let steps = format!(
        r#"{{ write = "a.txt", content = "key {key}" }},
           {{ tool = {{ name = "attempt_record", arguments = {{ approach = "log in with {key}", outcome = "refused" }} }} }}"#
    );
    let stage = TestWorkspace::job(&[("a", &steps)], "");
    stage.baton(&["run", "job.toml"]).expect(0);
    assert!(stage.read("a.txt").contains(&key), "the agent's own file is its own");

    let sessions = stage.state().sessions();
    let mut logs = Vec::new();
    files(&sessions, &mut logs);
    let transcript = logs.iter().find(|path| path.ends_with("s1/stdout.jsonl")).expect("a transcript");
    let masked = fs::read_to_string(transcript).unwrap();
    assert!(masked.contains("[secret: aws-access-token]"), "{masked}");
    for path in &logs {
        assert!(!fs::read_to_string(path).unwrap_or_default().contains(&key), "{}", path.display());
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(path), mode(path.parent().unwrap())), (0o600, 0o700), "{}", path.display());
    }
    for line in masked.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    let judged =
        stage.baton(&["classify", "--agent", "acp", transcript.to_str().unwrap(), "--exit", "0"]).expect(0);
    assert!(judged.stdout.contains("\"verdict\""), "{}", judged.stdout);
    // Out of git, wherever the state directory lies.
    assert_eq!(fs::read_to_string(stage.state_root().join(".gitignore")).unwrap(), "*\n");

    // What is projected for people holds none either.
    let mut projected = Vec::new();
    files(&stage.workspace, &mut projected);
    projected.retain(|path| !path.ends_with("a.txt"));
    assert!(!projected.is_empty());
    for path in projected {
        assert!(!fs::read_to_string(&path).unwrap_or_default().contains(&key), "{}", path.display());
    }
}

#[test]
fn runs_go_as_a_whole_and_others_stay() {
    // C6
    let steps = r#"{ write = "a.txt", content = "a" },
        { tool = { name = "artifact_save", arguments = { name = "notes/a", content = "kept" } } }"#;
    let stage = TestWorkspace::job(&[("a", steps)], "");
    stage.baton(&["run", "job.toml"]).expect(0);
    stage.baton(&["run", "job.toml"]).expect(0);
    let runs = || {
        let listed = stage.baton(&["status", "--all", "--format", "json"]).expect(0);
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        let rows = listed["runs"].as_array().unwrap().clone();
        rows.iter().map(|row| row["run"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let both = runs();
    assert_eq!(both.len(), 2);
    let planned = stage.baton(&["gc", "--keep", "1", "--dry-run", "--format", "json"]).expect(0);
    let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
    assert_eq!(
        (&planned["runs"][0]["run"], planned["left"].as_u64()),
        (&Value::from(both[0].as_str()), Some(1))
    );
    assert!(planned["runs"][0]["journal_bytes"].as_u64().unwrap() > 0);
    assert_eq!(runs(), both, "a dry run removes nothing");
    stage.baton(&["gc", "--keep", "1"]).expect(0).says(&["1 run removed", "1 run left"]);
    assert_eq!(runs(), both[1..]);
    assert!(!stage.state().sessions().join(&both[0]).exists());
    let listed = stage.baton(&["artifacts", "ls"]).expect(0);
    assert!(listed.stdout.contains("notes/a@1") && listed.stdout.contains("archived"), "{}", listed.stdout);
    // The run that went had the same bytes.
    assert_eq!(
        stage.baton(&["artifacts", "cat", "notes/a", "--offset", "1", "--limit", "2"]).expect(0).stdout,
        "ep"
    );
    assert_eq!(planned["runs"][0]["removed"], false, "a dry run says what would go");
    stage.baton(&["gc"]).expect(2).says(&["--older-than", "--keep", "--run"]);
    stage.baton(&["gc", "--force"]).expect(2).says(&["--run"]);
    stage.baton(&["gc", "--keep", "0", "--force"]).expect(2).says(&["--force"]);
    let mistyped = stage.baton(&["artifacts", "show", "note/a"]).expect(2);
    let mistyped =
        mistyped.says(&["has no artifact \"note/a\"", "did you mean \"notes/a\"?", "baton artifacts ls"]);
    assert!(!mistyped.stderr.contains("state directory"), "{}", mistyped.stderr);
    stage.baton(&["gc", "--run", "nothing"]).expect(2);
}
