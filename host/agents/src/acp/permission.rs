//! Answers an agent's permission requests from the permissions of its role, without asking the user.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, ToolKind,
};
use baton_core::workflow::Permission;
use serde_json::{Value, json};

use super::edit_path::{is_inside, real_path};
use super::line_handler::AcpProtocolState;
use super::request_input::{InputUse, folders_of, has_command, key_beside_command, names_shell, paths_of};
use super::told_calls::{CallRecord, CallTelling};
use crate::command_allowlist::CommandAllowlist;
use crate::driver::SharedDecoder;

/// Names of files that are looked for at one request.
const PATHS_MAX: usize = 2000;
/// A reason is not longer. It has words of the agent in it.
const REASON_CHARS: usize = 400;

/// What an agent may do without asking.
pub(super) struct AcpPermissions {
    pub(super) permission: Permission,
    pub(super) workspace: PathBuf,
    /// Name of the server of Baton's own tools.
    pub(super) own_server: Option<String>,
    /// The commands that it may run.
    pub(super) commands: CommandAllowlist,
    /// What the agent has told of its calls: a request may name one by its id alone.
    pub(super) protocol_state: SharedDecoder<AcpProtocolState>,
}

/// How long a permission lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AllowedUse {
    Once,
    Always,
}

impl AcpPermissions {
    /// Answers a permission request from the role, since no user is present to be asked. A refusal has its reason in `_meta`.
    pub(super) fn answer(&self, request: &RequestPermissionRequest) -> RequestPermissionResponse {
        let judged = self.judge(request);
        // Once rather than always: the next request is answered by the same rule.
        let wanted: &[PermissionOptionKind] = match judged {
            Ok(AllowedUse::Once) => &[PermissionOptionKind::AllowOnce],
            Ok(AllowedUse::Always) => &[PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways],
            Err(_) => &[PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways],
        };
        let find = |kind: &PermissionOptionKind| {
            request.options.iter().find(|option: &&PermissionOption| option.kind == *kind)
        };
        let outcome = match wanted.iter().find_map(find) {
            Some(option) => {
                RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
            }
            None => RequestPermissionOutcome::Cancelled,
        };
        let reason = |reason: String| {
            let reason: String = reason.chars().take(REASON_CHARS).collect();
            serde_json::Map::from_iter([("baton".to_owned(), json!({ "reason": reason }))])
        };
        RequestPermissionResponse::new(outcome).meta(judged.err().map(reason))
    }

