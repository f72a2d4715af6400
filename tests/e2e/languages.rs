//! Policies in JavaScript, Python and C: the templates and the reference policies are built by the real tools, tested natively,
//! checked, held to their golden decisions, and one of each decides in a live run.
//!
//! A language whose variable names nothing is skipped with a word: `BATON_TEST_COMPONENTIZE_JS` names a `node_modules` folder with
//! `@bytecodealliance/componentize-js` in it, `BATON_TEST_COMPONENTIZE_PY` an executable `componentize-py`, `BATON_TEST_CLANG` a
//! `clang` that builds for WebAssembly. `.ci/run` installs all three and sets them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::TestWorkspace;

/// One phase with more objectives than the policies leave together, and room for what an interpreter takes.
const WORKFLOW: &str = r#"
name = "own"
goal = "Write six files."

[policies]
splitting = { component = "my-split/my-split.wasm", grants = { fuel = 200000000 } }

[roles.executor]
script = "script.toml"

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

/// What the templates of interpreted languages ask for.
const FUEL: &str = "200000000";

/// Enough to meet the empty lists of a question, of which one is at number 226.
const EVERY_SHAPE: &str = "448";

/// Enough to meet every function with every size; `baton policy check` by itself asks ten thousand.
const FEW: &str = "56";

/// A language with what builds its components.
struct LanguageToolchain {
    /// As `baton policy new` has it.
    name: &'static str,
    /// The reference policy that is written in it, if there is one.
    reference: Option<&'static str>,
    /// What runs its native tests, one command after the other.
    tests: &'static [&'static [&'static str]],
    tool: PathBuf,
}

impl LanguageToolchain {
    /// With the tool that a variable names; nothing, and a word, where it names none.
    fn of(name: &'static str) -> Option<Self> {
        let (variable, reference, tests): (_, _, &[&[&str]]) = match name {
            "js" => (
                "BATON_TEST_COMPONENTIZE_JS",
                Some("shortstop"),
                &[&["node", "--import", "./tests/register.mjs", "--test"]],
            ),
            "python" => (
                "BATON_TEST_COMPONENTIZE_PY",
                Some("by-folder"),
                &[&["python3", "build.py", "bindings"], &["python3", "-m", "unittest"]],
            ),
            _ => ("BATON_TEST_CLANG", None, &[&["make", "test"]]),
        };
        let tool = std::env::var_os(variable).filter(|tool| !tool.is_empty()).map(PathBuf::from);
        let Some(tool) = tool else {
            eprintln!("skipped: {variable} names nothing that builds components from {name}");
            return None;
        };
        assert!(tool.exists(), "{variable} names {}, which is not there", tool.display());
        Some(Self { name, reference, tests, tool })
    }

    /// Puts the tool where the build script of a folder looks for it.
    fn install(&self, folder: &Path) {
        if self.name == "js" {
            std::os::unix::fs::symlink(&self.tool, folder.join("node_modules")).unwrap();
        }
    }

    /// The path with the tool on it.
    fn path(&self) -> OsString {
        let own = self.tool.parent().map(Path::to_owned).into_iter();
        let known = std::env::var_os("PATH").unwrap_or_default();
        std::env::join_paths(own.chain(std::env::split_paths(&known))).unwrap()
    }

    fn test(&self, folder: &Path) {
        for command in self.tests {
            let output = Command::new(command[0])
                .args(&command[1..])
                .current_dir(folder)
                .env("PATH", self.path())
                .env("BATON", env!("CARGO_BIN_EXE_baton"))
                .output()
                .unwrap();
            let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
            assert!(output.status.success(), "{command:?} in {}\n{}", folder.display(), said.concat());
        }
    }

    /// Builds the component of a folder on the stage.
    fn build(&self, stage: &TestWorkspace, folder: &str) {
        let build = stage.command(&["policy", "build", folder]).env("PATH", self.path()).output().unwrap();
        crate::support::CommandOutput::from(build).expect(0);
    }

