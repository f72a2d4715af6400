//! Answers an agent's permission requests from what its role may do. Asks nobody.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SelectedPermissionOutcome, ToolCallContent, ToolCallUpdateFields, ToolKind,
};
use baton_core::workflow::Permission;
use serde_json::Value;

use super::line_handler::AcpProtocolState;
use super::request_input::{folders_of, has_command, is_command_alone, paths_of};
use crate::command_allowlist::CommandAllowlist;
use crate::driver::SharedDecoder;
use crate::session_boundary::is_command_setting;

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

impl AcpPermissions {
    /// Answers a permission request from the role, never by asking somebody who is not there.
    pub(super) fn answer(&self, request: &RequestPermissionRequest) -> RequestPermissionOutcome {
        let fields = &request.tool_call.fields;
        let kind = fields.kind.unwrap_or_default();
        let input = fields.raw_input.as_ref();
        // What its kind says is the agent's reading of it: a command that only reads may start anything.
        let is_command = kind == ToolKind::Execute
            || input.is_some_and(has_command)
            || fields.content.iter().flatten().any(|shown| matches!(shown, ToolCallContent::Terminal(_)));
        let allowed = match (self.permission, kind) {
            (Permission::Full, _) => true,
            _ if is_command => input.is_some_and(|input| self.allows_command(input)),
            (_, ToolKind::Read | ToolKind::Search | ToolKind::Think) => true,
            (Permission::Edit, ToolKind::Edit | ToolKind::Delete | ToolKind::Move) => {
                self.allows_edit(fields, kind)
            }
            // What they change is the run's own journal: no role forbids that.
            _ => self.is_own_tool(request),
        };
        // Once rather than for ever: the next request is answered by the same rule.
        let wanted = if allowed {
            [PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways]
        } else {
            [PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways]
        };
        let find = |kind: &PermissionOptionKind| {
            request.options.iter().find(|option: &&PermissionOption| option.kind == *kind)
        };
        match wanted.iter().find_map(find) {
            Some(option) => {
                RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
            }
            None => RequestPermissionOutcome::Cancelled,
        }
    }

    /// Whether a call is a command that may be run, in the workspace, and nothing beside it.
    fn allows_command(&self, input: &Value) -> bool {
        let is_in_work = |folder: &str| real_path(Path::new(folder), &self.workspace).is_some();
        folders_of(input).all(|folder| folder.is_some_and(is_in_work))
            && is_command_alone(input)
            && self.commands.allow_call(input)
    }

    /// Whether an edit names what it is of, and nothing that it names is elsewhere.
    fn allows_edit(&self, fields: &ToolCallUpdateFields, kind: ToolKind) -> bool {
        let located = fields.locations.iter().flatten().map(|location| &location.path);
        let shown = fields.content.iter().flatten().filter_map(|content| match content {
            ToolCallContent::Diff(diff) => Some(&diff.path),
            _ => None,
        });
        let input = fields.raw_input.as_ref();
        let named = input.map(|input| paths_of(input, kind == ToolKind::Edit)).unwrap_or_default();
        let told: Vec<&Path> = located.chain(shown).map(PathBuf::as_path).collect();
        let certain: BTreeSet<&Path> =
            told.iter().copied().chain(named.certain.iter().map(Path::new)).collect();
        // What names no file could be any, and so could the end of a move.
        let wanted = if kind == ToolKind::Move { 2 } else { 1 };
        let mut all = told.iter().copied().chain(named.possible.iter().map(Path::new));
        certain.len() >= wanted && all.all(|path| is_inside(path, &self.workspace))
    }

    /// Whether a call is one of Baton's own tools.
    fn is_own_tool(&self, request: &RequestPermissionRequest) -> bool {
        let Some(own) = &self.own_server else { return false };
        if !matches!(request.tool_call.fields.kind, None | Some(ToolKind::Other)) {
            return false;
        }
        let asked = serde_json::to_value(&request.tool_call).unwrap_or_default();
        is_of_server(&asked, own) || self.protocol_state.lock().is_own_call(&request.tool_call.tool_call_id.0)
    }
}

