//! Interprets the input of a call, for the different keys of agents: whether it is a command, and which paths it may affect.

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
/// Keys of Codex with further data on a command.
const CODEX_KEYS: [&str; 4] =
    ["availabledecisions", "commandactions", "parsedcmd", "proposedexecpolicyamendment"];
const FOLDER_KEYS: [&str; 3] = ["cwd", "workdir", "workingdirectory"];
/// Keys of the file of an edit, and of both ends of a move.
const FILE_KEYS: [&str; 24] = [
    "absolutepath",
    "abspath",
    "dest",
    "destination",
    "dst",
    "file",
    "filename",
    "filepath",
    "filepaths",
    "files",
    "from",
    "movepath",
    "newpath",
    "notebookpath",
    "oldpath",
    "path",
    "paths",
    "relativepath",
    "relativeworkspacepath",
    "source",
    "src",
    "target",
    "targetfile",
    "to",
];
/// Keys of remarks about a call.
const REMARK_KEYS: [&str; 10] = [
    "commanddescription",
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
/// Of these, what goes with a command.
const COMMAND_REMARK_KEYS: [&str; 6] =
    ["commanddescription", "description", "explanation", "justification", "reason", "title"];
/// Keys of ids, times and the like, which have one word.
const ID_KEYS: [&str; 14] = [
    "approvalid",
    "callid",
    "id",
    "isbackground",
    "itemid",
    "processid",
    "runinbackground",
    "sessionid",
    "startedatms",
    "threadid",
    "timeout",
    "timeoutms",
    "toolcallid",
    "turnid",
];
/// Keys of a choice among words.
const CHOICE_KEYS: [&str; 15] = [
    "action",
    "cellid",
    "cellnumber",
    "celltype",
    "changetype",
    "editmode",
    "edittype",
    "encoding",
    "kind",
    "language",
    "mode",
    "op",
    "operation",
    "status",
    "type",
];
/// Keys of search locations other than files, and of search terms, thoughts or plans.
const LOOK_KEYS: [&str; 58] = [
    "activeform",
    "agent",
    "content",
    "dir",
    "directory",
    "directorypath",
    "dirpath",
    "exclude",
    "excludepattern",
    "excludes",
    "extension",
    "extensions",
    "fileglob",
    "filepattern",
    "filetype",
    "filter",
    "folder",
    "glob",
    "globpattern",
    "globs",
    "header",
    "include",
    "includepattern",
    "includes",
    "keyword",
    "keywords",
    "label",
    "line",
    "lines",
    "model",
    "name",
    "note",
    "notes",
    "outputmode",
    "pages",
    "parentdir",
    "pattern",
    "patterns",
    "plan",
    "priority",
    "prompt",
    "q",
    "queries",
    "query",
    "question",
    "questions",
    "regex",
    "regexp",
    "root",
    "search",
    "searchpattern",
    "searchquery",
    "searchterm",
    "subagenttype",
    "targetdirectory",
    "task",
    "term",
    "thoughts",
];
/// Keys of the text that a file has before it is removed.
const REMOVED_TEXT_KEYS: [&str; 4] = ["before", "content", "oldcontent", "oldtext"];
/// Keys of text that is read from a file or written to it.
const TEXT_KEYS: [&str; 26] = [
    "after",
    "aiproposedcontent",
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
/// Keys of a text that names files in separate lines.
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

/// What a call does by its kind, as far as its input is read in another way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputUse {
    /// Reads, looks for something or thinks.
    Look,
    /// Writes texts into files.
    Write,
    /// Moves or deletes files.
    Remove,
}

/// What the strings of an input name.
#[derive(Debug, Default)]
pub(super) struct NamedPaths<'a> {
    /// Every text that could be a path, even if it is none.
    pub(super) possible: Vec<&'a str>,
    /// What is one.
    pub(super) certain: Vec<&'a str>,
    /// The folder in which it works.
    pub(super) folders: Vec<&'a str>,
    /// Keys of what could be anything, also a command.
    pub(super) unknown: Vec<&'a str>,
}

/// Words in names of tools that run commands.
const SHELL_WORDS: [&str; 6] = ["bash", "command", "exec", "powershell", "shell", "terminal"];
/// A word of a choice is not longer.
const WORD_BYTES: usize = 128;

fn key_of(key: &str) -> String {
    key.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
}

fn is_one_of(keys: &[&str], key: &str) -> bool {
    keys.contains(&key_of(key).as_str())
}