    /// Builds the policy of a folder on the stage, and checks it with its golden decisions.
    fn build_and_check(&self, stage: &TestWorkspace, folder: &str, name: &str) {
        self.build_and_hold(stage, folder, name, &format!("{folder}/golden"));
    }

    /// The same with golden decisions that lie elsewhere.
    fn build_and_hold(&self, stage: &TestWorkspace, folder: &str, name: &str, golden: &str) {
        self.install(&stage.path(folder));
        self.test(&stage.path(folder));
        self.build(stage, folder);
        let component = format!("{folder}/{name}.wasm");
        let check = ["policy", "check", &component, "--questions", FEW, "--golden", golden];
        let checked = checked(stage, &check);
        assert!(checked.starts_with("fit to decide: "), "{checked}");
        let files = std::fs::read_dir(stage.path(golden)).unwrap().count();
        assert!(files > 0 && checked.contains(&format!("{files} of {files} stand")), "{checked}");
    }
}

/// What `baton policy check` prints. It keeps what it compiles where the runs of all stages find it: an interpreter takes long.
fn checked(stage: &TestWorkspace, check: &[&str]) -> String {
    let output = stage.command(check).env("XDG_STATE_HOME", stage.state_home()).output().unwrap();
    crate::support::CommandOutput::from(output).expect(0).stdout
}

// M4
fn everything_is_built_and_fit(name: &'static str) {
    let Some(language) = LanguageToolchain::of(name) else { return };
    let stage = TestWorkspace::new();
    stage.baton(&["policy", "new", "my-all", "--language", language.name]).expect(0).says(&["policy build"]);
    language.build_and_check(&stage, "my-all", "my-all");
}

// M3 M4
fn one_decision_decides_in_a_run(name: &'static str) {
    let Some(language) = LanguageToolchain::of(name) else { return };
    let stage = TestWorkspace::new();
    let new = ["policy", "new", "my-split", "--decides", "splitting", "--language", language.name];
    stage.baton(&new).expect(0);
    language.build_and_check(&stage, "my-split", "my-split");

    stage.write("own.toml", WORKFLOW);
    let step = |id: &str| {
        format!("[objectives.{id}]\nsteps = [{{ write = \"{id}.txt\", content = \"done\", tokens = 100 }}]\n")
    };
    // The parts share a folder, so somebody makes one result of theirs.
    let script: String = ["a", "b", "c", "d", "e", "f", "merge-20-results"].map(step).concat();
    let review = "[objectives.\"review-*\"]\nsteps = [{ review = { score = 90, summary = \"there\" } }]\n";
    stage.write("script.toml", format!("window_tokens = 100000\n{script}{review}"));
    stage.baton(&["run", "own.toml"]).expect(0);
    let story = stage.story();
    let parts = story.view.phases.iter().filter(|phase| phase.parent.is_some()).count();
    assert!(parts >= 2, "{parts}");
    assert!(story.done().len() >= 6, "{:?}", story.done());

    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let tried = ["policy", "try", "my-split/my-split.wasm", "--workspace", &workspace, "--state-dir", &state];
    let tried = stage.baton(&tried).expect(0).stdout;
    assert!(tried.contains("splitting"), "{tried}");
}

/// What the chapter on layers of a language's page says.
struct DocumentedLayer {
    file: String,
    code: String,
    /// Units of fuel that it is to ask for, where the page says so.
    fuel: Option<String>,
}

fn layer_of_the_page(name: &str) -> DocumentedLayer {
    let name = if name == "js" { "javascript" } else { name };
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/policy-{name}.md"));
    let page = std::fs::read_to_string(page).unwrap();
    let (_, chapter) = page.split_once("## 4. A layer").expect("a chapter on layers");
    let (chapter, _) = chapter.split_once("## 5.").expect("another chapter");
    let mut parts = chapter.splitn(3, "```");
    let (before, code, after) =
        (parts.next().unwrap(), parts.next().expect("a layer"), parts.next().expect("its end"));
    let file = before.split('`').find(|word| word.starts_with("decisions/")).expect("the file of the layer");
    let (_, code) = code.split_once('\n').expect("lines");
    let fuel = after.split('`').find_map(|word| word.strip_prefix("\"fuel\": "));
    DocumentedLayer { file: file.to_owned(), code: code.to_owned(), fuel: fuel.map(str::to_owned) }
}

// M4, M6: the layer of each language's page, as it is printed, is fit to decide; its import is the next policy, and the run is replayed
// exactly.
fn a_layer_asks_the_next_policy(name: &'static str) {
    let Some(language) = LanguageToolchain::of(name) else { return };
    let stage = TestWorkspace::new();
    let new = ["policy", "new", "my-layer", "--decides", "prompting", "--language", language.name];
    stage.baton(&new).expect(0);
    let layer = layer_of_the_page(name);
    stage.write(&format!("my-layer/{}", layer.file), layer.code);
    let fuel = layer.fuel.unwrap_or_else(|| FUEL.to_owned());
    if fuel != FUEL {
        let package = std::fs::read_to_string(stage.path("my-layer/package.json")).unwrap();
        stage.write("my-layer/package.json", package.replace(FUEL, &fuel));
    }
    let world = std::fs::read_to_string(stage.path("my-layer/world.wit")).unwrap();
    let export = "export baton:policy/prompting@0.1.0;";
    let import = "import baton:policy/prompting@0.1.0;";
    stage.write("my-layer/world.wit", world.replace(export, &format!("{import}\n    {export}")));
    language.install(&stage.path("my-layer"));
    language.build(&stage, "my-layer");
    let questions = if name == "c" { EVERY_SHAPE } else { FEW };
    let check = ["policy", "check", "my-layer/my-layer.wasm", "--questions", questions];
    let checked = checked(&stage, &check);
    assert!(checked.starts_with("fit to decide: prompting"), "{checked}");

    let layer = format!(
        "{{ layer = \"my-layer/my-layer.wasm\", over = \"builtin:resilience\", grants = {{ fuel = {fuel} }} }}"
    );
    stage.write(
        "own.toml",
        format!(
            "name = \"own\"\ngoal = \"Write a file.\"\n[policies]\nprompting = {layer}\n[roles.executor]\nscript = \"script.toml\"\n\
             [[phases]]\nid = \"one\"\nobjectives = [{{ id = \"a\", description = \"Write a.txt\", files = [\"a.txt\"] }}]\n"
        ),
    );
    stage.write(
        "script.toml",
        "window_tokens = 100000\n[objectives.a]\nsteps = [{ write = \"a.txt\", content = \"done\" }]\n",
    );
    stage.baton(&["run", "own.toml"]).expect(0);
    let run = stage.story().view.run;
    let told = stage.state().sessions().join(run.as_str()).join("s1/stdin.jsonl");
    let told = std::fs::read_to_string(told).unwrap();
    let (_, objective) = told.split_once("## Your objective").expect("the section that the layer adds to");
    let section = objective.split("\\n## ").next().unwrap_or_default();
    assert!(section.contains("- No TODO comments."), "{told}");
    let (workspace, state) =
        (stage.workspace.display().to_string(), stage.state_root().display().to_string());
    let verify = ["replay", "--verify", "--workspace", &workspace, "--state-dir", &state];
    let verified = stage.baton(&verify).expect(0).stdout;
    assert!(verified.contains("replays exactly"), "{verified}");
}

// M4
fn the_reference_policy_is_built_and_fit(name: &'static str) {
    let Some(language) = LanguageToolchain::of(name) else { return };
    let reference = language.reference.expect("a reference policy in the language");
    let stage = TestWorkspace::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in [format!("policies/{reference}"), "wit".to_owned()] {
        copy(&root.join(&folder), &stage.path(&folder));
    }
    language.build_and_check(&stage, &format!("policies/{reference}"), reference);
}

// M4: the same policy in each language makes the same golden decisions.
fn the_policy_of_a_team_decides_the_same(name: &'static str) {
    let Some(language) = LanguageToolchain::of(name) else { return };
    let stage = TestWorkspace::new();
    let team = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/team");
    for folder in [name, "golden"] {
        copy(&team.join(folder), &stage.path("team").join(folder));
    }
    // A policy in C is named by its folder.
    let component = if name == "c" { "c" } else { "team" };
    language.build_and_hold(&stage, &format!("team/{name}"), component, "team/golden");
}

/// What is of the sources; what somebody built or installed there is not.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if path.is_dir()
            && !["build", "node_modules", "__pycache__", ".venv"].iter().any(|made| name == *made)
        {
            copy(&path, &to.join(name));
        } else if path.is_file() {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}

mod js {
    #[test]
    fn everything_is_built_and_fit() {
        super::everything_is_built_and_fit("js");
    }