    /// Judges a call by all data about it, from the request and from earlier messages. The error says why it is refused.
    fn judge(&self, request: &RequestPermissionRequest) -> Result<AllowedUse, String> {
        if self.permission == Permission::Full {
            return Ok(AllowedUse::Always);
        }
        let mut call = self.protocol_state.lock().calls.of(&request.tool_call.tool_call_id.0);
        let told = serde_json::to_value(&request.tool_call).and_then(serde_json::from_value::<CallTelling>);
        call.add(&told.map_err(|error| format!("the request cannot be read: {error}"))?);
        if call.is_incomplete {
            return Err("a part of what was told of this call is too long or too old to be judged".to_owned());
        }
        let inputs = call.inputs();
        let kinds = kinds_of(&call);
        // What its kind says is the agent's reading of it: a command that only reads may start anything.
        let is_command = kinds.contains(&ToolKind::Execute)
            || call.has_terminal
            || call.names.iter().any(|name| names_shell(name) && !self.is_own_name(name))
            || inputs.iter().any(has_command);
        if is_command {
            return self.judge_command(&inputs).map(|()| AllowedUse::Once);
        }
        if kinds == [ToolKind::Other] {
            // What they change is the run's own journal: no role forbids that.
            let is_own = self.own_server.as_ref().is_some_and(|own| is_of_server(&call, &inputs, own));
            let other =
                || "the call is of none of Baton's own tools, and what it does is not known".to_owned();
            return is_own.then_some(AllowedUse::Always).ok_or_else(other);
        }
        let looks = |kind: &ToolKind| matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Think);
        let removes = |kind: &ToolKind| matches!(kind, ToolKind::Delete | ToolKind::Move);
        if kinds.iter().all(looks) {
            let known =
                inputs.iter().try_for_each(|input| expect_known(&paths_of(input, InputUse::Look).unknown));
            return known.map(|()| AllowedUse::Once);
        }
        let edits = |kind: &ToolKind| *kind == ToolKind::Edit || removes(kind) || looks(kind);
        if self.permission != Permission::Edit || !kinds.iter().all(edits) {
            return Err("the role's permission does not allow calls of this kind".to_owned());
        }
        let input_use = if kinds.iter().any(removes) { InputUse::Remove } else { InputUse::Write };
        let files = if kinds.contains(&ToolKind::Move) { 2 } else { 1 };
        self.judge_edit(&call, &inputs, input_use, files).map(|()| AllowedUse::Once)
    }

    /// Checks that a call is only a command that may be run, in the workspace. If several inputs were reported, each of them
    /// must be allowed.
    fn judge_command(&self, inputs: &[Value]) -> Result<(), String> {
        let is_in_work = |folder: &str| real_path(Path::new(folder), &self.workspace).is_some();
        let mut has_one = false;
        for input in inputs {
            if !folders_of(input).all(|folder| folder.is_some_and(is_in_work)) {
                return Err("the command is to run outside of the work tree".to_owned());
            }
            if let Some(key) = key_beside_command(input) {
                return Err(format!("`{key}` beside the command could make another one of it"));
            }
            if input.get("command").is_some_and(|command| !command.is_null()) {
                if !self.commands.allow_call(input) {
                    return Err("the role does not allow this command".to_owned());
                }
                has_one = true;
            }
        }
        has_one
            .then_some(())
            .ok_or_else(|| "the call is a command, and `rawInput.command` does not name it".to_owned())
    }

    /// Checks that an edit names its `files`, and that no path in it is outside of the workspace.
    fn judge_edit(
        &self,
        call: &CallRecord,
        inputs: &[Value],
        input_use: InputUse,
        files: usize,
    ) -> Result<(), String> {
        let mut certain: BTreeSet<&str> = call.paths.iter().map(String::as_str).collect();
        let (mut possible, mut folders) = (certain.clone(), BTreeSet::new());
        for input in inputs {
            let named = paths_of(input, input_use);
            expect_known(&named.unknown)?;
            certain.extend(named.certain);
            possible.extend(named.possible);
            folders.extend(named.folders);
        }
        // Each is looked for among the files.
        if possible.len() + folders.len() > PATHS_MAX {
            return Err(format!("the call names more than {PATHS_MAX} files"));
        }
        let is_root = |folder: &&str| {
            real_path(Path::new(folder), &self.workspace).is_some_and(|within| within.as_os_str().is_empty())
        };
        if !folders.iter().all(is_root) {
            return Err("the edit is to be made in another folder than the work tree".to_owned());
        }
        let removes = input_use == InputUse::Remove;
        if let Some(path) = possible.iter().find(|path| !is_inside(path, &self.workspace, removes)) {
            return Err(format!(
                "{path:?} is not a plain path of a file in the work tree that an agent may change"
            ));
        }
        // What names no file could be any, and so could the end of a move.
        let found: BTreeSet<PathBuf> =
            certain.iter().filter_map(|path| real_path(Path::new(path), &self.workspace)).collect();
        match found.len() >= files {
            true => Ok(()),
            false => Err("the call does not name the files that it changes".to_owned()),
        }
    }

    fn is_own_name(&self, name: &str) -> bool {
        self.own_server.as_ref().is_some_and(|own| is_tool_of(name, own))
    }
}

/// Refuses what could be a command.
fn expect_known(unknown: &[&str]) -> Result<(), String> {
    match unknown.first() {
        None => Ok(()),
        Some(key) => Err(format!("what `{key}` of the input says could be a command or an address")),
    }
}

/// The kinds that were reported for a call, each once.
fn kinds_of(call: &CallRecord) -> Vec<ToolKind> {
    let kind = |told: &String| serde_json::from_value(json!(told)).unwrap_or_default();
    let mut kinds: Vec<ToolKind> = Vec::new();
    for kind in call.kinds.iter().map(kind) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    if kinds.is_empty() { vec![ToolKind::Other] } else { kinds }
}