/// Whether what an agent tells of a call says that it goes to this MCP server. Each agent says it in its own way; what is
/// a command or an edit by its kind is none, whatever its title says.
pub(super) fn is_of_server(call: &Value, server: &str) -> bool {
    if !matches!(call["kind"].as_str(), None | Some("other")) {
        return false;
    }
    let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str);
    // The adapters of Claude Code and of Codex name the server.
    if let Some(named) = text("/_meta/claudeCode/mcpServer/name").or_else(|| text("/rawInput/server")) {
        return named == server;
    }
    // Others name the tool by its server: `mcp__baton__x`, `mcp.baton.x`, `baton.x`, `baton/x`, `baton: x`, or
    // `x (baton MCP Server)`.
    let named = text("/_meta/claudeCode/toolName").or_else(|| text("/name")).or_else(|| text("/title"));
    let Some(named) = named else { return false };
    let named = named.strip_prefix("mcp__").or_else(|| named.strip_prefix("mcp.")).unwrap_or(named);
    let is_tool =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let behind = named.strip_prefix(server).is_some_and(|rest| {
        ["__", ".", "/", ": "].iter().any(|between| rest.strip_prefix(between).is_some_and(is_tool))
    });
    behind || named.strip_suffix(&format!(" ({server} MCP Server)")).is_some_and(is_tool)
}

/// Whether an edit of this path is within the work, by its name and by what it leads to. The agent may exchange a link a moment later: only
/// a sandbox holds that.
fn is_inside(path: &Path, workspace: &Path) -> bool {
    let is_work = |within: &Path| !is_command_setting(in_inbox(within).unwrap_or(within));
    let named = if path.is_relative() { Some(path) } else { path.strip_prefix(workspace).ok() };
    named.is_some_and(is_work) && real_path(path, workspace).is_some_and(|within| is_work(&within))
}

/// Where a path leads, from the workspace; nothing where that is outside of it, or where the path is one of a shell or an address.
pub(crate) fn real_path(path: &Path, workspace: &Path) -> Option<PathBuf> {
    let begins = path.components().next().map(Component::as_os_str).unwrap_or_default();
    let is_shorthand = begins.as_encoded_bytes().starts_with(b"~") || begins.eq_ignore_ascii_case("file:");
    if is_shorthand || path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let path = workspace.join(path);
    // What is not there yet will be made below what is.
    let (there, real) = path.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)))?;
    // A link without a target would be written through.
    if path.ancestors().take_while(|above| *above != there).any(|above| above.is_symlink()) {
        return None;
    }
    let whole = real.join(path.strip_prefix(there).ok()?);
    let root = workspace.canonicalize();
    whole.strip_prefix(root.as_deref().unwrap_or(workspace)).ok().map(Path::to_owned)
}

