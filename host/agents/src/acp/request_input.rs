//! What the input of a call says, whatever keys an agent has for it: whether it is a command, and what it may be about.

use serde_json::Value;

/// Keys of a command. Keys are compared by their letters and digits: `commandLine` is `command_line`.
const COMMAND_KEYS: [&str; 15] = [
    "argv",
    "bash",
    "bashcommand",
    "cmd",
    "cmdline",
    "command",
    "commandline",
    "commands",
    "exec",
    "executable",
    "powershell",
    "program",
    "script",
    "shell",
    "shellcommand",
];
/// What may go with the command of a call, and makes no other one of it. The folders among these are looked at.
const KEYS_BESIDE_COMMAND: [&str; 27] = [
    "approvalid",
    "availabledecisions",
    "callid",
    "commandactions",
    "commanddescription",
    "cwd",
    "description",
    "explanation",
    "id",
    "isbackground",
    "itemid",
    "justification",
    "parsedcmd",
    "processid",
    "proposedexecpolicyamendment",
    "reason",
    "runinbackground",
    "source",
    "startedatms",
    "threadid",
    "timeout",
    "timeoutms",
    "title",
    "toolcallid",
    "turnid",
    "workdir",
    "workingdirectory",
];
const FOLDER_KEYS: [&str; 3] = ["cwd", "workdir", "workingdirectory"];
/// Keys of the file of an edit, and of both ends of a move.
const FILE_KEYS: [&str; 16] = [
    "abspath",
    "dest",
    "destination",
    "dst",
    "file",
    "filepath",
    "from",
    "newpath",
    "notebookpath",
    "oldpath",
    "path",
    "source",
    "src",
    "target",
    "targetfile",
    "to",
];
/// Keys of what is said about a call.
const REMARK_KEYS: [&str; 9] = [
    "description",
    "explanation",
    "instruction",
    "instructions",
    "justification",
    "message",
    "reason",
    "thought",
    "title",
];
/// Keys of what is read from a file or written to it.
const TEXT_KEYS: [&str; 25] = [
    "after",
    "before",
    "code",
    "codeedit",
    "content",
    "contents",
    "filetext",
    "find",
    "inserttext",
    "line",
    "lines",
    "newcontent",
    "newsource",
    "newstr",
    "newstring",
    "newtext",
    "oldcontent",
    "oldsource",
    "oldstr",
    "oldstring",
    "oldtext",
    "pattern",
    "replace",
    "replacement",
    "text",
];
/// Keys of a text that names files in lines of its own.
const PATCH_KEYS: [&str; 5] = ["diff", "input", "patch", "patchtext", "unifieddiff"];
/// How such lines begin.
const PATCH_HEADS: [&str; 12] = [
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
    "*** Update File: ",
    "+++ ",
    "--- ",
    "Index: ",
    "copy from ",
    "copy to ",
    "rename from ",
    "rename to ",
    "diff --git ",
];

/// What the strings of an input may be names of.
#[derive(Debug, Default)]
pub(super) struct NamedPaths<'a> {
    /// Everything that could be a path, also what is none.
    pub(super) possible: Vec<&'a str>,
    /// What is one.
    pub(super) certain: Vec<&'a str>,
}

fn key_of(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn is_one_of(keys: &[&str], key: &str) -> bool {
    keys.contains(&key_of(key).as_str())
}

/// Says nothing.
fn is_idle(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Whether a command is in it, at any depth.
pub(super) fn has_command(input: &Value) -> bool {
    match input {
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| is_one_of(&COMMAND_KEYS, key) && !is_idle(value) || has_command(value)),
        Value::Array(values) => values.iter().any(has_command),
        _ => false,
    }
}

/// Whether only what cannot make another command of it goes with the command of a call.
pub(super) fn is_command_alone(input: &Value) -> bool {
    input.as_object().is_some_and(|fields| {
        fields
            .iter()
            .all(|(key, value)| key == "command" || is_idle(value) || is_one_of(&KEYS_BESIDE_COMMAND, key))
    })
}

/// The folders in which a command is to run; none for one that is not named by a text.
pub(super) fn folders_of(input: &Value) -> impl Iterator<Item = Option<&str>> {
    let fields = input.as_object().into_iter().flatten();
    let folders = fields.filter(|(key, value)| is_one_of(&FOLDER_KEYS, key) && !value.is_null());
    folders.map(|(_, value)| value.as_str())
}

/// What the input of an edit names. In one that does not `write`, as a move, nothing is the text of a file.
pub(super) fn paths_of(input: &Value, writes: bool) -> NamedPaths<'_> {
    let mut named = NamedPaths::default();
    add_paths(&mut named, "", input, writes);
    named
}