/// Whether the data of a call names this MCP server, and no other. Each agent has its own form for that.
fn is_of_server(call: &CallRecord, inputs: &[Value], server: &str) -> bool {
    // The adapter of Claude Code names the server.
    if !call.servers.is_empty() {
        return call.servers.iter().all(|named| named == server);
    }
    let is_foreign = |name: &String| !is_tool_of(name, server) && !is_tool_name(name);
    if call.names.iter().any(is_foreign) {
        return false;
    }
    // And so does that of Codex. In another form, the words are the model's own.
    let codex = |input: &&Value| {
        input["tool"].is_string()
            && input
                .as_object()
                .is_some_and(|fields| fields.keys().all(|key| CODEX_CALL_KEYS.contains(&&**key)))
    };
    let mut servers = inputs.iter().filter(codex).filter_map(|input| input["server"].as_str()).peekable();
    if servers.peek().is_some() {
        return servers.all(|named| named == server);
    }
    // Others name the tool by its server.
    let names = if call.names.is_empty() { &call.titles } else { &call.names };
    !names.is_empty() && names.iter().all(|name| is_tool_of(name, server))
}

/// What the adapter of Codex tells of a call of an MCP server.
const CODEX_CALL_KEYS: [&str; 3] = ["arguments", "server", "tool"];

/// Whether a name is that of a tool of this server: `mcp__baton__x`, `mcp.baton.x`, `baton.x`, `baton/x`, `baton: x`, or
/// `x (baton MCP Server)`.
fn is_tool_of(name: &str, server: &str) -> bool {
    let named = name.strip_prefix("mcp__").or_else(|| name.strip_prefix("mcp.")).unwrap_or(name);
    let behind = named.strip_prefix(server).is_some_and(|rest| {
        ["__", ".", "/", ": "].iter().any(|between| rest.strip_prefix(between).is_some_and(is_tool_name))
    });
    behind || named.strip_suffix(&format!(" ({server} MCP Server)")).is_some_and(is_tool_name)
}

