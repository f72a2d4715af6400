//! Commands that the settings of agents in a folder name: hooks, servers, helpers. What of the folder these run is run by the next session.

use std::fs;
use std::path::{Path, PathBuf};

use baton_sandbox::PACKAGES;
use serde_json::{Map, Value, json};

use crate::session_boundary::{CLAUDE_WORK_TREES, COMMAND_SETTINGS};
use crate::session_files::text_of;

/// Not settings of an agent: Baton's own, the repositories, where Claude Code makes its work trees, and what a person starts in an editor.
const EXCLUDED_PATHS: [&str; 7] =
    [".baton", CLAUDE_WORK_TREES, ".git", ".hg", ".zed/debug.json", ".zed/tasks.json", "baton.toml"];
/// The settings of a container that work is done in.
const CONTAINER_SETTINGS: [&str; 2] = [".devcontainer.json", ".devcontainer/devcontainer.json"];
/// Of these, what the host runs: one command, or several by names. All else is run within the container.
const HOST_COMMAND: &str = "initializeCommand";
/// Endings of keys, in small letters, whose text is a command (`command`, `lint-cmd`, `apiKeyHelper`, `awsAuthRefresh`, `toolDiscoveryCommand`).
const COMMAND_KEYS: [&str; 14] = [
    "bash",
    "bwrappath",
    "cmd",
    "command",
    "credentialexport",
    "helper",
    "notify",
    "powershell",
    "program",
    "refresh",
    "ripgrep",
    "run",
    "socatpath",
    "wrapper",
];
/// Below this key, what stands under the name of an event is a command.
const HOOKS: &str = "hooks";
/// Keys of the folder that a command starts in.
const FOLDER_KEYS: [&str; 2] = ["cwd", "workingDirectory"];
/// Files and folders that are looked at.
const ENTRIES_MAX: usize = 2_000;
/// A file that is larger names nothing.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// A word of a command that is longer names nothing.
const WORD_BYTES_MAX: usize = 4 << 10;
/// Commands of which more are not followed.
const COMMANDS_MAX: usize = 500;

/// The commands, each with its program first, as the settings have them, and once more with the folder in the place of variables. Settings
/// in JSON, also with comments, and TOML are read; what is neither names nothing.
pub(crate) fn commands_of_settings(tree: &Path) -> Vec<Vec<String>> {
    let mut commands = Vec::new();
    let mut left: Vec<PathBuf> = COMMAND_SETTINGS.iter().map(PathBuf::from).collect();
    let mut seen = 0;
    while let Some(path) = left.pop() {
        seen += 1;
        if seen > ENTRIES_MAX || commands.len() > COMMANDS_MAX {
            break;
        }
        if EXCLUDED_PATHS.iter().any(|excluded| path.starts_with(excluded)) || path.ends_with(PACKAGES) {
            continue;
        }
        let at = tree.join(&path);
        if at.is_dir() {
            let entries = fs::read_dir(&at).into_iter().flatten().flatten().take(ENTRIES_MAX);
            left.extend(entries.map(|entry| path.join(entry.file_name())));
        } else if let Some(settings) = settings_in(&at) {
            add_commands(&run_by_itself(&path, settings), false, &mut commands);
        }
    }
    let substituted = |command: &Vec<String>| command.iter().map(|word| in_folder(word)).collect::<Vec<_>>();
    commands.truncate(COMMANDS_MAX);
    let more: Vec<Vec<String>> = commands.iter().map(substituted).collect();
    commands.extend(more);
    commands.sort();
    commands.dedup();
    commands
}

/// What of settings is run without a person who starts it, or without a container.
fn run_by_itself(path: &Path, settings: Value) -> Value {
    if !CONTAINER_SETTINGS.iter().any(|name| path == Path::new(name)) {
        return settings;
    }
    let commands: Vec<&Value> = match settings.get(HOST_COMMAND) {
        Some(Value::Object(named)) => named.values().collect(),
        single => single.into_iter().collect(),
    };
    // Under a name by which no key of a command ends.
    json!({ HOOKS: { "": commands } })
}

fn settings_in(file: &Path) -> Option<Value> {
    let text = text_of(file, FILE_BYTES_MAX)?;
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if file.extension().is_some_and(|ending| ending == "toml") {
        return toml::from_str(text).ok();
    }
    match text.starts_with(['{', '[', '/']) {
        true => serde_json::from_str(&without_comments(text)).ok(),
        false => None,
    }
}

