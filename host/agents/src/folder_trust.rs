//! Whether the user trusts a folder with an agent: its files may make the agent run commands as soon as it begins there.
//! Without a user to ask, Claude Code takes the settings of a folder as they are, and Codex notes the folder as trusted.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use baton_core::git_link;
use baton_core::workflow::{AgentKind, Role};
use serde_json::{Map, Value, json};

use crate::launch::SpawnError;
use crate::session_boundary::runs_agent;
use crate::session_files::text_of;

/// Settings of Claude Code by which it runs a command without a model asking for it, or talks to another server (its documentation of
/// settings, hooks and plugins, and its own list of such keys, seen with 2.1.330). What a folder allows without asking (`permissions.allow`) counts
/// for Claude Code only in a folder that the user has accepted.
const CLAUDE_COMMAND_KEYS: [&str; 17] = [
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "enabledPlugins",
    "env",
    "extraKnownMarketplaces",
    "fileSuggestion",
    "gcpAuthRefresh",
    "hooks",
    "otelHeadersHelper",
    "processWrapper",
    "proxyAuthHelper",
    "sandbox.bwrapPath",
    "sandbox.ripgrep",
    "sandbox.socatPath",
    "statusLine",
    "subagentStatusLine",
];
/// The servers that a folder has for Claude Code.
const CLAUDE_SERVERS_FILE: &str = ".mcp.json";
/// Names the folder of the user's own settings of Claude Code.
const CLAUDE_CONFIG_DIR_VARIABLE: &str = "CLAUDE_CONFIG_DIR";
/// The settings that a folder has for Codex.
const CODEX_CONFIG_FILE: &str = ".codex/config.toml";
/// Files of settings that are larger are not read.
const SETTINGS_BYTES: u64 = 8 << 20;

/// Refuses to begin if the folder would make the agent run commands, and the user has not trusted the folder in the agent.
/// `tree` is the folder in which it begins, which may be a work tree of the `workspace`; `environment` is that of the host.
///
/// # Errors
/// [`SpawnError::NotReady`], with the settings of the folder and how the user trusts it.
pub fn expect_trusted(
    agent: &AgentKind,
    role: &Role,
    tree: &Path,
    workspace: &Path,
    environment: &BTreeMap<OsString, OsString>,
) -> Result<(), SpawnError> {
    // The author of the settings has considered it.
    let chooses = role.args.iter().any(|arg| arg.starts_with("--setting-sources"));
    let (name, command, brought) = if runs_agent(agent, "claude") && !chooses {
        let brought = claude_command_settings(tree, environment);
        ("Claude Code", "claude", empty_if_trusted(claude_trusts(workspace, environment), brought))
    } else if matches!(agent, AgentKind::Acp { .. }) && runs_agent(agent, "codex") {
        // Codex itself gets the setting that the folder is not trusted; its adapter accepts no such setting.
        let brought =
            Vec::from_iter(tree.join(CODEX_CONFIG_FILE).exists().then(|| CODEX_CONFIG_FILE.to_owned()));
        ("Codex", "codex", empty_if_trusted(codex_untrusted_projects(tree, environment).is_empty(), brought))
    } else {
        return Ok(());
    };
    if brought.is_empty() {
        return Ok(());
    }
    Err(SpawnError::NotReady {
        why: format!(
            "this folder makes {name} run commands as soon as it starts here ({}), and {name} has not been told to trust it",
            brought.join(", ")
        ),
        mend: format!(
            "look at them, then run `{command}` in the folder once and accept it, or confine the agent with `--sandbox strict`"
        ),
    })
}

/// What is brought, if it is not trusted.
fn empty_if_trusted(is_trusted: bool, brought: Vec<String>) -> Vec<String> {
    if is_trusted { Vec::new() } else { brought }
}

/// Settings of a folder that make Claude Code run commands, by file and key. A file that is unreadable here may be readable
/// there.
///
/// It takes settings from the folder that it begins in, from the top of the repository around it, and from the repository that
/// a linked work tree belongs to (seen with 2.1.330); the folders in between are checked as well.
fn claude_command_settings(tree: &Path, environment: &BTreeMap<OsString, OsString>) -> Vec<String> {
    let users = users_of_claude(environment);
    let top = worktree_root(tree);
    let within = tree.ancestors().take_while(|folder| top.is_some_and(|top| folder.starts_with(top)));
    let mut folders: Vec<PathBuf> =
        [tree].into_iter().chain(within).map(Path::to_owned).chain(main_worktree(tree)).collect();
    folders.dedup();
    let mut brought = Vec::new();
    for folder in
        folders.iter().map(|folder| folder.join(".claude")).filter(|folder| Some(folder) != users.as_ref())
    {
        for name in ["settings.json", "settings.local.json"] {
            brought.extend(brought_by(&folder.join(name), tree, &CLAUDE_COMMAND_KEYS));
        }
    }
    brought.extend(brought_by(&tree.join(CLAUDE_SERVERS_FILE), tree, &["mcpServers"]));
    // Servers are looked for in each folder above as well.
    let above = tree.ancestors().skip(1).map(|folder| folder.join(CLAUDE_SERVERS_FILE));
    brought
        .extend(above.filter(|file| file.symlink_metadata().is_ok()).map(|file| file.display().to_string()));
    brought
}

