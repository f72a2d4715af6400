//! Further names (hard links) in a tree for protected or hidden files. A boundary protects names, and an agent of an earlier
//! session may have given such a file another one, so each of its names is protected.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use baton_core::workflow::SandboxLevel;

use crate::file_walk::{FileWalk, outermost};
use crate::link_walk::LinkWalk;
use crate::spec::BoundarySpec;

/// Most files and folders that are examined.
const ENTRIES_MAX: u64 = 1_000_000;
/// Most names that are protected in addition to those of the sandbox. Each is a separate mount.
const NAMES_MAX: usize = 64;
/// The folder of git's objects. Objects shared with other repositories are protected by name, and git gives them no other name
/// in the tree.
const OBJECTS: &str = "objects";
/// A repository among the files of a tree.
const REPOSITORY: &str = ".git";
/// A file next to the objects in a repository.
const HEAD: &str = "HEAD";

/// Why not every name of a file is held.
#[derive(Debug, thiserror::Error)]
pub enum UnheldNames {
    /// Of this one.
    #[error(
        "the sandbox keeps {} as it is, or hides it, and that file has {names} names (hard links): {why}. An agent could write or read \
         it by another name. Give it one name, and start again: `cp -p FILE FILE.new && mv FILE.new FILE`", file.display()
    )]
    File {
        /// One of its names.
        file: PathBuf,
        /// How many it has.
        names: u64,
        /// The obstacle.
        why: String,
    },
    /// There are too many files to examine.
    #[error(
        "the sandbox keeps as they are, or hides, more than {entries} files and folders in {}, and which of them have other names (hard links) \
         is not known: keep folders with that many files outside of the work tree", tree.display()
    )]
    TooMany {
        /// The number of examined entries.
        entries: u64,
        /// The tree.
        tree: PathBuf,
    },
}

/// A file with several names, of which one is held.
struct HeldFile {
    first: PathBuf,
    names: u64,
    seen: u64,
    is_protected: bool,
    is_hidden: bool,
}

/// Names that are to be held as well.
#[derive(Debug, Default, PartialEq, Eq)]
struct FurtherNames {
    /// From the tree.
    protect: Vec<PathBuf>,
    /// Whole paths.
    hide: Vec<PathBuf>,
}

impl BoundarySpec {
    /// Adds the further names of protected and hidden files. Below `strict` nothing is protected by its name.
    pub(crate) fn hold_further_names(&mut self) -> Result<(), UnheldNames> {
        if self.level == SandboxLevel::Strict {
            let FurtherNames { protect, hide } = FurtherNames::find(self, ENTRIES_MAX)?;
            self.protect.extend(protect);
            self.hide.extend(hide);
        }
        Ok(())
    }
}

