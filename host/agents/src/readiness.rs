//! Checks before an agent's first session whether it would begin at all. Reads the agent's own settings and, if these are not
//! conclusive, asks the agent itself, unless an agent may have written its program; otherwise the session will show it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use baton_core::workflow::{AgentKind, Permission, Role};
use baton_sandbox::is_work_of_agents;
use serde::Deserialize;

use crate::launch::SpawnError;
use crate::program_lookup::{find_program, may_ask};
use crate::session_files::text_of;
use crate::{environment, program_output};

/// How long an agent may take to say whether it is logged in.
const LOGIN_TIME: Duration = Duration::from_secs(10);
/// No settings of an agent are larger than this.
const SETTINGS_BYTES: u64 = 1 << 20;

/// Variables that log Claude Code in.
const CLAUDE_KEYS: [&str; 6] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
];
/// Files below a home that show a login.
const CLAUDE_LOGIN: &str = ".claude/.credentials.json";
/// Variables that may log Codex in.
const CODEX_KEYS: [&str; 2] = ["OPENAI_API_KEY", "CODEX_API_KEY"];

/// Finds the agent of a role, and known obstacles to its start. `inherit` is the environment of the host.
pub async fn check_ready(role: &Role, inherit: &BTreeMap<OsString, OsString>) -> Result<(), SpawnError> {
    let path = inherit.get(OsStr::new("PATH")).map(OsString::as_os_str);
    match find_program(&role.agent, role, path)? {
        Some(program) => expect_ready(&role.agent, role, &program, inherit).await,
        None => Ok(()),
    }
}

/// The same of a program that was found.
pub(crate) async fn expect_ready(
    agent: &AgentKind,
    role: &Role,
    program: &Path,
    inherit: &BTreeMap<OsString, OsString>,
) -> Result<(), SpawnError> {
    let own = AgentEnvironment { environment: environment::choose(agent, role, inherit), inherit };
    let why = match agent {
        AgentKind::Claude => claude(role, program, &own).await,
        AgentKind::Codex => codex(role, program, &own).await,
        AgentKind::Acp { .. } | AgentKind::Process { .. } | AgentKind::Rehearsal => None,
    };
    why.map_or(Ok(()), |(why, mend)| Err(SpawnError::NotReady { why, mend }))
}

/// Why an agent cannot begin, and what mends it.
type ReadinessProblem = (String, String);

/// The environment of an agent, and that from which it was chosen.
struct AgentEnvironment<'i> {
    environment: BTreeMap<OsString, OsString>,
    inherit: &'i BTreeMap<OsString, OsString>,
}

impl AgentEnvironment<'_> {
    fn get(&self, name: &str) -> Option<&OsStr> {
        self.environment.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    fn has_one_of(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.get(name).is_some())
    }

    fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }
}

/// Whether a program has the agent's own name.
fn is_named(program: &Path, name: &str) -> bool {
    program.file_name() == Some(OsStr::new(name))
}

/// Whether the host may run a program of a role without a boundary. Settings of an agent name commands as well, which it runs by itself.
fn may_be_asked(program: &Path, role: &Role, settings: Option<PathBuf>) -> bool {
    let has_settings_of_agents = || settings.is_some_and(|folder| is_work_of_agents(&folder));
    may_ask(program, role) && !(role.sandbox.is_on() && has_settings_of_agents())
}

