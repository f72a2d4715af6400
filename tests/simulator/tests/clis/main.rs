//! The simulator drives the real Codex, and Claude Code and Codex behind their ACP adapters. Runs where
//! `BATON_TEST_CODEX` names the executable of Codex, and `BATON_TEST_CLAUDE_ACP` and `BATON_TEST_CODEX_ACP` the
//! `dist/index.js` of the adapters, which `node` runs.

mod acp;
mod codex;
mod rpc;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use baton_simulator::{AnswerKind, Simulator};
use tempfile::TempDir;

/// What the variable names, or a plain word that it names nothing.
fn installed(variable: &str, test: &str) -> Option<PathBuf> {
    let found = std::env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        // Not by a macro: the test runner would keep that to itself, and a skipped test must be seen.
        let _ = writeln!(std::io::stderr(), "skipped: {test}: {variable} names nothing that is installed");
    }
    found
}

/// A folder for the work, and one beside it for the agent's own files.
struct AgentFolders {
    _folder: TempDir,
    work: PathBuf,
    home: PathBuf,
}

impl AgentFolders {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let (work, home) = (path.join("work"), path.join("home"));
        for folder in [&work, &home.join(".codex"), &home.join("tmp")] {
            std::fs::create_dir_all(folder).unwrap();
        }
        Self { _folder: folder, work, home }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.work.join(name)
    }

    fn written(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The program with nothing of this process's surroundings but the path.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.work)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("TMPDIR", self.home.join("tmp"))
            .env("CODEX_HOME", self.home.join(".codex"))
            .env("LANG", "C.UTF-8");
        command
    }

    /// Lays down the settings of Codex, whose model is the simulator: by a provider of its own where it has a name, and
    /// else in place of the built-in one.
    fn configure_codex(&self, simulator: &Simulator, provider: Option<&str>, more: &str) {
        let url = format!("{}/v1", simulator.url());
        let head = match provider {
            Some(name) => format!("model_provider = \"{name}\"\n"),
            None => format!("openai_base_url = \"{url}\"\n"),
        };
        let mut settings = format!(
            "{head}model = \"gpt-5.5\"\ncheck_for_update_on_startup = false\n{more}\n[analytics]\nenabled = \
             false\n[feedback]\nenabled = false\n[otel]\nexporter = \"none\"\nmetrics_exporter = \"none\"\n"
        );
        if let Some(name) = provider {
            settings.push_str(&format!(
                "[model_providers.{name}]\nname = \"{name}\"\nbase_url = \"{url}\"\nenv_key = \
                 \"SIMULATED_KEY\"\nwire_api = \"responses\"\n"
            ));
        }
        std::fs::write(self.home.join(".codex/config.toml"), settings).unwrap();
    }
}

/// How many requests were answered so.
fn count(simulator: &Simulator, answered: &AnswerKind) -> usize {
    simulator.requests().iter().filter(|request| request.answered == *answered).count()
}

fn called(tool: &str) -> AnswerKind {
    AnswerKind::Called(tool.to_owned())
}