fn add_paths<'a>(named: &mut NamedPaths<'a>, key: &str, value: &'a Value, writes: bool) {
    match value {
        Value::String(_) if is_one_of(&REMARK_KEYS, key) => {}
        Value::String(_) if writes && is_one_of(&TEXT_KEYS, key) => {}
        Value::String(text) if is_one_of(&PATCH_KEYS, key) && text.trim().contains('\n') => {
            named.possible.extend(text.lines().flat_map(paths_of_line));
        }
        Value::String(text) => {
            let text = text.trim();
            named.possible.push(text);
            if is_one_of(&FILE_KEYS, key) || text.starts_with('/') {
                named.certain.push(text);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| add_paths(named, key, value, writes)),
        Value::Object(fields) => {
            for (key, value) in fields {
                // Some list changes by the files that they are of.
                named.possible.push(key);
                if key.starts_with('/') {
                    named.certain.push(key);
                }
                add_paths(named, key, value, writes);
            }
        }
        _ => {}
    }
}

/// What a line of a patch names, also without the `a/` and `b/` that git puts before names.
fn paths_of_line(line: &str) -> Vec<&str> {
    let Some(rest) = PATCH_HEADS.iter().find_map(|head| line.strip_prefix(head)) else { return Vec::new() };
    let names = match line.starts_with("diff --git ") {
        true => rest.split(' ').collect(),
        false => vec![rest.split('\t').next().unwrap_or(rest).trim()],
    };
    let short: Vec<&str> =
        names.iter().filter_map(|name| name.strip_prefix("a/").or_else(|| name.strip_prefix("b/"))).collect();
    names.into_iter().chain(short).filter(|name| *name != "/dev/null").collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use serde_json::json;

    #[test]
    fn a_command_is_one_by_any_of_its_keys() {
        // N6
        for input in [
            json!({ "command": "x" }),
            json!({ "Cmd": "x" }),
            json!({ "command_line": "x" }),
            json!({ "arguments": [{ "argv": ["x"] }] }),
            json!({ "path": "a", "options": { "script": "x" } }),
        ] {
            assert!(has_command(&input), "{input}");
        }
        for input in [
            json!({ "path": "a", "command": null }),
            json!({ "pattern": "command" }),
            json!({ "file_path": "/w/command", "content": "cmd" }),
            json!({}),
        ] {
            assert!(!has_command(&input), "{input}");
        }
    }

    #[test]
    fn only_what_is_known_goes_with_a_command() {
        // N6: what the adapters of Claude Code and of Codex tell; and what makes another command of it.
        for beside in [
            json!({ "description": "Run it", "timeout": 1000, "run_in_background": true }),
            json!({ "cwd": "/w" }),
            json!({ "call_id": "c", "turn_id": "t", "started_at_ms": 1, "cwd": "/w", "reason": "r", "parsed_cmd": [{ "type": "unknown", "cmd": "x" }],
                    "proposed_execpolicy_amendment": ["x"], "available_decisions": ["approved"], "network_approval_context": null }),
        ] {
            let mut input = beside.clone();
            input["command"] = json!("x");
            assert!(is_command_alone(&input), "{input}");
        }
        for key in [
            "Command",
            "script",
            "cmd",
            "shell",
            "environ",
            "directory",
            "dir",
            "folder",
            "input",
            "additionalPermissions",
            "url",
        ] {
            assert!(!is_command_alone(&json!({ "command": "x", key: "y" })), "{key}");
        }
    }

    #[test]
    fn every_string_of_an_edit_may_be_a_path_but_for_its_text() {
        // N6
        let patch = "*** Begin Patch\n*** Update File: /p\n+++ b/q\t2020\n--- /dev/null\n rename to x\n";
        let input = json!({
            "file_path": "a", "content": "/text", "edits": [{ "file": "b", "newText": "/new" }], "changes": { "/c": { "add": { "content": "/d" } } },
            "Uri": "file:///e", "patch": patch, "title": "/f",
        });
        let named = paths_of(&input, true);
        for path in ["a", "b", "/c", "file:///e", "/p", "b/q", "q"] {
            assert!(named.possible.contains(&path), "{path}: {named:?}");
        }
        for text in ["/text", "/new", "/d", "/f", "/dev/null", "x"] {
            assert!(!named.possible.contains(&text), "{text}: {named:?}");
        }
        assert_eq!(named.certain.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from(["/c", "a", "b"]));
        // A move has no text.
        let input = json!({ "path": "a", "text": "/b" });
        assert!(paths_of(&input, false).possible.contains(&"/b"));
        assert!(paths_of(&json!({ "mode": "x" }), true).certain.is_empty());
    }
}