async fn claude(role: &Role, program: &Path, own: &AgentEnvironment<'_>) -> Option<ReadinessProblem> {
    let is_sandbox =
        ["IS_SANDBOX", "CLAUDE_CODE_BUBBLEWRAP"].iter().any(|name| own.get(name) == Some("1".as_ref()));
    if role.permission == Permission::Full && rustix::process::getuid().is_root() && !is_sandbox {
        return Some((
            "Claude Code refuses `permission = \"full\"` as root".to_owned(),
            "start Baton as another user, or in a container that is made to be thrown away with IS_SANDBOX=1, \
             or give it less: `--permission edit`, or `permission = \"edit\"` in its role"
                .to_owned(),
        ));
    }
    let logged_in = own.has_one_of(&CLAUDE_KEYS)
        || own.home().is_some_and(|home| home.join(CLAUDE_LOGIN).exists())
        || !role.args.is_empty();
    if logged_in {
        return None;
    }
    // A custom program may take any argument for a prompt, and so do versions that do not know the command.
    let settings = own.home().map(|home| home.join(".claude"));
    if !is_named(program, "claude") || !may_be_asked(program, role, settings) {
        return None;
    }
    let help = program_output::ask(program, &["--help"], &own.environment, LOGIN_TIME).await;
    if !help.lines().any(|line| line.trim_start().starts_with("auth ")) {
        return None;
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ClaudeAuthStatus {
        logged_in: bool,
    }
    let status = program_output::ask(program, &["auth", "status"], &own.environment, LOGIN_TIME).await;
    let status: ClaudeAuthStatus = serde_json::from_str(&status).ok()?;
    (!status.logged_in).then(|| {
        (
            "Claude Code is not logged in".to_owned(),
            "run `claude /login`, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN where you start Baton"
                .to_owned(),
        )
    })
}

async fn codex(role: &Role, program: &Path, own: &AgentEnvironment<'_>) -> Option<ReadinessProblem> {
    // Arguments may choose another provider.
    if !role.args.is_empty() {
        return None;
    }
    let folder = match own.get("CODEX_HOME") {
        Some(folder) => PathBuf::from(folder),
        None => own.home()?.join(".codex"),
    };
    if let Some(key) = key_of_codex(&folder) {
        return missing_variable("Codex", &key, own);
    }
    if own.has_one_of(&CODEX_KEYS) || folder.join("auth.json").exists() || folder.join("config.toml").exists()
    {
        return None;
    }
    if !is_named(program, "codex") || !may_be_asked(program, role, Some(folder)) {
        return None;
    }
    let status = program_output::ask_both(program, &["login", "status"], &own.environment, LOGIN_TIME).await;
    status.lines().any(|line| line.trim() == "Not logged in").then(|| {
        (
            "Codex is not logged in".to_owned(),
            "run `codex login`, or name your provider and its key in the config.toml of Codex".to_owned(),
        )
    })
}

/// The variable from which the provider that Codex is set to takes its key.
fn key_of_codex(folder: &Path) -> Option<String> {
    let settings: toml::Table = text_of(&folder.join("config.toml"), SETTINGS_BYTES)?.parse().ok()?;
    let provider = settings.get("model_provider")?.as_str()?;
    let key = settings.get("model_providers")?.get(provider)?.get("env_key")?.as_str()?;
    Some(key.to_owned())
}

fn missing_variable(agent: &str, name: &str, own: &AgentEnvironment<'_>) -> Option<ReadinessProblem> {
    if own.get(name).is_some() {
        return None;
    }
    let hand_over = format!(
        "hand it over with the answer (`retry --env {name} --resume`) or a new run (`--env {name}`), or name it in its role: \
         `env = [\"{name}\"]`"
    );
    let is_set = own.inherit.get(OsStr::new(name)).is_some_and(|value| !value.is_empty());
    if !is_set && environment::is_handed_over(&AgentKind::Codex, name) {
        return Some((
            format!("{agent} needs {name}, which is not set here"),
            "set it where you start Baton".to_owned(),
        ));
    }
    Some(match is_set {
        true => (format!("{agent} needs {name}, which is set here and not handed to it"), hand_over),
        false => (
            format!("{agent} needs {name}, which is not set here"),
            format!("set it where you start Baton, and {hand_over}"),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(of: &[(&str, &str)]) -> BTreeMap<OsString, OsString> {
        of.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
    }

    /// What keeps Codex from beginning, with this in its folder.
    async fn of_codex(settings: &str, role: &Role, given: &[(&str, &str)]) -> Option<ReadinessProblem> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("config.toml"), settings).unwrap();
        let home = [("CODEX_HOME", folder.path().to_str().unwrap())];
        let inherit = variables(&[&home[..], given].concat());
        let own = AgentEnvironment {
            environment: environment::choose(&AgentKind::Codex, role, &inherit),
            inherit: &inherit,
        };
        codex(role, Path::new("/nowhere"), &own).await
    }

    #[tokio::test]
    async fn the_key_of_a_provider_of_ones_own_has_to_be_set_and_handed_over() {
        let provider = "model_provider = \"own\"\n[model_providers.own]\nenv_key = \"OWN_KEY\"\n";
        let role = Role::of(AgentKind::Codex);
        let (why, mend) = of_codex(provider, &role, &[]).await.unwrap();
        assert!(
            why.contains("OWN_KEY, which is not set") && mend.contains("env = [\"OWN_KEY\"]"),
            "{why}: {mend}"
        );
        let (why, _) = of_codex(provider, &role, &[("OWN_KEY", "k")]).await.unwrap();
        assert!(why.contains("not handed to it"), "{why}");
        let handing = Role { env: vec!["OWN_KEY".to_owned()], ..role.clone() };
        assert_eq!(of_codex(provider, &handing, &[("OWN_KEY", "k")]).await, None);
        assert!(of_codex(provider, &handing, &[("OWN_KEY", "")]).await.is_some());
        // Its usual keys are handed over by themselves.
        let usual = "model_provider = \"own\"\n[model_providers.own]\nenv_key = \"OPENAI_API_KEY\"\n";
        let (_, mend) = of_codex(usual, &role, &[]).await.unwrap();
        assert_eq!(mend, "set it where you start Baton");
        assert_eq!(of_codex(usual, &role, &[("OPENAI_API_KEY", "k")]).await, None);
        // Unreadable settings give no result.
        for settings in ["", "model_provider = 3", "= no toml", "model_provider = \"other\""] {
            assert_eq!(of_codex(settings, &role, &[]).await, None, "{settings}");
        }
    }

    // N6
    #[tokio::test]
    async fn a_program_that_an_agent_may_have_written_is_not_asked_for_a_confined_role() {
        use baton_core::workflow::SandboxLevel;
        use std::os::unix::fs::PermissionsExt as _;

        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let home = root.join("home");
        for folder in ["home", "tree", "lib", "bin", "list"] {
            std::fs::create_dir(root.join(folder)).unwrap();
        }
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            path
        };
        let ran = root.join("ran");
        let body = format!("touch {}; echo '  auth  log in'\n", ran.display());
        let own = write("bin/claude", &format!("#!/bin/sh\n{body}"));
        let in_tree = write("tree/claude", &format!("#!/bin/sh\n{body}"));
        let in_list = write("list/codex", &format!("#!/bin/sh\n{body}"));
        let linked = root.join("lib/claude");
        std::os::unix::fs::symlink(&in_tree, &linked).unwrap();
        baton_sandbox::exclude_from_path(&root.join("tree"));
        baton_sandbox::exclude_writable(&root.join("list"));
        let inherit = variables(&[("PATH", "/bin:/usr/bin"), ("HOME", home.to_str().unwrap())]);
        let asked = async |agent: AgentKind, program: &Path, level| {
            let mut role = Role { program: Some(program.display().to_string()), ..Role::of(agent) };
            role.sandbox.level = level;
            let _ = check_ready(&role, &inherit).await;
            std::fs::remove_file(&ran).is_ok()
        };
        assert!(asked(AgentKind::Claude, &own, SandboxLevel::Strict).await);
        for level in [SandboxLevel::Write, SandboxLevel::Strict] {
            assert!(!asked(AgentKind::Claude, &in_tree, level).await, "{level:?}");
            assert!(!asked(AgentKind::Claude, &linked, level).await, "{level:?}");
            assert!(!asked(AgentKind::Codex, &in_list, level).await, "{level:?}");
        }
        // A workflow may name any program for a role that is not confined.
        assert!(asked(AgentKind::Claude, &in_tree, SandboxLevel::Off).await);
        // What runs in the agent's own settings is the agent's as well.
        baton_sandbox::exclude_writable(&home.join(".claude"));
        assert!(!asked(AgentKind::Claude, &own, SandboxLevel::Strict).await);
    }

    #[tokio::test]
    async fn a_program_that_knows_no_login_is_taken_for_ready() {
        let inherit = variables(&[("PATH", "/bin:/usr/bin")]);
        for agent in [AgentKind::Claude, AgentKind::Codex] {
            let role = Role { program: Some("/bin/true".to_owned()), ..Role::of(agent.clone()) };
            assert!(check_ready(&role, &inherit).await.is_ok(), "{agent:?}");
        }
    }
}
