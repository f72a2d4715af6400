//! The programs that the host runs itself, outside any boundary: none from a place where agents write, whether by its own path,
//! a folder of `PATH`, a link, or the interpreter in its first line. An activated environment of Python (`.venv/bin`) or
//! `node_modules/.bin` puts such folders first, and a `git` in one of them would run with all rights of the user.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::link_walk::LinkWalk;
use crate::lists::listed_paths;

/// The fallback if nothing of `PATH` remains: an empty one would mean the current folder.
const SYSTEM: &str = "/usr/bin:/bin";

/// How much of a program is read for its first line.
const FIRST_LINE_BYTES: u64 = 256;

/// The program of a process, even if its file was renamed.
pub(crate) const RUNNING: &str = "/proc/self/exe";

/// Folders and files that agents write.
#[derive(Debug)]
struct AgentPlaces {
    /// Work trees, and the repositories that contain them.
    trees: Vec<PathBuf>,
    /// The entries of `write` lists.
    listed: Vec<PathBuf>,
    /// Those that hold the home of the user.
    around_home: Vec<PathBuf>,
    /// Places that agents of any run have written, whatever they contain. Links in them, and in `trees`, do not count as the
    /// user's.
    linked: Vec<PathBuf>,
}

/// Those that this process knows.
static PLACES: RwLock<AgentPlaces> = RwLock::new(AgentPlaces {
    trees: Vec::new(),
    listed: Vec::new(),
    around_home: Vec::new(),
    linked: Vec::new(),
});

fn places() -> RwLockReadGuard<'static, AgentPlaces> {
    PLACES.read().unwrap_or_else(PoisonError::into_inner)
}

fn places_to_change() -> RwLockWriteGuard<'static, AgentPlaces> {
    PLACES.write().unwrap_or_else(PoisonError::into_inner)
}

fn add(places: &mut Vec<PathBuf>, place: PathBuf) {
    if !places.contains(&place) {
        places.push(place);
    }
}

impl AgentPlaces {
    /// The places in which no program of the host's is searched.
    fn searched(&self) -> Vec<&Path> {
        self.trees.iter().chain(&self.listed).map(PathBuf::as_path).collect()
    }

    /// The same, and the places that contain the home.
    fn all(&self) -> Vec<&Path> {
        [&self.trees, &self.listed, &self.around_home].into_iter().flatten().map(PathBuf::as_path).collect()
    }
}

/// From now on this process looks for no program of its own in this folder, or below it, nor in the repositories that it lies in: another
/// run may work at their top. A folder that holds the home of the user is passed over: an agent that works there may change what every shell
/// of the user runs.
pub fn exclude_from_path(tree: &Path) {
    let Ok(tree) = tree.canonicalize() else { return };
    let home = home_of_user();
    let (meant, around_home) = guarded(&tree, home.as_deref());
    let mut places = places_to_change();
    meant.into_iter().for_each(|tree| add(&mut places.trees, tree));
    around_home.into_iter().for_each(|tree| add(&mut places.around_home, tree));
}

/// From now on this process searches no program of its own in the entries of `write` lists, as [`listed_paths`] reads them:
/// agents may have written one there. Returns the paths.
pub fn exclude_listed(paths: &[String], home: Option<&Path>, tree: &Path) -> Vec<PathBuf> {
    let named = listed_paths(Some(paths), home, tree);
    named.iter().for_each(|path| exclude_writable(path));
    named
}

/// The same for one absolute path. One that contains the user's home is skipped as well.
pub fn exclude_writable(path: &Path) {
    if !path.is_absolute() {
        return;
    }
    // The real path of an entry is writable. A link to it is not.
    let real = LinkWalk::of(path).real;
    let holds_home = home_of_user().is_some_and(|home| home.starts_with(&real));
    let mut places = places_to_change();
    add(&mut places.linked, real.clone());
    add(if holds_home { &mut places.around_home } else { &mut places.listed }, real);
}

/// From now on, no link in this folder is taken for one of the user's: agents have worked there.
pub fn distrust_links(folder: &Path) {
    if folder.is_absolute() {
        add(&mut places_to_change().linked, LinkWalk::of(folder).real);
    }
}

/// Whether a link, at a path without links, may have been made by an agent, or come with a folder from others.
pub(crate) fn is_where_others_link(link: &Path) -> bool {
    let places = places();
    places.linked.iter().chain(&places.trees).any(|place| link != place && link.starts_with(place))
}

/// The first link on the way to a path that is in a place that agents of earlier runs have written, as noted by
/// [`exclude_writable`] and [`distrust_links`]: an agent may have chosen the target of the path. Links in a tree in which no
/// agent has worked are the user's.
pub fn link_of_agents(path: &Path) -> Option<PathBuf> {
    let places = places();
    let is_of_agents =
        |link: &PathBuf| places.linked.iter().any(|place| link != place && link.starts_with(place));
    LinkWalk::of(path).links.into_iter().find(is_of_agents)
}

fn home_of_user() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok())
}

