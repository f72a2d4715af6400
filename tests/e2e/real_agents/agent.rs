//! The agents: how a workflow names each, what its environment is, and in what they differ. Runs none.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use baton_simulator::Simulator;

/// A real agent.
pub(crate) struct RealAgent {
    /// Names what is installed.
    variable: &'static str,
    /// The role's lines that say how it is started; `PROGRAM` is what is installed.
    role: &'static str,
    /// Lays down its settings and says what it finds in its environment.
    make_environment: fn(&Path, &Simulator) -> Vec<(&'static str, OsString)>,
    /// The simulated window in which alpha and beta fit one by one and not together.
    pub(crate) narrow_window_tokens: u64,
    /// Occupancy that two pages exceed and an empty context does not.
    pub(crate) compact_percent: u32,
    /// What it tells of the time at which a quota resets.
    pub(crate) reset_precision: ResetPrecision,
    /// Where the tools of MCP servers are tried, it finds them by a search, and offers only those that it found.
    pub(crate) searches: bool,
    /// Baton confines it, and the user allows the simulator's address.
    pub(crate) strict: bool,
}

/// How much of a time is told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResetPrecision {
    Nothing,
    /// A time of day in words.
    Minute,
    Second,
}

/// Who logs in with a key is told nothing of when a quota resets.
pub(crate) const CLAUDE: RealAgent = RealAgent {
    variable: "BATON_TEST_CLAUDE",
    role: "agent = \"claude\"\nprogram = \"PROGRAM\"\npermission = \"edit\"\nmodel = \"claude-sonnet-4-5\"",
    make_environment: with_key,
    narrow_window_tokens: 125_000,
    compact_percent: 34,
    reset_precision: ResetPrecision::Nothing,
    searches: false,
    strict: false,
};

/// The same, confined.
pub(crate) const CLAUDE_STRICT: RealAgent = RealAgent { strict: true, ..CLAUDE };

/// Claude Code that finds its tools by a search.
pub(crate) const CLAUDE_SEARCHING: RealAgent = RealAgent { searches: true, ..CLAUDE };

/// Claude Code as it is used with a subscription.
pub(crate) const CLAUDE_SUBSCRIBED: RealAgent =
    RealAgent { make_environment: with_subscription, reset_precision: ResetPrecision::Second, ..CLAUDE };

/// Its own sandbox needs more of the kernel than a container may have, hence the full permission.
pub(crate) const CODEX: RealAgent = RealAgent {
    variable: "BATON_TEST_CODEX",
    role: "agent = \"codex\"\nprogram = \"PROGRAM\"\npermission = \"full\"",
    make_environment: of_codex,
    narrow_window_tokens: 145_000,
    compact_percent: 33,
    reset_precision: ResetPrecision::Second,
    searches: true,
    strict: false,
};

/// The same, confined by Baton in the place of its own sandbox.
pub(crate) const CODEX_STRICT: RealAgent = RealAgent { strict: true, ..CODEX };

/// The same, with its own sandbox within Baton's.
pub(crate) const CODEX_NESTED: RealAgent =
    RealAgent { role: "agent = \"codex\"\nprogram = \"PROGRAM\"\npermission = \"edit\"", ..CODEX_STRICT };

/// Claude Code behind its adapter.
pub(crate) const CLAUDE_ACP: RealAgent = RealAgent {
    variable: "BATON_TEST_CLAUDE_ACP",
    role: "agent = \"acp:node 'PROGRAM'\"\npermission = \"edit\"",
    make_environment: with_key,
    narrow_window_tokens: 125_000,
    compact_percent: 36,
    reset_precision: ResetPrecision::Nothing,
    searches: false,
    strict: false,
};

/// The same with a subscription.
pub(crate) const CLAUDE_ACP_SUBSCRIBED: RealAgent =
    RealAgent { make_environment: with_subscription, reset_precision: ResetPrecision::Minute, ..CLAUDE_ACP };

/// Codex behind its adapter.
pub(crate) const CODEX_ACP: RealAgent = RealAgent {
    variable: "BATON_TEST_CODEX_ACP",
    role: "agent = \"acp:node 'PROGRAM'\"\npermission = \"full\"",
    make_environment: of_codex_acp,
    narrow_window_tokens: 145_000,
    compact_percent: 33,
    reset_precision: ResetPrecision::Minute,
    searches: true,
    strict: false,
};

/// Whether this machine can make a strict sandbox; a word where it cannot.
fn can_confine() -> bool {
    let machine = baton_runtime::sandbox::SandboxSupport::look(std::env::var_os("PATH").as_deref());
    let Err(missing) = machine.can(baton_runtime::core::workflow::SandboxLevel::Strict) else { return true };
    assert!(std::env::var_os("BATON_TEST_SANDBOX").is_none(), "{missing}");
    eprintln!("skipped: {missing}");
    false
}

