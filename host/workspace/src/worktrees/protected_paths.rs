//! Paths that sandboxed agents neither create nor change in a tree, protected in commits as well: by git's plumbing an agent
//! could commit a file that was never in its tree, where it would have been renamed, and a merge would write it.

use std::path::{Path, PathBuf};

use super::git::path;
use super::worktree::{GITLINK, Worktree, modes, pairs};
use super::{MAX_CONFLICTS, RunWorktrees, WorktreeError};

/// Modes of a link and of a submodule.
const LEADS_ELSEWHERE: [&str; 2] = ["120000", GITLINK];
/// The mode of a missing file.
const ABSENT: &str = "000000";

/// Paths of files and folders, from the root of a tree, that stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedPaths {
    /// Files, and folders with all that they hold. Compared without regard to capitals, since there are file systems that have none.
    pub paths: Vec<PathBuf>,
    /// Existing paths may be changed, but missing ones may not be created.
    pub only_new: bool,
}

impl ProtectedPaths {
    fn hold(&self, changed: &Path, before: &str, after: &str) -> bool {
        if self.only_new && before != ABSENT {
            return false;
        }
        let leads_elsewhere = LEADS_ELSEWHERE.contains(&after);
        let is_it =
            |kept: &PathBuf| is_within(changed, kept) || (leads_elsewhere && is_within(kept, changed));
        self.paths.iter().any(is_it)
    }
}

fn is_within(path: &Path, folder: &Path) -> bool {
    let mut parts = path.components();
    folder
        .components()
        .all(|name| parts.next().is_some_and(|part| part.as_os_str().eq_ignore_ascii_case(name.as_os_str())))
}

impl RunWorktrees {
    /// Makes merges and landings refuse changes of these paths. The first call counts.
    pub fn hold_to(&self, kept: ProtectedPaths) {
        drop(self.0.kept.set(kept));
    }

    /// Refuses the differences between two commits, or trees, that touch protected paths.
    pub(super) async fn expect_kept(
        &self,
        worktree: &Worktree,
        of: &str,
        from: &str,
        to: &str,
    ) -> Result<(), WorktreeError> {
        let Some(kept) = self.0.kept.get() else { return Ok(()) };
        let raw = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none", from, to];
        let raw = worktree.git.call(&raw).bytes().await?;
        let is_kept = |(entry, name): &(&[u8], &[u8])| {
            let (before, after) = modes(entry);
            let name = path(name);
            name.strip_prefix(worktree.prefix()).is_ok_and(|name| kept.hold(name, before, after))
        };
        let paths = pairs(&raw).filter(is_kept).take(MAX_CONFLICTS);
        let paths: Vec<String> = paths.map(|(_, name)| worktree.shown(&path(name))).collect();
        match paths.is_empty() {
            true => Ok(()),
            false => Err(WorktreeError::Kept { of: of.to_owned(), paths }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kept_path_is_held_in_any_capitals_with_all_below_and_no_link_above() {
        // N6
        let paths = [".mcp.json", ".vscode/mcp.json", ".claude"].map(PathBuf::from).to_vec();
        let (all, new) = (
            ProtectedPaths { paths: paths.clone(), only_new: false },
            ProtectedPaths { paths, only_new: true },
        );
        let file = "100644";
        for held in
            [".mcp.json", ".MCP.json", ".claude/hooks/a.sh", ".Claude/settings.json", ".vscode/mcp.json"]
        {
            assert!(
                all.hold(Path::new(held), ABSENT, file) && new.hold(Path::new(held), ABSENT, file),
                "{held}"
            );
            assert!(
                all.hold(Path::new(held), file, ABSENT) && !new.hold(Path::new(held), file, file),
                "{held}"
            );
        }
        for mode in LEADS_ELSEWHERE {
            assert!(
                all.hold(Path::new(".vscode"), ABSENT, mode) && all.hold(Path::new(".claude"), ABSENT, mode)
            );
        }
        for free in [".vscode/settings.json", "mcp.json", "sub/.mcp.json", ".mcp.json.from-agent", ".vscode"]
        {
            assert!(!all.hold(Path::new(free), ABSENT, file), "{free}");
        }
    }
}