fn is_tool_name(name: &str) -> bool {
    !name.is_empty() && !name.contains("__") && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_core::facts::Capabilities;
    use serde_json::json;

    fn permissions(permission: Permission, workspace: &Path) -> AcpPermissions {
        let commands = CommandAllowlist { patterns: vec!["make x*".to_owned()], ..Default::default() };
        let own_server = Some("baton".to_owned());
        let protocol_state = SharedDecoder::new(AcpProtocolState::new(Capabilities::default()));
        let workspace = workspace.to_owned();
        AcpPermissions { permission, workspace, own_server, commands, protocol_state }
    }

    fn is_allowed(permissions: &AcpPermissions, call: &Value) -> bool {
        let options = json!([{ "optionId": "y", "name": "Yes", "kind": "allow_once" }]);
        let request = json!({ "sessionId": "a", "toolCall": call, "options": options });
        let answer = permissions.answer(&serde_json::from_value(request).unwrap());
        let is_allowed = matches!(answer.outcome, RequestPermissionOutcome::Selected(_));
        let reason = serde_json::to_value(&answer).unwrap()["_meta"]["baton"]["reason"].is_string();
        assert_eq!(is_allowed, !reason, "a refusal has a reason: {answer:?}");
        is_allowed
    }

    /// Whether each of these requests, a kind and an input, is allowed in this folder.
    fn answers(permission: Permission, workspace: &Path, asked: &[(&str, Value)]) -> Vec<bool> {
        let permissions = permissions(permission, workspace);
        let call = |kind: &str, input: &Value| json!({ "toolCallId": "c", "title": "mcp__baton__x", "kind": kind, "rawInput": input });
        asked.iter().map(|(kind, input)| is_allowed(&permissions, &call(kind, input))).collect()
    }

    /// Whether the last of these messages about a call, a request, is allowed after the others.
    fn is_allowed_after(permissions: &AcpPermissions, told: &[Value], id: &str) -> bool {
        let with_id = |call: &Value, what: &str| {
            let mut call = call.clone();
            call["toolCallId"] = json!(id);
            call["sessionUpdate"] = json!(what);
            call
        };
        let (request, before) = told.split_last().unwrap();
        for (at, call) in before.iter().enumerate() {
            let what = if at == 0 { "tool_call" } else { "tool_call_update" };
            let message = json!({ "method": "session/update", "params": { "update": with_id(call, what) } });
            permissions.protocol_state.lock().calls.take(message.to_string().as_bytes());
        }
        is_allowed(permissions, &with_id(request, ""))
    }

    #[test]
    fn a_request_is_judged_by_all_that_was_told_of_its_call() {
        // N6: a request that named its call by the id alone was judged by only a part of what the agent would run.
        let permissions = permissions(Permission::Edit, Path::new("/w/work"));
        let edit = || json!({ "kind": "edit", "rawInput": { "path": "a.txt" } });
        let allowed = [
            vec![
                json!({ "kind": "execute", "rawInput": {} }),
                json!({ "rawInput": { "command": "make x" } }),
                json!({}),
            ],
            vec![
                json!({ "kind": "execute", "rawInput": { "command": "make x" } }),
                json!({ "rawInput": { "command": ["bash", "-lc", "make x"] } }),
            ],
            vec![edit(), json!({})],
            vec![json!({ "title": "Preparing", "kind": "edit", "locations": [{ "path": "a.txt" }] }), edit()],
            vec![
                json!({ "title": "mcp__baton__x", "kind": "other", "rawInput": {} }),
                json!({ "rawInput": { "text": "rm x" } }),
            ],
            vec![
                json!({ "_meta": { "claudeCode": { "toolName": "mcp__baton__x" } } }),
                json!({ "title": "X" }),
            ],
            vec![json!({ "rawInput": { "server": "baton", "tool": "x", "arguments": {} } }), json!({})],
        ];
        let refused = [
            vec![
                json!({ "kind": "execute", "rawInput": { "command": "touch /x" } }),
                json!({ "kind": "read" }),
            ],
            vec![
                json!({ "kind": "read", "rawInput": { "command": "touch /x" } }),
                json!({ "kind": "read", "rawInput": {} }),
            ],
            vec![
                json!({ "kind": "execute", "rawInput": { "command": "touch /x" } }),
                json!({ "rawInput": { "command": "make x" } }),
            ],
            vec![
                json!({ "kind": "execute", "rawInput": { "command": "make x" } }),
                json!({ "rawInput": { "cwd": "/" } }),
            ],
            vec![
                json!({ "kind": "execute", "rawInput": { "command": "make x" } }),
                json!({ "rawInput": { "flags": ["-f", "/m"] } }),
            ],
            vec![json!({ "kind": "execute", "title": "make x" }), json!({})],
            vec![json!({ "kind": "read", "content": [{ "type": "terminal" }] }), json!({ "kind": "read" })],
            vec![json!({ "kind": "read", "name": "run_shell_command" }), json!({ "kind": "read" })],
            vec![json!({ "kind": "read", "rawInput": { "do": "touch /x" } }), json!({ "kind": "think" })],
            vec![json!({ "kind": "edit", "locations": [{ "path": "/etc/passwd" }] }), edit()],
            vec![
                json!({ "kind": "edit", "content": [{ "type": "diff", "path": ".git/config", "newText": 5 }] }),
                edit(),
            ],
            vec![edit(), json!({ "kind": "delete", "rawInput": { "path": "*" } })],
            vec![edit(), json!({ "kind": "fetch" })],
            vec![edit(), json!({ "kind": "edit", "rawInput": { "do": "make" } })],
            vec![edit(), json!({ "kind": "edit", "rawInput": { "cwd": "/w/work/sub" } })],
            vec![
                json!({ "kind": "move", "locations": [{ "path": "/w/work/a.txt" }] }),
                json!({ "rawInput": { "path": "a.txt" } }),
            ],
            // The words of a model, in the input of a tool of another server.
            vec![
                json!({ "_meta": { "claudeCode": { "toolName": "mcp__x__y" } } }),
                json!({ "title": "mcp__baton__x", "rawInput": { "server": "baton", "tool": "x" } }),
            ],
            vec![json!({ "title": "mcp__x__y" }), json!({ "title": "mcp__baton__x" })],
            vec![
                json!({ "kind": "other", "rawInput": { "server": "baton", "tool": "x", "url": "y" } }),
                json!({}),
            ],
        ];
        for (at, told) in allowed.iter().enumerate() {
            assert!(is_allowed_after(&permissions, told, &format!("a{at}")), "{told:?}");
        }
        for (at, told) in refused.iter().enumerate() {
            assert!(!is_allowed_after(&permissions, told, &format!("r{at}")), "{told:?}");
        }
    }

    #[test]
    fn what_known_agents_ask_for_is_allowed_as_before() {
        // N6: the recordings of every adapter that asks.
        let streams = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/streams");
        let mut asked = 0;
        for folder in std::fs::read_dir(streams).unwrap().map(|folder| folder.unwrap().path()) {
            if !folder.file_name().unwrap().to_string_lossy().starts_with("acp-") {
                continue;
            }
            for stream in std::fs::read_dir(folder).unwrap().map(|stream| stream.unwrap().path()) {
                let mut permissions = permissions(Permission::Edit, Path::new("/workspace"));
                permissions.own_server = Some("host".to_owned());
                for line in std::fs::read_to_string(&stream).unwrap().lines() {
                    permissions.protocol_state.lock().calls.take(line.as_bytes());
                    let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
                    if message["method"] == "session/request_permission" {
                        let request = serde_json::from_value(message["params"].clone()).unwrap();
                        let answer = permissions.answer(&request);
                        let is_allowed = matches!(answer.outcome, RequestPermissionOutcome::Selected(_));
                        assert!(is_allowed && answer.meta.is_none(), "{}: {answer:?}", stream.display());
                        asked += 1;
                    }
                }
            }
        }
        assert!(asked > 5, "{asked}");
    }

    #[test]
    fn a_command_is_judged_as_one_whatever_its_kind() {
        // N6: the adapter of Codex tells `find . -exec …` as `search`, and a role that only reads ran it.
        let root = Path::new("/w/work");
        let kinds = ["read", "search", "think", "edit", "move", "delete", "fetch", "other", "execute"];
        let all = |input: Value| kinds.map(|kind| (kind, input.clone()));
        for permission in [Permission::ReadOnly, Permission::Edit] {
            for command in [
                json!({ "command": "touch /x", "path": "a.txt" }),
                json!({ "command": ["bash", "-lc", "find . -exec sh -c x \\;"] }),
                json!({ "cmd": "make x" }),
                json!({ "path": "a.txt", "arguments": { "argv": ["touch", "/x"] } }),
                json!({ "command": "make x", "script": "touch /x" }),
                json!({ "command": "make x", "cwd": "/" }),
                json!({ "command": "make x", "cwd": ["/"] }),
            ] {
                let found = answers(permission, root, &all(command.clone()));
                assert!(!found.contains(&true), "{command}: {found:?}");
            }
            let found = answers(permission, root, &all(json!({ "command": "make x a", "description": "d" })));
            assert_eq!(found, [true; 9]);
            let reads =
                [("read", json!({ "file_path": "/w/a" })), ("search", json!({ "pattern": "command" }))];
            assert_eq!(answers(permission, root, &reads), [true; 2]);
        }
        let any = [("read", json!({ "command": "touch /x" }))];
        assert_eq!(answers(Permission::Full, root, &any), [true]);
    }

    #[test]
    fn an_edit_is_of_every_file_that_its_input_names() {
        // N6: one key that was known and inside let the others through.
        let root = Path::new("/w/work");
        let inside = [
            ("edit", json!({ "file_path": "/w/work/a.txt", "content": "/etc/passwd\n" })),
            (
                "edit",
                json!({ "file_path": "/w/work/a.txt", "old_string": "~/x", "new_string": "// y", "replace_all": true }),
            ),
            ("edit", json!({ "filePath": "a.txt", "edits": [{ "oldText": "../x", "newText": "/y" }] })),
            (
                "edit",
                json!({ "notebook_path": "/w/work/a.ipynb", "new_source": "/x", "cell_type": "code", "cell_id": "1" }),
            ),
            (
                "edit",
                json!({ "changes": { "/w/work/a.txt": { "update": { "unified_diff": "@@ -1 +1 @@\n-import '../../x'\n+y\n", "move_path": null } } },
                             "call_id": "c", "reason": "Write it", "grant_root": null }),
            ),
            ("move", json!({ "source": "a.txt", "destination": "b.txt" })),
            ("delete", json!({ "path": "/w/work/a.txt", "description": "Remove it" })),
            ("delete", json!({ "changes": { "/w/work/a.txt": { "delete": { "content": "*\n~/x\n" } } } })),
            (
                "edit",
                json!({ "filepath": "app/[id].tsx", "diff": "--- a/app/[id].tsx\n+++ b/app/[id].tsx\n", "cwd": "/w/work" }),
            ),
        ];
        assert_eq!(answers(Permission::Edit, root, &inside), [true; 9]);
        assert_eq!(answers(Permission::ReadOnly, root, &inside), [false; 9]);
        let many: String = (0..=PATHS_MAX).map(|n| format!("--- a/{n}\n")).collect();
        let outside = [
            ("edit", json!({ "path": "/w/work/a.txt", "diff": many })),
            ("edit", json!({ "mode": "replace", "content": "x" })),
            ("edit", json!({ "file_path": "/w/work/a.txt", "files": [{ "path": "/etc/passwd" }] })),
            ("edit", json!({ "file_path": "/w/work/a.txt", "edits": [{ "file": "/etc/passwd" }] })),
            ("edit", json!({ "path": "/w/work/a.txt", "uri": "FILE:///etc/passwd" })),
            ("edit", json!({ "path": "/w/work/a.txt", "other": ".git/hooks/post-commit" })),
            (
                "edit",
                json!({ "path": "/w/work/a.txt", "patch": "*** Begin Patch\n*** Update File: /etc/passwd\n" }),
            ),
            ("edit", json!({ "path": "/w/work/a.txt", "diff": "--- a/x\n+++ b/.git/config\n" })),
            ("edit", json!({ "changes": { "/etc/passwd": { "add": { "content": "x" } } } })),
            ("move", json!({ "path": "/w/work/a.txt", "destination": "/etc/passwd" })),
            ("move", json!({ "source": "/root/x", "path": "/w/work/a.txt" })),
            ("move", json!({ "path": "/w/work/a.txt", "text": "~/x" })),
            ("move", json!({ "path": "/w/work/a.txt" })),
            ("delete", json!({ "path": "/w/work/a.txt", "also": ["/etc/passwd"] })),
            ("delete", json!({ "path": "." })),
            ("delete", json!({ "path": "/w/work" })),
            ("delete", json!({ "path": "src/*" })),
            ("move", json!({ "source": "/w/work", "destination": "/w/work/sub" })),
            ("move", json!({ "source": "a.txt", "path": "./a.txt" })),
        ];
        let found = answers(Permission::Edit, root, &outside);
        assert_eq!(found, [false; 19]);
    }

    #[test]
    fn a_call_is_of_the_server_that_it_names_and_of_no_other() {
        let is_own = |call: &Value, server: &str| {
            let mut permissions = permissions(Permission::ReadOnly, Path::new("/w"));
            permissions.own_server = Some(server.to_owned());
            let mut call = call.clone();
            call["toolCallId"] = json!("c");
            is_allowed(&permissions, &call)
        };
        let claude = |server: &str| {
            let meta = json!({ "claudeCode": { "toolName": "mcp__x__y", "mcpServer": { "name": server } } });
            json!({ "kind": "other", "title": "anything", "_meta": meta })
        };
        assert!(is_own(&claude("baton"), "baton"));
        assert!(!is_own(&claude("other"), "baton"));
        for title in [
            "mcp__baton__gotcha_record",
            "mcp.baton.x",
            "baton.x",
            "baton/x",
            "baton: x",
            "x (baton MCP Server)",
        ] {
            assert!(is_own(&json!({ "title": title }), "baton"), "{title}");
            assert!(!is_own(&json!({ "title": title }), "bat"), "{title}");
            let command = json!({ "kind": "execute", "title": title });
            assert!(!is_own(&command, "baton"), "a command is a command");
        }
        for title in ["mcp__batons__x", "baton.x; rm -rf /", "baton", "baton.", "rm (baton MCP Server) x"] {
            assert!(!is_own(&json!({ "title": title }), "baton"), "{title}");
        }
    }

    #[test]
    fn nothing_but_baton_s_own_tools_is_allowed_always() {
        // N6: after a permanent permission, an agent no longer asks.
        let answer = |permission: Permission, call: Value| {
            let options = json!([{ "optionId": "y", "name": "Always", "kind": "allow_always" }]);
            let request = json!({ "sessionId": "a", "toolCall": call, "options": options });
            let answer = permissions(permission, Path::new("/w/work"))
                .answer(&serde_json::from_value(request).unwrap());
            matches!(answer.outcome, RequestPermissionOutcome::Selected(_))
        };
        let edit = json!({ "toolCallId": "c", "kind": "edit", "rawInput": { "path": "a.txt" } });
        assert!(!answer(Permission::Edit, edit.clone()) && answer(Permission::Full, edit));
        let command = json!({ "toolCallId": "c", "kind": "execute", "rawInput": { "command": "make x" } });
        assert!(!answer(Permission::Edit, command));
        assert!(answer(Permission::ReadOnly, json!({ "toolCallId": "c", "title": "mcp__baton__x" })));
    }
}
