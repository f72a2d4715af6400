//! The settings of agents in a folder, as they are: by what stands there an agent runs commands as soon as it begins, whatever its role
//! allows. Read-only: what has changed is for a person to look at.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use baton_core::Digest;

use crate::confine::SETTINGS;
use crate::files::open_plain;

/// Not settings of an agent: Baton's own folder, and the repository, which git and its users change as well.
const OTHERS: [&str; 2] = [".baton", ".git"];
/// Folders in those of agents that hold work, and no settings.
const WORK: [&str; 2] = ["node_modules", "worktrees"];
/// Of each name at most this many files and folders are looked at.
const ENTRIES_MAX: usize = 20_000;
/// A file that is larger is known by its size and its time.
const BYTES_MAX: u64 = 4 << 20;

/// What stands at each path below the tree where agents look for settings: the digest of a file, where a link leads.
pub fn settings_of_agents(tree: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for name in SETTINGS.into_iter().filter(|name| !OTHERS.contains(name)) {
        let mut left = ENTRIES_MAX;
        look(tree, Path::new(name), &mut left, &mut found);
    }
    found
}

fn look(tree: &Path, path: &Path, left: &mut usize, found: &mut BTreeMap<PathBuf, String>) {
    let at = tree.join(path);
    let Ok(about) = at.symlink_metadata() else { return };
    let Some(rest) = left.checked_sub(1) else { return };
    *left = rest;
    if about.is_symlink() {
        let to = fs::read_link(&at).unwrap_or_default();
        let within = at.metadata().map(|about| what(&at, &about)).unwrap_or_default();
        found.insert(path.to_owned(), format!("leads to {}: {within}", to.display()));
        // What is behind it is read as well.
        if at.is_dir() {
            children(tree, path, left, found);
        }
    } else if about.is_dir() {
        children(tree, path, left, found);
    } else {
        found.insert(path.to_owned(), what(&at, &about));
    }
}

fn children(tree: &Path, path: &Path, left: &mut usize, found: &mut BTreeMap<PathBuf, String>) {
    let mut names: Vec<_> = fs::read_dir(tree.join(path))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name())
        .take(ENTRIES_MAX)
        .collect();
    names.sort();
    for name in names.iter().filter(|name| !WORK.iter().any(|work| name == work)) {
        look(tree, &path.join(name), left, found);
    }
}

fn what(at: &Path, about: &Metadata) -> String {
    match about.is_file() && about.len() <= BYTES_MAX {
        true => {
            content(at).map_or_else(|error| error.kind().to_string(), |bytes| Digest::of(&bytes).to_string())
        }
        false => format!("{:o} {} {}", about.mode(), about.len(), about.mtime()),
    }
}

fn content(at: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(at)?.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_changes_of_settings_is_seen_and_its_work_is_not() {
        // N6
        let tree = tempfile::tempdir().unwrap();
        let tree = tree.path();
        let write = |path: &str, text: &str| {
            fs::create_dir_all(tree.join(path).parent().unwrap()).unwrap();
            fs::write(tree.join(path), text).unwrap();
        };
        write("dot/settings.json", "{}");
        write(".claude/agents/a.md", "a");
        write(".mcp.json", "{}");
        std::os::unix::fs::symlink("dot", tree.join(".gemini")).unwrap();
        let before = settings_of_agents(tree);
        for work in
            ["a.txt", ".claude/worktrees/x/b.txt", ".baton/c.md", ".github/workflows/ci.yml", ".hg/dirstate"]
        {
            write(work, "work");
        }
        assert_eq!(settings_of_agents(tree), before);
        let differs = |path: &str| {
            let now = settings_of_agents(tree);
            let path = Path::new(path);
            now.get(path) != before.get(path)
        };
        write(".claude/settings.json", "{}");
        write(".claude/agents/a.md", "b");
        write("dot/settings.json", "{\"hooks\": {}}");
        fs::remove_file(tree.join(".mcp.json")).unwrap();
        for path in [".claude/settings.json", ".claude/agents/a.md", ".gemini/settings.json", ".mcp.json"] {
            assert!(differs(path), "{path}");
        }
        for path in [".github/hooks/a.json", ".hg/hgrc", ".vscode/mcp.json", ".windsurf/hooks.json"] {
            write(path, "{}");
            assert!(differs(path), "{path}");
        }
    }
}
