//! Fingerprints of the settings of agents in a folder: through these settings an agent may run commands as soon as it begins,
//! regardless of its role's permissions. Read-only: the user reviews changes.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use baton_core::Digest;
use baton_sandbox::{PACKAGES, make_listable};

use crate::command_files::CommandFiles;
use crate::session_boundary::{CLAUDE_WORK_TREES, COMMAND_SETTINGS};
use crate::session_files::open_plain;

/// Not settings of an agent: Baton's own folder, and the repository, which git and its users change as well.
const EXCLUDED_NAMES: [&str; 2] = [".baton", ".git"];
/// A file that is larger is known by its metadata.
const BYTES_MAX: u64 = 4 << 20;
/// Limits on the data that is read for each name.
const BOUNDS: Bounds = Bounds { single: 20_000, entries: 200_000, joint_bytes: 128 << 20 };

/// The fingerprint of a name with more entries below it than are read: changes there can go unseen.
pub const TOO_MANY_SETTINGS: &str = "too many entries";

/// How much is read for a name.
#[derive(Clone, Copy)]
struct Bounds {
    /// Entries that have a fingerprint of their own. What comes after them has a joint one.
    single: usize,
    /// All entries.
    entries: usize,
    /// Bytes of files with a joint fingerprint that are read. What comes after them is known by its metadata.
    joint_bytes: u64,
}

/// There are more entries than are read.
struct TooMany;

/// Fingerprints of each path below the tree in which agents look for settings, and of the paths that commands in the settings
/// name: the digest of a file, the target of a link. Folders of packages, and entries beyond a bound, have one fingerprint
/// together; at a name with more than that, [`TOO_MANY_SETTINGS`].
pub fn settings_of_agents(tree: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = settings_within(tree, BOUNDS);
    let commands = CommandFiles::of_settings(tree);
    let named = commands.named().filter_map(|path| path.strip_prefix(tree).ok().map(Path::to_owned));
    found.extend(fingerprints_at(tree, &named.collect::<Vec<_>>()));
    found
}

/// Fingerprints at and below each of these paths, which are relative to the tree, as of [`settings_of_agents`].
pub fn fingerprints_at<'p>(
    tree: &Path,
    paths: impl IntoIterator<Item = &'p PathBuf>,
) -> BTreeMap<PathBuf, String> {
    paths.into_iter().flat_map(|path| Walk::fingerprints(tree, path, BOUNDS)).collect()
}

fn settings_within(tree: &Path, bounds: Bounds) -> BTreeMap<PathBuf, String> {
    let names = COMMAND_SETTINGS.into_iter().filter(|name| !EXCLUDED_NAMES.contains(name));
    names.flat_map(|name| Walk::fingerprints(tree, Path::new(name), bounds)).collect()
}

/// A look at everything at a name and below it, in a fixed order.
struct Walk<'a> {
    tree: &'a Path,
    name: &'a Path,
    /// The last one is read next.
    pending: Vec<Entry>,
    left: Bounds,
    single: BTreeMap<PathBuf, String>,
    /// By the folder at which it is noted.
    joint: BTreeMap<PathBuf, JointFingerprint>,
    /// Folders (device and inode) that are in a joint fingerprint. Links among packages can lead to each of them by many paths.
    visited: HashSet<(u64, u64)>,
}

struct Entry {
    path: PathBuf,
    /// The folder with whose joint fingerprint it is noted.
    joint: Option<PathBuf>,
}

impl<'a> Walk<'a> {
    fn fingerprints(tree: &'a Path, name: &'a Path, bounds: Bounds) -> BTreeMap<PathBuf, String> {
        let mut walk = Self {
            tree,
            name,
            pending: vec![Entry { path: name.to_owned(), joint: None }],
            left: bounds,
            single: BTreeMap::new(),
            joint: BTreeMap::new(),
            visited: HashSet::new(),
        };
        let is_whole = walk.run().is_ok();
        let mut found = walk.single;
        for (folder, joint) in walk.joint {
            // A name that is a link is noted itself as well.
            found.entry(folder).or_default().push_str(&joint.to_string());
        }
        if !is_whole {
            found.insert(name.to_owned(), TOO_MANY_SETTINGS.to_owned());
        }
        found
    }