/// Whether a text is one word, without anything that means something to a shell.
fn is_word(text: &str) -> bool {
    text.len() <= WORD_BYTES && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-:.".contains(c))
}

/// Whether a key could be a name and nothing else.
fn is_key_name(key: &str) -> bool {
    key.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
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

/// Whether the name of a tool says that it runs commands.
pub(super) fn names_shell(tool: &str) -> bool {
    let tool = key_of(tool);
    SHELL_WORDS.iter().any(|word| tool.contains(word))
}

/// The first key of an input whose value may change the meaning of its command; none if there is no such key.
pub(super) fn key_beside_command(input: &Value) -> Option<&str> {
    let Some(fields) = input.as_object() else { return (!is_idle(input)).then_some("rawInput") };
    let is_known = |key: &str, value: &Value| match value {
        _ if key == "command" || is_idle(value) => true,
        Value::String(text) if key_of(key) == "source" => is_word(text),
        _ if is_one_of(&CODEX_KEYS, key) => true,
        Value::String(_) if is_one_of(&COMMAND_REMARK_KEYS, key) || is_one_of(&FOLDER_KEYS, key) => true,
        Value::String(text) => is_one_of(&ID_KEYS, key) && is_word(text),
        Value::Bool(_) | Value::Number(_) => is_one_of(&ID_KEYS, key),
        _ => false,
    };
    fields.iter().find(|(key, value)| !is_known(key, value)).map(|(key, _)| key.as_str())
}

/// The folders in which a command is to run; none for one that is not named by a text.
pub(super) fn folders_of(input: &Value) -> impl Iterator<Item = Option<&str>> {
    let fields = input.as_object().into_iter().flatten();
    let folders = fields.filter(|(key, value)| is_one_of(&FOLDER_KEYS, key) && !value.is_null());
    folders.map(|(_, value)| value.as_str())
}

/// The paths that the input of a call other than a command names, including all texts that are not known to be harmless.
pub(super) fn paths_of(input: &Value, input_use: InputUse) -> NamedPaths<'_> {
    let mut named = NamedPaths::default();
    add_paths(&mut named, "", input, input_use);
    named
}

fn add_paths<'a>(named: &mut NamedPaths<'a>, key: &'a str, value: &'a Value, input_use: InputUse) {
    match value {
        Value::String(text) => add_path(named, key, text, input_use),
        Value::Array(values) => values.iter().for_each(|value| add_paths(named, key, value, input_use)),
        Value::Object(fields) => {
            for (key, value) in fields {
                // Some list changes by the files that they are of.
                named.possible.push(key);
                if key.starts_with('/') && input_use != InputUse::Look {
                    named.certain.push(key);
                } else if !is_key_name(key) {
                    named.unknown.push(key);
                }
                add_paths(named, key, value, input_use);
            }
        }
        _ => {}
    }
}

fn add_path<'a>(named: &mut NamedPaths<'a>, key: &'a str, text: &'a str, input_use: InputUse) {
    let texts = match input_use {
        InputUse::Look => LOOK_KEYS.as_slice(),
        InputUse::Write => TEXT_KEYS.as_slice(),
        InputUse::Remove => REMOVED_TEXT_KEYS.as_slice(),
    };
    let is_text = is_one_of(&REMARK_KEYS, key) || is_one_of(texts, key);
    let is_choice = is_one_of(&ID_KEYS, key) || is_one_of(&CHOICE_KEYS, key);
    if is_text || text.is_empty() || is_choice && is_word(text) {
        return;
    }
    if is_one_of(&FILE_KEYS, key) {
        named.possible.push(text);
        named.certain.push(text);
    } else if is_one_of(&FOLDER_KEYS, key) {
        named.folders.push(text);
    } else if input_use != InputUse::Look && is_one_of(&PATCH_KEYS, key) && is_patch(key, text) {
        named.possible.extend(text.lines().flat_map(paths_of_line));
    } else {
        named.possible.push(text);
        named.unknown.push(key);
    }
}

