//! The ten minutes from nothing to a policy of one's own that decides in a live run, from an empty folder. Where no compiler
//! here makes WebAssembly, it ends with the native tests.

mod support;

use std::path::Path;
use std::process::Command;

use support::Stage;

/// One phase with more objectives than the template's policy leaves together.
const WORKFLOW: &str = r#"
name = "own"
goal = "Write six files."

[policies]
splitting = "my-split/my-split.wasm"

[roles.executor]
agent = "rehearsal"

[[phases]]
id = "20"
title = "Many files"
objectives = [
  { id = "a", description = "Write a.txt", files = ["a.txt"] },
  { id = "b", description = "Write b.txt", files = ["b.txt"] },
  { id = "c", description = "Write c.txt", files = ["c.txt"] },
  { id = "d", description = "Write d.txt", files = ["d.txt"] },
  { id = "e", description = "Write e.txt", files = ["e.txt"] },
  { id = "f", description = "Write f.txt", files = ["f.txt"] },
]
"#;

/// Cargo in the new crate, with the crates that this workspace was built with.
fn cargo(folder: &Path, args: &[&str]) {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    std::fs::copy(lock, folder.join("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(args)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("own-policy"))
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {args:?}\n{said}");
}

#[test]
fn from_an_empty_folder_to_a_policy_that_decides() {
    // M3 M4
    let stage = Stage::new();
    stage.write("own.toml", WORKFLOW);
    stage.baton(&["policy", "new", "my-split", "--decides", "splitting"]).expect(0).says(&["cargo test"]);
    let folder = stage.workspace.join("my-split");
    cargo(&folder, &["fmt", "--check"]);
    cargo(&folder, &["test", "--offline"]);

    if let Err(error) = baton_build::Toolchain::find() {
        assert!(std::env::var_os("BATON_TEST_WASM").is_none(), "{error}");
        stage.baton(&["policy", "build", "my-split"]).expect(1).says(&["rustup target add"]);
        eprintln!("not built: {error}");
        return;
    }
    stage.baton(&["policy", "build", "my-split"]).expect(0);
    stage.baton(&["policy", "check", "my-split/my-split.wasm", "--questions", "300"]).expect(0);
    stage.baton(&["run", "own.toml"]).expect(0);
    let story = stage.story();
    let parts: Vec<usize> = story
        .view
        .phases
        .iter()
        .filter(|phase| phase.parent.as_ref().is_some_and(|parent| parent.as_str() == "20"))
        .map(|phase| phase.objectives.len())
        .collect();
    assert_eq!(parts[..2], [4, 2], "{parts:?}");
    assert_eq!(story.done().len(), 6);
    let tried = stage.baton(&["policy", "try", "my-split/my-split.wasm", "--on", "latest"]).expect(0);
    assert!(tried.stdout.contains("splitting"), "{}", tried.stdout);
}

#[test]
fn every_decision_comes_with_tests_that_pass() {
    let stage = Stage::new();
    stage.baton(&["policy", "new", "my-all"]).expect(0);
    let folder = stage.workspace.join("my-all");
    cargo(&folder, &["fmt", "--check"]);
    cargo(&folder, &["test", "--offline"]);
    // A folder that has something in it is left alone.
    stage.baton(&["policy", "new", "my-all"]).expect(2).says(&["is there already"]);
    // The project's own SDK, by path.
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk");
    stage
        .baton(&["policy", "new", "by-path", "--decides", "compaction", "--sdk", sdk.to_str().unwrap()])
        .expect(0);
    assert!(!stage.workspace.join("by-path/sdk").exists());
    cargo(&stage.workspace.join("by-path"), &["test", "--offline"]);
}
