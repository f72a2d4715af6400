//! The real state of a tree, uncommitted work included, as a git tree. Works on a copy of the index, so that HEAD, index and
//! files stay unchanged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use super::git::{GitRunner, path, records};
use super::index_additions::add_files;
use super::worktree::{Worktree, pairs};
use super::{RunWorktrees, WorktreeError};
use crate::regular_file::open_plain;

/// A state, with the index that knows the files it came from.
pub(super) struct WorktreeSnapshot {
    /// The git tree.
    pub(super) tree: String,
    pub(super) git: GitRunner,
    index: PathBuf,
}

impl Drop for WorktreeSnapshot {
    fn drop(&mut self) {
        // The lock of an aborted call may be next to it. Both are only untidy.
        let _ = fs::remove_file(&self.index);
        let _ = fs::remove_file(self.index.with_added_extension("lock"));
    }
}

impl RunWorktrees {
    /// Examines a work tree. Files that git ignores belong to it if one of these trees has something at their path: they would
    /// be overwritten otherwise.
    pub(super) async fn snapshot(
        &self,
        worktree: &Worktree,
        facing: &[&str],
    ) -> Result<WorktreeSnapshot, WorktreeError> {
        let git_path = worktree.git.call(&["rev-parse", "--git-path", "index"]).bytes().await?;
        let real = worktree.top().join(path(git_path.strip_suffix(b"\n").unwrap_or(&git_path)));
        let ordinal = self.0.ordinal.fetch_add(1, Ordering::Relaxed);
        let index = self.0.folder.join(format!(".index-{}-{ordinal}", std::process::id()));
        copy(&real, &index).map_err(|source| WorktreeError::File {
            what: "copy the index to",
            path: index.clone(),
            source,
        })?;
        let git = worktree.git.with_index(&index);
        let mut snapshot = WorktreeSnapshot { tree: String::new(), git, index };
        let head = worktree.head().await?;
        worktree.gather(&snapshot.git, head.as_deref()).await?;
        snapshot.write_tree().await?;
        let mut hidden = Vec::new();
        for tree in facing {
            let differing = snapshot.git.call(&[
                "diff-tree",
                "-r",
                "-z",
                "--name-only",
                "--no-renames",
                "--diff-filter=A",
            ]);
            let missing = differing.and(&snapshot.tree).and(tree).bytes().await?;
            hidden.extend(
                records(&missing)
                    .map(path)
                    .filter(|path| !worktree.is_own(path))
                    .filter_map(|path| on_disk(worktree.top(), &path)),
            );
        }
        hidden.sort();
        hidden.dedup();
        let mut in_the_way = Vec::new();
        for folder in hidden.iter().filter(|hidden| hidden.is_folder) {
            if !snapshot.has_all_below(worktree.top(), &folder.path).await? {
                in_the_way.push(worktree.shown(&folder.path));
            }
        }
        if !in_the_way.is_empty() {
            return Err(WorktreeError::InTheWay { paths: in_the_way });
        }
        hidden.iter().try_for_each(|hidden| worktree.expect_moderate_file(&hidden.path))?;
        let files: Vec<&[u8]> = hidden
            .iter()
            .filter(|hidden| !hidden.is_folder)
            .map(|hidden| hidden.path.as_os_str().as_bytes())
            .collect();
        if !files.is_empty() {
            add_files(&snapshot.git, files).await?;
            snapshot.write_tree().await?;
        }
        Ok(snapshot)
    }
}

impl WorktreeSnapshot {
    async fn write_tree(&mut self) -> Result<(), WorktreeError> {
        self.tree = self.git.call(&["write-tree"]).text().await?;
        Ok(())
    }

    /// Whether every file below a folder is in the state: git removes them if something else replaces the folder.
    async fn has_all_below(&self, top: &Path, folder: &Path) -> Result<bool, WorktreeError> {
        let mut files = BTreeSet::new();
        files_below(&top.join(folder), folder, &mut files).map_err(|source| WorktreeError::File {
            what: "read",
            path: top.join(folder),
            source,
        })?;
        if files.is_empty() {
            return Ok(true);
        }
        let listed =
            self.git.call(&["--literal-pathspecs", "ls-files", "-z", "--full-name", "--"]).and(folder);
        let listed = listed.bytes().await?;
        let known: BTreeSet<PathBuf> = records(&listed).map(path).collect();
        Ok(files.is_subset(&known))
    }

