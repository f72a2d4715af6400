//! The repositories that the user's git uses for places in a tree: around the tree, above it, at the target of a `.git` file,
//! of linked work trees and of submodules in the tree. Each of their folders in the tree is protected like `.git` in its root.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use baton_sandbox::LinkWalk;

use super::git_settings::{
    HostEnvironment, REPOSITORIES_MAX, bytes_of, common_folder, is_repository, repository_in, submodules,
    within,
};
use super::made_paths::make_folder;
use crate::session_files::text_of;

/// What of a repository is named by paths from its folder begins so in the lists.
const GIT: &str = ".git";
/// A file by which a branch is named is not longer.
const HEAD_BYTES_MAX: u64 = 8 << 10;
/// Maximum number of linked work trees of a repository that are read.
const WORK_TREES_MAX: usize = 1024;

/// A work tree for which git has settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RepositoryPlace {
    /// Its root, a whole path: git is asked there.
    pub(super) root: PathBuf,
    /// Whole paths from which git may take a relative path of its settings: the root, and the folders of the repository.
    pub(super) bases: Vec<PathBuf>,
}

/// The repositories that the user's git uses for places in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TreeRepositories {
    /// The tree itself if there is no repository.
    pub(super) places: Vec<RepositoryPlace>,
    /// Folders of repositories in the tree, relative to it: an empty path if the tree is a bare repository.
    folders: BTreeSet<PathBuf>,
    /// The `.git` of linked work trees and of submodules as absolute paths, including missing ones and those outside of the
    /// tree.
    pub(super) links: BTreeSet<PathBuf>,
}

impl TreeRepositories {
    /// Those of a tree, which is a whole path without links.
    pub(super) fn of(tree: &Path, environment: &HostEnvironment) -> Self {
        let mut found = Self::default();
        found.folders.extend(tree.join(GIT).is_dir().then(|| PathBuf::from(GIT)));
        let mut left: VecDeque<PathBuf> = tree.ancestors().map(Path::to_owned).collect();
        let (mut seen, mut known) = (BTreeSet::new(), BTreeSet::new());
        while let Some(root) = left.pop_front().filter(|_| found.places.len() < REPOSITORIES_MAX) {
            if !seen.insert(root.clone()) {
                continue;
            }
            let folders = folders_of(&root);
            if folders.is_empty() && root != tree {
                continue;
            }
            let in_tree =
                folders.iter().filter_map(|folder| Some(folder.strip_prefix(tree).ok()?.to_owned()));
            found.folders.extend(in_tree);
            // An agent can write `.gitmodules`, and make a repository, so the settings of such a repository are not followed.
            let is_known = folders.first().is_some_and(|own| is_of_any(&known, own));
            if !is_known && !tree.starts_with(&root) {
                continue;
            }
            known.extend(folders.iter().cloned());
            let mut further = Vec::new();
            further.extend(submodules(&root, environment));
            for folder in &folders {
                further.extend(linked_work_trees(folder));
            }
            found.links.extend(further.iter().map(|further| further.join(GIT)));
            // The main work tree, which has no record.
            let first =
                folders.iter().filter(|folder| folder.ends_with(GIT)).filter_map(|folder| folder.parent());
            further.extend(first.map(Path::to_owned));
            let further = further.into_iter().filter_map(|further| further.canonicalize().ok());
            left.extend(further.filter(|further| further.starts_with(tree)));
            if !folders.is_empty() {
                let bases = std::iter::once(root.clone()).chain(folders).collect();
                found.places.push(RepositoryPlace { root, bases });
            }
        }
        if found.places.is_empty() {
            found.places.push(RepositoryPlace { root: tree.to_owned(), bases: vec![tree.to_owned()] });
        }
        if tree.join(GIT).is_dir() {
            // A record that names the tree does not mean that it has a link.
            found.links.remove(&tree.join(GIT));
        }
        found.forget_what_is_held(tree);
        found
    }

    /// A folder inside a protected one, like those of submodules, needs no further protection.
    fn forget_what_is_held(&mut self, tree: &Path) {
        let of_folders =
            self.folders.iter().flat_map(|folder| ["modules", "worktrees"].map(|name| folder.join(name)));
        let links = self.links.iter().flat_map(|link| within(tree, link));
        let held: BTreeSet<PathBuf> = of_folders.chain(links).collect();
        self.folders.retain(|folder| !folder.ancestors().any(|above| held.contains(above)));
    }

