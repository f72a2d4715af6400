//! Targets of links in a tree, at and below its protected paths: a hook that is a link to a file of the work, settings that a
//! link takes from another folder. Such a link cannot be changed, so its target must be protected as well.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use baton_sandbox::{LinkWalk, PACKAGES};

/// Maximum number of files and folders that are read.
const ENTRIES_MAX: usize = 1_000_000;
/// Places that are held besides those that have a name of their own. Each is a mount.
const TARGETS_MAX: usize = 256;
/// A repository's folder of objects, next to its head. Objects are written under names that an agent cannot choose.
const OBJECTS: &str = "objects";
/// The head, next to the objects in a repository.
const HEAD: &str = "HEAD";

/// Why not everything is held that links lead to.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UnheldTargets {
    /// Too many places.
    #[error(
        "the sandbox keeps as it is what links in settings of agents, in hooks and in programs lead to, and in {} these are more than {targets} \
         places, {} among them: put copies in the place of links, or keep the folder with the links outside of the work tree",
        tree.display(), example.display()
    )]
    TooMany {
        /// How many are held.
        targets: usize,
        /// The tree.
        tree: PathBuf,
        /// The first place that is not held, from the tree.
        example: PathBuf,
    },
    /// Too many files to look at.
    #[error(
        "the sandbox keeps as they are more than {entries} files and folders in {}, and where links among them lead is not known: keep folders \
         with that many files outside of the work tree", tree.display()
    )]
    TooLarge {
        /// How many are still to be read.
        entries: usize,
        /// The tree.
        tree: PathBuf,
    },
}

/// Adds the targets of links at and below these paths, all relative to the tree: through each further link, including missing
/// targets. Folders outside of the tree are not read. Targets that are found before a bound is reached are added in any case.
pub(super) fn add_linked_targets(tree: &Path, paths: &mut Vec<PathBuf>) -> Result<(), UnheldTargets> {
    let mut targets = LinkedTargets::new(tree, paths, ENTRIES_MAX, TARGETS_MAX);
    let ended = targets.follow();
    paths.extend(targets.found);
    ended
}

struct LinkedTargets<'a> {
    tree: &'a Path,
    entries_left: usize,
    entries_max: usize,
    targets_max: usize,
    /// What stays as it is.
    held: BTreeSet<PathBuf>,
    /// What was added to it by links below it.
    found: Vec<PathBuf>,
    /// What is not yet looked at.
    left: VecDeque<PathBuf>,
    /// Folders that were looked into.
    seen: BTreeSet<PathBuf>,
}

impl<'a> LinkedTargets<'a> {
    fn new(tree: &'a Path, paths: &[PathBuf], entries_max: usize, targets_max: usize) -> Self {
        let held: BTreeSet<PathBuf> = paths.iter().cloned().collect();
        let left = held.iter().cloned().collect();
        let (found, seen) = (Vec::new(), BTreeSet::new());
        Self { tree, entries_left: entries_max, entries_max, targets_max, held, found, left, seen }
    }

    fn follow(&mut self) -> Result<(), UnheldTargets> {
        while let Some(path) = self.left.pop_front() {
            let real = self.hold(&self.tree.join(path), usize::MAX)?;
            // Its links lead to packages of the work, which are held if they have a name of their own.
            if !real.ends_with(PACKAGES) {
                self.look_into(real)?;
            }
        }
        Ok(())
    }

    /// Records each link on a path and the target of the path; returns the target.
    fn hold(&mut self, at: &Path, targets_max: usize) -> Result<PathBuf, UnheldTargets> {
        let LinkWalk { links, real, .. } = LinkWalk::of(at);
        for place in links.iter().chain([&real]) {
            let Ok(within) = place.strip_prefix(self.tree) else { continue };
            // The tree itself is worked in.
            let is_held =
                within.as_os_str().is_empty() || within.ancestors().any(|above| self.held.contains(above));
            if is_held {
                continue;
            }
            if self.found.len() >= targets_max {
                let (tree, example) = (self.tree.to_owned(), within.to_owned());
                return Err(UnheldTargets::TooMany { targets: targets_max, tree, example });
            }
            self.held.insert(within.to_owned());
            self.found.push(within.to_owned());
            self.left.push_back(within.to_owned());
        }
        Ok(real)
    }

