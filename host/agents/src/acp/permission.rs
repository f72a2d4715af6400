//! Answers an agent's permission requests from what its role may do. Asks nobody.

use std::path::{Component, Path, PathBuf};

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SelectedPermissionOutcome, ToolCallContent, ToolKind,
};
use baton_core::workflow::Permission;
use serde_json::Value;

use super::line_handler::AcpProtocolState;
use crate::allowed::CommandAllowlist;
use crate::confine::is_of_settings;
use crate::driver::SharedDecoder;

/// What an agent may do without asking.
pub(super) struct AcpPermissions {
    pub(super) permission: Permission,
    pub(super) workspace: PathBuf,
    /// Name of the server of Baton's own tools.
    pub(super) own_server: Option<String>,
    /// The commands that it may run.
    pub(super) commands: CommandAllowlist,
    /// What the agent has told of its calls: a request may name one by its id alone.
    pub(super) calls: SharedDecoder<AcpProtocolState>,
}

impl AcpPermissions {
    /// Answers a permission request from the role, never by asking somebody who is not there.
    pub(super) fn answer(&self, request: &RequestPermissionRequest) -> RequestPermissionOutcome {
        let fields = &request.tool_call.fields;
        let located = fields.locations.iter().flatten().map(|location| &location.path);
        let shown = fields.content.iter().flatten().filter_map(|content| match content {
            ToolCallContent::Diff(diff) => Some(&diff.path),
            _ => None,
        });
        let mut inside = located.chain(shown).map(|path| is_inside(path, &self.workspace));
        let allowed = match (self.permission, fields.kind.unwrap_or_default()) {
            (Permission::Full, _) => true,
            (_, ToolKind::Read | ToolKind::Search | ToolKind::Think) => true,
            (Permission::Edit, ToolKind::Edit | ToolKind::Delete | ToolKind::Move) => {
                inside.all(|inside| inside)
            }
            (_, ToolKind::Execute) => {
                fields.raw_input.as_ref().is_some_and(|input| self.commands.allow_call(input))
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

    /// Whether a call is one of Baton's own tools.
    fn is_own_tool(&self, request: &RequestPermissionRequest) -> bool {
        let Some(own) = &self.own_server else { return false };
        if !matches!(request.tool_call.fields.kind, None | Some(ToolKind::Other)) {
            return false;
        }
        let asked = serde_json::to_value(&request.tool_call).unwrap_or_default();
        is_of_server(&asked, own) || self.calls.lock().is_own_call(&request.tool_call.tool_call_id.0)
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

/// Whether an edit of this path is within the work. By its name alone, and without `..`: what a link points to is the
/// agent's own sandbox's to hold.
fn is_inside(path: &Path, workspace: &Path) -> bool {
    if path.components().any(|part| part == Component::ParentDir) {
        return false;
    }
    let within = if path.is_relative() { Some(path) } else { path.strip_prefix(workspace).ok() };
    within.is_some_and(|within| !is_of_settings(in_inbox(within).unwrap_or(within)))
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
    use serde_json::json;

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
        let outside = ["../a", "/w/work/../x", "/w/workshop/a", "/etc/passwd"];
        for path in settings.iter().chain(&of_agents).chain(&nested).chain(&outside) {
            assert!(!is_inside(Path::new(path), root), "{path}");
        }
    }
}
