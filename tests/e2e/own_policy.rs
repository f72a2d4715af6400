//! The ten minutes from nothing to a policy of one's own that decides in a live run, from an empty folder. Where no compiler
//! here makes WebAssembly, it ends with the native tests.

use std::path::Path;
use std::process::Command;

use crate::support::{CommandOutput, TestWorkspace};
use baton_runtime::core::view::PhaseOrigin;

/// Enough to meet every kind of question: the policy that is extended has tests of its own.
const FEW_CASES: (&str, &str) = ("PROPTEST_CASES", "24");

/// One phase of two objectives. The first session says in the words of a setting that its context is used up.
const EXTENDED: &str = r#"
name = "extended"
goal = "Write two files."

[policies.all]
component = "my-split/my-split.wasm"
settings = { house-rules = ["Say so in the changelog."], house-exhausted-phrases = ["no memory left"], warn-percent = 60 }

[roles.executor]
script = "script.toml"

[[phases]]
id = "20"
title = "Two files"
objectives = [
  { id = "a", description = "Write a.txt", files = ["a.txt"] },
  { id = "b", description = "Write b.txt", files = ["b.txt"] },
]
"#;

/// What the agent does there.
const SCRIPT: &str = r#"
window_tokens = 100000
[objectives.a]
steps = [
  { stop = "No memory left, the rest is open.", session = "first" },
  { write = "a.txt", content = "done", tokens = 100 },
]
[objectives.b]
steps = [{ write = "b.txt", content = "done", tokens = 100 }]
"#;

/// Cargo in the new crate, with the crates that this workspace was built with.
fn cargo(folder: &Path, args: &[&str]) -> String {
    cargo_with(folder, args, &[])
}

