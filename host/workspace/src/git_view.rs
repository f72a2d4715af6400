//! A repository as the host sees it: where it lies, by explicit paths, and a folder of the host's own that stands for it. In
//! that folder git finds everything of the repository but its configuration and its hooks, which others may have
//! written: so whatever git does, it runs nothing that the repository names, and a change of its configuration while git
//! works changes nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::git_config::{KeptSettings, arguments, environment};

/// What a repository shares among its work trees, without `config`, `hooks` and `worktrees`. `lfs` is where git-lfs keeps
/// the contents of large files.
const SHARED: [&str; 8] = ["info", "lfs", "logs", "objects", "packed-refs", "refs", "reftable", "shallow"];

/// The file by which a work tree says where its repository is, is not longer than a path.
const MAX_LINK_BYTES: u64 = 8 << 10;

/// A git that does not find a repository by then is on a dead network mount.
const LIMIT: Duration = Duration::from_secs(30);

/// Where a work tree and its repository are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The top of the work tree.
    pub(crate) top: PathBuf,
    /// What is the work tree's own: HEAD and index.
    pub(crate) git_dir: PathBuf,
    /// What it shares with other work trees: objects and refs.
    pub(crate) common_dir: PathBuf,
}

impl Repository {
    /// The repository around a folder; git finds it, since git knows whose repositories this user trusts. It is none where
    /// its configuration moves the work tree elsewhere, and neither is a bare one that lies among the files. Runs nothing.
    pub(crate) async fn around(folder: &Path) -> Result<Self, String> {
        let mut git = tokio::process::Command::from(base(folder));
        git.args(["rev-parse", "--is-inside-work-tree", "--absolute-git-dir", "--show-toplevel"])
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let ended = tokio::time::timeout(LIMIT, git.output())
            .await
            .map_err(|_| "git gives no answer".to_owned())?
            .map_err(|error| format!("git does not run: {error}"))?;
        let mut lines = ended.stdout.split(|byte| *byte == b'\n').map(path);
        let (inside, git_dir, top) = (lines.next(), lines.next(), lines.next());
        let (true, Some(inside), Some(git_dir), Some(top)) = (ended.status.success(), inside, git_dir, top)
        else {
            return Err(String::from_utf8_lossy(&ended.stderr).trim().to_owned());
        };
        if inside != Path::new("true") {
            return Err("git takes it for a part of the repository itself".to_owned());
        }
        let found =
            Self::at(&top).map_err(|error| format!("cannot read {}: {error}", top.join(".git").display()))?;
        let real = git_dir.canonicalize().unwrap_or(git_dir);
        match found.git_dir == real && folder.starts_with(&top) {
            true => Ok(found),
            false => Err(format!(
                "the configuration of {} says that its files are in {}; remove core.worktree",
                real.display(),
                top.display()
            )),
        }
    }

    /// The repository that the `.git` at the top of a work tree is, or names.
    pub(crate) fn at(top: &Path) -> io::Result<Self> {
        let dot_git = top.join(".git");
        let git_dir = match dot_git.metadata()?.is_dir() {
            true => dot_git.canonicalize()?,
            false => named_by(&read(&dot_git)?, top)?,
        };
        Self::of(top, git_dir)
    }

    /// A work tree with this folder of its own in a repository.
    fn of(top: &Path, git_dir: PathBuf) -> io::Result<Self> {
        let common_dir = match read(&git_dir.join("commondir")) {
            Ok(named) => git_dir.join(path(named.trim_ascii_end())).canonicalize()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => git_dir.clone(),
            Err(error) => return Err(error),
        };
        Ok(Self { top: top.to_owned(), git_dir, common_dir })
    }

    /// Settings of the repository, and of this work tree alone.
    async fn settings(&self) -> io::Result<KeptSettings> {
        let (shared, own) = (self.common_dir.join("config"), self.git_dir.join("config.worktree"));
        KeptSettings::read(&[&shared, &own]).await
    }

    /// Git in the work tree of this repository, with its own configuration: only for what runs no command by a name that a
    /// repository gives it, which is making, listing and removing work trees without their files.
    pub(crate) fn git(&self) -> Command {
        let mut git = base(&self.top);
        git.env("GIT_DIR", &self.git_dir).env("GIT_WORK_TREE", &self.top);
        git
    }
}

/// What a file like `gitdir: ../repo/.git` names.
pub(crate) fn named_by(link: &[u8], top: &Path) -> io::Result<PathBuf> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "it does not name a repository");
    let named = link.strip_prefix(b"gitdir: ").ok_or_else(wrong)?;
    top.join(path(named.trim_ascii_end())).canonicalize()
}

/// Stands for a repository towards git.
#[derive(Clone, Debug)]
pub(crate) struct GitView {
    folder: PathBuf,
    pub(crate) repository: Repository,
    /// The tree without files, as this repository names it.
    pub(crate) empty_tree: &'static str,
    /// Filters that the repository names, and that it does not get.
    pub(crate) filters: BTreeSet<String>,
}

/// Names of the tree without files, which every repository knows.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_SHA256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

impl GitView {
    /// Makes the folder as it has to be, or leaves it so. No agent may be able to write there.
    pub(crate) async fn hold(folder: &Path, repository: &Repository) -> io::Result<Self> {
        let settings = repository.settings().await?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // Through a link that leads nowhere git makes no folder. Where this user may only read, none is needed.
        let _ = fs::create_dir(repository.common_dir.join("logs"));
        for name in SHARED {
            hold_link(&folder.join(name), &repository.common_dir.join(name))?;
        }
        hold_file(&folder.join("config"), &settings.file())?;
        let empty_tree = if settings.is_sha256() { EMPTY_TREE_SHA256 } else { EMPTY_TREE };
        let filters = settings.filters().clone();
        Ok(Self { folder: folder.to_owned(), repository: repository.clone(), empty_tree, filters })
    }