/// A folder, and those above it that are repositories: first those that do not hold the home, then those that do.
fn guarded(tree: &Path, home: Option<&Path>) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let is_meant = |folder: &&Path| *folder == tree || folder.join(".git").symlink_metadata().is_ok();
    let holds_home = |folder: &PathBuf| home.is_some_and(|home| home.starts_with(folder));
    let (around_home, meant) =
        tree.ancestors().filter(is_meant).map(Path::to_owned).partition::<Vec<_>, _>(holds_home);
    (meant, around_home)
}

/// The trusted part of this process's own `PATH`.
pub fn own_trusted_path() -> OsString {
    trusted_path(std::env::var_os("PATH").as_deref())
}

/// The folders of a `PATH` in which the host searches its own programs: absolute ones outside every place that was passed to
/// [`exclude_from_path`] and [`exclude_writable`]. Never empty.
pub fn trusted_path(path: Option<&OsStr>) -> OsString {
    outside(path, &places().searched())
}

/// A program that the host runs itself, by its absolute path: the first one of [`trusted_path`] that is [`runs_no_work_of_agents`]. By a path
/// a process is started without a copy of this one's memory, which a search for a name would need.
pub fn find_trusted(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    find_outside(name, path, &places().searched())
}

/// A program that is started only in a boundary: it may be in an entry of a `write` list, but not in a work tree.
pub fn find_confined(name: &str, path: Option<&OsStr>) -> Option<PathBuf> {
    let places = places();
    let trees: Vec<&Path> = places.trees.iter().map(PathBuf::as_path).collect();
    find_outside(name, path, &trees)
}

/// The same as [`find_trusted`] on this process's own `PATH`; if there is none, a nonexistent path, so that starting it fails
/// with a clear error.
pub fn own_trusted_program(name: &str) -> PathBuf {
    let found = find_trusted(name, std::env::var_os("PATH").as_deref());
    found.unwrap_or_else(|| Path::new("/usr/bin").join(name))
}

/// Whether the host may run a program outside of any boundary: neither it, nor a link on the way to it, nor the interpreter in
/// its first line is in a place where agents write, including a work tree that contains the home.
pub fn runs_no_work_of_agents(program: &Path) -> bool {
    program.is_absolute() && is_trusted(program, &places().all())
}

/// Whether agents write this, or a link on the way to it.
pub fn is_work_of_agents(path: &Path) -> bool {
    !is_outside(path, &places().all())
}

fn find_outside(name: &str, path: Option<&OsStr>, places: &[&Path]) -> Option<PathBuf> {
    let path = outside(path, places);
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join(name));
    programs.find(|program| is_executable(program) && is_trusted(program, places))
}

/// Whether this is a file that may be run, links followed.
pub fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn is_trusted(program: &Path, places: &[&Path]) -> bool {
    let interpreter = first_line(program).unwrap_or_default();
    let mut named = interpreter.split_whitespace().filter(|word| word.starts_with('/')).map(Path::new);
    is_outside(program, places) && named.all(|path| is_outside(path, places))
}

/// The words of the first line of a script, which name its interpreter.
pub(crate) fn first_line(program: &Path) -> Option<String> {
    let mut head = Vec::new();
    std::fs::File::open(program).ok()?.take(FIRST_LINE_BYTES).read_to_end(&mut head).ok()?;
    let head = String::from_utf8_lossy(&head);
    Some(head.lines().next()?.strip_prefix("#!")?.to_owned())
}

fn is_outside(path: &Path, places: &[&Path]) -> bool {
    let LinkWalk { links, real, .. } = LinkWalk::of(path);
    let is_there = |way: &Path| places.iter().any(|place| way.starts_with(place));
    // The literal path too: `..` after a folder has another meaning once that folder is a link.
    !is_there(path) && !is_there(&real) && !links.iter().any(|link| is_there(link))
}

fn outside(path: Option<&OsStr>, places: &[&Path]) -> OsString {
    let is_trusted = |folder: &PathBuf| folder.is_absolute() && is_outside(folder, places);
    let folders: Vec<PathBuf> = path.into_iter().flat_map(std::env::split_paths).filter(is_trusted).collect();
    match std::env::join_paths(folders) {
        Ok(path) if !path.is_empty() => path,
        _ => SYSTEM.into(),
    }
}

/// The path of this process's program at its start: an agent may move it since, and replace it by its own.
static AT_START: OnceLock<Option<PathBuf>> = OnceLock::new();

/// Records the path of this process's program. Call it before any program of an agent runs; later calls change nothing.
pub fn note_this_program() {
    AT_START.get_or_init(|| {
        let running = std::fs::read_link(RUNNING).ok()?;
        // The kernel's suffix for a file that is not at its path any more.
        let path = running.as_os_str().as_bytes();
        Some(PathBuf::from(OsStr::from_bytes(path.strip_suffix(b" (deleted)").unwrap_or(path))))
    });
}