impl FurtherNames {
    /// Searches the tree and the writable places beyond it, if a protected file has more than one name.
    fn find(spec: &BoundarySpec, entries_max: u64) -> Result<Self, UnheldNames> {
        let tree = &spec.tree;
        let is_in = |path: &Path, places: &[PathBuf]| places.iter().any(|place| path.starts_with(place));
        let in_tree = |paths: &[PathBuf]| -> Vec<PathBuf> { paths.iter().map(|at| tree.join(at)).collect() };
        let (protected, open) = (in_tree(&spec.protect), in_tree(&spec.open));
        let hidden: Vec<PathBuf> = spec.hide.iter().map(|path| LinkWalk::of(path).real).collect();
        let mut held: BTreeMap<(u64, u64), HeldFile> = BTreeMap::new();
        for (places, is_hidden) in [(&protected, false), (&hidden, true)] {
            // Of a hidden folder elsewhere no agent in a sandbox has ever made a link.
            let is_looked_at = |place: &&PathBuf| {
                let is_of_git = place.ancestors().any(|above| holds_objects(tree, above));
                !is_of_git && !is_in(place, &open) && (place.starts_with(tree) || place.is_file())
            };
            let places = outermost(places.iter().filter(is_looked_at).cloned());
            let passes_over = |folder: &Path| is_in(folder, &open) || holds_objects(tree, folder);
            let walk = FileWalk::over(places, entries_max, &passes_over, &mut |path, about| {
                if about.nlink() > 1 {
                    let new = || HeldFile {
                        first: path(),
                        names: about.nlink(),
                        seen: 0,
                        is_protected: false,
                        is_hidden: false,
                    };
                    let file = held.entry(id(about)).or_insert_with(new);
                    file.is_protected |= !is_hidden;
                    file.is_hidden |= is_hidden;
                }
                true
            });
            if walk.is_cut {
                return Err(UnheldNames::TooMany { entries: entries_max, tree: tree.clone() });
            }
        }
        let mut found = Self::default();
        let mut left = held.len();
        if left == 0 {
            return Ok(found);
        }
        let refused = |file: &HeldFile, why: String| UnheldNames::File {
            file: file.first.clone(),
            names: file.names,
            why,
        };
        let mut error = None;
        let places = outermost(spec.write.iter().map(|listed| listed.real.clone()).chain([tree.clone()]));
        let walk = FileWalk::over(places, entries_max, &|_| false, &mut |path, about| {
            if about.nlink() == 1 {
                return true;
            }
            let Some(file) = held.get_mut(&id(about)) else { return true };
            file.seen += 1;
            left -= usize::from(file.seen == file.names);
            let path = path();
            let is_hidden = is_in(&path, &hidden);
            let is_protected = is_in(&path, &protected) && !is_in(&path, &open);
            if file.is_protected && !is_protected && !is_hidden {
                match path.strip_prefix(tree) {
                    Ok(within) if !is_in(&path, &open) => found.protect.push(within.to_owned()),
                    Ok(_) | Err(_) => {
                        let why =
                            format!("{} is one of them, in a folder that agents may write", path.display());
                        error = Some(refused(file, why));
                    }
                }
            }
            if file.is_hidden && !is_hidden {
                found.hide.push(path);
            }
            if found.protect.len() + found.hide.len() > NAMES_MAX {
                error = Some(refused(file, format!("more than {NAMES_MAX} such names are in the work tree")));
            }
            left > 0 && error.is_none()
        });
        if let Some(file) = held.values().find(|file| file.seen < file.names) {
            let unread = walk.unread.map(|folder| format!("{} cannot be read", folder.display()));
            let cut = walk.is_cut.then(|| {
                format!(
                    "only the first {entries_max} files and folders of the work tree were looked at for them"
                )
            });
            error = error.or_else(|| Some(refused(file, cut.or(unread)?)));
        }
        error.map_or(Ok(found), Err)
    }
}

/// Whether one of these files, or a file below these folders, is this one, under any name: also true if there are too many to
/// examine.
pub fn has_name_in(places: &[PathBuf], file: &Metadata) -> bool {
    let mut is_there = false;
    let walk = FileWalk::over(places.iter().cloned(), ENTRIES_MAX, &|_| false, &mut |_, about| {
        is_there |= id(about) == id(file);
        !is_there
    });
    is_there || walk.is_cut
}

/// Device and inode.
fn id(about: &Metadata) -> (u64, u64) {
    (about.dev(), about.ino())
}

