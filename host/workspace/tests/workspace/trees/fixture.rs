//! A repository of a user's with a state directory beside it, and the steps of a split in it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use baton_core::{PhaseId, RunId, WorktreeName};
use baton_workspace::{LandResult, MergeResult, RunWorktrees, VerifiedCommit, Workspace, WorktreeBase};
use tempfile::TempDir;

/// What the runtime calls the folder that is Baton's own.
pub(crate) const OWN: &str = ".baton/r1";

pub(crate) struct WorktreesFixture {
    pub(crate) dir: TempDir,
    pub(crate) trees: RunWorktrees,
    pub(crate) root: PathBuf,
    /// How often a landing was answered with `Updated`, as the machine counts it.
    round: Cell<u32>,
}

impl WorktreesFixture {
    /// A repository with one commit.
    pub(crate) fn new() -> Self {
        let world = Self::empty();
        world.write("a.txt", "one\ntwo\nthree\n");
        world.write("src/b.txt", "b\n");
        world.write(".gitignore", "ignored*\n/build/\n");
        world.commit("first");
        world
    }

    /// A repository without a commit.
    pub(crate) fn empty() -> Self {
        Self::at("work")
    }

    /// A folder of a repository.
    pub(crate) fn at(folder: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join(folder);
        fs::create_dir_all(&root).unwrap();
        let top = dir.path().join(folder.split('/').next().unwrap());
        git(&top, &["init", "-q", "-b", "main"]);
        git(&top, &["config", "user.name", "Someone"]);
        git(&top, &["config", "user.email", "someone@example.org"]);
        let trees = trees_of(&root, dir.path());
        Self { dir, trees, root, round: Cell::new(0) }
    }

    /// Another host of the same run: it knows nothing but what is on disk.
    pub(crate) fn restart(&mut self) {
        self.trees = trees_of(&self.root, self.dir.path());
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.root, path, text);
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    pub(crate) fn commit(&self, message: &str) {
        git(&self.root, &["add", "-A"]);
        git(&self.root, &["commit", "-q", "-m", message]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.root, arguments)
    }

    /// As if the host had died before it set a ref of the run.
    pub(crate) fn forget_ref(&self, name: &str) {
        let file = self.dir.path().join("state/trees/.refs-r1");
        let mut refs: BTreeMap<String, String> = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert!(refs.remove(&format!("refs/baton/r1/{name}")).is_some(), "{name}: {refs:?}");
        fs::write(file, serde_json::to_vec(&refs).unwrap()).unwrap();
    }

    pub(crate) fn status(&self) -> String {
        self.git(&["status", "--porcelain", "--untracked-files=all"])
    }

    /// HEAD, index and every file: what a step that changes nothing must leave.
    pub(crate) fn everything(&self) -> String {
        let head = try_git(&self.root, &["rev-parse", "HEAD"]).unwrap_or_default();
        let index = self.git(&["ls-files", "-s", "--debug", "-t"]);
        format!(
            "{head}\n{}\n{}\n{:?}",
            self.status(),
            index.lines().filter(|line| !line.starts_with("  ")).collect::<Vec<_>>().join("\n"),
            self.files()
        )
    }

