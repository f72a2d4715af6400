//! Where agents of runs have worked, and what `write` lists of runs have named. Agents may have left programs in the latter, which no host runs
//! outside of a boundary, in this run or later, and links in both, which lead no list anywhere. The notes are files of the state folder that is in
//! use and of the user's usual one, and nothing is taken out of them: what an agent wrote stays when its run is removed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use baton_sandbox::{LinkWalk, distrust_links, exclude_writable};

/// What lists have named, in a state folder: paths, each with a null byte behind it.
const LISTS: &str = "written-by-agents";
/// The folders in which agents have worked, written in the same way.
const TREES: &str = "worked-in-by-agents";

/// `$XDG_STATE_HOME/baton`, else `~/.local/state/baton`. The rule of the XDG base directories: a path that is not absolute is ignored.
pub fn default_state_root(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let state_home = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state_home.join("baton"))
}

/// The state folder in use, and behind it the user's usual one if that is another.
pub fn state_roots(in_use: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let usual = default_state_root(variable).filter(|usual| usual != in_use);
    std::iter::once(in_use.to_owned()).chain(usual).collect()
}

/// What agents see nothing of: the same without one that lies in the other.
pub fn hidden_state_roots(in_use: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let all = state_roots(in_use, variable);
    let is_outermost = |root: &&PathBuf| !all.iter().any(|other| other != *root && root.starts_with(other));
    all.iter().filter(is_outermost).cloned().collect()
}

/// From now on, this process runs no program of its own that lies where agents of earlier runs could write by a list, and takes no link for
/// one of the user's that lies where they worked.
pub fn exclude_earlier_lists(roots: &[PathBuf]) {
    for root in roots {
        distrust_links(root);
        noted(&root.join(LISTS)).iter().for_each(|path| exclude_writable(path));
        noted(&root.join(TREES)).iter().for_each(|path| distrust_links(path));
    }
}

/// The same for these folders that are worked in and these paths of lists, and for every later process with one of these state folders.
///
/// # Errors
/// Those of writing the notes of the first state folder. Another one is not needed for this run.
pub fn note_lists(roots: &[PathBuf], trees: &[&Path], lists: &[PathBuf]) -> io::Result<()> {
    lists.iter().for_each(|path| exclude_writable(path));
    let real = |path: &Path| LinkWalk::of(path).real;
    let real_roots: Vec<PathBuf> = roots.iter().map(|root| real(root)).collect();
    let trees: Vec<PathBuf> = trees.iter().map(|tree| real(tree)).collect();
    trees.iter().for_each(|tree| distrust_links(tree));
    // What lies in a state folder is known without a note.
    let is_noted = |tree: &&PathBuf| !real_roots.iter().any(|root| tree.starts_with(root));
    let noted_trees: Vec<PathBuf> = trees.iter().filter(is_noted).cloned().collect();
    let Some((in_use, others)) = roots.split_first() else { return Ok(()) };
    append(&in_use.join(LISTS), lists)?;
    append(&in_use.join(TREES), &noted_trees)?;
    for (root, real) in others.iter().zip(&real_roots[1..]) {
        // In a folder that is worked in, agents would own what is made now.
        if !root.is_dir() && trees.iter().chain(lists).any(|written| real.starts_with(written)) {
            continue;
        }
        let _ = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(root)
            .and_then(|()| append(&root.join(LISTS), lists))
            .and_then(|()| append(&root.join(TREES), &noted_trees));
    }
    Ok(())
}

fn append(file: &Path, paths: &[PathBuf]) -> io::Result<()> {
    let known = noted(file);
    let mut added = Vec::new();
    for path in paths.iter().filter(|path| path.is_absolute() && !known.contains(*path)) {
        added.extend_from_slice(path.as_os_str().as_bytes());
        added.push(0);
    }
    if added.is_empty() {
        return Ok(());
    }
    // At once, so that hosts that begin together write one behind the other.
    OpenOptions::new().append(true).create(true).mode(0o600).open(file)?.write_all(&added)
}

fn noted(file: &Path) -> BTreeSet<PathBuf> {
    let list = fs::read(file).unwrap_or_default();
    let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect()
}

#[cfg(test)]
mod tests {
    use baton_sandbox::is_work_of_agents;

    use super::*;

    // N6
    #[test]
    fn what_a_list_named_is_known_to_later_processes() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let in_use = [root.join("state")];
        fs::create_dir(&in_use[0]).unwrap();
        exclude_earlier_lists(&in_use);
        let paths = ["cargo", "two words", "cargo"].map(|name| root.join(name));
        assert!(!is_work_of_agents(&paths[0]));
        note_lists(&in_use, &[], &paths[..2]).unwrap();
        note_lists(&in_use, &[], &paths[2..]).unwrap();
        note_lists(&in_use, &[], &[PathBuf::from("relative")]).unwrap();
        assert_eq!(noted(&in_use[0].join(LISTS)), paths.clone().into());
        assert!(is_work_of_agents(&paths[0].join("bin/git")) && !is_work_of_agents(&root.join("other")));
    }

    // N6: what a run with `--state-dir` had written was known to no later command without it.
    #[test]
    fn the_usual_state_folder_knows_what_runs_with_another_one_wrote() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (home, other) = (root.join("home"), root.join("other"));
        fs::create_dir(&other).unwrap();
        let variable = |name: &str| (name == "HOME").then(|| home.clone().into_os_string());
        let usual = home.join(".local/state/baton");
        let roots = state_roots(&other, variable);
        assert_eq!(roots, [other.clone(), usual.clone()]);
        assert_eq!(hidden_state_roots(&other, variable), roots);
        for nested in [usual.clone(), usual.join("runs")] {
            assert_eq!(hidden_state_roots(&nested, variable), std::slice::from_ref(&usual));
        }
        assert_eq!(hidden_state_roots(&home, variable), std::slice::from_ref(&home));
        // Nothing is made where the agents work.
        let (list, tree) = (root.join("tools"), root.join("tree"));
        note_lists(&roots, &[&home], &[]).unwrap();
        assert!(!usual.exists());
        note_lists(&roots, &[&tree, &other.join("trees/part")], std::slice::from_ref(&list)).unwrap();
        for root in [&other, &usual] {
            assert_eq!(noted(&root.join(LISTS)), [list.clone()].into());
            assert!(noted(&root.join(TREES)).contains(&tree));
            assert!(!noted(&root.join(TREES)).contains(&other.join("trees/part")));
        }
    }
}
