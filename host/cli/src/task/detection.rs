//! What is found on this machine and in a folder: agents, plans, and the command that runs its tests. Starts nothing and
//! writes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use baton_runtime::agents::find_program;
use baton_runtime::core::Workflow;
use baton_runtime::core::workflow::{AgentKind, Role, Sandbox, SandboxLevel};
use serde_json::Value;

use crate::exit_status::UsageError;

/// Said where no command that runs the tests was found.
pub(crate) const NO_CHECK: &str =
    "found no command that checks the work: name one with --check, or the agent's report is enough";

/// Agents in the order in which they are taken if none is named.
const AGENTS: [&str; 4] = ["claude", "codex", "acp:opencode acp", "acp:gemini --acp"];
/// Files that people write a plan into, the likeliest first.
const PLANS: [&str; 8] =
    ["PLAN.md", "plan.md", "TODO.md", "todo.md", "TASKS.md", "ROADMAP.md", "docs/PLAN.md", "docs/plan.md"];
/// A file of a project that is larger than this is not one that people write.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// Entries of a folder that are looked at.
const ENTRIES_MAX: usize = 10_000;

/// The agents that are installed, the first one first.
pub(crate) fn agents() -> Vec<AgentKind> {
    let path = std::env::var_os("PATH");
    let kinds = AGENTS.iter().filter_map(|agent| agent.parse::<AgentKind>().ok());
    // How far it is confined is decided later, and where it may lie depends on that.
    let sandbox = || Sandbox { level: SandboxLevel::Write, ..Sandbox::default() };
    let role = |kind: &AgentKind| Role { sandbox: sandbox(), ..Role::of(kind.clone()) };
    kinds.filter(|kind| find_program(kind, &role(kind), path.as_deref()).is_ok()).collect()
}

/// The workflow with an agent in every role for which none is named, if any is installed.
pub(crate) fn with_default_agent(workflow: Workflow) -> Workflow {
    if !workflow.lacks_agent() {
        return workflow;
    }
    match agents().first() {
        Some(agent) => workflow.with_detected_agent(agent),
        None => workflow,
    }
}

/// No run begins without an agent that could work on it.
pub(crate) fn require_agent(workflow: &Workflow) -> Result<(), UsageError> {
    match workflow.lacks_agent() {
        false => Ok(()),
        // One that is installed would have been taken: so the rehearsal agent was named.
        true if !agents().is_empty() => Err(UsageError(
            "the rehearsal agent needs a script to play: --script FILE. host/cli/examples/quickstart.rehearsal.toml of Baton is one; for real \
             work name another agent (`baton agents` lists those that are installed)"
                .into(),
        )),
        true => Err(UsageError(
            "no agent is named, and none is installed here: `npm install -g @anthropic-ai/claude-code` or \
             `npm install -g @openai/codex`, or name one with --agent (`baton agents` lists those that Baton knows). The built-in rehearsal agent needs a script: --script FILE"
                .into(),
        )),
    }
}

/// The plans of a folder, the likeliest first. One file that is there under two names is one.
pub(crate) fn plans(folder: &Path) -> Vec<PathBuf> {
    let mut seen: Vec<PathBuf> = Vec::new();
    let there = PLANS.iter().map(|name| folder.join(name)).filter(|path| path.is_file());
    there
        .filter(|path| {
            let real = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
            let is_new = !seen.contains(&real);
            seen.push(real);
            is_new
        })
        .collect()
}