/// The keys of a file that are set to something, each as "file: key".
fn brought_by(file: &Path, tree: &Path, keys: &[&str]) -> Vec<String> {
    let name = file.strip_prefix(tree).unwrap_or(file).display();
    match object(file) {
        Some(settings) => {
            let value = |key: &str| match key.split_once('.') {
                Some((outer, key)) => settings.get(outer)?.get(key),
                None => settings.get(key),
            };
            let is_there = |key: &&&str| value(key).is_some_and(is_something);
            keys.iter().filter(is_there).map(|key| format!("{name}: {key}")).collect()
        }
        None => Vec::from_iter(file.symlink_metadata().is_ok().then(|| format!("{name}: cannot be read"))),
    }
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

/// The folder of the user's own settings: they do not count as settings of a folder, even if it is a repository.
fn users_of_claude(environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let own = variable(environment, CLAUDE_CONFIG_DIR_VARIABLE).map(Path::to_owned);
    own.or_else(|| Some(variable(environment, "HOME")?.join(".claude")))
}

/// Whether the user has accepted the folder, or one above it, in Claude Code's own dialogue.
fn claude_trusts(folder: &Path, environment: &BTreeMap<OsString, OsString>) -> bool {
    let home = variable(environment, CLAUDE_CONFIG_DIR_VARIABLE).or_else(|| variable(environment, "HOME"));
    let Some(settings) = home.and_then(|home| object(&home.join(".claude.json"))) else { return false };
    let accepted = |folder: &Path| {
        let project = settings.get("projects")?.get(folder.to_str()?)?;
        project.get("hasTrustDialogAccepted")?.as_bool()
    };
    folder.ancestors().any(|folder| accepted(folder) == Some(true))
}

/// The settings for Codex about a folder that the user has not trusted: Codex then neither takes the settings in it nor notes
/// permanently that the user trusts it.
pub(crate) fn codex_untrusted_projects(
    tree: &Path,
    environment: &BTreeMap<OsString, OsString>,
) -> Map<String, Value> {
    let folder = variable(environment, "CODEX_HOME").map(PathBuf::from);
    let folder = folder.or_else(|| Some(variable(environment, "HOME")?.join(".codex")));
    let settings = folder.and_then(|folder| text_of(&folder.join("config.toml"), SETTINGS_BYTES));
    let settings = settings.unwrap_or_default();
    let settings: toml::Table = settings.parse().unwrap_or_default();
    let known = |folder: &str| {
        let project = settings.get("projects")?.get(folder)?;
        project.get("trust_level").cloned()
    };
    // Codex knows a work tree by the repository that it belongs to.
    let folders = [Some(tree.to_owned()), main_worktree(tree)].into_iter().flatten();
    let names: Vec<String> = folders.filter_map(|folder| folder.to_str().map(str::to_owned)).collect();
    if names.iter().any(|name| known(name).is_some()) {
        return Map::new();
    }
    names.into_iter().map(|name| (name, json!({ "trust_level": "untrusted" }))).collect()
}

/// The folder of the repository that a work tree belongs to, or that a folder lies in.
fn main_worktree(tree: &Path) -> Option<PathBuf> {
    let top = worktree_root(tree)?;
    let link = text_of(&top.join(".git"), SETTINGS_BYTES);
    let own = link.as_deref().and_then(|link| git_link::named_by(link.as_bytes()));
    match own.filter(|own| own.parent().is_some_and(|list| list.ends_with(".git/worktrees"))) {
        Some(own) => own.ancestors().nth(3).map(Path::to_owned),
        None => Some(top.to_owned()),
    }
}

/// The top of the work tree that a folder lies in.
fn worktree_root(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())
}

fn object(file: &Path) -> Option<Map<String, Value>> {
    serde_json::from_str(&text_of(file, SETTINGS_BYTES)?).ok()
}