/// Whether the text under the key of a patch is one. `input` could be anything.
fn is_patch(key: &str, text: &str) -> bool {
    let text = text.trim();
    let is_head = |head: &&str| text.starts_with(head.trim_end());
    text.contains('\n')
        && (key_of(key) != "input" || text.starts_with("*** Begin Patch") || PATCH_HEADS.iter().any(is_head))
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
        // N6: the data that the adapters of Claude Code and of Codex send; and data that changes the command.
        for beside in [
            json!({ "description": "Run it", "timeout": 1000, "run_in_background": true }),
            json!({ "cwd": "/w", "source": "unified_exec_startup", "process_id": "29241" }),
            json!({ "call_id": "c", "turn_id": "t", "started_at_ms": 1, "cwd": "/w", "reason": "r", "parsed_cmd": [{ "type": "unknown", "cmd": "x" }],
                    "proposed_execpolicy_amendment": ["x"], "available_decisions": ["approved"], "network_approval_context": null }),
        ] {
            let mut input = beside.clone();
            input["command"] = json!("x");
            assert_eq!(key_beside_command(&input), None, "{input}");
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
            "message",
            "mode",
            "additionalPermissions",
            "url",
        ] {
            assert_eq!(key_beside_command(&json!({ "command": "x", key: "y" })), Some(key));
        }
        for input in [
            json!({ "command": "x", "id": "rm -rf y" }),
            json!({ "command": "x", "source": "print(1)" }),
            json!({ "command": "x", "description": { "run": "y" } }),
            json!({ "command": "x", "timeout": ["y"] }),
            json!("x"),
            json!(["x"]),
        ] {
            assert!(key_beside_command(&input).is_some(), "{input}");
        }
    }

    #[test]
    fn a_string_under_a_key_that_is_not_known_could_be_a_command() {
        // N6
        let unknown = |input: &Value, input_use| !paths_of(input, input_use).unknown.is_empty();
        for input_use in [InputUse::Look, InputUse::Write, InputUse::Remove] {
            for input in [
                json!({ "path": "a", "do": "make" }),
                json!({ "path": "a", "options": [{ "run_it": ["make"] }] }),
                json!({ "path": "a", "arguments": "{\"command\":\"make\"}" }),
                json!({ "path": "a", "input": "make x\nmake y\n" }),
                json!({ "path": "a", "mode": "make x" }),
                json!({ "path": "a", "make; x": true }),
                json!({ "path": "a", "url": "https://example.org" }),
                json!("make"),
                json!(["make"]),
            ] {
                assert!(unknown(&input, input_use), "{input_use:?}: {input}");
            }
            let known =
                json!({ "file_path": "a b", "description": "make x", "type": "add", "limit": 5, "id": "" });
            assert!(!unknown(&known, input_use), "{input_use:?}");
        }
        for input in [
            json!({ "pattern": "rm -rf", "path": "/w", "glob": "*.rs", "output_mode": "content", "-n": true }),
            json!({ "todos": [{ "content": "Do it", "status": "pending", "activeForm": "Doing it" }] }),
            json!({ "description": "Look", "prompt": "Look for it", "subagent_type": "Explore" }),
        ] {
            assert!(!unknown(&input, InputUse::Look), "{input}");
        }
        assert!(unknown(&json!({ "code": "x()" }), InputUse::Look));
        let patch = json!({ "input": "*** Begin Patch\n*** Update File: a\n*** End Patch" });
        assert!(!unknown(&patch, InputUse::Write));
    }

    #[test]
    fn every_string_of_an_edit_may_be_a_path_but_for_its_text() {
        // N6
        let patch = "*** Begin Patch\n*** Update File: /p\n+++ b/q\t2020\n--- /dev/null\n rename to x\n";
        let input = json!({
            "file_path": "a", "content": "/text", "edits": [{ "file": "b", "newText": "/new" }], "changes": { "/c": { "add": { "content": "/d" } } },
            "Uri": "file:///e", "patch": patch, "title": "/f", "cwd": "/g",
        });
        let named = paths_of(&input, InputUse::Write);
        for path in ["a", "b", "/c", "file:///e", "/p", "b/q", "q"] {
            assert!(named.possible.contains(&path), "{path}: {named:?}");
        }
        for text in ["/text", "/new", "/d", "/f", "/dev/null", "x"] {
            assert!(!named.possible.contains(&text), "{text}: {named:?}");
        }
        assert_eq!(named.certain.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from(["/c", "a", "b"]));
        assert_eq!((named.folders, named.unknown), (vec!["/g"], vec!["Uri"]));
        // A move has no text.
        let input = json!({ "path": "a", "text": "/b" });
        assert!(paths_of(&input, InputUse::Remove).possible.contains(&"/b"));
        assert!(paths_of(&json!({ "mode": "x" }), InputUse::Write).certain.is_empty());
    }
}