    /// Paths of a list that names them from the root of a work tree (`.git/hooks`), for each repository in the tree, from the tree.
    pub(super) fn paths(&self, of_git: &[&str]) -> Vec<PathBuf> {
        let of_git = of_git.iter().filter_map(|path| Path::new(path).strip_prefix(GIT).ok());
        of_git.flat_map(|path| self.folders.iter().map(move |folder| folder.join(path))).collect()
    }

    /// Folders below which no link is made, from the tree.
    pub(super) fn link_free(&self) -> Vec<PathBuf> {
        // A bare repository with work trees in it has links of the work next to its folders.
        let of_bare = ["logs", "objects", "refs"].map(PathBuf::from);
        let of_folder = |folder: &PathBuf| match folder.as_os_str().is_empty() {
            true => of_bare.to_vec(),
            false => vec![folder.clone()],
        };
        self.folders.iter().flat_map(of_folder).collect()
    }

    /// The folders, from the tree.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(PathBuf::as_path)
    }

    /// The reflogs of the branches that are checked out, from the tree: the host writes them as well when it commits there.
    pub(super) fn reflogs(&self, tree: &Path) -> Vec<PathBuf> {
        let reflog = |folder: &PathBuf| {
            let head = text_of(&tree.join(folder).join("HEAD"), HEAD_BYTES_MAX)?;
            let branch = Path::new(head.strip_prefix("ref: ")?.trim_end());
            let is_plain = branch.components().all(|part| matches!(part, Component::Normal(_)));
            is_plain.then(|| folder.join("logs").join(branch))
        };
        self.folders.iter().filter_map(reflog).collect()
    }

    /// Makes folders of repositories that are not called `.git`, so that they can be mounted.
    pub(super) fn make_folders(&self, tree: &Path, names: &[&str]) {
        for folder in self.folders.iter().filter(|folder| *folder != Path::new(GIT)) {
            // A file in one of these would be one of the work, so that they stay empty.
            let empty = names.iter().filter(|name| !name.contains('/'));
            empty.for_each(|name| make_folder(tree, &folder.join(name)));
        }
    }
}

/// Whether a folder is one of these repositories, or the folder of one of their submodules or work trees inside them.
fn is_of_any(repositories: &BTreeSet<PathBuf>, own: &Path) -> bool {
    let is_of = |repository: &PathBuf| {
        let mut parts = ["modules", "worktrees"].iter().map(|name| repository.join(name));
        own == repository || parts.any(|part| own.starts_with(part))
    };
    repositories.iter().any(is_of)
}

/// The folders of the repository of a work tree, without links: its own one, and the one that it shares with others. Empty if
/// there is no repository.
fn folders_of(root: &Path) -> Vec<PathBuf> {
    let is_bare =
        |at: &Path| is_repository(at) && ["objects", "refs"].iter().all(|name| at.join(name).is_dir());
    let named = repository_in(root);
    let own = match is_repository(&named) {
        true => named,
        false if is_bare(root) => root.to_owned(),
        false => return Vec::new(),
    };
    let common = common_folder(&own);
    let mut folders: Vec<PathBuf> =
        std::iter::once(own).chain(common).filter_map(|folder| folder.canonicalize().ok()).collect();
    folders.dedup();
    folders
}