/// A variable that says something.
fn variable<'e>(environment: &'e BTreeMap<OsString, OsString>, name: &str) -> Option<&'e Path> {
    environment.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(Path::new)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn environment(home: &Path) -> BTreeMap<OsString, OsString> {
        BTreeMap::from([("HOME".into(), home.into())])
    }

    #[test]
    fn a_folder_that_has_claude_run_commands_is_refused_until_the_user_trusts_it() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let (home, folder) = (place.path().join("home"), place.path().join("work/clone"));
        fs::create_dir_all(folder.join(".claude")).unwrap();
        fs::create_dir_all(&home).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        let trusted = |role: &Role| expect_trusted(&role.agent, role, &folder, &folder, &environment(&home));
        let role = Role::of(AgentKind::Claude);
        write(".claude/settings.json", r#"{"permissions": {"allow": []}, "hooks": {}}"#);
        write(".mcp.json", r#"{"mcpServers": {}}"#);
        assert!(trusted(&role).is_ok(), "nothing in it runs anything");
        write(".claude/settings.json", r#"{"sandbox": {"enabled": true, "bwrapPath": "./b"}}"#);
        let error = trusted(&role).unwrap_err().to_string();
        assert!(error.contains("(.claude/settings.json: sandbox.bwrapPath)"), "{error}");
        write(".claude/settings.json", r#"{"hooks": {"SessionStart": [{}]}}"#);
        write(".mcp.json", r#"{"mcpServers": {"x": {"command": "sh"}}}"#);
        let error = trusted(&role).unwrap_err().to_string();
        assert!(error.contains("(.claude/settings.json: hooks, .mcp.json: mcpServers)"), "{error}");
        let adapter = "acp:claude-agent-acp".parse().unwrap();
        assert!(trusted(&Role::of(adapter)).is_err(), "its adapter takes the same settings");
        assert!(trusted(&Role::of(AgentKind::Codex)).is_ok());
        let of_codex: AgentKind = "acp:codex-acp".parse().unwrap();
        assert!(trusted(&Role::of(of_codex.clone())).is_ok());
        fs::create_dir(folder.join(".codex")).unwrap();
        write(".codex/config.toml", "[mcp_servers.x]\ncommand = \"sh\"\n");
        assert!(trusted(&Role::of(of_codex)).is_err());
        write(".claude/settings.local.json", "no text that is read here");
        let error = trusted(&role).unwrap_err().to_string();
        assert!(error.contains("settings.local.json: cannot be read"), "{error}");
        let chosen = Role { args: vec!["--setting-sources=user".to_owned()], ..role.clone() };
        assert!(trusted(&chosen).is_ok());
        for file in [".claude/settings.json", ".claude/settings.local.json", ".mcp.json"] {
            fs::remove_file(folder.join(file)).unwrap();
        }
        assert!(trusted(&role).is_ok());
        fs::write(folder.with_file_name(".mcp.json"), "{}").unwrap();
        let error = trusted(&role).unwrap_err().to_string();
        assert!(error.contains("work/.mcp.json"), "{error}");
        // As Claude Code writes it when the user accepts the folder above.
        let above = folder.parent().unwrap().to_str().unwrap();
        let accepted = json!({ "projects": { above: { "hasTrustDialogAccepted": true } } });
        fs::write(home.join(".claude.json"), accepted.to_string()).unwrap();
        assert!(trusted(&role).is_ok());
    }

    #[test]
    fn settings_of_the_repository_around_a_folder_count_as_its_own() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        for folder in ["home/.claude", "clone/.git/worktrees/tree", "clone/.claude", "clone/a/b", "tree/sub"]
        {
            fs::create_dir_all(at(folder)).unwrap();
        }
        let own = at("clone/.git/worktrees/tree");
        fs::write(at("tree/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        let hooks = r#"{"hooks": {"SessionStart": [{}]}}"#;
        fs::write(at("clone/.claude/settings.local.json"), hooks).unwrap();
        let role = Role::of(AgentKind::Claude);
        let trusted = |folder: &str| {
            expect_trusted(&role.agent, &role, &at(folder), &at("elsewhere"), &environment(&at("home")))
        };
        for folder in ["clone", "clone/a/b", "tree", "tree/sub"] {
            let error = trusted(folder).unwrap_err().to_string();
            assert!(error.contains(".claude/settings.local.json: hooks"), "{folder}: {error}");
        }
        fs::remove_file(at("clone/.claude/settings.local.json")).unwrap();
        assert!(trusted("clone/a/b").is_ok() && trusted("tree/sub").is_ok());
        // The user's own settings, in a home that is a repository.
        fs::create_dir(at("home/.git")).unwrap();
        fs::create_dir(at("home/work")).unwrap();
        fs::write(at("home/.claude/settings.json"), hooks).unwrap();
        assert!(trusted("home/work").is_ok());
    }

    #[test]
    fn codex_is_told_that_a_folder_is_not_trusted_unless_the_user_has_said_something() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let (home, main) = (place.path().join("home"), place.path().join("main"));
        let tree = place.path().join("tree");
        for folder in [home.join(".codex"), main.join(".git/worktrees/tree"), tree.clone()] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(tree.join(".git"), format!("gitdir: {}\n", main.join(".git/worktrees/tree").display()))
            .unwrap();
        let told = |folder: &Path| codex_untrusted_projects(folder, &environment(&home));
        let names = |told: Map<String, Value>| told.keys().cloned().collect::<Vec<_>>();
        let name = |folder: &Path| folder.to_str().unwrap().to_owned();
        assert_eq!(names(told(&main)), [name(&main)]);
        assert_eq!(names(told(&tree)), [name(&tree), name(&main)]);
        let settings = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", name(&main));
        fs::write(home.join(".codex/config.toml"), settings).unwrap();
        assert!(told(&main).is_empty() && told(&tree).is_empty());
    }
}