    #[test]
    fn one_decision_decides_in_a_run() {
        super::one_decision_decides_in_a_run("js");
    }

    #[test]
    fn a_layer_asks_the_next_policy() {
        super::a_layer_asks_the_next_policy("js");
    }

    #[test]
    fn the_policy_of_a_team_decides_the_same() {
        super::the_policy_of_a_team_decides_the_same("js");
    }

    #[test]
    fn the_reference_policy_is_built_and_fit() {
        super::the_reference_policy_is_built_and_fit("js");
    }
}

mod python {
    #[test]
    fn everything_is_built_and_fit() {
        super::everything_is_built_and_fit("python");
    }

    #[test]
    fn one_decision_decides_in_a_run() {
        super::one_decision_decides_in_a_run("python");
    }

    #[test]
    fn a_layer_asks_the_next_policy() {
        super::a_layer_asks_the_next_policy("python");
    }

    #[test]
    fn the_policy_of_a_team_decides_the_same() {
        super::the_policy_of_a_team_decides_the_same("python");
    }

    #[test]
    fn the_reference_policy_is_built_and_fit() {
        super::the_reference_policy_is_built_and_fit("python");
    }
}

mod c {
    #[test]
    fn everything_is_built_and_fit() {
        super::everything_is_built_and_fit("c");
    }

