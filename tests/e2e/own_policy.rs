//! The ten minutes from nothing to a policy of one's own that decides in a live run, from an empty folder. Where no compiler
//! here makes WebAssembly, it ends with the native tests.

mod support;

use std::path::Path;
use std::process::Command;

use baton_runtime::core::view::Origin;
use support::{Ended, Stage};

/// Cargo in the new crate, with the crates that this workspace was built with.
fn cargo(folder: &Path, args: &[&str]) -> String {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    std::fs::copy(lock, folder.join("Cargo.lock")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(args)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.with_file_name("target"))
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo {args:?}\n{said}");
    said
}

/// `baton policy build`, with the compilers and crates of whoever runs the tests.
fn build(stage: &Stage) -> Ended {
    let home = std::env::home_dir().unwrap();
    let known = |name: &str, folder: &str| std::env::var_os(name).unwrap_or_else(|| home.join(folder).into());
    let mut command = stage.command(&["policy", "build", "my-split"]);
    command
        .env("CARGO_HOME", known("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", known("RUSTUP_HOME", ".rustup"));
    command.env("CARGO_NET_OFFLINE", "true").output().unwrap().into()
}

/// `baton policy try` where the stage keeps its runs.
fn attempt(stage: &Stage, arguments: &[&str]) -> String {
    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let place = ["--workspace", &workspace, "--state-dir", &state];
    stage.baton(&[["policy", "try"].as_slice(), arguments, &place].concat()).expect(0).stdout
}

/// Whether a component can be built here; on a machine that is meant to, it has to be.
fn builds_components(stage: &Stage) -> bool {
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
    let stage = Stage::example("split");
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
    let parts = story.view.phases.iter().filter(|phase| phase.origin == Origin::Split);
    let parts: Vec<usize> = parts.map(|phase| phase.objectives.len()).collect();
    assert_eq!(parts, [4, 2], "six objectives, and the policy leaves four together");

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
    assert!(checked.contains("asks for   artifacts reports/*, 40000000 fuel, 128 MiB"), "{checked}");
    stage.baton(&[check.as_slice(), &["--update"]].concat()).expect(0);
    stage.baton(&check).expect(0);
}

#[test]
fn the_binary_alone_brings_all_that_a_policy_needs() {
    let stage = Stage::new();
    // As it is installed: a file somewhere, and no repository beside it.
    let installed = stage.path("baton");
    std::fs::copy(env!("CARGO_BIN_EXE_baton"), &installed).unwrap();
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

    // Each decision on its own.
    for decides in ["exhaustion", "compaction", "splitting", "handoff"] {
        let name = format!("only-{decides}");
        new(&[&name, "--decides", decides]);
        let folder = stage.path(&name);
        cargo(&folder, &["fmt", "--check"]);
        cargo(&folder, &["test", "--offline", "--no-run"]);
    }
    // A folder that has something in it is left alone.
    stage.baton(&["policy", "new", "my-all"]).expect(2).says(&["is there already"]);
}