/// The running program, for a start by this process itself: the same even if the file at its path was moved or replaced since.
/// If another program runs, and on systems without `/proc`, the one at the path.
pub fn this_program(own_exe: &Path) -> PathBuf {
    let running = is_running(own_exe).then(|| PathBuf::from(RUNNING));
    running.unwrap_or_else(|| own_exe.to_owned())
}

/// The same as other processes start it, while this one lives.
pub fn program_of_this_process(own_exe: &Path) -> PathBuf {
    let running = is_running(own_exe).then(|| PathBuf::from(format!("/proc/{}/exe", std::process::id())));
    running.unwrap_or_else(|| own_exe.to_owned())
}

/// The running program, for a start by a process that does not know its path.
///
/// # Errors
/// On systems without `/proc`, if the path of this program is not known.
pub fn running_program() -> std::io::Result<PathBuf> {
    // By the link, a file that was moved or removed is there as well.
    if Path::new(RUNNING).exists() { Ok(PathBuf::from(RUNNING)) } else { std::env::current_exe() }
}

fn is_running(own_exe: &Path) -> bool {
    note_this_program();
    AT_START.get().is_some_and(|program| program.as_deref() == Some(own_exe))
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
        let trees = [tree.as_path()];
        let left: Vec<PathBuf> = std::env::split_paths(&outside(Some(&path), &trees)).collect();
        assert_eq!(left, [root.join("bin"), PathBuf::from("/usr/bin")]);
        assert_eq!(outside(Some(tree.join(".venv/bin").as_os_str()), &trees), SYSTEM);
        // A folder outside may hold a link to a program inside.
        std::fs::copy("/bin/sh", tree.join("tool")).unwrap();
        symlink(tree.join("tool"), root.join("bin/tool")).unwrap();
        let folder = root.join("bin");
        let found = |trees: &[&Path]| find_outside("tool", Some(folder.as_os_str()), trees);
        assert_eq!(found(&[]), Some(root.join("bin/tool")));
        assert_eq!(found(&trees), None);
        assert_eq!(outside(None, &[]), SYSTEM);
    }

    // N6
    #[test]
    fn no_link_and_no_interpreter_of_a_program_of_the_host_lies_where_agents_write() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let tree = root.join("tree");
        for folder in ["tree/bin", "bin", "usr"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let script = |path: PathBuf, interpreter: &str| {
            std::fs::write(&path, format!("#!{interpreter}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        let of_tree = tree.join("bin/python");
        script(of_tree.clone(), "/bin/sh");
        script(root.join("usr/plain"), "/bin/sh");
        script(root.join("bin/plain"), "/bin/sh");
        script(root.join("bin/by-env"), "/usr/bin/env python");
        script(root.join("bin/of-tree"), &format!("{} -I", of_tree.display()));
        script(root.join("bin/of-tree-by-env"), &format!("/usr/bin/env -S {}", of_tree.display()));
        // By a link in the tree, an agent chooses the target.
        symlink(root.join("usr/plain"), tree.join("bin/link")).unwrap();
        symlink(tree.join("bin/link"), root.join("bin/by-link")).unwrap();
        let bin = root.join("bin");
        let is_found =
            |name: &str, trees: &[&Path]| find_outside(name, Some(bin.as_os_str()), trees).is_some();
        for name in ["plain", "by-env"] {
            assert!(is_found(name, &[]) && is_found(name, &[&tree]), "{name}");
        }
        for name in ["of-tree", "of-tree-by-env", "by-link"] {
            assert!(is_found(name, &[]) && !is_found(name, &[&tree]), "{name}");
        }
        assert!(!is_outside(&tree.join("bin/../../usr/plain"), &[&tree]));
    }

    // N6
    #[test]
    fn what_a_write_list_names_supplies_programs_to_confined_agents_only() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for folder in ["cargo/bin", "home/tree"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        symlink("cargo", root.join("linked")).unwrap();
        let tool = root.join("cargo/bin/tool");
        std::fs::copy("/bin/sh", &tool).unwrap();
        let (path, home) = (root.join("cargo/bin").into_os_string(), root.join("home"));
        assert_eq!(find_trusted("tool", Some(&path)), Some(tool.clone()));
        let lists = ["~/../linked".to_owned(), "target".to_owned()];
        let named = exclude_listed(&lists, Some(&home), &root.join("home/tree"));
        assert_eq!(named, [home.join("../linked"), root.join("home/tree/target")]);
        assert_eq!(find_trusted("tool", Some(&path)), None);
        assert_eq!(find_confined("tool", Some(&path)), Some(tool.clone()));
        assert!(!runs_no_work_of_agents(&tool) && is_work_of_agents(&root.join("linked/x")));
        assert!(!is_work_of_agents(&root.join("other")));
        assert!(runs_no_work_of_agents(Path::new("/bin/sh")) && !runs_no_work_of_agents(Path::new("sh")));
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
        let home = root.join("home");
        let of_src = (vec![src.clone(), root.join("home/work")], vec![home.clone()]);
        assert_eq!(guarded(&src, Some(&home)), of_src);
        assert_eq!(guarded(&root, Some(&home)), (Vec::new(), vec![root.clone()]));
    }
}