/// Whether a folder has the objects of a repository, or of a submodule in one. In other places an agent could make a folder
/// look like it.
fn holds_objects(tree: &Path, folder: &Path) -> bool {
    let Ok(within) = folder.strip_prefix(tree) else { return false };
    within.file_name().is_some_and(|name| name == OBJECTS)
        && within.components().any(|part| part.as_os_str() == REPOSITORY)
        && folder.with_file_name(HEAD).exists()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;
    use crate::spec::ListedPath;

    fn write(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    fn link(from: &Path, to: &Path) {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::hard_link(from, to).unwrap();
    }

    fn spec(tree: &Path) -> BoundarySpec {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect();
        BoundarySpec {
            level: SandboxLevel::Strict,
            protect: paths(&[
                "tools/agent.sh",
                ".claude",
                ".baton",
                ".git/objects/pack/a.pack",
                ".git/modules",
            ]),
            open: paths(&[".baton/own"]),
            hide: [".env", "keys"].map(|name| tree.join(name)).to_vec(),
            ..BoundarySpec::at_write(tree, tree)
        }
    }

    /// A tree with a file in each place that is held.
    fn tree() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for name in [
            "tools/agent.sh",
            ".claude/deep/settings.json",
            ".baton/own/note",
            ".env",
            "keys/old/key",
            ".git/HEAD",
            ".git/objects/pack/a.pack",
            ".git/modules/s/HEAD",
            ".git/modules/s/config",
            ".git/modules/s/objects/ab/c",
            "other.txt",
        ] {
            write(&root.join("tree").join(name));
        }
        (place, root)
    }

    #[test]
    fn each_name_in_the_tree_of_what_is_held_is_held() {
        // N6: through a second name made by an earlier agent, an agent in a strict sandbox wrote a file that the next role ran.
        let (_place, root) = tree();
        let tree = root.join("tree");
        let found = || FurtherNames::find(&spec(&tree), ENTRIES_MAX).unwrap();
        for (from, to) in [
            // Files that are not protected, or are writable in any case.
            ("tree/other.txt", "tree/another.txt"),
            ("tree/.baton/own/note", "tree/note"),
            // Objects that git shares with other repositories.
            ("tree/.git/objects/pack/a.pack", "clone/a.pack"),
            ("tree/.git/modules/s/objects/ab/c", "clone/c"),
        ] {
            link(&root.join(from), &root.join(to));
        }
        assert_eq!(found(), FurtherNames::default());
        for (from, to) in [
            ("tools/agent.sh", "build/cache.o"),
            (".claude/deep/settings.json", "build/deep/a"),
            (".git/modules/s/config", ".git/objects/ab/c"),
            (".env", "build/b"),
            ("keys/old/key", "tools/key"),
            // Held by both names already.
            (".claude/deep/settings.json", ".claude/b"),
            (".env", "keys/env"),
        ] {
            link(&tree.join(from), &tree.join(to));
        }
        // No other place is visible inside.
        link(&tree.join("tools/agent.sh"), &root.join("backup/agent.sh"));
        let FurtherNames { mut protect, mut hide } = found();
        protect.sort();
        hide.sort();
        assert_eq!(protect, [".git/objects/ab/c", "build/cache.o", "build/deep/a"].map(PathBuf::from));
        assert_eq!(hide, ["build/b", "tools/key"].map(|name| tree.join(name)));
        let mut whole = spec(&tree);
        whole.hold_further_names().unwrap();
        let further = |all: &[PathBuf], before: &[PathBuf]| {
            let mut further = all[before.len()..].to_vec();
            further.sort();
            further
        };
        assert_eq!(further(&whole.protect, &spec(&tree).protect), protect);
        assert_eq!(further(&whole.hide, &spec(&tree).hide), hide);
        let mut at_write = BoundarySpec { level: SandboxLevel::Write, ..spec(&tree) };
        at_write.hold_further_names().unwrap();
        assert_eq!(at_write, BoundarySpec { level: SandboxLevel::Write, ..spec(&tree) });
    }

    #[test]
    fn a_file_whose_names_cannot_all_be_held_is_an_error_that_names_it() {
        // N6
        let (_place, root) = tree();
        let tree = root.join("tree");
        let file = tree.join("tools/agent.sh");
        let said = |spec: &BoundarySpec, entries_max| {
            FurtherNames::find(spec, entries_max).map_err(|error| error.to_string())
        };
        link(&file, &root.join("elsewhere/agent.sh"));
        // Other places are not visible, unless a list names them.
        assert_eq!(said(&spec(&tree), ENTRIES_MAX), Ok(FurtherNames::default()));
        let real = root.join("elsewhere");
        let listed = BoundarySpec { write: vec![ListedPath { at: real.clone(), real }], ..spec(&tree) };
        let errors = [
            said(&listed, ENTRIES_MAX).unwrap_err(),
            // Enough for the protected files, and not for the tree.
            said(&spec(&tree), 14).unwrap_err(),
        ];
        for (error, part) in
            errors.iter().zip(["elsewhere/agent.sh is one of them", "only the first 14 files"])
        {
            let named = format!("keeps {} as it is", file.display());
            assert!(error.contains(&named) && error.contains("2 names (hard links)"), "{error}");
            assert!(
                error.contains(part) && error.ends_with("`cp -p FILE FILE.new && mv FILE.new FILE`"),
                "{error}"
            );
        }
        assert!(said(&spec(&tree), 2).unwrap_err().contains("more than 2 files and folders in"));
        for number in 0..=NAMES_MAX {
            link(&file, &tree.join(format!("build/{number}")));
        }
        assert!(said(&spec(&tree), ENTRIES_MAX).unwrap_err().contains("more than 64 such names"));
        fs::remove_dir_all(tree.join("build")).unwrap();
        link(&file, &tree.join(".baton/own/agent.sh"));
        assert!(said(&spec(&tree), ENTRIES_MAX).unwrap_err().contains("own/agent.sh is one of them"));
    }

    #[test]
    fn a_file_is_known_by_whatever_name() {
        // N6
        let (_place, root) = tree();
        let places = [root.join("tree/keys"), root.join("tree/.env"), root.join("absent")];
        link(&root.join("tree/keys/old/key"), &root.join("tree/build/a"));
        link(&root.join("tree/.env"), &root.join("tree/build/b"));
        let is_one = |name: &str| has_name_in(&places, &fs::metadata(root.join("tree").join(name)).unwrap());
        assert!(is_one("build/a") && is_one("build/b") && is_one(".env") && !is_one("other.txt"));
    }
}