    /// Holds what links below a folder of the tree lead to.
    fn look_into(&mut self, folder: PathBuf) -> Result<(), UnheldTargets> {
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            let is_below = folder != self.tree && folder.starts_with(self.tree);
            let is_objects = folder.ends_with(OBJECTS) && folder.with_file_name(HEAD).exists();
            if !is_below || is_objects || !folder.is_dir() || !self.seen.insert(folder.clone()) {
                continue;
            }
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                if self.entries_left == 0 {
                    return Err(UnheldTargets::TooLarge {
                        entries: self.entries_max,
                        tree: self.tree.to_owned(),
                    });
                }
                self.entries_left -= 1;
                match entry.file_type() {
                    Ok(kind) if kind.is_symlink() => drop(self.hold(&entry.path(), self.targets_max)?),
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    Ok(_) | Err(_) => {}
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    fn link(to: impl AsRef<Path>, at: &Path) {
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(to, at).unwrap();
    }

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn what_links_lead_to_is_held_over_each_hop() {
        // N6: an agent wrote a hook, settings of agents and a module by the file of the work that a link led to.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let tree = root.join("tree");
        for name in
            ["scripts/hook", "conf/claude.json", "skills/one/deep/text", "shared/lib.py", "conf/deep.py"]
        {
            write(&tree.join(name));
        }
        write(&root.join("outside/file"));
        link("../tree/conf/claude.json", &root.join("outside/back"));
        for (to, at) in [
            ("../../scripts/hook", ".git/hooks/pre-commit"),
            ("../../scripts/again", ".git/hooks/pre-push"),
            ("hook", "scripts/again"),
            ("../conf/new.json", ".claude/settings.json"),
            ("../skills", ".claude/skills"),
            // In the target of a link.
            ("../../../shared/lib.py", "skills/one/deep/lib.py"),
            ("..", ".claude/root"),
            ("../ring", ".claude/ring"),
            ("../.claude/ring", "ring/ring"),
            // Of a file, and what lies elsewhere.
            ("conf/absent", ".mcp.json"),
            ("../../outside/file", ".claude/outside"),
            ("../x", ".git/objects/ab/c"),
            ("../packages/a", "node_modules/a"),
            ("../packages/named", "node_modules/named"),
        ] {
            link(to, &tree.join(at));
        }
        link(root.join("outside"), &tree.join(".claude/folder"));
        link("../outside/back", &tree.join(".crush.json"));
        write(&tree.join(".git/HEAD"));
        let mut held =
            paths(&[".git/hooks", ".git/objects", ".claude", ".mcp.json", ".crush.json", ".absent"]);
        held.extend(paths(&["node_modules", "node_modules/named"]));
        let count = held.len();
        add_linked_targets(&tree, &mut held).unwrap();
        let mut found = held.split_off(count);
        found.sort();
        let expected = [
            "conf/absent",
            // By a link that lies elsewhere.
            "conf/claude.json",
            "conf/new.json",
            "packages/named",
            "ring",
            "scripts/again",
            "scripts/hook",
            "shared/lib.py",
            "skills",
        ];
        assert_eq!(found, paths(&expected));
    }

    #[test]
    fn what_cannot_be_followed_to_its_end_is_an_error_that_says_what_to_do() {
        // N6
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().canonicalize().unwrap();
        for number in 0..3 {
            write(&tree.join(format!("work/{number}")));
            link(format!("../work/{number}"), &tree.join(format!(".claude/{number}")));
        }
        let held = paths(&[".claude"]);
        let ended = |entries, targets| LinkedTargets::new(&tree, &held, entries, targets).follow();
        assert_eq!(ended(3, 3), Ok(()));
        let few = ended(3, 2).unwrap_err().to_string();
        assert!(
            few.contains("more than 2 places, work/") && few.contains("put copies in the place"),
            "{few}"
        );
        let short = ended(2, 3).unwrap_err().to_string();
        assert!(short.contains("more than 2 files and folders in"), "{short}");
    }
}