/// What of a path is below the inbox of a run, to which an agent without tools reports by files.
fn in_inbox(path: &Path) -> Option<&Path> {
    let mut parts = path.strip_prefix(".baton").ok()?.components();
    let (Some(Component::Normal(_)), Some(inbox)) = (parts.next(), parts.next()) else { return None };
    (inbox.as_os_str() == "inbox").then_some(parts.as_path()).filter(|file| !file.as_os_str().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use baton_core::facts::Capabilities;
    use serde_json::json;

    /// Whether each of these requests, a kind and an input, is allowed in this folder.
    fn answers(permission: Permission, workspace: &Path, asked: &[(&str, Value)]) -> Vec<bool> {
        let commands = CommandAllowlist { patterns: vec!["make x*".to_owned()], ..Default::default() };
        let own_server = Some("baton".to_owned());
        let state = AcpProtocolState::new(Capabilities::default(), own_server.clone());
        let protocol_state = SharedDecoder::new(state);
        let workspace = workspace.to_owned();
        let permissions = AcpPermissions { permission, workspace, own_server, commands, protocol_state };
        let is_allowed = |(kind, input): &(&str, Value)| {
            let call =
                json!({ "toolCallId": "c", "title": "mcp__baton__x", "kind": kind, "rawInput": input });
            let options = json!([{ "optionId": "y", "name": "Yes", "kind": "allow_once" }]);
            let request = json!({ "sessionId": "a", "toolCall": call, "options": options });
            let request = serde_json::from_value(request).unwrap();
            matches!(permissions.answer(&request), RequestPermissionOutcome::Selected(_))
        };
        asked.iter().map(is_allowed).collect()
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
        ];
        assert_eq!(answers(Permission::Edit, root, &inside), [true; 7]);
        assert_eq!(answers(Permission::ReadOnly, root, &inside), [false; 7]);
        let outside = [
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
        ];
        let found = answers(Permission::Edit, root, &outside);
        assert_eq!(found, [false; 13]);
    }

    #[test]
    fn a_call_is_of_the_server_that_it_names_and_of_no_other() {
        let claude = |server: &str| {
            let meta = json!({ "claudeCode": { "toolName": "mcp__x__y", "mcpServer": { "name": server } } });
            json!({ "kind": "other", "title": "anything", "_meta": meta })
        };
        assert!(is_of_server(&claude("baton"), "baton"));
        assert!(!is_of_server(&claude("other"), "baton"));
        for title in [
            "mcp__baton__gotcha_record",
            "mcp.baton.x",
            "baton.x",
            "baton/x",
            "baton: x",
            "x (baton MCP Server)",
        ] {
            assert!(is_of_server(&json!({ "title": title }), "baton"), "{title}");
            assert!(!is_of_server(&json!({ "title": title }), "bat"), "{title}");
            let command = json!({ "kind": "execute", "title": title });
            assert!(!is_of_server(&command, "baton"), "a command is a command");
        }
        for title in ["mcp__batons__x", "baton.x; rm -rf /", "baton", "baton.", "rm (baton MCP Server) x"] {
            assert!(!is_of_server(&json!({ "title": title }), "baton"), "{title}");
        }
    }

    #[test]
    fn an_edit_is_inside_where_it_makes_nobody_run_a_command() {
        // N6
        let root = Path::new("/w/work");
        let work = [".github/workflows/hooks", ".vscode/settings.json", "hooks/.github", ".hgignore"];
        let plain = [
            "a.txt",
            "/w/work/src/a.rs",
            "src/.gitignore",
            ".gitattributes",
            ".github/x.yml",
            ".",
            "/w/work",
        ];
        for inside in plain.into_iter().chain(work) {
            assert!(is_inside(Path::new(inside), root), "{inside}");
        }
        let settings = [
            ".git",
            ".git/config",
            "sub/.git/hooks/x",
            ".GIT/config",
            "/w/work/.git",
            ".baton/r1/x",
            ".baton/inbox/x",
            ".baton/r1/inbox",
            "sub/.baton/r1/inbox/x",
        ];
        let of_agents =
            [".claude/settings.json", ".codex/config.toml", ".gemini/settings.json", "a/.mcp.json"];
        let nested = [
            ".github/hooks",
            ".GitHub/Hooks/a.json",
            "a/.vscode/mcp.json",
            ".hg/hgrc",
            "/w/work/.windsurf/hooks.json",
        ];
        let outside = [
            "../a",
            "/w/work/../x",
            "/w/workshop/a",
            "/etc/passwd",
            "~/.bashrc",
            "~root/x",
            "file:///etc/passwd",
        ];
        for path in settings.iter().chain(&of_agents).chain(&nested).chain(&outside) {
            assert!(!is_inside(Path::new(path), root), "{path}");
        }
    }

    #[test]
    fn an_edit_through_a_link_is_of_what_it_leads_to() {
        // N6
        use std::os::unix::fs::symlink;

        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("work");
        for folder in [".git/hooks", "src", "d"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink("work", place.path().join("alias")).unwrap();
        for (to, name) in [
            ("..", "home"),
            (".git", "lnk"),
            ("../.git", "d/g"),
            ("src", "sources"),
            ("/nowhere/x", "dangling"),
            ("../.git/description", "d/file"),
        ] {
            symlink(to, root.join(name)).unwrap();
        }
        for inside in ["sources/a.rs", "sources/new/b.rs", "src/a.rs", "d/x"] {
            assert!(is_inside(Path::new(inside), &root), "{inside}");
            assert!(is_inside(&root.join(inside), &root), "{inside}");
        }
        for outside in
            ["home/.bashrc", "lnk/config", "d/g/hooks/pre-commit", "dangling", "d/file", "home/new/a"]
        {
            assert!(!is_inside(Path::new(outside), &root), "{outside}");
            assert!(!is_inside(&root.join(outside), &root), "{outside}");
        }
        // A workspace that is reached by a link is itself.
        let alias = place.path().join("alias");
        assert!(is_inside(&alias.join("src/a.rs"), &alias) && is_inside(Path::new("a.rs"), &alias));
        assert!(!is_inside(&alias.join("lnk/config"), &alias));
    }
}
