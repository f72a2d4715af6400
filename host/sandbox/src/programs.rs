//! Where the host looks for the programs that it runs itself, outside any boundary: in no folder of `PATH` that lies where agents
//! write. An activated environment of Python (`.venv/bin`) or `node_modules/.bin` puts such folders first, and a `git` in one of them
//! would be run with all rights of the user.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Where nothing is left of `PATH`: an empty one would mean the current folder.
const SYSTEM: &str = "/usr/bin:/bin";

/// Folders that agents write in, links followed.
static TREES: RwLock<Vec<PathBuf>> = RwLock::new(Vec::new());

/// From now on this process looks for no program of its own in this folder, or below it, nor in the repositories that it lies in: another
/// run may work at their top. A folder that holds the home of the user is passed over: whoever works there may change what every shell
/// of the user runs.
pub fn exclude_from_path(tree: &Path) {
    let Ok(tree) = tree.canonicalize() else { return };
    let home = std::env::var_os("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok());
    let mut trees = TREES.write().unwrap_or_else(PoisonError::into_inner);
    for tree in guarded(&tree, home.as_deref()) {
        if !trees.contains(&tree) {
            trees.push(tree);
        }
    }
}

/// A folder, and those above it that are repositories; none that holds the home.
fn guarded(tree: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let is_meant = |folder: &&Path| *folder == tree || folder.join(".git").symlink_metadata().is_ok();
    let holds_home = |folder: &&Path| home.is_some_and(|home| home.starts_with(folder));
    tree.ancestors().filter(is_meant).filter(|folder| !holds_home(folder)).map(Path::to_owned).collect()
}

/// What is trusted of this process's own `PATH`.
pub fn own_trusted_path() -> OsString {
    trusted_path(std::env::var_os("PATH").as_deref())
}

/// The folders of a `PATH` in which the host looks for its own programs: absolute ones outside every folder that was named to
/// [`exclude_from_path`]. Never empty.
pub fn trusted_path(path: Option<&OsStr>) -> OsString {
    outside(path, &TREES.read().unwrap_or_else(PoisonError::into_inner))
}

/// A program that the host runs itself, by its absolute path: the first one of [`trusted_path`] that does not lead into a folder named to
/// [`exclude_from_path`]. By a path a process is started without a copy of this one's memory, which a search for a name would need.
pub fn find_trusted(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    find_outside(name, path, &TREES.read().unwrap_or_else(PoisonError::into_inner))
}

/// The same on this process's own `PATH`; where there is none, a path at which nothing is, so that starting it says so.
pub fn own_trusted_program(name: &str) -> PathBuf {
    let found = find_trusted(name, std::env::var_os("PATH").as_deref());
    found.unwrap_or_else(|| Path::new("/usr/bin").join(name))
}

fn find_outside(name: &str, path: Option<&OsStr>, trees: &[PathBuf]) -> Option<PathBuf> {
    let path = outside(path, trees);
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join(name));
    programs.find(|program| is_executable(program) && is_outside(program, trees))
}

/// Whether this is a file that may be run, links followed.
pub fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn is_outside(path: &Path, trees: &[PathBuf]) -> bool {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    !trees.iter().any(|tree| real.starts_with(tree))
}

fn outside(path: Option<&OsStr>, trees: &[PathBuf]) -> OsString {
    let is_trusted = |folder: &PathBuf| folder.is_absolute() && is_outside(folder, trees);
    let folders: Vec<PathBuf> = path.into_iter().flat_map(std::env::split_paths).filter(is_trusted).collect();
    match std::env::join_paths(folders) {
        Ok(path) if !path.is_empty() => path,
        _ => SYSTEM.into(),
    }
}

/// The program that runs now, as it is started by this process itself: the same even where the file at its path has been exchanged
/// since. Where another program runs, and on systems without `/proc`, the one at the path.
pub fn this_program(own_exe: &Path) -> PathBuf {
    let running = is_running(own_exe).then(|| PathBuf::from("/proc/self/exe"));
    running.unwrap_or_else(|| own_exe.to_owned())
}

/// The same as other processes start it, while this one lives.
pub(crate) fn program_of_this_process(own_exe: &Path) -> PathBuf {
    let running = is_running(own_exe).then(|| PathBuf::from(format!("/proc/{}/exe", std::process::id())));
    running.unwrap_or_else(|| own_exe.to_owned())
}

fn is_running(own_exe: &Path) -> bool {
    let Ok(running) = std::fs::read_link("/proc/self/exe") else { return false };
    // What the kernel says of a file that is not at its path any more.
    let running = running.as_os_str().as_encoded_bytes();
    running.strip_suffix(b" (deleted)").unwrap_or(running) == own_exe.as_os_str().as_encoded_bytes()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    // N6
    #[test]
    fn no_program_of_the_host_is_looked_for_where_agents_write() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let tree = root.join("tree");
        std::fs::create_dir_all(tree.join(".venv/bin")).unwrap();
        std::fs::create_dir_all(root.join("bin")).unwrap();
        symlink(tree.join(".venv/bin"), root.join("linked")).unwrap();
        let path = std::env::join_paths([
            tree.join(".venv/bin"),
            PathBuf::from("node_modules/.bin"),
            PathBuf::from(""),
            root.join("linked"),
            tree.join("not-there-yet"),
            root.join("bin"),
            PathBuf::from("/usr/bin"),
        ])
        .unwrap();
        let trees = [tree.clone()];
        let left: Vec<PathBuf> = std::env::split_paths(&outside(Some(&path), &trees)).collect();
        assert_eq!(left, [root.join("bin"), PathBuf::from("/usr/bin")]);
        assert_eq!(outside(Some(tree.join(".venv/bin").as_os_str()), &trees), SYSTEM);
        // A folder outside may hold a link to a program inside.
        std::fs::copy("/bin/sh", tree.join("tool")).unwrap();
        symlink(tree.join("tool"), root.join("bin/tool")).unwrap();
        let folder = root.join("bin");
        let found = |trees: &[PathBuf]| find_outside("tool", Some(folder.as_os_str()), trees);
        assert_eq!(found(&[]), Some(root.join("bin/tool")));
        assert_eq!(found(&trees), None);
        assert_eq!(outside(None, &[]), SYSTEM);
    }

    // N6
    #[test]
    fn a_folder_of_a_repository_stands_for_all_of_it() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let src = root.join("home/work/src");
        std::fs::create_dir_all(&src).unwrap();
        for repository in ["home", "home/work"] {
            std::fs::create_dir(root.join(repository).join(".git")).unwrap();
        }
        assert_eq!(guarded(&src, Some(&root.join("home"))), [src.clone(), root.join("home/work")]);
        assert_eq!(guarded(&root, Some(&root.join("home"))), Vec::<PathBuf>::new());
    }
}