/// The same, with these variables.
fn cargo_with(folder: &Path, args: &[&str], variables: &[(&str, &str)]) -> String {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    std::fs::copy(lock, folder.join("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(args)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.with_file_name("target"))
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {args:?}\n{said}");
    said
}

/// `baton policy build`, with the compilers and crates of whoever runs the tests.
fn build(stage: &TestWorkspace) -> CommandOutput {
    let home = std::env::home_dir().unwrap();
    let known = |name: &str, folder: &str| std::env::var_os(name).unwrap_or_else(|| home.join(folder).into());
    let mut command = stage.command(&["policy", "build", "my-split"]);
    command
        .env("CARGO_HOME", known("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", known("RUSTUP_HOME", ".rustup"));
    command.env("CARGO_NET_OFFLINE", "true").output().unwrap().into()
}

/// `baton policy try` where the stage keeps its runs.
fn attempt(stage: &TestWorkspace, arguments: &[&str]) -> String {
    on_runs(stage, &[["policy", "try"].as_slice(), arguments].concat())
}

/// A command that looks at runs, where the stage keeps them.
fn on_runs(stage: &TestWorkspace, arguments: &[&str]) -> String {
    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let place = ["--workspace", &workspace, "--state-dir", &state];
    stage.baton(&[arguments, &place].concat()).expect(0).stdout
}

/// Whether a component can be built here; on a machine that is meant to, it has to be.
fn builds_components(stage: &TestWorkspace) -> bool {
    let Err(error) = baton_build::Toolchain::find() else { return true };
    assert!(std::env::var_os("BATON_TEST_WASM").is_none(), "{error}");
    build(stage).expect(1).says(&["rustup target add"]);
    eprintln!("not built: {error}");
    false
}

/// The project's own SDK, by path.
fn sdk() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk").display().to_string()
}

#[test]
fn from_an_empty_folder_to_a_policy_that_decides() {
    // M3 M4
    let stage = TestWorkspace::example("split");
    let workflow = std::fs::read_to_string(stage.path("split.toml")).unwrap();
    let built_in = workflow.lines().find(|line| line.starts_with("settings = ")).unwrap();
    stage.write("split.toml", workflow.replace(built_in, "splitting = \"my-split/my-split.wasm\""));
    stage
        .baton(&["policy", "new", "my-split", "--decides", "splitting", "--sdk", &sdk()])
        .expect(0)
        .says(&["cargo test"]);
    let folder = stage.path("my-split");
    assert!(!folder.join("sdk").exists() && !folder.join("wit").exists());
    cargo(&folder, &["fmt", "--check"]);
    cargo(&folder, &["test", "--offline"]);

    if !builds_components(&stage) {
        extend_in_the_same_place(&stage);
        return;
    }
    build(&stage).expect(0);
    let component = "my-split/my-split.wasm";
    let check = ["policy", "check", component, "--questions", "300", "--golden", "my-split/golden"];
    let checked = stage.baton(&check).expect(0).stdout;
    assert!(checked.contains("golden     1 of 1 stand in my-split/golden"), "{checked}");
    assert!(!checked.contains("must be granted"), "{checked}");
    stage.baton(&["run", "split.toml"]).expect(0);
    let story = stage.story();
    let parts = story.view.phases.iter().filter(|phase| phase.origin == PhaseOrigin::Split);
    let parts: Vec<usize> = parts.map(|phase| phase.objectives.len()).collect();
    assert_eq!(parts, [3, 3], "six objectives, and the policy leaves at most four together");

    // On the newest run, which it decided itself, and on one of its golden questions beside the built-in policy.
    let tried = attempt(&stage, &[component]);
    assert!(tried.contains("splitting"), "{tried}");
    let golden = "my-split/golden/splitting-six-objectives.json";
    let tried = attempt(&stage, &[component, "--on", golden]);
    assert!(tried.contains("2 parts"), "{tried}");

    // Another threshold in the source: the golden decision no longer stands, natively and in the component.
    let source = folder.join("src/splitting.rs");
    let changed = std::fs::read_to_string(&source).unwrap().replacen("        4,\n", "        3,\n", 1);
    std::fs::write(&source, changed).unwrap();
    // And it asks for more than every policy has: first with a slip of the pen.
    let manifest = folder.join("Cargo.toml");
    let said = std::fs::read_to_string(&manifest).unwrap();
    let asks = said.replace("# [package.metadata.baton]\n# wants", "[package.metadata.baton]\nwants");
    std::fs::write(&manifest, asks.replace("fuel =", "feul =")).unwrap();
    build(&stage).expect(1).says(&["package.metadata.baton: unknown field `feul`"]);
    std::fs::write(&manifest, asks).unwrap();
    build(&stage).expect(0);
    let checked = stage.baton(&check).expect(3).stdout;
    assert!(checked.starts_with("not fit to decide: 1 of 1 golden decisions does not stand"), "{checked}");
    assert!(checked.contains("decision.answer.reason was"), "{checked}");
    assert!(checked.contains("asks for   artifacts reports/*, 80000000 fuel, 128 MiB"), "{checked}");
    stage.baton(&[check.as_slice(), &["--update"]].concat()).expect(0);
    stage.baton(&check).expect(0);

    extend_in_the_same_place(&stage);
    build(&stage).expect(0);
    let checked = stage.baton(&check).expect(0).stdout;
    assert!(checked.starts_with("fit to decide: exhaustion, prompting\n"), "{checked}");
    assert!(checked.contains("golden     2 of 2 stand in my-split/golden"), "{checked}");
    let exports = checked.lines().find(|line| line.starts_with("exports ")).unwrap();
    assert_eq!(exports.matches("baton:policy/").count(), 3, "its own, and nothing of the library: {exports}");
    stage.write("extended.toml", EXTENDED);
    stage.write("script.toml", SCRIPT);
    let ran = stage.baton(&["run", "extended.toml"]).expect(0);
    assert!(ran.stdout.contains("my-split (exhaustion+prompting), resilience"), "{}", ran.stdout);
    ran.says(&["the context is used up, says the agent: No memory left, the rest is open."]);
    let story = stage.story();
    assert_eq!(story.done().len(), 2, "{:?}", story.done());
    assert_eq!(story.prompts.len(), 3, "the second session goes on: {:?}", story.prompts);
    let verified = on_runs(&stage, &["replay", "--verify"]);
    assert!(verified.contains("replays exactly"), "{verified}");
    let beside = on_runs(&stage, &["replay", "--policy", "builtin:resilience"]);
    assert!(beside.contains("would have decided 1 of 1 prompting question differently"), "{beside}");
}

/// A crate that extends the built-in policy, tested, at the path of the one before: the standard library, which the build
/// compiles for this path, and the SDK are there already.
fn extend_in_the_same_place(stage: &TestWorkspace) {
    let (folder, kept) = (stage.path("my-split"), stage.path("kept"));
    let built = folder.join("target");
    if built.exists() {
        std::fs::rename(&built, &kept).unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
    let new = ["policy", "new", "my-split", "--extends", "resilience", "--decides", "prompting,exhaustion"];
    stage
        .baton(&[new.as_slice(), &["--sdk", &sdk()]].concat())
        .expect(0)
        .says(&["extends resilience and decides exhaustion and prompting"]);
    if kept.exists() {
        std::fs::rename(&kept, &built).unwrap();
    }
    assert!(folder.join("resilience/src/lib.rs").is_file() && !folder.join("sdk").exists());
    cargo_with(&folder, &["test", "--offline"], &[FEW_CASES]);
}

#[test]
fn the_binary_alone_brings_all_that_a_policy_needs() {
    let stage = TestWorkspace::new();
    // As it is installed: a file somewhere, and no repository beside it.
    let installed = stage.copy_of_baton("baton");
    let new = |arguments: &[&str]| {
        let mut command = Command::new(&installed);
        command.current_dir(stage.path("")).env_clear().args(["policy", "new"]).args(arguments);
        assert!(command.status().unwrap().success());
    };
    new(&["my-all"]);
    let folder = stage.path("my-all");
    for brought in
        ["sdk/src/lib.rs", "wit/worlds.wit", "golden/handoff-document.json", ".gitignore", "README.md"]
    {
        assert!(folder.join(brought).is_file(), "{brought}");
    }
    cargo(&folder, &["fmt", "--check"]);
    cargo(&folder, &["test", "--offline"]);

    // On the built-in policy. Its golden decisions follow those of resilience, so they are written in the template as well.
    new(&["my-house", "--extends", "resilience"]);
    let folder = stage.path("my-house");
    cargo(&folder, &["fmt", "--check"]);
    cargo_with(&folder, &["test", "--offline"], &[FEW_CASES]);
    if std::env::var_os("BATON_UPDATE_GOLDEN").is_some_and(|update| !update.is_empty() && update != "0") {
        let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/templates/extends/golden");
        for file in std::fs::read_dir(folder.join("golden")).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), template.join(file.file_name())).unwrap();
        }
    }

    // Each decision on its own, with the SDK that is built already.
    let brought = stage.path("my-all/sdk").display().to_string();
    for decides in ["exhaustion", "compaction", "splitting", "handoff"] {
        let name = format!("only-{decides}");
        new(&[&name, "--decides", decides, "--sdk", &brought]);
        let folder = stage.path(&name);
        cargo(&folder, &["fmt", "--check"]);
        cargo(&folder, &["test", "--offline", "--no-run"]);
    }
    // So is each extension.
    for decides in ["compaction", "review"] {
        let name = format!("house-{decides}");
        new(&[&name, "--extends", "resilience", "--decides", decides, "--sdk", &brought]);
        cargo(&stage.path(&name), &["fmt", "--check"]);
    }
    // A folder that has something in it is left alone.
    stage.baton(&["policy", "new", "my-all"]).expect(2).says(&["exists already"]);
    // What cannot be extended, and in which language not.
    let other = ["policy", "new", "other", "--extends"];
    let refused = |arguments: &[&str]| stage.baton(&[other.as_slice(), arguments].concat()).expect(2);
    refused(&["torch"]).says(&["--extends torch", "write --extends resilience"]);
    refused(&["resilience", "--language", "js"]).says(&["works with --language rust only"]);
    assert!(!stage.path("other").exists());
}
