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

/// Keys of the input of a call under which agents name a file, and the folder of a command.
const PATH_KEYS: [&str; 7] =
    ["abs_path", "filePath", "file_path", "filepath", "notebook_path", "path", "target_file"];
const FOLDER_KEYS: [&str; 3] = ["cwd", "workdir", "working_directory"];

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
        let input = fields.raw_input.as_ref();
        let given = input.into_iter().flat_map(paths_of).map(Path::new);
        let paths: Vec<&Path> = located.chain(shown).map(PathBuf::as_path).chain(given).collect();
        let is_command = input.is_some_and(|input| input.get("command").is_some());
        let allowed = match (self.permission, fields.kind.unwrap_or_default()) {
            (Permission::Full, _) => true,
            (_, ToolKind::Execute) => input.is_some_and(|input| self.allows_command(input)),
            (_, ToolKind::Think) if is_command => input.is_some_and(|input| self.allows_command(input)),
            (_, ToolKind::Read | ToolKind::Search | ToolKind::Think) => true,
            // What names no file could be any.
            (Permission::Edit, ToolKind::Edit | ToolKind::Delete | ToolKind::Move) => {
                !paths.is_empty() && paths.iter().all(|path| is_inside(path, &self.workspace))
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

    /// Whether a call is a command that may be run, in the workspace.
    fn allows_command(&self, input: &Value) -> bool {
        let mut folders = FOLDER_KEYS.iter().filter_map(|key| input.get(key)?.as_str());
        folders.all(|folder| real_path(Path::new(folder), &self.workspace).is_some())
            && self.commands.allow_call(input)
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

/// The paths that the input of a call names, by the keys that agents use.
fn paths_of(input: &Value) -> impl Iterator<Item = &str> {
    PATH_KEYS.iter().filter_map(|key| input.get(key)?.as_str())
}

/// Whether an edit of this path is within the work, by its name and by what it leads to. The agent may exchange a link a moment later: only
/// a sandbox holds that.
fn is_inside(path: &Path, workspace: &Path) -> bool {
    let is_work = |within: &Path| !is_of_settings(in_inbox(within).unwrap_or(within));
    let named = if path.is_relative() { Some(path) } else { path.strip_prefix(workspace).ok() };
    named.is_some_and(is_work) && real_path(path, workspace).is_some_and(|within| is_work(&within))
}

/// Where a path leads, from the workspace; nothing where that is outside of it, or where the path is one of a shell or an address.
fn real_path(path: &Path, workspace: &Path) -> Option<PathBuf> {
    let begins = path.components().next().map(Component::as_os_str).unwrap_or_default();
    let is_shorthand = begins.as_encoded_bytes().starts_with(b"~") || begins == "file:";
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