/// The roots of the work trees that a repository has besides its first one.
fn linked_work_trees(repository: &Path) -> Vec<PathBuf> {
    let records = std::fs::read_dir(repository.join("worktrees")).into_iter().flatten().flatten();
    let root = |record: PathBuf| {
        let named = bytes_of(&record.join("gitdir"))?;
        let link = record.join(OsStr::from_bytes(named.trim_ascii_end()));
        // Also one that is not there, of which `..` is taken off.
        link.ends_with(GIT).then(|| LinkWalk::of(link.parent().unwrap_or(&link)).real)
    };
    records.take(WORK_TREES_MAX).filter_map(|record| root(record.path())).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, arguments: &[&str]) {
        fs::create_dir_all(folder).unwrap();
        let given = ["-c", "user.name=N", "-c", "user.email=n@localhost", "-c", "protocol.file.allow=always"];
        let made = Command::new("git").args(given).args(arguments).current_dir(folder).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }

    fn repository(folder: &Path) {
        git(folder, &["init", "-q", "-b", "main"]);
        git(folder, &["commit", "-q", "--allow-empty", "-m", "begin"]);
    }

    fn place() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        (place, root)
    }

    fn of(tree: &Path) -> TreeRepositories {
        TreeRepositories::of(tree, &std::env::vars_os().collect())
    }

    #[test]
    fn a_repository_is_held_wherever_it_lies_in_the_tree() {
        // N6: hooks of a repository in `.bare` were written, and git ran them in its work trees.
        let (_place, root) = place();
        repository(&root.join("src"));
        let tree = root.join("project");
        git(&root, &["clone", "-q", "--bare", "src", "project/.bare"]);
        fs::write(tree.join(".git"), "gitdir: ./.bare\n").unwrap();
        git(&tree, &["worktree", "add", "-q", "work/main"]);
        let found = of(&tree);
        let paths = found.paths(&[".git/hooks", ".lfsconfig"]);
        assert_eq!(paths, [PathBuf::from(".bare/hooks")]);
        assert!(found.links.contains(&tree.join("work/main/.git")), "{found:?}");
        assert_eq!(found.link_free(), [PathBuf::from(".bare")]);
        assert_eq!(found.reflogs(&tree), [PathBuf::from(".bare/logs/refs/heads/main")]);
        found.make_folders(&tree, &["remotes", "worktrees/.baton"]);
        assert!(tree.join(".bare/remotes").is_dir() && !tree.join(".bare/worktrees/.baton").exists());
        // A tree without a `.git`, and one that is itself a bare repository.
        assert_eq!(of(&tree.join("work/main")).folders().count(), 0);
        let bare = of(&tree.join(".bare"));
        assert_eq!(bare.paths(&[".git/hooks"]), [PathBuf::from("hooks")]);
        assert!(!bare.link_free().contains(&PathBuf::new()), "{bare:?}");
        // By a link.
        fs::remove_file(tree.join(".git")).unwrap();
        std::os::unix::fs::symlink(".bare", tree.join(".git")).unwrap();
        assert_eq!(of(&tree).paths(&[".git/hooks"]), [".bare/hooks", ".git/hooks"].map(PathBuf::from));
    }

    #[test]
    fn linked_work_trees_are_found_from_the_tree_and_from_below_its_repository() {
        // N6: a work tree of the user in the tree was redirected to a repository that an agent had made.
        let (_place, root) = place();
        let tree = root.join("project");
        repository(&tree);
        git(&tree, &["worktree", "add", "-q", "app/trees/one"]);
        git(&tree, &["worktree", "add", "-q", "app/trees/gone"]);
        fs::remove_dir_all(tree.join("app/trees/gone")).unwrap();
        // As newer versions of git write it.
        fs::write(tree.join(".git/worktrees/gone/gitdir"), "../../../app/trees/gone/.git\n").unwrap();
        for from in [tree.clone(), tree.join("app"), tree.join("app/trees/one")] {
            let found = of(&from);
            for name in ["one", "gone"] {
                assert!(found.links.contains(&tree.join("app/trees").join(name).join(GIT)), "{found:?}");
            }
        }
        let roots = |from: &Path| of(from).places.into_iter().map(|place| place.root).collect::<Vec<_>>();
        assert_eq!(roots(&tree.join("app")), [tree.clone(), tree.join("app/trees/one")]);
        assert_eq!(of(&tree).folders().collect::<Vec<_>>(), [Path::new(GIT)]);
        assert_eq!(of(&tree.join("app")).folders().count(), 0);
    }

    #[test]
    fn submodules_of_a_repository_above_are_found_in_the_tree() {
        // N6
        let (_place, root) = place();
        repository(&root.join("module"));
        let above = root.join("project");
        repository(&above);
        git(&above, &["submodule", "--quiet", "add", "../module", "app/mod"]);
        let tree = above.join("app");
        let found = of(&tree);
        assert!(found.links.contains(&tree.join("mod/.git")), "{found:?}");
        assert!(found.places.iter().any(|place| place.root == tree.join("mod")), "{found:?}");
        // One whose repository lies in the tree.
        fs::rename(above.join(".git/modules/app/mod"), tree.join("store")).unwrap();
        fs::write(tree.join("mod/.git"), "gitdir: ../store\n").unwrap();
        let found = of(&tree);
        assert_eq!(found.paths(&[".git/hooks"]), [PathBuf::from("store/hooks")]);
        // An agent may have made it, so that its settings are not read.
        assert!(found.places.iter().all(|place| place.root != tree.join("mod")), "{found:?}");
    }

    #[test]
    fn a_tree_without_a_repository_is_asked_for_what_the_user_has() {
        let (_place, root) = place();
        let found = of(&root);
        assert_eq!(found.places, [RepositoryPlace { root: root.clone(), bases: vec![root] }]);
        assert_eq!(found.folders().count(), 0);
    }
}