    fn run(&mut self) -> Result<(), TooMany> {
        while let Some(Entry { path, joint }) = self.pending.pop() {
            match (joint, self.left.single.checked_sub(1)) {
                (None, Some(left)) => {
                    self.left.single = left;
                    self.fingerprint_singly(&path)?;
                }
                (None, None) => self.fingerprint_jointly(&path, self.name)?,
                (Some(folder), _) => self.fingerprint_jointly(&path, &folder)?,
            }
        }
        Ok(())
    }

    fn fingerprint_singly(&mut self, path: &Path) -> Result<(), TooMany> {
        let at = self.tree.join(path);
        let Ok(about) = at.symlink_metadata() else { return Ok(()) };
        if !about.is_dir() {
            self.single.insert(path.to_owned(), fingerprint(&at, &about, BYTES_MAX));
        }
        // What is behind a link is read as well.
        match at.is_dir() {
            true => self.push_children(path, None),
            false => Ok(()),
        }
    }

    fn fingerprint_jointly(&mut self, path: &Path, folder: &Path) -> Result<(), TooMany> {
        let at = self.tree.join(path);
        let bytes_max = self.left.joint_bytes.min(BYTES_MAX);
        let what = at
            .symlink_metadata()
            .map_or_else(|error| error.kind().to_string(), |about| fingerprint(&at, &about, bytes_max));
        self.joint.entry(folder.to_owned()).or_default().add(path, &what);
        let Ok(behind) = at.metadata() else { return Ok(()) };
        if behind.is_file() && behind.len() <= bytes_max {
            self.left.joint_bytes = self.left.joint_bytes.saturating_sub(behind.len());
        }
        match behind.is_dir() && self.visited.insert((behind.dev(), behind.ino())) {
            true => self.push_children(path, Some(folder)),
            false => Ok(()),
        }
    }

    /// Reads the entries of a folder next, in the order of their names.
    fn push_children(&mut self, folder: &Path, joint: Option<&Path>) -> Result<(), TooMany> {
        let names = sorted_names(&self.tree.join(folder), self.left.entries)?;
        self.left.entries = self.left.entries.saturating_sub(names.len());
        for name in names.iter().rev() {
            let path = folder.join(name);
            if path != Path::new(CLAUDE_WORK_TREES) {
                // What plugins of agents load can be thousands of files, so each such folder has one fingerprint.
                let of_packages = (name == PACKAGES).then_some(path.as_path());
                let joint = joint.or(of_packages).map(Path::to_owned);
                self.pending.push(Entry { path, joint });
            }
        }
        Ok(())
    }
}

/// The names of all that is in a folder.
fn sorted_names(folder: &Path, max: usize) -> Result<Vec<OsString>, TooMany> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            make_listable(folder);
            fs::read_dir(folder)
        }
        listed => listed,
    };
    let entries = listed.into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).take(max.saturating_add(1)).collect();
    if names.len() > max {
        return Err(TooMany);
    }
    names.sort();
    Ok(names)
}

/// The fingerprint of many entries.
#[derive(Default)]
struct JointFingerprint {
    entries: usize,
    /// Of the digest before the last entry, and of that entry.
    digest: String,
}

impl JointFingerprint {
    fn add(&mut self, path: &Path, what: &str) {
        let parts = [self.digest.as_bytes(), path.as_os_str().as_encoded_bytes(), what.as_bytes()];
        self.digest = Digest::of(parts.join(&0_u8)).to_string();
        self.entries += 1;
    }
}

impl fmt::Display for JointFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({} entries: {})", self.entries, self.digest)
    }
}

/// The digest of a file of at most `bytes_max` bytes, or the metadata of a larger or special file. For a link, its target and
/// the fingerprint of that. For a folder, only that it is one: its entries have their own fingerprints.
fn fingerprint(at: &Path, about: &Metadata, bytes_max: u64) -> String {
    if about.is_symlink() {
        let to = fs::read_link(at).unwrap_or_default();
        let behind = at.metadata().map(|behind| fingerprint(at, &behind, bytes_max)).unwrap_or_default();
        return format!("leads to {}: {behind}", to.display());
    }
    match about.is_file() && about.len() <= bytes_max {
        true => {
            content(at).map_or_else(|error| error.kind().to_string(), |bytes| Digest::of(&bytes).to_string())
        }
        false if about.is_dir() => "a folder".to_owned(),
        false => metadata(about),
    }
}