impl RealAgent {
    /// The role's lines, or a plain word that there is no such agent here.
    pub(crate) fn role(&self) -> Option<String> {
        let Some(program) = std::env::var_os(self.variable).map(PathBuf::from) else {
            // Not by a macro: the test runner would keep that to itself, and a skipped test must be seen.
            let current = std::thread::current();
            let (test, variable) = (current.name().unwrap_or("a test"), self.variable);
            let _ =
                writeln!(std::io::stderr(), "skipped: {test}: {variable} names nothing that is installed");
            return None;
        };
        assert!(program.is_file(), "{} names {}, which is no file", self.variable, program.display());
        if self.strict && !can_confine() {
            return None;
        }
        let role = self.role.replace("PROGRAM", program.to_str().unwrap());
        Some(if self.strict { role + "\nsandbox = \"strict\"" } else { role })
    }

    /// Where its program is.
    pub(crate) fn program(&self) -> Option<PathBuf> {
        std::env::var_os(self.variable).map(PathBuf::from)
    }

    /// The role's lines with another permission.
    pub(crate) fn role_with(&self, permission: &str) -> Option<String> {
        let role = self.role()?;
        let lines = role.lines().map(|line| match line.starts_with("permission") {
            true => format!("permission = \"{permission}\""),
            false => line.to_owned(),
        });
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    /// What it finds in its environment, its home being this folder.
    pub(crate) fn environment(&self, home: &Path, simulator: &Simulator) -> Vec<(&'static str, OsString)> {
        let temporary = home.join("tmp");
        fs::create_dir_all(&temporary).unwrap();
        let mut environment = (self.make_environment)(home, simulator);
        if self.strict {
            let folder = home.join(".config/baton");
            fs::create_dir_all(&folder).unwrap();
            let address = simulator.url().replace("http://", "");
            let allowed = format!("[sandbox]\nnetwork = [\"{address}\"]\n");
            fs::write(folder.join("config.toml"), allowed).unwrap();
        }
        environment.extend([
            ("HOME", home.into()),
            ("TMPDIR", temporary.into()),
            ("LANG", OsString::from("C.UTF-8")),
        ]);
        environment
    }
}

fn with_key(_: &Path, simulator: &Simulator) -> Vec<(&'static str, OsString)> {
    of_claude("ANTHROPIC_API_KEY", simulator)
}

fn with_subscription(_: &Path, simulator: &Simulator) -> Vec<(&'static str, OsString)> {
    of_claude("CLAUDE_CODE_OAUTH_TOKEN", simulator)
}

fn of_claude(credential: &'static str, simulator: &Simulator) -> Vec<(&'static str, OsString)> {
    let switches = [
        (credential, "test-key"),
        ("ANTHROPIC_BASE_URL", &simulator.url()),
        ("ANTHROPIC_MODEL", "claude-sonnet-4-5"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        // Left to itself it would compact, which is another road than those that are tried here.
        ("DISABLE_AUTO_COMPACT", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("IS_SANDBOX", "1"),
    ];
    switches.map(|(name, value)| (name, OsString::from(value))).to_vec()
}

/// Codex itself takes a key from its environment for a provider of one's own only.
fn of_codex(home: &Path, simulator: &Simulator) -> Vec<(&'static str, OsString)> {
    let provider = format!(
        "[model_providers.simulated]\nname = \"simulated\"\nbase_url = \"{}/v1\"\nenv_key = \"OPENAI_API_KEY\"\n\
         wire_api = \"responses\"\n",
        simulator.url()
    );
    codex_home(home, "model_provider = \"simulated\"\n", &provider)
}

/// The adapter logs in to the built-in provider, whose place the simulator takes.
fn of_codex_acp(home: &Path, simulator: &Simulator) -> Vec<(&'static str, OsString)> {
    codex_home(home, &format!("openai_base_url = \"{}/v1\"\n", simulator.url()), "")
}

fn codex_home(home: &Path, keys: &str, tables: &str) -> Vec<(&'static str, OsString)> {
    let folder = home.join(".codex");
    fs::create_dir_all(&folder).unwrap();
    let settings = format!(
        "{keys}model = \"gpt-5.5\"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n\
         [feedback]\nenabled = false\n[otel]\nexporter = \"none\"\nmetrics_exporter = \"none\"\n{tables}"
    );
    fs::write(folder.join("config.toml"), settings).unwrap();
    vec![("CODEX_HOME", folder.into()), ("OPENAI_API_KEY", OsString::from("test-key"))]
}
