//! Where others are made to run commands: settings of git, of other systems for versions, of agents, of editors and of Baton.

use std::ffi::OsStr;
use std::path::{Component, Path};

/// Folders and files by which others are made to run commands: git's, Mercurial's, Jujutsu's, Sapling's, Baton's, and those of agents. By an edit in one of
/// them an agent would do more than edit: at the next start, or outside of its permission. Compared without regard to
/// capitals, since there are file systems that have none.
pub(crate) const COMMAND_SETTINGS: [&str; 70] = [
    // Skills bring programs, and servers that they need. The rest of the folder is text.
    ".agents/skills",
    ".aider.conf.yml",
    ".amazonq",
    ".amp",
    ".augment",
    ".autohand",
    ".baton",
    ".claude",
    ".claude.json",
    ".cline",
    // Hooks of Cline. The rest of the folder is text.
    ".clinerules/hooks",
    ".codebuddy",
    ".codex",
    ".continue",
    ".copilot",
    ".crush",
    ".crush.json",
    ".cursor",
    ".deepagents",
    ".devcontainer.json",
    // Of the container that work is done in: what is run before it is there, is run on the host. The rest of the folder is the work's.
    ".devcontainer/devcontainer.json",
    ".factory",
    ".fast-agent",
    ".gemini",
    ".git",
    // Agents of Copilot name MCP servers. The rest of the folder is the work's.
    ".github/agents",
    ".github/copilot",
    ".github/hooks",
    ".github/mcp.json",
    ".goose",
    ".goosehints",
    ".grok",
    // Mercurial's own hooks. Every commit changes the rest of the folder.
    ".hg/hgrc",
    ".hg/hgrc-not-shared",
    ".hg/sharedpath",
    ".iflow",
    // Of Jujutsu: the rest of the folder changes with each command.
    ".jj/repo/config.toml",
    // By it, Jujutsu finds the repository of git, with its settings.
    ".jj/repo/store/git_target",
    ".jj/workspace-config.toml",
    ".junie",
    ".kilo",
    ".kilocode",
    ".kimi",
    ".kiro",
    ".mcp.json",
    ".opencode",
    // Of the older OpenCode: it names MCP servers.
    ".opencode.json",
    ".openhands",
    ".pi",
    ".qoder",
    ".qwen",
    ".roo",
    ".rovodev",
    // Sapling's own hooks, as Mercurial's.
    ".sl/config",
    ".sl/sharedpath",
    ".stakpak",
    // The rest of the folder is text.
    ".trae/mcp.json",
    ".vibe",
    ".vscode/mcp.json",
    ".vtcode",
    ".warp",
    ".windsurf",
    ".zed",
    "baton.toml",
    "crush.json",
    "fastagent.config.yaml",
    "kilo.jsonc",
    "opencode.json",
    "opencode.jsonc",
    "vtcode.toml",
];

/// Where Claude Code makes its work trees: they hold work, and no settings.
pub(crate) const CLAUDE_WORK_TREES: &str = ".claude/worktrees";

/// Whether a path leads to one of these, or into one, at any depth.
pub(crate) fn is_command_setting(path: &Path) -> bool {
    let parts: Vec<_> = path.components().map(Component::as_os_str).collect();
    COMMAND_SETTINGS.iter().any(|settings| {
        let named: Vec<_> = settings.split('/').collect();
        let is_it =
            |parts: &[&OsStr]| parts.iter().zip(&named).all(|(part, name)| part.eq_ignore_ascii_case(name));
        parts.windows(named.len()).any(is_it)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_known_at_any_depth_and_what_lies_beside_them_is_not() {
        for settings in [
            ".clinerules/hooks/PreToolUse",
            "part/.clinerules/Hooks",
            ".devcontainer/devcontainer.json",
            ".Zed/settings.json",
            "a/b/vtcode.toml",
            ".trae/mcp.json",
        ] {
            assert!(is_command_setting(Path::new(settings)), "{settings}");
        }
        for work in [".clinerules/style.md", ".devcontainer/Dockerfile", ".trae/rules/a.md", "src/vtcode.rs"]
        {
            assert!(!is_command_setting(Path::new(work)), "{work}");
        }
        assert!(COMMAND_SETTINGS.is_sorted());
    }
}