    /// Keeps it as a commit.
    pub(super) async fn commit(&self, parents: &[&str], message: &str) -> Result<String, WorktreeError> {
        commit_tree(&self.git, &self.tree, parents, message).await
    }

    /// The state with other entries at some paths.
    pub(super) async fn with(&self, entries: &IndexEntries) -> Result<String, WorktreeError> {
        let lines: Vec<u8> = entries.values().flatten().copied().collect();
        self.git.call(&["update-index", "--replace", "-z", "--index-info"]).input(lines).done().await?;
        let tree = self.git.call(&["write-tree"]).text().await?;
        // Back to the state that is on disk.
        self.git.call(&["read-tree", "-i", "-m"]).and(&tree).and(&self.tree).done().await?;
        self.git.call(&["update-index", "-q", "--refresh"]).ended().await?;
        Ok(tree)
    }
}

/// Lines for `update-index --index-info`, by path.
pub(super) type IndexEntries = BTreeMap<PathBuf, Vec<u8>>;

/// The differences between two trees: the state of each path in the second one.
pub(super) async fn difference(git: &GitRunner, from: &str, to: &str) -> Result<IndexEntries, WorktreeError> {
    let raw = git
        .call(&["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to])
        .bytes()
        .await?;
    let entry = |(entry, name): (&[u8], &[u8])| {
        let entry = str::from_utf8(entry).unwrap_or_default();
        let words: Vec<&str> = entry.split(' ').collect();
        let (mode, object) =
            (words.get(1).copied().unwrap_or("0"), words.get(3).copied().unwrap_or_default());
        let line = [mode.as_bytes(), b" ", object.as_bytes(), b"\t", name, b"\0"].concat();
        (path(name), line)
    };
    Ok(pairs(&raw).map(entry).collect())
}

/// Files of the first tree that have another name in the second one, and that name, as far as git finds them alike.
pub(super) async fn renames(
    git: &GitRunner,
    from: &str,
    to: &str,
) -> Result<Vec<(PathBuf, PathBuf)>, WorktreeError> {
    let only = ["diff-tree", "-r", "-z", "--name-status", "--find-renames", "--diff-filter=R", from, to];
    let listed = git.call(&only).bytes().await?;
    let fields: Vec<&[u8]> = listed.split(|byte| *byte == 0).collect();
    let (rows, _) = fields.as_chunks::<3>();
    Ok(rows.iter().map(|[_, from, to]| (path(from), path(to))).collect())
}

/// A commit of a tree, on no branch.
pub(super) async fn commit_tree(
    git: &GitRunner,
    tree: &str,
    parents: &[&str],
    message: &str,
) -> Result<String, WorktreeError> {
    let parents = parents.iter().flat_map(|parent| ["-p", parent]);
    git.call(&["commit-tree", tree]).and_all(parents).and_all(["-F", "-"]).input(message).text().await
}

/// With its times: git uses them to find the entries to examine again. Without an index, there is no copy.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut source = match open_plain(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        source => source?,
    };
    let mut target = File::create(to)?;
    io::copy(&mut source, &mut target)?;
    target.set_modified(source.metadata()?.modified()?)
}

/// The file on disk at a path, or above it if that is not a folder.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PathOnDisk {
    path: PathBuf,
    is_folder: bool,
}

fn on_disk(top: &Path, path: &Path) -> Option<PathOnDisk> {
    let mut above = PathBuf::new();
    for part in path.components() {
        above.push(part);
        let meta = fs::symlink_metadata(top.join(&above)).ok()?;
        if !meta.is_dir() {
            return Some(PathOnDisk { path: above, is_folder: false });
        }
    }
    Some(PathOnDisk { path: above, is_folder: true })
}

/// All files below a folder, from the top. Folders without files do not count: git removes them itself.
fn files_below(folder: &Path, name: &Path, files: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let below = name.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => files_below(&entry.path(), &below, files)?,
            false => drop(files.insert(below)),
        }
    }
    Ok(())
}