    #[test]
    fn one_decision_decides_in_a_run() {
        super::one_decision_decides_in_a_run("c");
    }

    #[test]
    fn a_layer_asks_the_next_policy() {
        super::a_layer_asks_the_next_policy("c");
    }

    #[test]
    fn the_policy_of_a_team_decides_the_same() {
        super::the_policy_of_a_team_decides_the_same("c");
    }
}

// M4: what is missing is said, with what to run.
#[test]
fn a_tool_that_is_not_installed_is_named() {
    let stage = TestWorkspace::new();
    stage.baton(&["policy", "new", "my-js", "--decides", "compaction", "--language", "js"]).expect(0);
    stage.baton(&["policy", "build", "my-js"]).expect(1).says(&["npm install"]);
    stage.baton(&["policy", "new", "my-c", "--decides", "compaction", "--language", "c"]).expect(0);
    let build =
        stage.command(&["policy", "build", "my-c"]).env("WASI_SDK_PATH", "/no/such/folder").output().unwrap();
    crate::support::CommandOutput::from(build).expect(1).says(&["apt-get install clang"]);
    stage
        .baton(&["policy", "build", "my-js", "--bindings"])
        .expect(2)
        .says(&["--bindings is for policies in C"]);
    let with_sdk = ["policy", "new", "my-py", "--language", "python", "--sdk", "."];
    stage.baton(&with_sdk).expect(2).says(&["--sdk is for --language rust"]);
}