/// The system alone sets the time of the last change (ctime), so the content of a file does not change without it.
fn metadata(about: &Metadata) -> String {
    let modified = format!("{}.{:09}", about.mtime(), about.mtime_nsec());
    let changed = format!("{}.{:09}", about.ctime(), about.ctime_nsec());
    format!("{:o} {} {modified} {changed} {}", about.mode(), about.len(), about.ino())
}

fn content(at: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(at)?.take(BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs::File;
    use std::os::unix::fs::{FileExt as _, symlink};
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The paths at which they differ.
    fn changed(before: &BTreeMap<PathBuf, String>, now: &BTreeMap<PathBuf, String>) -> Vec<String> {
        let paths: BTreeSet<_> = before.keys().chain(now.keys()).collect();
        let differ = paths.into_iter().filter(|path| before.get(*path) != now.get(*path));
        differ.map(|path| path.display().to_string()).collect()
    }

    /// Other content of the same length, at the same place, that seems to be as old.
    fn patch_unseen(path: &Path, bytes: &[u8]) {
        // The clock of a file system has ticks.
        thread::sleep(Duration::from_millis(50));
        let file = File::options().write(true).open(path).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        file.write_all_at(bytes, 0).unwrap();
        file.set_modified(modified).unwrap();
    }

    #[test]
    fn what_an_agent_changes_of_settings_is_seen_and_its_work_is_not() {
        // N6
        let tree = tempfile::tempdir().unwrap();
        let tree = tree.path();
        let write = |path: &str, text: &str| write(&tree.join(path), text);
        write("dot/settings.json", "{}");
        write(".claude/agents/a.md", "a");
        write(".mcp.json", "{}");
        symlink("dot", tree.join(".gemini")).unwrap();
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

    #[test]
    fn what_commands_in_settings_name_is_seen_and_what_their_runners_read_is_not() {
        // N6: an agent wrote a server of `.mcp.json`, and the next one started it without a question.
        let place = tempfile::tempdir().unwrap();
        let tree = place.path();
        for (path, text) in [
            (".mcp.json", r#"{"x": {"command": "sh", "args": ["server.sh"]}, "y": {"command": "npm t"}}"#),
            ("server.sh", "true"),
            ("package.json", "{}"),
        ] {
            write(&tree.join(path), text);
        }
        let before = settings_of_agents(tree);
        ["server.sh", "package.json", "other.sh"].iter().for_each(|path| write(&tree.join(path), "false"));
        assert_eq!(changed(&before, &settings_of_agents(tree)), ["server.sh"]);
    }

    #[test]
    fn what_plugins_load_is_seen_and_another_name_of_it_elsewhere_is_not() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("tree");
        let dep = tree.join(".opencode/node_modules/dep/index.js");
        write(&dep, "exports.x = 1");
        write(&tree.join(".opencode/plugin/p.js"), "import \"dep\"");
        symlink("dep", tree.join(".opencode/node_modules/same")).unwrap();
        symlink("..", tree.join(".opencode/node_modules/above")).unwrap();
        let before = settings_of_agents(&tree);
        // Package managers share files by hard links, which changes their ctime.
        thread::sleep(Duration::from_millis(50));
        fs::hard_link(&dep, place.path().join("elsewhere.js")).unwrap();
        assert_eq!(settings_of_agents(&tree), before);
        patch_unseen(&dep, b"EVIL");
        assert_eq!(changed(&before, &settings_of_agents(&tree)), [".opencode/node_modules"]);
        fs::write(&dep, "exports.x = 1").unwrap();
        assert_eq!(settings_of_agents(&tree), before);
        write(&tree.join(".opencode/node_modules/other/node_modules/x.js"), "");
        assert_eq!(changed(&before, &settings_of_agents(&tree)), [".opencode/node_modules"]);
    }

    #[test]
    fn what_a_link_among_packages_leads_to_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path();
        write(&tree.join("src/dep/index.js"), "exports.x = 1");
        fs::create_dir_all(tree.join(".opencode/node_modules")).unwrap();
        symlink("../../src/dep", tree.join(".opencode/node_modules/dep")).unwrap();
        let before = settings_of_agents(tree);
        write(&tree.join("src/dep/index.js"), "EVIL");
        assert_eq!(changed(&before, &settings_of_agents(tree)), [".opencode/node_modules"]);
    }

    #[test]
    fn only_the_work_trees_of_claude_code_are_passed_over() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path();
        let before = settings_of_agents(tree);
        write(&tree.join(".claude/worktrees/x/.claude/settings.json"), "{}");
        assert_eq!(settings_of_agents(tree), before);
        let seen = [".claude/skills/worktrees/run.sh", ".opencode/worktrees/p.js"];
        seen.iter().for_each(|path| write(&tree.join(path), "true"));
        assert_eq!(changed(&before, &settings_of_agents(tree)), seen);
    }

    #[test]
    fn a_large_file_that_is_patched_and_seems_as_old_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path();
        let tools = [".claude/hooks/tool", ".opencode/node_modules/dep/tool"];
        for tool in tools {
            write(&tree.join(tool), &"0".repeat(5_000_000));
        }
        let before = settings_of_agents(tree);
        assert_eq!(settings_of_agents(tree), before);
        for (tool, noted) in tools.into_iter().zip([tools[0], ".opencode/node_modules"]) {
            let before = settings_of_agents(tree);
            patch_unseen(&tree.join(tool), b"EVIL");
            assert_eq!(changed(&before, &settings_of_agents(tree)), [noted]);
        }
        // Nor does another file take its place.
        let (tool, other) = (tree.join(tools[0]), tree.join("other"));
        let before = settings_of_agents(tree);
        fs::copy(&tool, &other).unwrap();
        let modified = tool.metadata().unwrap().modified().unwrap();
        File::options().write(true).open(&other).unwrap().set_modified(modified).unwrap();
        fs::rename(&other, &tool).unwrap();
        assert_eq!(changed(&before, &settings_of_agents(tree)), [tools[0]]);
    }

    #[test]
    fn what_is_beyond_the_bounds_is_seen_together_or_named_as_too_much() {
        let places = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let file = |tree: &Path, ordinal: usize| tree.join(format!(".claude/hooks/{ordinal}"));
        (0..8).for_each(|ordinal| write(&file(places[0].path(), ordinal), "a"));
        (0..8).rev().for_each(|ordinal| write(&file(places[1].path(), ordinal), "a"));
        let tree = places[0].path();
        let look = |tree: &Path, joint_bytes: u64, entries: usize| {
            settings_within(tree, Bounds { single: 5, entries, joint_bytes })
        };
        // `.claude`, `hooks` and three files; `.claude` has the others.
        let before = look(tree, 100, 9);
        assert_eq!(before.len(), 4);
        assert_eq!(look(places[1].path(), 100, 9), before, "the order in which they were made is none");
        // By their content as long as that can be read, and by their metadata after that.
        for joint_bytes in [100, 0] {
            let before = look(tree, joint_bytes, 9);
            patch_unseen(&file(tree, 7), if joint_bytes == 0 { b"c" } else { b"b" });
            assert_eq!(changed(&before, &look(tree, joint_bytes, 9)), [".claude"]);
        }
        let before = look(tree, 100, 9);
        fs::rename(file(tree, 7), file(tree, 9)).unwrap();
        assert_eq!(changed(&before, &look(tree, 100, 9)), [".claude"]);
        write(&file(tree, 6).with_extension("new"), "a");
        let now = look(tree, 100, 9);
        assert_eq!(now.get(Path::new(".claude")).map(String::as_str), Some(TOO_MANY_SETTINGS));
        assert_eq!(look(tree, 100, 9), now);
    }

    #[test]
    fn links_that_lead_back_end_at_the_bounds() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path();
        write(&tree.join(".claude/settings.json"), "{}");
        for name in ["a", "b", "c"] {
            symlink(".", tree.join(".claude").join(name)).unwrap();
        }
        let look = || settings_within(tree, Bounds { single: 100, entries: 1000, joint_bytes: 100 });
        let before = look();
        assert_eq!(look(), before);
        assert_ne!(before.get(Path::new(".claude")).map(String::as_str), Some(TOO_MANY_SETTINGS));
        write(&tree.join(".claude/settings.json"), "{\"hooks\": {}}");
        assert_ne!(look(), before);
    }
}