    /// Every file of the work: path, kind and content.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        files(&self.root)
    }

    pub(crate) async fn checkpoint(&self, phase: &str) -> String {
        match self.base(phase, &WorktreeName::workspace()).await {
            WorktreeBase::Commit(base) => base,
            WorktreeBase::Shared { why } => panic!("{why}"),
        }
    }

    pub(crate) async fn base(&self, phase: &str, tree: &WorktreeName) -> WorktreeBase {
        let phase = PhaseId::new(phase);
        self.trees.checkpoint(&phase, tree, &WorktreeName::integration(&phase, 1)).await.unwrap()
    }

    /// A part begins.
    pub(crate) async fn begin(&self, part: &str, base: &str) -> PartTree {
        let tree = WorktreeName::for_phase(&PhaseId::new(part));
        self.trees.branch(&tree, base).await.unwrap();
        let root = self.trees.open(&tree).await.unwrap().root().to_owned();
        PartTree { tree, root }
    }

    pub(crate) async fn integration(&self, phase: &str) -> PartTree {
        let tree = WorktreeName::integration(&PhaseId::new(phase), 1);
        let root = self.trees.open(&tree).await.unwrap().root().to_owned();
        PartTree { tree, root }
    }

    pub(crate) async fn merge(&self, part: &PartTree, phase: &str) -> MergeResult {
        let into = WorktreeName::integration(&PhaseId::new(phase), 1);
        self.trees.merge(&part.tree, &into, &format!("Merge {}", part.tree), None).await.unwrap()
    }

    pub(crate) async fn land(&self, phase: &str, base: &str, parts: &[&PartTree]) -> LandResult {
        self.land_in(phase, &WorktreeName::workspace(), base, parts).await
    }

    pub(crate) async fn land_in(
        &self,
        phase: &str,
        into: &WorktreeName,
        base: &str,
        parts: &[&PartTree],
    ) -> LandResult {
        let merged: Vec<WorktreeName> = parts.iter().map(|part| part.tree.clone()).collect();
        let phase = PhaseId::new(phase);
        let landing = self.land_round(&phase, into, base, &merged, self.round.get()).await;
        match landing {
            LandResult::Updated => self.round.set(self.round.get() + 1),
            LandResult::Landed { .. } => self.round.set(0),
            LandResult::Conflicted { .. } => {}
        }
        landing
    }

    pub(crate) async fn land_round(
        &self,
        phase: &PhaseId,
        into: &WorktreeName,
        base: &str,
        merged: &[WorktreeName],
        round: u32,
    ) -> LandResult {
        self.trees
            .land(
                phase,
                &WorktreeName::integration(phase, 1),
                into,
                base,
                merged,
                VerifiedCommit { round, commit: None },
            )
            .await
            .unwrap()
    }

    /// A whole split with two parts that fit each other.
    pub(crate) async fn split(&self, phase: &str, work: impl Fn(&PartTree, &PartTree)) -> LandResult {
        let base = self.checkpoint(phase).await;
        let (a, b) =
            (self.begin(&format!("{phase}a"), &base).await, self.begin(&format!("{phase}b"), &base).await);
        work(&a, &b);
        assert!(matches!(self.merge(&a, phase).await, MergeResult::Merged { .. }));
        assert!(matches!(self.merge(&b, phase).await, MergeResult::Merged { .. }));
        self.land(phase, &base, &[&a, &b]).await
    }
}

/// Where one sub-phase works.
pub(crate) struct PartTree {
    pub(crate) tree: WorktreeName,
    pub(crate) root: PathBuf,
}

impl PartTree {
    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.root, path, text);
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root.join(path)).ok()
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.root.join(path)).unwrap();
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.root, arguments)
    }
}

fn trees_of(root: &Path, dir: &Path) -> RunWorktrees {
    let workspace = Workspace::open(root).unwrap().with_own_folder(OWN);
    let state = dir.join("state");
    RunWorktrees::new(&workspace, &state.join("trees/r1"), &[&state], &RunId::new("r1"))
}

pub(crate) fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn executable(root: &Path, path: &str) {
    fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn link(root: &Path, path: &str, target: &str) {
    let _ = fs::remove_file(root.join(path));
    symlink(target, root.join(path)).unwrap();
}

/// Whether this process is that of a user with this configuration. Where it is not, the test is run in one that is, and
/// there is nothing left to do here.
pub(crate) fn of_a_user(test: &str, config: &str) -> bool {
    const MARK: &str = "BATON_TEST_OF_A_USER";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join(".gitconfig"), config).unwrap();
    let inner = Command::new(std::env::current_exe().unwrap())
        .args([&format!("trees::{test}"), "--exact"])
        .env_remove("XDG_CONFIG_HOME")
        .envs([("HOME", home.path().as_os_str()), (MARK, "1".as_ref())])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&inner.stdout);
    assert!(inner.status.success() && told.contains("1 passed"), "{told}");
    false
}

pub(crate) fn git(at: &Path, arguments: &[&str]) -> String {
    try_git(at, arguments).unwrap_or_else(|complaint| panic!("git {arguments:?}: {complaint}"))
}

pub(crate) fn try_git(at: &Path, arguments: &[&str]) -> Result<String, String> {
    let ended = Command::new("git")
        .args(arguments)
        .current_dir(at)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_EDITOR", "true")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    if ended.status.success() { Ok(text(&ended.stdout)) } else { Err(text(&ended.stderr)) }
}

/// Files below a folder but for git's own and Baton's, links and executables told apart.
pub(crate) fn files(root: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name();
            if name == ".git" || name == ".baton" {
                continue;
            }
            let meta = fs::symlink_metadata(entry.path()).unwrap();
            if meta.is_dir() {
                folders.push(entry.path());
                continue;
            }
            let content = if meta.is_symlink() {
                format!("-> {}", fs::read_link(entry.path()).unwrap().display())
            } else {
                let mark = if meta.permissions().mode() & 0o100 != 0 { "* " } else { "" };
                format!("{mark}{}", String::from_utf8_lossy(&fs::read(entry.path()).unwrap()))
            };
            found.push((entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned(), content));
        }
    }
    found.sort();
    found
}