/// JSON without comments, and without commas behind the last entry.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut left = text.chars().peekable();
    while let Some(c) = left.next() {
        match (c, left.peek()) {
            ('"', _) => {
                plain.push(c);
                let mut is_escaped = false;
                for c in left.by_ref() {
                    plain.push(c);
                    if c == '"' && !is_escaped {
                        break;
                    }
                    is_escaped = c == '\\' && !is_escaped;
                }
            }
            ('/', Some('/')) => {
                left.by_ref().find(|c| *c == '\n');
                plain.push('\n');
            }
            ('/', Some('*')) => {
                left.next();
                let mut before = ' ';
                left.by_ref().find(|c| std::mem::replace(&mut before, *c) == '*' && *c == '/');
            }
            ('}' | ']', _) => {
                let end = plain.trim_end();
                let end = end.strip_suffix(',').unwrap_or(end).len();
                plain.truncate(end);
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    plain
}

/// `is_of_hooks` where the names of the entries are those of events. What can be parsed is not nested deeply.
fn add_commands(settings: &Value, is_of_hooks: bool, commands: &mut Vec<Vec<String>>) {
    match settings {
        Value::Object(entries) => {
            for (key, value) in entries {
                let key = key.to_ascii_lowercase();
                if COMMAND_KEYS.iter().any(|ending| key.ends_with(ending)) {
                    commands.extend(command_of(value, entries));
                } else if is_of_hooks {
                    let texts = match value {
                        Value::Array(texts) => texts.as_slice(),
                        single => std::slice::from_ref(single),
                    };
                    commands.extend(texts.iter().filter_map(|text| command_of(text, entries)));
                }
                add_commands(value, key == HOOKS, commands);
            }
        }
        Value::Array(entries) => entries.iter().for_each(|entry| add_commands(entry, false, commands)),
        _ => {}
    }
}

/// What stands under the key of a command: one text or several words, with the arguments and the folder that stand beside it.
fn command_of(value: &Value, beside: &Map<String, Value>) -> Option<Vec<String>> {
    let words = match value {
        // A shell is what takes more than a word.
        Value::String(text) if text.contains(char::is_whitespace) => vec!["sh", "-c", text],
        Value::String(text) => vec![text.as_str()],
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let folder = FOLDER_KEYS.iter().find_map(|key| beside.get(*key)?.as_str());
    let folder = folder.map(|folder| ["env", "-C", folder]);
    let arguments = beside.get("args").and_then(Value::as_array).into_iter().flatten();
    let arguments = arguments.filter_map(Value::as_str);
    let all = folder.into_iter().flatten().chain(words).chain(arguments);
    let all: Vec<String> = all.filter(|word| word.len() <= WORD_BYTES_MAX).map(str::to_owned).collect();
    (!all.is_empty()).then_some(all)
}

/// A word with the folder (`.`) in the place of each variable and of each command of which the output is taken. Most of them say where the
/// folder is: `$CLAUDE_PROJECT_DIR`, `${workspaceFolder}`, `$(git rev-parse --show-toplevel)`.
fn in_folder(word: &str) -> String {
    let mut found = String::with_capacity(word.len());
    let mut rest = word;
    while let Some(at) = rest.find(['$', '`']) {
        let (before, from) = rest.split_at(at);
        let (mark, after) = from.split_at(1);
        found.push_str(before);
        let behind = |end: char| after.find(end).map(|at| at + 1);
        let end = match (mark, after.chars().next()) {
            ("`", _) => behind('`'),
            (_, Some('(')) => behind(')'),
            (_, Some('{')) => behind('}'),
            _ => after
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .or(Some(after.len()))
                .filter(|end| *end > 0),
        };
        found.push_str(if end.is_some() { "." } else { mark });
        rest = &after[end.unwrap_or_default()..];
    }
    found.push_str(rest);
    found.replace("\".\"/", "./").replace("'.'/", "./")
}

#[cfg(test)]
mod tests {
    use super::*;

    // N6
    #[test]
    fn commands_of_hooks_servers_and_helpers_are_found_in_settings_of_every_agent() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path();
        let files = [
            (
                ".mcp.json",
                r#"{"mcpServers": {"x": {"command": "sh", "args": ["server.sh"], "cwd": "tools"}}}"#,
            ),
            (
                ".claude/settings.json",
                r#"{"permissions": {"allow": ["Bash(sh allowed.sh)"]}, "apiKeyHelper": "key.sh", "hooks": {"PreToolUse":
                [{"matcher": "Write", "hooks": [{"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/hook.sh -v"}]}]}}"#,
            ),
            (
                ".vscode/mcp.json",
                "// Servers\n{\"servers\": {\"x\": {\"command\": \"node\", /* \" */ \"args\": [\"${workspaceFolder}/x // y.js\",],},}}",
            ),
            (
                ".opencode.json",
                r#"{"mcp": {"x": {"command": ["node", "$(git root)/a.js"]}}, "hooks": {"end": ["sh end.sh"]}}"#,
            ),
            (
                ".codex/config.toml",
                "notify = [\"python3\", \"told.py\"]\n[mcp_servers.x]\ncommand = \"`pwd`/x\"\n",
            ),
            (".gemini/settings.json", "no settings"),
            (".cursor/node_modules/x/package.json", r#"{"command": "sh of-package.sh"}"#),
            (".claude/worktrees/one/.mcp.json", r#"{"command": "sh of-work.sh"}"#),
        ];
        for (file, text) in files {
            fs::create_dir_all(tree.join(file).parent().unwrap()).unwrap();
            fs::write(tree.join(file), text).unwrap();
        }
        let expected: [&[&str]; 11] = [
            &["./x"],
            &["`pwd`/x"],
            &["env", "-C", "tools", "sh", "server.sh"],
            &["key.sh"],
            &["node", "$(git root)/a.js"],
            &["node", "${workspaceFolder}/x // y.js"],
            &["node", "./a.js"],
            &["node", "./x // y.js"],
            &["python3", "told.py"],
            &["sh", "-c", "\"$CLAUDE_PROJECT_DIR\"/hook.sh -v"],
            &["sh", "-c", "./hook.sh -v"],
        ];
        let mut expected: Vec<Vec<String>> =
            expected.iter().map(|command| command.iter().map(|word| (*word).to_owned()).collect()).collect();
        expected.push(["sh", "-c", "sh end.sh"].map(str::to_owned).to_vec());
        expected.sort();
        assert_eq!(commands_of_settings(tree), expected);
    }

    #[test]
    fn of_a_container_and_an_editor_only_what_the_host_runs_by_itself_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path();
        for folder in [".devcontainer", ".zed"] {
            fs::create_dir(tree.join(folder)).unwrap();
        }
        let container =
            r#"{"initializeCommand": ["sh", "tools/init.sh"], "postCreateCommand": "npm install"}"#;
        fs::write(tree.join(".devcontainer.json"), container).unwrap();
        let container =
            r#"{"initializeCommand": {"a": "sh a.sh", "run": ["sh", "b.sh"]}, "onCreateCommand": "make"}"#;
        fs::write(tree.join(".devcontainer/devcontainer.json"), container).unwrap();
        fs::write(tree.join(".zed/tasks.json"), r#"[{"label": "t", "command": "make test"}]"#).unwrap();
        let zed = r#"{"context_servers": {"x": {"command": "node", "args": ["server.js"]}}}"#;
        fs::write(tree.join(".zed/settings.json"), zed).unwrap();
        let expected: [&[&str]; 4] =
            [&["node", "server.js"], &["sh", "-c", "sh a.sh"], &["sh", "b.sh"], &["sh", "tools/init.sh"]];
        assert_eq!(commands_of_settings(tree), expected);
    }

    #[test]
    fn unfinished_settings_name_nothing() {
        let place = tempfile::tempdir().unwrap();
        let deep = "[".repeat(100_000);
        for text in ["{\"command\": \"sh x\"", "/*", "//", "{\"", "{\"a\\", "[,]", "", deep.as_str()] {
            fs::write(place.path().join(".mcp.json"), text).unwrap();
            assert_eq!(commands_of_settings(place.path()), Vec::<Vec<String>>::new(), "{}", text.len());
        }
        for (word, expected) in
            [("a$", "a$"), ("$", "$"), ("`x", "`x"), ("${x", "${x"), ("ä$ö/é", "ä./é"), ("$$a", "$.")]
        {
            assert_eq!(in_folder(word), expected);
        }
    }
}