/// The command that most likely runs the tests of a project.
pub(crate) fn check(folder: &Path) -> Option<String> {
    let has = |name: &str| folder.join(name).is_file();
    let read = |name: &str| {
        let path = folder.join(name);
        let is_small = fs::metadata(&path).is_ok_and(|told| told.is_file() && told.len() <= FILE_BYTES_MAX);
        is_small.then(|| fs::read_to_string(path).ok()).flatten()
    };
    if let Some(manifest) = read("Cargo.toml") {
        let is_workspace = manifest.lines().any(|line| line.trim() == "[workspace]");
        return Some(if is_workspace { "cargo test --workspace" } else { "cargo test" }.to_owned());
    }
    if let Some(package) = read("package.json").and_then(|text| serde_json::from_str::<Value>(&text).ok())
        && let Some(script) = package["scripts"]["test"].as_str()
        && !script.contains("no test specified")
    {
        let by = [("pnpm-lock.yaml", "pnpm test"), ("yarn.lock", "yarn test"), ("bun.lock", "bun run test")];
        let by = by.into_iter().find(|(lock, _)| has(lock)).map_or("npm test", |(_, command)| command);
        return Some(by.to_owned());
    }
    if has("go.mod") {
        return Some("go test ./...".to_owned());
    }
    let of_target = |name: &str, command: &str| {
        let makes = read(name)?.lines().any(|line| line == "test:" || line.starts_with("test: "));
        makes.then(|| command.to_owned())
    };
    if let Some(found) = of_target("Makefile", "make test").or_else(|| of_target("justfile", "just test")) {
        return Some(found);
    }
    if has("pytest.ini")
        || has("tox.ini")
        || read("pyproject.toml").is_some_and(|text| text.contains("pytest"))
    {
        return Some("python3 -m pytest -q".to_owned());
    }
    if has("pyproject.toml") || has("setup.py") {
        return Some("python3 -m unittest -q".to_owned());
    }
    if let Some(found) = of_python_files(folder, &read) {
        return Some(found);
    }
    let others = [
        ("mix.exs", "mix test"),
        ("build.gradle", "./gradlew test"),
        ("build.gradle.kts", "./gradlew test"),
        ("pom.xml", "mvn -q test"),
        ("Gemfile", "bundle exec rake test"),
        ("Package.swift", "swift test"),
    ];
    others.into_iter().find(|(name, _)| has(name)).map(|(_, command)| command.to_owned())
}

/// Tests of Python beside the sources, with nothing else that tells how they run.
fn of_python_files(folder: &Path, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let entries = fs::read_dir(folder).ok()?.take(ENTRIES_MAX).flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    let command = |name: &String| {
        let stem = name.strip_suffix(".py")?;
        let (begins, ends) = (stem.starts_with("test_"), stem.ends_with("_test"));
        let text = (begins || ends).then(|| read(name)).flatten()?;
        Some(match (text.contains("pytest"), text.contains("unittest")) {
            (true, _) => "python3 -m pytest -q",
            (false, true) if begins => "python3 -m unittest -q",
            (false, true) => "python3 -m unittest discover -q -p '*_test.py'",
            // Functions alone: which runner they are for is not known.
            (false, false) => return None,
        })
    };
    names.iter().find_map(command).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tests_of_a_project_are_found_by_its_files() {
        let cases = [
            ("Cargo.toml", "[package]\n", Some("cargo test")),
            ("contest.py", "", None),
            ("Cargo.toml", "[workspace]\n", Some("cargo test --workspace")),
            ("package.json", r#"{"scripts":{"test":"vitest"}}"#, Some("npm test")),
            ("package.json", r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#, None),
            ("package.json", "no json", None),
            ("Makefile", "all: x\ntest: x\n\tsh t\n", Some("make test")),
            ("Makefile", "all: test\n", None),
            ("pyproject.toml", "[tool.pytest.ini_options]\n", Some("python3 -m pytest -q")),
            ("test_calc.py", "import unittest\n", Some("python3 -m unittest -q")),
            ("calc_test.py", "import unittest\n", Some("python3 -m unittest discover -q -p '*_test.py'")),
            ("test_calc.py", "import pytest\n", Some("python3 -m pytest -q")),
            ("test_calc.py", "print(1)\n", None),
            ("latest.py", "import unittest\n", None),
            ("go.mod", "module x\n", Some("go test ./...")),
            ("notes.txt", "", None),
        ];
        for (name, text, expected) in cases {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(name), text).unwrap();
            assert_eq!(check(folder.path()).as_deref(), expected, "{name}: {text}");
        }
    }

    #[test]
    fn a_plan_that_has_two_names_is_found_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("TODO.md"), "- [ ] a\n").unwrap();
        std::os::unix::fs::symlink("TODO.md", folder.path().join("PLAN.md")).unwrap();
        assert_eq!(plans(folder.path()), [folder.path().join("PLAN.md")]);
    }
}