    /// The same for a git that may write: refused where it would write through a link.
    pub(crate) async fn hold_to_write(folder: &Path, repository: &Repository) -> io::Result<Self> {
        expect_no_links(repository)?;
        Self::hold(folder, repository).await
    }

    /// Git in the work tree: it looks for no repository, and knows this one by what the host has put into the folder.
    pub(crate) fn git(&self) -> Command {
        let mut git = self.repository.git();
        git.env("GIT_COMMON_DIR", &self.folder);
        git
    }
}

/// Git with nothing but what the host wants it to have.
pub(crate) fn base(at: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("--no-pager").args(arguments()).current_dir(at).env_clear().envs(environment());
    git
}

/// Entries of a repository that are looked at.
const MAX_ENTRIES: u32 = 50_000;
/// Folders below each other in refs and reflogs.
const MAX_DEPTH: u32 = 16;
/// Files at the top of a repository that git writes by their names.
const WRITTEN: [&str; 5] = ["index", "COMMIT_EDITMSG", "ORIG_HEAD", "FETCH_HEAD", "logs/HEAD"];

/// Git writes index, messages, reflogs, refs and objects by their names: through a link in their place it would write anywhere. Whoever
/// works in a tree can write there. A repository whose `objects` or `hooks` are links themselves is the user's own matter.
fn expect_no_links(repository: &Repository) -> io::Result<()> {
    let Repository { git_dir, common_dir, .. } = repository;
    let mut left = MAX_ENTRIES;
    if git_dir == common_dir {
        for file in WRITTEN.map(|name| git_dir.join(name)) {
            if file.symlink_metadata().is_ok_and(|meta| meta.is_symlink()) {
                return Err(is_a_link(&file));
            }
        }
    } else {
        expect_none_below(git_dir, MAX_DEPTH, &mut left)?;
    }
    expect_none_below(&common_dir.join("objects"), 0, &mut left)?;
    expect_none_below(&common_dir.join("refs"), MAX_DEPTH, &mut left)?;
    expect_none_below(&common_dir.join("logs"), MAX_DEPTH, &mut left)
}

fn expect_none_below(folder: &Path, depth: u32, left: &mut u32) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            return Err(is_a_link(&entry.path()));
        }
        *left = left.saturating_sub(1);
        if *left == 0 {
            let why = format!("{} has too many entries to be looked at", folder.display());
            return Err(io::Error::other(why));
        }
        if kind.is_dir() && depth > 0 {
            expect_none_below(&entry.path(), depth - 1, left)?;
        }
    }
    Ok(())
}

fn is_a_link(path: &Path) -> io::Error {
    io::Error::other(format!("{} is a link, and git would write through it: remove it", path.display()))
}

fn hold_link(link: &Path, target: &Path) -> io::Result<()> {
    if fs::read_link(link).is_ok_and(|now| now == target) {
        return Ok(());
    }
    let beside = beside(link);
    symlink(target, &beside)?;
    fs::rename(&beside, link)
}

/// Writes a file whole, where it is not so already.
pub(crate) fn hold_file(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let is_file = file.symlink_metadata().is_ok_and(|meta| meta.is_file());
    if is_file && read(file).is_ok_and(|now| now == bytes) {
        return Ok(());
    }
    let beside = beside(file);
    fs::write(&beside, bytes)?;
    fs::rename(&beside, file)
}

/// A name that no other writer takes.
fn beside(path: &Path) -> PathBuf {
    static ORDINAL: AtomicU64 = AtomicU64::new(0);
    let ordinal = ORDINAL.fetch_add(1, Ordering::Relaxed);
    path.with_added_extension(format!("{}-{ordinal}.part", std::process::id()))
}

/// A small file, whole. Waits for no pipe.
pub(crate) fn read(file: &Path) -> io::Result<Vec<u8>> {
    let meta = file.metadata()?;
    match meta.is_file() && meta.len() <= MAX_LINK_BYTES {
        true => fs::read(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a small regular file")),
    }
}

fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_in_the_place_of_what_git_writes_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let common = place.path().join(".git");
        let own = common.join("worktrees/x");
        for folder in ["objects/aa", "refs/heads/work", "logs/refs"] {
            fs::create_dir_all(common.join(folder)).unwrap();
        }
        fs::create_dir_all(own.join("logs")).unwrap();
        let of = |git_dir: &Path| Repository {
            top: place.path().to_owned(),
            git_dir: git_dir.to_owned(),
            common_dir: common.clone(),
        };
        let refused = |git_dir: &Path| expect_no_links(&of(git_dir)).map_err(|error| error.to_string()).err();
        assert_eq!((refused(&common), refused(&own)), (None, None));
        // The user's own links are the user's matter.
        symlink(place.path(), common.join("hooks")).unwrap();
        assert_eq!(refused(&common), None);
        for (git_dir, link) in [
            (&common, common.join("index")),
            (&common, common.join("objects/bb")),
            (&common, common.join("refs/heads/work/one")),
            (&common, common.join("logs/HEAD")),
            (&own, own.join("index")),
            (&own, own.join("COMMIT_EDITMSG")),
            (&own, own.join("logs/HEAD")),
        ] {
            symlink(place.path().join("victim"), &link).unwrap();
            let why = refused(git_dir).unwrap_or_default();
            assert!(why.contains("is a link") && why.contains(&link.display().to_string()), "{why}");
            fs::remove_file(link).unwrap();
        }
    }
}
