//! Files that agents can write and that have further names in other places (hard links): stores of packages, clones of a
//! repository on the same disk, backups. A boundary protects names, so a write to such a file by its name inside changes it for
//! every name outside.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use baton_core::workflow::SharedFiles;

use crate::file_walk::{FileWalk, outermost};
use crate::link_walk::LinkWalk;

/// Most files and folders that are examined.
const ENTRIES_MAX: u64 = 200_000;
/// Files that are named.
const EXAMPLES_MAX: usize = 3;
/// Bits of a mode by which others than the owner write.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// A file with several names.
struct LinkedFile {
    names: u64,
    seen: u64,
    first: PathBuf,
}

/// Examines a work tree and the writable entries of lists, without following links: finds each file whose names are not all
/// among them.
pub fn shared_files(tree: &Path, listed: &[PathBuf]) -> SharedFiles {
    look(tree, listed, ENTRIES_MAX)
}

fn look(tree: &Path, listed: &[PathBuf], entries_max: u64) -> SharedFiles {
    let tree = LinkWalk::of(tree).real;
    let all = listed.iter().map(|path| LinkWalk::of(path).real).chain([tree.clone()]);
    // The tree first: it is the most important part if not everything is examined.
    let (of_tree, others): (Vec<_>, Vec<_>) =
        outermost(all).into_iter().partition(|root| tree.starts_with(root));
    let mut found: HashMap<(u64, u64), LinkedFile> = HashMap::new();
    let mut note = |path: &dyn Fn() -> PathBuf, about: &Metadata| {
        if about.nlink() > 1 && can_be_written(about) {
            let new = || LinkedFile { names: about.nlink(), seen: 0, first: path() };
            found.entry((about.dev(), about.ino())).or_insert_with(new).seen += 1;
        }
        true
    };
    let is_whole =
        !FileWalk::over(of_tree.into_iter().chain(others), entries_max, &|_| false, &mut note).is_cut;
    let shared: BTreeSet<PathBuf> =
        found.into_values().filter(|file| file.seen < file.names).map(|file| file.first).collect();
    SharedFiles {
        files: shared.len() as u64,
        examples: examples(&tree, &shared),
        only_first: (!is_whole).then_some(entries_max),
    }
}

/// The first one of each folder of the tree, or of each list, as far as they are named.
fn examples(tree: &Path, shared: &BTreeSet<PathBuf>) -> Vec<String> {
    let mut of_folders: BTreeMap<PathBuf, &Path> = BTreeMap::new();
    for path in shared {
        let path = path.strip_prefix(tree).unwrap_or(path);
        let depth = if path.is_absolute() { path.components().count() - 1 } else { 1 };
        of_folders.entry(path.components().take(depth).collect()).or_insert(path);
    }
    of_folders.into_values().take(EXAMPLES_MAX).map(|path| path.to_string_lossy().into_owned()).collect()
}

/// Whether an agent, which has the user's rights on files, can write it or make it writable.
fn can_be_written(about: &Metadata) -> bool {
    let user = rustix::process::geteuid();
    user.is_root() || about.uid() == user.as_raw() || about.mode() & WRITABLE_BY_OTHERS != 0
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(path: PathBuf) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        path
    }

    #[test]
    fn a_file_with_a_name_that_agents_cannot_write_is_shared() {
        // N6: an agent wrote into the store of packages of every project of the user, by its name in the work tree.
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (tree, store) = (root.join("tree"), root.join("store"));
        let link = |from: &Path, to: &str| {
            fs::create_dir_all(root.join(to).parent().unwrap()).unwrap();
            fs::hard_link(from, root.join(to)).unwrap();
        };
        link(&write(store.join("a")), "tree/node_modules/p/a.js");
        link(&write(store.join("b")), "tree/node_modules/p/b.js");
        link(&root.join("store/b"), "tree/again.js");
        link(&write(root.join("other/.git/objects/pack/x.pack")), "tree/.git/objects/pack/x.pack");
        // Those have all their names in the tree, or in no place of agents, or one name.
        link(&write(tree.join("own")), "tree/deep/own");
        link(&write(root.join("outside/c")), "outside/d");
        write(tree.join("plain"));
        symlink(root.join("outside"), tree.join("link")).unwrap();
        let found = shared_files(&tree, &[]);
        let examples = [".git/objects/pack/x.pack", "again.js", "node_modules/p/a.js"].map(str::to_owned);
        assert_eq!(found, SharedFiles { files: 3, examples: examples.to_vec(), only_first: None });
        // A list gives all names of those in the store, and no more than that.
        let found = shared_files(&tree, &[store.clone(), store.join("a"), root.join("missing")]);
        assert_eq!((found.files, found.examples), (1, vec![examples[0].clone()]));
        let found = shared_files(&tree.join("deep"), &[root.join("outside/c")]);
        let outside = root.join("outside/c").display().to_string();
        assert_eq!((found.files, found.examples), (2, vec![outside, "own".to_owned()]));
        let cut = look(&tree, &[], 2);
        assert_eq!(cut.only_first, Some(2));
        assert_eq!(look(&root, &[], ENTRIES_MAX), SharedFiles::default());
    }
}
